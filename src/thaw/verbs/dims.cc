#include "thaw/dims.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "thaw/core/error.h"
#include "thaw/dim/expr/scope.h"
#include "thaw/dim/prove/prove.h"
#include "thaw/dim/text/text.h"

namespace thaw {
namespace {

constexpr int kMostTerms = 256;

struct LargeScope : dim::Scope {
  LargeScope() { set_budget(kMostTerms); }
};

// An expression in a scope of its own.
struct Expression {
  explicit Expression(const std::string& text) : dim(dim::parse(text, scope)) {}

  std::vector<std::string> names() const {
    std::vector<std::string> names;
    for (const int symbol : dim::symbols_of(dim)) names.push_back(scope.symbols()[static_cast<size_t>(symbol)].name);
    return names;
  }

  LargeScope scope;
  dim::Dim dim;
};

// The order of terms follows that of the scope's symbols: sorted by name, equal expressions have one text.
std::string normal(const std::string& text) {
  std::vector<std::string> names = Expression(text).names();
  std::ranges::sort(names);
  LargeScope scope;
  for (const std::string& name : names) dim::parse(name, scope);
  return dim::to_string(dim::parse(text, scope));
}

Error no_statement(std::string_view text, std::string what) {
  return Error(ErrorCode::kInvalidArgument,
               {.what = std::move(what),
                .where = fmt::format("the statement '{}'", text),
                .expected = "conditions such as 'h % 32 == 0 and w <= h', with what is given before '=>'"});
}

struct Condition {
  dim::Dim left, right;
  std::string_view relation;  // "==" or "<="
};

std::string_view trimmed(std::string_view text) {
  const size_t first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

std::vector<std::string_view> parts_between(std::string_view text, std::string_view separator) {
  std::vector<std::string_view> parts;
  for (size_t at = text.find(separator); at != std::string_view::npos; at = text.find(separator)) {
    parts.push_back(text.substr(0, at));
    text.remove_prefix(at + separator.size());
  }
  parts.push_back(text);
  return parts;
}

Condition read_condition(std::string_view text, std::string_view statement, dim::Scope& scope) {
  constexpr std::array<std::string_view, 5> kRelations{"==", "<=", ">=", "<", ">"};
  for (const std::string_view relation : kRelations) {
    const size_t at = text.find(relation);
    if (at == std::string_view::npos) continue;
    dim::Dim left = dim::parse(trimmed(text.substr(0, at)), scope);
    dim::Dim right = dim::parse(trimmed(text.substr(at + relation.size())), scope);
    if (relation == "==") return {left, right, "=="};
    if (relation.starts_with('>')) std::swap(left, right);
    if (relation.size() == 1) left = left + 1;  // of integers
    return {left, right, "<="};
  }
  throw no_statement(statement, fmt::format("'{}' is no condition", trimmed(text)));
}

std::vector<Condition> read_conditions(std::string_view text, std::string_view statement, dim::Scope& scope) {
  std::vector<Condition> conditions;
  for (const std::string_view part : parts_between(text, " and "))
    conditions.push_back(read_condition(part, statement, scope));
  return conditions;
}

// "h % 32 == 0" as what is known of one symbol, which expressions that are made after are simplified by.
bool assume_remainder(std::string_view text, dim::Scope& scope) {
  const size_t percent = text.find('%'), equal = text.find("==");
  if (percent == std::string_view::npos || equal == std::string_view::npos || percent > equal) return false;
  const auto name = dim::try_parse(trimmed(text.substr(0, percent)), scope);
  const auto modulus = dim::try_parse(trimmed(text.substr(percent + 1, equal - percent - 1)), scope);
  const auto remainder = dim::try_parse(trimmed(text.substr(equal + 2)), scope);
  if (!name || scope.symbol_id(*name) < 0 || !modulus || !remainder) return false;
  const auto by = modulus->constant(), rest = remainder->constant();
  if (!by || !rest || *by < 1 || *rest < 0 || *rest >= *by) return false;
  scope.assume_divisible(*name, *by, *rest);
  return true;
}

// "h == 2*w": what a symbol is in all that follows.
using Definitions = std::unordered_map<int, dim::Dim>;

bool define(const Condition& condition, dim::Scope& scope, Definitions& definitions) {
  if (condition.relation != "==") return false;
  for (const auto& [symbol, value] :
       {std::pair(condition.left, condition.right), std::pair(condition.right, condition.left)}) {
    const int id = scope.symbol_id(symbol);
    if (id < 0 || std::ranges::count(dim::symbols_of(value), id) > 0) continue;
    const dim::SymbolInfo known = scope.symbols()[static_cast<size_t>(id)];
    if (known.modulus != 1) continue;
    if (known.lower != dim::SymbolInfo::kNoLower) scope.assume_not_negative(value - known.lower);
    if (known.upper) scope.assume_not_negative(dim::Dim(*known.upper) - value);
    for (auto& [other, defined] : definitions) defined = dim::substitute(defined, Definitions{{id, value}});
    definitions.emplace(id, value);
    return true;
  }
  return false;
}

// "h <= 64" as a range, and all other conditions as facts.
void assume(const Condition& condition, dim::Scope& scope) {
  const auto narrow = [&](dim::Dim low, dim::Dim high) {
    if (scope.symbol_id(low) >= 0 && high.is_constant())
      scope.assume_range(low, dim::SymbolInfo::kNoLower, high.constant());
    else if (scope.symbol_id(high) >= 0 && low.is_constant())
      scope.assume_range(high, *low.constant(), std::nullopt);
    else
      scope.assume_not_negative(high - low);
  };
  narrow(condition.left, condition.right);
  if (condition.relation == "==") narrow(condition.right, condition.left);
}

dim::Assignment with_defined(dim::Assignment values, const Definitions& definitions) {
  for (const auto& [symbol, value] : definitions)
    if (const auto number = dim::evaluate(value, values)) values[symbol] = *number;
  return values;
}

NamedSizes named(const dim::Assignment& values, const dim::Scope& scope) {
  NamedSizes sizes;
  for (const auto& [symbol, value] : values)
    sizes.emplace_back(scope.symbols()[static_cast<size_t>(symbol)].name, value);
  std::ranges::sort(sizes);
  return sizes;
}

Size combine(const Size& a, std::string_view between, const Size& b) {
  return Size::parse(fmt::format("({}) {} ({})", a.text(), between, b.text()));
}

// "floor((a)/(b))", "min((a), (b))".
Size call(std::string_view function, const Size& a, char between, const Size& b) {
  return Size::parse(fmt::format("{}(({}) {} ({}))", function, a.text(), between, b.text()));
}

}  // namespace

Size Size::parse(const std::string& text) { return Size(normal(text)); }

Size::Size(int64_t value) : text_(std::to_string(value)) {}

std::optional<int64_t> Size::constant() const { return Expression(text_).dim.constant(); }

std::vector<std::string> Size::symbols() const { return Expression(text_).names(); }

std::optional<int64_t> Size::evaluate(const NamedSizes& values) const {
  const Expression expression(text_);
  dim::Assignment sizes;
  for (const auto& [name, value] : values)
    if (const auto symbol = expression.scope.find(name)) sizes[expression.scope.symbol_id(*symbol)] = value;
  return dim::evaluate(expression.dim, sizes);
}

Size Size::substitute(const std::map<std::string, Size>& replacements) const {
  Expression expression(text_);
  Definitions by_symbol;
  for (const auto& [name, size] : replacements)
    if (const auto symbol = expression.scope.find(name))
      by_symbol.emplace(expression.scope.symbol_id(*symbol), dim::parse(size.text(), expression.scope));
  const dim::Dim made = dim::substitute(expression.dim, by_symbol);
  if (made.is_unknown())
    throw Error(ErrorCode::kInvalidArgument, {.what = "the expression has no value with these sizes", .where = text_});
  return Size(normal(dim::to_string(made)));
}

Size operator+(const Size& a, const Size& b) { return combine(a, "+", b); }
Size operator-(const Size& a, const Size& b) { return combine(a, "-", b); }
Size operator*(const Size& a, const Size& b) { return combine(a, "*", b); }
Size floor_div(const Size& a, const Size& b) { return call("floor", a, '/', b); }
Size ceil_div(const Size& a, const Size& b) { return call("ceil", a, '/', b); }
Size remainder(const Size& a, const Size& b) { return combine(a, "%", b); }
Size min(const Size& a, const Size& b) { return call("min", a, ',', b); }
Size max(const Size& a, const Size& b) { return call("max", a, ',', b); }

SizeStatement prove(const std::string& statement) {
  LargeScope scope;
  const std::vector<std::string_view> sides = parts_between(statement, "=>");
  if (sides.size() > 2) throw no_statement(statement, "'=>' stands twice");
  Definitions definitions;
  const auto with_definitions = [&](Condition condition) {
    condition.left = dim::substitute(condition.left, definitions);
    condition.right = dim::substitute(condition.right, definitions);
    return condition;
  };
  if (sides.size() == 2) {
    const std::vector<std::string_view> given = parts_between(sides[0], " and ");
    for (const std::string_view part : given) assume_remainder(part, scope);
    for (const std::string_view part : given) {
      const Condition condition = with_definitions(read_condition(part, statement, scope));
      if (!define(condition, scope, definitions)) assume(condition, scope);
    }
  }
  for (const Condition& read : read_conditions(sides.back(), statement, scope)) {
    const Condition condition = with_definitions(read);
    const dim::Relation relation = condition.relation == "==" ? dim::Relation::kEqual : dim::Relation::kAtMost;
    const dim::Proof proof = dim::prove(relation, condition.left, condition.right);
    if (proof.verdict == dim::Verdict::kNo)
      return {.verdict = ProofVerdict::kRefuted,
              .counterexample = named(with_defined(proof.counterexample, definitions), scope),
              .reason = {}};
    if (proof.verdict == dim::Verdict::kUnknown) return {.counterexample = {}, .reason = proof.reason};
  }
  return {.verdict = ProofVerdict::kProven, .counterexample = {}, .reason = {}};
}

}  // namespace thaw
