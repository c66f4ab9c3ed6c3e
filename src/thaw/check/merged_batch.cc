// THAW018: a Reshape that folds the batch into another axis.
//
// A head that ends in Transpose(2,3,0,1) and Reshape(-1,1) is fine for one image; for more, the images' rows are mixed
// in one axis and no caller can tell them apart. Only asked where the batch is declared 1 or is a symbol of axis 0.
#include <algorithm>

#include <fmt/format.h>

#include "thaw/check/rule.h"
#include "thaw/dim/text/text.h"

namespace thaw::check {

namespace {

// Facts for the inputs with a batch symbol in the place of a declared 1 at axis 0 of floating-point inputs of rank 3 or
// more.
dim::Dim add_batch(const ir::Model& model, dim::Scope& scope, infer::Options& options) {
  dim::Scope plain_scope;
  dim::Dim batch;
  for (const ir::Value* input : model.graph->inputs()) {
    if (input->initializer() || !input->type.shape || input->type.shape->size() < 3) continue;
    if (input->type.shape->front().value != 1 || !ir::is_floating(input->type.elem_type)) continue;
    if (batch.is_unknown()) batch = scope.fresh("batch", dim::SymbolKind::kInputDim);
    ops::Shape shape;
    for (size_t axis = 0; axis < input->type.shape->size(); ++axis) {
      const ir::DeclaredDim& d = (*input->type.shape)[axis];
      if (axis == 0)
        shape.push_back(batch);
      else if (d.value && *d.value > 0)
        shape.push_back(*d.value);
      else
        shape.push_back(scope.symbol(fmt::format("{}_dim{}", input->name(), axis)));
    }
    options.inputs[input] = ops::Fact::tensor(input->type.elem_type, std::move(shape));
  }
  return batch;
}

bool contains(dim::Dim d, int symbol) {
  auto ids = dim::symbols_of(d);
  return std::find(ids.begin(), ids.end(), symbol) != ids.end();
}

}  // namespace

void look_for_merged_batch(Evidence& evidence, Findings& findings) {
  dim::Scope scope;
  infer::Options options;
  dim::Dim batch = add_batch(evidence.model(), scope, options);
  if (batch.is_unknown()) return;
  int id = scope.symbol_id(batch);
  infer::Result result = infer::infer(evidence.model(), scope, options);
  for (const ir::Value* output : evidence.model().graph->outputs()) {
    const ir::Node* node = output->producer();
    // Through what leaves the shape alone, to the node that made it.
    while (node &&
           (node->op_type() == "Sigmoid" || node->op_type() == "Identity" || node->op_type() == "Cast" ||
            node->op_type() == "Softmax") &&
           node->input(0) && node->input(0)->producer())
      node = node->input(0)->producer();
    if (!node || (node->op_type() != "Reshape" && node->op_type() != "Flatten")) continue;
    const ops::Fact& in = result.fact(node->input(0));
    const ops::Fact& out = result.fact(node->output(0));
    if (!in.shape || !out.shape) continue;
    bool alone_before =
        std::any_of(in.shape->begin(), in.shape->end(), [&](dim::Dim d) { return dim::same(d, batch); });
    bool alone_after =
        std::any_of(out.shape->begin(), out.shape->end(), [&](dim::Dim d) { return dim::same(d, batch); });
    bool merged = std::any_of(out.shape->begin(), out.shape->end(),
                              [&](dim::Dim d) { return d.is_symbolic() && contains(d, id); });
    if (!alone_before || alone_after || !merged) continue;
    Finding& f = findings.add(
        fmt::format("{} folds the batch into another axis: with a batch, output '{}' is {} and no row tells "
                    "which sample it belongs to",
                    name_of(*node), output->name(), text_of(out.shape)),
        place_of(*node));
    f.where.tensor = output->name();
    f.fix = "end in a Reshape by (0, -1, …) on [batch, …], so that the batch stays an axis of its own";
  }
}

}  // namespace thaw::check
