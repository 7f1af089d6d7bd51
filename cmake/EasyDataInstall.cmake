# Installs the engine for C++ users: find_package(EasyData) gives EasyData::easydata.

include(CMakePackageConfigHelpers)
get_property(_modules GLOBAL PROPERTY EASYDATA_MODULES)
install(TARGETS ${_modules} easydata EXPORT EasyDataTargets COMPONENT cpp)
install(EXPORT EasyDataTargets NAMESPACE EasyData:: DESTINATION lib/cmake/EasyData COMPONENT cpp)
install(DIRECTORY "${PROJECT_SOURCE_DIR}/src/easydata" DESTINATION include COMPONENT cpp
        FILES_MATCHING PATTERN "*.h" PATTERN "*_internal.h" EXCLUDE PATTERN "stage_contract.h" EXCLUDE)
file(WRITE "${CMAKE_BINARY_DIR}/EasyDataConfig.cmake"
"# Needs the Python whose pyarrow wheel the library was built with: set Python_EXECUTABLE to choose it.
list(APPEND CMAKE_MODULE_PATH \"\${CMAKE_CURRENT_LIST_DIR}\")
find_package(Python 3.11 REQUIRED COMPONENTS Interpreter)
find_package(PyArrow 25.0.1...<25.1 REQUIRED MODULE)
find_package(Threads REQUIRED)
find_package(simdjson REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(PCRE2 10.30 REQUIRED MODULE)
include(\"\${CMAKE_CURRENT_LIST_DIR}/EasyDataTargets.cmake\")
")
write_basic_package_version_file("${CMAKE_BINARY_DIR}/EasyDataConfigVersion.cmake" COMPATIBILITY SameMinorVersion)
install(FILES "${CMAKE_BINARY_DIR}/EasyDataConfig.cmake" "${CMAKE_BINARY_DIR}/EasyDataConfigVersion.cmake"
              "${PROJECT_SOURCE_DIR}/cmake/FindPCRE2.cmake" "${PROJECT_SOURCE_DIR}/cmake/FindPyArrow.cmake"
        DESTINATION lib/cmake/EasyData COMPONENT cpp)
