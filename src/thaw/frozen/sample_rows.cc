#include "thaw/frozen/sample_rows.h"

#include <algorithm>
#include <optional>
#include <set>

#include "thaw/core/ascii.h"
#include "thaw/infer/facts_view.h"
#include "thaw/ops/rule/axes.h"
#include "thaw/ops/rule/registry.h"

namespace thaw::frozen {
namespace {

using ops::AxisKind;
using State = SampleRows::State;

class Walk {
 public:
  Walk(const ir::Model& model, const infer::Result& facts, std::span<const ir::Value* const> inputs, dim::Dim batch)
      : model_(model), facts_(facts), batch_(batch), symbol_(dim::symbols_of(batch).front()) {
    for (size_t i = 0; i < inputs.size(); ++i)
      rows_[inputs[i]] = {.state = State::kApart, .axis = 0, .inputs = uint64_t{1} << std::min<size_t>(i, 63)};
  }

  std::unordered_map<const ir::Value*, SampleRows> run() {
    for (const ir::Node* node : model_.graph->nodes()) follow(*node);
    return std::move(rows_);
  }

 private:
  SampleRows rows_of(const ir::Value* value) const {
    const auto found = rows_.find(value);
    return found == rows_.end() ? SampleRows() : found->second;
  }

  bool counts_samples(dim::Dim size) const {
    return size.is_symbolic() && std::ranges::count(dim::symbols_of(size), symbol_) > 0;
  }

  bool any_axis_is_batch(const ops::Fact& fact) const {
    return !fact.shape ||
           std::ranges::any_of(*fact.shape, [&](dim::Dim d) { return d.is_unknown() || dim::same(d, batch_); });
  }

  bool any_axis_counts_samples(const ops::Fact& fact) const {
    return fact.shape && std::ranges::any_of(*fact.shape, [&](dim::Dim d) { return counts_samples(d); });
  }

  bool reads_any(const ir::Graph& graph) const {
    const auto is_reached = [&](const ir::Value* value) { return rows_.contains(value); };
    return std::ranges::any_of(graph.outputs(), is_reached) ||
           std::ranges::any_of(graph.nodes(), [&](const ir::Node* node) {
             return std::ranges::any_of(node->inputs(), is_reached) ||
                    std::ranges::any_of(node->subgraphs(), [&](const ir::Graph* inner) { return reads_any(*inner); });
           });
  }

  void set_all(const ir::Node& node, SampleRows rows) {
    const auto is_number = [&](const ir::Value* value) { return ir::is_floating(facts_.fact(value).dtype); };
    // Of whole numbers and conditions little is known: they choose, count and mask. What makes them first and foremost, a
    // quantizer with a scale for all, makes its other results for them.
    if (rows.state == State::kMixed && !is_number(node.output(0))) rows = {.state = State::kUnknown};
    for (const ir::Value* output : node.outputs())
      if (output)
        rows_[output] = rows.state == State::kMixed && !is_number(output) ? SampleRows{.state = State::kUnknown} : rows;
  }

  void follow(const ir::Node& node) {
    if (std::ranges::any_of(node.subgraphs(), [&](const ir::Graph* graph) { return reads_any(*graph); }))
      return set_all(node, {.state = State::kUnknown});
    std::vector<int> read;
    SampleRows mixed, folded;
    uint64_t inputs = 0;
    for (int i = 0; i < static_cast<int>(node.inputs().size()); ++i) {
      const SampleRows rows = rows_of(node.input(i));
      if (rows.state == State::kNone || ops::is_unread(ops::role_of(node, i))) continue;
      if (rows.state == State::kUnknown) return set_all(node, {.state = State::kUnknown});
      if (rows.state == State::kMixed) mixed = rows;
      if (rows.state == State::kFolded) folded = rows;
      inputs |= rows.inputs;
      read.push_back(i);
    }
    if (read.empty()) return;
    if (mixed.state == State::kMixed)
      return set_all(node, may_mask(node) ? SampleRows{.state = State::kUnknown} : mixed);
    const ops::Operator* op = ops::registry().find(node);
    infer::NodeFacts view(facts_, model_, node);
    const auto map = node.subgraphs().empty() && op ? ops::axes_of(view) : std::nullopt;
    if (op && op->moves_elements()) return follow_moved(node, view, map, read, inputs, folded);
    if (!map) return set_all(node, {.state = State::kUnknown});
    follow_axes(node, view, *map, read, inputs, folded);
  }

