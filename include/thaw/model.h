// A model in memory: loading and saving.
//
//   thaw::Model model = thaw::Model::load("detector.onnx");
//   for (const thaw::Port& input : model.inputs()) …
//   model.save("copy.onnx");
//
// Weights stay in the mapped file until they are needed, so loading takes the time of the graph alone. The file must not be modified
// while a Model that was loaded from it exists; save() replaces it as a whole.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "thaw/array.h"
#include "thaw/export.h"

namespace thaw {

namespace ir {
struct Model;
}

// An input or output of a model.
struct Port {
  std::string name;
  TypeKind kind = TypeKind::kTensor;
  DataType dtype = DataType::kUndefined;  // of tensors, and of the tensors in a sequence or optional
  // As declared: "3", "height", "?" for a dim with neither dim_value nor dim_param. nullopt: no shape is declared.
  std::optional<std::vector<std::string>> dims;
  bool has_default = false;  // an input with an initializer, which may be left out
};

// Where external data of weights is written.
enum class ExternalPolicy : uint8_t {
  kKeep,    // unchanged in the same folder; else its files are copied
  kSingle,  // tensors of at least `threshold` bytes in one new data file
  kInline,  // all data in the model file (fails above 2 GiB)
};

struct SaveOptions {
  ExternalPolicy external = ExternalPolicy::kKeep;
  uint64_t threshold = 1024;  // bytes, for kSingle
  // Name of the data file for kSingle; empty: "<model file name>.data". Existing files are not overwritten: "w.data" becomes
  // "w.1.data".
  std::string location = {};
};

// Sizes of inputs and their new names: {{"input_dim2", "height"}, {"input[3]", "width"}}.
using SizeRenames = std::vector<std::pair<std::string, std::string>>;

// Where a result is written.
struct Output {
  std::filesystem::path path = {};  // empty: it is not written
  SaveOptions save = {};
  SizeRenames rename = {};  // as in Model::rename_sizes
  bool in_place = false;    // allow the path that the model was loaded from
};

class THAW_API Model {
 public:
  // Maps a model file. Throws thaw::Error (kCannotRead, kInvalidFile) for what is no valid ONNX model: truncated or malformed data,
  // names without a definition, duplicate names, cycles, excessive nesting.
  static Model load(const std::filesystem::path& path);
  // The same from memory. `folder`: of external data. The bytes are copied.
  static Model parse(std::span<const std::byte> bytes, const std::filesystem::path& folder = {});

  ~Model();
  Model(Model&&) noexcept;
  Model& operator=(Model&&) noexcept;

  // Writes the model atomically: to an unnamed file in the same folder, fsync, rename; never through a link. New data is written
  // before it, under an unused name; data that only the replaced model used is removed after. So the path always has the old model
  // with the old data, or the new one with the new. Peak memory is about that of the largest tensor. Returns the files: the model,
  // then its data. Throws thaw::Error (kCannotWrite; kInvalidArgument for a path that is the model's own data). Inline data above
  // 2 GiB is an error that says to use kSingle.
  std::vector<std::filesystem::path> save(const std::filesystem::path& path, const SaveOptions& options = {}) const;
  // The bytes of the model file; external data stays where it is.
  std::string serialize() const;
  // Renames sizes of the inputs, wherever they are declared: {{"input_dim2", "height"}, {"input[3]", "width"}}. Throws thaw::Error
  // (kInvalidArgument) for a size that does not exist, and for a name that another size has, as equal names mean equal sizes.
  void rename_sizes(const SizeRenames& names);
  // An independent copy; the bytes of weights are shared.
  Model clone() const;

  std::vector<Port> inputs() const;  // with those that have initializers (has_default)
  std::vector<Port> outputs() const;
  // The imported opset version of a domain, "" for ai.onnx; nullopt where it is not imported.
  std::optional<int64_t> opset(const std::string& domain = {}) const;
  const std::filesystem::path& path() const;              // that it was loaded from; empty for a parsed model
  std::vector<std::filesystem::path> data_files() const;  // of its external data

 private:
  friend struct ModelAccess;
  explicit Model(std::unique_ptr<ir::Model> model);
  std::unique_ptr<ir::Model> model_;
};

}  // namespace thaw
