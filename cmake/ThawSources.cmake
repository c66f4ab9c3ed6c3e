# The library thaw (thaw::thaw), the command, and the list of rooms that the tests go by.

configure_file("${PROJECT_SOURCE_DIR}/cmake/version.h.in" "${PROJECT_BINARY_DIR}/generated/thaw/core/version.h" @ONLY)

file(GLOB_RECURSE thaw_all_sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/src/thaw/*.cc")
set(thaw_library_sources ${thaw_all_sources})
list(FILTER thaw_library_sources EXCLUDE REGEX "_(test|testing)\\.cc$|/src/thaw/cli/")
set(thaw_cli_sources ${thaw_all_sources})
list(FILTER thaw_cli_sources INCLUDE REGEX "/src/thaw/cli/")
list(FILTER thaw_cli_sources EXCLUDE REGEX "_(test|testing)\\.cc$|/cli/main\\.cc$")

# thaw_room(PATH OUT): the room a source belongs to, the first folder below src/thaw.
function(thaw_room path out)
  file(RELATIVE_PATH relative "${PROJECT_SOURCE_DIR}/src/thaw" "${path}")
  string(REGEX REPLACE "/.*" "" room "${relative}")
  set(${out} "${room}" PARENT_SCOPE)
endfunction()

set(thaw_library_anchor "${PROJECT_SOURCE_DIR}/cmake/library_anchor.cc")
set_source_files_properties("${thaw_library_anchor}" PROPERTIES SKIP_PRECOMPILE_HEADERS ON)

add_library(thaw ${thaw_library_sources} ${thaw_library_anchor})
add_library(thaw::thaw ALIAS thaw)
target_include_directories(
  thaw
  PUBLIC "$<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/src>" "$<BUILD_INTERFACE:${PROJECT_BINARY_DIR}/generated>"
         "$<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>")
target_compile_features(thaw PUBLIC cxx_std_20)
target_link_libraries(
  thaw
  PUBLIC ONNX::onnx fmt::fmt nlohmann_json::nlohmann_json TBB::tbb ZLIB::ZLIB Threads::Threads ${CMAKE_DL_LIBS}
  PRIVATE utf8proc::utf8proc "$<BUILD_INTERFACE:thaw_build_options>" "$<BUILD_INTERFACE:thaw_onnxruntime_headers>")
# Of Highway, the headers: see src/thaw/core/simd_targets.cc.
target_include_directories(thaw SYSTEM PRIVATE "$<TARGET_PROPERTY:hwy::hwy,INTERFACE_INCLUDE_DIRECTORIES>")

# Where ONNX Runtime lies in the build tree; an installed Thaw finds it in its own lib folder first. Only the source that
# asks is compiled with it: a definition of its own keeps a source out of the units.
foreach(source IN LISTS thaw_library_sources)
  file(STRINGS "${source}" asks REGEX "THAW_ONNXRUNTIME_LIBRARY" LIMIT_COUNT 1)
  if(asks)
    set_source_files_properties(
      "${source}" PROPERTIES COMPILE_DEFINITIONS "THAW_ONNXRUNTIME_LIBRARY=\"${ONNXRUNTIME_LIBRARY}\"")
  endif()
endforeach()

# The verbs are a library of their own, so that their tests link them.
add_library(thaw_cli_lib STATIC ${thaw_cli_sources} ${thaw_library_anchor})
target_link_libraries(thaw_cli_lib PUBLIC thaw CLI11::CLI11 PRIVATE thaw_build_options)
add_executable(thaw_cli "${PROJECT_SOURCE_DIR}/src/thaw/cli/main.cc")
target_link_libraries(thaw_cli PRIVATE thaw_cli_lib thaw_build_options)
set_target_properties(thaw_cli PROPERTIES OUTPUT_NAME thaw RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}")

if(THAW_UNITY)
  thaw_unity(thaw ${thaw_library_sources})
  thaw_unity(thaw_cli_lib ${thaw_cli_sources})
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # GCC lets a large unit grow less by inlining than it lets each of its files: that would cost the library 3 percent.
    target_compile_options(thaw PRIVATE --param=large-unit-insns=1000000)
  endif()
endif()
if(THAW_PCH)
  target_precompile_headers(thaw PRIVATE ${thaw_common_headers})
  target_precompile_headers(thaw_cli_lib PRIVATE ${thaw_common_headers} <CLI/CLI.hpp>)
endif()
