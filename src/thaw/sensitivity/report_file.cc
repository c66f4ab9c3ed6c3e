#include "thaw/sensitivity/report_file.h"

#include <array>
#include <cmath>
#include <limits>
#include <optional>
#include <set>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "thaw/core/error.h"
#include "thaw/core/json_file.h"
#include "thaw/core/printable.h"
#include "thaw/ops/target/target.h"
#include "thaw/optimize/optimize.h"
#include "thaw/quant/plan_file.h"
#include "thaw/quant/precisions.h"
#include "thaw/sensitivity/assign.h"
#include "thaw/sensitivity/figures.h"

namespace thaw::measuring {
namespace {

using Json = nlohmann::json;
using OrderedJson = nlohmann::ordered_json;

constexpr JsonKind kKind{.expected = "report.json as `thaw sensitivity` writes it",
                         .next = "run `thaw sensitivity` again"};

template <typename T>
using Words = std::vector<std::pair<std::string_view, T>>;

const Words<ErrorMetric> kMetricWords{{"mse", ErrorMetric::kMse},
                                      {"cosine", ErrorMetric::kCosine},
                                      {"kl", ErrorMetric::kKl},
                                      {"sqnr", ErrorMetric::kSqnr}};
const Words<SensitivityMode> kModeWords{{"exact", SensitivityMode::kExact}, {"fast", SensitivityMode::kFast}};
const Words<SensitivityGroup> kGroupWords{{"node", SensitivityGroup::kNode},
                                          {"attention", SensitivityGroup::kAttention},
                                          {"layer", SensitivityGroup::kLayer}};
const Words<UnitStatus> kStatusWords{
    {"measured", UnitStatus::kMeasured}, {"predicted", UnitStatus::kPredicted}, {"failed", UnitStatus::kFailed}};

template <typename T>
std::string_view word_in(const Words<T>& words, T meaning) {
  for (const auto& [word, of] : words)
    if (of == meaning) return word;
  return "";
}

// A value of the report that is read, with the location that messages name.
class Reader {
 public:
  Reader(const Json& json, std::string file, std::string path = {})
      : json_(json), file_(std::move(file)), path_(std::move(path)) {}

  [[noreturn]] void refuse(std::string what) const {
    refuse_json(std::move(what), path_.empty() ? file_ : fmt::format("{}, {}", file_, path_), kKind);
  }
  bool has(const char* key) const { return json_.is_object() && json_.contains(key); }
  const Json& json() const { return json_; }

  Reader at(const char* key) const {
    if (!has(key)) refuse(fmt::format("'{}' is missing", key));
    return {json_.at(key), file_, path_.empty() ? key : fmt::format("{}.{}", path_, key)};
  }
  std::vector<Reader> list() const {
    if (!json_.is_array()) refuse("it is no list");
    std::vector<Reader> entries;
    for (size_t i = 0; i < json_.size(); ++i) entries.emplace_back(json_[i], file_, fmt::format("{}[{}]", path_, i));
    return entries;
  }
  std::string text() const {
    if (!json_.is_string()) refuse(fmt::format("it is {}, no text", short_text(json_)));
    return json_.get<std::string>();
  }
  std::string text_at(const char* key) const { return has(key) ? at(key).text() : ""; }
  std::vector<std::string> texts() const {
    std::vector<std::string> found;
    for (const Reader& entry : list()) found.push_back(entry.text());
    return found;
  }
  std::vector<std::string> texts_at(const char* key) const {
    return has(key) ? at(key).texts() : std::vector<std::string>();
  }
  bool boolean() const {
    if (!json_.is_boolean()) refuse(fmt::format("it is {}, neither true nor false", short_text(json_)));
    return json_.get<bool>();
  }
  int64_t integer() const {
    const std::optional<int64_t> number = integer_of(json_);
    if (!number) refuse(fmt::format("it is {}, no integer", short_text(json_)));
    return *number;
  }
  uint64_t natural() const {
    if (!json_.is_number_unsigned()) refuse(fmt::format("it is {}, no integer of 0 or more", short_text(json_)));
    return json_.get<uint64_t>();
  }
  uint64_t bytes() const {
    if (natural() > static_cast<uint64_t>(std::numeric_limits<int64_t>::max()))
      refuse(fmt::format("it is {}, more than any file holds", natural()));
    return natural();
  }
  // Negative where there are more of them afterwards.
  int64_t saved_of(uint64_t bytes) const {
    const int64_t saved = integer();
    if (saved > static_cast<int64_t>(bytes))
      refuse(fmt::format("it is {}, and all weights have {} bytes", saved, bytes));
    return saved;
  }
  // Of a list of as many as `size`.
  size_t index(size_t size) const {
    if (natural() >= size) refuse(fmt::format("it is {}, and there are {}", natural(), size));
    return static_cast<size_t>(natural());
  }
  // Null stands for an infinite one.
  double figure() const {
    if (json_.is_null()) return std::numeric_limits<double>::infinity();
    if (!json_.is_number() || !is_error_figure(json_.get<double>()))
      refuse(fmt::format("it is {}, no figure of an error", short_text(json_)));
    return json_.get<double>();
  }
  template <typename T>
  T one_of(const Words<T>& words) const {
    for (const auto& [known, meaning] : words)
      if (json_ == known) return meaning;
    refuse(fmt::format("it is {}", short_text(json_)));
  }

