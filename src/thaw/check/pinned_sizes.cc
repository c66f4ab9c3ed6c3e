// THAW019: what a node needs of sizes that are free holds at few of them, or at none. `32*batch*tgt_len == 224*batch` is
// tgt_len == 7: the 7 was frozen. Ordinary contracts between inputs are no findings: two equal sizes, one that is an
// expression of others, a multiple of a number, at most a number. Where a size meets a number by itself, the rules of
// frozen sizes (frozen_sizes.cc) say what is frozen.
#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "thaw/check/rule.h"
#include "thaw/core/error.h"
#include "thaw/dim/expr/expr.h"
#include "thaw/dim/prove/solve.h"
#include "thaw/dim/text/text.h"
#include "thaw/frozen/source.h"
#include "thaw/infer/stated_sizes.h"
#include "thaw/ops/rule/registry.h"

namespace thaw::checking {

namespace {

constexpr int64_t kTried = 1024;  // values of one size
constexpr int64_t kFarthest = int64_t{1} << 30;
constexpr int64_t kMostInARow = 1 << 16;
constexpr size_t kMostLooked = 256;  // statements
constexpr size_t kMostShown = 20;    // findings
constexpr size_t kMostValues = 4;    // values of a size

// What a statement says of the sizes it names.
struct Meaning {
  int symbol = -1;              // the size it is about
  std::vector<int64_t> values;  // those that it holds at, where they are few
  bool is_few = false;          // it holds at no others
  bool is_odd = false;          // it holds at many, by chance
};

class Reader {
 public:
  explicit Reader(const dim::Scope& scope) : scope_(scope) {}

  Meaning read(const ops::Obligation& o) const {
    std::vector<int> ids = dim::symbols_of(o.a);
    for (const int id : dim::symbols_of(o.b)) ids.push_back(id);
    std::ranges::sort(ids);
    ids.erase(std::ranges::unique(ids).begin(), ids.end());
    const bool of_sizes = std::ranges::all_of(ids, [&](int id) { return info(id).kind == dim::SymbolKind::kInputDim; });
    if (!of_sizes || ids.empty()) return {};
    if (o.kind == dim::Relation::kBroadcastable) return ids.size() == 1 ? of_one(ids.front(), o) : Meaning();
    // Sizes are 1 or more: what both sides have as a factor says nothing.
    dim::Dim difference = o.a - o.b;
    for (const int id : ids)
      for (auto rest = dim::exact_div(difference, scope_.symbol_at(id)); rest && rest->is_symbolic();
           rest = dim::exact_div(difference, scope_.symbol_at(id)))
        difference = *rest;
    if (difference.is_unknown()) return {};
    const std::vector<int> left = dim::symbols_of(difference);
    const ops::Obligation reduced{.node = o.node, .kind = o.kind, .a = difference, .b = 0};
    if (left.size() == 1) return of_one(left.front(), reduced);
    // One of the sizes is what the others make it.
    const bool is_solved = std::ranges::any_of(
        left, [&](int id) { return dim::solve_for(scope_.symbol_at(id), difference, 0).has_value(); });
    if (is_solved || left.size() > 3 || left.empty()) return {};
    return of_several(left, reduced);
  }

 private:
  const dim::SymbolInfo& info(int id) const { return scope_.symbols()[static_cast<size_t>(id)]; }

  static bool holds(const ops::Obligation& o, const dim::Assignment& sizes) {
    const auto a = dim::evaluate(o.a, sizes), b = dim::evaluate(o.b, sizes);
    if (!a || !b) return false;
    return *a == *b || (o.kind == dim::Relation::kBroadcastable && (*a == 1 || *b == 1));
  }

  Meaning of_one(int id, const ops::Obligation& o) const {
    const dim::SymbolInfo& of = info(id);
    const auto is_admitted = [&](int64_t v) {
      return v >= std::max<int64_t>(1, of.lower) && v <= of.upper.value_or(v) && v % of.modulus == of.remainder;
    };
    Meaning meaning{.symbol = id};
    if (o.kind == dim::Relation::kEqual) {
      if (const auto solved = dim::solve_for(scope_.symbol_at(id), o.a, o.b); solved && solved->is_constant()) {
        if (is_admitted(*solved->constant())) meaning.values = {*solved->constant()};
        meaning.is_few = true;
        return meaning;
      }
    }
    int64_t admitted = 0, first_gap = 0;
    for (int64_t v = 1; v <= kTried; ++v) {
      if (!is_admitted(v)) continue;
      ++admitted;
      if (holds(o, {{id, v}}))
        meaning.values.push_back(v);
      else if (first_gap == 0)
        first_gap = v;
    }
    if (first_gap == 0 || admitted == 0) return {};
    const bool reaches_on = !meaning.values.empty() && meaning.values.back() > kTried / 2;
    // At most a number.
    const bool is_start = std::ranges::all_of(meaning.values, [&](int64_t v) { return v < first_gap; });
    if (!reaches_on && is_start && meaning.values.size() > 1) return {};
    // From a large number on.
    const auto holds_far = [&](int64_t v) { return is_admitted(v) && holds(o, {{id, v}}); };
    constexpr int64_t kFar[] = {1 << 20, 5040 << 10, (1 << 20) + 1, 1 << 16, 5040};
    if (!reaches_on && std::ranges::any_of(kFar, holds_far)) return {};
    if (!reaches_on) {
      // At most a number, but for where it is rounded.
      if (meaning.values.size() > kMostValues && is_admitted(1) && holds(o, {{id, 1}})) return {};
      if (meaning.values.empty()) meaning.values = far_values(id, o);
      std::erase_if(meaning.values, [&](int64_t v) { return !is_admitted(v); });
      meaning.is_few = !meaning.values.empty();
      return meaning;
    }
    // A product of sizes that is rounded, beside the product of rounded ones: a number of patches that was solved or frozen as one.
    // Other sets of sizes that go on are contracts: a detector's levels meet where its strides divide.
    meaning.is_odd = divides_product(o.a) || divides_product(o.b);
    return meaning;
  }

