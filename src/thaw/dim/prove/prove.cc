// The order in which a statement is tried: what is cheap and settles most of them first.
#include "thaw/dim/prove/prove.h"

#include "thaw/dim/expr/tables.h"
#include "thaw/dim/prove/residues.h"
#include "thaw/dim/prove/search.h"
#include "thaw/dim/prove/split.h"

namespace thaw::dim {
namespace {

constexpr size_t kFirstPoints = 48;      // visited before anything that costs more
constexpr size_t kMorePoints = 4000;     // visited when nothing proves the statement
constexpr int64_t kExhaustive = 100000;  // the largest domain that is visited whole
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
  const Statement statement{relation, a, b};
  Proof proof = decide(statement) == Decision::kAlways ? yes() : search_and_prove(*tables, statement);
  tables->held.hold(sizeof(ProofKey) + sizeof(Proof) + kBytesRemembered * (1 + proof.counterexample.size()));
  tables->proofs.emplace(key, proof);
  return proof;
}

}  // namespace

Proof prove_equal(Dim a, Dim b) { return prove(Relation::kEqual, a, b); }
Proof prove_at_most(Dim a, Dim b) { return prove(Relation::kAtMost, a, b); }
Proof prove_divisible(Dim a, Dim b) { return prove(Relation::kDivisible, a, b); }
Proof prove_broadcastable(Dim a, Dim b) { return prove(Relation::kBroadcastable, a, b); }

}  // namespace thaw::dim
