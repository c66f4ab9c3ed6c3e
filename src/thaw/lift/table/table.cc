#include "thaw/lift/table/table.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "thaw/dim/text/text.h"
#include "thaw/lift/solve/elements.h"
#include "thaw/lift/solve/whole_pieces.h"
#include "thaw/lift/table/generators.h"

namespace thaw::lifting {
TableFit made_of(const View& view, Generated generated) {
  std::vector<TableFit::Made> formulas;
  std::vector<std::pair<dim::Dim, int64_t>> repeated;
  for (const Part& part : generated.parts) {
    formulas.push_back({numbers_in(part.formula), sizes_in(part.formula)});
    for (const auto& [axis, period] : periods_in(part.formula))
      if (static_cast<size_t>(axis) < view.growing.size()) repeated.emplace_back(view.growing[axis].dim, period);
  }
  return {.description = std::move(generated.description),
          .emit = [form = view.without_entries(),
                   parts = std::move(generated.parts)](TableEmitter& e) { return emit_parts(form, parts, e); },
          .departs = generated.departs,
          .formulas = std::move(formulas),
          .repeated = std::move(repeated)};
}

namespace {

// A buffer of a size that is 0 in every trace.
TableFit without_entries(const View& view) {
  return {"no entries", [dims = view.dims, type = view.type](TableEmitter& e) {
            std::vector<ir::Value*> sizes;
            for (const dim::Dim size : dims) sizes.push_back(e.size(size));
            return e.emit("Expand", {e.cast(e.list({0}), type), e.concat(sizes, 0)});
          }};
}

// What stands around a table, and the axes that it has itself in every trace: positions [2, n] cut by 2.
Around around_table(std::span<const ir::Tensor* const> tensors, const TableContext& context) {
  Around around = context.around;
  around.only_windows = true;
  for (size_t axis = 0; axis < tensors.front()->dims.size(); ++axis) {
    const int64_t size = tensors.front()->dims[axis];
    const auto as_long = [&](const ir::Tensor* t) { return axis < t->dims.size() && t->dims[axis] == size; };
    if (size > 1 && std::ranges::all_of(tensors, as_long)) around.windows.insert(around.windows.begin(), size);
  }
  return around;
}

}  // namespace

std::optional<TableFit> fit_shape(std::span<const ir::Tensor* const> tensors, const TableContext& context,
                                  std::string& reason) {
  const ir::Tensor& first = *tensors.front();
  const auto is_alike = [&](const ir::Tensor* t) { return t->dims.size() == first.dims.size(); };
  if (!std::ranges::all_of(tensors, is_alike)) return std::nullopt;
  const Around around = around_table(tensors, context);
  ops::Shape sizes;
  for (size_t axis = 0; axis < first.dims.size(); ++axis) {
    std::vector<int64_t> at;
    for (const ir::Tensor* tensor : tensors) at.push_back(tensor->dims[axis]);
    const auto size = context.solver.solve(at, around);
    if (!size) reason = fmt::format("no size of the inputs gives its axis {}: {}", axis, fmt::join(at, ", "));
    if (!size) return std::nullopt;
    sizes.push_back(*size);
  }
  if (std::ranges::all_of(sizes, [](dim::Dim size) { return size.is_constant(); })) return std::nullopt;
  return TableFit{"its sizes", [sizes, type = first.data_type](TableEmitter& e) {
                    return e.emit("Expand", {e.cast(e.list({0}), type), e.sizes().emit_shape(sizes)});
                  }};
}

TableFit fit_of_sizes(const ops::Shape& sizes, const ir::Tensor& like) {
  std::vector<std::string> text;
  for (const dim::Dim size : sizes) text.push_back(dim::to_string(size));
  TableFit fit;
  fit.sizes = sizes;
  fit.description = fmt::format("[{}]", fmt::join(text, ", "));
  fit.emit = [sizes, dims = like.dims, type = like.data_type](TableEmitter& e) {
    ir::Value* list = sizes.empty() ? e.list({}) : e.sizes().emit_shape(sizes);
    if (dims.size() != 1) list = e.emit("Reshape", {list, e.list(dims)});
    return type == ir::DataType::kInt64 ? list : e.cast(list, type);
  };
  return fit;
}

std::optional<TableFit> fit_sizes(std::span<const ir::Tensor* const> tensors, const TableContext& context,
                                  std::string& reason) {
  constexpr int64_t kMostSizes = 64;
  const ir::Tensor& first = *tensors.front();
  const bool alike = std::all_of(tensors.begin(), tensors.end(), [&](const ir::Tensor* t) {
    return t->dims == first.dims && t->data_type == first.data_type;
  });
  if (!alike || !ir::is_integer(first.data_type) || first.num_elements() > kMostSizes) return std::nullopt;
  std::vector<std::vector<int64_t>> values;
  for (const ir::Tensor* tensor : tensors) values.push_back(tensor->to_int64());
  std::vector<std::vector<int64_t>> elements;  // each in all traces
  for (size_t i = 0; i < values.front().size(); ++i) {
    std::vector<int64_t>& wanted = elements.emplace_back();
    for (const auto& each : values) wanted.push_back(each[i]);
  }
  ops::Shape sizes;
  if (context.pads) sizes = context.solver.solve_padding(elements, context.around).value_or(ops::Shape());
  const Around around = first.dims.size() <= 1 && context.around.meaning != Meaning::kPlace ? context.around : Around();
  for (size_t i = sizes.size(); i < elements.size(); ++i)
    sizes.push_back(context.solver.solve(elements[i], around).value_or(dim::Dim()));
  for (const auto& [element, size] : context.taken)
    if (element < sizes.size()) sizes[element] = size;
  keep_whole_pieces(sizes, context.around.axes, context.around.pieces);
  keep_given_back(sizes, context.around.given_back);
  keep_axes(sizes, context.around.axes, context.around.made);
  keep_elements(sizes, context.around.elements);
  for (size_t i = 0; i < elements.size(); ++i) {
    if (context.holds_sizes && sizes[i].is_unknown()) sizes[i] = context.solver.left_unsolved(elements[i]);
    if (sizes[i].is_known()) continue;
    reason = fmt::format("no size of the inputs gives its element {}: {}", i, fmt::join(elements[i], ", "));
    return std::nullopt;
  }
  TableFit fit = fit_of_sizes(sizes, first);
  for (const std::vector<int64_t>& wanted : elements) {
    const auto solved = context.solver.solved().find(wanted);
    fit.is_guessed |= solved != context.solver.solved().end() && solved->second == Rule::kTerm;
  }
  return fit;
}

namespace {

// growing: of the axes along which it is fitted.
std::optional<TableFit> fit_along(std::span<const ir::Tensor* const> tensors, TableContext& context,
                                  std::string& reason, ops::Shape& growing) {
  std::string nearest;
  const auto as_list = [&] { return fit_window_list(tensors, context, nearest); };
  // In one trace anything is a list of windows, or of sizes: rows that count up are tried first, and the integers of a
  // short list are for those who can confirm each (propose.h).
  const bool is_one = tensors.size() == 1;
  if (!is_one) {
    if (auto fit = as_list()) return fit;
    if (auto fit = fit_sizes(tensors, context, reason)) return fit;
    if (context.holds_sizes && !reason.empty()) return std::nullopt;
    if (auto fit = fit_reals(tensors, context)) return fit;
    if (auto fit = fit_growing_averages(tensors, context, around_table(tensors, context))) return fit;
  }
  std::string form_reason;
  auto view = view_of(tensors, context.solver, form_reason, {}, around_table(tensors, context));
  if (!view && is_one) return as_list();
  if (view && view->entries.front().empty()) return without_entries(*view);
  if (view) {
    count_rows(*view, context.solver);
    for (const Size& axis : view->growing) growing.push_back(axis.dim);
    context.untold.clear();
  }
  const JoinedPieces pieces(tensors, context.joined);
  std::string of_part;
  const auto as_one = [&](bool is_rounded) -> std::optional<TableFit> {
    if (!view) return std::nullopt;
    view->is_rounded = is_rounded;
    auto generated = fit_whole_table({*view, context});
    return generated ? std::optional(made_of(*view, std::move(*generated))) : std::nullopt;
  };
  const auto fit_by = [&](size_t way) -> std::optional<TableFit> {
    if (way == 0) return is_one ? std::nullopt : fit_inner_cells(view ? &*view : nullptr, pieces, context);
    if (way == 1) return as_one(false);
    if (way == 2) return view && view->kind == Kind::kReal ? as_one(true) : std::nullopt;
    if (way == 3) return fit_one_after_another(tensors, context, of_part);
    if (way == 4) return fit_joined(pieces, context);
    return is_one ? as_list() : std::nullopt;
  };
  constexpr size_t kWays = 6;
  const uint64_t key = view ? FittedBefore::key_of(*view, Ways::kWhole) : 0;
  if (auto fit = first_way(view ? context.before : nullptr, key, kWays, fit_by)) return fit;
  if (!context.untold.empty()) of_part = context.untold;
  if (!of_part.empty()) {
    reason = of_part;
    return std::nullopt;
  }
  if (!view) {
    if (reason.empty()) reason = form_reason + nearest;
    return std::nullopt;
  }
  // Of a short list of sizes, the one that nothing gives says most.
  const bool fixed =
      std::all_of(view->growing.begin(), view->growing.end(), [](const Size& n) { return n.dim.is_constant(); });
  if (reason.empty() || !fixed)
    reason = view->growing.size() == 1
                 ? nearest_of({*view, context})
                 : "no sum, product, mask or function of a distance along its axes gives its entries";
  reason += nearest;
  return std::nullopt;
}

}  // namespace

std::vector<const ir::Tensor*> pointers_to(const std::vector<ir::Tensor>& tensors) {
  std::vector<const ir::Tensor*> list;
  for (const ir::Tensor& tensor : tensors) list.push_back(&tensor);
  return list;
}

std::optional<TableFit> fit_table(std::span<const ir::Tensor* const> tensors, TableContext& context,
                                  std::string& reason) {
  ops::Shape growing;
  auto fit = fit_along(tensors, context, reason, growing);
  if (fit) fit->growing = std::move(growing);
  return fit;
}

}  // namespace thaw::lifting