  // A table as large as the batch may be what keeps samples apart: a mask of who sees whom.
  bool may_mask(const ir::Node& node) const {
    return std::ranges::any_of(node.inputs(), [&](const ir::Value* value) {
      return value && rows_of(value).state == State::kNone && any_axis_counts_samples(facts_.fact(value));
    });
  }

  // Whether positions along an axis meet in truth: entries say so too of an axis of which they cannot tell, by a number that is fed
  // (the axis of a CumSum, a size of a Resize), or by another operand (the labels of a loss).
  bool meet_for_certain(const ir::Node& node, const ops::AxisLink& link, const std::vector<int>& read) const {
    const bool is_said = link.combine != ops::Combine::kOther || link.kind == AxisKind::kContracted;
    // A centre that is cut out or padded moves along its axis.
    const ops::Operator* op = ops::registry().find(node);
    if (!is_said && op->operands.find(ops::Role::kShape) >= 0) return false;
    for (int i = 0; i < static_cast<int>(node.inputs().size()); ++i) {
      const ir::Value* value = node.input(i);
      if (!value || value->constant() || std::ranges::count(read, i) > 0) continue;
      if (!is_said || !ir::is_floating(facts_.fact(value).dtype)) return false;
    }
    return true;
  }

  // Whether the sizes of the inputs alone make the shape: one that is fed may be the batch.
  bool is_of_sizes(const ops::Fact& fact) const {
    return fact.shape && std::ranges::all_of(*fact.shape, [](dim::Dim d) {
             const auto ids = dim::symbols_of(d);
             return !d.is_unknown() && std::ranges::all_of(ids, [&](int id) {
               return dim::scope_of(d)->symbols()[static_cast<size_t>(id)].kind == dim::SymbolKind::kInputDim;
             });
           });
  }

  // Whether a node folds the batch into another axis: the elements are all there, and no axis counts samples by itself. (A Concat
  // of rows, or a part of them, has whole samples along its axis.)
  bool folds(infer::NodeFacts& view, const ops::Fact& out, const std::vector<int>& read) const {
    return read.size() == 1 && is_of_sizes(out) && !any_axis_is_batch(out) && any_axis_counts_samples(out) &&
           dim::same(out.num_elements(), view.input(read.front()).num_elements());
  }

  // Elements that are the operand's, elsewhere.
  void follow_moved(const ir::Node& node, infer::NodeFacts& view, const std::optional<ops::AxesMap>& map,
                    const std::vector<int>& read, uint64_t inputs, const SampleRows& folded) {
    for (int i = 0; i < static_cast<int>(node.outputs().size()); ++i) {
      const ir::Value* output = node.output(i);
      if (!output) continue;
      SampleRows rows{.state = State::kUnknown};
      std::optional<int> axis;
      bool is_kept = map.has_value() && folded.state == State::kNone;
      for (const int operand : read) {
        const ops::AxisLink* link = is_kept ? map->of_input(operand, rows_of(node.input(operand)).axis) : nullptr;
        const auto found = link && link->kind == AxisKind::kPreserved ? link->axis_of_output(i) : std::nullopt;
        is_kept = found && (!axis || axis == found);
        if (is_kept) axis = found;
      }
      const ops::Fact& fact = view.output(i);
      const ir::Node* node_that_folds = folded.node ? folded.node : folds(view, fact, read) ? &node : nullptr;
      if (is_kept && axis)
        rows = {.state = State::kApart, .axis = *axis, .inputs = inputs};
      else if (node_that_folds && is_of_sizes(fact) && !any_axis_is_batch(fact) && any_axis_counts_samples(fact))
        rows = {.state = State::kFolded,
                .axis = folded.node ? folded.axis : rows_of(node.input(read.front())).axis,
                .inputs = inputs,
                .node = node_that_folds};
      rows_[output] = rows;
    }
  }

