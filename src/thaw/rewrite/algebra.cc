#include "thaw/rewrite/algebra.h"

#include <algorithm>
#include <cmath>
#include <string_view>

#include "thaw/core/error.h"

namespace thaw::rewrite {
namespace {

constexpr size_t kMostParts = 16;  // of one product or sum; more are left as they are

bool is(const ir::Node& node, std::string_view op) { return node.op_type() == op && node.domain().empty(); }

// Whether nothing but one node reads the value, so that it may become part of something else.
bool is_read_once(const ir::Value& value) { return value.uses().size() == 1 && !value.is_output(); }

template <typename Part>
Part& part_of(std::vector<Part>& parts, ir::Value* value, double Part::* number) {
  const auto at = std::ranges::find(parts, value, &Part::value);
  if (at != parts.end()) return *at;
  Part& part = parts.emplace_back();
  part.value = value;
  part.*number = 0;
  return part;
}

// A node that can be taken apart has all of its operands: a file may leave out one that the operator needs.
bool has_all_operands(const ir::Node& node) { return std::ranges::find(node.inputs(), nullptr) == node.inputs().end(); }

class ProductReader {
 public:
  explicit ProductReader(const infer::Result& facts) : facts_(facts) {}

  Product read(ir::Value* value, int depth) {
    multiply(value, 1, depth, /*is_root=*/true);
    std::erase_if(out_.factors, [](const Factor& factor) { return factor.exponent == 0; });
    return std::move(out_);
  }

 private:
  void multiply(ir::Value* value, double exponent, int depth, bool is_root = false) {
    value = look_through(value, facts_, &out_.nodes);
    if (const auto number = number_of(*value)) {
      out_.coefficient *= std::pow(*number, exponent);
      return;
    }
    const ir::Node* node = value->producer();
    const bool opens = node && has_all_operands(*node) && depth > 0 && (is_root || is_read_once(*value)) &&
                       out_.factors.size() < kMostParts;
    if (!opens || !decompose(*node, exponent, depth - 1))
      part_of(out_.factors, value, &Factor::exponent).exponent += exponent;
  }

  bool decompose(const ir::Node& node, double exponent, int depth) {
    const auto open = [&](std::initializer_list<double> exponents) {
      out_.nodes.push_back(&node);
      int i = 0;
      for (const double each : exponents) multiply(node.input(i++), each * exponent, depth);
      return true;
    };
    const bool is_whole = exponent == static_cast<double>(static_cast<int64_t>(exponent));
    if (is(node, "Mul") && is_whole) return open({1, 1});
    if (is(node, "Div") && is_whole) return open({1, -1});
    if (is(node, "Reciprocal")) return open({-1});
    if (is(node, "Sqrt")) return open({0.5});
    if (is(node, "Neg") && is_whole) {
      if (static_cast<int64_t>(exponent) % 2 != 0) out_.coefficient = -out_.coefficient;
      return open({1});
    }
    const auto power = is(node, "Pow") && node.input(1) ? number_of(*node.input(1)) : std::nullopt;
    // (x^2)^(1/2) is |x|.
    if (!power || (!is_whole && *power != 1)) return false;
    return open({*power});
  }

  const infer::Result& facts_;
  Product out_;
};

class SumReader {
 public:
  explicit SumReader(const infer::Result& facts) : facts_(facts) {}

  Sum read(ir::Value* value, int depth) {
    add(value, 1, depth, /*is_root=*/true);
    std::erase_if(out_.terms, [](const Summand& term) { return term.coefficient == 0; });
    return std::move(out_);
  }

 private:
  void add(ir::Value* value, double coefficient, int depth, bool is_root = false) {
    value = look_through(value, facts_, &out_.nodes);
    if (const auto number = number_of(*value)) {
      out_.constant += coefficient * *number;
      return;
    }
    const ir::Node* node = value->producer();
    const bool opens = node && has_all_operands(*node) && depth > 0 && (is_root || is_read_once(*value)) &&
                       out_.terms.size() < kMostParts;
    const bool adds = opens && (is(*node, "Add") || is(*node, "Sum"));
    const bool subtracts = opens && is(*node, "Sub"), negates = opens && is(*node, "Neg");
    if (!adds && !subtracts && !negates) {
      part_of(out_.terms, value, &Summand::coefficient).coefficient += coefficient;
      return;
    }
    out_.nodes.push_back(node);
    for (int i = 0; i < static_cast<int>(node->inputs().size()); ++i)
      add(node->input(i), (subtracts && i == 1) || negates ? -coefficient : coefficient, depth - 1);
  }

  const infer::Result& facts_;
  Sum out_;
};

}  // namespace

std::optional<double> number_of(const ir::Value& value) {
  const ir::Tensor* tensor = value.fixed_constant();
  if (!tensor || !(ir::is_floating(tensor->data_type) || ir::is_integer(tensor->data_type))) return std::nullopt;
  try {
    return tensor->num_elements() == 1 ? std::optional(tensor->to_double().front()) : std::nullopt;
  } catch (const Error&) {
    return std::nullopt;  // its data cannot be read
  }
}

ir::Value* look_through(ir::Value* value, const infer::Result& facts, std::vector<const ir::Node*>* nodes) {
  while (const ir::Node* node = value->producer()) {
    const bool converts_nothing = is(*node, "Cast") && node->input(0) &&
                                  facts.fact(node->input(0)).dtype == facts.fact(value).dtype &&
                                  facts.fact(value).dtype != ir::DataType::kUndefined;
    if (!is(*node, "Identity") && !converts_nothing) return value;
    if (nodes) nodes->push_back(node);
    value = node->input(0);
  }
  return value;
}

Product product_of(ir::Value* value, const infer::Result& facts, int depth) {
  return ProductReader(facts).read(value, depth);
}

Sum sum_of(ir::Value* value, const infer::Result& facts, int depth) { return SumReader(facts).read(value, depth); }

}  // namespace thaw::rewrite
