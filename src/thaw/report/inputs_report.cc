// What `thaw inputs` made of images, clips and recordings.
#include <fmt/format.h>

#include "thaw/inputs.h"
#include "thaw/report/json_writer.h"
#include "thaw/report/members.h"
#include "thaw/report/printable.h"
#include "thaw/run/array.h"
#include "thaw/run/summary.h"

namespace thaw {
namespace {

using report::JsonWriter;

std::string size_text(const ImageSize& size) { return fmt::format("{} x {}", size.width, size.height); }

std::string file_text(const PreparedFile& file) {
  std::string text = report::printable(file.name) + "  ";
  if (file.to.width > 0) {
    text += size_text(file.from);
    if (file.to != file.from) text += " -> " + size_text(file.to);
    if (file.frames > 0) text += fmt::format(", {}", report::counted(static_cast<uint64_t>(file.frames), "frame"));
  } else {
    text += fmt::format("{:.2f} s, {}", file.seconds, report::counted(static_cast<uint64_t>(file.frames), "frame"));
  }
  if (file.tokens > 0) text += fmt::format(", {}", report::counted(static_cast<uint64_t>(file.tokens), "token"));
  return text + "\n";
}

void write_size(JsonWriter& json, std::string_view name, const ImageSize& size) {
  json.member_object(name);
  json.member("width", size.width);
  json.member("height", size.height);
  json.end_object();
}

}  // namespace

std::string to_text(const PreparedInputs& made, const TextOptions&) {
  std::string text;
  for (const PreparedFile& file : made.files) text += file_text(file);
  for (const auto& [name, array] : made.arrays) {
    text += fmt::format("{}  {}{}\n", report::printable(name), run::describe(array),
                        report::range_text(run::summarize(array)));
  }
  for (const std::string& warning : made.warnings) text += fmt::format("warning: {}\n", report::printable(warning));
  return made.output.empty() ? text : text + fmt::format("wrote {}\n", report::printable(made.output));
}

std::string to_json(const PreparedInputs& made) {
  std::string text;
  JsonWriter json(text);
  report::begin_report(json);
  json.member_array("sources");
  for (const PreparedFile& file : made.files) {
    json.begin_object(JsonWriter::Layout::kLine);
    json.member("file", file.name);
    if (file.to.width > 0) {
      write_size(json, "size_before", file.from);
      write_size(json, "size_after", file.to);
    } else {
      json.member("seconds", file.seconds);
    }
    if (file.frames > 0) json.member("frames", file.frames);
    if (file.tokens > 0) json.member("tokens", file.tokens);
    json.end_object();
  }
  json.end_array();
  json.member_array("arrays");
  for (const auto& [name, array] : made.arrays) {
    json.begin_object(JsonWriter::Layout::kLine);
    report::write_array_type(json, name, array);
    report::write_range(json, run::summarize(array));
    json.end_object();
  }
  json.end_array();
  report::write_output_member(json, made.output);
  report::write_texts(json, "warnings", made.warnings);
  json.end_object();
  return text + "\n";
}

}  // namespace thaw
