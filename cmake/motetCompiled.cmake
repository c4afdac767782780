# motet_add_compiled(<name> <include folder>): static libraries of what is compiled once for all files that link it: <name> has the kernels of towers,
# <name>_ranks what trains a model on ranks, whatever the model, and what brings it data. Each is made only when something links it. motet::trainer links
# both: what a program that trains says. <name>_run, motet::run, has the program around it as well (run_program).
function(motet_add_compiled name include)
  add_library(${name} STATIC EXCLUDE_FROM_ALL)
  foreach(part IN ITEMS float double bf16)
    target_sources(${name} PRIVATE ${include}/motet/backend/cpu/compiled/${part}.cpp)
  endforeach()
  target_link_libraries(${name} PUBLIC motet::motet)
  target_compile_definitions(${name} INTERFACE MOTET_COMPILED_KERNELS=1)
  add_library(motet::compiled ALIAS ${name})

  add_library(${name}_ranks STATIC EXCLUDE_FROM_ALL)
  foreach(part IN ITEMS ranks_fp32 ranks_bf16 launch data)
    target_sources(${name}_ranks PRIVATE ${include}/motet/front/compiled/${part}.cpp)
  endforeach()
  target_link_libraries(${name}_ranks PUBLIC motet::motet)
  target_compile_definitions(${name}_ranks INTERFACE MOTET_COMPILED_RANKS=1 MOTET_COMPILED_DATA=1)
  add_library(motet::compiled_ranks ALIAS ${name}_ranks)

  add_library(${name}_trainer INTERFACE)
  target_link_libraries(${name}_trainer INTERFACE ${name} ${name}_ranks)
  add_library(motet::trainer ALIAS ${name}_trainer)

  add_library(${name}_run STATIC EXCLUDE_FROM_ALL ${include}/motet/run/compiled/run_program.cpp)
  # It steers; what computes for long is in the others.
  target_compile_options(${name}_run PRIVATE -O1)
  target_link_libraries(${name}_run PUBLIC ${name}_trainer)
  target_compile_definitions(${name}_run INTERFACE MOTET_COMPILED_RUN=1)
  add_library(motet::run ALIAS ${name}_run)
endfunction()
