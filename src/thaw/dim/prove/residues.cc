#include "thaw/dim/prove/residues.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "thaw/dim/expr/range.h"
#include "thaw/dim/expr/substitute.h"

namespace thaw::dim {
namespace {

constexpr int64_t kMaxModulus = 4096;
constexpr int kCaseBudget = 256;

// What each symbol must be known modulo, for the polynomial d, with its floors, to be known modulo m.
class Moduli {
 public:
  void require(Dim d, int64_t m) {
    if (!d.is_symbolic() || m > kMaxModulus) return;
    for (const Term& t : d.expr()->terms) {
      const int64_t needed = m / std::gcd(m, t.coef);
      for (const Factor& f : t.monomial->factors) require(*f.atom, needed);
    }
  }

  std::map<int, int64_t> take() {
    std::erase_if(found_, [](const auto& entry) { return entry.second > kMaxModulus; });
    return std::move(found_);
  }

 private:
  void require(const Atom& atom, int64_t m) {
    switch (atom.kind) {
      case AtomKind::kSymbol: {
        int64_t& modulus = found_.try_emplace(atom.symbol, 1).first->second;
        if (modulus <= kMaxModulus) modulus = std::lcm(modulus, m);
        break;
      }
      case AtomKind::kFloor: {
        const auto divisor = atom.operands[1].constant();
        // Over a symbolic divisor, only what stands inside is made simpler.
        if (divisor && *divisor <= kMaxModulus) return require(atom.operands[0], *divisor * m);
        require(atom.operands[0], 1);
        return require(atom.operands[1], 1);
      }
      default:
        for (Dim operand : atom.operands) require(operand, m);
    }
  }

  std::map<int, int64_t> found_;
};

// How many values a symbol has remainders for, given what is assumed of it already.
int64_t residues(int64_t modulus, const SymbolInfo& info) { return modulus / info.modulus; }

}  // namespace

std::map<int, int64_t> moduli_of(const Statement& statement) {
  Moduli moduli;
  const auto divisor = statement.b.constant();
  const bool by_constant = statement.relation == Relation::kDivisible && divisor && *divisor != 0;
  moduli.require(statement.a, by_constant ? std::max(*divisor, -*divisor) : 1);
  moduli.require(statement.b, 1);
  return moduli.take();
}

Cases::Cases(const Statement& statement, const std::map<int, int64_t>& moduli) : statement_(statement) {
  const Scope& scope = *scope_of(statement);
  for (const int id : symbols_of(statement)) {
    const SymbolInfo& info = scope.symbols()[static_cast<size_t>(id)];
    const auto wanted = moduli.find(id);
    int64_t modulus = info.modulus;
    if (wanted != moduli.end()) {
      const int64_t factor = wanted->second / std::gcd(wanted->second, info.modulus);
      if (__builtin_mul_overflow(info.modulus, factor, &modulus)) modulus = info.modulus;
    }
    symbols_.push_back({id, &info, modulus});
    if (__builtin_mul_overflow(count_, residues(modulus, info), &count_)) count_ = std::numeric_limits<int64_t>::max();
  }
}

std::unique_ptr<Case> Cases::next() {
  while (next_ < count_) {
    if (auto found = build(next_++)) return found;
  }
  return nullptr;
}

std::unique_ptr<Case> Cases::build(int64_t index) const {
  auto made = std::make_unique<Case>();
  made->scope = std::make_unique<Scope>();
  made->scope->set_budget(kCaseBudget);
  made->scope->spend_of(scope_of(statement_)->spends_of());
  std::vector<Dim> replacements;
  for (const Symbol& s : symbols_) {
    const int64_t ways = residues(s.modulus, *s.info);
    const int64_t remainder = s.info->remainder + index % ways * s.info->modulus;
    index /= ways;
    const Bounds bounds = symbol_bounds(*s.info);
    // Count from the lowest admitted value where there is one, so that k is 0 or more.
    int64_t lowest = remainder;
    const bool counted = bounds.has_lower();
    if (counted) {
      const int64_t step = floor_remainder(remainder - floor_remainder(bounds.lower, s.modulus), s.modulus);
      if (__builtin_add_overflow(bounds.lower, step, &lowest) || lowest > bounds.upper) return nullptr;
    }
    made->lowest.push_back(lowest);
    const Dim k = made->scope->fresh("k", SymbolKind::kInputValue);
    int64_t reach = 0;
    const bool finite = bounds.has_upper() && !__builtin_sub_overflow(bounds.upper, lowest, &reach);
    const auto last = finite ? std::optional(floor_quotient(reach, s.modulus)) : std::nullopt;
    if (counted && last == 0) {
      replacements.push_back(Dim(lowest));
      continue;
    }
    made->scope->assume_range(k, counted ? 0 : SymbolInfo::kNoLower, last);
    replacements.push_back(s.modulus * k + lowest);
  }
  const Replacement replace = [&](const Atom& atom) -> std::optional<Dim> {
    if (atom.kind != AtomKind::kSymbol) return std::nullopt;
    const auto it = std::lower_bound(symbols_.begin(), symbols_.end(), atom.symbol,
                                     [](const Symbol& s, int id) { return s.id < id; });
    return replacements[static_cast<size_t>(it - symbols_.begin())];
  };
  made->statement = {statement_.relation, rebuild(statement_.a, replace), rebuild(statement_.b, replace)};
  // A fact past the budget is left out: what remains proves less.
  for (const Dim fact : statement_.given)
    if (const Dim rebuilt = rebuild(fact, replace); rebuilt.is_known()) made->statement.given.push_back(rebuilt);
  return made;
}

}  // namespace thaw::dim
