// THAW040 to THAW042: `check --sizes`. Every statement that the nodes make about sizes (Reshape's elements, Split's sum,
// Concat's other axes, broadcasts, MatMul's inner dims, …) is proven for all sizes in the ranges, or the smallest sizes
// that break it are shown.
#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <unordered_set>
#include <variant>

#include <fmt/format.h>

#include "thaw/check/rule.h"
#include "thaw/check/size_ranges.h"
#include "thaw/core/error.h"
#include "thaw/dim/prove/prove.h"
#include "thaw/dim/text/text.h"

namespace thaw::checking {

namespace {

constexpr size_t kMaxShown = 20;

int64_t total(const NamedSizes& sizes) {
  int64_t sum = 0;
  for (const auto& [name, value] : sizes) sum += value;
  return sum;
}

dim::Assignment with_others(const dim::Assignment& sizes, const dim::Assignment& others) {
  dim::Assignment all = sizes;
  all.insert(others.begin(), others.end());
  return all;
}

// What breaks a statement, with a size for each other of the inputs, those that expressions stand for, and the rows behind sums. Of
// thousands of sizes that is much, and is made of what is shown alone.
NamedSizes all_sizes(const BrokenStatement& broken, const SizeProofs& proofs, const SizeRanges& ranges) {
  const dim::Assignment all = with_others(broken.sizes, proofs.others);
  NamedSizes named = by_name(all, ranges.scope);
  for (const auto& [name, expression] : ranges.given) {
    std::erase_if(named, [&](const auto& size) { return size.first == name; });
    if (const auto value = dim::evaluate(expression, all)) named.emplace_back(name, *value);
  }
  named.insert(named.end(), broken.rows.begin(), broken.rows.end());
  return named;
}

// Whether inputs can have the sizes and values of a counterexample: what is assumed of them holds of all of them, and
// nothing rests on what only running the model tells.
class Witnesses {
 public:
  explicit Witnesses(const SizeRanges& ranges) : ranges_(ranges), others_(dim::admitted_sizes(ranges.scope)) {
    if (!others_) return;
    const std::vector<dim::SymbolInfo>& symbols = ranges_.scope.symbols();
    for (size_t id = 0; id < symbols.size(); ++id)
      if (symbols[id].kind == dim::SymbolKind::kInputDim) others_->emplace(static_cast<int>(id), symbols[id].lower);
  }

  dim::Assignment others() const { return others_.value_or(dim::Assignment()); }

  // The statement with sizes that inputs can have and that break it, or why there are none to show.
  std::variant<BrokenStatement, OpenStatement> find(const ops::Obligation& o, dim::Assignment counterexample) const {
    if (const auto by_data = data_in(counterexample)) {
      const auto sizes = dim::breaks_whatever(o.kind, o.a, o.b, counterexample);
      if (!sizes) return OpenStatement{&o, fmt::format("it depends on {}, known only at run time", *by_data)};
      counterexample = *sizes;
    }
    if (!others_) return OpenStatement{&o, "no sizes were found that satisfy all that is known of the inputs"};
    std::optional<NamedSizes> rows = NamedSizes();
    if (!ranges_.sums.empty()) rows = ranges_.sums.rows_for(with_others(counterexample, *others_));
    if (!rows) return OpenStatement{&o, "no input rows were found that give the failing sizes"};
    NamedSizes at = by_name(counterexample, ranges_.scope);
    return BrokenStatement{&o, std::move(counterexample), std::move(at), std::move(*rows)};
  }

 private:
  std::optional<std::string> data_in(const dim::Assignment& sizes) const {
    for (const auto& [id, value] : std::map(sizes.begin(), sizes.end()))
      if (dim::is_data_dependent(ranges_.scope.symbol_at(id))) return dim::to_string(ranges_.scope.symbol_at(id));
    return std::nullopt;
  }

