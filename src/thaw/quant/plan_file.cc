#include "thaw/quant/plan_file.h"

#include <concepts>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "thaw/core/error.h"
#include "thaw/core/json_file.h"
#include "thaw/core/printable.h"
#include "thaw/core/suggest.h"
#include "thaw/core/type_word.h"
#include "thaw/quant/precisions.h"

namespace thaw::quantizing {
namespace {

using Json = nlohmann::json;
using OrderedJson = nlohmann::ordered_json;

constexpr JsonKind kKind{.expected = R"({"default": …, "nodes": […]})",
                         .next = "docs/guide/convert.md has the schema of a plan"};

[[noreturn]] void refuse(std::string what, std::string where, std::string_view expected) {
  refuse_json(std::move(what), std::move(where), {.expected = expected, .next = kKind.next});
}

// One object of the file, with the location that messages name.
class Entry {
 public:
  Entry(const Json& json, std::string where) : json_(json), where_(std::move(where)) {}

  template <typename T>
  void words(const char* key, const std::map<std::string_view, T>& words, T& to) {
    known_.insert(key);
    const auto at = json_.find(key);
    if (at == json_.end()) return;
    std::string list;
    for (const auto& [word, meaning] : words) list += (list.empty() ? "" : ", ") + std::string(word);
    const std::string given = at->is_string() ? at->get<std::string>() : std::string();
    auto found = words.find(given);
    if (found == words.end()) found = words.find(type_word(given));
    if (found == words.end()) refuse(fmt::format("'{}' is {}", key, short_text(*at)), where_, "one of " + list);
    to = found->second;
  }
  template <std::integral T>
  void value(const char* key, T& to) {
    const Json* found = find(key, "an integer", &Json::is_number_integer);
    if (!found) return;
    const std::optional<int64_t> number = integer_of(*found);
    if (!number || !std::in_range<T>(*number))
      refuse(fmt::format("'{}' is {}", key, short_text(*found)), where_, "a number of that many bits at most");
    to = static_cast<T>(*number);
  }
  void value(const char* key, double& to) {
    if (const Json* found = find(key, "a number", &Json::is_number)) to = found->get<double>();
  }
  void value(const char* key, bool& to) {
    if (const Json* found = find(key, "true or false", &Json::is_boolean)) to = found->get<bool>();
  }
  void value(const char* key, std::string& to) {
    if (const Json* found = find(key, "a text", &Json::is_string)) to = found->get<std::string>();
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
    if (!((*at).*is)()) refuse(fmt::format("'{}' is {}", key, short_text(*at)), where_, expected);
    return &*at;
  }

  const Json& json_;
  std::string where_;
  std::set<std::string, std::less<>> known_;
};

template <typename T>
using Words = std::map<std::string_view, T>;

Words<NumberFormat> formats() {
  using enum NumberFormat;
  Words<NumberFormat> words;
  for (const NumberFormat format : {kKeep, kFloat16, kBfloat16, kInt8, kInt4, kInt2, kInt3, kInt8Blocks})
    words[name_of(format)] = format;
  return words;
}

const Words<BlockMethod> kMethods{{"rtn", BlockMethod::kRtn},
                                  {"search", BlockMethod::kSearch},
                                  {"hqq", BlockMethod::kHqq},
                                  {"gptq", BlockMethod::kGptq},
                                  {"awq", BlockMethod::kAwq}};
const Words<BlockForm> kForms{{"matmulnbits", BlockForm::kMatMulNBits}, {"qdq", BlockForm::kQdq}};
const Words<RangeMethod> kRanges{{"minmax", RangeMethod::kMinMax},
                                 {"percentile", RangeMethod::kPercentile},
                                 {"entropy", RangeMethod::kEntropy},
                                 {"mse", RangeMethod::kMse}};

// Calls entry(key, words or number) for every key of a precision.
template <typename Visitor, typename Precision>
void visit(Visitor& entry, Precision& precision) {
  entry.words("to", formats(), precision.to);
  entry.words("method", kMethods, precision.blocks.method);
  entry.value("block", precision.blocks.block);
  entry.value("symmetric", precision.blocks.symmetric);
  entry.value("real_zeros", precision.blocks.real_zeros);
  entry.words("form", kForms, precision.blocks.form);
  entry.value("accuracy_level", precision.blocks.accuracy_level);
  entry.value("dynamic", precision.int8.dynamic);
  entry.words("range", kRanges, precision.int8.range);
  entry.value("percentile", precision.int8.percentile);
  entry.value("symmetric_activations", precision.int8.symmetric_activations);
  entry.value("symmetric_weights", precision.int8.symmetric_weights);
  entry.value("per_channel", precision.int8.per_channel);
  entry.value("unsigned_activations", precision.int8.unsigned_activations);
  entry.value("unsigned_weights", precision.int8.unsigned_weights);
  entry.value("reduced_range", precision.int8.reduced_range);
  entry.value("smooth", precision.int8.smooth);
  entry.value("equalize", precision.int8.equalize);
  entry.value("correct_bias", precision.int8.correct_bias);
  entry.value("activation_products", precision.int8.activation_products);
}

// Adds to an object what differs from what a reader takes where nothing is said.
class EntryWriter {
 public:
  EntryWriter(OrderedJson& json, const PrecisionOptions& usual) : json_(json) {
    EntryWriter all(usual_);
    visit(all, usual);
  }

