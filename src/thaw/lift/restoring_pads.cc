#include "thaw/lift/restoring_pads.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <set>
#include <unordered_set>
#include <utility>
#include <vector>

#include "thaw/lift/align/constant_operand.h"
#include "thaw/lift/align/evidence.h"
#include "thaw/lift/align/same_node.h"
#include "thaw/lift/align/steady_pads.h"
#include "thaw/lift/steady_sizes.h"
#include "thaw/ops/rule/registry.h"

namespace thaw::lifting {
namespace {

constexpr int64_t kLargestRestored = 64;

// The amounts, where they are the same in every trace.
std::vector<const ir::Tensor*> steady_amounts(const Alignment& alignment, size_t place) {
  std::vector<const ir::Tensor*> tensors;
  for (const auto& nodes : alignment.nodes) {
    const ir::Tensor* amounts = constant_operand(*nodes[place], kPadAmounts);
    if (!amounts || (!tensors.empty() && !same_tensor(*amounts, *tensors.front()))) return {};
    tensors.push_back(amounts);
  }
  return tensors;
}

// The sizes of tensors, each with what it is in the traces.
class KnownSizes {
 public:
  explicit KnownSizes(const Lifting& lifting) : variables_(lifting.variables) {
    std::unordered_set<const dim::Expr*> seen;
    const auto add = [&](dim::Dim size) {
      if (size.is_symbolic() && seen.insert(size.expr()).second) sizes_.emplace_back(size, in_traces(size));
    };
    for (const Variable& v : variables_)
      if (v.varies()) add(v.symbol);
    for (const ir::Node* node : lifting.alignment.nodes.front()) {
      for (const ir::Value* output : node->outputs()) {
        const auto shape = lifting.tensor_shapes.find(output);
        if (shape != lifting.tensor_shapes.end()) std::ranges::for_each(shape->second, add);
      }
    }
  }

  std::vector<int64_t> in_traces(dim::Dim size) const { return lifting::in_traces(size, variables_); }

  // The size whose whole pieces are `cut`, where that and so much more is it in every trace.
  std::optional<dim::Dim> restored(dim::Dim cut, int64_t more) const {
    std::vector<int64_t> wanted = in_traces(cut);
    for (int64_t& at : wanted) at += more;
    for (const auto& [size, at] : sizes_) {
      // What the Pad itself gives, while it is a constant, is none.
      if (at != wanted || (size - cut).is_constant()) continue;
      for (int64_t piece = more + 1; piece <= kLargestRestored; ++piece)
        if (dim::same(dim::floor_div(size, piece) * dim::Dim(piece), cut)) return size;
    }
    return std::nullopt;
  }

 private:
  const std::vector<Variable>& variables_;
  std::vector<std::pair<dim::Dim, std::vector<int64_t>>> sizes_;
};

}  // namespace

void note_restoring_pads(Lifting& l) {
  if (l.variables.empty()) return;
  std::set<const ir::Node*> known;
  for (const Difference& difference : l.alignment.differences) known.insert(difference.node);
  std::optional<KnownSizes> told;
  const auto& nodes = l.alignment.nodes;
  for (size_t place = 0; place < nodes.front().size(); ++place) {
    ir::Node* pad = nodes.front()[place];
    if (ops::role_of(*pad, kPadAmounts) != ops::Role::kPads || known.contains(pad)) continue;
    const auto shape = l.tensor_shapes.find(pad->input(0));
    const std::vector<const ir::Tensor*> amounts = steady_amounts(l.alignment, place);
    if (shape == l.tensor_shapes.end() || amounts.empty()) continue;
    const std::vector<int64_t> numbers = amounts.front()->to_int64();
    if (numbers.size() != 2 * shape->second.size()) continue;
    ops::Shape solved;
    bool restores = false;
    for (size_t i = 0; i < numbers.size(); ++i) {
      const dim::Dim cut = shape->second[i % shape->second.size()];
      solved.emplace_back(numbers[i]);
      if (i < shape->second.size() || numbers[i] <= 0 || !cut.is_symbolic()) continue;
      if (!told) told.emplace(l);
      const auto whole = told->restored(cut, numbers[i]);
      if (!whole) continue;
      solved.back() = *whole - cut;
      l.tensor_sizes[told->in_traces(*whole)] = *whole;
      restores = true;
    }
    if (!restores) continue;
    l.steady_constants.push_back(std::make_unique<Difference>(
        Difference{.node = pad, .input = kPadAmounts, .tensors = amounts, .value = pad->input(kPadAmounts)}));
    const Difference& difference = *l.steady_constants.back();
    TableFit fit = fit_of_sizes(solved, *amounts.front());
    l.report.lifted.push_back({place_of(difference), fit.description, evidence(difference.tensors)});
    l.tables.push_back({{&difference}, std::move(fit)});
  }
}

}  // namespace thaw::lifting
