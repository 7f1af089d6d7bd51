# Installs the engine for C++ users: find_package(EasyData) gives EasyData::easydata.

include(CMakePackageConfigHelpers)
# One libarrow is linked: another minor version of pyarrow brings another.
string(REGEX MATCH "^([0-9]+)\\.([0-9]+)" _minor "${PyArrow_VERSION}")
math(EXPR _next "${CMAKE_MATCH_2} + 1")
set(_range "${PyArrow_VERSION}...<${CMAKE_MATCH_1}.${_next}")
get_property(_modules GLOBAL PROPERTY EASYDATA_MODULES)
install(TARGETS ${_modules} easydata EXPORT EasyDataTargets COMPONENT cpp)
install(EXPORT EasyDataTargets NAMESPACE EasyData:: DESTINATION lib/cmake/EasyData COMPONENT cpp)
install(CODE "execute_process(COMMAND \"${Python_EXECUTABLE}\" \"${CMAKE_CURRENT_LIST_DIR}/install_headers.py\"
                              \"${PROJECT_SOURCE_DIR}/src\" \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/include\"
                              COMMAND_ERROR_IS_FATAL ANY)"
        COMPONENT cpp)
file(WRITE "${CMAKE_BINARY_DIR}/EasyDataConfig.cmake"
"# libarrow comes out of a pyarrow wheel: whose, is said, not guessed.
if(NOT Python_EXECUTABLE)
  set(EasyData_FOUND FALSE)
  set(EasyData_NOT_FOUND_MESSAGE \"pass -DPython_EXECUTABLE=<a Python that has pyarrow ${_minor}>, whose libarrow is linked; \"
                                 \"EasyData was built with that of ${Python_EXECUTABLE}\")
  return()
endif()
list(APPEND CMAKE_MODULE_PATH \"\${CMAKE_CURRENT_LIST_DIR}\")
find_package(Python 3.11 REQUIRED COMPONENTS Interpreter)
find_package(PyArrow ${_range} REQUIRED MODULE)
find_package(Threads REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(PCRE2 10.30 REQUIRED MODULE)
include(\"\${CMAKE_CURRENT_LIST_DIR}/EasyDataTargets.cmake\")
")
write_basic_package_version_file("${CMAKE_BINARY_DIR}/EasyDataConfigVersion.cmake" COMPATIBILITY SameMinorVersion)
install(FILES "${CMAKE_BINARY_DIR}/EasyDataConfig.cmake" "${CMAKE_BINARY_DIR}/EasyDataConfigVersion.cmake"
              "${PROJECT_SOURCE_DIR}/cmake/FindPCRE2.cmake" "${PROJECT_SOURCE_DIR}/cmake/FindPyArrow.cmake"
              "${PROJECT_SOURCE_DIR}/cmake/PythonPackageFolder.cmake"
        DESTINATION lib/cmake/EasyData COMPONENT cpp)
