#include "thaw/dim/prove/statement.h"

#include <algorithm>

namespace thaw::dim {

namespace {

constexpr size_t kMostFacts = 32;

void add_symbols(std::vector<int>& ids, Dim d) {
  const std::vector<int> more = symbols_of(d);
  ids.insert(ids.end(), more.begin(), more.end());
}

void sort_once(std::vector<int>& ids) {
  std::ranges::sort(ids);
  const auto again = std::ranges::unique(ids);
  ids.erase(again.begin(), again.end());
}

}  // namespace

std::vector<int> symbols_of(const Statement& statement) {
  std::vector<int> ids;
  add_symbols(ids, statement.a);
  add_symbols(ids, statement.b);
  for (const Dim fact : statement.given) add_symbols(ids, fact);
  sort_once(ids);
  return ids;
}

const Scope* scope_of(const Statement& statement) {
  if (statement.a.is_symbolic()) return scope_of(statement.a);
  if (statement.b.is_symbolic()) return scope_of(statement.b);
  return statement.given.empty() ? nullptr : scope_of(statement.given.front());
}

std::vector<Dim> facts_about(const Scope& scope, std::vector<int> symbols) {
  sort_once(symbols);
  std::vector<Dim> found;
  std::vector<Dim> left = scope.facts();
  for (bool more = true; more && found.size() < kMostFacts;) {
    more = false;
    for (auto fact = left.begin(); fact != left.end();) {
      const std::vector<int> ids = symbols_of(*fact);
      const bool meets = std::ranges::any_of(ids, [&](int id) { return std::ranges::binary_search(symbols, id); });
      if (!meets) {
        ++fact;
        continue;
      }
      found.push_back(*fact);
      add_symbols(symbols, *fact);
      sort_once(symbols);
      fact = left.erase(fact);
      more = true;
    }
  }
  return found;
}

}  // namespace thaw::dim
