# Warnings, sanitizers, compiler cache and linker: everything about how Thaw's own code is compiled.
# The interface target thaw_build_options carries it; it is never installed.

add_library(thaw_build_options INTERFACE)

target_compile_options(thaw_build_options INTERFACE -Wall -Wextra -Wshadow -Wnon-virtual-dtor -Woverloaded-virtual)
# Error({.what = ..., .where = ...}) leaves out on purpose what it has nothing to say about.
target_compile_options(thaw_build_options INTERFACE -Wno-missing-field-initializers)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # GCC 12 raises these on correct code once it has inlined the standard library (PR105651, PR105562, PR106199).
  target_compile_options(
    thaw_build_options
    INTERFACE -Wno-restrict -Wno-maybe-uninitialized -Wno-array-bounds -Wno-stringop-overflow -Wno-stringop-overread
              -Wno-dangling-reference)
  # At its defaults GCC collects its own garbage so often that a fifth of a unit's time goes into it; a unit then takes
  # 1.4 GB at most in place of 1.
  target_compile_options(thaw_build_options INTERFACE --param=ggc-min-expand=400 --param=ggc-min-heapsize=524288)
else()
  # Clang sees the deprecated helper inside libstdc++ 12's own stable_sort.
  target_compile_options(thaw_build_options INTERFACE -Wno-deprecated-declarations)
endif()
if(THAW_WERROR)
  target_compile_options(thaw_build_options INTERFACE -Werror)
endif()

# Debug information, assertion texts and caches do not depend on where the checkout lies.
target_compile_options(thaw_build_options INTERFACE "-ffile-prefix-map=${PROJECT_SOURCE_DIR}/=")
target_compile_options(thaw_build_options INTERFACE -ffunction-sections -fdata-sections)
target_link_options(thaw_build_options INTERFACE -Wl,--gc-sections -Wl,--as-needed)

if(THAW_HARDEN AND NOT THAW_SANITIZE)
  # A released thaw reads files from strangers: an index past the end ends it at once, and calls are bound before it
  # reads anything. A system's own level of FORTIFY is replaced, lest the compiler warn of two.
  set(thaw_hardening -D_GLIBCXX_ASSERTIONS -fstack-protector-strong -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2)
  target_compile_options(thaw_build_options INTERFACE "$<$<CONFIG:Release>:${thaw_hardening}>")
  target_link_options(thaw_build_options INTERFACE "$<$<CONFIG:Release>:-Wl,-z,relro,-z,now>")
endif()

if(THAW_SANITIZE)
  add_compile_options("-fsanitize=${THAW_SANITIZE}" -fno-omit-frame-pointer -fno-sanitize-recover=all)
  # mold 1.10 lets the read-only part begin within a page in some of these executables, and they do not load.
  add_link_options("-fsanitize=${THAW_SANITIZE}" LINKER:-z,norelro)
endif()

if(PROJECT_IS_TOP_LEVEL)
  find_program(THAW_CCACHE ccache)
  mark_as_advanced(THAW_CCACHE)
  if(THAW_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
    # Paths below the checkout are made relative before they are hashed: checkouts share what they compiled.
    set(CMAKE_CXX_COMPILER_LAUNCHER env "CCACHE_BASEDIR=${PROJECT_SOURCE_DIR}" CCACHE_NOHASHDIR=1)
    if(THAW_PCH)
      # What ccache asks for where headers are precompiled; no source has __TIME__ in it.
      list(APPEND CMAKE_CXX_COMPILER_LAUNCHER CCACHE_SLOPPINESS=pch_defines,time_macros)
    endif()
    list(APPEND CMAKE_CXX_COMPILER_LAUNCHER "${THAW_CCACHE}")
  endif()

  find_program(THAW_MOLD NAMES mold)
  find_program(THAW_LLD NAMES ld.lld ld.lld-19)
  mark_as_advanced(THAW_MOLD THAW_LLD)
  if(THAW_MOLD)
    target_link_options(thaw_build_options INTERFACE -fuse-ld=mold)
  elseif(THAW_LLD)
    target_link_options(thaw_build_options INTERFACE "-fuse-ld=${THAW_LLD}")
  endif()
endif()

# What THAW_PCH precompiles: headers that most sources read and that no one edits.
set(thaw_common_headers
    <algorithm> <array> <charconv> <cmath> <cstdint> <filesystem> <functional> <map> <memory> <numeric> <optional> <set>
    <span> <string> <string_view> <unordered_map> <unordered_set> <variant> <vector> <fmt/format.h> <fmt/ranges.h>)

# thaw_shows_only(TARGET MAP): of the names of a library those that the version script MAP lists are there for others.
function(thaw_shows_only target map)
  target_link_options(${target} PRIVATE "LINKER:--version-script=${map}")
  set_property(TARGET ${target} APPEND PROPERTY LINK_DEPENDS "${map}")
endfunction()
