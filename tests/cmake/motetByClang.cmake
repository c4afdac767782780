# motet_by_clang(<target>): where clang is found, it takes the place of g++, which needs more than twice the time for what is not optimised.
function(motet_by_clang target)
  if(MOTET_CLANG AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    set(instead sh ${CMAKE_CURRENT_SOURCE_DIR}/tools/instead.sh ${MOTET_CLANG} ${CMAKE_CXX_COMPILER})
    set_property(TARGET ${target} PROPERTY CXX_COMPILER_LAUNCHER ${instead} ${CMAKE_CXX_COMPILER_LAUNCHER})
    set_property(TARGET ${target} PROPERTY CXX_LINKER_LAUNCHER ${instead} ${CMAKE_CXX_LINKER_LAUNCHER})
    # Slices of a plan that are proven in a type take clang more steps than it allows by itself.
    target_compile_options(${target} PRIVATE -fconstexpr-steps=16777216 -Wno-unknown-warning-option -Wno-unused-command-line-argument)
  endif()
endfunction()
