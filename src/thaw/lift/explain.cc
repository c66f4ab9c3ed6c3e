// Explaining what differs between traces: every constant as sizes or a table, every loop as a batch of windows.
#include <algorithm>
#include <memory>
#include <set>
#include <unordered_map>
#include <unordered_set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "thaw/dim/text/text.h"
#include "thaw/infer/infer.h"
#include "thaw/ir/graph/transaction.h"
#include "thaw/lift/align/evidence.h"
#include "thaw/lift/align/same_node.h"
#include "thaw/lift/steps.h"
#include "thaw/ops/rule/registry.h"
#include "thaw/ops/rule/small_tensor.h"
#include "thaw/rewrite/remove_unused.h"

namespace thaw::lifting {
namespace {

bool same_tables(const std::vector<const ir::Tensor*>& a, const std::vector<const ir::Tensor*>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const ir::Tensor* x, const ir::Tensor* y) { return same_tensor(*x, *y); });
}

std::string place_of(const Difference& difference) {
  return fmt::format("{} reads '{}'", difference.node->describe(), difference.value->name());
}

// What a size was in each trace. Of one that never changed nothing is learned.
Note note_of(const Variable& variable) {
  std::vector<std::string> at;
  for (const int64_t value : variable.at) at.push_back(std::to_string(value));
  return {dim::to_string(variable.symbol),
          fmt::format("{}{}", fmt::join(at, ", "), variable.varies() ? "" : ": right at this value, untold at others"),
          at};
}

// Windows of a grid are told by its sides. Windows of a list are told by their size, and by the tensor that is cut.
bool fit_lengths(WindowLoops& windows, Lifting& lifting, std::string& reason) {
  const auto equal = equal_windows(windows.lengths);
  const bool has_short_one = std::any_of(windows.lengths.begin(), windows.lengths.end(), [&](const auto& lengths) {
    return lengths.size() > 1 && lengths.back() != lengths.front();
  });
  if (equal && has_short_one) {
    windows.size = equal;
    return true;
  }
  std::vector<ir::Tensor> lists;
  for (const auto& lengths : windows.lengths)
    lists.push_back(ir::Tensor::from_int64("window_lengths", {static_cast<int64_t>(lengths.size())}, lengths));
  std::vector<const ir::Tensor*> tensors;
  for (const ir::Tensor& list : lists) tensors.push_back(&list);
  windows.fit = fit_table(tensors, *lifting.context, reason);
  if (windows.fit) lifting.holdout->compare(tensors, *windows.fit);
  if (!windows.fit) windows.size = equal;
  return windows.fit || windows.size;
}

void batch_loop(const Loop& loop, const TraceShapes& shapes, Lifting& lifting) {
  LiftReport& report = lifting.report;
  std::vector<std::vector<int64_t>> lengths;
  std::vector<std::string> evidence;
  for (const Unrolled& unrolled : loop.traces) {
    lengths.push_back(unrolled.lengths);
    evidence.push_back(fmt::format("{} branches", unrolled.lengths.size()));
  }
  const std::string place = fmt::format("{} joins a branch for each window", loop.traces[0].joins[0]->describe());
  auto windows = std::find_if(lifting.windows.begin(), lifting.windows.end(),
                              [&](const WindowLoops& known) { return known.lengths == lengths; });
  if (windows == lifting.windows.end()) {
    WindowLoops fresh{.lengths = lengths};
    std::string reason;
    if (!fit_lengths(fresh, lifting, reason)) {
      report.unexplained.push_back({place, reason, evidence});
      return;
    }
    windows = lifting.windows.insert(lifting.windows.end(), std::move(fresh));
  }
  try {
    windows->loops.emplace_back(&loop, batched_body(loop, lifting.alignment, shapes, lifting.model()));
  } catch (const CannotRoll& reason) {
    report.unexplained.push_back({place, reason.why, evidence});
    return;
  }
  report.lifted.push_back({place,
                           windows->size
                               ? fmt::format("one batch of windows of {}, the last of what is left", *windows->size)
                               : "one batch of windows, padded: " + windows->fit->description,
                           evidence});
}

// What may hold sizes, or what is computed of them: not a table.
bool is_short(const ir::Tensor& tensor) {
  constexpr int64_t kMostNumbers = 64;
  return tensor.dims.size() <= 1 && tensor.num_elements() <= kMostNumbers;
}

