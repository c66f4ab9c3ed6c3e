# One test binary a module, thaw_<module>_test, from its *_test.cc; one ctest entry a binary.

find_package(GTest REQUIRED)
find_package(rapidcheck REQUIRED)

file(GLOB_RECURSE thaw_testing_sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/src/thaw/*_testing.cc")
add_library(thaw_testing STATIC ${thaw_testing_sources} ${thaw_library_anchor})
add_dependencies(thaw_testing thaw_worker)  # what sessions run in
target_link_libraries(thaw_testing PUBLIC thaw ONNX::onnx GTest::gmock GTest::gtest rapidcheck PRIVATE thaw_build_options)
# What tests cost is their compilation, hardly their run.
target_compile_options(thaw_testing PRIVATE -O1)
# Compiled as programs are, so that the tests can use its precompiled headers.
set_target_properties(thaw_testing PROPERTIES POSITION_INDEPENDENT_CODE OFF)
target_compile_options(thaw_testing PRIVATE -fPIE)
if(THAW_UNITY)
  thaw_unity(thaw_testing ${thaw_testing_sources})
endif()
if(THAW_PCH)
  target_precompile_headers(thaw_testing PRIVATE ${thaw_common_headers} <gmock/gmock.h> <gtest/gtest.h> <rapidcheck/gtest.h>)
endif()

set(thaw_modules "")
foreach(source IN LISTS thaw_all_sources)
  if(source MATCHES "_test\\.cc$")
    thaw_module("${source}" module)
    list(APPEND thaw_modules "${module}")
    list(APPEND thaw_tests_of_${module} "${source}")
  endif()
endforeach()
list(REMOVE_DUPLICATES thaw_modules)

foreach(module IN LISTS thaw_modules)
  add_executable(thaw_${module}_test ${thaw_tests_of_${module}})
  target_link_libraries(
    thaw_${module}_test PRIVATE thaw_testing GTest::gtest_main thaw_onnxruntime_headers thaw_build_options)
  target_compile_options(thaw_${module}_test PRIVATE -O1)
  if(THAW_UNITY)
    thaw_unity(thaw_${module}_test ${thaw_tests_of_${module}})
  endif()
  if(THAW_PCH)
    target_precompile_headers(thaw_${module}_test REUSE_FROM thaw_testing)
  endif()
  if(module STREQUAL "cli")
    target_link_libraries(thaw_${module}_test PRIVATE thaw_cli_lib)
  endif()
  set_target_properties(thaw_${module}_test PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/tests")
  add_test(NAME ${module} COMMAND thaw_${module}_test --gtest_brief=1 WORKING_DIRECTORY "${PROJECT_SOURCE_DIR}")
  set_tests_properties(
    ${module} PROPERTIES TIMEOUT 600 LABELS unit
                       ENVIRONMENT "THAW_SOURCE_DIR=${PROJECT_SOURCE_DIR};THAW_BIN=$<TARGET_FILE:thaw_cli>")
endforeach()
