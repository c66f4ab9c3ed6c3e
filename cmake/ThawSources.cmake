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

add_library(thaw ${thaw_library_sources} "${PROJECT_SOURCE_DIR}/cmake/library_anchor.cc")
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

if(THAW_UNITY)
  set_target_properties(thaw PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
endif()
foreach(source IN LISTS thaw_library_sources)
  thaw_room("${source}" room)
  if(THAW_UNITY)
    set_source_files_properties("${source}" PROPERTIES UNITY_GROUP "${room}")
  endif()
  # Sources that Highway compiles once for each kind of processor include themselves.
  file(STRINGS "${source}" for_each_processor REGEX "hwy/foreach_target.h" LIMIT_COUNT 1)
  if(for_each_processor)
    set_source_files_properties("${source}" PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  endif()
  if(room STREQUAL "run")
    # Where ONNX Runtime lies in the build tree; an installed Thaw finds it in its own lib folder first.
    set_source_files_properties(
      "${source}" PROPERTIES COMPILE_DEFINITIONS "THAW_ONNXRUNTIME_LIBRARY=\"${ONNXRUNTIME_LIBRARY}\"")
  endif()
endforeach()

# The verbs are a library of their own, so that their tests link them.
add_library(thaw_cli_lib STATIC ${thaw_cli_sources} "${PROJECT_SOURCE_DIR}/cmake/library_anchor.cc")
target_link_libraries(thaw_cli_lib PUBLIC thaw CLI11::CLI11 PRIVATE thaw_build_options)
add_executable(thaw_cli "${PROJECT_SOURCE_DIR}/src/thaw/cli/main.cc")
target_link_libraries(thaw_cli PRIVATE thaw_cli_lib thaw_build_options)
set_target_properties(thaw_cli PROPERTIES OUTPUT_NAME thaw RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}")
