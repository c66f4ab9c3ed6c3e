// Sums over the rows of an integer input, as in "num_patches=sum(grid_thw[:,0]*grid_thw[:,1]*grid_thw[:,2])". Internal to
// check/.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "thaw/infer/infer.h"

namespace thaw::checking {

// "NAME[:,j]": column j of an integer input [rows, columns], which is element j of every row.
struct InputColumn {
  const ir::Value* input;
  int64_t index, columns;
};
// nullopt for other names, and where there is no such column.
std::optional<InputColumn> input_column(const ir::Model& model, std::string_view name);

// An arithmetic sequence that the values of a size lie in.
struct Hull {
  int64_t first, step;
  std::optional<int64_t> last;
};
void assume(dim::Scope& scope, dim::Dim symbol, const Hull& hull);

// Rows of an input whose elements are followed one by one; of more, or an open number, only the sum is.
inline constexpr int64_t kMostRows = 64;

class RowSums {
 public:
  // `facts` has the shapes of the inputs, in `scope`.
  RowSums(const ir::Model& model, dim::Scope& scope) : model_(model), scope_(scope) {}

  // A column's values, of every row. What sums are made of is said before them.
  void limit(const InputColumn& column, const Hull& hull);
  // The sum of an expression over rows of an input that has `rows` of them, `total` where those cannot be told apart: a
  // symbol then, of which is known what follows from the columns. Throws thaw::Error for a body that names no column, or
  // columns of several inputs.
  dim::Dim sum(std::string_view body, const std::map<const ir::Value*, dim::Dim>& rows, dim::Dim total);
  // The names "NAME[i]" and values of rows that make every sum what it is at these sizes; nullopt where none were found.
  std::optional<std::vector<std::pair<std::string, int64_t>>> rows_for(const dim::Assignment& sizes) const;

  bool empty() const { return sums_.empty(); }

 private:
  struct Sum {
    std::string input;
    dim::Dim rows, total, of_row;
    std::vector<int> columns;  // the symbols of a row, by column; -1 for one that the expression does not name
  };

  std::optional<std::vector<int64_t>> row_for(const Sum& sum, int64_t value) const;

  const ir::Model& model_;
  dim::Scope& scope_;
  std::map<std::pair<const ir::Value*, int64_t>, std::vector<Hull>> limits_;
  std::vector<Sum> sums_;
};

}  // namespace thaw::checking