  // Where both sides meet beyond what was tried (seconds of sound at 16 kHz), as they do where the difference changes its sign.
  static std::vector<int64_t> far_values(int id, const ops::Obligation& o) {
    if (o.kind != dim::Relation::kEqual) return {};
    const auto difference = [&](int64_t v) -> std::optional<int64_t> {
      const auto a = dim::evaluate(o.a, {{id, v}}), b = dim::evaluate(o.b, {{id, v}});
      int64_t d = 0;
      if (!a || !b || __builtin_sub_overflow(*a, *b, &d)) return std::nullopt;
      return d;
    };
    const auto start = difference(kTried);
    int64_t low = kTried, high = kTried;
    const auto is_across = [&](int64_t v) {
      const auto d = difference(v);
      return d && (*start < 0 ? *d >= 0 : *d <= 0);
    };
    while (start && high < kFarthest && !is_across(high)) low = std::exchange(high, high * 2);
    if (!start || !is_across(high)) return {};
    while (high - low > 1) {
      const int64_t middle = low + (high - low) / 2;
      (is_across(middle) ? high : low) = middle;
    }
    std::vector<int64_t> values;
    for (int64_t v = high; v < high + kMostInARow && holds(o, {{id, v}}); ++v) values.push_back(v);
    return values;
  }

  // Whether a floor stands over a product of sizes.
  static bool divides_product(dim::Dim d) {
    if (!d.is_symbolic()) return false;
    for (const dim::Term& term : d.expr()->terms) {
      for (const dim::Factor& factor : term.monomial->factors) {
        const auto& operands = factor.atom->operands;
        if (factor.atom->kind == dim::AtomKind::kFloor && operands[0].is_symbolic() &&
            std::ranges::any_of(operands[0].expr()->terms, [](const dim::Term& t) { return t.monomial->degree > 1; }))
          return true;
        if (std::ranges::any_of(operands, divides_product)) return true;
      }
    }
    return false;
  }

  // One of the sizes that has to be the same few numbers whatever the others are.
  Meaning of_several(const std::vector<int>& ids, const ops::Obligation& o) const {
    constexpr std::array<std::array<int64_t, 2>, 3> kOthers{{{30, 42}, {16, 48}, {7, 5}}};
    for (const int id : ids) {
      std::optional<Meaning> meaning;
      for (const auto& values : kOthers) {
        ops::Obligation rest = o;
        dim::Assignment others;
        for (const int other : ids)
          if (other != id) others[other] = values[others.size()];
        rest.a = dim::substitute(o.a, others);
        rest.b = dim::substitute(o.b, others);
        Meaning found = rest.a.is_symbolic() ? of_one(id, rest) : Meaning();
        if (!found.is_few || found.values.empty() || (meaning && meaning->values != found.values)) {
          meaning.reset();
          break;
        }
        meaning = std::move(found);
      }
      if (meaning) return *meaning;
    }
    return {};
  }

