// What came out of a model, and what a folder of models generated.
#include <fmt/format.h>

#include "thaw/generate.h"
#include "thaw/report/json_writer.h"
#include "thaw/report/members.h"
#include "thaw/report/placement.h"
#include "thaw/report/printable.h"
#include "thaw/run.h"
#include "thaw/run/array.h"
#include "thaw/run/summary.h"
#include "thaw/run/sweep.h"

namespace thaw {
namespace {

using report::JsonWriter;

void write_summary(JsonWriter& json, const std::string& name, const Array& array) {
  json.begin_object(JsonWriter::Layout::kLine);
  report::write_array_type(json, name, array);
  const run::Summary summary = run::summarize(array);
  report::write_range(json, summary);
  if (summary.mean) json.member("mean", *summary.mean);
  json.member("nans", summary.nans);
  json.member("infinities", summary.infinities);
  json.end_object();
}

double per_second(const Generated& made) {
  const double rest = made.seconds - made.seconds_to_first_token;
  return made.tokens.size() < 2 || rest <= 0 ? 0 : static_cast<double>(made.tokens.size() - 1) / rest;
}

}  // namespace

std::string to_text(const RunReport& report, const TextOptions& how) {
  size_t name_width = 6, type_width = 4;
  for (const std::string& name : report.order) {
    name_width = std::max(name_width, report::width_of(report::printable(name)));
    type_width = std::max(type_width, run::describe(report.outputs.at(name)).size());
  }
  std::string text;
  for (const std::string& name : report.order) {
    const Array& array = report.outputs.at(name);
    const run::Summary summary = run::summarize(array);
    const std::string shown = report::printable(name);
    text += shown + std::string(name_width - report::width_of(shown) + 2, ' ');
    text += fmt::format("{:<{}}", run::describe(array), type_width);
    text += report::range_text(summary);
    if (summary.mean) text += fmt::format("  mean {:.6g}", *summary.mean);
    if (summary.nans > 0) text += fmt::format("  {} NaN", summary.nans);
    if (summary.infinities > 0) text += fmt::format("  {} infinite", summary.infinities);
    text += "\n";
  }
  for (const std::string& warning : report.warnings)
    text += "warning: ONNX Runtime: " + report::printable(warning) + "\n";
  if (!report.sizes.empty()) text += "chosen sizes: " + run::describe(run::Point{report.sizes}) + "\n";
  text += fmt::format("ran in {:.3g} s", report.seconds);
  if (const std::string runtime = report::runtime_text(report.runtime); !runtime.empty()) text += " on " + runtime;
  if (!report.output.empty()) text += ", written to " + report::printable(report.output);
  text += "\n";
  if (report.placement) text += "\n" + report::placement_text(*report.placement, how);
  return text;
}

std::string to_json(const RunReport& report) {
  std::string text;
  JsonWriter json(text);
  report::begin_report(json);
  json.member("model", report.model);
  json.member_array("inputs");
  for (const auto& [name, array] : report.inputs) write_summary(json, name, array);
  json.end_array();
  json.member_array("outputs");
  for (const std::string& name : report.order) write_summary(json, name, report.outputs.at(name));
  json.end_array();
  if (!report.sizes.empty()) report::write_map(json, "sizes", report.sizes);
  json.member("seconds", report.seconds);
  report::write_runtime(json, "runtime", report.runtime);
  if (report.placement) report::write_placement(json, *report.placement);
  report::write_output_member(json, report.output);
  report::write_texts(json, "warnings", report.warnings);
  json.end_object();
  return text + "\n";
}

// "24 tokens after 310 of the prompt: the first in 0.52 s, then 31.2 a second; 0.08 of the recording's time"
std::string to_text(const Generated& made, const TextOptions&) {
  std::string text =
      fmt::format("{} after {} of the prompt, the first in {:.2f} s", report::counted(made.tokens.size(), "token"),
                  made.prompt_tokens, made.seconds_to_first_token);
  if (const double rate = per_second(made); rate > 0) text += fmt::format(", then {:.1f} a second", rate);
  if (made.audio_seconds > 0)
    text += fmt::format("; {:.3f} of the recording's {:.1f} s", made.seconds / made.audio_seconds, made.audio_seconds);
  if (!made.has_ended) text += "; stopped by --max-new-tokens";
  return text + "\n";
}

std::string to_json(const Generated& made) {
  std::string text;
  JsonWriter json(text);
  report::begin_report(json);
  json.member("text", made.text);
  json.member_array("tokens");
  for (const int64_t token : made.tokens) json.value(token);
  json.end_array();
  json.member("finish_reason", made.has_ended ? "stop" : "length");
  json.member("prompt_tokens", made.prompt_tokens);
  json.member("seconds", made.seconds);
  json.member("seconds_to_first_token", made.seconds_to_first_token);
  json.member("tokens_per_second", per_second(made));
  if (made.audio_seconds > 0) json.member("real_time_factor", made.seconds / made.audio_seconds);
  json.end_object();
  return text + "\n";
}

}  // namespace thaw
