# bench/*_bench.cc: Google Benchmark programs, one binary a file. bench/*.py compares whole processes and needs no build.

find_package(benchmark REQUIRED)

add_custom_target(thaw_bench)
file(GLOB thaw_bench_sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/bench/*_bench.cc")
foreach(source IN LISTS thaw_bench_sources)
  get_filename_component(name "${source}" NAME_WE)
  add_executable(${name} "${source}")
  target_link_libraries(${name} PRIVATE thaw benchmark::benchmark benchmark::benchmark_main thaw_build_options)
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/bench")
  add_dependencies(thaw_bench ${name})
endforeach()
