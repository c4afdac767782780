# The library as others use it: after an install by find_package, by add_subdirectory, and by a bare compiler. What trains is built by the first and the
# last; as a subdirectory, what the build brings along is asked. All are built by clang where it is found, in half the time; by the bare compiler what trains
# is built with all optional libraries missing. Our own compiler reads what trains by headers alone where it makes motet::trainer, and has pictures without
# a build system.
# What is installed trains in fp32 alone, which asks of a library with fewer numbers as well and leaves three files out.

# Makes the project that docs/start.md shows, with a program that needs no data in the place of README's, what README offers beside it, and a model that is imported.
function(motet_project_of_start folder)
  set(package ${CMAKE_CURRENT_SOURCE_DIR}/package)
  set(start ${PROJECT_SOURCE_DIR}/docs/start.md)
  set(readme ${PROJECT_SOURCE_DIR}/README.md)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${start} ${readme})
  file(READ ${start} text)
  if(NOT text MATCHES "\n```cmake\n([^`]*add_executable\\(trainer trainer\\.cpp\\)[^`]*)```\n")
    message(FATAL_ERROR "motet: ${start} shows no project with add_executable(trainer trainer.cpp)")
  endif()
  set(project_of_start "${CMAKE_MATCH_1}")
  file(READ ${readme} text)
  if(NOT text MATCHES "\n(target_precompile_headers\\(trainer [^\n]*)")
    message(FATAL_ERROR "motet: ${readme} shows no target_precompile_headers(trainer ...)")
  endif()
  set(line_of_readme "${CMAKE_MATCH_1}")
  configure_file(${package}/CMakeLists.txt.in ${folder}/CMakeLists.txt @ONLY)
  configure_file(${package}/main.cpp ${folder}/trainer.cpp COPYONLY)
endfunction()

function(motet_package_tests)
  set(prefix ${CMAKE_CURRENT_BINARY_DIR}/prefix)
  set(options --build-generator ${CMAKE_GENERATOR} --build-options -DCMAKE_CXX_COMPILER=${motet_reader}
    "-DCMAKE_CXX_FLAGS=${CMAKE_CXX_FLAGS}" -DMOTET_ONEDNN=${MOTET_ONEDNN} -DMOTET_SPNG=${MOTET_SPNG} -DMOTET_JPEG=${MOTET_JPEG} -DMOTET_MPI=${MOTET_MPI}
    -DCMAKE_BUILD_TYPE=Debug -DCMAKE_CXX_FLAGS_DEBUG=-O0 -DCMAKE_CXX_FLAGS_RELEASE=-O0)

  add_test(NAME package.install COMMAND ${CMAKE_COMMAND} --install ${CMAKE_BINARY_DIR} --prefix ${prefix})
  set_tests_properties(package.install PROPERTIES FIXTURES_SETUP installed)

  # As docs/start.md says it: installed from a folder in which nothing was built, and found by the project that stands there.
  set(unbuilt ${CMAKE_CURRENT_BINARY_DIR}/unbuilt)
  add_test(NAME package.unbuilt COMMAND ${CMAKE_COMMAND} -S ${PROJECT_SOURCE_DIR} -B ${unbuilt} -G ${CMAKE_GENERATOR} -DCMAKE_CXX_COMPILER=${motet_reader}
    -DMOTET_CUDA=OFF)
  add_test(NAME package.unbuilt.install COMMAND ${CMAKE_COMMAND} --install ${unbuilt} --prefix ${unbuilt}/prefix)
  set_tests_properties(package.unbuilt PROPERTIES FIXTURES_SETUP unbuilt)
  set_tests_properties(package.unbuilt.install PROPERTIES FIXTURES_REQUIRED unbuilt FIXTURES_SETUP installed_unbuilt)
  motet_project_of_start(${CMAKE_CURRENT_BINARY_DIR}/package)
  add_test(NAME package.find COMMAND ${CMAKE_CTEST_COMMAND} --build-and-test ${CMAKE_CURRENT_BINARY_DIR}/package ${CMAKE_CURRENT_BINARY_DIR}/package/build
    ${options} -DCMAKE_PREFIX_PATH=${unbuilt}/prefix -DMOTET_NUMBERS=fp32 --test-command trainer)
  set_tests_properties(package.find PROPERTIES FIXTURES_REQUIRED installed_unbuilt)

  # What the installed package says must not depend on the machine that built it.
  add_test(NAME package.relocatable COMMAND ${CMAKE_COMMAND} -DPREFIX=${prefix} -DBUILD=${CMAKE_BINARY_DIR} -DSOURCE=${PROJECT_SOURCE_DIR}
    -P ${CMAKE_CURRENT_SOURCE_DIR}/cmake/motetRelocatable.cmake)
  set_tests_properties(package.relocatable PROPERTIES FIXTURES_REQUIRED installed)

  file(CONFIGURE OUTPUT package_component/CMakeLists.txt CONTENT "cmake_minimum_required(VERSION 3.25)
project(mine CXX)
find_package(motet 0.1 CONFIG REQUIRED COMPONENTS no_such)
")
  add_test(NAME package.no_such_component COMMAND ${CMAKE_CTEST_COMMAND} --build-and-test ${CMAKE_CURRENT_BINARY_DIR}/package_component
    ${CMAKE_CURRENT_BINARY_DIR}/package_component/build ${options} -DCMAKE_PREFIX_PATH=${prefix} --test-command none)
  set_tests_properties(package.no_such_component PROPERTIES FIXTURES_REQUIRED installed PASS_REGULAR_EXPRESSION "has no component no_such")

  add_test(NAME package.subdirectory COMMAND ${CMAKE_CTEST_COMMAND} --build-and-test ${CMAKE_CURRENT_SOURCE_DIR}/package_subdirectory
    ${CMAKE_CURRENT_BINARY_DIR}/package_subdirectory ${options} -DMOTET_SOURCE=${PROJECT_SOURCE_DIR}
    --test-command imported)

  # No definition, no optional library, no build system: the portable paths alone.
  separate_arguments(flags UNIX_COMMAND "${CMAKE_CXX_FLAGS}")
  set(reader_flags ${flags})
  # As in tests/run.sh: a quarter of the seconds.
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    list(APPEND flags --param=ggc-min-heapsize=1000000)
    if(motet_reader STREQUAL CMAKE_CXX_COMPILER)
      set(reader_flags ${flags})
    endif()
  endif()
  add_test(NAME package.plain.build COMMAND ${motet_reader} ${reader_flags} -std=c++20 -O0 -I ${motet_include} ${CMAKE_CURRENT_SOURCE_DIR}/package/main.cpp
    -o ${CMAKE_CURRENT_BINARY_DIR}/plain_consumer -pthread)
  set_tests_properties(package.plain.build PROPERTIES FIXTURES_SETUP plain)
  add_test(NAME package.plain.run COMMAND ${CMAKE_CURRENT_BINARY_DIR}/plain_consumer)
  set_tests_properties(package.plain.run PROPERTIES FIXTURES_REQUIRED plain)

  add_test(NAME package.plain.pictures COMMAND sh ${CMAKE_CURRENT_SOURCE_DIR}/package/plain.sh ${CMAKE_CXX_COMPILER} ${motet_include} ${prefix} ${flags})
  set_tests_properties(package.plain.pictures PROPERTIES FIXTURES_REQUIRED installed SKIP_RETURN_CODE 77)

  set_tests_properties(package.install package.unbuilt package.unbuilt.install package.find package.relocatable package.no_such_component package.subdirectory package.plain.build
    package.plain.run package.plain.pictures PROPERTIES LABELS package TIMEOUT 600)
endfunction()
