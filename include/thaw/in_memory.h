// Models in memory for verbs that otherwise read a file, and weights in memory for models.
//
//   const thaw::RunReport made = thaw::run_model(fixed, {.random = true});
//   const thaw::VerifyReport same = thaw::verify({}, &fixed, &original);
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "thaw/array.h"
#include "thaw/export.h"
#include "thaw/model.h"
#include "thaw/run.h"
#include "thaw/verify.h"

namespace thaw {

// As run_model() does; RunOptions::model is ignored. Nothing is written to disk: external data is read from its files, all else is passed
// to ONNX Runtime's process in shared memory.
THAW_API RunReport run_model(const Model& model, const RunOptions& options);

// A page: the graph of the model that was run, its nodes marked with their providers, and how long each took. Of a report with a placement.
THAW_API std::string to_html(const RunReport& report, const Model& model);

// As verify() does, with models in memory instead of the paths in the options; null: the path. Both must live as long as the call.
THAW_API VerifyReport verify(const VerifyOptions& options, const Model* model, const Model* reference);

// A weight that the caller holds, or a view of one.
struct WeightBytes {
  std::string name;  // the location in the initializer's external_data; in a checkpoint, as transformers saves it
  DataType dtype = DataType::kUndefined;
  std::vector<int64_t> dims;
  std::span<const std::byte> bytes;   // row-major, little-endian, as in TensorProto.raw_data
  std::shared_ptr<const void> owner;  // keeps the bytes alive; null where the caller does
};

// As Model::serialize(), but initializers of the main graph that are no external data and have at least `least` bytes are not among the
// bytes: external_data names a location for each, of which there is no file.
struct SerializedApart {
  std::string bytes;
  std::vector<WeightBytes> weights;
};
THAW_API SerializedApart serialize_apart(const Model& model, uint64_t least);

// The inverse: as Model::parse(), with weights of the main graph that are views of memory, without a copy. These are initializers whose
// external_data names the location of one of `weights`; dtype and dims are the initializer's. The bytes must not change while the model
// exists. Throws thaw::Error (kInvalidArgument) for a location that no initializer names, and for a number of bytes that the
// initializer does not have.
THAW_API Model parse_with_weights(std::span<const std::byte> bytes, const std::filesystem::path& folder,
                                  std::span<const WeightBytes> weights);

// `owner` lives as long as the model, its clones and what verbs make of them: for a temporary folder that holds its weights.
THAW_API void keep_alive(Model& model, std::shared_ptr<const void> owner);

}  // namespace thaw
