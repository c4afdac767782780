# tests/unit/<path>/<stem>.cpp is the test unit.<path>.<stem>. Comments at the start of its lines say how it runs:
#   // labels: a b     adds labels
#   // alone: why      it runs while no other test does
#   // ranks: 2 3      it also runs as the tests mpi.<path>.<stem>.2 and .3, which are processes of MPI
#   // races: who      it runs under the thread sanitizer alone, where a run has it beside the address sanitizer, under which `who` runs its lines
#
# Files of one folder (nets are one, the runtime, and each back end) and of one kind are compiled as one, a group, and make one program: what they include and
# what they instantiate is most of their cost. Within a group each file stands in a namespace of its own, and each test runs its file's cases alone, so
# that a crash ends no other test. A file that defines macros is a group by itself.
set(MOTET_GROUP_SIZE 10 CACHE STRING "The most files of unit tests that are compiled as one")
# Traces and times of the evaluation of Crius, which are not ours to give away: the test that plays them is left out where they are not.
find_path(MOTET_JOBS_DATA arena_simulate_trace_philly.csv PATHS ${PROJECT_SOURCE_DIR}/../shared/data/crius NO_DEFAULT_PATH
  DOC "Folder with the trace, the times and the memory of the evaluation of Crius")
set(MOTET_TEST_OPTIONS DOCTEST_CONFIG_SUPER_FAST_ASSERTS "MOTET_TEST_DATA=\"${CMAKE_CURRENT_SOURCE_DIR}/data\"")

function(motet_unit_name source variable)
  string(REGEX REPLACE "\\.cpp$" "" name unit/${source})
  string(REPLACE "/" "." name ${name})
  set(${variable} ${name} PARENT_SCOPE)
endfunction()

# motet_unit_kind(<source> <variable>): what decides how a file is compiled, as one word: the group's name begins with its folder and this.
function(motet_unit_kind source variable)
  set(file ${CMAKE_CURRENT_SOURCE_DIR}/unit/${source})
  file(STRINGS ${file} lines REGEX "^#include|^#define|^// |threads|std::j?thread|std::atomic|team")
  set(kind plain)
  if(lines MATCHES "#include \"support/cuda/emulate.hpp\"")
    set(kind emulated)
  elseif(source MATCHES "^backend/cpu/" AND source MATCHES "/(gemm|tile_|norm\\.|attention_softmax)")
    # Kernels are tested as they ship: those of compiled.hpp as the library has them, others optimised as it is.
    set(kind kernels)
  elseif(source MATCHES "^backend/cpu/" AND NOT source MATCHES "^backend/cpu/(compiled|kernels/bodies)\\.cpp")
    set(kind cpu)
  endif()
  string(REGEX REPLACE "\\.cpp$" "" named ${source})
  if(named IN_LIST motet_bare AND (CMAKE_CXX_FLAGS MATCHES "address" OR MOTET_UNIT_TESTS STREQUAL "OPTIMISED"))
    set(kind plain.bare)
  endif()
  # Under the thread sanitizer runs what has threads. Kernels, and nets, which leave threads to them, do only if they ask to, by their labels: on CPUs, all
  # share their work in one way; and the fakes of GPUs are not instrumented.
  if(lines MATCHES "// labels: [^;]*threads" OR
     (kind MATCHES "^plain" AND NOT source MATCHES "^nn/" AND lines MATCHES "threads|std::j?thread|std::atomic|team"))
    string(APPEND kind .threads)
  endif()
  if(lines MATCHES "#include [<\"]([^;]*/)?mpi_ranks.hpp")
    string(APPEND kind .mpi)
  endif()
  if(lines MATCHES "#include [<\"]([^;]*/)?allocations.hpp")
    string(APPEND kind .counted)
  endif()
  # Plans that are drawn, re-split and spread run optimised as well; so does what watches the clock.
  if(lines MATCHES "// ranks: |plan_laws|resplit_laws")
    string(APPEND kind .whole)
  elseif(lines MATCHES "// alone: ")
    string(APPEND kind .whole.alone)
  endif()
  if(lines MATCHES "// races: ")
    string(APPEND kind .races)
  endif()
  if(lines MATCHES "#define (MOTET_HAS_)?" AND NOT CMAKE_MATCH_1)
    string(REGEX REPLACE ".*/|\\.cpp$" "" stem ${source})
    string(APPEND kind .${stem})
  endif()
  if(lines MATCHES "#include <(nccl.h|motet/backend/transport/nccl[^>]*)>")
    string(APPEND kind .nccl)
  endif()
  set(${variable} ${kind} PARENT_SCOPE)
