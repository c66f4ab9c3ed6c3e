// Tables of several images or clips, one after another: an input has a line for each (grid_thw [num_images, 3]), and the
// table as many rows for it as the line's product says.
//
// Each part is fitted for itself, with the sizes of its own line alone. Indices may count from the part's first row.
#include <algorithm>
#include <map>
#include <memory>
#include <numeric>

#include <fmt/format.h>

#include "thaw/dim/text/text.h"
#include "thaw/lift/table/generators.h"
#include "thaw/lift/table/input_lines.h"
#include "thaw/lift/table/table_piece.h"

namespace thaw::lifting {
namespace {

using ByTrace = std::vector<int64_t>;

// A line of an input, and what its part of a table is fitted with.
class SolvedLine {
 public:
  // length: of the part, in the traces.
  SolvedLine(const InputLine& line, const std::optional<Size>& length, const TableContext& context)
      : line_(line),
        variables_(variables_of(line, context.variables)),
        solver_(length && length->at.size() == 1 ? Solver(variables_, decided(*length, context))
                                                 : Solver(variables_, nullptr, context.solver.tensors())),
        context_{variables_, solver_, context.sides, context.around} {
    context_.antialias = context.antialias;
  }
  SolvedLine(const SolvedLine&) = delete;
  SolvedLine& operator=(const SolvedLine&) = delete;

  std::string name() const { return line_.name(); }
  TableContext& context() { return context_; }

  // A description with the elements of this line as those of any.
  std::string of_any_line(std::string text) const {
    for (const Variable& v : variables_) {
      if (v.kind != Variable::Kind::kValue || v.input != line_.input) continue;
      const std::string own = dim::to_string(v.symbol), any = fmt::format("{}[, {}]", v.input, v.index % line_.row);
      for (size_t at = text.find(own); at != std::string::npos; at = text.find(own, at + any.size()))
        text.replace(at, own.size(), any);
    }
    return text;
  }

 private:
  // All but the elements of other lines.
  static std::vector<Variable> variables_of(const InputLine& line, std::span<const Variable> variables) {
    std::vector<Variable> own;
    for (const Variable& v : variables)
      if (v.kind != Variable::Kind::kValue || v.input != line.input || line.has(v)) own.push_back(v);
    return own;
  }

  // Of one trace, what the part's length is was told.
  static std::map<int64_t, dim::Dim> decided(const Size& length, const TableContext& context) {
    std::map<int64_t, dim::Dim> all = context.solver.decided();
    all.insert_or_assign(length.at.front(), length.dim);
    return all;
  }

