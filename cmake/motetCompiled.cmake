# motet_add_compiled(<name> <include folder>): the kernels of towers as a static library, compiled once for all files that link it. It is made only when
# something links it.
function(motet_add_compiled name include)
  add_library(${name} STATIC EXCLUDE_FROM_ALL)
  foreach(part IN ITEMS float double bf16)
    target_sources(${name} PRIVATE ${include}/motet/backend/cpu/compiled/${part}.cpp)
  endforeach()
  target_link_libraries(${name} PUBLIC motet::motet)
  target_compile_definitions(${name} INTERFACE MOTET_COMPILED_KERNELS=1)
  add_library(motet::compiled ALIAS ${name})
endfunction()
