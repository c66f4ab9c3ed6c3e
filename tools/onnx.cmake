# Read by the ONNX library's own CMakeLists.txt once it has said project() (tools/setup passes it as
# CMAKE_PROJECT_onnx_INCLUDE): leaves out what Thaw does not use, which is a fifth of what there is to compile.

function(thaw_trim_onnx)
  get_target_property(sources onnx SOURCES)
  list(FILTER sources EXCLUDE REGEX "/version_converter/|/ir_pb_converter")
  set_target_properties(onnx PROPERTIES SOURCES "${sources}")
  target_sources(onnx PRIVATE "${CMAKE_CURRENT_FUNCTION_LIST_DIR}/onnx_left_out.cc")
  # The library's paths stay out of the schemas, which say where they are defined.
  target_compile_options(onnx PRIVATE "-ffile-prefix-map=${PROJECT_SOURCE_DIR}/=" -ffunction-sections -fdata-sections)
endfunction()

cmake_language(DEFER CALL thaw_trim_onnx)
