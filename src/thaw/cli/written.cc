#include "thaw/cli/written.h"

#include <fmt/format.h>

#include "thaw/report/printable.h"

namespace thaw::cli {

std::string written_text(const Written& files) {
  std::string text;
  for (const std::filesystem::path& path : files) text += fmt::format("wrote {}\n", report::printable(path.string()));
  return text;
}

void write_output_member(report::JsonWriter& json, const Written& files) {
  json.key("output");
  if (files.empty()) {
    json.null();
  } else {
    json.value(files.front().string());
  }
}

void write_files_member(report::JsonWriter& json, const Written& files) {
  json.member_array("files");
  for (const std::filesystem::path& path : files) json.value(path.string());
  json.end_array();
}

}  // namespace thaw::cli
