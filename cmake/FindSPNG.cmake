# SPNG::SPNG from spng.h and libspng; distributions pack no config file for it.
include(FindPackageHandleStandardArgs)

find_path(SPNG_INCLUDE_DIR spng.h)
find_library(SPNG_LIBRARY NAMES spng spng_static)
mark_as_advanced(SPNG_INCLUDE_DIR SPNG_LIBRARY)

set(SPNG_VERSION "")
if(SPNG_INCLUDE_DIR)
  foreach(part IN ITEMS MAJOR MINOR PATCH)
    file(STRINGS ${SPNG_INCLUDE_DIR}/spng.h line REGEX "^#define SPNG_VERSION_${part} +[0-9]+")
    string(REGEX MATCH "[0-9]+$" number "${line}")
    list(APPEND SPNG_VERSION "${number}")
  endforeach()
  list(JOIN SPNG_VERSION "." SPNG_VERSION)
endif()

find_package_handle_standard_args(SPNG REQUIRED_VARS SPNG_LIBRARY SPNG_INCLUDE_DIR VERSION_VAR SPNG_VERSION)
if(SPNG_FOUND AND NOT TARGET SPNG::SPNG)
  add_library(SPNG::SPNG UNKNOWN IMPORTED)
  set_target_properties(SPNG::SPNG PROPERTIES IMPORTED_LOCATION "${SPNG_LIBRARY}" INTERFACE_INCLUDE_DIRECTORIES "${SPNG_INCLUDE_DIR}")
endif()
