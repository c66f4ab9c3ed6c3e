#include "thaw/lift/table/same_table.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "thaw/lift/align/same_node.h"

namespace thaw::lifting {
namespace {

constexpr int64_t kOpset = 20;
// Of the largest number of a constant. Frequencies and slopes are read off the entries, at other positions with other
// traces, and are as exact as those.
constexpr double kConstantTolerance = 1e-5;

bool is_same_constant(const ir::Tensor& a, const ir::Tensor& b) {
  if (a.data_type != ir::DataType::kFloat) return same_tensor(a, b);
  if (a.data_type != b.data_type || a.dims != b.dims) return false;
  const std::vector<double> left = a.to_double(), right = b.to_double();
  double largest = 0;
  for (const double value : left) largest = std::max(largest, std::abs(value));
  return std::ranges::equal(
      left, right, [&](double x, double y) { return x == y || std::abs(x - y) <= kConstantTolerance * largest; });
}

// Walks two values of one model back to what they are computed of.
class TableComparison {
 public:
  bool is_same(const ir::Value* first, const ir::Value* other) {
    todo_.emplace_back(first, other);
    while (!todo_.empty()) {
      const auto [a, b] = todo_.back();
      todo_.pop_back();
      if (a == b || !seen_.emplace(a, b).second) continue;
      if (!a || !b || !is_same_step(*a, *b)) return false;
    }
    return true;
  }

 private:
  bool is_same_step(const ir::Value& a, const ir::Value& b) {
    if (a.constant() && b.constant()) return is_same_constant(*a.constant(), *b.constant());
    const ir::Node *x = a.producer(), *y = b.producer();
    if (!x || !y || x->op_type() != y->op_type() || x->inputs().size() != y->inputs().size()) return false;
    if (!std::ranges::equal(x->attributes(), y->attributes(), same_attribute)) return false;
    for (size_t i = 0; i < x->inputs().size(); ++i) todo_.emplace_back(x->inputs()[i], y->inputs()[i]);
    return true;
  }

  std::vector<std::pair<const ir::Value*, const ir::Value*>> todo_;
  std::set<std::pair<const ir::Value*, const ir::Value*>> seen_;
};

}  // namespace

bool is_same_table(const TableFit& a, const TableFit& b, std::span<const Variable> variables) {
  ir::Model scratch;
  scratch.graph = std::make_unique<ir::Graph>();
  scratch.opset_imports.push_back({"", kOpset, {}});
  ir::Value* values = scratch.graph->add_input("variables", ir::Type::tensor(ir::DataType::kInt64));
  rewrite::Emitter nodes(scratch, {});
  nodes.ask_as_of(kOpset);
  nodes.share_nodes();
  rewrite::DimEmitter sizes(nodes, scratch, {});
  for (size_t i = 0; i < variables.size(); ++i) sizes.read_from(variables[i].symbol, values, static_cast<int64_t>(i));
  TableEmitter emitter(sizes);
  const ir::Value *first = a.emit(emitter), *other = b.emit(emitter);
  return TableComparison().is_same(first, other);
}

}  // namespace thaw::lifting
