#include "thaw/report/table.h"

#include <algorithm>

#include "thaw/report/printable.h"

namespace thaw::report {

std::string Table::text(size_t indent) const {
  std::vector<std::vector<std::string>> cells;
  std::vector<size_t> widths;
  for (const std::vector<std::string>& row : rows_) {
    std::vector<std::string>& line = cells.emplace_back();
    widths.resize(std::max(widths.size(), row.size()));
    for (size_t i = 0; i < row.size(); ++i) {
      line.push_back(printable(row[i]));
      const size_t width = width_of(line.back());
      if (width <= widest_) widths[i] = std::max(widths[i], width);
    }
  }
  std::string text;
  for (const std::vector<std::string>& line : cells) {
    std::string out(indent, ' ');
    for (size_t i = 0; i < line.size(); ++i) {
      out += line[i];
      if (i + 1 < line.size()) out.append(2 + widths[i] - std::min(widths[i], width_of(line[i])), ' ');
    }
    out.erase(out.find_last_not_of(' ') + 1);
    text += out + "\n";
  }
  return text;
}

}  // namespace thaw::report
