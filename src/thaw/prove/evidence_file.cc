#include "thaw/prove/evidence_file.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <initializer_list>
#include <optional>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "thaw/core/json_file.h"

namespace thaw::proving {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kSchema = 1;
constexpr JsonKind kKind{.expected = "a file that `thaw verify --prove --evidence` wrote", .next = "write it anew"};
constexpr std::array<std::pair<std::string_view, Step::By>, 5> kNames = {{{"input", Step::By::kInput},
                                                                          {"constant", Step::By::kConstant},
                                                                          {"sizes", Step::By::kSizes},
                                                                          {"node", Step::By::kNode},
                                                                          {"laws", Step::By::kLaws}}};

Json to_json(const Rounded& one) {
  return {{"type", ir::name_of(one.dtype)}, {"dims", one.dims}, {"ulp", one.steps}, {"bound", one.bound}};
}

Json to_json(const Step& step) {
  Json json{{"model", step.model}, {"reference", step.reference}};
  for (const auto& [name, by] : kNames)
    if (by == step.by) json["by"] = name;
  if (step.by == Step::By::kNode || step.by == Step::By::kLaws) json["given"] = step.given;
  if (step.by == Step::By::kLaws) {
    json["model_nodes"] = step.model_nodes;
    json["reference_nodes"] = step.reference_nodes;
  }
  if (step.by == Step::By::kLaws || step.by == Step::By::kSizes) json["term"] = step.term;
  if (step.has_scaled_weights) json["scaled_weights"] = true;
  for (const Rounded& one : step.rounded) json["rounded"].push_back(to_json(one));
  if (!step.assumed.empty()) json["assumptions"] = step.assumed;
  return json;
}

Json to_json(const AlignedSize& size) {
  Json json = Json::object();
  if (!size.name.empty()) json["name"] = size.name;
  for (const BoundName& axis : size.axes)
    json["of"].push_back({{"input", axis.input}, {axis.is_element ? "element" : "axis", axis.index}});
  if (size.number) json["number"] = *size.number;
  if (size.bound) {
    json["first"] = size.bound->first;
    if (size.bound->last) json["last"] = *size.bound->last;
    json["step"] = size.bound->step;
    if (size.bound->is_needed) json["needed"] = true;
  }
  return json;
}

Json to_json(const ShownOutput& output) { return {{"name", output.name}, {"step", output.step}}; }

// Members of an object, which has no others.
class Reader {
 public:
  using Value = nlohmann::json;

  Reader(const Value& object, std::string what, const std::string& where,
         std::initializer_list<std::string_view> members)
      : object_(object), what_(std::move(what)), where_(where) {
    if (!object.is_object()) refuse("is no object");
    for (const auto& [name, value] : object.items())
      if (std::ranges::find(members, name) == members.end()) refuse(fmt::format("has a member '{}'", name));
  }

  [[noreturn]] void refuse(const std::string& why) const { refuse_json(what_ + " " + why, where_, kKind); }

  bool has(const char* name) const { return object_.contains(name); }
  const Value& array(const char* name) const {
    if (!has(name) || !object_[name].is_array()) refuse(fmt::format("has no list '{}'", name));
    return object_[name];
  }
  std::string text(const char* name) const {
    if (!has(name) || !object_[name].is_string()) refuse(fmt::format("has no text '{}'", name));
    return object_[name].get<std::string>();
  }
  int64_t integer(const char* name) const { return integer(has(name) ? object_[name] : Value(), name); }
  int64_t integer(const Value& value, const char* name) const {
    const auto number = integer_of(value);
    if (!number) refuse(fmt::format("has no whole number '{}'", name));
    return *number;
  }
  double number(const char* name) const {
    if (!has(name) || !object_[name].is_number()) refuse(fmt::format("has no number '{}'", name));
    return object_[name].get<double>();
  }
  std::vector<int64_t> integers(const char* name) const {
    std::vector<int64_t> numbers;
    for (const Value& one : array(name)) numbers.push_back(integer(one, name));
    return numbers;
  }
  std::vector<std::string> texts(const char* name) const {
    std::vector<std::string> texts;
    for (const Value& one : array(name)) {
      if (!one.is_string()) refuse(fmt::format("has no texts '{}'", name));
      texts.push_back(one.get<std::string>());
    }
    return texts;
  }

