# motet_add_compiled(<name> <include folder>): static libraries of what is compiled once for all files that link it: <name> has the kernels of towers,
# <name>_ranks what trains a model on ranks, whatever the model. Each is made only when something links it.
function(motet_add_compiled name include)
  add_library(${name} STATIC EXCLUDE_FROM_ALL)
  foreach(part IN ITEMS float double bf16)
    target_sources(${name} PRIVATE ${include}/motet/backend/cpu/compiled/${part}.cpp)
  endforeach()
  target_link_libraries(${name} PUBLIC motet::motet)
  target_compile_definitions(${name} INTERFACE MOTET_COMPILED_KERNELS=1)
  add_library(motet::compiled ALIAS ${name})

  add_library(${name}_ranks STATIC EXCLUDE_FROM_ALL)
  foreach(part IN ITEMS fp32 bf16)
    target_sources(${name}_ranks PRIVATE ${include}/motet/front/compiled/ranks_${part}.cpp)
  endforeach()
  target_link_libraries(${name}_ranks PUBLIC motet::motet)
  target_compile_definitions(${name}_ranks INTERFACE MOTET_COMPILED_RANKS=1)
  add_library(motet::compiled_ranks ALIAS ${name}_ranks)
endfunction()
