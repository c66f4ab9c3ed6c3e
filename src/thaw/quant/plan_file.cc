#include "thaw/quant/plan_file.h"

#include <fstream>
#include <map>
#include <set>
#include <string>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "thaw/core/error.h"
#include "thaw/core/suggest.h"
#include "thaw/quant/precisions.h"

namespace thaw::quantizing {
namespace {

using Json = nlohmann::json;

[[noreturn]] void refuse(std::string what, std::string where, std::string expected) {
  throw Error(ErrorCode::kInvalidFile, {.what = std::move(what),
                                        .where = std::move(where),
                                        .expected = std::move(expected),
                                        .next = "docs/converting.md has the schema of a plan"});
}

// One object of the file, with the place that messages name.
class Entry {
 public:
  Entry(const Json& json, std::string where) : json_(json), where_(std::move(where)) {}

  template <typename T>
  void read(const char* key, std::map<std::string_view, T> words, T& to) {
    known_.insert(key);
    const auto at = json_.find(key);
    if (at == json_.end()) return;
    std::string list;
    for (const auto& [word, meaning] : words) list += (list.empty() ? "" : ", ") + std::string(word);
    if (!at->is_string() || !words.contains(at->get_ref<const std::string&>()))
      refuse(fmt::format("'{}' is {}", key, at->dump()), where_, "one of " + list);
    to = words.at(at->get_ref<const std::string&>());
  }
  void read(const char* key, int64_t& to) {
    if (const Json* value = find(key, "an integer", &Json::is_number_integer)) to = value->get<int64_t>();
  }
  void read(const char* key, int& to) {
    int64_t value = to;
    read(key, value);
    to = static_cast<int>(value);
  }
  void read(const char* key, double& to) {
    if (const Json* value = find(key, "a number", &Json::is_number)) to = value->get<double>();
  }
  void read(const char* key, bool& to) {
    if (const Json* value = find(key, "true or false", &Json::is_boolean)) to = value->get<bool>();
  }
  void read(const char* key, std::string& to) {
    if (const Json* value = find(key, "a text", &Json::is_string)) to = value->get<std::string>();
  }

  // What was not asked for is a mistake.
  void require_known() const {
    for (const auto& [key, value] : json_.items()) {
      if (known_.contains(key)) continue;
      const std::vector<std::string_view> known(known_.begin(), known_.end());
      refuse(fmt::format("there is no key '{}'{}", key, did_you_mean(key, known)), where_, "the keys of a plan");
    }
  }

 private:
  const Json* find(const char* key, const char* expected, bool (Json::*is)() const noexcept) {
    known_.insert(key);
    const auto at = json_.find(key);
    if (at == json_.end()) return nullptr;
    if (!((*at).*is)()) refuse(fmt::format("'{}' is {}", key, at->dump()), where_, expected);
    return &*at;
  }

  const Json& json_;
  std::string where_;
  std::set<std::string, std::less<>> known_;
};

void read_precision(Entry& entry, PrecisionOptions& precision) {
  using enum NumberFormat;
  std::map<std::string_view, NumberFormat> formats;
  for (const NumberFormat format : {kKeep, kFloat16, kBfloat16, kInt8, kInt4, kInt2, kInt3, kInt8Blocks})
    formats[name_of(format)] = format;
  entry.read("to", formats, precision.to);
  entry.read("method",
             {{"rtn", BlockMethod::kRtn},
              {"search", BlockMethod::kSearch},
              {"hqq", BlockMethod::kHqq},
              {"gptq", BlockMethod::kGptq},
              {"awq", BlockMethod::kAwq}},
             precision.blocks.method);
  entry.read("block", precision.blocks.block);
  entry.read("symmetric", precision.blocks.symmetric);
  entry.read("form", {{"matmulnbits", BlockForm::kMatMulNBits}, {"qdq", BlockForm::kQdq}}, precision.blocks.form);
  entry.read("accuracy_level", precision.blocks.accuracy_level);
  entry.read("dynamic", precision.int8.dynamic);
  entry.read("range",
             {{"minmax", RangeMethod::kMinMax},
              {"percentile", RangeMethod::kPercentile},
              {"entropy", RangeMethod::kEntropy},
              {"mse", RangeMethod::kMse}},
             precision.int8.range);
  entry.read("percentile", precision.int8.percentile);
  entry.read("symmetric_activations", precision.int8.symmetric_activations);
  entry.read("symmetric_weights", precision.int8.symmetric_weights);
  entry.read("per_channel", precision.int8.per_channel);
  entry.read("unsigned_activations", precision.int8.unsigned_activations);
  entry.read("unsigned_weights", precision.int8.unsigned_weights);
  entry.read("reduced_range", precision.int8.reduced_range);
  entry.read("smooth", precision.int8.smooth);
  entry.read("equalize", precision.int8.equalize);
  entry.read("correct_bias", precision.int8.correct_bias);
}

}  // namespace

void read_plan(const std::filesystem::path& path, ConvertOptions& options) {
  std::ifstream file(path);
  if (!file) refuse("the plan cannot be read", path.string(), "a JSON file");
  const Json plan = Json::parse(file, nullptr, false);
  if (!plan.is_object()) refuse("the plan is no JSON object", path.string(), R"({"default": …, "nodes": […]})");
  for (const auto& [key, value] : plan.items())
    if (key != "default" && key != "nodes")
      refuse(fmt::format("there is no key '{}'", key), path.string(), "\"default\" and \"nodes\"");
  if (const auto at = plan.find("default"); at != plan.end()) {
    const Json object = at->is_string() ? Json{{"to", *at}} : *at;
    if (!object.is_object())
      refuse("the default is no precision", path.string(), "a text such as \"int4\", or an object");
    Entry entry(object, path.string() + ", default");
    read_precision(entry, options.precision);
    entry.require_known();
  }
  const auto nodes = plan.find("nodes");
  if (nodes == plan.end()) return;
  if (!nodes->is_array()) refuse("the nodes are no list", path.string(), "a list of objects");
  for (size_t i = 0; i < nodes->size(); ++i) {
    const Json& object = (*nodes)[i];
    const std::string where = fmt::format("{}, nodes[{}]", path.string(), i);
    if (!object.is_object()) refuse("the entry is no object", where, R"({"name": …, "to": …})");
    PlannedNode node{.name = {}, .precision = options.precision};
    Entry entry(object, where);
    entry.read("name", node.name);
    read_precision(entry, node.precision);
    entry.require_known();
    if (node.name.empty() || !object.contains("to"))
      refuse("the entry lacks a name, or what it is to be", where, R"({"name": …, "to": …})");
    options.plan.push_back(std::move(node));
  }
}

}  // namespace thaw::quantizing
