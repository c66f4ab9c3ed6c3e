// Notes: what a verb did, or left, and where. batch, fix and lift print lists of them.
//
// A note is any struct with `where` and `message`, and with `code` where a rule of docs/rules.md is meant.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "thaw/report/json_writer.h"

namespace thaw::cli {

struct NoteView {
  std::string_view code, where, message;
};

// [{"code", "where", "message"}], each on a line, without "code" where it is empty.
void write_notes(report::JsonWriter& json, std::string_view name, const std::vector<NoteView>& notes);
// "heading (3)" and a line for each, the first dozen unless `all`.
std::string notes_text(std::string_view heading, const std::vector<NoteView>& notes, bool all);

// The notes as views, which must not outlive them.
template <typename Note>
std::vector<NoteView> views(const std::vector<Note>& notes) {
  std::vector<NoteView> result;
  result.reserve(notes.size());
  for (const Note& note : notes) {
    NoteView& view = result.emplace_back(NoteView{.code = {}, .where = note.where, .message = note.message});
    if constexpr (requires { note.code; }) view.code = note.code;
  }
  return result;
}

}  // namespace thaw::cli
