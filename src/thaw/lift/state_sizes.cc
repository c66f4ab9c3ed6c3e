// What the traces show of their inputs: a size that is the sum of the products of an input's rows in each of them, as
// patches are of the grids of images; one that is the sum of others, as a mask's is of a cache and what is new. No
// declaration can say so; the model's metadata does (infer/stated_sizes.h).
#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "thaw/dim/text/size_names.h"
#include "thaw/dim/text/text.h"
#include "thaw/infer/stated_sizes.h"
#include "thaw/lift/steps.h"
#include "thaw/lift/unseen/contradictions.h"
#include "thaw/lift/unseen/unseen_sizes.h"

namespace thaw::lifting {
namespace {

constexpr size_t kMostColumns = 4;
constexpr size_t kMostValues = 256;

// An input's values as rows; nullopt where they are none: a product has two factors or more.
std::optional<std::vector<std::vector<int64_t>>> rows_of(const InputValues& input) {
  const size_t rank = input.dims.size();
  if (rank < 1 || rank > 2 || input.values.empty() || input.values.size() > kMostValues) return std::nullopt;
  const auto columns = static_cast<size_t>(std::max<int64_t>(1, input.dims.back()));
  if (columns < 2 || columns > kMostColumns || input.values.size() % columns != 0) return std::nullopt;
  std::vector<std::vector<int64_t>> rows;
  for (size_t at = 0; at < input.values.size(); at += columns)
    rows.emplace_back(input.values.begin() + static_cast<std::ptrdiff_t>(at),
                      input.values.begin() + static_cast<std::ptrdiff_t>(at + columns));
  return rows;
}

// The sum of the rows' products; nullopt where there is none, or an element is below 1.
std::optional<int64_t> sum_of_products(const std::vector<std::vector<int64_t>>& rows) {
  int64_t sum = 0;
  for (const std::vector<int64_t>& row : rows) {
    int64_t product = 1;
    for (const int64_t element : row)
      if (element < 1 || __builtin_mul_overflow(product, element, &product)) return std::nullopt;
    if (__builtin_add_overflow(sum, product, &sum)) return std::nullopt;
  }
  return sum;
}

// That sum of an input in each trace; none where some trace does not tell it.
std::vector<int64_t> sums_of(const std::vector<Trace>& traces, const std::string& input) {
  std::vector<int64_t> sums;
  for (const Trace& trace : traces) {
    const auto values = trace.values.find(input);
    const auto rows = values == trace.values.end() ? std::nullopt : rows_of(values->second);
    const auto sum = rows ? sum_of_products(*rows) : std::nullopt;
    if (!sum) return {};
    sums.push_back(*sum);
  }
  return sums;
}

// "sum(grid[:,0]*grid[:,1])", or "grid[0]*grid[1]" of a list, and before it what its elements are: 1 or more.
std::string entries_for(const std::string& size, const std::string& input, const InputValues& values) {
  const bool is_list = values.dims.size() == 1;
  std::string elements, product;
  for (int64_t j = 0; j < values.dims.back(); ++j) {
    const std::string element = fmt::format("{}[{}{}]", input, is_list ? "" : ":,", j);
    elements += fmt::format("{}=1.., ", element);
    product += fmt::format("{}{}", j == 0 ? "" : "*", element);
  }
  return fmt::format("{}{}={}", elements, size, is_list ? product : fmt::format("sum({})", product));
}

}  // namespace

void state_sizes_of_inputs(Lifting& l) {
  for (const auto& [input, values] : l.traces.front().values) {
    if (!dim::is_size_name(input) || !l.model().graph->find(input)) continue;
    const std::vector<int64_t> sums = sums_of(l.traces, input);
    for (const Variable& v : l.variables) {
      // By chance a product is a size once, not at sizes that differ.
      if (v.kind != Variable::Kind::kDim || !v.varies() || v.at != sums) continue;
      infer::state_sizes(l.model(), entries_for(dim::to_string(v.symbol), input, values));
      break;
    }
  }
}

std::vector<std::pair<dim::Dim, dim::Dim>> followed_by_need(const ir::Model& lifted,
                                                            std::span<const Variable> variables,
                                                            const std::unordered_set<const ir::Node*>& traced) {
  const std::vector<dim::Dim> follows = followed_sizes(variables), apart = followed_apart(variables);
  std::vector<std::pair<dim::Dim, dim::Dim>> followed;
  for (size_t i = 0; i < variables.size(); ++i)
    if (follows[i].is_known() && !apart[i].is_known()) followed.emplace_back(variables[i].symbol, follows[i]);
  if (followed.empty()) return {};
  const Contradictions found = find_contradictions(lifted, variables, traced, sizes_apart(variables));
  if (found.broken + found.unmade == 0) return {};
  return followed;
}

void state_followed(ir::Model& model, LiftReport& report, const std::vector<Note>& followed) {
  for (const Note& note : followed) {
    infer::state_sizes(model, fmt::format("{}={}", note.where, note.message));
    report.valid_sizes.push_back(
        {note.where,
         fmt::format("valid for {}, as in every trace; the model contradicts itself elsewhere", note.message),
         {}});
  }
}

}  // namespace thaw::lifting
