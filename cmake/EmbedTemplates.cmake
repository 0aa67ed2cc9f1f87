# cmake -DOUTPUT=… -DROOT=… -DFILES=a;b -P EmbedTemplates.cmake: writes embedded_templates() as raw string literals.
set(text "#include \"runtime/render.h\"\n\nnamespace octet {\n\nconst TemplateSet& embedded_templates() {\n"
         "  static const TemplateSet set = {\n")
string(CONCAT text ${text})
foreach(file IN LISTS FILES)
  file(READ ${file} content HEX)  # hex keeps ';' and '[' apart from CMake's list syntax
  file(RELATIVE_PATH name ${ROOT} ${file})
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "\\\\x\\1" content "${content}")
  # Short pieces: a compiler need not accept very long literals, and a hex escape must not swallow the next digit.
  string(REGEX REPLACE "((\\\\x[0-9a-f][0-9a-f]){32})" "\\1\"\n      \"" content "${content}")
  string(APPEND text "    {\"${name}\",\n      \"${content}\"},\n")
endforeach()
string(APPEND text "  };\n  return set;\n}\n\n}  // namespace octet\n")
file(WRITE ${OUTPUT} "${text}")
