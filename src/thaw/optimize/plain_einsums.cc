// Einsums that are a Transpose, or a MatMul of transposed operands.
#include <algorithm>
#include <string>

#include "thaw/ops/onnx/einsum.h"
#include "thaw/optimize/passes.h"

namespace thaw::optimizing {
namespace {

struct PlainEquation {
  std::vector<std::string> terms;
  std::string result;
};

bool is_once_each(const std::string& labels) {
  std::string sorted = labels;
  std::ranges::sort(sorted);
  return std::ranges::adjacent_find(sorted) == sorted.end();
}

// One letter an axis, no axis twice in a term, no ellipsis; nullopt for others.
std::optional<PlainEquation> equation_of(const Site& s) {
  const auto equation = ops::parse_equation(s.node().attribute_string("equation", ""));
  if (!equation || equation->terms.size() != s.node().inputs().size()) return std::nullopt;
  PlainEquation found{equation->terms, equation->result()};
  const auto is_plain = [](const std::string& labels) {
    return is_once_each(labels) && labels.find(ops::kEllipsis) == std::string::npos;
  };
  if (!is_plain(found.result) || !std::ranges::all_of(found.terms, is_plain)) return std::nullopt;
  for (size_t i = 0; i < found.terms.size(); ++i)
    if (s.in(static_cast<int>(i)).rank() != static_cast<int>(found.terms[i].size())) return std::nullopt;
  return found;
}

ir::Value* in_order(const Site& s, ir::Value* value, const std::string& from, const std::string& to) {
  std::vector<int64_t> order;
  for (const char label : to) order.push_back(static_cast<int64_t>(from.find(label)));
  return std::ranges::is_sorted(order) ? value : s.at().transpose(value, order);
}

ir::Value* transposed_only(const Site& s) {
  const auto equation = equation_of(s);
  if (!equation || equation->terms.size() != 1) return nullptr;
  const std::string &from = equation->terms[0], &to = equation->result;
  return std::ranges::is_permutation(from, to) ? in_order(s, s.input(0), from, to) : nullptr;
}

// Of two operands with the same leading axes, one axis that is summed over, and one of its own each.
ir::Value* one_product(const Site& s) {
  const auto equation = equation_of(s);
  if (!equation || equation->terms.size() != 2) return nullptr;
  const std::string &a = equation->terms[0], &b = equation->terms[1], &to = equation->result;
  std::string leading, rows, columns, summed;
  const auto is_in = [](const std::string& labels, char label) { return labels.find(label) != std::string::npos; };
  for (const char label : to) (is_in(a, label) ? is_in(b, label) ? leading : rows : columns) += label;
  for (const char label : a) {
    if (is_in(to, label)) continue;
    if (!is_in(b, label)) return nullptr;
    summed += label;
  }
  const size_t ranks = leading.size() + 2;
  if (rows.size() != 1 || columns.size() != 1 || summed.size() != 1 || a.size() != ranks || b.size() != ranks ||
      !is_in(b, columns[0]))
    return nullptr;
  for (const char label : leading + summed)  // an einsum spreads axes of 1 where a MatMul may not
    if (!dim::same(s.in(0).dim(static_cast<int>(a.find(label))), s.in(1).dim(static_cast<int>(b.find(label)))))
      return nullptr;
  ir::Value* left = in_order(s, s.input(0), a, leading + rows + summed);
  ir::Value* right = in_order(s, s.input(1), b, leading + summed + columns);
  return in_order(s, s.at().emit("MatMul", {left, right}), leading + rows + columns, to);
}

const Simplification kEinsums[] = {
    {"an Einsum that is a Transpose", {"Einsum"}, transposed_only},
    {"an Einsum that is a MatMul", {"Einsum"}, one_product},
};

}  // namespace

std::span<const Simplification> plain_einsums() { return kEinsums; }

}  // namespace thaw::optimizing
