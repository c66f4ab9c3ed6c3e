#include "thaw/lift/table/input_lines.h"

#include <algorithm>

#include <fmt/format.h>

namespace thaw::lifting {
namespace {

constexpr int64_t kLargestInputSide = int64_t{1} << 20, kMostCells = int64_t{1} << 30;

bool is_side(const Variable& v) {
  return std::ranges::all_of(v.at, [](int64_t at) { return at >= 1 && at <= kLargestInputSide; });
}
bool are_cells(const Size& size) {
  return std::ranges::all_of(size.at, [](int64_t at) { return at <= kMostCells; });
}

}  // namespace

std::string InputLine::name() const { return fmt::format("{}[{}]", input, index); }

std::vector<std::vector<InputLine>> lines_of_inputs(std::span<const Variable> variables) {
  constexpr int64_t kMostLines = 64;
  std::vector<std::vector<InputLine>> inputs;
  for (size_t begin = 0, end = 0; begin < variables.size(); begin = end) {
    const Variable& first = variables[begin];
    const auto is_other = [&](const Variable& v) { return v.kind != first.kind || v.input != first.input; };
    end = static_cast<size_t>(
        std::find_if(variables.begin() + static_cast<std::ptrdiff_t>(begin), variables.end(), is_other) -
        variables.begin());
    const auto count = static_cast<int64_t>(end - begin);
    if (first.kind != Variable::Kind::kValue || first.row == 0 || count % first.row != 0) continue;
    if (count / first.row < 2 || count / first.row > kMostLines) continue;
    const std::span<const Variable> values = variables.subspan(begin, end - begin);
    if (!std::ranges::all_of(values, is_side)) continue;
    std::vector<InputLine>& lines = inputs.emplace_back();
    for (const Variable& v : values) {
      const Size value{v.symbol, v.at};
      if (v.index % v.row == 0) {
        lines.push_back({v.input, v.index / v.row, v.row, value});
      } else {
        lines.back().cells = lines.back().cells * value;
      }
      if (are_cells(lines.back().cells)) continue;
      inputs.pop_back();
      break;
    }
  }
  return inputs;
}

std::optional<std::vector<Size>> shares_of(std::span<const InputLine> lines, std::span<const int64_t> totals) {
  int64_t over = 0, times = 0;  // cells that count as one; as how many a cell counts
  for (size_t k = 0; k < totals.size(); ++k) {
    int64_t cells = 0;
    for (const InputLine& line : lines) cells += line.cells.at[k];
    if (cells < 1 || totals[k] < 1) return std::nullopt;
    if (k == 0) over = cells / totals[k], times = totals[k] / cells;
    if (over > 0 ? cells != over * totals[k] : totals[k] != times * cells) return std::nullopt;
  }
  std::vector<Size> shares;
  for (const InputLine& line : lines) {
    const auto is_whole = [&](int64_t cells) { return over == 0 || cells % over == 0; };
    if (!std::ranges::all_of(line.cells.at, is_whole)) return std::nullopt;
    const Size unit = constant_size(over > 0 ? over : times, totals.size());
    shares.push_back(over > 0 ? line.cells / unit : line.cells * unit);
  }
  return shares;
}

std::optional<dim::Dim> sum_of_lines(std::span<const int64_t> at, std::span<const Variable> variables) {
  for (const std::vector<InputLine>& lines : lines_of_inputs(variables)) {
    const auto shares = shares_of(lines, at);
    if (!shares) continue;
    dim::Dim sum = 0;
    for (const Size& share : *shares) sum = sum + share.dim;
    return sum;
  }
  return std::nullopt;
}

}  // namespace thaw::lifting