  const dim::Scope& scope_;
};

// "7", "480000..480159", "2|6".
std::string text_of(const std::vector<int64_t>& values) {
  const auto count = static_cast<int64_t>(values.size());
  if (count > 2 && values.back() - values.front() == count - 1)
    return fmt::format("{}..{}", values.front(), values.back());
  const bool is_long = values.size() > kMostValues;
  return fmt::format("{}{}", fmt::join(std::span(values).first(std::min(values.size(), kMostValues)), "|"),
                     is_long ? fmt::format(" and others up to {}", values.back()) : "");
}

std::string statement_of(const ops::Obligation& o) {
  return fmt::format("{} {} {}", dim::to_string(o.a), o.kind == dim::Relation::kEqual ? "==" : "broadcasts with",
                     dim::to_string(o.b));
}

// The constants of the node's operands that hold one of the numbers.
std::vector<frozen::Source> sources_of(const infer::Result& result, const ir::Node& node,
                                       const std::vector<int64_t>& values) {
  frozen::SourceTracer tracer(result);
  std::vector<frozen::Source> found;
  for (const int64_t value : values) {
    if (value <= 1) continue;
    for (int i = 0; i < static_cast<int>(node.inputs().size()); ++i) {
      const ir::Value* operand = node.input(i);
      if (!operand) continue;
      const auto more = ops::holds_size(ops::role_of(node, i)) ? tracer.of_element(node, *operand, value)
                                                               : tracer.of_dim(node, *operand, value);
      found.insert(found.end(), more.begin(), more.end());
    }
  }
  return found;
}

// Names of the sizes of which a constant was found to be frozen: what they need follows from that.
std::set<std::string> reported_sizes(Evidence& evidence) {
  std::set<std::string> names;
  for (const frozen::FrozenSite& site : evidence.frozen().sites) {
    if ((!site.constant && !site.holder) || evidence.is_of_architecture(site)) continue;
    const auto add = [&](dim::Dim d) {
      for (const int id : dim::symbols_of(d))
        names.insert(evidence.frozen_scope().symbols()[static_cast<size_t>(id)].name);
    };
    add(site.expression);
    for (const frozen::FrozenSize& more : site.more) add(more.expression);
  }
  return names;
}

void report(Findings& findings, const infer::Result& result, const dim::Scope& scope, const ops::Obligation& o,
            const Meaning& meaning, size_t nodes) {
  const bool several = nodes > 1;
  const std::string who = several ? fmt::format("{} and {} more", name_of(*o.node), nodes - 1) : name_of(*o.node);
  Location location = location_of(*o.node);
  std::string where_it_holds = "some sizes only, though it is declared dynamic";
  std::string frozen;
  if (meaning.is_few) {
    const std::string& name = scope.symbols()[static_cast<size_t>(meaning.symbol)].name;
    where_it_holds = meaning.values.empty()
                         ? fmt::format("no size '{}'", name)
                         : fmt::format("{}={} only, though '{}' is dynamic", name, text_of(meaning.values), name);
    // Of several numbers a constant may have any by chance.
    const auto sources =
        meaning.values.size() == 1 ? sources_of(result, *o.node, meaning.values) : std::vector<frozen::Source>();
    for (const frozen::Source& source : sources) {
      if (source.constant) location.tensor = source.constant->name();
      frozen = source.constant
                   ? fmt::format(": frozen in '{}', which {} reads", source.constant->name(), name_of(*source.node))
                   : fmt::format(": frozen in '{}' of {}", source.attribute, name_of(*source.node));
      break;
    }
    if (frozen.empty()) frozen = ": a size was frozen before this node";
  }
  Finding& f = findings.add(fmt::format("{} {} {} ({}), which holds at {}{}", who, several ? "need" : "needs",
                                        statement_of(o), o.what, where_it_holds, frozen),
                            std::move(location));
  if (!meaning.is_few) f.severity = Severity::kWarning;
  f.details.emplace_back("statement", statement_of(o));
  f.fix = meaning.is_few
              ? "compute the size in the model, or declare the input with this size"
              : "`thaw check --sizes` shows the smallest failing sizes; declare the sizes the model supports";
}

}  // namespace

void look_for_pinned_sizes(Evidence& evidence, Findings& findings) {
  // Over what the model states of its sizes, where it does.
  const bool is_stated = !infer::stated_sizes(evidence.model()).empty();
  std::unique_ptr<SizeRanges> stated;
  if (is_stated) {
    stated = std::make_unique<SizeRanges>(evidence.model());
    try {
      infer_over(evidence.model(), {}, *stated);
    } catch (const Error&) {
      return;  // what it states contradicts itself: `check --sizes` says so
    }
  }
  const infer::Result& result = is_stated ? stated->result : evidence.inferred();
  const dim::Scope& scope = is_stated ? stated->scope : evidence.scope();
  std::map<std::pair<const dim::Expr*, const dim::Expr*>, std::pair<const ops::Obligation*, size_t>> statements;
  std::vector<const ops::Obligation*> order;
  for (const ops::Obligation& o : result.obligations()) {
    if (o.only_specified || !o.a.is_symbolic() || !o.b.is_symbolic()) continue;
    if (o.kind != dim::Relation::kEqual && o.kind != dim::Relation::kBroadcastable) continue;
    auto& [first, nodes] = statements[{o.a.expr(), o.b.expr()}];
    ++nodes;
    if (first || order.size() == kMostLooked) continue;
    first = &o;
    order.push_back(&o);
  }
  if (order.empty()) return;
  const Reader reader(scope);
  std::set<std::string> reported;
  bool is_asked = false;
  size_t shown = 0;
  for (const ops::Obligation* o : order) {
    const Meaning meaning = reader.read(*o);
    if ((!meaning.is_few && !meaning.is_odd) || shown == kMostShown) continue;
    if (!std::exchange(is_asked, true)) reported = reported_sizes(evidence);
    if (reported.contains(scope.symbols()[static_cast<size_t>(meaning.symbol)].name)) continue;
    report(findings, result, scope, *o, meaning, statements[{o->a.expr(), o->b.expr()}].second);
    ++shown;
  }
}

}  // namespace thaw::checking
