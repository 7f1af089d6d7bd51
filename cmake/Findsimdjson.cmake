# Finds the amalgamation of simdjson inside the PyPI package pysimdjson of the Python interpreter in use, and builds it.
#
# Defines simdjson_VERSION and simdjson::simdjson, a static library whose names nobody else sees, and which takes no other's: libarrow has
# a simdjson of its own, and another version's functions under the same names end in a crash.

include("${CMAKE_CURRENT_LIST_DIR}/PythonPackageFolder.cmake")
python_package_folder(simdjson simdjson_SOURCE_DIR)
if(EXISTS "${simdjson_SOURCE_DIR}/simdjson.h")
  file(STRINGS "${simdjson_SOURCE_DIR}/simdjson.h" _version REGEX "#define SIMDJSON_VERSION ")
  string(REGEX MATCH "[0-9]+\\.[0-9]+\\.[0-9]+" simdjson_VERSION "${_version}")
endif()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(
  simdjson
  REQUIRED_VARS simdjson_SOURCE_DIR
  VERSION_VAR simdjson_VERSION
  REASON_FAILURE_MESSAGE "install the Python package pysimdjson, whose sources are built: script/bootstrap does it")

if(simdjson_FOUND AND NOT TARGET easydata_simdjson)
  add_library(easydata_simdjson STATIC "${simdjson_SOURCE_DIR}/simdjson.cpp")
  target_include_directories(easydata_simdjson SYSTEM PUBLIC $<BUILD_INTERFACE:${simdjson_SOURCE_DIR}>)
  target_compile_features(easydata_simdjson PUBLIC cxx_std_20)
  # AVX2 or plain code, as all of ours: nobody trains on the processors between these two.
  target_compile_definitions(easydata_simdjson PRIVATE SIMDJSON_IMPLEMENTATION_WESTMERE=0)
  set_target_properties(
    easydata_simdjson PROPERTIES POSITION_INDEPENDENT_CODE ON CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON
                                 UNITY_BUILD OFF)
  # Whole: of an archive the linker takes only what no library before it has, and pyarrow 26's libarrow shows its simdjson.
  add_library(easydata_whole_simdjson INTERFACE)
  # An export gives names within this expression no namespace.
  target_link_libraries(
    easydata_whole_simdjson
    INTERFACE $<BUILD_INTERFACE:$<LINK_LIBRARY:WHOLE_ARCHIVE,easydata_simdjson>>
              $<INSTALL_INTERFACE:$<LINK_LIBRARY:WHOLE_ARCHIVE,EasyData::easydata_simdjson>>)
  target_include_directories(easydata_whole_simdjson SYSTEM INTERFACE $<BUILD_INTERFACE:${simdjson_SOURCE_DIR}>)
  add_library(simdjson::simdjson ALIAS easydata_whole_simdjson)
  set_property(GLOBAL APPEND PROPERTY EASYDATA_MODULES easydata_simdjson easydata_whole_simdjson)
endif()
