# Finds libarrow and libparquet inside the pyarrow wheel of the Python interpreter in use, or in the folder PyArrow_LIBRARY_DIR.
#
# Defines PyArrow_VERSION, PyArrow_LIBRARY_DIR and the imported targets PyArrow::arrow, PyArrow::parquet and
# PyArrow::compute. Nothing is imported from Python and nothing is written into site-packages.

if(NOT PyArrow_LIBRARY_DIR)
  include("${CMAKE_CURRENT_LIST_DIR}/PythonPackageFolder.cmake")
  python_package_folder(pyarrow PyArrow_LIBRARY_DIR)
endif()
set(PyArrow_INCLUDE_DIR "${PyArrow_LIBRARY_DIR}/include")

file(GLOB _libarrow "${PyArrow_LIBRARY_DIR}/libarrow.so.[0-9]*")
list(LENGTH _libarrow _count)
if(_count EQUAL 1)
  string(REGEX REPLACE ".*\\.so\\.([0-9]+)$" "\\1" PyArrow_SOVERSION "${_libarrow}")
endif()
if(EXISTS "${PyArrow_INCLUDE_DIR}/arrow/util/config.h")
  file(STRINGS "${PyArrow_INCLUDE_DIR}/arrow/util/config.h" _version REGEX "ARROW_VERSION_STRING")
  string(REGEX MATCH "[0-9]+\\.[0-9]+\\.[0-9]+" PyArrow_VERSION "${_version}")
endif()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(
  PyArrow
  REQUIRED_VARS PyArrow_LIBRARY_DIR PyArrow_SOVERSION
  VERSION_VAR PyArrow_VERSION HANDLE_VERSION_RANGE
  REASON_FAILURE_MESSAGE "install the pinned pyarrow wheel first: script/bootstrap does it")

function(_pyarrow_import name library)
  set(_file "${PyArrow_LIBRARY_DIR}/lib${library}.so.${PyArrow_SOVERSION}")
  if(TARGET PyArrow::${name} OR NOT EXISTS "${_file}")
    return()
  endif()
  add_library(PyArrow::${name} SHARED IMPORTED GLOBAL)
  set_target_properties(
    PyArrow::${name}
    PROPERTIES IMPORTED_LOCATION "${_file}" IMPORTED_SONAME "lib${library}.so.${PyArrow_SOVERSION}"
               INTERFACE_INCLUDE_DIRECTORIES "${PyArrow_INCLUDE_DIR}"
               INTERFACE_COMPILE_FEATURES cxx_std_20 INTERFACE_LINK_LIBRARIES "${ARGN}")
endfunction()

_pyarrow_import(arrow arrow)
_pyarrow_import(parquet parquet PyArrow::arrow)
_pyarrow_import(compute arrow_compute PyArrow::arrow)
