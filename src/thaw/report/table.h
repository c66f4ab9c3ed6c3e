// Rows of text in aligned columns.
#pragma once

#include <string>
#include <vector>

namespace thaw::report {

// Columns as wide as their widest cell, two spaces between them; the last one is not padded. A cell wider than
// `widest` does not widen its column: its row runs on.
class Table {
 public:
  explicit Table(size_t widest = 48) : widest_(widest) {}

  void add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }
  bool empty() const { return rows_.empty(); }
  size_t size() const { return rows_.size(); }
  // Every row on a line of its own, after `indent` spaces. Cells are made printable.
  std::string text(size_t indent = 2) const;

 private:
  size_t widest_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace thaw::report
