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
  // Nodes, by what their first output is called, and which of their operands are tables that are not compared.
  std::vector<std::pair<std::string, int>> corrected = {};
};

// A check for each trace, by its name. Inputs whose values are not given are drawn, as `thaw verify` draws them
// (run/feeds.h). Throws thaw::Error where a trace itself does not run.
// tables: makes those that the lifted model has in the place of the ones that are not compared, one output each, of its inputs; the traces run
// with these. nullptr where all are compared.
std::vector<RunCheck> compare_with_traces(const ir::Model& lifted, const std::vector<TraceToRun>& traces,
                                          const ir::Model* tables = nullptr);

}  // namespace thaw::confirm
