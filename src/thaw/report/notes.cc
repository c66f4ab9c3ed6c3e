#include "thaw/report/notes.h"

#include <map>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "thaw/report/printable.h"

namespace thaw::report {

constexpr size_t kMostNotesShown = 12;

void write_notes(JsonWriter& json, std::string_view name, const std::vector<NoteView>& notes) {
  json.member_array(name);
  for (const NoteView& note : notes) {
    json.begin_object(JsonWriter::Layout::kLine);
    json.optional_member("code", note.code);
    json.member("where", note.where);
    json.member("message", note.message);
    if (!note.at.empty()) {
      json.member_array("values");
      for (const std::string& text : note.at) json.value(text);
      json.end_array();
    }
    json.end_object();
  }
  json.end_array();
}

std::string notes_text(std::string_view heading, const std::vector<NoteView>& notes, bool all,
                       std::string_view option) {
  std::string text = fmt::format("{} ({})\n", heading, notes.size());
  for (size_t i = 0; i < notes.size(); ++i) {
    if (!all && i == kMostNotesShown) {
      text += fmt::format("  … and {} more ({} prints them)\n", notes.size() - i, option);
      break;
    }
    const NoteView& note = notes[i];
    text += fmt::format("  {}{}{}: {}\n", note.code, note.code.empty() ? "" : "  ", printable(note.where),
                        printable(note.message));
  }
  return text;
}

void write_symbols(JsonWriter& json, const std::vector<NoteView>& notes) {
  json.member_array("symbols");
  for (const NoteView& note : notes) {
    json.begin_object(JsonWriter::Layout::kLine);
    json.member("name", note.where);
    json.member("message", note.message);
    json.member_array("values");
    for (const std::string& text : note.at) json.value(text);
    json.end_array();
    json.end_object();
  }
  json.end_array();
}

void write_changes(JsonWriter& json, std::string_view name, const std::vector<Change>& changes) {
  json.member_array(name);
  for (const Change& change : changes) {
    json.begin_object();
    json.member("pass", change.kind);
    json.member("where", change.location);
    json.member("message", change.message());
    json.end_object();
  }
  json.end_array();
}

std::vector<NoteGroup> grouped_notes(const std::vector<NoteView>& notes) {
  std::vector<NoteGroup> groups;
  std::map<std::pair<std::string_view, std::vector<std::string_view>>, size_t> known;
  for (const NoteView& note : notes) {
    const auto [at, is_new] = known.try_emplace({note.message, {note.at.begin(), note.at.end()}}, groups.size());
    if (is_new) groups.push_back({.message = note.message, .at = note.at, .where = {}});
    groups[at->second].where.emplace_back(note.where);
  }
  return groups;
}

std::string groups_text(std::string_view heading, const std::vector<NoteView>& notes, bool all,
                        std::string_view option) {
  std::string text = fmt::format("{} ({})\n", heading, notes.size());
  const std::vector<NoteGroup> groups = grouped_notes(notes);
  for (size_t i = 0; i < groups.size(); ++i) {
    if (!all && i == kMostNotesShown) {
      text += fmt::format("  … and {} more ({} prints them)\n", groups.size() - i, option);
      break;
    }
    const NoteGroup& group = groups[i];
    text += fmt::format("  {}\n", printable(group.message));
    if (!group.at.empty())
      text += fmt::format("    from {}\n", printable(fmt::format("{}", fmt::join(group.at, " | "))));
    const size_t shown = all ? group.where.size() : 1;
    for (size_t k = 0; k < shown; ++k)
      text += fmt::format(
          "    at {}{}\n", printable(group.where[k]),
          k + 1 == shown && shown < group.where.size() ? fmt::format(", and {} more", group.where.size() - shown) : "");
  }
  return text;
}

void add_notes(HtmlPage& page, std::string_view heading, const std::vector<NoteView>& notes,
               const std::string& locations) {
  if (notes.empty()) return;
  std::vector<std::vector<HtmlCell>> rows;
  for (const NoteGroup& group : grouped_notes(notes))
    rows.push_back({HtmlCell::text(group.message), HtmlCell::count(group.where.size()), HtmlCell::list(group.where)});
  page.heading(heading);
  page.table({"what", locations, "where"}, rows);
}

void add_sentences(HtmlPage& page, std::string_view heading, const std::vector<std::string>& sentences) {
  if (sentences.empty()) return;
  page.heading(heading);
  for (const std::string& sentence : sentences) page.sentence(sentence);
}

std::vector<NoteView> views(const std::vector<Change>& changes) {
  std::vector<NoteView> result;
  for (const Change& change : changes)
    result.push_back({.code = change.kind, .where = change.location, .message = change.message(), .at = {}});
  return result;
}

std::vector<NoteView> reasons(const std::vector<Change>& changes) {
  std::vector<NoteView> result;
  for (const Change& change : changes)
    result.push_back({.code = {},
                      .where = change.location,
                      .message = change.why.empty() ? change.kind : change.kind + ": " + change.why,
                      .at = {}});
  return result;
}

}  // namespace thaw::report
