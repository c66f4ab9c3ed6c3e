#include "thaw/sensitivity/report_file.h"

#include <cmath>
#include <map>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "thaw/core/error.h"
#include "thaw/core/json_integer.h"
#include "thaw/quant/plan_file.h"
#include "thaw/quant/precisions.h"
#include "thaw/sensitivity/figures.h"

namespace thaw::measuring {
namespace {

using OrderedJson = nlohmann::ordered_json;

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
const Words<OptimizeTarget> kTargetWords{
    {"portable", OptimizeTarget::kPortable}, {"ort", OptimizeTarget::kOrt}, {"directml", OptimizeTarget::kDirectml}};

template <typename T>
std::string_view word_in(const Words<T>& words, T meaning) {
  for (const auto& [word, of] : words)
    if (of == meaning) return word;
  return "";
}

template <typename T>
T meaning_of(const Words<T>& words, const OrderedJson& word) {
  for (const auto& [known, meaning] : words)
    if (word == known) return meaning;
  throw OrderedJson::other_error::create(501, "unknown word " + word.dump(), &word);
}

OrderedJson number(double value) { return std::isfinite(value) ? OrderedJson(value) : OrderedJson(nullptr); }

// Every sample's figures, and what they come to.
OrderedJson figures_json(const std::vector<ErrorFigures>& samples, const SensitivityReport& report) {
  OrderedJson json = OrderedJson::object();
  const Estimate ranked = estimate(samples, report.metric, report.seed);
  json["mean"] = number(ranked.mean);
  json["low"] = number(ranked.low);
  json["high"] = number(ranked.high);
  for (const auto& [word, metric] : kMetricWords) json[word] = number(mean_figure(samples, metric));
  json["samples"] = OrderedJson::array();
  for (const ErrorFigures& one : samples)
    json["samples"].push_back({number(one.mse), number(one.cosine), number(one.kl), number(one.noise)});
  return json;
}

std::vector<ErrorFigures> figures_of_json(const OrderedJson& json) {
  std::vector<ErrorFigures> samples;
  const auto at = [](const OrderedJson& value) {
    return value.is_null() ? std::numeric_limits<double>::infinity() : value.get<double>();
  };
  for (const OrderedJson& one : json.at("samples"))
    samples.push_back({at(one.at(0)), at(one.at(1)), at(one.at(2)), at(one.at(3))});
  return samples;
}

OrderedJson precision_json(const PrecisionOptions& precision) {
  return OrderedJson::parse(quantizing::plan_text({.precision = precision})).at("default");
}

std::string csv_cell(std::string_view text) {
  if (text.find_first_of(",\"\r\n") == std::string_view::npos) return std::string(text);
  std::string cell = "\"";
  for (const char c : text) cell += c == '"' ? "\"\"" : std::string(1, c);
  return cell + "\"";
}

}  // namespace

std::string_view word_of(ErrorMetric metric) { return word_in(kMetricWords, metric); }
std::string_view word_of(SensitivityMode mode) { return word_in(kModeWords, mode); }
std::string_view word_of(SensitivityGroup group) { return word_in(kGroupWords, group); }
std::string_view word_of(UnitStatus status) { return word_in(kStatusWords, status); }

std::string report_json(const SensitivityReport& report) {
  OrderedJson json{{"schema", kJsonSchema},
                   {"model", report.model},
                   {"data", report.data},
                   {"fed", report.fed},
                   {"key", report.key},
                   {"model_key", report.model_key},
                   {"kept", report.kept},
                   {"metric", word_of(report.metric)},
                   {"mode", word_of(report.mode)},
                   {"group", word_of(report.group)},
                   {"target", word_in(kTargetWords, report.target)},
                   {"optimize", report.optimize},
                   {"seed", report.seed},
                   {"weights", report.weights},
                   {"measured", report.measured},
                   {"predicted", report.predicted},
                   {"failed", report.failed},
                   {"samples", report.samples},
                   {"outputs", report.outputs},
                   {"precisions", OrderedJson::array()},
                   {"all", OrderedJson::array()},
                   {"units", OrderedJson::array()}};
  for (const PrecisionOptions& precision : report.precisions) json["precisions"].push_back(precision_json(precision));
  for (size_t p = 0; p < report.all_in.size(); ++p)
    json["all"].push_back({{"to", quantizing::name_of(report.precisions[p].to)},
                           {"bytes_saved", report.all_bytes[p]},
                           {"in", figures_json(report.all_in[p], report)}});
  for (const SensitivityUnit& unit : report.units)
    json["units"].push_back({{"name", unit.name},
                             {"nodes", unit.nodes},
                             {"op", unit.op},
                             {"layer", unit.layer},
                             {"kind", unit.kind},
                             {"bytes", unit.bytes},
                             {"errors", OrderedJson::array()}});
  for (const UnitError& error : report.errors) {
    OrderedJson one{{"precision", error.precision},
                    {"to", quantizing::name_of(report.precisions[error.precision].to)},
                    {"status", word_of(error.status)}};
    if (error.status == UnitStatus::kFailed) {
      one["why"] = error.why;
    } else {
      one["bytes_saved"] = error.bytes;
      one["in"] = figures_json(error.in, report);
      if (!error.out.empty()) one["out"] = figures_json(error.out, report);
    }
    json["units"][error.unit]["errors"].push_back(std::move(one));
  }
  return json.dump(1, ' ', false, OrderedJson::error_handler_t::replace) + "\n";
}

std::string report_csv(const SensitivityReport& report) {
  std::string csv =
      "name,layer,kind,op,nodes,to,status,bytes,bytes_saved,mse,cosine,kl,sqnr,low,high,out_mse,out_cosine,out_kl,"
      "out_sqnr,why\r\n";
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

SensitivityReport parse_report(const std::string& text, const std::string& where) {
  try {
    const OrderedJson json = OrderedJson::parse(text);
    SensitivityReport report;
    report.model = json.at("model").get<std::string>();
    report.data = json.at("data").get<std::string>();
    report.fed = json.value("fed", std::vector<std::string>());
    report.key = json.at("key").get<std::string>();
    report.model_key = json.value("model_key", "");
    report.kept = json.value("kept", std::vector<std::string>());
    report.metric = meaning_of(kMetricWords, json.at("metric"));
    report.mode = meaning_of(kModeWords, json.at("mode"));
    report.group = meaning_of(kGroupWords, json.at("group"));
    report.target = meaning_of(kTargetWords, json.at("target"));
    report.optimize = json.at("optimize").get<bool>();
    report.seed = static_cast<uint64_t>(integer_at(json, "seed"));
    report.weights = static_cast<uint64_t>(integer_at(json, "weights"));
    report.samples = json.at("samples").get<std::vector<std::string>>();
    report.outputs = json.at("outputs").get<std::vector<std::string>>();
    for (const OrderedJson& precision : json.at("precisions"))
      report.precisions.push_back(quantizing::parse_precision(precision.dump(), where));
    for (const OrderedJson& all : json.at("all")) {
      report.all_bytes.push_back(integer_at(all, "bytes_saved"));
      report.all_in.push_back(figures_of_json(all.at("in")));
    }
    for (const OrderedJson& unit : json.at("units")) {
      for (const OrderedJson& one : unit.at("errors")) {
        UnitError& error = report.errors.emplace_back();
        error.unit = report.units.size();
        error.precision = static_cast<size_t>(integer_at(one, "precision"));
        error.status = meaning_of(kStatusWords, one.at("status"));
        error.why = one.value("why", "");
        error.bytes = integer_at(one, "bytes_saved", 0);
        if (one.contains("in")) error.in = figures_of_json(one.at("in"));
        if (one.contains("out")) error.out = figures_of_json(one.at("out"));
        report.measured += error.status == UnitStatus::kMeasured;
        report.predicted += error.status == UnitStatus::kPredicted;
        report.failed += error.status == UnitStatus::kFailed;
        if (error.precision >= report.precisions.size())
          throw OrderedJson::other_error::create(501, "an error's precision is none of the list", &one);
      }
      report.units.push_back({.name = unit.at("name").get<std::string>(),
                              .nodes = unit.at("nodes").get<std::vector<std::string>>(),
                              .op = unit.at("op").get<std::string>(),
                              .layer = unit.at("layer").get<std::string>(),
                              .kind = unit.at("kind").get<std::string>(),
                              .bytes = static_cast<uint64_t>(integer_at(unit, "bytes"))});
    }
    return report;
  } catch (const OrderedJson::exception& wrong) {
    throw Error(ErrorCode::kInvalidFile, {.what = fmt::format("this is no report of sensitivity: {}", wrong.what()),
                                          .where = where,
                                          .expected = "report.json as `thaw sensitivity` writes it"});
  }
}

}  // namespace thaw::measuring