 private:
  const Value& object_;
  std::string what_;
  const std::string& where_;
};

Step step_of(const nlohmann::json& json, size_t i, const std::string& where) {
  const Reader read(json, fmt::format("step {}", i), where,
                    {"model", "reference", "by", "given", "model_nodes", "reference_nodes", "term", "scaled_weights",
                     "rounded", "assumptions"});
  Step step;
  step.model = read.text("model");
  step.reference = read.text("reference");
  const std::string by = read.text("by");
  const auto name = std::ranges::find(kNames, by, &decltype(kNames)::value_type::first);
  if (name == kNames.end()) read.refuse(fmt::format("is by '{}'", by));
  step.by = name->second;
  const bool is_by_laws = step.by == Step::By::kLaws;
  const auto is_written = [&](const char* member, bool is_due) {
    if (is_due != read.has(member)) read.refuse(fmt::format("{} '{}'", is_due ? "lacks" : "may not have", member));
    return is_due;
  };
  if (is_written("given", is_by_laws || step.by == Step::By::kNode)) step.given = read.integers("given");
  if (is_written("model_nodes", is_by_laws)) step.model_nodes = read.texts("model_nodes");
  if (is_written("reference_nodes", is_by_laws)) step.reference_nodes = read.texts("reference_nodes");
  if (is_written("term", is_by_laws || step.by == Step::By::kSizes)) step.term = read.texts("term");
  if (read.has("scaled_weights")) {
    if (json["scaled_weights"] != true) read.refuse("has 'scaled_weights', which is not true");
    step.has_scaled_weights = true;
  }
  if (read.has("assumptions")) step.assumed = read.texts("assumptions");
  if (read.has("rounded") && read.array("rounded").empty()) read.refuse("has 'rounded' of nothing");
  if (read.has("rounded"))
    for (const auto& one : read.array("rounded")) {
      const Reader constant(one, fmt::format("a constant of step {}", i), where, {"type", "dims", "ulp", "bound"});
      const auto type = ir::data_type_from_name(constant.text("type"));
      if (!type) constant.refuse("has no type");
      step.rounded.push_back({*type, constant.integers("dims"), constant.number("ulp"), constant.number("bound")});
    }
  return step;
}

AlignedSize size_of(const nlohmann::json& json, const std::string& where) {
  const Reader read(json, "a size", where, {"name", "of", "number", "first", "last", "step", "needed"});
  AlignedSize size;
  if (read.has("name")) size.name = read.text("name");
  for (const auto& one : read.array("of")) {
    const Reader axis(one, "the axis of a size", where, {"input", "axis", "element"});
    const bool is_element = axis.has("element");
    const int64_t index = axis.integer(is_element ? "element" : "axis");
    if (index < 0 || (is_element && axis.has("axis"))) axis.refuse("is none");
    size.axes.push_back({axis.text("input"), static_cast<size_t>(index), is_element});
  }
  if (size.axes.empty()) read.refuse("is of no axis");
  if (read.has("number")) size.number = read.integer("number");
  if (!read.has("first")) {
    if (read.has("last") || read.has("step") || read.has("needed")) read.refuse("has no 'first'");
    return size;
  }
  size.bound = SizeBound{size.axes[0], read.integer("first"), std::nullopt, read.integer("step")};
  if (read.has("last")) size.bound->last = read.integer("last");
  if (read.has("needed") && json["needed"] != true) read.refuse("has 'needed', which is not true");
  size.bound->is_needed = read.has("needed");
  if (size.bound->step < 1 || (size.bound->last && *size.bound->last < size.bound->first))
    read.refuse("has a range of nothing");
  return size;
}

Json to_json(const QuantizedConstant& one) {
  Json json{{"name", one.name}, {"result", one.result}, {"reference", one.origin}};
  if (one.is_turned) json["turned"] = true;
  json["difference"] = one.difference;
  return json;
}

std::string line(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }

// A member, an item a line.
template <typename Items>
std::string list(std::string_view name, const Items& items) {
  std::string text = fmt::format("\"{}\": [", name);
  for (size_t i = 0; i < items.size(); ++i) text += (i == 0 ? "\n" : ",\n") + line(to_json(items[i]));
  return text + "\n]";
}

std::string lists(const Evidence& evidence) {
  return list("sizes", evidence.sizes) + ",\n" + list("steps", evidence.steps) + ",\n" +
         list("outputs", evidence.outputs);
}

void read_lists(const Reader& read, Evidence& evidence, const std::string& where) {
  for (const auto& size : read.array("sizes")) evidence.sizes.push_back(size_of(size, where));
  for (const auto& step : read.array("steps")) evidence.steps.push_back(step_of(step, evidence.steps.size(), where));
  for (const auto& one : read.array("outputs")) {
    const Reader output(one, "an output", where, {"name", "step"});
    const int64_t step = output.integer("step");
    if (step < 0) output.refuse("has no step");
    evidence.outputs.push_back({output.text("name"), static_cast<size_t>(step)});
  }
}

ButForConstants quantized_of(const nlohmann::json& json, const std::string& where) {
  const Reader read(json, "what is equal but for constants", where, {"constants", "sizes", "steps", "outputs"});
  ButForConstants made;
  for (const auto& one : read.array("constants")) {
    const Reader constant(one, "a constant that was quantized", where,
                          {"name", "result", "reference", "turned", "difference"});
    if (constant.has("turned") && one["turned"] != true) constant.refuse("has 'turned', which is not true");
    made.constants.push_back({.name = constant.text("name"),
                              .result = constant.text("result"),
                              .origin = constant.text("reference"),
                              .is_turned = constant.has("turned"),
                              .difference = constant.number("difference")});
  }
  read_lists(read, made.evidence, where);
  return made;
}

}  // namespace

std::string to_json(const EvidenceFile& evidence) {
  std::string text = fmt::format("{{\n\"schema\": {},\n\"model\": {},\n\"reference\": {},\n", kSchema,
                                 line(evidence.proven.model_hash), line(evidence.proven.reference_hash)) +
                     lists(evidence.proven);
  if (evidence.quantized)
    text += ",\n\"quantized\": {\n" + list("constants", evidence.quantized->constants) + ",\n" +
            lists(evidence.quantized->evidence) + "\n}";
  return text + "\n}\n";
}

EvidenceFile read_evidence(const std::filesystem::path& path) {
  const nlohmann::json json = read_json(path, kKind);
  const std::string where = path.string();
  const Reader read(json, "the evidence", where,
                    {"schema", "model", "reference", "sizes", "steps", "outputs", "quantized"});
  if (const int64_t schema = read.integer("schema"); schema != kSchema)
    read.refuse(fmt::format("is of schema {}", schema));
  EvidenceFile file;
  file.proven.model_hash = read.text("model");
  file.proven.reference_hash = read.text("reference");
  read_lists(read, file.proven, where);
  if (read.has("quantized")) file.quantized = quantized_of(json["quantized"], where);
  return file;
}

}  // namespace thaw::proving
