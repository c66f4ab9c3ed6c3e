// A model in memory: loading and saving.
//
//   thaw::Model model = thaw::Model::load("detector.onnx");
//   for (const thaw::Port& input : model.inputs()) …
//   model.save("copy.onnx");
//
// Weights stay in the mapped file until they are needed: a model of 20 GB loads in the time that its graph takes. The
// file must not be written to while a Model that was loaded from it lives; save() replaces it whole.
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
  // As the file declares them: "3", "height", "?" for a dim without either. Empty: no shape is declared.
  std::optional<std::vector<std::string>> dims;
  bool has_default = false;  // an input with an initializer: need not be fed
};

// Where the data of weights goes that lies, or is to lie, outside the model file.
enum class ExternalPolicy : uint8_t {
  kKeep,    // stays where it is when the folder stays the same, else its files are copied, streaming, to names of ours
  kSingle,  // every tensor of at least `threshold` bytes goes to one new data file, streaming
  kInline,  // all data inside the model file (fails above 2 GiB)
};

struct SaveOptions {
  ExternalPolicy external = ExternalPolicy::kKeep;
  uint64_t threshold = 1024;  // bytes, for kSingle
  // The data file's name for kSingle; "<model file name>.data" when empty. A file that is there is never written over:
  // "w.data" becomes "w.1.data" then.
  std::string location = {};
};

// Sizes of inputs and what they are called instead: {{"input_dim2", "height"}, {"input[3]", "width"}}.
using SizeRenames = std::vector<std::pair<std::string, std::string>>;

// Where a verb writes its result, and what it is called there.
struct Output {
  std::filesystem::path path = {};  // empty: it is written nowhere
  SaveOptions save = {};
  SizeRenames rename = {};  // of the result, as Model::rename_sizes has it
  bool in_place = false;    // the path may be the file that the model was loaded from
};

class THAW_API Model {
 public:
  // Opens and maps a model file. Throws thaw::Error (kCannotRead, kInvalidFile) for anything that is not a valid ONNX
  // model: truncated or malformed data, names used before they are made, duplicate names, cycles, excessive nesting.
  static Model load(const std::filesystem::path& path);
  // The same from memory, as load would from a file in `folder` (for external data). The bytes are copied.
  static Model parse(std::span<const std::byte> bytes, const std::filesystem::path& folder = {});

  ~Model();
  Model(Model&&) noexcept;
  Model& operator=(Model&&) noexcept;

  // Writes the model whole or not at all (a file without a name in the same folder, fsync, rename; never through a link).
  // Its data comes before it, under a name that no file has; data that only the model replaced here used goes after it.
  // So at every moment the path holds the old model with the old data, or the new one with the new. Peak memory stays
  // near the largest tensor. Returns the files written: the model, then its data. Throws thaw::Error (kCannotWrite;
  // kInvalidArgument for a path that is the model's own data); models whose inline data passes 2 GiB are refused, saying
  // to use kSingle.
  std::vector<std::filesystem::path> save(const std::filesystem::path& path, const SaveOptions& options = {}) const;
  // The bytes that save() would write; external data is left where it is.
  std::string serialize() const;
  // Gives sizes of the inputs other names, wherever they are declared: {{"input_dim2", "height"}, {"input[3]", "width"}}.
  // Throws thaw::Error (kInvalidArgument) for a size that there is not, and for a name that another size has: equal names
  // mean equal sizes.
  void rename_sizes(const SizeRenames& names);
  // A copy that can be changed by itself; the bytes of weights are shared.
  Model clone() const;

  std::vector<Port> inputs() const;  // those that only give an initializer's default come too (has_default)
  std::vector<Port> outputs() const;
  // The imported version of a domain, "" for ai.onnx; nullopt where it is not imported.
  std::optional<int64_t> opset(const std::string& domain = {}) const;
  const std::filesystem::path& path() const;              // where it was loaded from; empty for a parsed model
  std::vector<std::filesystem::path> data_files() const;  // that hold its weights, beside the model's own; each once

 private:
  friend struct ModelAccess;
  explicit Model(std::unique_ptr<ir::Model> model);
  std::unique_ptr<ir::Model> model_;
};

}  // namespace thaw