 private:
  const Json& json_;
  std::string file_, path_;
};

OrderedJson number(double value) { return std::isfinite(value) ? OrderedJson(value) : OrderedJson(nullptr); }

// What one sample's figures are called; `nsr`: noise to signal.
constexpr std::array<std::pair<const char*, double ErrorFigures::*>, 4> kSampleKeys{{{"mse", &ErrorFigures::mse},
                                                                                     {"cosine", &ErrorFigures::cosine},
                                                                                     {"kl", &ErrorFigures::kl},
                                                                                     {"nsr", &ErrorFigures::noise}}};

// Every sample's figures, and what they come to.
OrderedJson figures_json(const std::vector<ErrorFigures>& samples, const SensitivityReport& report) {
  OrderedJson json = OrderedJson::object();
  const Estimate ranked = estimate(samples, report.metric, report.seed);
  json["mean"] = number(ranked.mean);
  json["ci95_low"] = number(ranked.low);
  json["ci95_high"] = number(ranked.high);
  for (const auto& [word, metric] : kMetricWords) json[key_of(metric)] = number(mean_figure(samples, metric));
  for (const auto& [key, figure] : kSampleKeys) {
    OrderedJson& column = json["samples"][key] = OrderedJson::array();
    for (const ErrorFigures& one : samples) column.push_back(number(one.*figure));
  }
  return json;
}

std::vector<ErrorFigures> read_figures(const Reader& of, size_t samples) {
  const Reader columns = of.at("samples");
  std::vector<ErrorFigures> figures;
  for (const auto& [key, figure] : kSampleKeys) {
    const std::vector<Reader> column = columns.at(key).list();
    if (column.size() > samples)
      of.refuse(fmt::format("there are figures of {} samples, and {} samples", column.size(), samples));
    if (key == kSampleKeys.front().first) figures.resize(column.size());
    if (column.size() != figures.size())
      columns.refuse(fmt::format("'{}' holds {} figures, and '{}' {}", key, column.size(), kSampleKeys.front().first,
                                 figures.size()));
    for (size_t i = 0; i < column.size(); ++i) figures[i].*figure = column[i].figure();
  }
  return figures;
}

OrderedJson runtime_json(const Runtime& runtime) {
  OrderedJson json{{"onnxruntime", runtime.version}, {"providers", OrderedJson::array()}};
  for (const UsedProvider& provider : runtime.providers) {
    OrderedJson one{{"name", provider.name}};
    if (!provider.device.empty()) one["device"] = provider.device;
    if (!provider.options.empty()) one["options"] = provider.options;
    json["providers"].push_back(std::move(one));
  }
  return json;
}

Runtime read_runtime(const Reader& of) {
  Runtime runtime{.version = of.at("onnxruntime").text(), .providers = {}};
  for (const Reader& one : of.at("providers").list()) {
    UsedProvider& provider = runtime.providers.emplace_back();
    provider.name = one.at("name").text();
    provider.device = one.text_at("device");
    if (!one.has("options")) continue;
    const Reader options = one.at("options");
    for (const auto& [name, value] : options.json().items())
      provider.options.emplace(name, options.at(name.c_str()).text());
  }
  return runtime;
}

OrderedJson prompts_json(const PromptOptions& prompts) {
  OrderedJson json{{"checkpoint", prompts.checkpoint.string()},
                   {"files", OrderedJson::array()},
                   {"prompts", prompts.prompts},
                   {"tokens", prompts.tokens},
                   {"answer_tokens", prompts.answer_tokens}};
  for (const std::filesystem::path& file : prompts.files) json["files"].push_back(file.string());
  json["files_per_prompt"] = prompts.files_per_prompt;
  json["clips"] = OrderedJson::array();
  for (const std::vector<std::filesystem::path>& frames : prompts.clips) {
    OrderedJson& clip = json["clips"].emplace_back(OrderedJson::array());
    for (const std::filesystem::path& frame : frames) clip.push_back(frame.string());
  }
  if (prompts.frame_rate) json["frame_rate"] = *prompts.frame_rate;
  return json;
}

PromptOptions read_prompts(const Reader& of) {
  PromptOptions prompts{.checkpoint = of.at("checkpoint").text(), .files = {}, .prompts = of.at("prompts").texts()};
  for (const std::string& file : of.at("files").texts()) prompts.files.emplace_back(file);
  for (const Reader& tokens : of.at("tokens").list()) {
    prompts.tokens.emplace_back();
    for (const Reader& token : tokens.list()) prompts.tokens.back().push_back(token.integer());
  }
  prompts.answer_tokens = of.at("answer_tokens").integer();
  // Reports of earlier versions have none of these.
  if (of.has("files_per_prompt")) prompts.files_per_prompt = of.at("files_per_prompt").integer();
  if (of.has("clips"))
    for (const Reader& clip : of.at("clips").list()) {
      std::vector<std::filesystem::path>& frames = prompts.clips.emplace_back();
      for (const std::string& frame : clip.texts()) frames.emplace_back(frame);
    }
  if (of.has("frame_rate")) prompts.frame_rate = of.at("frame_rate").figure();
  return prompts;
}

void read_target(const Reader& of, SensitivityReport& report) {
  const std::string name = of.text();
  if (!ops::find_target(name)) of.refuse(fmt::format("it is {}", short_text(of.json())));
  OptimizeOptions chosen;
  set_target(name, chosen);
  report.target = chosen.target;
  report.backend = chosen.backend;
}

OrderedJson precision_json(const PrecisionOptions& precision) {
  return OrderedJson::parse(quantizing::plan_text({.precision = precision})).at("default");
}

// A text that begins as a formula would be worked out by a spreadsheet (CWE-1236): a quote before it makes it a text.
std::string csv_cell(std::string_view name) {
  std::string text = printable(name);
  const bool is_formula = !text.empty() && std::string_view("=+-@").find(text.front()) != std::string_view::npos;
  if (!is_formula && text.find_first_of(",\"") == std::string_view::npos) return text;
  std::string cell = is_formula ? "\"'" : "\"";
  for (const char c : text) cell += c == '"' ? "\"\"" : std::string(1, c);
  return cell + "\"";
}

}  // namespace

std::string_view word_of(ErrorMetric metric) { return word_in(kMetricWords, metric); }
std::string_view key_of(ErrorMetric metric) { return metric == ErrorMetric::kSqnr ? "sqnr_db" : word_of(metric); }
std::string_view word_of(SensitivityMode mode) { return word_in(kModeWords, mode); }
std::string_view word_of(SensitivityGroup group) { return word_in(kGroupWords, group); }
std::string_view word_of(UnitStatus status) { return word_in(kStatusWords, status); }

std::string report_json(const SensitivityReport& report) {
  OrderedJson json{{"schema", kJsonSchema},
                   {"model", report.model},
                   {"data", report.data},
                   {"preprocessing", report.preprocessing},
                   {"parts", report.parts},
                   {"run_key", report.run_key},
                   {"model_key", report.model_key},
                   {"excluded_nodes", report.excluded_nodes},
                   {"metric", word_of(report.metric)},
                   {"mode", word_of(report.mode)},
                   {"group", word_of(report.group)},
                   {"target", optimizing::backend_of(report.target, report.backend, "sensitivity").name},
                   {"optimize", report.optimize},
                   {"seed", report.seed},
                   {"weight_bytes", report.weight_bytes},
                   {"measured", report.measured},
                   {"predicted", report.predicted},
                   {"failed", report.failed},
                   {"samples", report.samples},
                   {"outputs", report.outputs},
                   {"precisions", OrderedJson::array()},
                   {"uniform", OrderedJson::array()},
                   {"units", OrderedJson::array()}};
  if (!report.parts.empty()) json["prompts"] = prompts_json(report.prompts);
  if (!report.runtime.version.empty()) json["runtime"] = runtime_json(report.runtime);
  for (const PrecisionOptions& precision : report.precisions) json["precisions"].push_back(precision_json(precision));
  for (size_t p = 0; p < report.uniform_errors.size(); ++p)
    json["uniform"].push_back({{"to", quantizing::name_of(report.precisions[p].to)},
                               {"bytes_saved", report.uniform_bytes_saved[p]},
                               {"error", figures_json(report.uniform_errors[p], report)}});
  for (size_t p = 0; p < std::min(report.computed_in_float32.size(), json["uniform"].size()); ++p)
    if (const std::vector<std::string>& nodes = report.computed_in_float32[p]; !nodes.empty())
      json["uniform"][p]["computed_in_float32"] = nodes;
  for (const SensitivityUnit& unit : report.units)
    json["units"].push_back({{"name", unit.name},
                             {"nodes", unit.nodes},
                             {"op", unit.op},
                             {"layer", unit.layer},
                             {"kind", unit.kind},
                             {"weight_bytes", unit.bytes},
                             {"errors", OrderedJson::array()}});
  for (const UnitError& error : report.errors) {
    OrderedJson one{{"precision", error.precision},
                    {"to", quantizing::name_of(report.precisions[error.precision].to)},
                    {"status", word_of(error.status)}};
    if (error.status == UnitStatus::kFailed) {
      one["message"] = error.why;
    } else {
      one["bytes_saved"] = error.bytes;
      one["one_at_a_time"] = figures_json(error.in, report);
      if (!error.out.empty()) one["leave_one_out"] = figures_json(error.out, report);
    }
    json["units"][error.unit]["errors"].push_back(std::move(one));
  }
  return with_json_escapes(json.dump(1, ' ', false, OrderedJson::error_handler_t::replace)) + "\n";
}

std::string report_csv(const SensitivityReport& report) {
  std::string csv =
      "name,layer,kind,op,nodes,to,status,weight_bytes,bytes_saved,mse,cosine,kl,sqnr_db,ci95_low,ci95_high,"
      "leave_one_out_mse,leave_one_out_cosine,leave_one_out_kl,leave_one_out_sqnr_db,message\r\n";
  const auto add_figures = [&](const std::vector<ErrorFigures>& samples) {
    for (const auto& [word, metric] : kMetricWords)
      csv += samples.empty() ? "," : fmt::format(",{}", mean_figure(samples, metric));
  };
  for (const UnitError& error : report.errors) {
    const SensitivityUnit& unit = report.units[error.unit];
    csv += fmt::format("{},{},{},{},{},{},{},{},{}", csv_cell(unit.name), csv_cell(unit.layer), csv_cell(unit.kind),
                       csv_cell(unit.op), unit.nodes.size(), quantizing::name_of(report.precisions[error.precision].to),
                       word_of(error.status), unit.bytes, error.bytes);
    add_figures(error.in);
    const Estimate ranked = estimate(error.in, report.metric, report.seed);
    csv += error.in.empty() ? ",," : fmt::format(",{},{}", ranked.low, ranked.high);
    add_figures(error.out);
    csv += "," + csv_cell(error.why) + "\r\n";
  }
  return csv;
}

SensitivityReport parse_report(std::string_view text, const std::string& where) {
  const Json json = parse_json(text, where, kKind);
  const Reader whole(json, where);
  if (const int64_t schema = whole.at("schema").integer(); schema != kJsonSchema)
    whole.refuse(fmt::format("it is of schema {}, and this version of Thaw reads {}", schema, kJsonSchema));
  SensitivityReport report;
  report.model = whole.at("model").text();
  report.data = whole.at("data").text();
  report.preprocessing = whole.texts_at("preprocessing");
  report.parts = whole.texts_at("parts");
  if (!report.parts.empty()) report.prompts = read_prompts(whole.at("prompts"));
  report.run_key = whole.at("run_key").text();
  report.model_key = whole.text_at("model_key");
  report.excluded_nodes = whole.texts_at("excluded_nodes");
  report.metric = whole.at("metric").one_of(kMetricWords);
  report.mode = whole.at("mode").one_of(kModeWords);
  report.group = whole.at("group").one_of(kGroupWords);
  read_target(whole.at("target"), report);
  report.optimize = whole.at("optimize").boolean();
  report.seed = whole.at("seed").natural();
  report.weight_bytes = whole.at("weight_bytes").bytes();
  report.samples = whole.at("samples").texts();
  report.outputs = whole.at("outputs").texts();
  if (whole.has("runtime")) report.runtime = read_runtime(whole.at("runtime"));
  const auto figures = [&](const Reader& of) { return read_figures(of, report.samples.size()); };
  const Reader precisions = whole.at("precisions");
  if (const size_t count = precisions.list().size(); count > kMostChoices)
    precisions.refuse(fmt::format("there are {} of them, and {} at most", count, kMostChoices));
  for (const Reader& precision : precisions.list())
    report.precisions.push_back(quantizing::parse_precision(precision.json(), where));
  const Reader all = whole.at("uniform");
  for (const Reader& one : all.list()) {
    report.uniform_bytes_saved.push_back(one.at("bytes_saved").saved_of(report.weight_bytes));
    report.uniform_errors.push_back(figures(one.at("error")));
    report.computed_in_float32.push_back(one.texts_at("computed_in_float32"));
  }
  if (report.uniform_errors.size() != report.precisions.size())
    all.refuse(
        fmt::format("there are {} of them, and {} precisions", report.uniform_errors.size(), report.precisions.size()));
  for (const Reader& unit : whole.at("units").list()) {
    std::set<size_t> seen;
    for (const Reader& one : unit.at("errors").list()) {
      UnitError& error = report.errors.emplace_back();
      error.unit = report.units.size();
      error.precision = one.at("precision").index(report.precisions.size());
      if (!seen.insert(error.precision).second) one.refuse("its precision is listed twice");
      error.status = one.at("status").one_of(kStatusWords);
      error.why = one.text_at("message");
      if (one.has("bytes_saved")) error.bytes = one.at("bytes_saved").saved_of(report.weight_bytes);
      if (error.status != UnitStatus::kFailed || one.has("one_at_a_time")) error.in = figures(one.at("one_at_a_time"));
      if (one.has("leave_one_out")) error.out = figures(one.at("leave_one_out"));
      report.measured += error.status == UnitStatus::kMeasured;
      report.predicted += error.status == UnitStatus::kPredicted;
      report.failed += error.status == UnitStatus::kFailed;
    }
    report.units.push_back({.name = unit.at("name").text(),
                            .nodes = unit.at("nodes").texts(),
                            .op = unit.at("op").text(),
                            .layer = unit.at("layer").text(),
                            .kind = unit.at("kind").text(),
                            .bytes = unit.at("weight_bytes").bytes()});
  }
  return report;
}

}  // namespace thaw::measuring
