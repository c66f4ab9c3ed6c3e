#include "thaw/lift/contradictions.h"

#include <algorithm>
#include <numeric>
#include <random>
#include <unordered_set>

#include <fmt/format.h>

#include "thaw/dim/text.h"
#include "thaw/infer/infer.h"
#include "thaw/lift/solve.h"

namespace thaw::lift {
namespace {

constexpr size_t kMostSizes = 48;
constexpr int kBudget = 2048;  // terms: a wrong solution makes products of sums that should have been plain

bool varies(const Variable& v) {
  return std::any_of(v.at.begin(), v.at.end(), [&](int64_t at) { return at != v.at.front(); });
}

// Sizes to try: for each, the value of every variable.
class Probes {
 public:
  explicit Probes(std::span<const Variable> variables) : variables_(variables) {
    // A size that follows from others (patches of a grid, a cache and what is new) is no size of its own.
    std::vector<Variable> others;
    for (const Variable& v : variables)
      if (v.kind == Variable::Kind::kValue) others.push_back(v);
    for (const Variable& v : variables) {
      const bool is_dim = v.kind == Variable::Kind::kDim;
      follows_.push_back(is_dim && varies(v) ? out_of(v, others) : dim::Dim());
      if (is_dim) others.push_back(v);
    }
  }

  // Mixtures of the traces' sizes, and others from the smallest of them to twice the largest.
  std::vector<std::vector<int64_t>> draw() const {
    std::mt19937_64 random(1);
    std::vector<std::vector<int64_t>> all;
    for (size_t n = 0; n < kMostSizes; ++n) {
      std::vector<int64_t> sizes;
      for (const Variable& v : variables_) sizes.push_back(n % 2 == 0 ? mixed(v, random) : other(v, random));
      dim::Assignment at;
      for (size_t i = 0; i < sizes.size(); ++i)
        if (const int id = dim::scope_of(variables_[i].symbol)->symbol_id(variables_[i].symbol); id >= 0)
          at[id] = sizes[i];
      for (size_t i = 0; i < sizes.size(); ++i)
        if (follows_[i].is_known()) sizes[i] = dim::evaluate(follows_[i], at).value_or(sizes[i]);
      all.push_back(std::move(sizes));
    }
    return all;
  }

 private:
  static dim::Dim out_of(const Variable& v, const std::vector<Variable>& others) {
    if (const auto found = Solver(others).solve(v.at)) return *found;
    for (const Variable& a : others) {
      for (const Variable& b : others) {
        const auto is_sum = [&](size_t k) { return a.at[k] + b.at[k] == v.at[k]; };
        size_t k = 0;
        while (k < v.at.size() && is_sum(k)) ++k;
        if (k == v.at.size()) return a.symbol + b.symbol;
      }
    }
    return {};
  }

  static int64_t mixed(const Variable& v, std::mt19937_64& random) { return v.at[random() % v.at.size()]; }
  static int64_t other(const Variable& v, std::mt19937_64& random) {
    int64_t unit = 0;
    for (const int64_t at : v.at) unit = std::gcd(unit, at);
    const auto [low, high] = std::minmax_element(v.at.begin(), v.at.end());
    if (unit == 0 || *low == *high) return *low;
    const int64_t steps = (2 * *high - *low) / unit + 1;
    return *low + unit * static_cast<int64_t>(random() % static_cast<uint64_t>(steps));
  }

  std::span<const Variable> variables_;
  std::vector<dim::Dim> follows_;
};

std::optional<bool> holds(const ops::Obligation& o, const dim::Assignment& at) {
  const auto a = dim::evaluate(o.a, at), b = dim::evaluate(o.b, at);
  if (!a || !b) return std::nullopt;
  switch (o.kind) {
    case ops::ObligationKind::kEqual:
      return *a == *b;
    case ops::ObligationKind::kBroadcast:
      return *a == *b || *a == 1 || *b == 1;
    case ops::ObligationKind::kDivisible:
      return *b != 0 && *a % *b == 0;
    case ops::ObligationKind::kAtMost:
      return *a <= *b;
  }
  return std::nullopt;
}

std::string text_of(std::span<const Variable> variables, const std::vector<int64_t>& sizes) {
  std::string text;
  for (size_t i = 0; i < sizes.size(); ++i)
    if (varies(variables[i]))
      text += fmt::format("{}{} = {}", text.empty() ? "" : ", ", dim::to_string(variables[i].symbol), sizes[i]);
  return text;
}

}  // namespace

Contradictions find_contradictions(const ir::Model& lifted, std::span<const Variable> variables) {
  Contradictions out;
  if (std::none_of(variables.begin(), variables.end(), varies)) return out;
  dim::Scope scope;
  scope.set_budget(kBudget);
  const infer::Result inferred = infer::infer(lifted, scope);
  std::unordered_set<const ir::Node*> broken;
  for (const infer::Problem& problem : inferred.problems()) {
    if (broken.insert(problem.node).second && out.first.empty())
      out.first = fmt::format("{}: {}", problem.node->describe(), problem.message);
  }
  std::unordered_set<const ops::Obligation*> evaluated;
  for (const std::vector<int64_t>& sizes : Probes(variables).draw()) {
    dim::Assignment at;
    for (size_t i = 0; i < sizes.size(); ++i)
      if (const auto symbol = scope.find(dim::to_string(variables[i].symbol))) at[scope.symbol_id(*symbol)] = sizes[i];
    ++out.sizes;
    for (const ops::Obligation& o : inferred.obligations()) {
      const auto is_true = holds(o, at);
      if (!is_true) continue;
      evaluated.insert(&o);
      if (*is_true || !broken.insert(o.node).second || !out.first.empty()) continue;
      out.first = fmt::format("{} needs {} to fit {} ({}), which fails at {}", o.node->describe(), dim::to_string(o.a),
                              dim::to_string(o.b), o.what, text_of(variables, sizes));
    }
  }
  out.statements = evaluated.size();
  out.broken = broken.size();
  return out;
}

}  // namespace thaw::lift
