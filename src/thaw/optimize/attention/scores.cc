#include "thaw/optimize/attention/scores.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "thaw/ops/rule/registry.h"
#include "thaw/optimize/site.h"

namespace thaw::optimizing {
namespace {

constexpr int kMostScoreSteps = 48;  // nodes that are looked at between a softmax and its product
constexpr std::string_view kInsideCap = "a mask stands inside the softcap";
constexpr double kLowestHalf = -65504, kLowestFloat = -3.3e38;  // at this and below is the end of float32
constexpr int kMostFollowed = 8;                                // nodes that a number or a mask is followed through
constexpr int64_t kMostMaskElements = int64_t{1} << 22;         // of a mask that is a constant: 2,048 tokens by as many
constexpr double kRounding = 1e-6;                              // of numbers in float32

// Bits of the types that scores are computed in; 0 for others.
int float_bits(ir::DataType type) {
  const bool is_usual = type == ir::DataType::kFloat || type == ir::DataType::kFloat16 ||
                        type == ir::DataType::kBfloat16 || type == ir::DataType::kDouble;
  return is_usual ? ir::bits_of(type) : 0;
}

bool is_conversion(const ir::Node& node, const infer::Inference& facts) {
  return node.op_type() == "Cast" && float_bits(facts.fact(node.input(0)).dtype) > 0 &&
         float_bits(facts.fact(node.output(0)).dtype) > 0;
}

std::optional<int64_t> one_integer(const ir::Value* value) {
  const ir::Tensor* tensor = constant_of(value);
  const bool is_one = tensor && ir::is_integer(tensor->data_type) && tensor->num_elements() == 1;
  return is_one ? std::optional(tensor->to_int64().front()) : std::nullopt;
}

// A Slice of all but the last position of the last axis.
bool leaves_out_last(const ir::Node& node, const infer::Inference& facts) {
  if (node.op_type() != "Slice" || !node.input(3)) return false;
  const ops::Fact &whole = facts.fact(node.input(0)), &part = facts.fact(node.output(0));
  const int last = whole.rank() - 1;
  const auto axis = one_integer(node.input(3)), step = node.input(4) ? one_integer(node.input(4)) : 1;
  return last >= 0 && part.rank() == whole.rank() && (axis == last || axis == -1) && step == 1 &&
         one_integer(node.input(1)) == 0 &&
         (one_integer(node.input(2)) == -1 || dim::same(part.dim(last) + 1, whole.dim(last)));
}

// A softmax of more bits than the product that it is of; of fewer it would be another.
bool is_widening(const ir::Node& node, const infer::Inference& facts) {
  return is_conversion(node, facts) &&
         float_bits(facts.fact(node.input(0)).dtype) <= float_bits(facts.fact(node.output(0)).dtype);
}

// Masks that scores are multiplied by: scores * kept - 1e4 * (1 - kept), where kept is 1 or 0 (Radford et al., GPT-2).

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

// What stands where `kept` is 0, of a sum that is nothing where it is 1: -1e4 of -1e4 * (1 - kept). nullopt for another sum.
std::optional<double> where_erased(const ir::Value* sum, const ir::Value* kept, const infer::Inference& facts) {
  const auto line = line_of(sum, kept, facts, kMostFollowed);
  const bool is_nothing = line && std::abs(line->slope + line->offset) <= kRounding * std::abs(line->offset);
  return is_nothing && line->offset != 0 ? std::optional(line->offset) : std::nullopt;
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

// Whether all elements are known to be 1 or 0.
bool is_ones_and_zeros(const ir::Value* value, const infer::Inference& facts) {
  return has_ones_and_zeros(value, facts, kMostFollowed);
}

class ScoresReader {
 public:
  ScoresReader(const infer::Inference& facts, const ops::Emit& at, std::string& why)
      : facts_(facts), at_(at), why_(why) {}

  std::optional<FoundScores> read(ir::Value* value) {
    if (!follow(value, 1)) return std::nullopt;
    if (!(found_.scale > 0) || !std::isfinite(found_.scale)) return std::nullopt;
    return std::move(found_);
  }

 private:
  // `factor` is what the value counts for in what the softmax reads.
  bool follow(ir::Value* value, double factor) {
    if (!value || ++steps_ > kMostScoreSteps) return false;
    const ir::Node* node = value->producer();
    if (!node) return false;
    if (!is_read_once(*value)) {
      if (reaches_product(*node))
        why_ = value->is_output() ? "the scores are an output" : "the scores are read by something else too";
      return false;
    }
    if (may_be_matrix_product(*node)) return take_product(*node, value, factor);
    if (!node->domain().empty()) return false;
    const std::string& op = node->op_type();
    if (op == "Identity" || is_widening(*node, facts_)) return follow(node->input(0), factor);
    if (op == "Cast") return refuse("the softmax is computed in fewer bits than the scores");
    if (op == "Reshape") {
      found_.is_reshaped = true;
      return follow(node->input(0), factor);
    }
    if (op == "Transpose") return take_transposed_product(*node, value, factor);
    if (op == "Mul") return follow_product(*node, factor);
    if (op == "Div") {
      const auto by = scalar_of(node->input(1), facts_);
      if (!by) return refuse("the scores are divided by a tensor");
      return *by != 0 && follow(node->input(0), factor / *by);
    }
    if (op == "Neg") return follow(node->input(0), -factor);
    if (op == "Add" || op == "Sub") return follow_sum(*node, value, factor);
    if (op == "Where") return follow_choice(*node, value, factor);
    if (op == "Max") return follow_limit(*node, factor);
    return op == "Tanh" && take_softcap(*node, factor);
  }

  bool refuse(std::string_view why) {
    why_ = why;
    return false;
  }

  // Whether it is worth a word why it did not fuse.
  bool reaches_product(const ir::Node& node) const {
    if (may_be_matrix_product(node)) return true;
    for (const ir::Value* operand : node.inputs())
      if (operand && operand->producer() && may_be_matrix_product(*operand->producer())) return true;
    return false;
  }

  bool take_product(const ir::Node& node, ir::Value* value, double factor) {
    auto product = matrix_product(node, facts_, at_);
    if (!product || !product->transposed.empty()) return false;
    found_.product = *product;
    found_.first = value;
    found_.scale = factor * product->scale * (found_.softcap > 0 ? found_.softcap : 1);
    return true;
  }

  // (k q^T)^T is q k^T.
  bool take_transposed_product(const ir::Node& transpose, ir::Value* value, double factor) {
    ir::Value* inner = transpose.input(0);
    const ir::Node* node = inner ? inner->producer() : nullptr;
    const auto given = transpose.attribute_ints("perm");
    if (!node || !is_read_once(*inner) || !may_be_matrix_product(*node)) return false;
    const int rank = facts_.fact(value).rank();
    if (rank < 2 || !swaps_last_two({given.begin(), given.end()}, rank) || !take_product(*node, value, factor))
      return false;
    const MatrixProduct product = found_.product;
    found_.product.left = with_last_two_swapped(at_, product.right);
    found_.product.right = with_last_two_swapped(at_, product.left);
    return true;
  }

  bool follow_product(const ir::Node& node, double factor) {
    for (const int k : {0, 1})
      if (const auto number = scalar_of(node.input(k), facts_)) return follow(node.input(1 - k), factor * *number);
    return refuse("the scores are multiplied by a tensor");
  }

  // One side leads to the product of q and k; the other is a mask.
  bool follow_sum(const ir::Node& node, ir::Value* value, double factor) {
    if (node.inputs().size() != 2) return false;
    if (found_.softcap > 0) return refuse(kInsideCap);
    const bool subtracts = node.op_type() == "Sub";
    bool is_unproven = false;
    for (const int k : {0, 1})
      if (follow_erased(node, k, value, factor, is_unproven)) return true;
    if (is_unproven) return refuse("the scores are multiplied by a mask that is not known to be of ones and zeros");
    for (const int k : {0, 1}) {
      const FoundScores before = found_;
      ir::Value* mask = node.input(1 - k);
      const double of_scores = subtracts && k == 1 ? -factor : factor, of_mask = subtracts && k == 0 ? -factor : factor;
      if (!scalar_of(mask, facts_))  // a number added to all scores changes no weight
        found_.masks.push_back({FoundMask::Kind::kAdded, mask, of_mask, value});
      if (follow(node.input(k), of_scores)) return true;
      found_ = before;
    }
    return false;
  }

  // Scores times a mask, less a large number where the mask is 0: operand k of the sum is the product.
  bool follow_erased(const ir::Node& sum, int k, ir::Value* value, double factor, bool& is_unproven) {
    const ir::Node* product = producer_of(sum.input(k), "Mul");
    if (!product || !is_read_once(*sum.input(k))) return false;
    const bool subtracts = sum.op_type() == "Sub";
    const double of_scores = subtracts && k == 1 ? -factor : factor, of_other = subtracts && k == 0 ? -factor : factor;
    for (const int m : {0, 1}) {
      ir::Value* kept = product->input(m);
      const auto number = where_erased(sum.input(1 - k), kept, facts_);
      if (!number || !(*number * of_other <= kMasksFrom)) continue;
      is_unproven = !is_ones_and_zeros(kept, facts_);
      if (is_unproven) return false;
      const FoundScores before = found_;
      found_.masks.push_back({FoundMask::Kind::kKeptWhereTrue, kept, *number * of_other, value, true});
      if (follow(product->input(1 - m), of_scores)) return true;
      found_ = before;
    }
    return false;
  }

  bool follow_choice(const ir::Node& node, ir::Value* value, double factor) {
    if (found_.softcap > 0) return refuse(kInsideCap);
    for (const int k : {1, 2}) {
      const auto other = scalar_of(node.input(3 - k), facts_);
      if (!other) continue;
      if (!(*other * factor <= kMasksFrom)) return refuse("what stands for masked scores is no large negative number");
      const auto kind = k == 1 ? FoundMask::Kind::kKeptWhereTrue : FoundMask::Kind::kKeptWhereFalse;
      found_.masks.push_back({kind, node.input(0), *other * factor, value});
      return follow(node.input(k), factor);
    }
    return false;
  }

  // Scores are no lower than the lowest number anyway.
  bool follow_limit(const ir::Node& node, double factor) {
    if (node.inputs().size() != 2 || factor <= 0) return false;
    for (const int k : {0, 1}) {
      const auto limit = scalar_of(node.input(k), facts_);
      const bool is_half = facts_.fact(node.output(0)).dtype == ir::DataType::kFloat16;
      if (limit && *limit <= (is_half ? kLowestHalf : kLowestFloat)) return follow(node.input(1 - k), factor);
    }
    return false;
  }

  bool take_softcap(const ir::Node& node, double factor) {
    if (found_.softcap > 0 || factor <= 0) return false;
    found_.softcap = factor;
    return follow(node.input(0), 1);
  }

  const infer::Inference& facts_;
  const ops::Emit& at_;
  std::string& why_;
  FoundScores found_;
  int steps_ = 0;
};

}  // namespace

FoundWeights find_weights(ir::Value* weights, WeightsAlong along, const infer::Inference& facts, int64_t opset,
                          std::string& why) {
  constexpr int kMostBetween = 4;
  FoundWeights found;
  std::vector<std::pair<const ir::Value*, size_t>> between;  // with how often the pattern itself reads it
  size_t readings = 1;
  for (int depth = 0; weights && depth <= kMostBetween; ++depth) {
    const ir::Node* node = weights->producer();
    if (!node || !node->domain().empty()) return {};
    between.emplace_back(weights, readings);
    readings = 1;
    if (node->op_type() == "Softmax") {
      for (const auto& [value, own] : between) {
        const bool is_returned = value->is_output() || !value->graph()->returned_by(value).empty();
        if (value->uses().size() == own && !is_returned) continue;
        why = value->is_output() ? "its weights are an output" : "its weights are read by something else too";
        return {};
      }
      const int rank = facts.fact(weights).rank();
      const int64_t axis = node->attribute_int("axis", opset < 13 ? 1 : -1),
                    back = along == WeightsAlong::kRows ? 1 : 2;
      const bool is_of_one_axis = back == 1 || opset >= 13;  // before, all axes from one on are one
      found.softmax = node;
      if (rank >= back && is_of_one_axis && (axis == -back || axis == rank - back)) return found;
      if (rank > 0) why = fmt::format("softmax over axis {}", axis < 0 ? axis + rank : axis);
      return {};
    }
    if (node->op_type() == "Where") {
      const int zero = scalar_of(node->input(1), facts) == 0.0 ? 1 : 2;
      if (scalar_of(node->input(zero), facts) != 0.0) return {};
      weights = node->input(3 - zero);
      const ir::Node* is_nan = producer_of(node->input(0), "IsNaN");
      if (is_nan && is_nan->input(0) == weights && zero == 1) {
        readings = 2;
      } else if (found.kept) {
        return {};
      } else {
        found.kept = node->input(0);
        found.is_kept_where_true = zero == 2;
      }
      found.is_guarded = true;
      continue;
    }
    if (node->op_type() == "Reshape") {
      found.is_reshaped = true;
    } else if (!found.lacks_last && leaves_out_last(*node, facts)) {
      found.lacks_last = true;
    } else if (node->op_type() != "Identity" && !is_conversion(*node, facts)) {
      return {};
    }
    weights = node->input(0);
  }
  return {};
}

bool clear_masked(const FoundWeights& weights, FoundScores& scores) {
  if (!weights.kept) return true;
  const auto kind = weights.is_kept_where_true ? FoundMask::Kind::kKeptWhereTrue : FoundMask::Kind::kKeptWhereFalse;
  const auto is_it = [&](const FoundMask& mask) { return mask.kind == kind && mask.value == weights.kept; };
  const auto mask = std::ranges::find_if(scores.masks, is_it);
  if (mask == scores.masks.end()) return false;
  mask->factor = -std::numeric_limits<double>::infinity();
  return true;
}

std::optional<FoundScores> find_scores(ir::Value* value, const infer::Inference& facts, const ops::Emit& at,
                                       std::string& why) {
  return ScoresReader(facts, at, why).read(value);
}

}  // namespace thaw::optimizing