// The sizes of what a node reads, where they differ between the traces and inference knows an expression.
class SizesAround {
 public:
  explicit SizesAround(Lifting& lifting) : lifting_(lifting) {
    const auto& nodes = lifting.alignment.nodes;
    for (size_t i = 0; i < nodes[0].size(); ++i) positions_.emplace(nodes[0][i], i);
    for (const Trace& trace : lifting.traces) {
      scopes_.push_back(std::make_unique<dim::Scope>());
      facts_.push_back(infer::infer(*trace.model, *scopes_.back()));
    }
  }

  // Has the context know them for what stands at an operand.
  void tell(const Difference& difference, TableContext& context) const {
    context.around = {};
    context.pads = ops::role_of(*difference.node, difference.input) == ops::Role::kPads;
    const auto place = positions_.find(difference.node);
    if (place == positions_.end() || !is_short(*difference.tensors.front())) return;
    // A place is no size that windows make: the last one lies at n - 1, not before the end of the last window.
    if (ops::role_of(*difference.node, difference.input) == ops::Role::kIndex) return;
    for (int i = 0; i < static_cast<int>(difference.node->inputs().size()); ++i)
      if (difference.node->input(i) && !difference.node->input(i)->constant()) add(context.around, place->second, i);
    context.around.windows = windows_after(*difference.node);
  }

  // Behind what is still frozen, no expression is taken for a size: one may hold in all traces and nowhere else, as the
  // smaller of a size and the largest trace's. solved: what stands there no more.
  SizesInTraces in_traces(std::span<const FittedTable> solved) const {
    std::unordered_set<const ir::Value*> frozen;
    for (const Difference& difference : lifting_.alignment.differences) frozen.insert(difference.value);
    for (const FittedTable& table : solved)
      for (const Difference* reader : table.readers) frozen.erase(reader->value);
    std::unordered_set<const ir::Node*> behind;
    for (const ir::Node* node : lifting_.alignment.nodes[0]) {
      bool is_frozen = false, reads_frozen = false, told = false;
      for (int i = 0; i < static_cast<int>(node->inputs().size()); ++i) {
        const ir::Value* value = node->input(i);
        const ops::Role role = ops::role_of(*node, i);
        is_frozen |= frozen.contains(value) && (ops::holds_size(role) || role == ops::Role::kScales);
        reads_frozen |= value && value->producer() && behind.contains(value->producer());
        // A shape that is written down, or was solved, says all sizes, unless it leaves one to what is there.
        if (role != ops::Role::kShape || !value || value->is_input() || !value->constant()) continue;
        told |= std::ranges::all_of(value->constant()->to_int64(), [](int64_t size) { return size > 0; });
      }
      if (is_frozen || (reads_frozen && !told)) behind.insert(node);
    }
    return [this, behind = std::move(behind)](const ir::Node* node, int output, size_t axis) {
      return behind.contains(node) ? std::optional(std::vector<int64_t>()) : of(node, output, axis);
    };
  }

 private:
  // What the output of a node of the first trace measured in each.
  std::optional<std::vector<int64_t>> of(const ir::Node* node, int output, size_t axis) const {
    const auto place = positions_.find(node);
    if (place == positions_.end()) return std::nullopt;
    std::vector<int64_t> at;
    for (size_t k = 0; k < facts_.size(); ++k) {
      const auto shape =
          ops::constant_shape(facts_[k].fact(lifting_.alignment.nodes[k][place->second]->output(output)).shape);
      if (!shape || axis >= shape->size()) return std::nullopt;
      at.push_back((*shape)[axis]);
    }
    return at;
  }

  // By what readers cut it: the strides of the next convolution, the steps of the next Slice, the axes of the next Reshape that are the same in all
  // traces. Nodes that move elements are passed over.
  std::vector<int64_t> windows_after(const ir::Node& node) const {
    constexpr int kFarthest = 8;
    std::set<int64_t> windows;
    std::vector<const ir::Node*> here{&node};
    for (int far = 0; far < kFarthest && !here.empty() && windows.empty(); ++far) {
      std::vector<const ir::Node*> next;
      for (const ir::Node* each : here) {
        for (const ir::Use& use : each->output(0)->uses()) {
          for (const int64_t stride : use.node->attribute_ints("strides")) windows.insert(stride);
          note_steps(*use.node, windows);
          if (ops::role_of(*use.node, 1) == ops::Role::kShape) note_steady_sizes(*use.node, windows);
          const ops::Operator* op = ops::registry().find(*use.node);
          if (op && op->moves_elements() && use.node->output(0)) next.push_back(use.node);
        }
      }
      windows.erase(windows.begin(), windows.upper_bound(1));
      here = std::move(next);
    }
    return {windows.begin(), windows.end()};
  }

