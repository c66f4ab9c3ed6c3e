// ONNX Runtime, opened when it is first needed (dlopen, never linked): a command that runs no model does not pay for
// it.
//
// What is named is looked at and nothing else: by the environment variable THAW_ONNXRUNTIME, else by set_runtime(). A folder may
// hold it under any of its names, its wheel's among them (onnxruntime/capi/libonnxruntime.so.1.31.1); of several the newest comes
// first. Where nothing is named it is searched, in this order:
//
//   beside the executable and this library, in ../lib and .. of them
//   in the package onnxruntime, where these lie in a package onnx_thaw beside it
//   where the system's loader looks
//   where a Python of the environment that these lie in has the package onnxruntime: it is asked once, by look_further()
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "thaw/core/error.h"

struct OrtApi;

namespace thaw::run {

// Where it is looked for, in this order; a bare name is the system's loader's to find.
std::vector<std::filesystem::path> runtime_candidates();

// For a process that will not be able to list folders: they stay those of now.
void settle_runtime_candidates();

// Names it in a process that is to be started with these variables: "NAME=value".
void name_runtime_in(std::vector<std::string>& variables, const std::filesystem::path& path);

// What THAW_ONNXRUNTIME names, what was set, or what look_further() found, a file or a folder; empty: nothing is named.
std::filesystem::path named_runtime();

// Names it, a file or a folder; empty: nothing is named. Throws thaw::Error where there is no such file, or where this process has
// loaded another.
void set_runtime(const std::filesystem::path& path);

// Whether this is the error of load_runtime() that finds none.
bool is_runtime_missing(const Error& error);

// After such an error of `program`, where nothing was named: names one that lies near this library, or that a Python there has.
// Throws `missing`, with what the Python said, where there is none.
void look_further(const Error& missing, const std::filesystem::path& program);

// Opens the library unless that is done already; throws thaw::Error, naming every place that was tried. Thread-safe.
void load_runtime();

// The file it was loaded from, which loads it.
std::filesystem::path runtime_path();
// "1.31.1".
std::string runtime_version();

// The functions of the interface's `version`, 24 of ONNX Runtime 1.24; null where the one that is loaded is older.
const OrtApi* runtime_api(uint32_t version);

// The folders of Python packages that lie beside a candidate's package, if it lies in one: "site-packages".
std::vector<std::filesystem::path> sites_of_runtime();

}  // namespace thaw::run
