// What `thaw build` wrote.
#include <fmt/format.h>

#include "thaw/build.h"
#include "thaw/report/json_writer.h"
#include "thaw/report/members.h"
#include "thaw/report/printable.h"

namespace thaw {
namespace {

using report::JsonWriter;

constexpr size_t kMostUnused = 8;

}  // namespace

std::string to_json(const BuildReport& report) {
  std::string text;
  JsonWriter json(text);
  report::begin_report(json);
  json.member("model_type", report.model_type);
  json.member_array("files");
  for (const BuiltFile& file : report.files) {
    json.begin_object(JsonWriter::Layout::kLine);
    json.member("part", file.part);
    json.member("path", file.path.string());
    json.optional_member("data", file.data.string());
    json.member("nodes", file.num_nodes);
    json.member("weight_bytes", static_cast<int64_t>(file.weight_bytes));
    report::write_as_written(json, file.as_written);
    json.end_object();
  }
  json.end_array();
  json.member_array("others");
  for (const auto& path : report.others) json.value(path.string());
  json.end_array();
  if (report.refused) json.member("refused", report.refused->as_written.reason);
  report::write_texts(json, "warnings", report.warnings);
  report::write_texts(json, "untaken", report.untaken);
  report::write_texts(json, "unused", report.unused);
  json.end_object();
  return text + "\n";
}

std::string to_text(const BuildReport& report, const TextOptions&) {
  std::string text;
  for (const BuiltFile& file : report.files) {
    text += fmt::format("wrote {}  {} nodes, {:.1f} MB of weights\n", report::printable(file.path.string()),
                        file.num_nodes, static_cast<double>(file.weight_bytes) / 1e6);
    if (!file.data.empty()) text += fmt::format("wrote {}\n", report::printable(file.data.string()));
  }
  for (const auto& path : report.others) text += fmt::format("wrote {}\n", report::printable(path.string()));
  for (const BuiltFile& file : report.files) text += report::as_written_text(file.as_written);
  if (report.refused)
    text += report::as_written_text(report.refused->as_written) + "nothing was written\n";
  for (const std::string& warning : report.warnings) text += "warning: " + report::printable(warning) + "\n";
  for (const std::string& what : report.untaken) text += "the target does not take " + report::printable(what) + "\n";
  if (report.unused.empty()) return text;
  text += fmt::format("not used: {} tensors of the checkpoint\n", report.unused.size());
  for (size_t i = 0; i < report.unused.size() && i < kMostUnused; ++i)
    text += fmt::format("  {}\n", report::printable(report.unused[i]));
  if (report.unused.size() > kMostUnused) text += "  … (--format json lists them all)\n";
  return text;
}

}  // namespace thaw
