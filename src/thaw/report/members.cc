#include "thaw/report/members.h"

#include <cmath>

#include <fmt/format.h>

#include "thaw/report/printable.h"
#include "thaw/run/providers.h"

namespace thaw::report {

void begin_report(JsonWriter& json) {
  json.begin_object();
  json.member("schema", kJsonSchema);
}

void write_output_member(JsonWriter& json, std::string_view path) {
  json.key("output");
  if (path.empty()) {
    json.null();
  } else {
    json.value(path);
  }
}

void write_output_member(JsonWriter& json, const Files& files) {
  write_output_member(json, files.empty() ? std::string() : files.front().string());
}

void write_files_member(JsonWriter& json, const Files& files) {
  json.member_array("files");
  for (const std::filesystem::path& path : files) json.value(path.string());
  json.end_array();
}

std::string_view word_of_result(bool is_accepted, const Files& files) {
  return !is_accepted ? "not written" : files.empty() ? "accepted" : "written";
}

std::string written_text(const Files& files) {
  if (files.empty()) return "dry run; nothing was written\n";
  std::string text;
  for (const std::filesystem::path& path : files) text += fmt::format("wrote {}\n", printable(path.string()));
  return text;
}

namespace {

std::string_view word_of(LoadCheck::Status outcome) {
  switch (outcome) {
    case LoadCheck::Status::kNone:
      return "none";
    case LoadCheck::Status::kLoaded:
      return "loaded";
    case LoadCheck::Status::kRan:
      return "ran";
    case LoadCheck::Status::kSkipped:
      return "skipped";
    case LoadCheck::Status::kFailed:
      return "failed";
  }
  return {};
}

}  // namespace

void write_load_check(JsonWriter& json, const LoadCheck& load_check) {
  json.member_object("load_check", JsonWriter::Layout::kLine);
  json.member("status", word_of(load_check.status));
  json.optional_member("message", load_check.message);
  json.end_object();
}

std::string load_check_text(const LoadCheck& load_check) {
  if (load_check.has_failed()) return fmt::format("error: {}\n", printable(load_check.message));
  if (load_check.message.empty()) return {};
  const bool is_loaded = load_check.status == LoadCheck::Status::kLoaded;
  return fmt::format("warning: {}{}\n", is_loaded ? "" : "not loaded in ONNX Runtime: ", printable(load_check.message));
}

void add_load_check(HtmlPage& page, const LoadCheck& load_check) {
  page.sentence(fmt::format("ONNX Runtime: {}{}{}.", word_of(load_check.status), load_check.message.empty() ? "" : "; ",
                            load_check.message));
}

void write_runtime(JsonWriter& json, std::string_view name, const Runtime& runtime) {
  json.member_object(name);
  json.member("onnxruntime", runtime.version);
  json.member_array("providers");
  for (const UsedProvider& provider : runtime.providers) {
    json.begin_object(JsonWriter::Layout::kLine);
    json.member("name", provider.name);
    json.optional_member("device", provider.device);
    if (!provider.options.empty()) write_map(json, "options", provider.options, JsonWriter::Layout::kLine);
    json.end_object();
  }
  json.end_array();
  json.end_object();
}

void write_ran_on(JsonWriter& json, const Runtime& runtime) {
  if (!runtime.version.empty()) write_runtime(json, "runtime", runtime);
}

std::string where_it_ran(const Runtime& runtime) { return printable(run::describe(runtime)); }

std::string runtime_text(const Runtime& runtime) { return runtime.providers.empty() ? "" : where_it_ran(runtime); }

std::string ran_on_text(const Runtime& runtime) {
  const std::string where = runtime_text(runtime);
  return where.empty() ? where : "ran on " + where + "\n";
}

void add_ran_on(HtmlPage& page, const Runtime& runtime) {
  if (!runtime.version.empty()) page.sentence(fmt::format("Ran on {}.", where_it_ran(runtime)));
}

void write_texts(JsonWriter& json, std::string_view name, std::span<const std::string> texts) {
  json.member_array(name);
  for (const std::string& text : texts) json.value(text);
  json.end_array();
}

void write_array_type(JsonWriter& json, std::string_view name, const Array& array) {
  json.member("name", name);
  json.member("dtype", name_of(array.dtype));
  json.member_array("dims");
  for (const int64_t dim : array.dims) json.value(dim);
  json.end_array();
}

void write_range(JsonWriter& json, const run::Summary& summary) {
  if (!summary.lowest) return;
  json.member("min", *summary.lowest);
  json.member("max", *summary.highest);
}

std::string range_text(const run::Summary& summary) {
  return summary.lowest ? fmt::format("  min {:.6g}  max {:.6g}", *summary.lowest, *summary.highest) : std::string();
}

void write_location(JsonWriter& json, const Location& location) {
  json.member_object("location", JsonWriter::Layout::kLine);
  json.optional_member("node", location.node);
  json.optional_member("op", location.op);
  json.optional_member("tensor", location.tensor);
  json.optional_member("graph", location.graph);
  json.end_object();
}

void write_error(JsonWriter& json, const Error& error) {
  const ErrorParts& parts = error.parts();
  json.member_object("error");
  json.member("code", name_of(error.code()));
  json.member("what", parts.what);
  json.member("where", parts.where);
  json.member("expected", parts.expected);
  json.member("next", parts.next);
  json.end_object();
}

std::string bytes_text(double bytes) {
  constexpr double kMega = 1e6, kKilo = 1e3;
  return std::abs(bytes) < kMega ? fmt::format("{:.1f} kB", bytes / kKilo) : fmt::format("{:.1f} MB", bytes / kMega);
}

std::string megabytes_text(uint64_t bytes) { return fmt::format("{:.2f} MB", static_cast<double>(bytes) / 1e6); }

std::string before_after_text(const BeforeAfter& counts) {
  return fmt::format("nodes: {} -> {}\nconstants: {} -> {}\n", counts.nodes_before, counts.nodes_after,
                     megabytes_text(counts.bytes_before), megabytes_text(counts.bytes_after));
}

void write_before_after(JsonWriter& json, const BeforeAfter& counts) {
  json.member("nodes_before", static_cast<int64_t>(counts.nodes_before));
  json.member("nodes_after", static_cast<int64_t>(counts.nodes_after));
  json.member("weight_bytes_before", static_cast<int64_t>(counts.bytes_before));
  json.member("weight_bytes_after", static_cast<int64_t>(counts.bytes_after));
}

void add_before_after(HtmlPage& page, const BeforeAfter& counts) {
  page.table({"", "before", "after"},
             {{HtmlCell::text("nodes"), HtmlCell::count(counts.nodes_before), HtmlCell::count(counts.nodes_after)},
              {HtmlCell::text("constants, bytes"), HtmlCell::count(counts.bytes_before),
               HtmlCell::count(counts.bytes_after)}});
}

}  // namespace thaw::report

namespace thaw {

std::string to_json(const Error& error) {
  std::string text;
  report::JsonWriter json(text);
  report::begin_report(json);
  report::write_error(json, error);
  json.end_object();
  return text + "\n";
}

}  // namespace thaw
