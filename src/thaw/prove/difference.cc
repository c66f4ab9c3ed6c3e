#include "thaw/prove/difference.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace thaw::proving {
namespace {

std::string shape_text(const Term& term) { return term.shape ? fmt::format(" of {} axes", term.shape->size()) : ""; }

std::string describe(const Terms& terms, TermId id, size_t model) {
  const Term& term = terms[id];
  switch (term.kind) {
    case Term::Kind::kInput:
      return term.op.empty() ? "a body's parameter" : fmt::format("input '{}'", term.op);
    case Term::Kind::kConstant:
      return "a constant" + shape_text(term);
    case Term::Kind::kSizes:
      return "integers" + shape_text(term);
    default:
      break;
  }
  if (term.is("One")) return "a number";
  if (const ir::Node* node = term.made_by[model]) return node->describe();
  if (term.kind == Term::Kind::kSum) return "a sum";
  if (term.kind == Term::Kind::kProduct) return "a product";
  return term.op;
}

bool is_commutative(const Term& term) { return term.kind == Term::Kind::kSum || term.kind == Term::Kind::kProduct; }

bool does_alike(const Term& a, const Term& b) {
  return a.kind == b.kind && a.op == b.op && a.dtype == b.dtype && a.shape && b.shape && is_same(*a.shape, *b.shape);
}

// The arguments that only one has, each with its number.
std::vector<TermId> left_over(const Term& of, const Term& other) {
  std::vector<TermId> left;
  for (size_t i = 0; i < of.arguments.size(); ++i) {
    bool is_shared = false;
    for (size_t k = 0; k < other.arguments.size() && !is_shared; ++k)
      is_shared = of.arguments[i] == other.arguments[k] && of.numbers[i] == other.numbers[k];
    if (!is_shared) left.push_back(of.arguments[i]);
  }
  return left;
}

// What the two are made of that differs, where all else is the same.
std::optional<std::pair<TermId, TermId>> inner_difference(const Terms& terms, TermId of, TermId with) {
  const Term &a = terms[of], &b = terms[with];
  if (a.kind != b.kind || a.dtype != b.dtype || a.arguments.empty()) return std::nullopt;
  if (is_commutative(a)) {
    const auto x = left_over(a, b), y = left_over(b, a);
    if (x.empty() || y.empty()) return std::nullopt;
    // What is made first, and what does the same there, where anything does.
    const TermId first = *std::ranges::min_element(x);
    const auto like = std::ranges::find_if(y, [&](TermId id) { return does_alike(terms[id], terms[first]); });
    if (like == y.end() && x.size() != y.size()) return std::nullopt;
    const TermId other = like != y.end() ? *like : *std::ranges::min_element(y);
    if (first == other) return std::nullopt;
    return std::pair(first, other);
  }
  if (a.op != b.op || a.settings != b.settings || a.ints != b.ints || a.dims.size() != b.dims.size() ||
      a.arguments.size() != b.arguments.size())
    return std::nullopt;
  for (size_t i = 0; i < a.dims.size(); ++i)
    if (!dim::same(a.dims[i], b.dims[i])) return std::nullopt;
  for (size_t i = 0; i < a.arguments.size(); ++i)
    if (a.arguments[i] != b.arguments[i]) {
      if (a.arguments[i] == kNoTerm || b.arguments[i] == kNoTerm) return std::nullopt;
      return std::pair(a.arguments[i], b.arguments[i]);
    }
  return std::nullopt;
}

}  // namespace

std::string difference(const Terms& terms, TermId a, TermId b) {
  // Arguments have smaller numbers than what they are arguments of, so that this ends.
  while (const auto inner = inner_difference(terms, a, b)) std::tie(a, b) = *inner;
  return fmt::format("{} against {}", describe(terms, a, 0), describe(terms, b, 1));
}

}  // namespace thaw::proving
