#include "thaw/check/row_sums.h"

#include <algorithm>
#include <unordered_map>

#include <fmt/format.h>

#include "thaw/core/error.h"
#include "thaw/dim/prove/prove.h"
#include "thaw/dim/text/size_names.h"
#include "thaw/dim/text/text.h"

namespace thaw::checking {

namespace {

constexpr std::string_view kColumn = "[:,";
constexpr int64_t kMostPerColumn = 24;  // values that are tried of a column
constexpr size_t kMostTried = 1 << 14;  // rows

[[noreturn]] void refuse(std::string_view body, const std::string& what) {
  throw Error(ErrorCode::kInvalidArgument, {.what = what,
                                            .where = "sum(" + std::string(body) + ")",
                                            .expected = "columns NAME[:,j] of one integer input [rows, columns]"});
}

// A body with its columns apart: "grid[:,1]*2" is {"", grid 1}, "*2".
struct Parts {
  std::vector<std::pair<std::string, InputColumn>> columns;  // what stands before each
  std::string rest;
};

Parts parts_of(const ir::Model& model, std::string_view body) {
  Parts parts;
  size_t done = 0;
  for (size_t at = body.find(kColumn); at != std::string_view::npos; at = body.find(kColumn, done)) {
    size_t first = at;
    while (first > done && dim::is_size_name("x" + std::string(1, body[first - 1]))) --first;
    const size_t close = body.find(']', at);
    if (close == std::string_view::npos) refuse(body, "a ']' is missing");
    const std::string_view name = body.substr(first, close + 1 - first);
    const auto column = input_column(model, name);
    if (!column) refuse(body, "there is no column '" + std::string(name) + "'");
    parts.columns.emplace_back(body.substr(done, first - done), *column);
    done = close + 1;
  }
  parts.rest = body.substr(done);
  if (parts.columns.empty()) refuse(body, "names no column");
  for (const auto& [before, column] : parts.columns)
    if (column.input != parts.columns.front().second.input) refuse(body, "names columns of several inputs");
  return parts;
}

// The body with `name_of(j)` in the place of column j.
template <typename Name>
std::string with_names(const Parts& parts, Name name_of) {
  std::string text;
  for (const auto& [before, column] : parts.columns) text += before + name_of(column.index);
  return text + parts.rest;
}

}  // namespace

std::optional<InputColumn> input_column(const ir::Model& model, std::string_view name) {
  const size_t open = name.find(kColumn);
  if (open == std::string_view::npos || !name.ends_with(']')) return std::nullopt;
  const auto indexed = dim::split_index(fmt::format("{}[{}", name.substr(0, open), name.substr(open + kColumn.size())));
  if (!indexed) return std::nullopt;
  for (const ir::Value* input : model.graph->inputs()) {
    if (input->name() != indexed->first || !ir::is_integer(input->type.elem_type)) continue;
    if (!input->type.shape || input->type.shape->size() != 2) return std::nullopt;
    const auto columns = (*input->type.shape)[1].value;
    if (!columns || indexed->second >= *columns) return std::nullopt;
    return InputColumn{input, indexed->second, *columns};
  }
  return std::nullopt;
}

void assume(dim::Scope& scope, dim::Dim symbol, const Hull& hull) {
  scope.assume_range(symbol, hull.first, hull.last);
  if (hull.step > 1) scope.assume_divisible(symbol, hull.step, dim::mod(hull.first, hull.step).constant().value_or(0));
}

void RowSums::limit(const InputColumn& column, const Hull& hull) {
  limits_[{column.input, column.index}].push_back(hull);
  for (int64_t row = 0; row < kMostRows; ++row)
    assume(scope_, scope_.input_value(column.input->name(), row * column.columns + column.index), hull);
}

dim::Dim RowSums::sum(std::string_view body, const std::map<const ir::Value*, dim::Dim>& rows, dim::Dim total) {
  const Parts parts = parts_of(model_, body);
  const InputColumn& any = parts.columns.front().second;
  const std::string name = any.input->name();
  const auto known = rows.find(any.input);
  const dim::Dim count = known == rows.end() ? dim::Dim() : known->second;
  Sum made{name, count, total, {}, std::vector<int>(static_cast<size_t>(any.columns), -1)};
  int64_t step = 1;
  std::vector<std::string> texts(static_cast<size_t>(any.columns));
  for (const auto& [before, column] : parts.columns) {
    const auto j = static_cast<size_t>(column.index);
    if (made.columns[j] >= 0) continue;
    const dim::Dim symbol = scope_.fresh(fmt::format("row_of_{}", name), dim::SymbolKind::kInputValue);
    for (const Hull& hull : limits_[{column.input, column.index}]) assume(scope_, symbol, hull);
    made.columns[j] = scope_.symbol_id(symbol);
    texts[j] = dim::to_string(symbol);
    const dim::SymbolInfo& info = scope_.symbols()[static_cast<size_t>(made.columns[j])];
    int64_t product = 0;
    if (info.remainder == 0 && !__builtin_mul_overflow(step, info.modulus, &product)) step = product;
  }
  made.of_row = dim::parse(with_names(parts, [&](int64_t j) { return texts[static_cast<size_t>(j)]; }), scope_);
  if (const auto number = count.constant(); number && *number <= kMostRows) {
    dim::Dim all = 0;
    for (int64_t row = 0; row < *number; ++row) {
      std::unordered_map<int, dim::Dim> elements;
      for (int64_t j = 0; j < any.columns; ++j)
        if (const int id = made.columns[static_cast<size_t>(j)]; id >= 0)
          elements[id] = scope_.input_value(name, row * any.columns + j);
      all = all + dim::substitute(made.of_row, elements);
    }
    return all;
  }
  // What is known of each row, times the rows.
  if (step > 1 && dim::prove_divisible(made.of_row, step)) scope_.assume_divisible(total, step);
  const dim::Interval row = dim::range_of(made.of_row);
  if (row.lower && *row.lower >= 0) scope_.assume_range(total, 0, std::nullopt);
  if (count.is_known() && row.lower) scope_.assume_not_negative(total - count * *row.lower);
  if (count.is_known() && row.upper) scope_.assume_not_negative(count * *row.upper - total);
  sums_.push_back(std::move(made));
  return total;
}

// Values of the columns at which the expression is `value`: all columns but one are tried, the last is solved for.
std::optional<std::vector<int64_t>> RowSums::row_for(const Sum& sum, int64_t value) const {
  std::vector<int> ids;
  for (const int id : sum.columns)
    if (id >= 0) ids.push_back(id);
  const auto admits = [&](int id, int64_t v) {
    const dim::SymbolInfo& info = scope_.symbols()[static_cast<size_t>(id)];
    if (v < info.lower || (info.upper && v > *info.upper)) return false;
    return ((v % info.modulus) + info.modulus) % info.modulus == info.remainder;
  };
  const auto first = [&](int id) {
    const dim::SymbolInfo& info = scope_.symbols()[static_cast<size_t>(id)];
    return info.lower == dim::SymbolInfo::kNoLower ? info.remainder : info.lower;
  };
  for (size_t last = 0; last < ids.size(); ++last) {
    std::vector<int64_t> locations(ids.size(), 0);
    for (size_t tried = 0; tried < kMostTried; ++tried) {
      dim::Assignment at;
      bool inside = true;
      for (size_t i = 0; i < ids.size(); ++i) {
        if (i == last) continue;
        const int64_t v = first(ids[i]) + locations[i] * scope_.symbols()[static_cast<size_t>(ids[i])].modulus;
        inside &= admits(ids[i], v);
        at[ids[i]] = v;
      }
      // Linear in the last one, as products are.
      const dim::Dim rest = inside ? dim::substitute(sum.of_row, at) : dim::Dim();
      const auto zero = rest.is_known() ? dim::evaluate(rest, {{ids[last], 0}}) : std::nullopt;
      const auto one = rest.is_known() ? dim::evaluate(rest, {{ids[last], 1}}) : std::nullopt;
      if (zero && one && *one != *zero && (value - *zero) % (*one - *zero) == 0) {
        at[ids[last]] = (value - *zero) / (*one - *zero);
        if (admits(ids[last], at[ids[last]]) && dim::evaluate(sum.of_row, at) == value) {
          std::vector<int64_t> row;
          for (const int id : sum.columns) row.push_back(id < 0 ? 1 : at[id]);
          return row;
        }
      }
      size_t i = 0;
      for (; i < ids.size(); ++i) {
        if (i == last) continue;
        if (++locations[i] < kMostPerColumn) break;
        locations[i] = 0;
      }
      if (i == ids.size()) break;
    }
  }
  return std::nullopt;
}

std::optional<std::vector<std::pair<std::string, int64_t>>> RowSums::rows_for(const dim::Assignment& sizes) const {
  std::vector<std::pair<std::string, int64_t>> named;
  for (const Sum& sum : sums_) {
    // Rows that make two sums at once are not looked for.
    if (std::ranges::count(sums_, sum.input, &Sum::input) > 1) return std::nullopt;
    const auto count = dim::evaluate(sum.rows, sizes), total = dim::evaluate(sum.total, sizes);
    // A witness that says nothing of it goes with any rows.
    if (!total) continue;
    if (!count || *count > kMostRows || *count < 0) return std::nullopt;
    if (*count == 0) {
      if (*total != 0) return std::nullopt;
      continue;
    }
    // All rows but one as small as they can be.
    const dim::Interval least = dim::range_of(sum.of_row);
    if (!least.lower) return std::nullopt;
    const auto small = *count > 1 ? row_for(sum, *least.lower) : std::optional(std::vector<int64_t>());
    const auto last = small ? row_for(sum, *total - (*count - 1) * *least.lower) : std::nullopt;
    if (!last) return std::nullopt;
    for (int64_t row = 0; row < *count; ++row) {
      const std::vector<int64_t>& values = row + 1 == *count ? *last : *small;
      for (size_t j = 0; j < values.size(); ++j)
        named.emplace_back(fmt::format("{}[{}]", sum.input, static_cast<size_t>(row) * values.size() + j), values[j]);
    }
  }
  return named;
}

}  // namespace thaw::checking
