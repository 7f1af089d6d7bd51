# Finds the 8-bit library of PCRE2, the static one where there is one, so that what links it needs it no more at run
# time. Set PCRE2_LIBRARY to choose another.
#
# Defines PCRE2_VERSION and the imported target PCRE2::pcre2-8.

find_path(PCRE2_INCLUDE_DIR pcre2.h)
find_library(PCRE2_LIBRARY NAMES libpcre2-8.a pcre2-8)
if(EXISTS "${PCRE2_INCLUDE_DIR}/pcre2.h")
  file(STRINGS "${PCRE2_INCLUDE_DIR}/pcre2.h" _version REGEX "#define PCRE2_(MAJOR|MINOR) +[0-9]+")
  string(REGEX REPLACE ".*MAJOR +([0-9]+).*MINOR +([0-9]+).*" "\\1.\\2" PCRE2_VERSION "${_version}")
endif()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(
  PCRE2
  REQUIRED_VARS PCRE2_LIBRARY PCRE2_INCLUDE_DIR
  VERSION_VAR PCRE2_VERSION
  REASON_FAILURE_MESSAGE "install libpcre2-dev first: script/bootstrap does it")
mark_as_advanced(PCRE2_INCLUDE_DIR PCRE2_LIBRARY)

if(PCRE2_FOUND AND NOT TARGET PCRE2::pcre2-8)
  add_library(PCRE2::pcre2-8 UNKNOWN IMPORTED GLOBAL)
  set_target_properties(PCRE2::pcre2-8 PROPERTIES IMPORTED_LOCATION "${PCRE2_LIBRARY}"
                                                  INTERFACE_INCLUDE_DIRECTORIES "${PCRE2_INCLUDE_DIR}")
endif()
