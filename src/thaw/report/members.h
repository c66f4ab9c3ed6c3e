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
#include "thaw/report.h"
#include "thaw/report/json_writer.h"

namespace thaw::report {

// Begins the object that a verb prints; its first member is "schema" (thaw/report.h).
void begin_report(JsonWriter& json);

// "output": the model's path, or null; "files": all that were written, the model first.
void write_output_member(JsonWriter& json, const Files& files);
void write_files_member(JsonWriter& json, const Files& files);
std::string_view word_of_result(bool is_accepted,
                                const Files& files);  // "written", "not written"; of none to write, "accepted"
std::string written_text(const Files& files);         // "wrote out.onnx", a line each

void write_texts(JsonWriter& json, std::string_view name, std::span<const std::string> texts);
// "name", "dtype" and "dims" of an array.
void write_array_type(JsonWriter& json, std::string_view name, const Array& array);
// "error", with its code and parts.
void write_error(JsonWriter& json, const Error& error);

// "12.3 kB", "0.2 MB".
std::string bytes_text(double bytes);

}  // namespace thaw::report
