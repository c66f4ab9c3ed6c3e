// Reports as JSON, text and HTML.
//
// Each report type has to_json(), the output of `thaw VERB --format json` (docs/schemas/ has its JSON Schema), and to_text(), the output
// without it. Most have to_html(), the page of `--report FILE.html`.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "thaw/export.h"

namespace thaw {

// The version of the JSON schemas. It grows when a member is removed or changes its meaning, not when one is added.
inline constexpr int kJsonSchema = 1;

struct TextOptions {
  bool all = false;      // all items of lists, not the first few
  bool colour = false;   // ANSI escape sequences
  bool explain = false;  // of optimize: also why patterns were not fused
};

// The files that were written: models, then their data.
using Files = std::vector<std::filesystem::path>;

// How ONNX Runtime, with default options, loads the files of a result, before they are published. The comparison with the original runs
// in memory, with other optimizations or types, and may pass for a file that does not load.
struct LoadCheck {
  enum class Status : uint8_t {
    kNone,     // nothing was to be written
    kLoaded,   // all models load; `message` where they do not run and the original does not either
    kRan,      // and ran once
    kSkipped,  // not tried; `message`
    kFailed,   // a model does not load or run and the original does; `message`. Nothing was written
  };
  Status status = Status::kNone;
  std::string message = {};

  bool has_failed() const { return status == Status::kFailed; }
};

}  // namespace thaw
