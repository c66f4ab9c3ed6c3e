#include "thaw/frozen/ones.h"

#include <algorithm>
#include <map>

#include "thaw/core/disjoint_sets.h"
#include "thaw/frozen/visit.h"
#include "thaw/ops/rule/registry.h"

namespace thaw::frozen {

using dim::Dim;
using ops::Obligation;

namespace {

// The model once more, with a symbol of its own for each 1.
class OneDecider {
 public:
  OneDecider(const ir::Model& model, dim::Scope& scope, infer::InferOptions options, const std::set<int>& batches,
             const std::vector<AdjacentOnes>& all)
      : model_(model), scope_(scope), options_(std::move(options)), batches_(batches) {
    for (const AdjacentOnes& ones : all) {
      auto& elements = by_node_[ones.node];
      if (std::ranges::find(elements, ones.element, &Cut::element) != elements.end()) continue;
      Cut cut{ones.element, {}};
      for (const int axis : ones.ones) cut.ones.emplace_back(axis, symbol_at(*ones.node, axis));
      elements.push_back(std::move(cut));
    }
  }

  std::set<std::pair<const ir::Node*, int>> run() {
    options_.after_node = [&](const infer::NodeVisit& visit) {
      const ops::Operator* op = ops::registry().find(visit.node);
      if (!op || !op->frozen || visit.outputs.empty()) return;
      VisitContext context(visit, options_.assumed_sizes, model_.opset(visit.node.domain()).value_or(1), batches_);
      op->frozen(context);
      if (const auto at = by_node_.find(&visit.node); at != by_node_.end()) cut(at->second, visit.outputs[0]);
    };
    const infer::Result result = infer::infer(model_, scope_, options_);
    DisjointSets equal(scope_.symbols().size());
    std::set<int> decided;
    for (const Obligation& o : result.obligations()) look_at(o, equal, decided);
    std::set<size_t> roots;
    for (const int symbol : decided) roots.insert(equal.first_of(static_cast<size_t>(symbol)));
    const auto is_decided = [&](const std::pair<int, int>& at) {
      return roots.contains(equal.first_of(static_cast<size_t>(at.second)));
    };
    std::set<std::pair<const ir::Node*, int>> undecided;
    // any order: a set is made
    for (const auto& [node, cuts] : by_node_)
      for (const Cut& one : cuts)
        if (!std::ranges::all_of(one.ones, is_decided)) undecided.emplace(node, one.element);
    return undecided;
  }

 private:
  struct Cut {
    int element;
    std::vector<std::pair<int, int>> ones;  // axes and symbols
  };

  // Two sizes may be next to the same 1.
  int symbol_at(const ir::Node& node, int axis) {
    const auto [at, is_new] = symbols_.try_emplace({&node, axis}, 0);
    if (!is_new) return at->second;
    const Dim symbol = scope_.fresh("ones", dim::SymbolKind::kDataDependent);
    scope_.assume_range(symbol, 1, std::nullopt);
    at->second = scope_.symbol_id(symbol);
    options_.assumed_sizes[at->second] = 1;
    cut_from_[at->second];
    return at->second;
  }

  void cut(const std::vector<Cut>& cuts, ops::Fact& out) {
    if (!out.shape) return;
    ops::Shape shape = *out.shape;
    for (const Cut& one : cuts) {
      if (one.element >= static_cast<int>(shape.size())) return;
      Dim& size = shape[static_cast<size_t>(one.element)];
      const std::vector<int> symbols = dim::symbols_of(size);
      for (const auto& [axis, symbol] : one.ones) {
        cut_from_[symbol].insert(symbols.begin(), symbols.end());
        if (axis >= static_cast<int>(shape.size())) return;
        shape[static_cast<size_t>(axis)] = scope_.symbol_at(symbol);
        size = dim::floor_div(size, scope_.symbol_at(symbol));
      }
    }
    out.shape = std::move(shape);
  }

  // What must hold of ones that are equal, or of one that is decided.
  void look_at(const Obligation& o, DisjointSets& equal, std::set<int>& decided) const {
    std::set<int> ones, sizes;
    for (const Dim side : {o.a, o.b})
      for (const int id : dim::symbols_of(side))
        if (const auto cut = cut_from_.find(id); cut != cut_from_.end()) {
          ones.insert(id);
          sizes.insert(cut->second.begin(), cut->second.end());
        }
    if (ones.size() == 2 && o.kind == dim::Relation::kEqual && scope_.symbol_id(o.a) >= 0 && scope_.symbol_id(o.b) >= 0)
      return equal.join(static_cast<size_t>(*ones.begin()), static_cast<size_t>(*ones.rbegin()));
    if (ones.size() != 1 || is_open(o)) return;
    // With larger sizes it holds where the 1 stays one, and not where it grows with them.
    for (const int64_t factor : {2, 3}) {
      dim::Assignment at = options_.assumed_sizes;
      for (const int id : sizes)
        if (const auto assumed = at.find(id); assumed != at.end()) assumed->second *= factor;
      if (!holds(o, at)) continue;
      at[*ones.begin()] = factor;
      if (!holds(o, at)) decided.insert(*ones.begin());
    }
  }

  // A 1 that must equal another number of 1, which may be as frozen as this one: it is neither a weight's nor the operator's own.
  static bool is_open(const Obligation& o) {
    if (o.kind != dim::Relation::kEqual || !(o.a.is_constant(1) || o.b.is_constant(1))) return false;
    const int input = o.a.is_constant() ? o.input_a : o.input_b, own_input = o.a.is_constant() ? o.input_b : o.input_a;
    if (input < 0) return own_input < 0;
    const ir::Value* operand = o.node->input(input);
    const ops::Operator* op = ops::registry().find(*o.node);
    return !operand || !operand->constant() || !ir::is_floating(operand->constant()->data_type) || !op ||
           op->op_class == ops::OpClass::kElementwise || op->op_class == ops::OpClass::kMovement;
  }

  // Nothing is known to be wrong where it cannot be computed.
  static bool holds(const Obligation& o, const dim::Assignment& at) {
    return dim::holds(o.kind, o.a, o.b, at).value_or(true);
  }

  const ir::Model& model_;
  dim::Scope& scope_;
  infer::InferOptions options_;
  const std::set<int>& batches_;
  std::map<const ir::Node*, std::vector<Cut>> by_node_;
  std::map<std::pair<const ir::Node*, int>, int> symbols_;
  std::map<int, std::set<int>> cut_from_;  // by symbol of a 1: the sizes beside it
};

}  // namespace

std::set<std::pair<const ir::Node*, int>> undecided_ones(const ir::Model& model, dim::Scope& scope,
                                                         infer::InferOptions options, const std::set<int>& batches,
                                                         const std::vector<AdjacentOnes>& all) {
  return OneDecider(model, scope, std::move(options), batches, all).run();
}

}  // namespace thaw::frozen
