# motet_add_compiled(<name> <include folder>): a static library of the kernels of towers, and of what trains models whatever they are, compiled once for
# all files that link it. It is made only when something links it.
function(motet_add_compiled name include)
  add_library(${name} STATIC EXCLUDE_FROM_ALL)
  foreach(part IN ITEMS backend/cpu/compiled/float backend/cpu/compiled/double backend/cpu/compiled/bf16 front/compiled/ranks_fp32 front/compiled/ranks_fp64
                        front/compiled/ranks_bf16)
    target_sources(${name} PRIVATE ${include}/motet/${part}.cpp)
  endforeach()
  target_link_libraries(${name} PUBLIC motet::motet)
  target_compile_definitions(${name} INTERFACE MOTET_COMPILED_KERNELS=1)
  add_library(motet::compiled ALIAS ${name})
endfunction()