  InputLine line_;
  std::vector<Variable> variables_;
  Solver solver_;
  TableContext context_;
};
using LinePtr = std::shared_ptr<SolvedLine>;

// The axes along which a part may follow another: of several traces, the only one whose size differs.
std::vector<size_t> growing_axes(std::span<const ir::Tensor* const> tensors) {
  const ir::Tensor& first = *tensors.front();
  for (const ir::Tensor* tensor : tensors)
    if (tensor->dims.size() != first.dims.size() || tensor->data_type != first.data_type || !can_be_cut(*tensor))
      return {};
  std::vector<size_t> axes;
  for (size_t axis = 0; axis < first.dims.size(); ++axis) {
    const auto is_same = [&](const ir::Tensor* tensor) { return tensor->dims[axis] == first.dims[axis]; };
    if (tensors.size() == 1 || !std::ranges::all_of(tensors, is_same)) axes.push_back(axis);
  }
  return tensors.size() == 1 || axes.size() == 1 ? axes : std::vector<size_t>();
}

struct LinePart {
  LinePtr line;  // what the fit was made with
  TableFit fit;
  dim::Dim before = 0;  // to be added to its entries
};

std::optional<LinePart> fit_part(const std::vector<ir::Tensor>& part, const InputLine& of,
                                 const std::optional<Size>& length, const TableContext& context, std::string& reason) {
  const auto line = std::make_shared<SolvedLine>(of, length, context);
  std::string own;
  if (auto fit = fit_table(pointers_to(part), line->context(), own)) return LinePart{line, std::move(*fit)};
  reason = fmt::format("of the part that {} tells: {}", of.name(), own);
  return std::nullopt;
}

// Whether the parts are made in the same way, each of its own sizes.
bool are_alike(const std::vector<LinePart>& parts) {
  return std::ranges::all_of(parts, [&](const LinePart& part) {
    return part.line->of_any_line(part.fit.description) == parts[0].line->of_any_line(parts[0].fit.description);
  });
}

std::string describe_parts(const std::vector<LinePart>& parts) {
  std::string text;
  for (const LinePart& part : parts)
    text += fmt::format("{}{} for {}", text.empty() ? "" : ", then ", part.fit.description, part.line->name());
  return text;
}

ir::Value* emit_joined(const std::vector<LinePart>& parts, int64_t axis, TableEmitter& e) {
  std::vector<ir::Value*> made;
  for (const LinePart& part : parts) {
    ir::Value* value = part.fit.emit(e);
    made.push_back(part.before.is_constant(0) ? value : e.add(value, e.size(part.before)));
  }
  return e.concat(std::move(made), axis);
}

// relative: entries that count from their part's first row, as int64.
struct RowsFit {
  TableFit fit;
  bool alike;
};
std::optional<RowsFit> fit_rows_along(size_t axis, std::span<const ir::Tensor* const> tensors,
                                      std::span<const InputLine> lines, const TableContext& context, bool relative,
                                      std::string& reason) {
  ByTrace totals, begin(tensors.size(), 0);
  for (const ir::Tensor* tensor : tensors) totals.push_back(tensor->dims[axis]);
  const auto lengths = shares_of(lines, totals);
  if (!lengths) return std::nullopt;
  std::vector<LinePart> parts;
  dim::Dim before = 0;
  for (size_t i = 0; i < lines.size(); ++i) {
    const Size& length = (*lengths)[i];
    std::vector<ir::Tensor> part;
    for (size_t k = 0; k < tensors.size(); ++k) {
      ir::Tensor own = piece_along(*tensors[k], axis, begin[k], length.at[k]);
      if (relative) {
        std::vector<int64_t> entries = own.to_int64();
        for (int64_t& entry : entries) entry -= begin[k];
        own = ir::Tensor::from_int64(own.name, own.dims, entries);
      }
      part.push_back(std::move(own));
      begin[k] += length.at[k];
    }
    auto fit = fit_part(part, lines[i], length, context, reason);
    if (!fit) return std::nullopt;
    parts.push_back(std::move(*fit));
    if (relative) parts.back().before = before;
    before = before + length.dim;
  }
  const bool cast = relative && tensors.front()->data_type != ir::DataType::kInt64;
  TableFit fit{describe_parts(parts),
               [parts, axis = static_cast<int64_t>(axis), cast, type = tensors.front()->data_type](TableEmitter& e) {
                 ir::Value* joined = emit_joined(parts, axis, e);
                 return cast ? e.cast(joined, type) : joined;
               }};
  return RowsFit{std::move(fit), are_alike(parts)};
}

// Indices count from the first row of all, or of their part; what explains each part alike is no chance.
std::optional<TableFit> fit_rows(std::span<const ir::Tensor* const> tensors, std::span<const InputLine> lines,
                                 const TableContext& context, std::string& reason) {
  std::optional<TableFit> chance;
  const bool may_count = ir::is_integer(tensors.front()->data_type) && tensors.size() > 1;
  for (const size_t axis : growing_axes(tensors)) {
    for (const bool relative : {false, true}) {
      if (relative && !may_count) continue;
      auto rows = fit_rows_along(axis, tensors, lines, context, relative, reason);
      if (rows && rows->alike) return std::move(rows->fit);
      if (rows && !chance) chance = std::move(rows->fit);
    }
  }
  return chance;
}

// Lengths of windows or frames, or their sums with a leading 0: where they add up to a line's share, the next line's begin.
std::optional<TableFit> fit_lengths(std::span<const ir::Tensor* const> tensors, std::span<const InputLine> lines,
                                    const TableContext& context, std::string& reason) {
  std::vector<ByTrace> lists;
  for (const ir::Tensor* tensor : tensors) {
    const size_t rank = tensor->dims.size();
    const bool is_list = rank == 1 || (rank == 2 && tensor->dims[0] == 1);
    if (!is_list || rank != tensors.front()->dims.size() || !ir::is_integer(tensor->data_type) ||
        tensor->num_elements() < 2)
      return std::nullopt;
    lists.push_back(tensor->to_int64());
  }
  const bool summed = std::ranges::all_of(lists, [](const ByTrace& list) { return list.front() == 0; });
  ByTrace totals;
  for (ByTrace& list : lists) {
    constexpr int64_t kLongest = int64_t{1} << 32;
    if (!std::ranges::all_of(list, [](int64_t n) { return n >= 0 && n <= kLongest; })) return std::nullopt;
    if (summed) {
      std::adjacent_difference(list.begin(), list.end(), list.begin());
      list.erase(list.begin());
    }
    if (std::ranges::any_of(list, [](int64_t n) { return n < 1; })) return std::nullopt;
    totals.push_back(std::accumulate(list.begin(), list.end(), int64_t{0}));
  }
  const auto lengths = shares_of(lines, totals);
  if (!lengths) return std::nullopt;
  std::vector<LinePart> parts;
  std::vector<size_t> begin(lists.size(), 0);
  for (size_t i = 0; i < lines.size(); ++i) {
    std::vector<ir::Tensor> part;
    for (size_t k = 0; k < lists.size(); ++k) {
      ByTrace own;
      for (int64_t left = (*lengths)[i].at[k]; left > 0; left -= own.back(), ++begin[k])
        own.push_back(lists[k][begin[k]]);
      if (std::accumulate(own.begin(), own.end(), int64_t{0}) != (*lengths)[i].at[k]) return std::nullopt;
      part.push_back(ir::Tensor::from_int64("lengths", {static_cast<int64_t>(own.size())}, own));
    }
    auto fit = fit_part(part, lines[i], std::nullopt, context, reason);
    if (!fit) return std::nullopt;
    parts.push_back(std::move(*fit));
  }
  return TableFit{
      summed ? "sums of " + describe_parts(parts) : describe_parts(parts),
      [parts, summed, rank = tensors.front()->dims.size(), type = tensors.front()->data_type](TableEmitter& e) {
        ir::Value* list = emit_joined(parts, 0, e);
        if (summed) list = e.concat({e.list({0}), e.emit("CumSum", {list, e.integer(0)})}, 0);
        if (rank == 2) list = e.unsqueeze(list, {0});
        return type == ir::DataType::kInt64 ? list : e.cast(list, type);
      }};
}

// All but what the lines have together (num_patches), which is no size of one of them.
std::vector<Variable> sizes_of_parts(std::span<const InputLine> lines, std::span<const Variable> variables) {
  std::vector<Variable> sizes;
  for (const Variable& v : variables)
    if (v.kind != Variable::Kind::kDim || !shares_of(lines, v.at)) sizes.push_back(v);
  return sizes;
}

}  // namespace

std::optional<TableFit> fit_one_after_another(std::span<const ir::Tensor* const> tensors, const TableContext& context,
                                              std::string& reason) {
  const auto inputs = context.lines.empty() ? lines_of_inputs(context.variables) : context.lines;
  for (const std::vector<InputLine>& lines : inputs) {
    const std::vector<Variable> sizes = sizes_of_parts(lines, context.variables);
    TableContext of_parts{sizes, context.solver, context.sides, context.around};
    of_parts.antialias = context.antialias;
    // In one trace anything is a list of lengths.
    if (tensors.size() > 1)
      if (auto fit = fit_lengths(tensors, lines, of_parts, reason)) return fit;
    if (auto fit = fit_rows(tensors, lines, of_parts, reason)) return fit;
  }
  return std::nullopt;
}

}  // namespace thaw::lifting
