# The library, the command, and the list of modules that the tests go by.

configure_file("${PROJECT_SOURCE_DIR}/cmake/version.h.in" "${PROJECT_BINARY_DIR}/generated/thaw/version.h" @ONLY)

# What the ONNX library knows of operators, as a table: only this program and the tests are linked with it.
add_executable(thaw_schema_table "${PROJECT_SOURCE_DIR}/cmake/schema_table.cc")
target_link_libraries(thaw_schema_table PRIVATE ONNX::onnx thaw_build_options)
set(thaw_schema_table "${PROJECT_BINARY_DIR}/generated/thaw/ir/graph/schema_table.inc")
file(MAKE_DIRECTORY "${PROJECT_BINARY_DIR}/generated/thaw/ir/graph")
add_custom_command(OUTPUT "${thaw_schema_table}" COMMAND thaw_schema_table > "${thaw_schema_table}.part"
                   COMMAND "${CMAKE_COMMAND}" -E rename "${thaw_schema_table}.part" "${thaw_schema_table}"
                   DEPENDS thaw_schema_table VERBATIM)

# thaw_embed(FILE NAME): the text of FILE as a C++ literal, in the file NAME.inc that sources include.
function(thaw_embed file name)
  file(READ "${file}" text)
  set(literal "${PROJECT_BINARY_DIR}/generated/${name}.inc")
  file(WRITE "${literal}.part" "R\"thaw_embedded(${text})thaw_embedded\"\n")
  file(COPY_FILE "${literal}.part" "${literal}" ONLY_IF_DIFFERENT)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${file}")
endfunction()

