#include "thaw/dim/expr/dim_testing.h"

#include <algorithm>

#include "thaw/dim/expr/wide.h"
#include "thaw/dim/text/text.h"

namespace thaw::dim {

void PrintTo(const Dim& d, std::ostream* out) { *out << to_string(d); }

}  // namespace thaw::dim

namespace thaw::dim::testing {
namespace {

Wide wide_floor(Wide a, Wide b) {
  Wide quotient = a / b;
  while (quotient * b > a && b > 0) --quotient;
  while (quotient * b < a && b < 0) --quotient;
  return quotient;
}

}  // namespace

TreePtr leaf_symbol(int index) { return std::make_shared<Tree>(Tree{Tree::Kind::kSymbol, index, nullptr, nullptr}); }
TreePtr leaf_constant(int64_t value) {
  return std::make_shared<Tree>(Tree{Tree::Kind::kConstant, value, nullptr, nullptr});
}
TreePtr node(Tree::Kind kind, TreePtr left, TreePtr right) {
  return std::make_shared<Tree>(Tree{kind, 0, std::move(left), std::move(right)});
}

std::optional<int64_t> naive_value(const Tree& tree, const std::vector<int64_t>& symbols) {
  using Kind = Tree::Kind;
  if (tree.kind == Kind::kSymbol) return symbols[static_cast<size_t>(tree.value)];
  if (tree.kind == Kind::kConstant) return tree.value;
  const auto left = naive_value(*tree.left, symbols);
  const auto right = naive_value(*tree.right, symbols);
  if (!left || !right) return std::nullopt;
  const Wide a = *left;
  const Wide b = *right;
  Wide result = 0;
  switch (tree.kind) {
    case Kind::kAdd:
      result = a + b;
      break;
    case Kind::kSubtract:
      result = a - b;
      break;
    case Kind::kMultiply:
      result = a * b;
      break;
    case Kind::kFloorDiv:
      if (b == 0) return std::nullopt;
      result = wide_floor(a, b);
      break;
    case Kind::kCeilDiv:
      if (b == 0) return std::nullopt;
      result = -wide_floor(-a, b);
      break;
    case Kind::kMod:
      if (b == 0) return std::nullopt;
      result = a - b * wide_floor(a, b);
      break;
    case Kind::kMin:
      result = std::min(a, b);
      break;
    case Kind::kMax:
      result = std::max(a, b);
      break;
    default:
      if (a != b && a != 1 && b != 1) return std::nullopt;
      result = a == 1 ? b : a;
  }
  if (result <= std::numeric_limits<int64_t>::min() || result > std::numeric_limits<int64_t>::max())
    return std::nullopt;
  return static_cast<int64_t>(result);
}

Dim build(const Tree& tree, const std::vector<Dim>& symbols) {
  using Kind = Tree::Kind;
  if (tree.kind == Kind::kSymbol) return symbols[static_cast<size_t>(tree.value)];
  if (tree.kind == Kind::kConstant) return Dim(tree.value);
  const Dim a = build(*tree.left, symbols);
  const Dim b = build(*tree.right, symbols);
  switch (tree.kind) {
    case Kind::kAdd:
      return a + b;
    case Kind::kSubtract:
      return a - b;
    case Kind::kMultiply:
      return a * b;
    case Kind::kFloorDiv:
      return floor_div(a, b);
    case Kind::kCeilDiv:
      return ceil_div(a, b);
    case Kind::kMod:
      return mod(a, b);
    case Kind::kMin:
      return min(a, b);
    case Kind::kMax:
      return max(a, b);
    default:
      return broadcast(a, b);
  }
}

std::string text_of(const Tree& tree) {
  using Kind = Tree::Kind;
  if (tree.kind == Kind::kSymbol) return std::string(1, static_cast<char>('a' + tree.value));
  if (tree.kind == Kind::kConstant) return std::to_string(tree.value);
  const std::string a = text_of(*tree.left);
  const std::string b = text_of(*tree.right);
  switch (tree.kind) {
    case Kind::kAdd:
      return "(" + a + " + " + b + ")";
    case Kind::kSubtract:
      return "(" + a + " - " + b + ")";
    case Kind::kMultiply:
      return a + "*" + b;
    case Kind::kFloorDiv:
      return "floor(" + a + "/" + b + ")";
    case Kind::kCeilDiv:
      return "ceil(" + a + "/" + b + ")";
    case Kind::kMod:
      return "(" + a + " % " + b + ")";
    case Kind::kMin:
      return "min(" + a + ", " + b + ")";
    case Kind::kMax:
      return "max(" + a + ", " + b + ")";
    default:
      return "broadcast(" + a + ", " + b + ")";
  }
}

}  // namespace thaw::dim::testing
