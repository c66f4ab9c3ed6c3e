# fuzz/*_fuzz.cc: libFuzzer targets with AddressSanitizer and UndefinedBehaviorSanitizer, one binary a file.

if(NOT CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  message(FATAL_ERROR "THAW_BUILD_FUZZ needs clang (libFuzzer); the preset 'fuzz' names clang++-19")
endif()

file(GLOB thaw_fuzz_sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/fuzz/*_fuzz.cc")
# What changes models keeps them models: it reads and writes them with the ONNX library.
add_library(thaw_fuzz_mutator STATIC "${PROJECT_SOURCE_DIR}/fuzz/model_mutator.cc")
target_link_libraries(thaw_fuzz_mutator PUBLIC ONNX::onnx_proto PRIVATE thaw_build_options)
# Formats with lengths and checksums, and what reading them holds.
add_library(thaw_fuzz_formats STATIC "${PROJECT_SOURCE_DIR}/fuzz/format_mutator.cc" "${PROJECT_SOURCE_DIR}/fuzz/held_memory.cc")
target_link_libraries(thaw_fuzz_formats PRIVATE ZLIB::ZLIB thaw_build_options)
set(thaw_fuzz_of_formats json_fuzz media_fuzz npz_fuzz)
set(thaw_fuzz_of_models batch_fuzz fix_fuzz lift_fuzz optimize_fuzz convert_fuzz)
# The library is instrumented for coverage too, or the fuzzer would search blind.
target_compile_options(thaw PRIVATE -fsanitize=fuzzer-no-link)
# Checks of each pointer are a third of the time it takes to compile. What is null AddressSanitizer finds; the unit tests run with all of them.
target_compile_options(thaw PRIVATE -fno-sanitize=null,alignment,object-size,vptr)
add_custom_target(thaw_fuzz)
foreach(source IN LISTS thaw_fuzz_sources)
  get_filename_component(name "${source}" NAME_WE)
  add_executable(${name} "${source}")
  target_compile_options(${name} PRIVATE -fsanitize=fuzzer)
  target_link_options(${name} PRIVATE -fsanitize=fuzzer)
  target_link_libraries(${name} PRIVATE thaw thaw_build_options)
  if(name IN_LIST thaw_fuzz_of_models)
    target_link_libraries(${name} PRIVATE thaw_fuzz_mutator)
  endif()
  if(name IN_LIST thaw_fuzz_of_formats)
    target_link_libraries(${name} PRIVATE thaw_fuzz_formats)
  endif()
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/fuzz")
  add_dependencies(thaw_fuzz ${name})
endforeach()
