// What `thaw inspect` knows of a model: every tensor's dims as expressions of the inputs, and what stands in the way.
//
//   ir::Model& model = …;
//   report::Inspection seen = report::inspect(model);
//   std::string text = report::inspection_json(seen, {});
//
// Weights are counted, never read. The Inspection views the model, which must outlive it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "thaw/dim/expr/scope.h"
#include "thaw/finding.h"
#include "thaw/infer/infer.h"
#include "thaw/ir/graph/model.h"
#include "thaw/report/json_writer.h"
#include "thaw/report/style.h"

namespace thaw::report {

// Sizes to look at the model with: a symbol's text ("height", "grid_thw[1]") and its value.
using Sizes = NamedSizes;

struct Inspection {
  const ir::Model* model;
  std::unique_ptr<dim::Scope> scope;
  infer::Result result;
  Sizes sizes;  // that it is seen at
  // Of values inside functions, what is the same in all calls.
  std::unordered_map<const ir::Value*, ops::Fact> in_functions;

  // The unknown fact for a value that was not reached.
  const ops::Fact& fact(const ir::Value& value) const;

  // The model's own inputs: not those that only give an initializer's default.
  std::vector<const ir::Value*> inputs() const;
  // Calls back for every value that a node makes, in file order; a subgraph's follow the node that holds it. Values
  // inside functions are left out: each call has its own.
  void each_value(const std::function<void(const ir::Value&, const ir::Node&)>& visit) const;
};

// Infers the model's dims, at the given sizes when there are some. Throws thaw::Error for a size that the model hasn't.
Inspection inspect(const ir::Model& model, const Sizes& sizes = {});

struct InspectionView {
  bool values = false;   // text: lists every value; both: with the elements of small integer tensors
  bool weights = false;  // lists the initializers too
  bool cost = false;     // what the nodes compute and move
  std::string only;      // shell pattern for the names of the values and weights that are listed; empty: all
};

// The symbols that its dims are written in: those of the inputs that `sizes` doesn't set, and the data-dependent ones.
std::vector<dim::SymbolInfo> symbols_of(const Inspection& seen);
// How often each operator stands in the main graph, the most frequent first.
std::vector<std::pair<std::string, size_t>> operator_counts(const ir::Model& model);
// "pytorch 2.1.0"; empty when the file doesn't say.
std::string producer_of(const ir::Model& model);
// The elements of a small tensor, when each is known to be an integer expression; empty otherwise.
std::vector<dim::Dim> integer_elements(const ops::Fact& fact);
// Whether `name` matches the view's pattern.
bool is_listed(const InspectionView& view, const std::string& name);

std::string inspection_text(const Inspection& seen, const InspectionView& view, const Style& style);
// {"inputs", "outputs", "values", "nodes", "operators", "opset", "ir_version", "producer", "symbols", "problems",
//  "obligations", "unknown_operators", "weights", …}: docs/cli.md has it member by member. `more` adds to them.
std::string inspection_json(const Inspection& seen, const InspectionView& view,
                            const std::function<void(JsonWriter&)>& more = {});

class DimText;
// "a == b", "a is divisible by b", …: what must hold, for people.
std::string condition_text(const ops::Obligation& obligation, DimText& dims);

// Initializers of the graph and its subgraphs. `bytes` counts what they take packed, `external` those in other files.
// Some exporters write weights as Constant nodes: those are counted apart.
struct WeightTotals {
  size_t count = 0;
  uint64_t bytes = 0, external = 0;
  size_t constants = 0;
  uint64_t constant_bytes = 0;
};
WeightTotals weigh(const ir::Model& model);

}  // namespace thaw::report
