// A checkpoint: a folder with config.json and one or more safetensors files, or with config.json alone beside weights in memory.
//
// Weights are found by their canonical name, which is the one that transformers saves. A checkpoint of another style
// (as on the model hub) is read through aliases: rules that turn the beginning, or a part, of a canonical name into
// what the file says. Nothing but headers is read until a tensor's bytes are asked for.
#pragma once

#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "thaw/build.h"
#include "thaw/ir/data/tensor.h"
#include "thaw/model/config.h"

namespace thaw::model {

class Checkpoint {
 public:
  // Opens model.safetensors, or the files that model.safetensors.index.json names. Throws thaw::Error where the folder
  // or a file is missing, two files hold one name, the index names a tensor that its file lacks, or the weights are
  // quantized.
  static Checkpoint open(const std::filesystem::path& folder);
  // The weights are views on the caller's bytes. Throws thaw::Error where there is no such folder, one name is there twice, a
  // weight's bytes are not those of its dims, or the weights are quantized.
  static Checkpoint in_memory(const CheckpointInMemory& given);

  const std::filesystem::path& folder() const { return folder_; }
  // Where its weights are, for messages.
  const std::string& where() const { return where_; }
  const Config& config() const { return config_; }

  // Another name for weights: where a canonical name contains `canonical` (at its beginning if it ends with '.', or
  // anywhere as whole parts), `stored` may stand there instead. Aliases are tried in the order they were added, each
  // alone and then together.
  void add_alias(std::string canonical, std::string stored);

  // Adds the weights of an adapter that has a file of its own: "base_model.model.<stem>.lora_A.weight" there is
  // "<stem>.lora_A.<name>.weight" here. Throws thaw::Error as open() does, and where a tensor has no such name.
  void add_adapter(const std::filesystem::path& path, std::string_view name);

  // The tensor under its canonical name or an alias of it; nullopt if there is none. What is found counts as used.
  std::optional<ir::Tensor> find(std::string_view name) const;
  // The same for several candidates; throws thaw::Error, naming it, where it is missing or has another shape.
  ir::Tensor get(std::string_view name, const std::vector<int64_t>& shape) const;
  bool has(std::string_view name) const;

  // Tensors that nothing asked for, sorted.
  std::vector<std::string> unused() const;

 private:
  Checkpoint(std::filesystem::path folder, std::string where);
  struct Stored {
    ir::Tensor tensor;
    std::string file;
  };
  const Stored* look_up(std::string_view name, std::string* stored) const;
  template <typename Rename>
  void add_file(const std::filesystem::path& path, Rename rename);

  std::filesystem::path folder_;
  std::string where_;
  Config config_;
  std::unordered_map<std::string, Stored> tensors_;
  std::vector<std::pair<std::string, std::string>> aliases_;
  mutable std::set<std::string> used_;
};

}  // namespace thaw::model
