#include "thaw/lift/domain/proof.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "thaw/check/check.h"
#include "thaw/core/error.h"
#include "thaw/dim/text/text.h"
#include "thaw/lift/unseen/contradictions.h"
#include "thaw/lift/unseen/unseen_sizes.h"

namespace thaw::lifting {
namespace {

constexpr const char* kBreaks = "THAW040";
constexpr int64_t kLargest = int64_t{1} << 31;  // what is beyond it is no size

// "h=64..128:2"; empty where it is the same in every trace and nothing but a size.
std::string entry_of(const Variable& v, dim::Dim follows, const Domain& domain) {
  const std::string name = dim::to_string(v.symbol);
  if (v.kind == Variable::Kind::kMarked) return {};
  if (follows.is_known()) return fmt::format("{}={}", name, dim::to_string(follows));
  const auto [low, high] = std::ranges::minmax_element(v.at);
  if (*low < -kLargest || *high > kLargest) return {};
  if (*low == *high) return fmt::format("{}={}", name, *low);
  const auto known =
      std::ranges::find_if(domain.congruences, [&](const Congruence& c) { return dim::same(c.size, v.symbol); });
  return known == domain.congruences.end() ? fmt::format("{}={}..{}", name, *low, *high)
                                           : fmt::format("{}={}..{}:{}", name, *low, *high, known->modulus);
}

std::string entries_of(const Domain& domain, std::span<const Variable> variables,
                       const std::vector<dim::Dim>& follows) {
  std::vector<std::string> entries;
  for (size_t i = 0; i < variables.size(); ++i)
    if (std::string entry = entry_of(variables[i], follows[i], domain); !entry.empty())
      entries.push_back(std::move(entry));
  for (std::string& relation : domain.relations()) entries.push_back(std::move(relation));
  return fmt::format("{}", fmt::join(entries, ", "));
}

// Of every variable; those that the witness does not name are as in the first trace, or follow from the others.
std::vector<int64_t> sizes_of(const NamedSizes& witness, std::span<const Variable> variables,
                              const std::vector<dim::Dim>& follows) {
  std::vector<int64_t> sizes;
  for (const Variable& v : variables) {
    const auto named = std::ranges::find(witness, dim::to_string(v.symbol), &NamedSizes::value_type::first);
    sizes.push_back(named == witness.end() ? v.at.front() : named->second);
  }
  for (size_t i = 0; i < variables.size(); ++i)
    if (follows[i].is_known())
      sizes[i] = value_at(follows[i], variables, [&](size_t k) { return sizes[k]; }).value_or(sizes[i]);
  return sizes;
}

}  // namespace

DomainProof prove_domain(const ir::Model& lifted, const Domain& domain, std::span<const Variable> variables,
                         const std::unordered_set<const ir::Node*>& traced) {
  DomainProof proof;
  if (std::ranges::none_of(variables, &Variable::varies)) return proof;
  const std::vector<dim::Dim> follows = followed_sizes(variables);
  CheckReport report;
  try {
    proof.sizes = entries_of(domain, variables, follows);
    report = checking::check(lifted, {.only = {kBreaks}, .sizes = proof.sizes});
  } catch (const Error&) {  // a name that the grammar cannot say, or values that contradict what the model states
    proof.sizes.clear();
    return proof;
  }
  proof.statements = report.proof.obligations;
  proof.proven = report.proof.proven;
  for (const Finding& finding : report.findings) {
    if (!finding.breaking_sizes) continue;
    std::vector<int64_t> at = sizes_of(*finding.breaking_sizes, variables, follows);
    const Contradictions found = find_contradictions(lifted, variables, traced, {at});
    if (found.broken + found.unmade == 0) continue;
    proof.broken_at = std::move(at);
    proof.broken = found.broken > 0 ? found.first : found.first_unmade;
    break;
  }
  return proof;
}

}  // namespace thaw::lifting
