#include "thaw/dim/expr/program.h"

#include <algorithm>
#include <limits>

#include "thaw/dim/expr/bounds.h"
#include "thaw/dim/expr/scope.h"
#include "thaw/dim/expr/wide.h"

namespace thaw::dim {

Program::Program(std::span<const Dim> roots) {
  for (Dim root : roots) {
    const std::vector<int> found = symbols_of(root);
    symbols_.insert(symbols_.end(), found.begin(), found.end());
  }
  std::sort(symbols_.begin(), symbols_.end());
  symbols_.erase(std::unique(symbols_.begin(), symbols_.end()), symbols_.end());
  slots_.resize(symbols_.size());  // the symbols come first
  for (Dim root : roots) roots_.push_back(slot_of(root));
}

int Program::slot_of(Dim d) {
  if (auto value = d.constant()) {
    slots_.push_back(*value);
    return static_cast<int>(slots_.size()) - 1;
  }
  const Expr* e = d.expr();
  if (const Atom* atom = single_atom(d)) return slot_of(*atom);
  if (auto it = expr_slots_.find(e); it != expr_slots_.end()) return it->second;
  std::vector<Term> terms;
  for (const auto& t : e->terms) {
    std::vector<Factor> factors;
    for (const auto& f : t.monomial->factors) factors.push_back({slot_of(*f.atom), f.power});
    terms.push_back({t.coef, factors_.size(), factors_.size() + factors.size()});
    factors_.insert(factors_.end(), factors.begin(), factors.end());
  }
  slots_.push_back(0);
  const int slot = static_cast<int>(slots_.size()) - 1;
  steps_.push_back({slot, AtomKind::kSymbol, e->constant, terms_.size(), terms_.size() + terms.size()});
  terms_.insert(terms_.end(), terms.begin(), terms.end());
  expr_slots_.emplace(e, slot);
  return slot;
}

int Program::slot_of(const Atom& atom) {
  if (atom.kind == AtomKind::kSymbol) {
    return static_cast<int>(std::lower_bound(symbols_.begin(), symbols_.end(), atom.symbol) - symbols_.begin());
  }
  if (auto it = atom_slots_.find(&atom); it != atom_slots_.end()) return it->second;
  std::vector<int> operands;
  for (Dim d : atom.operands) operands.push_back(slot_of(d));
  slots_.push_back(0);
  const int slot = static_cast<int>(slots_.size()) - 1;
  steps_.push_back({slot, atom.kind, 0, operands_.size(), operands_.size() + operands.size()});
  operands_.insert(operands_.end(), operands.begin(), operands.end());
  atom_slots_.emplace(&atom, slot);
  return slot;
}

Outcome Program::run(std::span<const int64_t> values) {
  std::copy(values.begin(), values.end(), slots_.begin());
  for (const Step& step : steps_) {
    const Outcome outcome = step.kind == AtomKind::kSymbol ? run_sum(step) : run_atom(step);
    if (outcome != Outcome::kValue) return outcome;
  }
  return Outcome::kValue;
}

Outcome Program::run_sum(const Step& step) {
  Wide total = step.constant;
  for (size_t i = step.first; i < step.last; ++i) {
    int64_t product = terms_[i].coef;
    for (size_t j = terms_[i].first; j < terms_[i].last; ++j) {
      for (int k = 0; k < factors_[j].power; ++k) {
        if (__builtin_mul_overflow(product, slots_[static_cast<size_t>(factors_[j].slot)], &product))
          return Outcome::kOverflow;
      }
    }
    total += product;
  }
  if (total <= std::numeric_limits<int64_t>::min() || total > std::numeric_limits<int64_t>::max())
    return Outcome::kOverflow;
  slots_[static_cast<size_t>(step.slot)] = static_cast<int64_t>(total);
  return Outcome::kValue;
}

Outcome Program::run_atom(const Step& step) {
  int64_t result = slots_[static_cast<size_t>(operands_[step.first])];
  for (size_t i = step.first + 1; i < step.last; ++i) {
    const int64_t other = slots_[static_cast<size_t>(operands_[i])];
    switch (step.kind) {
      case AtomKind::kFloor:
        if (other == 0) return Outcome::kUndefined;
        result = floor_quotient(result, other);
        break;
      case AtomKind::kMin:
        result = std::min(result, other);
        break;
      case AtomKind::kMax:
        result = std::max(result, other);
        break;
      default:
        if (result != other && result != 1 && other != 1) return Outcome::kUndefined;
        if (result == 1) result = other;
    }
  }
  slots_[static_cast<size_t>(step.slot)] = result;
  return Outcome::kValue;
}

}  // namespace thaw::dim
