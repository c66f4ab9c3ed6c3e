// What `thaw lift` did: what was solved, from what evidence, checked at which sizes. As text, JSON and a page.
#pragma once

#include <string>
#include <vector>

#include "thaw/cli/written.h"
#include "thaw/confirm/run_check.h"
#include "thaw/lift/lift.h"

namespace thaw::cli {

// An input or output: its name, and its type and shape as text, "float32[num_patches, 1536]".
struct PortText {
  std::string name, type;
};
std::vector<PortText> describe_ports(const std::vector<ir::Value*>& values);

struct TraceInput {
  std::string name;
  ir::Type type;       // undefined for an input that the exporter took out
  std::string values;  // those that were given: "1, 22, 30"
};
struct TraceInputs {
  std::string trace;
  std::vector<TraceInput> inputs;
};
// To be called before lift(), which changes the first trace.
std::vector<TraceInputs> inputs_of(const std::vector<lifting::Trace>& traces);

struct LiftRun {
  std::vector<TraceInputs> traces;
  LiftReport report;
  std::vector<confirm::RunCheck> checks;  // empty where it was not run
  std::vector<PortText> inputs, outputs;  // of the lifted model; empty where something is not explained
  std::string output;
  bool written = false;
  Written files;
};

std::string lift_text(const LiftRun& run, bool all);
std::string lift_json(const LiftRun& run);
std::string lift_page(const LiftRun& run);

}  // namespace thaw::cli
