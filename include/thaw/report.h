// What a verb's report looks like to people: text for a terminal, a page of HTML.
//
// Every verb's header has the same three functions of its report: to_json() gives what `thaw VERB --format json` prints
// (docs/schemas/ has a JSON Schema of each), to_text() what it prints else, to_html() the page of `--report FILE.html`.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "thaw/export.h"

namespace thaw {

// Of the JSON that to_json() gives. It grows when a member goes or changes its meaning; new members do not count.
inline constexpr int kJsonSchema = 0;

struct TextOptions {
  bool all = false;      // every item of a list, not the first few
  bool colour = false;   // with escapes for terminals
  bool explain = false;  // of optimize: also why the remaining patterns were not fused
};

// The files that a verb wrote: a model, then its data; empty where nothing was written.
using Files = std::vector<std::filesystem::path>;

// What ONNX Runtime, at its defaults, made of the files that a verb wrote, before they took their names: a model may do well beside
// its original in memory, by other optimizations or in other types, and still not be taken as it is written.
struct AsWritten {
  enum class Outcome : uint8_t {
    kNone,       // nothing came to be written
    kLoaded,     // it makes a session of each model; `reason`, where that does not run and the original doesn't either
    kRan,        // which ran once, too
    kNotLoaded,  // it could not be tried, or was not to be; `reason`
    kRefused,    // what it takes of the original it does not take of this; `reason`. Nothing was written
  };
  Outcome outcome = Outcome::kNone;
  std::string reason = {};

  bool is_refused() const { return outcome == Outcome::kRefused; }
};

}  // namespace thaw