  const SizeRanges& ranges_;
  std::optional<dim::Assignment> others_;
};

// "the rank", "the size of axis 1" or nothing: what is not known of a tensor.
std::string unknown_part(const ops::Fact& fact) {
  if (!fact.is_tensor()) return {};
  if (!fact.has_rank()) return "the rank";
  for (int axis = 0; axis < fact.rank(); ++axis)
    if (fact.dim(axis).is_unknown()) return fmt::format("the size of axis {}", axis);
  return {};
}

}  // namespace

std::string statement_text(const ops::Obligation& o) {
  if (o.of_values && o.a.is_unknown()) return std::string(o.what);
  std::string a = dim::to_string(o.a), b = dim::to_string(o.b);
  switch (o.kind) {
    case dim::Relation::kEqual:
      return fmt::format("{} = {}", a, b);
    case dim::Relation::kBroadcastable:
      return fmt::format("{} broadcasts with {}", a, b);
    case dim::Relation::kDivisible:
      return fmt::format("{} is a multiple of {}", a, b);
    case dim::Relation::kAtMost:
      return fmt::format("{} <= {}", a, b);
  }
  return {};
}

SizeProofs prove_sizes(const SizeRanges& ranges) {
  SizeProofs out;
  out.summary.assumptions = ranges.assumed;
  const Witnesses witnesses(ranges);
  out.others = witnesses.others();
  for (const ops::Obligation& o : ranges.result.obligations()) {
    const dim::Proof proof = dim::prove(o.kind, o.a, o.b);
    std::variant<BrokenStatement, OpenStatement> found = OpenStatement{&o, proof.reason};
    if (o.of_values && (o.a.is_unknown() || o.b.is_unknown()))
      found = OpenStatement{&o, fmt::format("nothing is known of {}", numbers_of(o))};
    else if (proof.verdict == dim::Verdict::kNo && o.is_enough)  // a counterexample shows nothing
      found = OpenStatement{&o, "the node may run even where it does not hold"};
    else if (proof.verdict == dim::Verdict::kNo)
      found = witnesses.find(o, proof.counterexample);
    auto* broken = std::get_if<BrokenStatement>(&found);
    if (o.only_specified) {
      if (broken) out.unspecified.push_back(std::move(*broken));
      continue;
    }
    ++out.summary.obligations;
    if (!proof && is_condition_on_inputs(o)) {
      ++out.summary.input_conditions;
      out.conditions.push_back(&o);
    } else if (proof) {
      ++out.summary.proven;
    } else if (broken) {
      ++out.summary.refuted;
      out.broken.push_back(std::move(*broken));
    } else {
      ++out.summary.unknown;
      if (o.of_values) ++out.summary.unknown_values;
      out.open.push_back(std::move(std::get<OpenStatement>(found)));
    }
  }
  std::unordered_set<const ir::Node*> reported;
  for (const BrokenStatement& b : out.broken) reported.insert(b.obligation->node);
  for (const infer::Problem& problem : ranges.result.problems()) {
    if (!reported.insert(problem.node).second) continue;
    ++out.summary.obligations;
    ++out.summary.refuted;
    out.impossible.push_back(&problem);
  }
  for (auto* list : {&out.broken, &out.unspecified}) {
    std::ranges::stable_sort(
        *list, [](const BrokenStatement& a, const BrokenStatement& b) { return total(a.at) < total(b.at); });
  }
  return out;
}

void look_for_breaking_sizes(Evidence& evidence, Findings& findings) {
  if (evidence.dims().empty()) return;
  const SizeProofs& proofs = evidence.size_proofs();
  std::unordered_set<const ir::Node*> reported;
  for (const BrokenStatement& b : proofs.broken) {
    if (reported.size() == kMaxShown || !reported.insert(b.obligation->node).second) continue;
    const std::string at = text_of(b.at);
    Finding& f =
        findings.add(fmt::format("{} breaks at {}: {} needs {}", name_of(*b.obligation->node),
                                 at.empty() ? "every size" : at, b.obligation->what, statement_text(*b.obligation)),
                     location_of(*b.obligation->node));
    f.breaking_sizes = all_sizes(b, evidence.size_proofs(), evidence.size_ranges());
    f.details.emplace_back("smallest size", text_of(*f.breaking_sizes));
    f.details.emplace_back("statement", statement_text(*b.obligation));
    f.fix = "narrow the range, or see the findings on frozen sizes for its constant";
  }
  // What fails at every size is reported by THAW001.
  for (const infer::Problem& problem : evidence.inferred().problems()) reported.insert(problem.node);
  size_t shown = 0;
  for (const infer::Problem* problem : proofs.impossible) {
    if (shown == kMaxShown || !reported.insert(problem->node).second) continue;
    ++shown;
    Finding& f = findings.add(
        fmt::format("{} cannot run at any size in the ranges: {}", name_of(*problem->node), problem->message),
        location_of(*problem->node));
    f.fix = "give other ranges, or see the findings on frozen sizes for its constant";
  }
}

// ONNX Runtime runs these: worth knowing for other runtimes.
void look_for_unspecified_sizes(Evidence& evidence, Findings& findings) {
  if (evidence.dims().empty()) return;
  std::unordered_set<const ir::Node*> reported;
  for (const BrokenStatement& b : evidence.size_proofs().unspecified) {
    if (reported.size() == kMaxShown || !reported.insert(b.obligation->node).second) continue;
    const std::string at = text_of(b.at);
    Finding& f = findings.add(
        fmt::format("{} is outside its specification at {}: {} needs {}, which ONNX Runtime does not require",
                    name_of(*b.obligation->node), at.empty() ? "every size" : at, b.obligation->what,
                    statement_text(*b.obligation)),
        location_of(*b.obligation->node));
    f.breaking_sizes = all_sizes(b, evidence.size_proofs(), evidence.size_ranges());
    f.details.emplace_back("smallest size", text_of(*f.breaking_sizes));
    f.details.emplace_back("statement", statement_text(*b.obligation));
    f.fix = "narrow the range, or pad so that the specified size and ONNX Runtime's agree";
  }
}

void look_for_unproven_sizes(Evidence& evidence, Findings& findings) {
  if (evidence.dims().empty()) return;
  const infer::Result& result = evidence.size_ranges().result;
  size_t shown = 0;
  std::unordered_set<std::string> asked;
  for (const OpenStatement& open : evidence.size_proofs().open) {
    if (input_behind(*open.obligation)) continue;  // THAW043
    if (open.obligation->of_values && open.obligation->a.is_unknown()) {
      // Said once of numbers that many nodes read.
      if (!asked.insert(fmt::format("{} {}", open.obligation->what, numbers_of(*open.obligation))).second) continue;
    }
    if (shown++ == kMaxShown) break;
    Finding& f = findings.add(fmt::format("{}: {} could not be proven ({})", name_of(*open.obligation->node),
                                          statement_text(*open.obligation), open.reason),
                              location_of(*open.obligation->node));
    if (open.obligation->of_values) f.severity = Severity::kNote;
    f.fix = open.obligation->of_values ? "narrow the ranges, or compute these numbers from sizes only"
                                       : "narrow the ranges or state divisibility (64..1024:32)";
  }
  for (const std::string& op : result.unknown_operators()) {
    Location where;
    where.op = op;
    findings.add(fmt::format("{} has no shape rule, so nothing is proven about its nodes", op), where);
  }
  // A tensor whose size could not be inferred makes no statements: what reads it is not covered.
  for (const ir::Node* node : evidence.model().graph->nodes()) {
    const bool first = std::ranges::none_of(
        node->inputs(), [&](const ir::Value* in) { return in && !unknown_part(result.fact(in)).empty(); });
    for (const ir::Value* out : node->outputs()) {
      if (!first || !out || (out->uses().empty() && result.fact(out).has_rank())) continue;
      const std::string part = unknown_part(result.fact(out));
      if (!part.empty() && shown++ < kMaxShown)
        findings.add(fmt::format("{} of '{}' is unknown, so nothing is proven about its readers", part, out->name()),
                     location_of(*out));
    }
  }
}

}  // namespace thaw::checking
