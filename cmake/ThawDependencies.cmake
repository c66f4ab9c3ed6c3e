# Finds the libraries that Thaw stands on. tools/setup puts the ONNX library and ONNX Runtime into .deps; a user's own copies are
# taken from CMAKE_PREFIX_PATH, ONNX_ROOT and ONNXRUNTIME_ROOT.

set(THAW_DEPS_DIR "${PROJECT_SOURCE_DIR}/.deps" CACHE PATH "Folder that tools/setup fills")
file(REAL_PATH "${THAW_DEPS_DIR}" THAW_DEPS_REAL_DIR)

# thaw_find(DEBIAN KIND NAME...): find_KIND(NAME...). The Debian packages of what is not there are collected, so that one error
# names all of them.
set(thaw_missing "")
macro(thaw_find debian kind name)
  cmake_language(CALL find_${kind} ${name} ${ARGN})
  if(NOT ${name} AND NOT ${name}_FOUND)
    list(APPEND thaw_missing "${debian}")
  endif()
endmacro()

# The ONNX library's package file asks for Protobuf; the static one keeps the command's start short.
set(Protobuf_USE_STATIC_LIBS ON)
find_package(Threads REQUIRED)
thaw_find(zlib1g-dev package ZLIB QUIET)
thaw_find(libprotobuf-dev package Protobuf QUIET)
thaw_find(libfmt-dev package fmt QUIET)
thaw_find(nlohmann-json3-dev package nlohmann_json QUIET)
thaw_find(libcli11-dev package CLI11 QUIET)
thaw_find(libtbb-dev package TBB QUIET)
thaw_find(libhwy-dev package hwy QUIET)
thaw_find(libutf8proc-dev package utf8proc QUIET)
thaw_find(libtomlplusplus-dev path TOMLPLUSPLUS_INCLUDE_DIR toml++/toml.h)

# It draws the charts of reports, which carry it along.
thaw_find(libjs-chart.js file CHART_JS chart.min.js PATH_SUFFIXES share/javascript/chart.js share/nodejs/chart.js/dist
          DOC "Chart.js, version 3, as one file")

# Images: programs are linked with the static libraries, for the same reason; Debian's cannot stand in libthaw.so.
thaw_find(libjpeg62-turbo-dev package JPEG QUIET)
thaw_find(libpng-dev package PNG QUIET)
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
thaw_find(libsndfile1-dev path SNDFILE_INCLUDE_DIR sndfile.h)
thaw_find(libsoxr-dev path SOXR_INCLUDE_DIR soxr.h)
thaw_find(libkissfft-dev path KISSFFT_INCLUDE_DIR kissfft/kissfft.hh)
thaw_find(libxxhash-dev path XXHASH_INCLUDE_DIR xxhash.h)

if(thaw_missing)
  list(JOIN thaw_missing " " thaw_missing)
  message(FATAL_ERROR "Thaw is built with libraries that are not found; Debian has them in: ${thaw_missing}\n"
                      "Install them as root (apt-get install ${thaw_missing}), or name your own copies in CMAKE_PREFIX_PATH.")
endif()

# The rest is no package of Debian 12.
find_package(ONNX CONFIG QUIET HINTS "${THAW_DEPS_REAL_DIR}/onnx")

# ONNX Runtime is opened at its first use (dlopen), never linked: only its headers are needed to build.
if(NOT ONNXRUNTIME_ROOT AND EXISTS "${THAW_DEPS_REAL_DIR}/onnxruntime")
  set(thaw_onnxruntime_root "${THAW_DEPS_REAL_DIR}/onnxruntime")
else()
  set(thaw_onnxruntime_root "${ONNXRUNTIME_ROOT}")
endif()
find_path(
  ONNXRUNTIME_INCLUDE_DIR onnxruntime_c_api.h
  HINTS "${thaw_onnxruntime_root}"
  PATH_SUFFIXES include include/onnxruntime include/onnxruntime/core/session
  DOC "Folder of onnxruntime_c_api.h")
find_file(
  ONNXRUNTIME_LIBRARY
  NAMES libonnxruntime.so.1 libonnxruntime.so
  HINTS "${thaw_onnxruntime_root}"
  PATH_SUFFIXES lib lib64 capi "lib/${CMAKE_LIBRARY_ARCHITECTURE}"
  PATHS /usr/local /usr
  DOC "The shared library of ONNX Runtime, the file that is opened at run time")
if(NOT ONNX_FOUND OR NOT ONNXRUNTIME_INCLUDE_DIR OR NOT ONNXRUNTIME_LIBRARY)
  message(FATAL_ERROR "The ONNX library (C++, static) or ONNX Runtime (its headers and libonnxruntime.so.1) is not found.\n"
                      "Run `tools/setup build`, which fetches both into ${THAW_DEPS_DIR}, or name your own copies by ONNX_ROOT and "
                      "ONNXRUNTIME_ROOT.")
endif()
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
