#include "thaw/lift/onetrace/untold.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "thaw/infer/infer.h"
#include "thaw/lift/align/slice.h"
#include "thaw/lift/onetrace/write_sizes.h"
#include "thaw/rewrite/dim_emitter.h"
#include "thaw/rewrite/guard_inputs.h"

namespace thaw::lifting::onetrace {

bool varies(const Size& size) {
  return !size.at || std::ranges::any_of(size.by_case, [&](int64_t value) { return value != *size.at; });
}

void Untold::add(dim::Dim distance) {
  const auto is_it = [&](dim::Dim known) { return dim::same(known, distance); };
  if (distance.is_symbolic() && std::ranges::none_of(distances_, is_it)) distances_.push_back(distance);
}

void Untold::add_bounds(const ir::Model& model, dim::Scope& scope, const std::vector<Constant>& constants,
                        std::span<const KeptNumber> kept) {
  if (kept.empty()) return;
  const infer::Result facts = infer::infer(model, scope);
  for (const auto& [c, size] : kept) {
    const dim::Dim number(size.at.front());
    bool are_slices = true;
    for (const ir::Use& use : constants[c].uses) {
      const auto slice = written_slice(*use.node);
      are_slices &= slice.has_value();
      const ops::Fact& data = facts.fact(use.node->input(0));
      if (!slice || !data.has_rank()) continue;
      const dim::Dim axis = data.dim(static_cast<int>(slice->axis_of(static_cast<size_t>(data.rank()))));
      if (axis.is_known()) add(dim::min(axis, number) - dim::min(axis, size.dim));
    }
    if (are_slices) continue;
    if (std::ranges::all_of(size.at, [&](int64_t at) { return at <= size.at.front(); }))
      add(dim::max(size.dim - number, dim::Dim(0)));
    else if (size.at.front() > 1 && std::ranges::all_of(size.at, [&](int64_t at) { return at >= size.at.front(); }))
      add(dim::max(number - size.dim, dim::Dim(0)));
  }
}

std::vector<std::string> Untold::guard(ir::Model& model, const Sizes& sizes,
                                       const std::vector<Constant>& constants) const {
  std::vector<dim::Dim> distances = distances_;
  std::vector<std::string> names;
  for (const Size& size : sizes.sizes) {
    if (varies(size) || !size.symbol.is_symbolic()) continue;
    const ir::Value* input = model.graph->find(size.input);
    const bool is_read = !size.is_dim && input && !input->uses().empty();
    const bool is_among_constants =
        std::ranges::any_of(constants, [&](const Constant& c) { return std::ranges::count(c.elements, *size.at) > 0; });
    if (!is_read && !is_among_constants) continue;
    distances.push_back(size.symbol - dim::Dim(*size.at));
    names.push_back(fmt::format("{}={}", size.name, *size.at));
  }
  std::vector<std::string> notes;
  if (distances.empty()) return notes;
  rewrite::InputGuard inputs(model);
  rewrite::Emitter nodes(model, "guard");
  const auto shapes = input_shapes(model, sizes);
  rewrite::DimEmitter emitter(nodes, model, shapes);
  read_sizes(model, sizes, emitter);
  if (!inputs.put(emitter, distances, shapes)) return notes;
  if (!distances_.empty())
    notes.emplace_back(
        "where sizes differ that no case tells from each other, the model ends with an error of Reshape; a case at "
        "which they differ tells the rest");
  if (!names.empty())
    notes.push_back(
        fmt::format("known at {} alone, which no case varies: at any other the model ends with an error of Reshape; a "
                    "case at another size tells the rest",
                    fmt::join(names, ", ")));
  return notes;
}

}  // namespace thaw::lifting::onetrace
