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

Files all_files(const BuildReport& report) {
  Files files;
  for (const BuiltFile& file : report.files) {
    files.push_back(file.path);
    if (!file.data.empty()) files.push_back(file.data);
  }
  files.insert(files.end(), report.other_files.begin(), report.other_files.end());
  return files;
}

}  // namespace

std::string to_json(const BuildReport& report) {
  std::string text;
  JsonWriter json(text);
  report::begin_report(json);
  json.member("model_type", report.model_type);
  json.member("accepted", report.accepted());
  json.member_array("parts");
  for (const BuiltFile& file : report.files) {
    json.begin_object(JsonWriter::Layout::kLine);
    json.member("name", file.part);
    json.member("model", file.path.string());
    json.optional_member("data_file", file.data.string());
    json.member("nodes", file.num_nodes);
    json.member("weight_bytes", static_cast<int64_t>(file.weight_bytes));
    report::write_load_check(json, file.load_check);
    json.end_object();
  }
  json.end_array();
  report::write_files_member(json, all_files(report));
  if (report.refused) {
    json.member_object("failed_part", JsonWriter::Layout::kLine);
    json.member("name", report.refused->part);
    json.member("message", report.refused->load_check.message);
    json.end_object();
  }
  report::write_texts(json, "warnings", report.warnings);
  report::write_texts(json, "unsupported", report.unsupported);
  report::write_texts(json, "unused_tensors", report.unused_tensors);
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
  for (const auto& path : report.other_files) text += fmt::format("wrote {}\n", report::printable(path.string()));
  for (const BuiltFile& file : report.files) text += report::load_check_text(file.load_check);
  if (report.refused) text += report::load_check_text(report.refused->load_check) + "nothing was written\n";
  for (const std::string& warning : report.warnings) text += "warning: " + report::printable(warning) + "\n";
  for (const std::string& what : report.unsupported)
    text += "unsupported by the target: " + report::printable(what) + "\n";
  if (report.unused_tensors.empty()) return text;
  text += fmt::format("unused tensors of the checkpoint: {}\n", report.unused_tensors.size());
  for (size_t i = 0; i < report.unused_tensors.size() && i < kMostUnused; ++i)
    text += fmt::format("  {}\n", report::printable(report.unused_tensors[i]));
  if (report.unused_tensors.size() > kMostUnused) text += "  … (--format json lists them all)\n";
  return text;
}

}  // namespace thaw