endfunction()

# motet_group_kind(<kind> <variable>): files whose kinds differ in nothing that this word tells are compiled as one. What has threads stands apart where that
# alone is built, and MPI's where leaks are looked for, which it turns off.
function(motet_group_kind kind variable)
  string(REGEX REPLACE "\\.(whole|alone|counted|races)" "" kind ${kind})
  if(NOT kind MATCHES "^emulated" AND NOT CMAKE_CXX_FLAGS MATCHES "thread")
    string(REPLACE ".threads" "" kind ${kind})
  endif()
  if(NOT CMAKE_CXX_FLAGS MATCHES "address")
    string(REPLACE ".mpi" "" kind ${kind})
  endif()
  string(REPLACE ".nccl" "" kind ${kind})
  set(${variable} ${kind} PARENT_SCOPE)
endfunction()

# Searches try thousands of plans, and their tests thousands more to find none that is better: they are optimised, by motet::planner where a run builds unit
# tests twice, and stand in the build without sanitizers there, as the address sanitizer's allocator alone makes them seven times slower. What a search is
# made of, and search_every, run with it; so do all policies, from event to event, beside failures and read back, but not the tests that play whole traces;
# and fillings and batches between weights, as what trains by them is. Where an encoder lives is two of these searches; what a run asks of orchestrate, and what simulate
# asks of lanes in gaps, run with the sanitizers as well.
set(motet_bare
  jobs/policies/crius jobs/policies/motet_policy jobs/policies/policies jobs/published_rows jobs/watch/kept_state
  plan/beyond_paper plan/cells/choose_plan plan/cells/encoder_home plan/cost/folded_plan plan/distmm/search_distmm plan/distmm/search_megatron plan/disttrain/orchestrate
  plan/disttrain/search_chain plan/optimus/filled_gaps plan/optimus/search_filled plan/order/deal plan/order/deal_wide plan/order/interleaved_order plan/order/microbatch_order
  plan/order/program_order plan/published_table
  plan/quotas/plan_of_quotas plan/quotas/search_quotas plan/search/search schedule/place/fill schedule/place/forwards_ahead schedule/simulate/speed_in_gaps
  schedule/write/batch_sync)

# What the address sanitizer sees as well, or a processor of our kind does not mind, is looked for where bytes from outside are read, and not elsewhere:
# of kernels, it is most of what clang takes.
function(motet_less_undefined target)
  if(CMAKE_CXX_FLAGS MATCHES "undefined")
    target_compile_options(${target} PRIVATE -fno-sanitize=null,vptr,object-size,alignment,pointer-overflow)
  endif()
endfunction()

# motet_search_compiled(<target>): its searches are those of motet::planner, and so is all that they call. Its own files, which are not optimised, have some of
# that as well, and of functions that two files have the linker takes the first.
function(motet_search_compiled target)
  target_link_libraries(${target} PRIVATE motet::planner)
  target_link_options(${target} PRIVATE "LINKER:--whole-archive,$<TARGET_FILE:motet_compiled_planner>,--no-whole-archive")
endfunction()

