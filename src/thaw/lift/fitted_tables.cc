#include "thaw/lift/fitted_tables.h"

#include <algorithm>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "thaw/dim/text/text.h"
#include "thaw/lift/align/same_node.h"
#include "thaw/ops/rule/registry.h"

namespace thaw::lifting {
namespace {

bool same_tables(const std::vector<const ir::Tensor*>& a, const std::vector<const ir::Tensor*>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const ir::Tensor* x, const ir::Tensor* y) { return same_tensor(*x, *y); });
}

// Whether a shape that is the same in all traces is the same elsewhere: what it is given to may be as large here and rounded otherwise.
bool says_the_same(Lifting& l, const Difference& difference, const SizesAround& sizes, FittedTable& table) {
  if (table.fit.sizes.empty()) return true;
  const ops::Role role = ops::role_of(*difference.node, difference.input);
  const bool is_told = role == ops::Role::kShape || role == ops::Role::kBounds;
  sizes.tell(difference, *l.context);
  const Around& around = l.context->around;
  std::string data = is_told ? "" : fmt::format("role {}, ", static_cast<int>(role)), reason;
  for (const Variable& axis : around.axes) data += dim::to_string(axis.symbol) + ", ";
  for (const dim::Dim size : around.given_back) data += "back to " + dim::to_string(size) + ", ";
  if (table.given_to.contains(data)) return true;
  // Also where it says nothing else, it may leave open here what it does not leave open there (Solver::taken).
  const auto own = fit_sizes(difference.tensors, *l.context, reason);
  const bool may_differ = is_told && (around.elements.is_known() || !around.given_back.empty() || table.is_given_back);
  if (may_differ && own && own->description != table.fit.description) return false;
  table.given_to.insert(std::move(data));
  return true;
}

}  // namespace

std::vector<std::vector<int64_t>> padded_sizes(Lifting& l, const Difference& difference, const SizesAround& sizes) {
  std::vector<std::vector<int64_t>> padded;
  if (ops::role_of(*difference.node, difference.input) != ops::Role::kPads) return padded;
  sizes.tell(difference, *l.context);
  for (const Variable& axis : l.context->around.axes) padded.push_back(axis.at);
  return padded;
}

FittedTable* known_table(Lifting& l, const Difference& difference, const std::vector<std::vector<int64_t>>& padded,
                         const SizesAround& sizes) {
  const auto known = std::ranges::find_if(l.tables, [&](FittedTable& table) {
    const Difference& first = *table.readers.front();
    const bool is_taken_alike = std::ranges::equal(first.taken, difference.taken, [](const auto& a, const auto& b) {
      return a.first == b.first && dim::same(a.second, b.second);
    });
    return is_taken_alike && table.padded == padded && same_tables(first.tensors, difference.tensors) &&
           says_the_same(l, difference, sizes, table);
  });
  return known == l.tables.end() ? nullptr : &*known;
}

void add_table(Lifting& l, const Difference& difference, TableFit fit, std::vector<std::vector<int64_t>> padded) {
  for (const TableFit::Made& formula : fit.formulas)
    for (const dim::Dim size : formula.sizes) l.solver->note_used(size);
  l.tables.push_back({{&difference}, std::move(fit), std::move(padded)});
  l.tables.back().is_given_back = !l.context->around.given_back.empty();
}

}  // namespace thaw::lifting