  void follow_axes(const ir::Node& node, infer::NodeFacts& view, const ops::AxesMap& map, const std::vector<int>& read,
                   uint64_t inputs, const SampleRows& folded) {
    std::vector<const ops::AxisLink*> kept;
    std::vector<uint64_t> from;  // by link
    for (const int operand : read) {
      const SampleRows rows = rows_of(node.input(operand));
      const ops::Fact& fact = view.input(operand);
      bool found = false;
      for (int axis = 0; axis < fact.rank(); ++axis) {
        const bool holds = rows.state == State::kApart ? axis == rows.axis : counts_samples(fact.dim(axis));
        if (!holds) continue;
        found = true;
        const ops::AxisLink* link = map.of_input(operand, axis);
        if (!link || link->index >= 0) return set_all(node, {.state = State::kUnknown});
        if (link->kind == AxisKind::kContracted || link->kind == AxisKind::kMixed) {
          const bool is_certain = !may_mask(node) && meet_for_certain(node, *link, read);
          return set_all(node, is_certain ? SampleRows{.state = State::kMixed, .inputs = inputs, .node = &node}
                                          : SampleRows{.state = State::kUnknown});
        }
        const auto known = std::ranges::find(kept, link);
        if (known == kept.end()) {
          kept.push_back(link);
          from.push_back(rows.inputs);
        } else {
          from[static_cast<size_t>(known - kept.begin())] |= rows.inputs;
        }
      }
      if (!found) return set_all(node, {.state = State::kUnknown});
    }
    // Rows of samples along two axes: each number is made of two samples. Where these come by other inputs, as texts and
    // images, that is what is asked for; and axes of one folded value may be parts of one another.
    if (kept.size() > 1) {
      const bool of_one = read.size() == 2 && from.size() == 2 && (from[0] & from[1]) != 0 && !may_mask(node);
      return set_all(node, of_one ? SampleRows{.state = State::kMixed, .inputs = inputs, .node = &node}
                                  : SampleRows{.state = State::kUnknown});
    }
    for (int i = 0; i < static_cast<int>(node.outputs().size()); ++i) {
      const ir::Value* output = node.output(i);
      if (!output) continue;
      const auto axis = kept.front()->axis_of_output(i);
      if (!axis)
        rows_[output] = {.state = State::kUnknown};
      else if (folded.state == State::kFolded)
        rows_[output] = {.state = State::kFolded, .axis = folded.axis, .inputs = inputs, .node = folded.node};
      else
        rows_[output] = {.state = State::kApart, .axis = *axis, .inputs = inputs};
    }
  }

  const ir::Model& model_;
  const infer::Result& facts_;
  dim::Dim batch_;
  int symbol_;
  std::unordered_map<const ir::Value*, SampleRows> rows_;
};

// A name that exporters give a batch: "batch", "batch_size", "image_batch_size", "dynamic_batch".
bool names_a_batch(const std::string& name) {
  std::string letters;
  for (const unsigned char c : name)
    if (ascii::is_letter(c)) letters += ascii::to_lower(static_cast<char>(c));
  return letters.ends_with("batch") || letters.ends_with("batchsize") || letters.ends_with("batchdim") ||
         letters == "bsz";
}

// A letter says so of images alone: [N, 3] may be points.
bool may_be_images(const ir::Value& input, const std::string& name) {
  constexpr std::string_view kLetters[] = {"N", "n", "B", "b", "bs"};
  return std::ranges::find(kLetters, name) != std::end(kLetters) && input.type.shape->size() >= 4 &&
         ir::is_floating(input.type.elem_type);
}

}  // namespace

std::map<std::string, std::vector<const ir::Value*>> named_batches(const ir::Model& model) {
  std::map<std::string, std::vector<const ir::Value*>> batches;
  std::set<std::string> others;
  for (const ir::Value* input : model.graph->inputs()) {
    if (input->initializer() || !input->type.shape) continue;
    for (size_t axis = 0; axis < input->type.shape->size(); ++axis) {
      const std::string& name = (*input->type.shape)[axis].param;
      if (name.empty()) continue;
      if (axis > 0)
        others.insert(name);
      else if (names_a_batch(name) || may_be_images(*input, name) || batches.contains(name))
        batches[name].push_back(input);
    }
  }
  std::erase_if(batches, [&](const auto& batch) { return others.contains(batch.first); });
  return batches;
}

std::unordered_map<const ir::Value*, SampleRows> follow_samples(const ir::Model& model, const infer::Result& facts,
                                                                std::span<const ir::Value* const> inputs,
                                                                dim::Dim batch) {
  return Walk(model, facts, inputs, batch).run();
}

}  // namespace thaw::frozen
