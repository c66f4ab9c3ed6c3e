// Running a lifted model beside the traces that it was made of, each at its own size.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "thaw/confirm/run_check.h"
#include "thaw/ir/graph/model.h"
#include "thaw/lift.h"

namespace thaw::confirm {

// One of the traces that a model was made of.
struct TraceToRun {
  std::string name;                           // for the report
  std::filesystem::path path;                 // of its file
  std::map<std::string, InputValues> values;  // by input: what it was made with
  std::map<std::string, int64_t> sizes;       // of names that it declares
};

// A check for each trace, by its name. Inputs whose values are not given are drawn, as `thaw verify` draws them
// (run/feeds.h). Throws thaw::Error where a trace itself does not run.
// departs: the result is not quite what the traces are, on purpose.
std::vector<RunCheck> compare_with_traces(const ir::Model& lifted, const std::vector<TraceToRun>& traces,
                                          bool departs = false);

}  // namespace thaw::confirm
