#include "thaw/model/checkpoint.h"

#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "thaw/core/error.h"
#include "thaw/core/json_file.h"
#include "thaw/ir/data/safetensors.h"

namespace thaw::model {
namespace {

constexpr char kSingleFile[] = "model.safetensors";
constexpr char kIndexFile[] = "model.safetensors.index.json";
constexpr auto kAsStored = [](const std::string& name) { return name; };

std::filesystem::path require_folder(const std::filesystem::path& folder) {
  if (std::filesystem::is_directory(folder)) return folder;
  throw Error(ErrorCode::kCannotRead,
              {.what = std::filesystem::exists(folder) ? "is not a folder" : "there is no such folder",
               .where = folder.string(),
               .expected = "a checkpoint: config.json and *.safetensors in one folder",
               .next = "give the folder that the checkpoint was saved to"});
}

// A link counts whatever it points to: opening the file says that nothing is there.
bool has_entry(const std::filesystem::path& path) {
  return std::filesystem::exists(std::filesystem::symlink_status(path));
}

// Which file holds which tensor, as the index says.
std::map<std::string, std::string> read_index(const std::filesystem::path& path) {
  const JsonKind kind{.expected = "{\"weight_map\": {tensor: file, …}}", .next = "fetch the index again"};
  const auto refuse = [&](std::string what) { refuse_json(std::move(what), path.string(), kind); };
  const nlohmann::json index = read_json(path, kind);
  if (!index.contains("weight_map") || !index["weight_map"].is_object()) refuse("the file is no index of weights");
  std::map<std::string, std::string> map;
  for (const auto& [name, location] : index["weight_map"].items()) {
    if (!location.is_string()) refuse(fmt::format("'{}' is not given a file name", name));
    const auto file_name = location.get<std::string>();
    if (file_name.empty() || file_name.find('/') != std::string::npos || file_name == "..")
      refuse(fmt::format("'{}' is in '{}', which is no file name", name, file_name));
    map.emplace(name, file_name);
  }
  return map;
}

void refuse_quantized(const Config& config) {
  const auto quantization = config.find_object("quantization_config");
  if (!quantization) return;
  throw Error(
      ErrorCode::kUnsupported,
      {.what = fmt::format("the weights are quantized ({})", quantization->text_or({"quant_method"}, "unnamed")),
       .where = config.where(),
       .expected = "weights in float32, float16 or bfloat16",
       .next = "take the checkpoint that was quantized from, and quantize what thaw builds from it"});
}

}  // namespace

Checkpoint::Checkpoint(std::filesystem::path folder, std::string where)
    : folder_(std::move(folder)), where_(std::move(where)), config_(Config::open(folder_ / "config.json")) {
  refuse_quantized(config_);
}

Checkpoint Checkpoint::open(const std::filesystem::path& folder) {
  Checkpoint checkpoint(require_folder(folder), folder.string());
  if (has_entry(folder / kSingleFile)) {
    checkpoint.add_file(folder / kSingleFile, kAsStored);
    return checkpoint;
  }
  if (!has_entry(folder / kIndexFile)) {
    throw Error(ErrorCode::kCannotRead, {.what = "there are no weights in it",
                                         .where = folder.string(),
                                         .expected = fmt::format("{} or {}", kSingleFile, kIndexFile),
                                         .next = "save the weights as safetensors (transformers: save_pretrained)"});
  }
  const auto index = read_index(folder / kIndexFile);
  std::set<std::string> names;
  for (const auto& [tensor, file] : index) names.insert(file);
  for (const std::string& name : names) checkpoint.add_file(folder / name, kAsStored);
  for (const auto& [tensor, file] : index) {
    if (checkpoint.tensors_.contains(tensor)) continue;
    throw Error(ErrorCode::kInvalidFile,
                {.what = fmt::format("'{}' is not in {}, where the index places it", tensor, file),
                 .where = (folder / kIndexFile).string(),
                 .expected = "every tensor in its file",
                 .next = "fetch the checkpoint again"});
  }
  return checkpoint;
}

Checkpoint Checkpoint::in_memory(const CheckpointInMemory& given) {
  Checkpoint checkpoint(require_folder(given.folder), "weights in memory");
  const auto refuse = [](const WeightBytes& weight, std::string what, std::string expected) {
    throw Error(ErrorCode::kInvalidArgument, {.what = std::move(what),
                                              .where = fmt::format("weight '{}'", weight.name),
                                              .expected = std::move(expected),
                                              .next = "pass each weight once, with all of its bytes"});
  };
  for (const WeightBytes& weight : given.weights) {
    ir::Tensor tensor = ir::Tensor::view(weight.name, weight.dtype, weight.dims, weight.bytes, weight.owner);
    if (const uint64_t needed = tensor.num_bytes(); needed != weight.bytes.size())
      refuse(weight, fmt::format("has {} bytes", weight.bytes.size()),
             fmt::format("{} for its shape of {}", needed, ir::name_of(weight.dtype)));
    if (!checkpoint.tensors_.emplace(weight.name, Stored{std::move(tensor), checkpoint.where_}).second)
      refuse(weight, "is there twice", "each name once");
  }
  return checkpoint;
}

template <typename Rename>
void Checkpoint::add_file(const std::filesystem::path& path, Rename rename) {
  const ir::Safetensors file = ir::Safetensors::open(path);
  for (const ir::Safetensors::Entry& entry : file.entries()) {
    const auto [other, is_new] = tensors_.emplace(rename(entry.name), Stored{file.tensor(entry), file.file_name()});
    if (is_new) continue;
    throw Error(ErrorCode::kInvalidFile, {.what = fmt::format("'{}' is in {} too", entry.name, other->second.file),
                                          .where = path.string(),
                                          .expected = "each tensor in one file",
                                          .next = "remove the files that do not belong to the checkpoint"});
  }
}

void Checkpoint::add_adapter(const std::filesystem::path& path, std::string_view name) {
  add_file(path, [&](std::string_view stored) {
    constexpr std::string_view kPrefix = "base_model.model.";
    const std::string_view plain = stored.starts_with(kPrefix) ? stored.substr(kPrefix.size()) : stored;
    for (const std::string_view half : {".lora_A", ".lora_B"}) {
      const size_t at = plain.rfind(half);
      if (at == std::string_view::npos || plain.substr(at + half.size()) != ".weight") continue;
      return fmt::format("{}.{}.weight", plain.substr(0, at + half.size()), name);
    }
    throw Error(ErrorCode::kInvalidFile, {.what = fmt::format("the tensor '{}' is not of a LoRA adapter", stored),
                                          .where = path.string(),
                                          .expected = "names that end in .lora_A.weight or .lora_B.weight",
                                          .next = "build with --lora none"});
  });
}

void Checkpoint::add_alias(std::string canonical, std::string stored) {
  aliases_.emplace_back(std::move(canonical), std::move(stored));
}

const Checkpoint::Stored* Checkpoint::look_up(std::string_view name, std::string* stored) const {
  const auto at = [&](const std::string& candidate) -> const Stored* {
    const auto found = tensors_.find(candidate);
    if (found == tensors_.end()) return nullptr;
    if (stored) *stored = candidate;
    return &found->second;
  };
  std::string plain(name);
  if (const Stored* found = at(plain)) return found;
  std::string all = plain;
  for (const auto& [canonical, alias] : aliases_) {
    const auto replaced = [&](const std::string& text) {
      const size_t start = text.find(canonical);
      if (start == std::string::npos) return text;
      return text.substr(0, start) + alias + text.substr(start + canonical.size());
    };
    const std::string alone = replaced(plain);
    if (alone != plain) {
      if (const Stored* found = at(alone)) return found;
    }
    all = replaced(all);
    if (all != alone) {
      if (const Stored* found = at(all)) return found;
    }
  }
  return nullptr;
}

std::optional<ir::Tensor> Checkpoint::find(std::string_view name) const {
  std::string stored;
  const Stored* found = look_up(name, &stored);
  if (!found) return std::nullopt;
  used_.insert(std::move(stored));
  return found->tensor;
}

bool Checkpoint::has(std::string_view name) const { return look_up(name, nullptr) != nullptr; }

ir::Tensor Checkpoint::get(std::string_view name, const std::vector<int64_t>& shape) const {
  auto tensor = find(name);
  if (!tensor) {
    throw Error(ErrorCode::kInvalidFile,
                {.what = fmt::format("the tensor '{}' is missing", name),
                 .where = where_,
                 .expected = fmt::format("a tensor of shape [{}]", fmt::join(shape, ", ")),
                 .next = "fetch the checkpoint again, or see whether its config.json belongs to these weights"});
  }
  if (tensor->dims != shape) {
    throw Error(ErrorCode::kInvalidFile,
                {.what = fmt::format("the tensor '{}' has the shape [{}]", tensor->name, fmt::join(tensor->dims, ", ")),
                 .where = where_,
                 .expected = fmt::format("[{}], as config.json says", fmt::join(shape, ", ")),
                 .next = "see whether config.json belongs to these weights"});
  }
  using enum ir::DataType;
  if (tensor->data_type != kFloat && tensor->data_type != kFloat16 && tensor->data_type != kBfloat16) {
    throw Error(ErrorCode::kInvalidFile,
                {.what = fmt::format("the tensor '{}' holds {}", tensor->name, ir::name_of(tensor->data_type)),
                 .where = where_,
                 .expected = "float32, float16 or bfloat16",
                 .next = "take a checkpoint that is not quantized"});
  }
  return *std::move(tensor);
}

std::vector<std::string> Checkpoint::unused() const {
  std::vector<std::string> names;
  for (const auto& [name, stored] : tensors_) {
    if (!used_.contains(name)) names.push_back(name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace thaw::model
