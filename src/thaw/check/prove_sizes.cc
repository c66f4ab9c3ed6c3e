// THAW040 to THAW042: `check --dims`. Every statement that the nodes make about sizes (Reshape's elements, Split's sum,
// Concat's other axes, broadcasts, MatMul's inner dims, …) is proven for all sizes in the ranges, or the smallest sizes
// that break it are shown.
#include <algorithm>
#include <unordered_set>

#include <fmt/format.h>

#include "thaw/check/rule.h"
#include "thaw/check/size_ranges.h"
#include "thaw/core/error.h"
#include "thaw/dim/prove/prove.h"
#include "thaw/dim/text/text.h"

namespace thaw::checking {

namespace {

constexpr size_t kMaxShown = 20;

dim::Proof prove(const ops::Obligation& o) {
  switch (o.kind) {
    case ops::ObligationKind::kEqual:
      return dim::prove_equal(o.a, o.b);
    case ops::ObligationKind::kBroadcast:
      return dim::prove_broadcastable(o.a, o.b);
    case ops::ObligationKind::kDivisible:
      return dim::prove_divisible(o.a, o.b);
    case ops::ObligationKind::kAtMost:
      return dim::prove_at_most(o.a, o.b);
  }
  return {};
}

std::string statement_text(const ops::Obligation& o) {
  std::string a = dim::to_string(o.a), b = dim::to_string(o.b);
  switch (o.kind) {
    case ops::ObligationKind::kEqual:
      return fmt::format("{} = {}", a, b);
    case ops::ObligationKind::kBroadcast:
      return fmt::format("{} broadcasts with {}", a, b);
    case ops::ObligationKind::kDivisible:
      return fmt::format("{} is a multiple of {}", a, b);
    case ops::ObligationKind::kAtMost:
      return fmt::format("{} <= {}", a, b);
  }
  return {};
}

int64_t total(const dim::Assignment& sizes) {
  int64_t sum = 0;
  for (const auto& [id, value] : sizes) sum += value;
  return sum;
}

// The sizes of a counterexample, with the lowest value in range for each input size that it leaves open.
dim::Assignment complete(dim::Assignment sizes, const dim::Scope& scope) {
  for (size_t id = 0; id < scope.symbols().size(); ++id) {
    const dim::SymbolInfo& s = scope.symbols()[id];
    if (s.kind == dim::SymbolKind::kInputDim) sizes.emplace(static_cast<int>(id), s.lower);
  }
  return sizes;
}

// "the rank", "the size of axis 1" or nothing: what is not known of a tensor.
std::string unknown_part(const ops::Fact& fact) {
  if (!fact.is_tensor()) return {};
  if (!fact.has_rank()) return "the rank";
  for (int axis = 0; axis < fact.rank(); ++axis)
    if (fact.dim(axis).is_unknown()) return fmt::format("the size of axis {}", axis);
  return {};
}

}  // namespace

SizeProofs prove_sizes(const infer::Result& result) {
  SizeProofs out;
  for (const ops::Obligation& o : result.obligations()) {
    dim::Proof proof = prove(o);
    if (o.only_specified) {
      if (proof.verdict == dim::Verdict::kNo) out.unspecified.push_back({&o, std::move(proof.counterexample)});
      continue;
    }
    ++out.summary.statements;
    switch (proof.verdict) {
      case dim::Verdict::kYes:
        ++out.summary.proven;
        break;
      case dim::Verdict::kNo:
        ++out.summary.broken;
        out.broken.push_back({&o, std::move(proof.counterexample)});
        break;
      case dim::Verdict::kUnknown:
        ++out.summary.open;
        out.open.push_back({&o, std::move(proof.reason)});
        break;
    }
  }
  for (auto* list : {&out.broken, &out.unspecified}) {
    std::ranges::stable_sort(
        *list, [](const BrokenStatement& a, const BrokenStatement& b) { return total(a.sizes) < total(b.sizes); });
  }
  return out;
}

void look_for_breaking_sizes(Evidence& evidence, Findings& findings) {
  if (evidence.dims().empty()) return;
  const SizeProofs& proofs = evidence.size_proofs();
  const dim::Scope& scope = evidence.size_ranges().scope;
  std::unordered_set<const ir::Node*> told;
  for (const BrokenStatement& b : proofs.broken) {
    if (told.size() == kMaxShown || !told.insert(b.obligation->node).second) continue;
    const std::string at = text_of(by_name(b.sizes, scope));
    Finding& f =
        findings.add(fmt::format("{} breaks at {}: {} needs {}", name_of(*b.obligation->node),
                                 at.empty() ? "every size" : at, b.obligation->what, statement_text(*b.obligation)),
                     place_of(*b.obligation->node));
    f.breaking_sizes = by_name(complete(b.sizes, scope), scope);
    f.details.emplace_back("smallest size", text_of(*f.breaking_sizes));
    f.details.emplace_back("statement", statement_text(*b.obligation));
    f.fix = "narrow the range, or see the findings on frozen sizes for the constant behind it";
  }
}

// ONNX Runtime runs these: worth knowing for other runtimes.
void look_for_unspecified_sizes(Evidence& evidence, Findings& findings) {
  if (evidence.dims().empty()) return;
  const dim::Scope& scope = evidence.size_ranges().scope;
  std::unordered_set<const ir::Node*> told;
  for (const BrokenStatement& b : evidence.size_proofs().unspecified) {
    if (told.size() == kMaxShown || !told.insert(b.obligation->node).second) continue;
    const std::string at = text_of(by_name(b.sizes, scope));
    Finding& f = findings.add(
        fmt::format("{} is outside of its specification at {}: {} needs {}, which ONNX Runtime does not ask for",
                    name_of(*b.obligation->node), at.empty() ? "every size" : at, b.obligation->what,
                    statement_text(*b.obligation)),
        place_of(*b.obligation->node));
    f.breaking_sizes = by_name(complete(b.sizes, scope), scope);
    f.details.emplace_back("smallest size", text_of(*f.breaking_sizes));
    f.details.emplace_back("statement", statement_text(*b.obligation));
    f.fix = "narrow the range, or pad so that the specified size and ONNX Runtime's are the same";
  }
}

void look_for_unproven_sizes(Evidence& evidence, Findings& findings) {
  if (evidence.dims().empty()) return;
  const infer::Result& result = evidence.size_ranges().result;
  size_t shown = 0;
  for (const OpenStatement& open : evidence.size_proofs().open) {
    if (shown++ == kMaxShown) break;
    Finding& f = findings.add(fmt::format("{}: {} could not be proven ({})", name_of(*open.obligation->node),
                                          statement_text(*open.obligation), open.reason),
                              place_of(*open.obligation->node));
    f.fix = "narrow the ranges or state divisibility (64..1024:32)";
  }
  for (const std::string& op : result.unknown_operators()) {
    Place where;
    where.op = op;
    findings.add(fmt::format("{} has no rule, so nothing is proven of its nodes", op), where);
  }
  // A tensor whose size could not be inferred makes no statements: what reads it is not covered.
  for (const ir::Node* node : evidence.model().graph->nodes()) {
    const bool first = std::ranges::none_of(
        node->inputs(), [&](const ir::Value* in) { return in && !unknown_part(result.fact(in)).empty(); });
    for (const ir::Value* out : node->outputs()) {
      if (!first || !out || (out->uses().empty() && result.fact(out).has_rank())) continue;
      const std::string part = unknown_part(result.fact(out));
      if (!part.empty() && shown++ < kMaxShown)
        findings.add(fmt::format("{} of '{}' is not known, so nothing is proven of what reads it", part, out->name()),
                     place_of(*out));
    }
  }
}

}  // namespace thaw::checking