  static void note_steps(const ir::Node& node, std::set<int64_t>& windows) {
    for (int i = 1; i < static_cast<int>(node.inputs().size()); ++i) {
      const ir::Value* steps = ops::role_of(node, i) == ops::Role::kSteps ? node.input(i) : nullptr;
      if (steps && steps->constant() && !steps->is_input())
        for (const int64_t step : steps->constant()->to_int64()) windows.insert(step);
    }
  }

  void note_steady_sizes(const ir::Node& node, std::set<int64_t>& windows) const {
    const auto place = positions_.find(&node);
    if (place == positions_.end()) return;
    std::vector<ops::ConstantShape> shapes;
    for (size_t k = 0; k < facts_.size(); ++k) {
      const auto shape =
          ops::constant_shape(facts_[k].fact(lifting_.alignment.nodes[k][place->second]->output(0)).shape);
      if (!shape || (k > 0 && shape->size() != shapes[0].size())) return;
      shapes.push_back(*shape);
    }
    for (size_t axis = 0; axis < shapes[0].size(); ++axis)
      if (std::ranges::all_of(shapes, [&](const auto& shape) { return shape[axis] == shapes[0][axis]; }))
        windows.insert(shapes[0][axis]);
  }

  void add(Around& around, size_t place, int input) const {
    std::vector<ops::ConstantShape> shapes;
    for (size_t k = 0; k < facts_.size(); ++k) {
      const ir::Value* value = lifting_.alignment.nodes[k][place]->input(input);
      const auto shape = ops::constant_shape(facts_[k].fact(value).shape);
      if (!shape || (k > 0 && shape->size() != shapes[0].size())) return;
      shapes.push_back(*shape);
    }
    for (size_t axis = 0; axis < shapes[0].size(); ++axis) {
      Variable size;
      for (const ops::ConstantShape& shape : shapes) size.at.push_back(shape[axis]);
      const auto same = [&](const Variable& other) { return other.at == size.at; };
      if (!size.varies()) {
        size.symbol = dim::Dim(size.at.front());
      } else if (const auto own = std::ranges::find_if(lifting_.variables, same); own != lifting_.variables.end()) {
        size = *own;
      } else if (const auto known = lifting_.tensor_sizes.find(size.at); known != lifting_.tensor_sizes.end()) {
        size.symbol = known->second;
      } else if (const auto sure = lifting_.solver->solve_surely(size.at)) {
        size.symbol = *sure;
      }
      const bool is_new = size.symbol.is_symbolic() && std::ranges::none_of(around.sizes, same);
      if (is_new) around.sizes.push_back(size);
      if (input == 0) around.axes.push_back(std::move(size));
    }
  }

  Lifting& lifting_;
  std::unordered_map<const ir::Node*, size_t> positions_;
  std::vector<std::unique_ptr<dim::Scope>> scopes_;
  std::vector<infer::Result> facts_;
};

FittedTable* known_table(Lifting& l, const Difference& difference) {
  const auto known = std::find_if(l.tables.begin(), l.tables.end(), [&](const FittedTable& table) {
    return same_tables(table.readers.front()->tensors, difference.tensors);
  });
  return known == l.tables.end() ? nullptr : &*known;
}

void fit_each(Lifting& l, const SizesAround& sizes) {
  std::vector<size_t> waves;  // tables of frequencies that another may tell better
  for (const Difference& difference : l.alignment.differences) {
    if (l.options.keep_static.contains(difference.value->name())) continue;
    std::string reason;
    if (FittedTable* known = known_table(l, difference)) {
      l.report.lifted.push_back({place_of(difference), known->fit.description, evidence(difference.tensors)});
      known->readers.push_back(&difference);
      continue;
    }
    sizes.tell(difference, *l.context);
    l.context->frequencies.badly = false;
    if (auto fit = fit_table(difference.tensors, *l.context, reason)) {
      if (l.context->frequencies.badly) waves.push_back(l.tables.size());
      l.report.lifted.push_back({place_of(difference), fit->description, evidence(difference.tensors)});
      l.holdout->compare(difference.tensors, *fit, l.context->around, l.context->pads);
      l.tables.push_back({{&difference}, std::move(*fit)});
    } else {
      l.report.unexplained.push_back({place_of(difference), reason, evidence(difference.tensors)});
    }
  }
  for (const size_t place : waves) {
    FittedTable& table = l.tables[place];
    std::string reason;
    sizes.tell(*table.readers.front(), *l.context);
    if (auto fit = fit_table(table.readers.front()->tensors, *l.context, reason)) table.fit = std::move(*fit);
  }
}

