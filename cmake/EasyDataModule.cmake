# easydata_module(<module> [SMALL [FAST ...]] [OPTIMISED] [THREADS] [BUSY] [SERIAL] [SERIAL_TESTS ...] [EXCEPT ...] [DEPS ...])
#
# Adds one module of src/easydata, or src/tokenizers, out of all files of its folder, but for modules within it: a static library
# easydata_<module>, one test binary <module>_test out of *_test*.cc and *_for_tests.cc, and one benchmark binary <module>_benchmark out of
# *_benchmark.cc. EXCEPT are files that the folder's CMakeLists.txt builds otherwise, DEPS are lower modules and libraries.
# SERIAL_TESTS run code that starts no thread and shares nothing: ThreadSanitizer does without them. SERIAL: all tests of the module do.
# SMALL: what the module does is done once a file, a block or a request, and it is compiled to be small; but for FAST, the files whose loops go
# over bytes, values or rows.
# OPTIMISED: what the module does may differ in an optimised build (kernels, hashes, system calls): its tests run there in CI, too.
# THREADS: the module's own code starts threads: ThreadSanitizer runs its tests in each run of CI, and those of the others in slices.
# BUSY: the module's tests compute so much that sanitizers have them optimised, too.
function(easydata_module module)
  cmake_parse_arguments(ARG "SMALL;OPTIMISED;THREADS;BUSY;SERIAL" "" "SERIAL_TESTS;EXCEPT;DEPS;FAST" ${ARGN})
  set(_target easydata_${module})
  file(GLOB_RECURSE _sources RELATIVE "${CMAKE_CURRENT_SOURCE_DIR}" CONFIGURE_DEPENDS *.cc)
  # Folders with a CMakeLists.txt are modules of their own.
  file(GLOB_RECURSE _nested RELATIVE "${CMAKE_CURRENT_SOURCE_DIR}" CONFIGURE_DEPENDS CMakeLists.txt)
  foreach(_file IN LISTS _nested)
    get_filename_component(_folder "${_file}" DIRECTORY)
    if(_folder)
      list(FILTER _sources EXCLUDE REGEX "^${_folder}/")
    endif()
  endforeach()
  list(REMOVE_ITEM _sources ${ARG_EXCEPT})
  set(_tests ${_sources})
  list(FILTER _tests INCLUDE REGEX "_(test|for_tests)[a-z_]*\\.cc$")
  set(_benchmarks ${_sources})
  list(FILTER _benchmarks INCLUDE REGEX "_benchmark\\.cc$")
  list(REMOVE_ITEM _sources ${_tests} ${_benchmarks})
  # One instruction set, one file, under the same names.
  set(_kernels ${_sources})
  list(FILTER _kernels INCLUDE REGEX "_(avx[0-9]+|shani)\\.cc$")
  set_source_files_properties(${_kernels} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  if(EASYDATA_SANITIZE)
    # Compiled alike there, so together.
    set(ARG_FAST "")
  endif()
  if(ARG_FAST)
    list(REMOVE_ITEM _sources ${ARG_FAST} ${_kernels})
    add_library(${_target}_fast OBJECT ${ARG_FAST} ${_kernels})
    easydata_target(${_target}_fast)
    list(APPEND _sources $<TARGET_OBJECTS:${_target}_fast>)
  endif()
  add_library(${_target} STATIC ${_sources})
  easydata_target(${_target})
  if(ARG_SMALL)
    target_compile_options(${_target} PRIVATE ${EASYDATA_SMALL})
  endif()
  set(_deps "")
  foreach(_dep IN LISTS ARG_DEPS)
    if(TARGET easydata_${_dep})
      list(APPEND _deps easydata_${_dep})
    else()
      list(APPEND _deps ${_dep})
    endif()
  endforeach()
  target_link_libraries(${_target} PUBLIC ${_deps} PyArrow::arrow)
  if(ARG_FAST)
    target_link_libraries(${_target}_fast PRIVATE ${_deps} PyArrow::arrow)
  endif()
  set_property(GLOBAL APPEND PROPERTY EASYDATA_MODULES ${_target})

  if(EASYDATA_SANITIZE STREQUAL "thread")
    list(REMOVE_ITEM _tests ${ARG_SERIAL_TESTS})
    list(FILTER _tests EXCLUDE REGEX "_for_tests\\.cc$")
    if(ARG_SERIAL)
      set(_tests "")
    endif()
  endif()
  if(EASYDATA_TESTS AND _tests)
    set(_busy "")
    if(ARG_BUSY)
      set(_busy BUSY)
    endif()
    easydata_test(${module} ${_busy} ${_tests})
    target_link_libraries(${module}_test PRIVATE ${_target})
    foreach(_label IN ITEMS optimised threads)
      string(TOUPPER ${_label} _option)
      if(ARG_${_option})
        easydata_label_test(${module} ${_label})
      endif()
    endforeach()
  endif()
  if(EASYDATA_BENCHMARKS AND _benchmarks)
    add_executable(${module}_benchmark ${_benchmarks})
    easydata_target(${module}_benchmark)
    target_link_libraries(${module}_benchmark PRIVATE ${_target} benchmark::benchmark_main)
  endif()
endfunction()

# easydata_test(<name> [BUSY] <file>...): one test binary <name>_test, whose tests run in four processes, <name>.0 to <name>.3. The target
# cpp_tests builds all of them.
function(easydata_test name)
  cmake_parse_arguments(ARG "BUSY" "" "" ${ARGN})
  add_executable(${name}_test ${ARG_UNPARSED_ARGUMENTS})
  easydata_target(${name}_test)
  target_link_libraries(${name}_test PRIVATE GTest::gmock_main)
  target_compile_definitions(${name}_test PRIVATE EASYDATA_SHARED_DIR="${PROJECT_SOURCE_DIR}/../shared")
  if(EASYDATA_SANITIZE)
    # Most of a sanitized build's time went into optimising tests, and into counters that only fuzzers read.
    target_compile_options(${name}_test PRIVATE $<$<NOT:$<BOOL:${ARG_BUSY}>>:-O0>
                                                $<$<BOOL:${EASYDATA_FUZZ}>:-fno-sanitize=fuzzer-no-link>)
  endif()
  foreach(shard RANGE 3)
    add_test(NAME ${name}.${shard} COMMAND ${name}_test --gtest_brief=1)
    set_tests_properties(
      ${name}.${shard} PROPERTIES LABELS cpp ENVIRONMENT "GTEST_TOTAL_SHARDS=4;GTEST_SHARD_INDEX=${shard}")
  endforeach()
  add_dependencies(cpp_tests ${name}_test)
endfunction()

# easydata_label_test(<name> <label>): gives the tests of a test binary a label, and builds it with the target <label>_tests.
function(easydata_label_test name label)
  foreach(shard RANGE 3)
    set_property(TEST ${name}.${shard} APPEND PROPERTY LABELS ${label})
  endforeach()
  add_dependencies(${label}_tests ${name}_test)
endfunction()

# What is said to be small; sanitized builds, which are not optimised, stay so.
set(EASYDATA_SMALL $<$<CONFIG:Release>:-Os>)

# The compile settings that every target of ours shares.
function(easydata_target target)
  target_compile_features(${target} PUBLIC cxx_std_20)
  target_include_directories(${target} PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/src>
                                              $<INSTALL_INTERFACE:include>)
  set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE ON CXX_VISIBILITY_PRESET hidden
                                             VISIBILITY_INLINES_HIDDEN ON CXX_EXTENSIONS OFF)
  # Each function by itself: the linker leaves out what nothing calls.
  target_compile_options(${target} PRIVATE -ffunction-sections -fdata-sections -Wall -Wextra -Wpedantic -Wno-unused-parameter
                                           # false alarms of GCC 12 on std::string
                                           $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict>)
  if(EASYDATA_FAULT_POINTS)
    target_compile_definitions(${target} PRIVATE EASYDATA_FAULT_POINTS)
  endif()
  if(EASYDATA_WERROR)
    target_compile_options(${target} PRIVATE -Werror)
  endif()
  if(EASYDATA_SANITIZE)
    target_compile_definitions(${target} PRIVATE EASYDATA_SANITIZED)
    # A fifth of the compiler's time, for what ASan finds when the memory is touched.
    set(_found_by_asan $<$<CXX_COMPILER_ID:Clang>:-fno-sanitize=null,object-size,vptr>)
    target_compile_options(${target} PRIVATE -fsanitize=${EASYDATA_SANITIZE} ${_found_by_asan} -fno-omit-frame-pointer
                                             -fno-sanitize-recover=all)
    target_link_options(${target} PUBLIC -fsanitize=${EASYDATA_SANITIZE})
  endif()
endfunction()
