// The tables behind a Scope: interned atoms, monomials and expressions, and remembered results. Internal to dim/.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "thaw/dim/expr/expr.h"
#include "thaw/dim/expr/intern_table.h"
#include "thaw/dim/expr/proof.h"
#include "thaw/dim/expr/scope.h"

namespace thaw::dim {

// Nesting of floor, min, max and broadcast past which a result is unknown; keeps every recursive walk shallow.
inline constexpr int kMaxDepth = 24;
// Sum of the powers in a monomial past which a result is unknown.
inline constexpr int kMaxDegree = 32;
// What a remembered result takes, about, and an interned object beside itself.
inline constexpr size_t kBytesRemembered = 96, kBytesOfSlot = 64;
// The highest value of a size with no stated upper bound: no tensor has a longer axis.
inline constexpr int64_t kLargestDim = int64_t{1} << 40;

// The operations whose results a scope remembers.
enum class Op : uint8_t { kFloorDiv, kMin, kMax, kBroadcast };

struct OpKey {
  Op op;
  Dim a, b;
  bool operator==(const OpKey& other) const;
};
struct OpKeyHash {
  size_t operator()(const OpKey& key) const;
};

// A relation between the two operands of the key.
struct ProofKey {
  Relation relation;
  OpKey operands;
  bool operator==(const ProofKey& other) const = default;
};
struct ProofKeyHash {
  size_t operator()(const ProofKey& key) const {
    return OpKeyHash()(key.operands) * 4 + static_cast<size_t>(key.relation);
  }
};

struct Scope::Impl {
  explicit Impl(Scope* owner) : scope(owner) {}

  // The interned objects; null where a limit (degree, depth, size past the budget) is passed.
  const Atom* symbol_atom(int symbol);
  const Atom* atom(AtomKind kind, std::span<const Dim> operands);
  const Monomial* monomial(std::span<const Factor> factors);  // ascending by atom id
  const Monomial* monomial(const Atom* atom);
  const Monomial* multiply(const Monomial* a, const Monomial* b);
  // Sorted terms with coefficients other than 0; a constant for none; unknown past the budget.
  Dim expression(int64_t constant, std::span<const Term> terms);
  // The atom as a Dim; unknown for null.
  Dim dim_of(const Atom* atom);

  void pair_halves(const Atom* half);  // sets other_half of floor((x + 0 or 1)/2), and of the other where that exists
  int add_symbol(std::string text, SymbolKind kind);
  std::string free_text(const std::string& wanted) const;  // `wanted`, or wanted_2, wanted_3, … where that is taken
  void assumptions_changed();
  // Counts steps of arithmetic, about as many a visit as take its time; false once the budget is out.
  bool work(size_t steps) {
    if (!budget) return true;
    pending += steps;
    if (pending < kStepsOfVisit) return !budget->is_out();
    const uint64_t visits = pending / kStepsOfVisit;
    pending %= kStepsOfVisit;
    return budget->spend(visits);
  }

  Scope* scope;
  std::vector<SymbolInfo> symbols;
  std::vector<Dim> symbol_dims;
  std::vector<Dim> facts;                           // each is 0 or more
  std::unordered_map<std::string, int> by_name;     // as the caller named it
  std::unordered_map<std::string, int> by_element;  // input values, as NAME[i] with the caller's NAME
  std::unordered_map<std::string, int> by_text;     // as it is printed
  std::unordered_map<std::string, int> suffixes;    // the next number to try for a name that is taken
  int term_budget = 64;
  static constexpr size_t kStepsOfVisit = 32;
  std::shared_ptr<Budget> budget;  // null: no bounds
  HeldBytes held;
  size_t pending = 0;  // steps that are less than a visit
  uint32_t epoch = 1;  // counts changes of the assumptions: what was derived from older ones is stale

  InternTable<Atom> atoms;
  InternTable<Monomial> monomials;
  InternTable<Expr> exprs;
  std::unordered_map<OpKey, Dim, OpKeyHash> remembered;
  std::unordered_map<ProofKey, Proof, ProofKeyHash> proofs;
};

// The tables two operands share; null where they are of different scopes (their result is unknown) or neither is
// symbolic.
inline Scope::Impl* shared_tables(Dim a, Dim b) {
  const Expr* x = a.expr();
  const Expr* y = b.expr();
  if (x != nullptr && y != nullptr) return x->scope == y->scope ? &x->scope->impl() : nullptr;
  if (x != nullptr) return &x->scope->impl();
  return y != nullptr ? &y->scope->impl() : nullptr;
}

// The result of `make()`, remembered for (op, a, b) until the assumptions change.
template <typename Make>
Dim remember(Scope::Impl& tables, Op op, Dim a, Dim b, Make make) {
  const OpKey key{op, a, b};
  if (auto it = tables.remembered.find(key); it != tables.remembered.end()) return it->second;
  const Dim result = make();
  tables.remembered.emplace(key, result);
  tables.held.hold(kBytesRemembered);
  return result;
}

}  // namespace thaw::dim
