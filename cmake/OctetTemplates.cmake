# Embeds every file of templates/ in the library, as one generated source.
file(GLOB_RECURSE OCTET_TEMPLATE_FILES CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/templates/*.cuh
     ${CMAKE_SOURCE_DIR}/templates/*.cu ${CMAKE_SOURCE_DIR}/templates/*.h)
set(OCTET_EMBEDDED_TEMPLATES ${CMAKE_BINARY_DIR}/generated/embedded_templates.cc)
add_custom_command(
  OUTPUT ${OCTET_EMBEDDED_TEMPLATES}
  COMMAND ${CMAKE_COMMAND} -DOUTPUT=${OCTET_EMBEDDED_TEMPLATES} -DROOT=${CMAKE_SOURCE_DIR}/templates
          "-DFILES=${OCTET_TEMPLATE_FILES}" -P ${CMAKE_SOURCE_DIR}/cmake/EmbedTemplates.cmake
  DEPENDS ${OCTET_TEMPLATE_FILES} ${CMAKE_SOURCE_DIR}/cmake/EmbedTemplates.cmake
  COMMENT "Embedding templates" VERBATIM)
