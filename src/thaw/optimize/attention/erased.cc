#include "thaw/optimize/attention/erased.h"

#include <algorithm>
#include <cmath>

#include "thaw/ops/rule/registry.h"
#include "thaw/optimize/attention/products.h"
#include "thaw/optimize/site.h"

namespace thaw::optimizing {
namespace {

constexpr int kMostFollowed = 8;  // nodes that a number or a mask is followed through
constexpr int64_t kMostMaskElements = int64_t{1}
                                      << 22;  // elements of a mask that is a constant: 2,048 tokens by as many
constexpr double kRounding = 1e-6;            // of numbers in float32

// slope * kept + offset
struct Line {
  double slope = 0, offset = 0;
};

std::optional<Line> line_of(const ir::Value* value, const ir::Value* kept, const infer::Inference& facts, int steps) {
  if (value == kept) return Line{1, 0};
  if (const auto number = scalar_of(value, facts)) return Line{0, *number};
  const ir::Node* node = value ? value->producer() : nullptr;
  if (!node || steps == 0 || !node->domain().empty()) return std::nullopt;
  const std::string& op = node->op_type();
  const auto a = line_of(node->input(0), kept, facts, steps - 1);
  if (!a) return std::nullopt;
  if (op == "Neg") return Line{-a->slope, -a->offset};
  if (op == "Identity") return a;
  if (node->inputs().size() != 2) return std::nullopt;
  const auto b = line_of(node->input(1), kept, facts, steps - 1);
  if (!b) return std::nullopt;
  if (op == "Add") return Line{a->slope + b->slope, a->offset + b->offset};
  if (op == "Sub") return Line{a->slope - b->slope, a->offset - b->offset};
  if (op == "Mul" && a->slope == 0) return Line{a->offset * b->slope, a->offset * b->offset};
  if (op == "Mul" && b->slope == 0) return Line{b->offset * a->slope, b->offset * a->offset};
  if (op == "Div" && b->slope == 0 && b->offset != 0) return Line{a->slope / b->offset, a->offset / b->offset};
  return std::nullopt;
}

bool holds_ones_and_zeros(const ir::Tensor& tensor) {
  const bool is_number = ir::is_integer(tensor.data_type) || ir::is_floating(tensor.data_type);
  if (!is_number || tensor.num_elements() > kMostMaskElements) return false;
  return std::ranges::all_of(tensor.to_double(), [](double number) { return number == 0 || number == 1; });
}

bool has_ones_and_zeros(const ir::Value* value, const infer::Inference& facts, int steps) {
  if (!value || steps == 0) return false;
  if (facts.fact(value).dtype == ir::DataType::kBool) return true;
  if (const ir::Tensor* tensor = constant_of(value)) return holds_ones_and_zeros(*tensor);
  const ir::Node* node = value->producer();
  if (!node || !node->domain().empty()) return false;
  const ops::Operator* entry = ops::registry().find(*node);
  if (entry && entry->converts) return has_ones_and_zeros(node->input(0), facts, steps - 1);
  const ops::Fact& first = facts.fact(node->input(0));
  if (!entry || !entry->moves_elements() || !first.is_tensor() || first.dtype != facts.fact(value).dtype ||
      node->attribute_string("reduction", "none") != "none")
    return false;
  // Of operands of the result's type; others say where its elements go.
  const ir::DataType type = facts.fact(value).dtype;
  return std::ranges::all_of(node->inputs(), [&](const ir::Value* operand) {
    return !operand || facts.fact(operand).dtype != type || has_ones_and_zeros(operand, facts, steps - 1);
  });
}

}  // namespace

std::optional<double> where_erased(const ir::Value* sum, const ir::Value* kept, const infer::Inference& facts) {
  const auto line = line_of(sum, kept, facts, kMostFollowed);
  const bool is_nothing = line && std::abs(line->slope + line->offset) <= kRounding * std::abs(line->offset);
  return is_nothing && line->offset != 0 ? std::optional(line->offset) : std::nullopt;
}

bool is_ones_and_zeros(const ir::Value* value, const infer::Inference& facts) {
  return has_ones_and_zeros(value, facts, kMostFollowed);
}

}  // namespace thaw::optimizing
