// Formulas as people write them.
#include <algorithm>
#include <iterator>
#include <string_view>
#include <unordered_set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "thaw/dim/text/text.h"
#include "thaw/lift/table/formula/formula.h"

namespace thaw::lifting {
namespace {

// How strongly an operator binds what it stands between.
enum class Binding : uint8_t { kCondition, kSum, kProduct, kWord };

struct Infix {
  FormulaOp op;
  std::string_view sign;
  Binding binding;
};
constexpr Infix kInfixes[] = {
    {FormulaOp::kAdd, "+", Binding::kSum},        {FormulaOp::kSub, "-", Binding::kSum},
    {FormulaOp::kMul, "*", Binding::kProduct},    {FormulaOp::kDiv, "/", Binding::kProduct},
    {FormulaOp::kMod, "%", Binding::kProduct},    {FormulaOp::kEqual, "==", Binding::kCondition},
    {FormulaOp::kLess, "<", Binding::kCondition}, {FormulaOp::kAnd, "and", Binding::kCondition},
    {FormulaOp::kOr, "or", Binding::kCondition}};

struct Word {
  FormulaOp op;
  std::string_view name;
};
constexpr Word kWords[] = {{FormulaOp::kMin, "min"},     {FormulaOp::kMax, "max"},        {FormulaOp::kNot, "not"},
                           {FormulaOp::kWhere, "where"}, {FormulaOp::kAbs, "abs"},        {FormulaOp::kCos, "cos"},
                           {FormulaOp::kSin, "sin"},     {FormulaOp::kLog, "log"},        {FormulaOp::kSqrt, "sqrt"},
                           {FormulaOp::kWhole, "floor"}, {FormulaOp::kRunningSum, "sum"}, {FormulaOp::kMade, "table"}};

struct Text {
  std::string text;
  Binding binding = Binding::kWord;
  std::string in(Binding around, bool is_right) const {
    return binding > around || (binding == around && !is_right) ? text : "(" + text + ")";
  }
};

Text text_of(const Formula& formula, bool names_sizes) {
  const FormulaNode& node = formula.node();
  std::vector<Text> operands;
  for (const Formula& operand : node.operands) operands.push_back(text_of(operand, names_sizes));
  switch (node.op) {
    case FormulaOp::kPosition:
      return {fmt::format("i{}", node.axis)};
    case FormulaOp::kSize: {
      std::string size = names_sizes ? dim::to_string(node.size.dim) : "n";
      return {size, size.find(' ') == std::string::npos ? Binding::kWord : Binding::kSum};
    }
    case FormulaOp::kNumbers:
      return {node.numbers.size() == 1 ? fmt::format("{:.9g}", node.numbers[0])
                                       : fmt::format("[{:.9g}]", fmt::join(node.numbers, ", "))};
    case FormulaOp::kReal:
    case FormulaOp::kInteger:
    case FormulaOp::kSingle:
      return operands[0];
    case FormulaOp::kLookup:
      return {fmt::format("kept[{}]", operands[0].text)};
    default:
      break;
  }
  for (const Infix& infix : kInfixes)
    if (infix.op == node.op)
      return {fmt::format("{} {} {}", operands[0].in(infix.binding, false), infix.sign,
                          operands[1].in(infix.binding, true)),
              infix.binding};
  std::vector<std::string> arguments;
  for (const Text& operand : operands) arguments.push_back(operand.text);
  for (const Word& word : kWords)
    if (word.op == node.op) return {fmt::format("{}({})", word.name, fmt::join(arguments, ", "))};
  return {"?"};
}

}  // namespace

std::string to_string(const Formula& formula) { return text_of(formula, true).text; }
std::string form_of(const Formula& formula) { return text_of(formula, false).text; }

namespace {

// Calls see(const FormulaNode&) with each node once, those that read others first.
template <typename See>
void visit_nodes(const Formula& formula, std::unordered_set<const FormulaNode*>& seen, const See& see) {
  const FormulaNode& node = formula.node();
  if (!seen.insert(&node).second) return;
  see(node);
  for (const Formula& operand : node.operands) visit_nodes(operand, seen, see);
}
template <typename See>
void for_each_node(const Formula& formula, const See& see) {
  std::unordered_set<const FormulaNode*> seen;
  visit_nodes(formula, seen, see);
}

// The axis that a formula is the position along, a number moved or not.
std::optional<int> axis_of(const Formula& formula) {
  const FormulaNode& node = formula.node();
  if (node.op == FormulaOp::kPosition) return node.axis;
  if (node.op != FormulaOp::kAdd && node.op != FormulaOp::kSub) return std::nullopt;
  const FormulaNode& moved = node.operands[1].node();
  return moved.op == FormulaOp::kNumbers && moved.numbers.size() == 1 ? axis_of(node.operands[0]) : std::nullopt;
}

}  // namespace

std::vector<dim::Dim> sizes_in(const Formula& formula) {
  std::vector<dim::Dim> sizes;
  for_each_node(formula, [&](const FormulaNode& node) {
    if (node.op == FormulaOp::kSize) sizes.push_back(node.size.dim);
    if (node.op == FormulaOp::kMade)
      for (const Size& size : node.made->sizes) sizes.push_back(size.dim);
  });
  return sizes;
}

std::vector<double> numbers_in(const Formula& formula) {
  constexpr size_t kMostNumbers = 64;  // of a list: longer ones were learned
  std::vector<double> numbers;
  for_each_node(formula, [&](const FormulaNode& node) {
    if (node.numbers.size() <= kMostNumbers) std::ranges::copy(node.numbers, std::back_inserter(numbers));
  });
  return numbers;
}

std::vector<std::pair<int, int64_t>> periods_in(const Formula& formula) {
  std::vector<std::pair<int, int64_t>> periods;
  for_each_node(formula, [&](const FormulaNode& node) {
    if (node.op != FormulaOp::kMod) return;
    const FormulaNode& by = node.operands[1].node();
    const auto axis = axis_of(node.operands[0]);
    if (axis && by.op == FormulaOp::kNumbers && by.numbers.size() == 1)
      periods.emplace_back(*axis, static_cast<int64_t>(by.numbers[0]));
  });
  return periods;
}

}  // namespace thaw::lifting
