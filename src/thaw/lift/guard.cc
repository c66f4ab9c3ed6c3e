// The guard: at sizes and values of which the traces tell nothing (domain.h), the lifted model ends with an error
// (rewrite/guard_inputs.h).
#include <algorithm>

#include <fmt/format.h>

#include "thaw/dim/text/text.h"
#include "thaw/infer/stated_sizes.h"
#include "thaw/lift/domain/domain.h"
#include "thaw/lift/steps.h"
#include "thaw/rewrite/guard_inputs.h"

namespace thaw::lifting {
namespace {

// What has to be 0.
std::vector<dim::Dim> distances(const Domain& domain, const std::vector<dim::Dim>& others) {
  std::vector<dim::Dim> all;
  for (const Congruence& c : domain.congruences) all.push_back(dim::mod(c.size - dim::Dim(c.remainder), c.modulus));
  for (const auto& [size, of] : domain.multiples) all.push_back(dim::mod(size, dim::max(of, 1)));
  for (const Limit& limit : domain.limits) all.push_back(dim::max(limit.size - limit.most, 0));
  for (const Variable* v : domain.fixed) all.push_back(v->symbol - dim::Dim(v->at.front()));
  for (const Undecided& u : domain.undecided) all.push_back(u.chosen - u.other);
  for (const auto& [size, of] : domain.followed) all.push_back(size - of);
  for (size_t i = 0; i < others.size(); ++i) all.push_back(domain.squares[i].symbol - others[i]);
  return all;
}

}  // namespace

void drop_stated_domain(ir::Model& model) {
  std::erase_if(model.metadata_props, [](const auto& pair) {
    return pair.first == infer::kValidSizesKey || pair.first == infer::kOldValidSizesKey;
  });
}

void guard(Lifting& l, const Domain& domain) {
  ir::Model& model = l.model();
  if (domain.is_everything()) return;
  rewrite::InputGuard inputs(model);
  rewrite::Emitter nodes(model, "guard");
  nodes.share_nodes();
  nodes.ask_as_of(kFormOpset);
  std::unordered_map<const ir::Value*, ops::Shape> shapes = input_shapes(l);
  std::vector<dim::Dim> others;  // the second side of each square, as a size of its own
  for (const EqualSides& s : domain.squares) {
    others.push_back(l.scope.fresh("other_side", dim::SymbolKind::kInputDim));
    shapes[s.input][s.other] = others.back();
  }
  rewrite::DimEmitter sizes(nodes, model, shapes);
  read_values(l, sizes);
  const std::vector<Note> notes = domain.notes();
  if (!inputs.put(sizes, distances(domain, others), shapes)) {
    l.report.unexplained.insert(l.report.unexplained.end(), notes.begin(), notes.end());
    for (const auto& [size, of] : domain.followed)
      l.report.unexplained.push_back(
          {dim::to_string(size), fmt::format("valid for {}, as in every trace", dim::to_string(of)), {}});
    return;
  }
  if (const std::string text = domain.text(); !text.empty())
    model.metadata_props.emplace_back(infer::kValidSizesKey, text);
  l.report.valid_sizes = notes;
}

}  // namespace thaw::lifting
