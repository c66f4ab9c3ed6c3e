// What a verb's report looks like to people: text for a terminal, a page of HTML.
//
// Every verb's header has the same three functions of its report: to_json() gives what `thaw VERB --format json` prints
// (docs/schemas/ has a JSON Schema of each), to_text() what it prints else, to_html() the page of `--report FILE.html`.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "thaw/export.h"

namespace thaw {

// Of the JSON that to_json() gives. It grows when a member goes or changes its meaning; new members do not count.
inline constexpr int kJsonSchema = 0;

struct TextOptions {
  bool all = false;     // every item of a list, not the first few
  bool colour = false;  // with escapes for terminals
};

// The files that a verb wrote: a model, then its data; empty where nothing was written.
using Files = std::vector<std::filesystem::path>;

}  // namespace thaw