file(GLOB thaw_pages CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/src/thaw/report/pages/*")
foreach(page IN LISTS thaw_pages)
  file(RELATIVE_PATH name "${PROJECT_SOURCE_DIR}/src" "${page}")
  thaw_embed("${page}" "${name}")
endforeach()
thaw_embed("${PROJECT_SOURCE_DIR}/docs/rules.md" thaw/check/rules)

# The tables of targets, each under its file's name.
file(GLOB thaw_tables CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/src/thaw/ops/target/tables/*.txt")
set(thaw_table_list "")
foreach(table IN LISTS thaw_tables)
  get_filename_component(name "${table}" NAME_WE)
  thaw_embed("${table}" "thaw/ops/target/tables/${name}")
  string(APPEND thaw_table_list "{\"${name}\",\n#include \"thaw/ops/target/tables/${name}.inc\"\n},\n")
endforeach()
file(CONFIGURE OUTPUT "${PROJECT_BINARY_DIR}/generated/thaw/ops/target/tables.inc" CONTENT "${thaw_table_list}" @ONLY)
thaw_embed("${CHART_JS}" thaw/report/pages/chart.js)

file(GLOB_RECURSE thaw_all_sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/src/thaw/*.cc")
set(thaw_library_sources ${thaw_all_sources})
list(FILTER thaw_library_sources EXCLUDE REGEX "_(test|testing)\\.cc$|/src/thaw/cli/")
set(thaw_cli_sources ${thaw_all_sources})
list(FILTER thaw_cli_sources INCLUDE REGEX "/src/thaw/cli/")
list(FILTER thaw_cli_sources EXCLUDE REGEX "_(test|testing)\\.cc$|/cli/main\\.cc$")

# thaw_module(PATH OUT): the module a source belongs to, the first folder below src/thaw.
function(thaw_module path out)
  file(RELATIVE_PATH relative "${PROJECT_SOURCE_DIR}/src/thaw" "${path}")
  string(REGEX REPLACE "/.*" "" module "${relative}")
  set(${out} "${module}" PARENT_SCOPE)
endfunction()

# thaw_unity(TARGET SOURCE...): the sources of a module are compiled in units of several files, for most of what a file costs is
# the headers that all of them read. So no two sources of a module have helpers of the same name.
function(thaw_unity target)
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
  set(last_module "")
  foreach(source IN LISTS ARGN)
    thaw_module("${source}" module)
    if(NOT module STREQUAL last_module)
      set(place 0)
      set(last_module "${module}")
    endif()
    math(EXPR unit "${place} / ${THAW_UNITY_FILES}")
    math(EXPR place "${place} + 1")
    set_source_files_properties("${source}" PROPERTIES UNITY_GROUP "${module}_${unit}")
  endforeach()
endfunction()

# Compiled alone: what Highway compiles once for each kind of processor, since such a source includes itself.
set(thaw_alone
    core/half_float.cc
    math/dot.cc
    model/add_product.cc
    math/transpose_block.cc
    quant/blocks/encode.cc
    quant/blocks/encode_about_means.cc
    quant/blocks/hqq.cc
    quant/blocks/keep_norm.cc
    quant/blocks/matrix_kernels.cc
    quant/blocks/rtn.cc
    quant/blocks/search.cc
    quant/blocks/search_real.cc)
list(TRANSFORM thaw_alone PREPEND "${PROJECT_SOURCE_DIR}/src/thaw/")
set_source_files_properties(${thaw_alone} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)

set(thaw_library_anchor "${PROJECT_SOURCE_DIR}/cmake/library_anchor.cc")
set_source_files_properties("${thaw_library_anchor}" PROPERTIES SKIP_PRECOMPILE_HEADERS ON)

# What the command, the tests, bench/ and fuzz/ are linked with: every module, with all its names.
add_library(thaw STATIC ${thaw_library_sources} "${thaw_schema_table}" ${thaw_library_anchor})
target_include_directories(thaw PUBLIC "${PROJECT_SOURCE_DIR}/include" "${PROJECT_SOURCE_DIR}/src"
                                       "${PROJECT_BINARY_DIR}/generated")
target_compile_features(thaw PUBLIC cxx_std_20)
set(thaw_dependencies fmt::fmt nlohmann_json::nlohmann_json TBB::tbb ZLIB::ZLIB Threads::Threads ${CMAKE_DL_LIBS}
                      utf8proc::utf8proc)
target_link_libraries(thaw PUBLIC ${thaw_dependencies} ${thaw_image_archives} PRIVATE thaw_build_options thaw_onnxruntime_headers)
set_target_properties(thaw PROPERTIES OUTPUT_NAME thaw_modules CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON)

# libthaw.so, what others use (thaw::thaw): the same objects, of which it shows what include/thaw declares and nothing
# of the libraries inside it.
add_library(thaw_shared SHARED $<TARGET_OBJECTS:thaw>)
add_library(thaw::thaw ALIAS thaw_shared)
target_include_directories(
  thaw_shared
  INTERFACE "$<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>" "$<BUILD_INTERFACE:${PROJECT_BINARY_DIR}/generated>"
            "$<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>")
target_compile_features(thaw_shared INTERFACE cxx_std_20)
target_link_libraries(thaw_shared PRIVATE ${thaw_dependencies} ${thaw_image_libraries} thaw_build_options)
target_link_options(thaw_shared PRIVATE "LINKER:--exclude-libs,ALL" "LINKER:--no-undefined")
thaw_shows_only(thaw_shared "${PROJECT_SOURCE_DIR}/cmake/libthaw.map")
set_target_properties(
  thaw_shared PROPERTIES LINKER_LANGUAGE CXX OUTPUT_NAME thaw EXPORT_NAME thaw VERSION "${PROJECT_VERSION}"
                         SOVERSION "${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR}")

# Of what is opened at run time, and of KISS FFT, the headers.
target_include_directories(thaw SYSTEM PRIVATE ${JPEG_INCLUDE_DIRS} ${PNG_INCLUDE_DIRS} "${SNDFILE_INCLUDE_DIR}"
                                               "${SOXR_INCLUDE_DIR}" "${KISSFFT_INCLUDE_DIR}")

# Of Highway, the headers: see src/thaw/core/simd_targets.cc.
target_include_directories(thaw SYSTEM PRIVATE "$<TARGET_PROPERTY:hwy::hwy,INTERFACE_INCLUDE_DIRECTORIES>")

# What is opened at run time lies beside the programs in the build folder, as it does where Thaw is installed.
file(CREATE_LINK "${ONNXRUNTIME_LIBRARY}" "${PROJECT_BINARY_DIR}/libonnxruntime.so.1" SYMBOLIC)
if(ONNXRUNTIME_GENAI_LIBRARY)
  file(CREATE_LINK "${ONNXRUNTIME_GENAI_LIBRARY}" "${PROJECT_BINARY_DIR}/libonnxruntime-genai.so" SYMBOLIC)
endif()

# The verbs are a library of their own, so that their tests link them.
add_library(thaw_cli_lib STATIC ${thaw_cli_sources} ${thaw_library_anchor})
target_link_libraries(thaw_cli_lib PUBLIC thaw PRIVATE CLI11::CLI11 thaw_build_options)
set(thaw_worker_open "${PROJECT_SOURCE_DIR}/cmake/worker_open.cc")
add_executable(thaw_cli "${PROJECT_SOURCE_DIR}/src/thaw/cli/main.cc" "${thaw_worker_open}")
target_link_libraries(thaw_cli PRIVATE thaw_cli_lib thaw_build_options)
set_target_properties(thaw_cli PROPERTIES OUTPUT_NAME thaw RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}")

# What libthaw.so and the tests run models in; the command runs itself.
add_executable(thaw_worker "${PROJECT_SOURCE_DIR}/cmake/worker_program.cc" "${thaw_worker_open}")
target_link_libraries(thaw_worker PRIVATE thaw thaw_build_options)
set_target_properties(thaw_worker PROPERTIES OUTPUT_NAME thaw-worker RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}")

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
  target_precompile_headers(thaw_cli_lib PRIVATE ${thaw_common_headers})
endif()
