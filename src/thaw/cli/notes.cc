#include "thaw/cli/notes.h"

#include <fmt/format.h>

#include "thaw/report/printable.h"

namespace thaw::cli {

constexpr size_t kMostShown = 12;

void write_notes(report::JsonWriter& json, std::string_view name, const std::vector<NoteView>& notes) {
  json.member_array(name);
  for (const NoteView& note : notes) {
    json.begin_object(report::JsonWriter::Layout::kLine);
    json.optional_member("code", note.code);
    json.member("where", note.where);
    json.member("message", note.message);
    if (!note.at.empty()) {
      json.member_array("at");
      for (const std::string& text : note.at) json.value(text);
      json.end_array();
    }
    json.end_object();
  }
  json.end_array();
}

std::string notes_text(std::string_view heading, const std::vector<NoteView>& notes, bool all) {
  std::string text = fmt::format("{} ({})\n", heading, notes.size());
  for (size_t i = 0; i < notes.size(); ++i) {
    if (!all && i == kMostShown) {
      text += fmt::format("  … and {} more (--all prints them)\n", notes.size() - i);
      break;
    }
    const NoteView& note = notes[i];
    text += fmt::format("  {}{}{}: {}\n", note.code, note.code.empty() ? "" : "  ", report::printable(note.where),
                        report::printable(note.message));
  }
  return text;
}

}  // namespace thaw::cli
