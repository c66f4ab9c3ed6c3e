// Any two models as traces of one: a thaw::Error, something unexplained, or a model that can be written and read, whose
// nodes run as far as inference can tell and which, with THAW_FUZZ_PROBLEMS set, gives each trace's outputs at its sizes
// the shapes that they have there.
#include <cstddef>
#include <cstdint>
#include <vector>

#include "model_mutator.h"
#include "verbs.h"

#include "thaw/lift/lift.h"

namespace {

using namespace thaw;

// What inference knows of a model's outputs where it knows numbers; -1 elsewhere.
std::vector<std::vector<int64_t>> output_shapes(const ir::Model& model) {
  dim::Scope scope;
  ir::begin_run(model);
  const infer::Result facts = infer::infer(model, scope);
  std::vector<std::vector<int64_t>> shapes;
  for (const ir::Value* output : model.graph->outputs()) {
    auto& shape = shapes.emplace_back();
    if (!facts.fact(output).shape) continue;
    for (const dim::Dim d : *facts.fact(output).shape) shape.push_back(d.constant().value_or(-1));
  }
  return shapes;
}

// The lifted model with its inputs declared as the trace has them.
void require_agrees(const ir::Model& lifted, const ir::Model& trace) {
  const auto at = ir::clone(lifted);
  for (ir::Value* input : at->graph->inputs()) {
    const ir::Value* own = trace.graph->find(input->name());
    if (own == nullptr || !own->is_input()) return;
    input->set_type(own->type);
  }
  const auto made = output_shapes(*at), meant = output_shapes(trace);
  thaw_fuzz::require(made.size() == meant.size(), "as many outputs as the trace has");
  for (size_t i = 0; i < made.size(); ++i) {
    if (made[i].size() != meant[i].size()) continue;  // a rank that one of them does not know
    for (size_t axis = 0; axis < made[i].size(); ++axis)
      thaw_fuzz::require(made[i][axis] == meant[i][axis] || made[i][axis] < 0 || meant[i][axis] < 0,
                         "an output has the trace's size");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto [a, b] = thaw_fuzz::split_pair(data, size);
  if (a.empty() || b.empty()) return 0;
  std::vector<lifting::Trace> traces;
  int problems = 0;
  for (const auto bytes : {a, b}) {
    auto model = thaw_fuzz::read_model(bytes);
    if (!model) return 0;
    problems = std::max(problems, thaw_fuzz::count_problems(*model));
    ir::begin_run(*model);
    traces.push_back({.name = "trace", .model = std::move(model), .values = {}});
  }
  const auto first = ir::clone(*traces[0].model), second = ir::clone(*traces[1].model);
  try {
    const LiftReport report = lifting::lift(traces, {});
    if (!report.unexplained.empty()) return 0;
  } catch (const Error&) {
    return 0;
  }
  const ir::Model& lifted = *traces.front().model;
  thaw_fuzz::require_sound(lifted, problems);
  // The verb runs what it lifted beside each trace, and refuses what differs.
  if (problems == 0 && thaw_fuzz::asks_for_problems()) {
    require_agrees(lifted, *first);
    require_agrees(lifted, *second);
  }
  return 0;
}

THAW_MUTATES_PAIRS
