// The order in which a statement is tried: what is cheap and settles most of them first.
#include "thaw/dim/prove/prove.h"

#include <algorithm>

#include "thaw/dim/expr/tables.h"
#include "thaw/dim/prove/residues.h"
#include "thaw/dim/prove/search.h"
#include "thaw/dim/prove/split.h"

namespace thaw::dim {
namespace {

constexpr size_t kFirstPoints = 48;      // visited before anything that costs more
constexpr size_t kMorePoints = 4000;     // visited when nothing proves the statement
constexpr int64_t kExhaustive = 100000;  // the largest domain that is visited whole
constexpr size_t kPositionsTried = 24;   // of each symbol, where data must not matter
constexpr int64_t kMaxCases = 1024;      // of remainders
constexpr int kMaxSplitCases = 4096;     // of min, max and broadcast, over all cases of remainders

Proof yes() { return {Verdict::kYes, {}, {}}; }
Proof unknown(std::string reason) { return {Verdict::kUnknown, {}, std::move(reason)}; }
Proof no(const Search& search) { return {Verdict::kNo, search.counterexample(), {}}; }

// Proves the statement in every case of the moduli. A case that does not hold is shown to the search.
bool proven_by_cases(const Statement& statement, const std::map<int, int64_t>& moduli, Search& search, int& budget) {
  Cases cases(statement, moduli);
  if (cases.count() > kMaxCases) return false;
  while (const auto found = cases.next()) {
    if (decide_by_cases(found->statement, budget) == Decision::kAlways) continue;
    search.try_point(found->lowest);
    return false;
  }
  return true;
}

// Counts what a search looked at when it is done.
class SearchWork {
 public:
  SearchWork(Scope::Impl& tables, const Search& search) : tables_(tables), search_(search) {}
  ~SearchWork() { tables_.work(search_.operations() / kOperationsOfStep); }
  SearchWork(const SearchWork&) = delete;
  SearchWork& operator=(const SearchWork&) = delete;

 private:
  static constexpr size_t kOperationsOfStep = 4;
  Scope::Impl& tables_;
  const Search& search_;
};

Proof search_and_prove(Scope::Impl& tables, const Statement& statement) {
  Search search(statement);
  const SearchWork counted(tables, search);
  if (search.ascend(kFirstPoints)) return no(search);
  int budget = kMaxSplitCases;
  if (proven_by_cases(statement, {}, search, budget)) return yes();
  const std::map<int, int64_t> moduli = moduli_of(statement);
  if (!search.found() && proven_by_cases(statement, moduli, search, budget)) return yes();
  if (search.ascend(kMorePoints)) return no(search);
  if (search.exhaust(kExhaustive)) {
    if (search.found()) return no(search);
    if (search.conclusive()) return yes();
  }
  if (search.sample()) return no(search);
  return unknown("not proven, and no size that breaks it is among the " + std::to_string(search.points_tried()) +
                 " tried");
}

Statement given_with(const Scope& scope, Relation relation, Dim a, Dim b) {
  Statement statement{relation, a, b};
  if (!scope.facts().empty()) statement.given = facts_about(scope, symbols_of(statement));
  return statement;
}

}  // namespace

Proof prove(Relation relation, Dim a, Dim b) {
  if (a.is_unknown() || b.is_unknown()) return unknown("a size is unknown");
  if (!a.is_symbolic() && !b.is_symbolic()) {
    return holds(relation, *a.constant(), *b.constant()) ? yes() : Proof{Verdict::kNo, {}, {}};
  }
  Scope::Impl* tables = shared_tables(a, b);
  if (tables == nullptr) return unknown("the sizes belong to different models");
  if (relation != Relation::kDivisible && same(a, b)) return yes();
  const ProofKey key{relation, {Op::kFloorDiv, a, b}};
  if (auto it = tables->proofs.find(key); it != tables->proofs.end()) return it->second;
  if (!tables->work(1)) return unknown("over budget");
  const Statement statement = given_with(*tables->scope, relation, a, b);
  Proof proof = decide(statement) == Decision::kAlways ? yes() : search_and_prove(*tables, statement);
  tables->held.hold(sizeof(ProofKey) + sizeof(Proof) + kBytesRemembered * (1 + proof.counterexample.size()));
  tables->proofs.emplace(key, proof);
  return proof;
}

std::optional<Assignment> admitted_sizes(const Scope& scope) {
  // Facts without a symbol in common are looked at apart.
  Assignment sizes;
  std::vector<Dim> left = scope.facts();
  while (!left.empty()) {
    const std::vector<Dim> together = facts_about(scope, symbols_of(left.front()));
    Search search({Relation::kEqual, 0, 1, together});
    if (!search.ascend(kMorePoints) && !search.sample()) return std::nullopt;
    sizes.merge(search.counterexample());
    std::erase_if(
        left, [&](Dim fact) { return std::ranges::any_of(together, [&](Dim other) { return same(fact, other); }); });
  }
  return sizes;
}

std::optional<Assignment> breaks_whatever(Relation relation, Dim a, Dim b, const Assignment& first) {
  Scope::Impl* tables = shared_tables(a, b);
  if (tables == nullptr || !tables->work(1)) return std::nullopt;
  const Scope& scope = *tables->scope;
  const Statement statement = given_with(scope, relation, a, b);
  std::vector<int> chosen;
  for (const int id : symbols_of(statement))
    if (!is_data_dependent(scope.symbol_at(id))) chosen.push_back(id);
  // Whether the statement fails at these sizes for all that data may be.
  const auto breaks = [&](const Assignment& sizes) {
    Statement at{relation, substitute(a, sizes), substitute(b, sizes)};
    for (const Dim fact : statement.given) {
      const Dim rest = substitute(fact, sizes);
      if (rest.is_unknown() || (rest.is_constant() && *rest.constant() < 0)) return false;
      if (rest.is_symbolic()) at.given.push_back(rest);
    }
    if (at.a.is_unknown() || at.b.is_unknown()) return false;
    if (at.a.is_constant() && at.b.is_constant()) return !holds(relation, *at.a.constant(), *at.b.constant());
    tables->work(1);
    return decide(at) == Decision::kNever;
  };
  Assignment sizes;
  for (const int id : chosen)
    if (const auto at = first.find(id); at != first.end()) sizes.insert(*at);
  if (sizes.size() == chosen.size() && breaks(sizes)) return sizes;
  // Each symbol's least values and then ever larger ones, all of them moved alike.
  std::vector<Axis> axes;
  for (const int id : chosen) axes.emplace_back(scope.symbols()[static_cast<size_t>(id)]);
  for (size_t position = 0; position < kPositionsTried; ++position) {
    for (size_t moved = 0; moved <= chosen.size(); ++moved) {
      for (size_t i = 0; i < chosen.size(); ++i) {
        const auto value = axes[i].at(moved == chosen.size() || moved == i ? position : 0);
        sizes[chosen[i]] = value ? *value : axes[i].upper();
      }
      if (breaks(sizes)) return sizes;
    }
  }
  return std::nullopt;
}

Proof prove_at_most(Dim a, Dim b) { return prove(Relation::kAtMost, a, b); }
Proof prove_divisible(Dim a, Dim b) { return prove(Relation::kDivisible, a, b); }

}  // namespace thaw::dim
