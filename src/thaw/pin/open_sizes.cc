#include "thaw/pin/open_sizes.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "thaw/dim/text/text.h"

namespace thaw::pinning {
namespace {

class Search {
 public:
  Search(const dim::Scope& scope, const infer::Result& facts) : scope_(scope), facts_(facts) {}

  void look_at(const ir::Graph& graph) {
    for (const ir::Value* input : graph.inputs()) look_at(*input, nullptr);
    for (const ir::Node* node : graph.nodes()) {
      for (const ir::Graph* inner : node->subgraphs()) look_at(*inner);
      for (const ir::Value* output : node->outputs())
        if (output) look_at(*output, node);
    }
  }

  std::vector<DynamicAxis> take() { return std::move(found_); }

 private:
  bool is_static(const ir::Value* value) const {
    if (!value) return true;
    const ops::Fact& fact = facts_.fact(value);
    return fact.is_tensor() && fact.has_rank() &&
           std::ranges::all_of(*fact.shape, [](dim::Dim d) { return d.is_constant(); });
  }

  void look_at(const ir::Value& value, const ir::Node* maker) {
    const ops::Fact& fact = facts_.fact(&value);
    if (fact.kind != ops::Fact::Kind::kTensor && fact.kind != ops::Fact::Kind::kUnknown) return;
    // What nothing is known of follows from its operands, unless these are known.
    const bool begins_here =
        !maker || std::ranges::all_of(maker->inputs(), [&](const ir::Value* v) { return is_static(v); });
    if (!fact.has_rank()) {
      if (begins_here) tell(value, 0, {}, maker, "its rank is not known");
      return;
    }
    for (int axis = 0; axis < fact.rank(); ++axis) {
      const dim::Dim d = fact.dim(axis);
      if (d.is_constant()) continue;
      if (d.is_unknown()) {
        if (begins_here) tell(value, axis, {}, maker, "its size is not known");
        continue;
      }
      for (const int id : dim::symbols_of(d))
        if (reported_.insert(id).second) tell(value, axis, dim::to_string(d), maker, reason(id));
    }
  }

  std::string reason(int id) const {
    const dim::SymbolInfo& symbol = scope_.symbols()[static_cast<size_t>(id)];
    switch (symbol.kind) {
      case dim::SymbolKind::kInputDim:
        return fmt::format("'{}' is dynamic: give it in --sizes", symbol.name);
      case dim::SymbolKind::kInputValue:
        return fmt::format("it depends on {}: give that input in --values", symbol.name);
      case dim::SymbolKind::kDataDependent:
      case dim::SymbolKind::kDataDependentValue:
        return "it is known only at run time";
    }
    return {};
  }

  void tell(const ir::Value& value, int axis, std::string size, const ir::Node* maker, std::string why) {
    if (maker) why = fmt::format("{} makes it, and {}", maker->describe(), why);
    found_.push_back({.tensor = value.name(), .axis = axis, .size = std::move(size), .why = std::move(why)});
  }

  const dim::Scope& scope_;
  const infer::Result& facts_;
  std::set<int> reported_;
  std::vector<DynamicAxis> found_;
};

}  // namespace

std::vector<DynamicAxis> open_sizes(const ir::Model& model, const dim::Scope& scope, const infer::Result& facts) {
  Search search(scope, facts);
  search.look_at(*model.graph);
  return search.take();
}

}  // namespace thaw::pinning
