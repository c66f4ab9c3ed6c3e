// Notes: what a verb did, or left, and where: lists of them in text and JSON.
//
// A note is any struct with `where` and `message`; with `code` where a rule of docs/rules.md is meant; and with `at`,
// the evidence: what was there in each of several models.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "thaw/finding.h"
#include "thaw/report/html_page.h"
#include "thaw/report/json_writer.h"

namespace thaw::report {

struct NoteView {
  std::string_view code, where;
  std::string message;
  std::span<const std::string> at;
};

// Notes that say the same from the same evidence, as every layer of a tower has them.
struct NoteGroup {
  std::string_view message;
  std::span<const std::string> at;
  std::vector<std::string> where;
};
std::vector<NoteGroup> grouped_notes(const std::vector<NoteView>& notes);

// [{"code", "where", "message", "values": […]}], each on a line, without "code" and "values" where they are empty.
void write_notes(JsonWriter& json, std::string_view name, const std::vector<NoteView>& notes);
// "symbols": [{"name", "message", "values": […]}]: sizes, and what each was in each trace.
void write_symbols(JsonWriter& json, const std::vector<NoteView>& notes);
// [{"pass", "where", "message"}], each on lines of its own.
void write_changes(JsonWriter& json, std::string_view name, const std::vector<Change>& changes);
// "heading (3)" and a line for each, the first dozen unless `all`, for which the verb has an option.
std::string notes_text(std::string_view heading, const std::vector<NoteView>& notes, bool all,
                       std::string_view option = "--all");

// "heading (3)", and what each group says, its evidence and its first location; every group and location with `all`.
std::string groups_text(std::string_view heading, const std::vector<NoteView>& notes, bool all,
                        std::string_view option = "--all");

// A table of the groups under a heading: what, how many `locations`, where. Nothing where there are no notes.
void add_notes(HtmlPage& page, std::string_view heading, const std::vector<NoteView>& notes,
               const std::string& locations = "locations");
// A sentence each, under a heading; nothing where there are none.
void add_sentences(HtmlPage& page, std::string_view heading, const std::vector<std::string>& sentences);

// The notes as views, which must not outlive them.
template <typename Note>
std::vector<NoteView> views(const std::vector<Note>& notes) {
  std::vector<NoteView> result;
  result.reserve(notes.size());
  for (const Note& note : notes) {
    NoteView& view = result.emplace_back(NoteView{.code = {}, .where = note.where, .message = note.message, .at = {}});
    if constexpr (requires { note.code; }) view.code = note.code;
    if constexpr (requires { note.at; }) view.at = note.at;
  }
  return result;
}
std::vector<NoteView> views(const std::vector<Change>& changes);
// What each is and why, "kind: why", without what was replaced.
std::vector<NoteView> reasons(const std::vector<Change>& changes);

}  // namespace thaw::report
