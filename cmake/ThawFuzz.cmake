# fuzz/*_fuzz.cc: libFuzzer targets with AddressSanitizer and UndefinedBehaviorSanitizer, one binary a file.

if(NOT CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  message(FATAL_ERROR "THAW_BUILD_FUZZ needs clang (libFuzzer); the preset 'fuzz' names clang++-19")
endif()

file(GLOB thaw_fuzz_sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/fuzz/*_fuzz.cc")
# The library is instrumented for coverage too, or the fuzzer would search blind.
target_compile_options(thaw PRIVATE -fsanitize=fuzzer-no-link)
add_custom_target(thaw_fuzz)
foreach(source IN LISTS thaw_fuzz_sources)
  get_filename_component(name "${source}" NAME_WE)
  add_executable(${name} "${source}")
  target_compile_options(${name} PRIVATE -fsanitize=fuzzer)
  target_link_options(${name} PRIVATE -fsanitize=fuzzer)
  target_link_libraries(${name} PRIVATE thaw thaw_build_options)
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/fuzz")
  add_dependencies(thaw_fuzz ${name})
endforeach()
