#include "thaw/dim/expr/substitute.h"

#include <algorithm>

#include "thaw/dim/expr/expr.h"
#include "thaw/dim/expr/scope.h"

namespace thaw::dim {
namespace {

Dim rebuild_atom(const Atom& atom, const Replacement& replacement) {
  if (const auto replaced = replacement(atom)) return *replaced;
  if (atom.kind == AtomKind::kSymbol) return Dim();
  Dim result = rebuild(atom.operands[0], replacement);
  for (size_t i = 1; i < atom.operands.size() && result.is_known(); ++i) {
    const Dim operand = rebuild(atom.operands[i], replacement);
    switch (atom.kind) {
      case AtomKind::kFloor:
        result = floor_div(result, operand);
        break;
      case AtomKind::kMin:
        result = min(result, operand);
        break;
      case AtomKind::kMax:
        result = max(result, operand);
        break;
      default:
        result = broadcast(result, operand);
    }
  }
  return result;
}

void collect_symbols(Dim d, std::vector<int>& found) {
  if (!d.is_symbolic()) return;
  for (const Term& t : d.expr()->terms) {
    for (const Factor& f : t.monomial->factors) {
      if (f.atom->kind == AtomKind::kSymbol) found.push_back(f.atom->symbol);
      for (Dim operand : f.atom->operands) collect_symbols(operand, found);
    }
  }
}

}  // namespace

Dim rebuild(Dim d, const Replacement& replacement) {
  if (!d.is_symbolic()) return d;
  Dim result = d.expr()->constant;
  for (const Term& t : d.expr()->terms) {
    Dim product = t.coef;
    for (const Factor& f : t.monomial->factors) {
      const Dim factor = rebuild_atom(*f.atom, replacement);
      for (int i = 0; i < f.power; ++i) product = product * factor;
    }
    result = result + product;
    if (result.is_unknown()) return result;
  }
  return result;
}

Dim substitute(Dim d, const Assignment& values) {
  Scope* scope = scope_of(d);
  if (scope == nullptr) return d;
  return rebuild(d, [&](const Atom& atom) -> std::optional<Dim> {
    if (atom.kind != AtomKind::kSymbol) return std::nullopt;
    auto it = values.find(atom.symbol);
    return it == values.end() ? scope->symbol_at(atom.symbol) : Dim(it->second);
  });
}

Dim substitute(Dim d, const std::unordered_map<int, Dim>& replacements) {
  Scope* scope = scope_of(d);
  if (scope == nullptr) return d;
  return rebuild(d, [&](const Atom& atom) -> std::optional<Dim> {
    if (atom.kind != AtomKind::kSymbol) return std::nullopt;
    auto it = replacements.find(atom.symbol);
    return it == replacements.end() ? scope->symbol_at(atom.symbol) : it->second;
  });
}

std::vector<int> symbols_of(Dim d) {
  std::vector<int> found;
  collect_symbols(d, found);
  std::sort(found.begin(), found.end());
  found.erase(std::unique(found.begin(), found.end()), found.end());
  return found;
}

}  // namespace thaw::dim
