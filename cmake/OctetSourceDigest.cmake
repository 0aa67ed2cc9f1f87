# octet_source_digest(target): writes the digest of the sources beside the program at every link, so that
# tools/gpu_check.sh can tell which sources a program that was carried to another machine is of.

# What `tools/gpu_check.sh --digest` covers. A change of any of them links anew, also of one that is not compiled.
set(octet_digested)
foreach(folder templates runtime cache include tests/gpu)
  file(GLOB_RECURSE files CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/${folder}/*)
  list(APPEND octet_digested ${files})
endforeach()
list(FILTER octet_digested EXCLUDE REGEX "/tests/gpu/record\\.json$|/\\.[^/]*$|~$|\\.pyc$")

# A file that comes or goes changes no other file's time, but it changes this list.
set(octet_digested_list ${CMAKE_BINARY_DIR}/generated/digested-files.txt)
string(REPLACE ";" "\n" octet_digested_lines "${octet_digested}")
file(GENERATE OUTPUT ${octet_digested_list} CONTENT "${octet_digested_lines}\n")

function(octet_source_digest target)
  set_property(TARGET ${target} APPEND PROPERTY LINK_DEPENDS ${octet_digested} ${octet_digested_list})
  add_custom_command(TARGET ${target} POST_BUILD VERBATIM
                     COMMAND bash ${CMAKE_SOURCE_DIR}/tools/gpu_check.sh --stamp $<TARGET_FILE:${target}>)
endfunction()
