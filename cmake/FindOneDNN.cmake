# OneDNN::OneDNN from dnnl.hpp and libdnnl. The library's own config file asks for OpenCL, which we never use, so it is not asked.
include(FindPackageHandleStandardArgs)

find_path(OneDNN_INCLUDE_DIR dnnl.hpp)
find_library(OneDNN_LIBRARY dnnl)
mark_as_advanced(OneDNN_INCLUDE_DIR OneDNN_LIBRARY)

set(OneDNN_VERSION "")
set(OneDNN_runtime "")
if(OneDNN_INCLUDE_DIR)
  foreach(part IN ITEMS MAJOR MINOR PATCH)
    file(STRINGS ${OneDNN_INCLUDE_DIR}/oneapi/dnnl/dnnl_version.h line REGEX "^#define DNNL_VERSION_${part} +[0-9]+")
    string(REGEX MATCH "[0-9]+$" number "${line}")
    list(APPEND OneDNN_VERSION "${number}")
  endforeach()
  list(JOIN OneDNN_VERSION "." OneDNN_VERSION)
  file(STRINGS ${OneDNN_INCLUDE_DIR}/oneapi/dnnl/dnnl_config.h OneDNN_runtime REGEX "^#define DNNL_CPU_THREADING_RUNTIME ")
endif()

# Where oneDNN runs on OpenMP, the program sets the number of its threads, so it links that runtime itself. It needs no compiler flag, and clang
# finds the runtime of g++ in the folders that it links from anyway.
if(OneDNN_runtime MATCHES "RUNTIME_OMP")
  find_library(OneDNN_OPENMP NAMES gomp omp iomp5 HINTS ${CMAKE_CXX_IMPLICIT_LINK_DIRECTORIES})
  mark_as_advanced(OneDNN_OPENMP)
endif()

find_package_handle_standard_args(OneDNN REQUIRED_VARS OneDNN_LIBRARY OneDNN_INCLUDE_DIR VERSION_VAR OneDNN_VERSION)
if(OneDNN_FOUND AND NOT TARGET OneDNN::OneDNN)
  add_library(OneDNN::OneDNN UNKNOWN IMPORTED)
  set_target_properties(OneDNN::OneDNN PROPERTIES IMPORTED_LOCATION "${OneDNN_LIBRARY}" INTERFACE_INCLUDE_DIRECTORIES "${OneDNN_INCLUDE_DIR}")
  if(OneDNN_OPENMP)
    set_property(TARGET OneDNN::OneDNN PROPERTY INTERFACE_LINK_LIBRARIES "${OneDNN_OPENMP}")
  endif()
endif()
