// THAW018: a Reshape that folds the batch into another axis, or a node that makes one number of several samples.
//
// A head that ends in Transpose(2,3,0,1) and Reshape(-1,1) is fine for one image; for more, the images' rows are mixed
// in one axis and no caller can tell them apart. A batch is the first axis of floating-point inputs: where it is
// declared 1, of three axes or more; where it is declared free, or as another number, of images (four axes or more),
// as the first axis of what has three may be channels or time. Where its name says that it is one, samples are followed
// from all inputs that have it to the outputs (frozen/sample_rows.h).
#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "thaw/check/rule.h"
#include "thaw/dim/text/text.h"
#include "thaw/frozen/sample_rows.h"
#include "thaw/infer/facts_view.h"
#include "thaw/ops/rule/axes.h"
#include "thaw/ops/rule/registry.h"

namespace thaw::checking {

namespace {

// A batch as the inputs declare it.
struct DeclaredBatch {
  dim::Dim symbol;   // unknown where there is none
  int64_t size = 1;  // as declared; 0 where it is free
};

// The number that an input declares for its batch; 0 where it is free; nullopt where it has none.
std::optional<int64_t> batch_of(const ir::Value& input) {
  if (input.initializer() || !input.type.shape || !ir::is_floating(input.type.elem_type)) return std::nullopt;
  const size_t rank = input.type.shape->size();
  if (rank < 3) return std::nullopt;
  const ir::DeclaredDim& first = input.type.shape->front();
  const int64_t size = first.value && *first.value > 0 ? *first.value : 0;
  return size == 1 || rank >= 4 ? std::optional(size) : std::nullopt;
}

// Facts for the inputs with one symbol for the batch. Where inputs declare several, it is the first input's.
DeclaredBatch add_batch(const ir::Model& model, dim::Scope& scope, infer::InferOptions& options) {
  DeclaredBatch batch;
  for (const ir::Value* input : model.graph->inputs()) {
    const auto size = batch_of(*input);
    if (!size) continue;
    if (batch.symbol.is_unknown()) {
      batch.symbol = scope.fresh("batch", dim::SymbolKind::kInputDim);
      batch.size = *size;
    }
    if (*size != batch.size) continue;
    ops::Shape shape;
    for (size_t axis = 0; axis < input->type.shape->size(); ++axis) {
      const ir::DeclaredDim& d = (*input->type.shape)[axis];
      if (axis == 0)
        shape.push_back(batch.symbol);
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

bool same_shape(const ops::Fact& a, const ops::Fact& b) {
  return a.shape && b.shape &&
         std::ranges::equal(*a.shape, *b.shape, [](dim::Dim x, dim::Dim y) { return dim::same(x, y); });
}

// Whether the node puts an axis that is the batch together with others: the elements are all there. What repeats, pads or cuts the
// batch has whole samples along its axis.
bool mixes(const ir::Model& model, const infer::Result& result, const ir::Node& node, dim::Dim batch) {
  infer::NodeFacts view(result, model, node);
  const ops::Fact& in = view.input(0);
  const ops::Operator* op = ops::registry().find(node);
  if (!in.shape || !view.output(0).shape || !op || !op->moves_elements()) return false;
  if (!dim::same(in.num_elements(), view.output(0).num_elements())) return false;
  const auto map = ops::axes_of(view);
  for (int axis = 0; map && axis < in.rank(); ++axis) {
    const ops::AxisLink* link = map->of_input(0, axis);
    if (dim::same(in.dim(axis), batch) && link && link->kind == ops::AxisKind::kMixed) return true;
  }
  return false;
}

// Outputs that end in a node which puts the batch together with other axes.
void look_for_folded_ends(Evidence& evidence, Findings& findings, std::set<const ir::Value*>& known) {
  dim::Scope scope;
  infer::InferOptions options;
  const DeclaredBatch declared = add_batch(evidence.model(), scope, options);
  const dim::Dim batch = declared.symbol;
  if (batch.is_unknown()) return;
  int id = scope.symbol_id(batch);
  infer::Result result = infer::infer(evidence.model(), scope, options);
  for (const ir::Value* output : evidence.model().graph->outputs()) {
    const ir::Node* node = output->producer();
    // Through what leaves the shape alone, to the node that made it.
    while (node && node->input(0) && node->input(0)->producer() &&
           same_shape(result.fact(node->input(0)), result.fact(node->output(0))))
      node = node->input(0)->producer();
    if (!node || !mixes(evidence.model(), result, *node, batch)) continue;
    const ops::Fact& out = result.fact(node->output(0));
    const bool alone_after = std::ranges::any_of(*out.shape, [&](dim::Dim d) { return dim::same(d, batch); });
    const bool merged = std::ranges::any_of(*out.shape, [&](dim::Dim d) { return d.is_symbolic() && contains(d, id); });
    if (alone_after || !merged) continue;
    Finding& f = findings.add(fmt::format("{} folds the batch into another axis: with a batch, output '{}' is {}, and "
                                          "its rows cannot be assigned to samples",
                                          name_of(*node), output->name(), text_of(out.shape)),
                              location_of(*node));
    f.where.tensor = output->name();
    known.insert(output);
    // What the model declares itself to take mixes samples, not only what it could be made to take.
    if (declared.size != 1) f.severity = Severity::kWarning;
    f.fix = "end in a Reshape by (0, -1, …) on [batch, …], so that the batch stays an axis of its own";
  }
}

// A node of which a frozen size is reported: what to fix is said there.
bool is_reported(Evidence& evidence, const ir::Node& node) {
  return std::ranges::any_of(evidence.frozen().sites, [&](const frozen::FrozenSite& site) {
    return site.node == &node ||
           std::ranges::any_of(node.inputs(), [&](const ir::Value* value) { return value && value == site.constant; });
  });
}

void look_for_met_samples(Evidence& evidence, Findings& findings, const std::set<const ir::Value*>& known) {
  using State = frozen::SampleRows::State;
  const infer::Result& result = evidence.inferred();
  for (const auto& [name, inputs] : frozen::named_batches(evidence.model())) {
    const ops::Fact& first = result.fact(inputs.front());
    if (first.rank() < 1 || dim::symbols_of(first.dim(0)).size() != 1) continue;
    const auto rows = frozen::follow_samples(evidence.model(), result, inputs, first.dim(0));
    std::set<const ir::Node*> reported;
    for (const ir::Value* output : evidence.model().graph->outputs()) {
      const auto found = rows.find(output);
      if (found == rows.end() || known.contains(output) || !found->second.node) continue;
      const frozen::SampleRows& seen = found->second;
      const ops::Fact& fact = result.fact(output);
      // One number of all, a loss, is what was asked for.
      if (fact.num_elements().is_constant(1)) continue;
      if (is_reported(evidence, *seen.node) || !reported.insert(seen.node).second) continue;
      const std::string reach = fmt::format("output '{}' ({})", output->name(), text_of(fact.shape));
      const bool is_folded = seen.state == State::kFolded;
      Finding& f = findings.add(
          is_folded ? fmt::format("{} folds the batch '{}' into another axis: rows of {} cannot be assigned to samples",
                                  name_of(*seen.node), name, reach)
                    : fmt::format("{} reduces over samples of the batch '{}': in {} each sample depends on the others",
                                  name_of(*seen.node), name, reach),
          location_of(*seen.node));
      f.where.tensor = output->name();
      f.severity = Severity::kWarning;
      f.fix = is_folded ? "keep the batch an axis of its own"
                        : "reduce over the axes of one sample only, or run one sample at a time";
    }
  }
}

}  // namespace

void look_for_merged_batch(Evidence& evidence, Findings& findings) {
  std::set<const ir::Value*> known;
  look_for_folded_ends(evidence, findings, known);
  look_for_met_samples(evidence, findings, known);
}

}  // namespace thaw::checking
