# Finds the libraries that Thaw stands on. tools/setup puts the ONNX library and ONNX Runtime into .deps, which the
# presets name; a user's own copies are taken from CMAKE_PREFIX_PATH, ONNX_ROOT and ONNXRUNTIME_ROOT.

set(THAW_DEPS_DIR "${PROJECT_SOURCE_DIR}/.deps" CACHE PATH "Folder that tools/setup fills")
file(REAL_PATH "${THAW_DEPS_DIR}" THAW_DEPS_REAL_DIR)

# The ONNX library's package file asks for Protobuf; the static one keeps the command's start short.
set(Protobuf_USE_STATIC_LIBS ON)
find_package(ZLIB REQUIRED)
find_package(Threads REQUIRED)
find_package(Protobuf REQUIRED)
find_package(ONNX CONFIG REQUIRED HINTS "${THAW_DEPS_REAL_DIR}/onnx")
find_package(fmt REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(CLI11 REQUIRED)
find_package(TBB REQUIRED)
find_package(hwy REQUIRED)
find_package(utf8proc REQUIRED)
find_path(TOMLPLUSPLUS_INCLUDE_DIR toml++/toml.h REQUIRED)

# It draws the charts of reports, which carry it along.
find_file(CHART_JS chart.min.js PATH_SUFFIXES share/javascript/chart.js share/nodejs/chart.js/dist REQUIRED
          DOC "Chart.js, version 3, as one file")

# Images: programs are linked with the static libraries, for the same reason; Debian's cannot stand in libthaw.so.
find_package(JPEG REQUIRED)
find_package(PNG REQUIRED)
set(thaw_image_libraries JPEG::JPEG PNG::PNG)
find_library(JPEG_ARCHIVE libjpeg.a)
find_library(PNG_ARCHIVE libpng.a)
mark_as_advanced(JPEG_ARCHIVE PNG_ARCHIVE)
if(JPEG_ARCHIVE AND PNG_ARCHIVE)
  set(thaw_image_archives "${JPEG_ARCHIVE}" "${PNG_ARCHIVE}" ZLIB::ZLIB)
else()
  set(thaw_image_archives ${thaw_image_libraries})
endif()
# Audio: libsndfile and libsoxr are opened at their first use (dlopen) as ONNX Runtime is, and of KISS FFT there are headers
# alone, for its transform in double precision.
find_path(SNDFILE_INCLUDE_DIR sndfile.h REQUIRED)
find_path(SOXR_INCLUDE_DIR soxr.h REQUIRED)
find_path(KISSFFT_INCLUDE_DIR kissfft/kissfft.hh REQUIRED)

# ONNX Runtime is opened at its first use (dlopen), never linked: only its headers are needed to build.
if(NOT ONNXRUNTIME_ROOT AND EXISTS "${THAW_DEPS_REAL_DIR}/onnxruntime")
  set(thaw_onnxruntime_root "${THAW_DEPS_REAL_DIR}/onnxruntime")
else()
  set(thaw_onnxruntime_root "${ONNXRUNTIME_ROOT}")
endif()
find_path(
  ONNXRUNTIME_INCLUDE_DIR onnxruntime_c_api.h
  HINTS "${thaw_onnxruntime_root}"
  PATH_SUFFIXES include include/onnxruntime include/onnxruntime/core/session REQUIRED
  DOC "Folder of onnxruntime_c_api.h")
find_file(
  ONNXRUNTIME_LIBRARY
  NAMES libonnxruntime.so.1 libonnxruntime.so
  HINTS "${thaw_onnxruntime_root}"
  PATH_SUFFIXES lib lib64 capi "lib/${CMAKE_LIBRARY_ARCHITECTURE}"
  PATHS /usr/local /usr REQUIRED
  DOC "The shared library of ONNX Runtime, the file that is opened at run time")
# Token ids are made by the C interface of onnxruntime-genai's library, which is opened when a text is given.
find_file(
  ONNXRUNTIME_GENAI_LIBRARY
  NAMES libonnxruntime-genai.so
  HINTS "${THAW_DEPS_REAL_DIR}/onnxruntime-genai" "${ONNXRUNTIME_GENAI_ROOT}"
  PATH_SUFFIXES lib lib64 "lib/${CMAKE_LIBRARY_ARCHITECTURE}"
  PATHS /usr/local /usr
  DOC "The shared library of onnxruntime-genai, opened at run time; without it there are no token ids")
add_library(thaw_onnxruntime_headers INTERFACE)
add_library(thaw::onnxruntime_headers ALIAS thaw_onnxruntime_headers)
target_include_directories(thaw_onnxruntime_headers SYSTEM INTERFACE "$<BUILD_INTERFACE:${ONNXRUNTIME_INCLUDE_DIR}>")
target_compile_definitions(thaw_onnxruntime_headers INTERFACE ORT_API_MANUAL_INIT)