  template <typename T>
  void words(const char* key, const Words<T>& words, T value) {
    for (const auto& [word, meaning] : words)
      if (meaning == value) add(key, word);
  }
  template <typename T>
  void value(const char* key, T value) {
    add(key, value);
  }

 private:
  explicit EntryWriter(OrderedJson& json) : json_(json) {}
  template <typename T>
  void add(const char* key, const T& value) {
    if (std::string_view(key) == "to" || !usual_.contains(key) || usual_[key] != value) json_[key] = value;
  }

  OrderedJson& json_;
  OrderedJson usual_ = OrderedJson::object();
};

void read_one(const Json& plan, const std::string& path, ConvertOptions& options) {
  if (!plan.is_object()) refuse("this is no plan", path, kKind.expected);
  for (const auto& [key, value] : plan.items())
    if (key != "default" && key != "nodes" && key != "projections")
      refuse(fmt::format("there is no key '{}'", key), path, "\"default\", \"nodes\" and \"projections\"");
  if (const auto at = plan.find("projections"); at != plan.end()) {
    if (*at != "together" && *at != "apart")
      refuse(fmt::format("'projections' is {}", short_text(*at)), path, "\"together\" or \"apart\"");
    options.join_projections = *at == "together";
  }
  if (const auto at = plan.find("default"); at != plan.end()) {
    const Json object = at->is_string() ? Json{{"to", *at}} : *at;
    if (!object.is_object()) refuse("the default is no precision", path, "a text such as \"int4\", or an object");
    Entry entry(object, path + ", default");
    const NumberFormat given = options.precision.to;
    visit(entry, options.precision);
    entry.require_known();
    if (given != NumberFormat::kKeep && given != options.precision.to)
      refuse(fmt::format("the default is '{}', and '{}' is asked for beside the plan", name_of(options.precision.to),
                         name_of(given)),
             path, "one type for the nodes that the plan does not name: leave out \"default\", or --to");
  }
  const auto nodes = plan.find("nodes");
  if (nodes == plan.end()) return;
  if (!nodes->is_array()) refuse("the nodes are no list", path, "a list of objects");
  std::set<std::string> names;
  for (size_t i = 0; i < nodes->size(); ++i) {
    const Json& object = (*nodes)[i];
    const std::string where = fmt::format("{}, nodes[{}]", path, i);
    if (!object.is_object()) refuse("the entry is no object", where, R"({"name": …, "to": …})");
    PlannedNode node{.name = {}, .precision = options.precision};
    Entry entry(object, where);
    entry.value("name", node.name);
    visit(entry, node.precision);
    entry.require_known();
    if (node.name.empty() || !object.contains("to"))
      refuse("the entry lacks a name, or what it is to be", where, R"({"name": …, "to": …})");
    if (!names.insert(node.name).second)
      refuse(fmt::format("the node {} stands in the plan already", short_text(node.name)), where,
             "one precision for each node");
    options.plan.push_back(std::move(node));
  }
}

OrderedJson plan_object(const ConvertOptions& options) {
  const auto written = [](const PrecisionOptions& precision, OrderedJson object) {
    EntryWriter writer(object, PrecisionOptions{});
    visit(writer, precision);
    return object;
  };
  OrderedJson plan{{"default", written(options.precision, OrderedJson::object())},
                   {"projections", options.join_projections ? "together" : "apart"},
                   {"nodes", OrderedJson::array()}};
  for (const PlannedNode& node : options.plan)
    plan["nodes"].push_back(written(node.precision, OrderedJson{{"name", node.name}}));
  return plan;
}

std::string text_of(const OrderedJson& plan) {
  return with_json_escapes(plan.dump(1, ' ', false, OrderedJson::error_handler_t::replace)) + "\n";
}

}  // namespace

void read_plan(const std::filesystem::path& path, ConvertOptions& options, const std::filesystem::path& model) {
  const Json file = read_json(path, kKind);
  const auto parts = file.find("parts");
  if (parts == file.end()) return read_one(file, path.string(), options);
  if (!parts->is_object() || file.size() > 1)
    refuse("its parts are no plans", path.string(),
           R"({"parts": {"text": {"nodes": […]}, …}} and nothing beside them)");
  std::string names;
  for (const auto& [name, plan] : parts->items()) names += (names.empty() ? "" : ", ") + name + ".onnx";
  const auto part = parts->find(model.stem().string());
  if (part == parts->end())
    throw Error(ErrorCode::kInvalidArgument,
                {.what = fmt::format("the plan has no part for {}", printable(model.filename().string())),
                 .where = path.string(),
                 .expected = fmt::format("one of {}: the models that were measured together", printable(names))});
  read_one(*part, fmt::format("{}, {}", path.string(), part.key()), options);
}

PrecisionOptions parse_precision(const Json& object, const std::string& where) {
  if (!object.is_object()) refuse("this is no precision", where, R"({"to": …})");
  PrecisionOptions precision;
  Entry entry(object, where);
  visit(entry, precision);
  entry.require_known();
  return precision;
}

std::string plan_text(const ConvertOptions& options) { return text_of(plan_object(options)); }

std::string plan_text(const std::map<std::string, ConvertOptions>& parts) {
  OrderedJson plans = OrderedJson::object();
  for (const auto& [name, options] : parts) plans[name] = plan_object(options);
  return text_of({{"parts", std::move(plans)}});
}

}  // namespace thaw::quantizing