# motet_sees_races(<variable>): whether programs under the thread sanitizer start here, so that a whole run has them as well.
function(motet_sees_races variable)
  include(CheckCXXSourceRuns)
  set(CMAKE_CXX_FLAGS "")
  set(CMAKE_REQUIRED_FLAGS -fsanitize=thread)
  set(CMAKE_REQUIRED_QUIET ON)
  check_cxx_source_runs("int main() { return 0; }" MOTET_SEES_RACES)
  set(${variable} ${MOTET_SEES_RACES} PARENT_SCOPE)
endfunction()

# motet_instruction_sets(<variable>): as MOTET_INSTRUCTION_SETS of features.hpp has it, those that this machine can run, where it tells.
function(motet_instruction_sets variable)
  set(sets 4)
  if(CMAKE_CXX_FLAGS MATCHES "thread")
    set(sets 1)
  elseif(EXISTS /proc/cpuinfo)
    file(STRINGS /proc/cpuinfo flags REGEX "^flags" LIMIT_COUNT 1)
    if(flags AND NOT flags MATCHES " avx512f ")
      set(sets 2)
    endif()
  endif()
  set(${variable} ${sets} PARENT_SCOPE)
endfunction()

# motet_test_group(<name> <kind> <sources...>): the program <name>.
function(motet_test_group name kind)
  list(TRANSFORM ARGN PREPEND ${CMAKE_CURRENT_SOURCE_DIR}/unit/ OUTPUT_VARIABLE files)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${files})
  list(LENGTH ARGN count)
  if(count EQUAL 1)
    set(made ${files})
  else()
    set(made ${CMAKE_CURRENT_BINARY_DIR}/groups/${name}.cpp)
    motet_in_namespaces(text ${files})
    file(CONFIGURE OUTPUT ${made} CONTENT "${text}" @ONLY)
  endif()

  add_executable(${name} ${made})
  target_include_directories(${name} PRIVATE ${CMAKE_CURRENT_SOURCE_DIR} ${CMAKE_CURRENT_SOURCE_DIR}/laws ${PROJECT_SOURCE_DIR}/examples
    ${PROJECT_SOURCE_DIR}/bench)
  target_compile_definitions(${name} PRIVATE ${MOTET_TEST_OPTIONS})
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin/tests)
  if(kind MATCHES "^emulated")
    # Kernels that compute for long come compiled, and others are small; what is instrumented would be too slow.
    motet_by_clang(${name})
    target_link_libraries(${name} PRIVATE motet_fake_cuda)
    if(NOT kind MATCHES "\\.threads")
      target_compile_options(${name} PRIVATE -O0)
      if(kind STREQUAL "emulated")  # what defines macros has kernels of its own
        target_link_libraries(${name} PRIVATE motet_emulated_kernels)
      endif()
    else()
      target_compile_options(${name} PRIVATE -O1)
    endif()
    if(MOTET_INSTRUMENT_EMULATED AND kind MATCHES "\\.threads")
      set(sanitizers -fsanitize=address,undefined -fno-sanitize-recover=all -fno-sanitize=null,vptr,object-size,alignment,pointer-overflow)
      target_compile_options(${name} PRIVATE ${sanitizers} -fno-omit-frame-pointer -g1)
      target_link_options(${name} PRIVATE ${sanitizers})
      set_property(SOURCE ${made} APPEND PROPERTY COMPILE_OPTIONS -Wno-error)  # see below
    endif()
  elseif(kind MATCHES "\\.bare" AND NOT MOTET_UNIT_TESTS STREQUAL "OPTIMISED")
    target_compile_options(${name} PRIVATE -O1 -fno-sanitize=all)
  elseif(kind MATCHES "^kernels")
    target_compile_options(${name} PRIVATE $<IF:$<CONFIG:Debug>,-O1,-O3>)
  else()
    # Kernels come compiled; what stands in the test files takes longer to compile than to run.
    target_compile_options(${name} PRIVATE -O0)
    if(MOTET_UNIT_TESTS STREQUAL "OPTIMISED")
      motet_by_clang(${name})
    endif()
    if(kind MATCHES "\\.bare")
      motet_search_compiled(${name})
    endif()
  endif()
  if(NOT kind MATCHES "^plain" AND CMAKE_BUILD_TYPE STREQUAL "Debug" AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # Optimised and instrumented, they draw warnings of g++ that the plain build, where they are errors, does not.
    set_property(SOURCE ${made} APPEND PROPERTY COMPILE_OPTIONS -Wno-error)  # behind -Werror
  endif()
  target_link_libraries(${name} PRIVATE motet::motet motet_warnings motet_test_main)
  # What defines macros reads the parts of kernels; all others call them as they ship.
  if(NOT kind MATCHES "^kernels\\.")
    target_link_libraries(${name} PRIVATE motet::compiled)
    # A test that asks for a product of its own compiles the tiles below it once more, unoptimised: of functions that two files have, the linker takes the
    # first, so the library's stand before the test's.
    target_link_options(${name} PRIVATE "LINKER:--whole-archive,$<TARGET_FILE:motet_compiled>,--no-whole-archive")
    if("${ARGN}" MATCHES "(^|;)(runtime|front|run)/" AND NOT kind MATCHES "^emulated.*\\.threads")
      target_link_libraries(${name} PRIVATE motet::compiled_ranks)
    endif()
    # What tests kernels asks for some that the library does not have.
    if(NOT kind MATCHES "^plain")
      target_compile_definitions(${name} PRIVATE MOTET_KERNEL_BODIES=1)
      target_compile_options(${name} PRIVATE "SHELL:-include motet/backend/cpu/compiled.hpp")
    endif()
  endif()
  if(NOT "${ARGN}" MATCHES "^(format|data|meta|tensor)/")
    motet_less_undefined(${name})
  endif()

  # Calls in place of code at each access: a third less to compile, where nothing is optimised anyway.
  if(kind MATCHES "^plain" AND CMAKE_CXX_FLAGS MATCHES "address" AND CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
    target_compile_options(${name} PRIVATE -fsanitize-address-outline-instrumentation)
  endif()

  # See unit/runtime/allocations.hpp.
  if(CMAKE_CXX_FLAGS MATCHES "address|thread")
    foreach(source IN LISTS ARGN)
      motet_unit_kind(${source} of_source)
      if(of_source MATCHES "\\.counted")
        target_link_options(${name} PRIVATE LINKER:--wrap=_ZnwmSt11align_val_t,--wrap=_ZnamSt11align_val_t)
        break()
      endif()
    endforeach()
  endif()

  if(kind MATCHES "^emulated")
    add_dependencies(emulated_tests ${name})
  else()
    add_dependencies(unit_tests ${name})
  endif()
  if(kind MATCHES "\\.threads")
    add_dependencies(thread_tests ${name})
  endif()
  if(kind STREQUAL "plain" AND "${ARGN}" MATCHES "^nn/")
    add_dependencies(net_tests ${name})
  endif()
  foreach(source IN LISTS ARGN)
    motet_unit_test(${name} ${source})
  endforeach()
endfunction()

# motet_unit_test(<group> <source>): one file's cases.
function(motet_unit_test group source)
  motet_unit_name(${source} name)
  motet_unit_kind(${source} kind)
  set(labels unit)
  foreach(word IN ITEMS emulated threads)
    if(kind MATCHES "(^|\\.)${word}")
      list(APPEND labels ${word})
    endif()
  endforeach()
  file(STRINGS ${CMAKE_CURRENT_SOURCE_DIR}/unit/${source} lines REGEX "^// (labels: |ranks: |alone: )")
  foreach(line IN LISTS lines)
    if(line MATCHES "^// labels: *(.*)")
      separate_arguments(words UNIX_COMMAND "${CMAKE_MATCH_1}")
      list(APPEND labels ${words})
    endif()
  endforeach()
  list(REMOVE_DUPLICATES labels)
  set_property(GLOBAL APPEND_STRING PROPERTY motet_unit_tests "${name} ${group} ${CMAKE_CURRENT_SOURCE_DIR}/unit/${source}\n")
  set(chosen --source-file=*/unit/${source})
  add_test(NAME ${name} COMMAND ${group} ${chosen})
  set_tests_properties(${name} PROPERTIES LABELS "${labels}" TIMEOUT 400 SKIP_RETURN_CODE 77)
  if(MOTET_JOBS_DATA AND name MATCHES "^unit\\.jobs\\.")
    set_tests_properties(${name} PROPERTIES ENVIRONMENT MOTET_JOBS_DATA=${MOTET_JOBS_DATA})
  endif()
  if(lines MATCHES "// alone: ")
    set_tests_properties(${name} PROPERTIES RUN_SERIAL TRUE)
  endif()
  if(lines MATCHES "// ranks: *([0-9 ]+)")
    separate_arguments(counts UNIX_COMMAND "${CMAKE_MATCH_1}")
    string(REGEX REPLACE "^unit" "mpi" by_mpi ${name})
    foreach(ranks IN LISTS counts)
      add_test(NAME ${by_mpi}.${ranks} COMMAND sh ${CMAKE_CURRENT_SOURCE_DIR}/tools/under_mpi.sh ${ranks} $<TARGET_FILE:${group}> ${chosen})
      set_tests_properties(${by_mpi}.${ranks} PROPERTIES LABELS mpi TIMEOUT 120 SKIP_RETURN_CODE 77 PROCESSORS 2)
    endforeach()
  endif()
endfunction()

# motet_unit_tests(): all of them; or those that no other build has, where the unit tests are built twice. Optimised: kernels as they ship, emulated GPUs,
# searches, whole plans and processes of MPI. Instrumented: all others, and whole plans and the transport of MPI once more; plans on ranks that are processes are the
# same laws; and what says `races` is left to the thread sanitizer, where that is here. What runs alone, by the clock, keeps all processors waiting, so a whole
# run has it optimised and under the thread sanitizer only.
set(MOTET_UNIT_TESTS ALL CACHE STRING "Unit tests that are built: ALL, OPTIMISED or INSTRUMENTED ones")
option(MOTET_INSTRUMENT_EMULATED "Build the tests of kernels on emulated GPUs with the address and undefined-behaviour sanitizers" OFF)
function(motet_unit_tests)
  add_library(motet_test_main OBJECT doctest_main.cpp)
  target_link_libraries(motet_test_main PUBLIC doctest::doctest)
  target_compile_features(motet_test_main PRIVATE cxx_std_20)
  target_compile_options(motet_test_main PRIVATE -O0)
  if(CMAKE_BUILD_TYPE STREQUAL "Debug")
    # Code that this machine cannot run is most of what kernels compile; and threads share their rows in one way, whatever the instruction set.
    motet_instruction_sets(sets)
    target_compile_definitions(motet_compiled PUBLIC MOTET_INSTRUCTION_SETS=${sets})
    target_compile_options(motet_compiled PRIVATE -O1)
    target_compile_options(motet_compiled_ranks PRIVATE -O0)
    motet_less_undefined(motet_compiled)
    motet_less_undefined(motet_compiled_ranks)
  elseif(CMAKE_BUILD_TYPE STREQUAL "Release" AND NOT MOTET_HAS_CUDA)
    # As they ship, whatever is asked of programs.
    target_compile_options(motet_compiled PRIVATE -O3)
  endif()
  # What steers takes longer to compile than it runs; and models of one program, which include and instantiate much the same, are compiled as one.
  if(MOTET_UNIT_TESTS STREQUAL "OPTIMISED")
    # g++ shows what it warns of in the library, in what trains pairs, in what schedules jobs and in the lessons; of other programs only answers are asked.
    set(asked train_vlm generate train_pipeline profile draw embed export_hf import_hf compare_runs pack produce schedule_explorer plan_cluster)
    foreach(steers IN ITEMS motet_compiled_ranks motet_compiled_run train_clip_models train_clip schedule_jobs bench_plan ${asked})
      if(TARGET ${steers})
        target_compile_options(${steers} PRIVATE -O0)
        if(steers IN_LIST asked)
          motet_by_clang(${steers})
        endif()
      endif()
    endforeach()
    foreach(searches IN ITEMS plan_cluster schedule_jobs)
      if(TARGET ${searches})
        motet_search_compiled(${searches})
      endif()
    endforeach()
    # What reads data computes for long: pictures are resized, sounds heard, files checked.
    set_property(SOURCE ${motet_include}/motet/front/compiled/data.cpp TARGET_DIRECTORY motet_compiled_ranks APPEND PROPERTY COMPILE_OPTIONS -O1)
    foreach(whole IN ITEMS train_clip_models train_clip train_vlm generate profile)
      if(TARGET ${whole})
        set_target_properties(${whole} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 0)
        # By -O0 no file needs options of its own, which would keep it out.
        if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
          get_target_property(files ${whole} SOURCES)
          list(FILTER files EXCLUDE REGEX "^[$]<")
          list(TRANSFORM files PREPEND ${PROJECT_SOURCE_DIR}/examples/ REGEX "^[^/]")
          set_property(SOURCE ${files} TARGET_DIRECTORY ${whole} PROPERTY COMPILE_OPTIONS)
        endif()
      endif()
    endforeach()
  endif()
  add_custom_target(unit_tests)
  add_custom_target(emulated_tests)
  add_custom_target(thread_tests)
  add_custom_target(net_tests)  # the longest of them to compile; tests/run.sh begins with these beside nvcc

  file(GLOB_RECURSE sources CONFIGURE_DEPENDS RELATIVE ${CMAKE_CURRENT_SOURCE_DIR}/unit unit/*.cpp)
  list(SORT sources)
  set(races_apart OFF)
  if(MOTET_UNIT_TESTS STREQUAL "INSTRUMENTED" AND CMAKE_CXX_FLAGS MATCHES "address")
    motet_sees_races(races_apart)
  endif()
  set(groups "")
  foreach(source IN LISTS sources)
    motet_unit_kind(${source} kind)
    if((kind MATCHES "^emulated" AND NOT MOTET_CUDA_FOUND) OR (kind MATCHES "\\.nccl" AND NOT "MOTET_HAS_NCCL=1" IN_LIST MOTET_CUDA_DEFINITIONS))
      continue()
    endif()
    if(kind MATCHES "^emulated" AND TARGET motet_gpu_test_main AND NOT source MATCHES "^support/")
      list(PREPEND gpu_tests ${source})
    endif()
    if((MOTET_UNIT_TESTS STREQUAL "OPTIMISED" AND NOT kind MATCHES "^kernels|^emulated|\\.(bare|whole)") OR
       (MOTET_UNIT_TESTS STREQUAL "INSTRUMENTED" AND (kind MATCHES "^kernels|^emulated|\\.bare|\\.alone" OR "${source} ${kind}" MATCHES "^(nn|runtime)/.*\\.mpi\\.whole")) OR
       (races_apart AND kind MATCHES "\\.races"))
      continue()
    endif()
    # What clang alone builds, under sanitizers or for a quick look, leaves these to the build of g++, even where clang compiles them there.
    if(kind MATCHES "^emulated" AND NOT CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
      list(APPEND left_out ${source})
      continue()
    endif()
    if(kind MATCHES "\\.mpi" AND NOT "MOTET_HAS_MPI=1" IN_LIST MOTET_OPTIONAL_DEFINITIONS)
      motet_unit_name(${source} name)
      add_test(NAME ${name} COMMAND sh -c "echo 'built without MPI'; exit 77")
      set_tests_properties(${name} PROPERTIES LABELS unit SKIP_RETURN_CODE 77)
      continue()
    endif()
    get_filename_component(folder ${source} DIRECTORY)
    # The rooms of nets, of the runtime, of a front or of a back end, include much the same: more programs would cost more.
    string(REGEX REPLACE "^(nn|runtime|tools|front|backend/[a-z]+)/.*" "\\1" folder ${folder})
    # So do the rooms of other floors, and a whole run does not build only some of them.
    if(kind MATCHES "\\.bare")
      set(folder plan)
    elseif(MOTET_GROUP_SIZE GREATER_EQUAL 40)
      string(REGEX REPLACE "^(plan|schedule|jobs|data|format)/.*" "\\1" folder ${folder})
      string(REGEX REPLACE "^backend/(core|exchange|groups|transport)$" "backend" folder ${folder})
      string(REGEX REPLACE "^(meta|strategy|model|tools|support)(/.*)?$" "model" folder ${folder})
      string(REGEX REPLACE "^run$" "front" folder ${folder})
    endif()
    # All floors of one kind read and instantiate much the same: where memory is enough for it (4 GB), one file of several takes a tenth to a quarter less. Those
    # that the sanitizers ask most of (motet_less_undefined) stay by themselves; the thread sanitizer asks all for the same.
    if(MOTET_GROUP_SIZE GREATER_EQUAL 1000)
      string(REGEX REPLACE "^(format|model|tensor)$" "data" folder ${folder})
      string(REGEX REPLACE "^(backend|front)(/.*)?$" "runtime" folder ${folder})
      string(REGEX REPLACE "^(schedule|jobs)$" "plan" folder ${folder})
      if(CMAKE_CXX_FLAGS MATCHES "thread")
        set(folder runtime)
      endif()
    endif()
    motet_group_kind(${kind} kind)
    # Emulated GPUs are most of what any of these compiles; trainers on them are two thirds of what either floor's tests compile.
    if(kind STREQUAL "emulated" AND (folder STREQUAL "front" OR MOTET_GROUP_SIZE GREATER_EQUAL 100))
      set(folder runtime)
    endif()
    string(REPLACE "/" "." group tests.${folder}.${kind})
    string(REGEX REPLACE "\\.plain$" "" group ${group})
    string(REPLACE ".plain." "." group ${group})
    list(APPEND groups ${group})
    list(APPEND files_of_${group} ${source})
    set(kind_of_${group} ${kind})
  endforeach()
  # Backwards: a build begins with the trainer, whose compile takes minutes.
  motet_gpu_tests(${gpu_tests})
  list(REMOVE_DUPLICATES groups)
  if(left_out)
    list(LENGTH left_out count)
    message(STATUS "${count} tests of emulated GPUs are left out: a build by g++ has them")
  endif()

  foreach(group IN LISTS groups)
    list(LENGTH files_of_${group} count)
    set(most ${MOTET_GROUP_SIZE})
    if(kind_of_${group} MATCHES "^kernels" AND most GREATER 3)
      set(most 3)  # each has all instruction sets
    elseif(group MATCHES "^tests\\.nn" AND most GREATER 60 AND most LESS 1000)
      set(most 60)  # nets have layers of their own
    elseif(kind_of_${group} MATCHES "\\.bare")
      list(LENGTH files_of_${group} most)  # each has all searches
    endif()
    math(EXPR parts "(${count} + ${most} - 1) / ${most}")
    foreach(part RANGE 1 ${parts})
      math(EXPR first "(${part} - 1) * ${count} / ${parts}")
      math(EXPR size "${part} * ${count} / ${parts} - ${first}")
      list(SUBLIST files_of_${group} ${first} ${size} files)
      if(parts EQUAL 1)
        motet_test_group(${group} ${kind_of_${group}} ${files})
      else()
        motet_test_group(${group}.${part} ${kind_of_${group}} ${files})
      endif()
    endforeach()
  endforeach()
  # For tools/affected.py.
  get_property(lines GLOBAL PROPERTY motet_unit_tests)
  file(CONFIGURE OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/unit_tests.txt CONTENT "${lines}" @ONLY)
endfunction()
