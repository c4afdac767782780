set(MOTET_NUMBERS fp32 bf16 fp64 CACHE STRING "Numbers that motet::trainer is compiled for: fp32, and any of bf16 (mixed_bf16) and fp64")

# A first look compiles what steers without optimisation, and only what computes with all of it: presets say so.
set(MOTET_STEERING_FLAGS -O1 CACHE STRING "Flags of what steers a run: the program around it, plans, launches")
set(MOTET_COMPUTING_FLAGS "" CACHE STRING "Flags of what computes for long: kernels of towers, and what reads data")

# motet_add_compiled(<name> <include folder>): static libraries of what is compiled once for all files that link it: <name> has the kernels of towers,
# <name>_ranks what trains a model on ranks, whatever the model, and what brings it data. Each is made only when something links it. motet::trainer is
# both: what a program that trains says. <name>_run, motet::run, has the program around it as well (run_program). <name>_planner, motet::planner, has searches
# for plans and what schedules jobs by them, and needs none of the others.
function(motet_add_compiled name include)
  # A project that finds the package gets no kind of build by itself.
  if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES AND NOT "${CMAKE_CXX_FLAGS} ${MOTET_COMPUTING_FLAGS}" MATCHES "-O")
    message(WARNING "motet: CMAKE_BUILD_TYPE is empty, so kernels are compiled without optimisation and the model trains slowly: say -DCMAKE_BUILD_TYPE=Release, or -O flags in CMAKE_CXX_FLAGS")
  endif()
  foreach(each IN LISTS MOTET_NUMBERS)
    if(NOT each MATCHES "^(fp32|bf16|fp64)$")
      message(FATAL_ERROR "motet: MOTET_NUMBERS has ${each}: it wants fp32, and any of bf16 and fp64")
    endif()
  endforeach()
  # What is left out is refused where it is used, by a sentence that says how to have it.
  set(kernels float processor)
  set(ranks ranks programs launch data)
  set(left_out)
  if("bf16" IN_LIST MOTET_NUMBERS)
    list(APPEND kernels bf16)
  else()
    list(APPEND left_out MOTET_COMPILED_WITHOUT_BF16=1)
  endif()
  if("fp64" IN_LIST MOTET_NUMBERS)
    list(APPEND kernels double)
  else()
    list(APPEND left_out MOTET_COMPILED_WITHOUT_FP64=1)
  endif()

  add_library(${name} STATIC EXCLUDE_FROM_ALL)
  list(TRANSFORM kernels REPLACE "(.+)" "${include}/motet/backend/cpu/compiled/\\1.cpp")
  target_sources(${name} PRIVATE ${kernels})
  target_compile_options(${name} PRIVATE ${MOTET_COMPUTING_FLAGS})
  target_link_libraries(${name} PUBLIC motet::motet)
  target_compile_definitions(${name} INTERFACE MOTET_COMPILED_KERNELS=1 ${left_out})
  add_library(motet::compiled ALIAS ${name})

  add_library(${name}_ranks STATIC EXCLUDE_FROM_ALL)
  list(TRANSFORM ranks REPLACE "(.+)" "${include}/motet/front/compiled/\\1.cpp")
  target_sources(${name}_ranks PRIVATE ${ranks})
  set_property(SOURCE ${include}/motet/front/compiled/programs.cpp ${include}/motet/front/compiled/launch.cpp PROPERTY COMPILE_OPTIONS $<$<CONFIG:Release>:${MOTET_STEERING_FLAGS}>)
  set_property(SOURCE ${include}/motet/front/compiled/data.cpp PROPERTY COMPILE_OPTIONS ${MOTET_COMPUTING_FLAGS})
  # Their products of matrices, which Muon has, are among the kernels.
  target_link_libraries(${name}_ranks PUBLIC ${name})
  target_compile_definitions(${name}_ranks INTERFACE MOTET_COMPILED_RANKS=1 MOTET_COMPILED_DATA=1)
  add_library(motet::compiled_ranks ALIAS ${name}_ranks)
  add_library(motet::trainer ALIAS ${name}_ranks)

  add_library(${name}_run STATIC EXCLUDE_FROM_ALL ${include}/motet/run/compiled/run_program.cpp)
  target_compile_options(${name}_run PRIVATE ${MOTET_STEERING_FLAGS})
  target_link_libraries(${name}_run PUBLIC ${name}_ranks)
  target_compile_definitions(${name}_run INTERFACE MOTET_COMPILED_RUN=1)
  add_library(motet::run ALIAS ${name}_run)

  add_library(${name}_planner STATIC EXCLUDE_FROM_ALL ${include}/motet/jobs/compiled/planner.cpp)
  target_link_libraries(${name}_planner PUBLIC motet::motet)
  target_compile_definitions(${name}_planner INTERFACE MOTET_COMPILED_PLANNER=1)
  add_library(motet::planner ALIAS ${name}_planner)
endfunction()
