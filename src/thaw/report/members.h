// What the reports of several verbs have: the members of their JSON, the lines of their text.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "thaw/array.h"
#include "thaw/core/error.h"
#include "thaw/finding.h"
#include "thaw/report.h"
#include "thaw/report/html_page.h"
#include "thaw/report/json_writer.h"
#include "thaw/run.h"
#include "thaw/run/summary.h"

namespace thaw::report {

// Begins the object that a verb prints; its first member is "schema" (thaw/report.h).
void begin_report(JsonWriter& json);

// "output": the path of what was written, or null; "files": all that were written, the model first.
void write_output_member(JsonWriter& json, std::string_view path);
void write_output_member(JsonWriter& json, const Files& files);
void write_files_member(JsonWriter& json, const Files& files);
std::string_view word_of_result(bool is_accepted,
                                const Files& files);  // "written", "not written"; of none to write, "accepted"
std::string written_text(const Files& files);         // "wrote out.onnx", a line each; of none that it was a dry run

// "load_check": the status in a word, and why; lines of text, a sentence of a page, where there is something to say.
void write_load_check(JsonWriter& json, const LoadCheck& load_check);
std::string load_check_text(const LoadCheck& load_check);
void add_load_check(HtmlPage& page, const LoadCheck& load_check);

// "runtime": ONNX Runtime's version, and the providers besides its CPU.
void write_runtime(JsonWriter& json, std::string_view name, const Runtime& runtime);
// "OpenVINO (CPU Intel), ONNX Runtime 1.24.1": of a run that was not on the CPU alone; else empty.
std::string runtime_text(const Runtime& runtime);
// The same for a page, which names the CPU too.
std::string where_it_ran(const Runtime& runtime);
// Of what ran: the member "runtime", a line of text where it was not the CPU alone, a sentence of a page. Nothing where nothing ran.
void write_ran_on(JsonWriter& json, const Runtime& runtime);
std::string ran_on_text(const Runtime& runtime);
void add_ran_on(HtmlPage& page, const Runtime& runtime);

void write_texts(JsonWriter& json, std::string_view name, std::span<const std::string> texts);
// An object with a member for each pair.
template <typename Pairs>
void write_map(JsonWriter& json, std::string_view name, const Pairs& pairs,
               JsonWriter::Layout layout = JsonWriter::Layout::kLines) {
  json.member_object(name, layout);
  for (const auto& [key, value] : pairs) json.member(key, value);
  json.end_object();
}
// "name", "dtype" and "dims" of an array.
void write_array_type(JsonWriter& json, std::string_view name, const Array& array);
// "min" and "max" of its finite elements, where there are some; "  min 0  max 1" for people.
void write_range(JsonWriter& json, const run::Summary& summary);
std::string range_text(const run::Summary& summary);
// "location", with what is known of it.
void write_location(JsonWriter& json, const Location& location);
// "error", with its code and parts.
void write_error(JsonWriter& json, const Error& error);

// "12.3 kB", "0.2 MB".
std::string bytes_text(double bytes);
// "0.21 MB", however few or many.
std::string megabytes_text(uint64_t bytes);

// Nodes, and bytes of constants, before and after: as lines of text, as members, as a table.
struct BeforeAfter {
  uint64_t nodes_before, nodes_after, bytes_before, bytes_after;
};
// Of a report that has them under these names.
template <typename Report>
BeforeAfter before_after(const Report& report) {
  return {.nodes_before = report.nodes_before,
          .nodes_after = report.nodes_after,
          .bytes_before = report.weight_bytes_before,
          .bytes_after = report.weight_bytes_after};
}
std::string before_after_text(const BeforeAfter& counts);
void write_before_after(JsonWriter& json, const BeforeAfter& counts);
void add_before_after(HtmlPage& page, const BeforeAfter& counts);

}  // namespace thaw::report