// With what is explained so far in its place, inference knows more sizes: those behind a Pad whose amounts were solved.
// Whether it does.
bool learn_sizes(Lifting& l, const SizesAround& sizes) {
  const size_t before = l.tensor_sizes.size();
  const SizesInTraces in_traces = sizes.in_traces(l.tables);
  {
    const ir::Transaction edit(l.model());
    declare_inputs(l);
    write_tables(l);
    TensorSizes more = sizes_of_tensors(l.traces, l.variables, l.scope, in_traces);
    l.tensor_sizes.merge(more);
    l.sizes.reset();
    l.nodes.reset();
  }
  return l.tensor_sizes.size() > before;
}

// Solves the sizes that the inputs and the tensors around them tell, and has inference learn what follows; where that is
// no more, one that leaves room for chance, the first of the model. What stands behind it is then known for what it is,
// and need not be guessed.
void solve_sizes_in_order(Lifting& l, const SizesAround& sizes) {
  constexpr int kMostRounds = 24;
  std::set<const Difference*> guessed;
  for (int round = 0; round < kMostRounds; ++round) {
    l.tables.clear();
    const Difference* open = nullptr;
    for (const Difference& difference : l.alignment.differences) {
      if (l.options.keep_static.contains(difference.value->name()) || !is_short(*difference.tensors.front())) continue;
      if (FittedTable* known = known_table(l, difference)) {
        known->readers.push_back(&difference);
        continue;
      }
      sizes.tell(difference, *l.context);
      l.solver->be_sure(!guessed.contains(&difference));
      std::string reason;
      if (auto fit = fit_sizes(difference.tensors, *l.context, reason)) {
        l.tables.push_back({{&difference}, std::move(*fit)});
      } else if (!open && !reason.empty() && !guessed.contains(&difference)) {
        open = &difference;
      }
    }
    l.solver->be_sure(false);
    if (!open) break;
    if (!l.tables.empty() && learn_sizes(l, sizes)) continue;
    guessed.insert(open);
  }
  l.tables.clear();
}

}  // namespace

void find_sizes(Lifting& l) {
  l.variables = find_variables(l.traces, l.options.added, l.scope);
  l.tensor_sizes = sizes_of_tensors(l.traces, l.variables, l.scope);
  l.solver.emplace(l.variables, &l.choices, &l.tensor_sizes);
  l.context.emplace(TableContext{l.variables, *l.solver});
  l.holdout.emplace(l.traces, l.variables, l.tensor_sizes);
  for (const Variable& v : l.variables) l.report.variables.push_back(note_of(v));
  for (const std::string& input : values_passed_over(l.traces, l.variables))
    l.report.variables.push_back({input, "its values are passed over: data, of which no size is read", {}});
}

void align_traces(Lifting& l) {
  for (Trace& trace : l.traces) rewrite::remove_unused(*trace.model);
  l.alignment = align(l.traces, l.plain_loops);
  for (const std::string& clause : l.alignment.unaligned)
    l.report.unexplained.push_back({clause, "only constants and loops over windows are lifted"});
}

void fit_tables(Lifting& l) {
  if (l.alignment.differences.empty()) return;
  const SizesAround sizes(l);
  l.tensor_sizes = sizes_of_tensors(l.traces, l.variables, l.scope, sizes.in_traces({}));
  solve_sizes_in_order(l, sizes);
  l.holdout.emplace(l.traces, l.variables, l.tensor_sizes);
  fit_each(l, sizes);
}

void batch_windows(Lifting& l) {
  if (l.alignment.loops.empty()) return;
  const TraceShapes shapes(l.traces, l.variables, l.alignment);
  for (const Loop& loop : l.alignment.loops) {
    const size_t before = l.report.unexplained.size();
    batch_loop(loop, shapes, l);
    const auto as_often = [&](const Unrolled& other) { return other.lengths.size() == loop.traces[0].lengths.size(); };
    if (l.report.unexplained.size() > before && std::ranges::all_of(loop.traces, as_often))
      l.steady_loops.insert(name_of(loop));
  }
}

void compare_holdout(Lifting& l) {
  for (auto& [where, message] : l.holdout->notes()) l.report.holdout.push_back({where, message});
}

}  // namespace thaw::lifting
