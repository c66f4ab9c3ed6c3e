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

// An operand of a node, which is called as its first output is: a table that is meant otherwise in a few of its entries.
struct MisreadTable {
  std::string node;
  int input = 0;
  std::vector<double> entries;  // as the trace has them
  std::string made;             // what it is called in the model that makes it as it is meant
};

// One of the traces that a model was made of.
struct TraceToRun {
  std::string name;                           // for the report
  std::filesystem::path path;                 // of its file
  std::map<std::string, InputValues> values;  // by input: what it was made with
  std::map<std::string, int64_t> sizes;       // of names that it declares
  // Tables that are not compared, as an exporter folded them an entry off.
  std::vector<MisreadTable> misread = {};
};

// A check for each trace, by its name. Inputs whose values are not given are drawn, as `thaw verify` draws them
// (run/feeds.h). Throws thaw::Error where a trace itself does not run.
// tables: makes what the lifted model has in the place of misread tables, of its inputs; the traces run with these. nullptr
// where there are none. A trace of which none are known, though there are some, is held to a wider tolerance.
std::vector<RunCheck> compare_with_traces(const ir::Model& lifted, const std::vector<TraceToRun>& traces,
                                          const ir::Model* tables = nullptr);

}  // namespace thaw::confirm
