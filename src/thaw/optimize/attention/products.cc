#include "thaw/optimize/attention/products.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "thaw/ops/rule/registry.h"
#include "thaw/optimize/site.h"
#include "thaw/rewrite/algebra.h"

namespace thaw::optimizing {
namespace {

bool is_fused_matmul(const ir::Node& node) {
  return node.op_type() == "FusedMatMul" && node.domain() == ops::kMicrosoft;
}

std::optional<MatrixProduct> matmul(const ir::Node& node, const infer::Inference& facts, const ops::Emit& at) {
  const auto left = shaped(node.input(0), facts), right = shaped(node.input(1), facts);
  if (!left || !right || left->rank() < 2 || left->rank() != right->rank()) return std::nullopt;
  MatrixProduct product{*left, *right};
  if (!is_fused_matmul(node)) return product;
  if (node.attribute_int("transBatchA", 0) != 0 || node.attribute_int("transBatchB", 0) != 0) return std::nullopt;
  product.scale = node.attribute_float("alpha", 1);
  if (node.attribute_int("transA", 0) != 0) product.left = with_last_two_swapped(at, *left);
  if (node.attribute_int("transB", 0) != 0) product.right = with_last_two_swapped(at, *right);
  return product;
}

// The letters of an equation of two operands: "bhqd,bhkd->bhqk".
struct Letters {
  std::string left, right, result;
};

std::optional<Letters> letters_of(std::string equation) {
  std::erase(equation, ' ');
  const size_t comma = equation.find(','), arrow = equation.find("->");
  if (comma == std::string::npos || arrow == std::string::npos || comma > arrow) return std::nullopt;
  Letters letters{equation.substr(0, comma), equation.substr(comma + 1, arrow - comma - 1), equation.substr(arrow + 2)};
  for (const std::string* all : {&letters.left, &letters.right, &letters.result}) {
    std::string sorted = *all;
    std::ranges::sort(sorted);
    if (std::ranges::adjacent_find(sorted) != sorted.end() ||
        !std::ranges::all_of(sorted, [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }))
      return std::nullopt;
  }
  return letters;
}

std::vector<int64_t> positions(const std::string& wanted, const std::string& in) {
  std::vector<int64_t> result;
  for (const char letter : wanted) result.push_back(static_cast<int64_t>(in.find(letter)));
  return result;
}

// One letter is summed over, one is of the left alone, one of the right alone; the others are of both and stay.
std::optional<MatrixProduct> einsum(const ir::Node& node, const infer::Inference& facts, const ops::Emit& at) {
  const auto letters = letters_of(std::string(node.attribute_string("equation", "")));
  auto left = shaped(node.input(0), facts), right = shaped(node.input(1), facts);
  if (!letters || !left || !right || node.inputs().size() != 2 || left->dims.size() != letters->left.size() ||
      right->dims.size() != letters->right.size())
    return std::nullopt;
  const auto has = [](const std::string& all, char letter) { return all.find(letter) != std::string::npos; };
  std::string of_both, of_left, of_right, summed;
  for (const char letter : letters->result) {
    const bool in_left = has(letters->left, letter), in_right = has(letters->right, letter);
    if (!in_left && !in_right) return std::nullopt;
    (in_left && in_right ? of_both : in_left ? of_left : of_right) += letter;
  }
  for (const char letter : letters->left)
    if (!has(letters->result, letter)) summed += letter;
  if (of_left.size() != 1 || of_right.size() != 1 || summed.size() != 1 || !has(letters->right, summed[0]) ||
      letters->right.size() != of_both.size() + 2)
    return std::nullopt;
  std::string of_first = letters->left, of_second = letters->right;
  if (letters->result.find(of_left) > letters->result.find(of_right)) {
    std::swap(left, right);
    std::swap(of_left, of_right);
    std::swap(of_first, of_second);
  }
  MatrixProduct product{transposed(at, *left, positions(of_both + of_left + summed, of_first)),
                        transposed(at, *right, positions(of_both + summed + of_right, of_second))};
  product.transposed = positions(letters->result, of_both + of_left + of_right);
  if (std::ranges::is_sorted(product.transposed)) product.transposed.clear();
  return product;
}

}  // namespace

Shaped with_last_two_swapped(const ops::Emit& at, const Shaped& x) {
  std::vector<int64_t> permutation;
  for (int axis = 0; axis < x.rank(); ++axis) permutation.push_back(axis);
  std::swap(permutation[permutation.size() - 2], permutation[permutation.size() - 1]);
  return transposed(at, x, permutation);
}

bool swaps_last_two(const std::vector<int64_t>& permutation, int rank) {
  if (permutation.empty()) return rank == 2;
  if (static_cast<int>(permutation.size()) != rank) return false;
  for (int i = 0; i < rank; ++i)
    if (permutation[static_cast<size_t>(i)] != (i < rank - 2 ? i : 2 * rank - 3 - i)) return false;
  return true;
}

bool may_be_matrix_product(const ir::Node& node) {
  return (node.domain().empty() && (node.op_type() == "MatMul" || node.op_type() == "Einsum")) || is_fused_matmul(node);
}

std::optional<MatrixProduct> matrix_product(const ir::Node& node, const infer::Inference& facts, const ops::Emit& at) {
  if (!may_be_matrix_product(node)) return std::nullopt;
  return node.op_type() == "Einsum" ? einsum(node, facts, at) : matmul(node, facts, at);
}

std::optional<double> scalar_of(const ir::Value* value, const infer::Inference& facts, int depth) {
  if (!value) return std::nullopt;
  if (const auto number = rewrite::number_of(*value)) return number;
  const ops::Fact& fact = facts.fact(value);
  const dim::Dim count = fact.num_elements();
  if (!count.is_constant(1)) return std::nullopt;
  if (fact.elements && fact.elements->size() == 1)
    if (const auto number = fact.elements->front().as_double()) return number;
  const ir::Node* node = value->producer();
  if (!node || depth == 0 || !node->domain().empty() || !ir::is_floating(fact.dtype)) return std::nullopt;
  const std::string& op = node->op_type();
  const auto a = scalar_of(node->input(0), facts, depth - 1);
  if (!a) return std::nullopt;
  if (op == "Cast" || op == "Identity" || op == "Squeeze" || op == "Unsqueeze" || op == "Reshape") return a;
  if (op == "Sqrt") return std::sqrt(*a);
  if (op == "Reciprocal") return 1 / *a;
  const auto b = scalar_of(node->input(1), facts, depth - 1);
  if (!b) return std::nullopt;
  if (op == "Mul") return *a * *b;
  if (op == "Div") return *a / *b;
  if (op == "Pow") return std::pow(*a, *b);
  return std::nullopt;
}

ScaledValue without_scale(ir::Value* value, const infer::Inference& facts) {
  const rewrite::Product product = rewrite::product_of(value, facts.result());
  ScaledValue found{nullptr, product.coefficient};
  for (const rewrite::Factor& factor : product.factors) {
    const auto number = scalar_of(factor.value, facts);
    if (number) {
      found.scale *= std::pow(*number, factor.exponent);
    } else if (found.value || factor.exponent != 1) {
      return {value, 1};
    } else {
      found.value = factor.value;
    }
  }
  const bool is_whole = found.value && std::isfinite(found.scale) && found.scale != 0 &&
                        have_same_shape(facts.fact(found.value), facts.fact(value));
  return is_whole ? found : ScaledValue{value, 1};
}

}  // namespace thaw::optimizing
