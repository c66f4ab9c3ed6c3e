// All that the traces may leave open, in the order in which the domain says it.
#include "thaw/lift/untold/untold.h"

#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

#include "thaw/dim/text/text.h"
#include "thaw/lift/domain/roundings.h"
#include "thaw/lift/untold/constant_counts.h"
#include "thaw/lift/untold/contradicted.h"
#include "thaw/lift/untold/equal_sides.h"
#include "thaw/lift/untold/extremes.h"
#include "thaw/lift/untold/hold_steady.h"
#include "thaw/lift/untold/index_limits.h"
#include "thaw/lift/untold/no_ops.h"
#include "thaw/lift/untold/sign_limits.h"
#include "thaw/lift/untold/steady_elements.h"
#include "thaw/lift/untold/steady_extremes.h"
#include "thaw/lift/untold/untold_pads.h"
#include "thaw/lift/untold/window_limits.h"
#include "thaw/lift/untold/written_out.h"

namespace thaw::lifting {
namespace {

void add_all(Domain& domain, std::vector<Undecided> all) {
  for (Undecided& each : all) add_undecided(domain, std::move(each));
}

void equal_axes(Domain& domain, const Written& w) {
  add_equal_sides(domain, w.equal, w.lifting.sizes->emitted());
  add_equal_sides(domain, w.equal, sizes_behind_constant_counts(w.lifting));
}

void steady_values(Domain& domain, const Written& w) {
  const Lifting& l = w.lifting;
  for (const Variable& v : l.variables)
    if (v.kind == Variable::Kind::kValue && !v.varies() && l.sizes->reads_values_of(l.model().graph->find(v.input)))
      domain.fixed.push_back(&v);
}

void guessed_roundings(Domain& domain, const Written& w) {
  const Lifting& l = w.lifting;
  add_roundings(domain, l.sizes->emitted(), l.solver->guessed(), l.told, l.variables);
}

void ends(Domain& domain, const Written& w) {
  const Lifting& l = w.lifting;
  add_limits(domain, l.limits);
  add_limits(domain, index_limits(l.model(), l.variables, l.scope));
  add_limits(domain, window_limits(l));
  add_limits(domain, sign_limits(l));
}

// Of axes along which tables begin again after so many places: where two traces, and there are no more, end at the same of these, every size
// does. A size may be a sum of such a table (durations), and any line meets two of them.
void periods(Domain& domain, const Written& w) {
  for (const FittedTable& table : w.lifting.tables)
    for (const auto& [size, period] : table.fit.repeated) {
      const std::vector<int64_t> at = in_traces(size, w.lifting.variables);
      if (at.size() == 2 && common_step(at) % period == 0 && !dim::mod(size, period).is_constant())
        add_congruence(domain, size, period, at.front());
    }
}

void steady_counts(Domain& domain, const Written& w) {
  const Lifting& l = w.lifting;
  for (const FittedTable& table : l.tables)
    for (const dim::Dim length : table.fit.growing)
      add_all(domain, steady_parts(length, l.variables, l.solver->unseen()));
  add_all(domain, steady_pieces(l));
}

void found_while_explained(Domain& domain, const Written& w) { add_all(domain, w.lifting.undecided); }

void steady_chunks(Domain& domain, const Written& w) {
  if (!w.lifting.options.keep_static.empty()) return;
  for (const SteadySize& size : written_out(w.lifting.steady_sizes))
    add_undecided(domain, {size.size, dim::Dim(size.at), ""});
}

void whole_pieces(Domain& domain, const Written& w) {
  add_whole_divisions(domain, w.lifting.told, w.lifting.variables);
  add_whole_sizes(domain, w.lifting.sizes_at_no_ops);
}

void open_terms(Domain& domain, const Written& w) {
  dim::Scope& scope = w.lifting.scope;
  for (const auto& [wanted, choice] : w.lifting.choices.by_values)
    for (const Agreement& agreement : choice.guarded) {
      const auto chosen = dim::try_parse(agreement.chosen, scope), other = dim::try_parse(agreement.other, scope);
      const auto size = dim::try_parse(agreement.size, scope);
      if (agreement.modulus > 0 && size)
        add_congruence(domain, *size, agreement.modulus, agreement.remainder);
      else if (chosen && other)
        domain.undecided.push_back({*chosen, *other, agreement.telling});
    }
  for (const auto& [place, choice] : w.lifting.choices.by_place)
    for (const std::string& other : choice.others) {
      const auto taken = dim::try_parse(choice.taken, scope), else_taken = dim::try_parse(other, scope);
      if (taken && else_taken) add_undecided(domain, {*taken, *else_taken, ""});
    }
}

void numbers_of_one_side(Domain& domain, const Written& w) {
  add_rounded_numbers(domain, w.lifting.numbers_of_sizes, w.lifting.variables);
  add_extremes(domain, w.lifting.numbers_of_sizes, w.lifting.variables);
}

void sizes_of_one_side(Domain& domain, const Written& w) {
  const Lifting& l = w.lifting;
  std::vector<dim::Dim> known = l.sizes->emitted();
  for (const auto& [value, shape] : l.tensor_shapes) std::ranges::copy(shape, std::back_inserter(known));
  add_extremes(domain, l.solver->guessed(), known, l.variables);
}

void nodes_taken_out(Domain& domain, const Written& w) {
  const Lifting& l = w.lifting;
  if (!keeps_no_ops(l.model())) widen_to_common_divisors(domain, l.told, l.variables);
}

void contradicted_between(Domain& domain, const Written& w) {
  add_contradicted(domain, w.lifting.model(), w.lifting.variables, {});
}

void pads(Domain& domain, const Written& w) { add_all(domain, untold_pads(w.lifting, w.needs)); }

using Question = void (*)(Domain&, const Written&);
constexpr Question kQuestions[] = {
    equal_axes,             // two axes of an input that are as long in every trace
    steady_values,          // an element of an input that is the same in every trace
    guessed_roundings,      // parts of sizes that are whole in every trace, and how others are rounded
    ends,                   // of tables, of what is read by index, of windows, of what is below 0
    periods,                // tables that begin again, of two traces
    steady_counts,          // columns of grids and whole pieces that are as many in every trace
    found_while_explained,  // what the steps of lifting met
    steady_chunks,          // chunks that are read one by one, as many in every trace
    whole_pieces,           // sizes that the graph divides, that Slices and Pads leave as they are
    open_terms,             // integers that two terms explain as well (unknowns/undecided.h)
    add_steady_elements,    // an element that is the same in every trace beside one that follows a side
    add_steady_extremes,    // a longer side that is the same in every trace
    numbers_of_one_side,    // numbers computed of a side, which may be the longer one, or of a part that is rounded
    sizes_of_one_side,      // sizes computed of a side, which may be the longer one
    nodes_taken_out,        // what an exporter left out as it did nothing
    contradicted_between,   // sizes that are no multiples, at which nodes contradict each other
    pads,                   // what Pads add at other remainders
};

}  // namespace

Domain domain_of(const Written& written) {
  Domain domain;
  for (const Question question : kQuestions) question(domain, written);
  return domain;
}

}  // namespace thaw::lifting
