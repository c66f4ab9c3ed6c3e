#include "thaw/confirm/likely_feeds.h"

#include <algorithm>
#include <map>
#include <ranges>
#include <set>
#include <string>

#include "thaw/confirm/own_sizes.h"
#include "thaw/infer/infer.h"
#include "thaw/infer/integer_ranges.h"

namespace thaw::confirm {
namespace {

struct Grid {
  int64_t height = 0, width = 0;
};

// Of patches that windows of two divide.
constexpr Grid kSmall[] = {{2, 2}, {8, 8}};

bool is_drawn_integer(const ir::Value& input, const FeedOptions& feeds) {
  const std::string& name = input.name();
  if (input.initializer() || feeds.arrays.contains(name) || feeds.values.contains(name) || feeds.ranges.contains(name))
    return false;
  return ir::is_integer(input.type.elem_type) || input.type.elem_type == ir::DataType::kBool;
}

// The elements of a row, where an input is one row or any number of rows of two sides, or of a count and two sides.
size_t size_of_grid(const ir::Value& input) {
  const auto& shape = input.type.shape;
  if (!shape || shape->size() != 2 || (*shape)[0].value.value_or(1) != 1) return 0;
  const int64_t size = (*shape)[1].value.value_or(0);
  return size == 2 || size == 3 ? static_cast<size_t>(size) : 0;
}

std::optional<Grid> squarest(int64_t area) {
  constexpr int64_t kMostSide = 1 << 10;
  std::optional<Grid> best;
  for (int64_t side = 2; side <= kMostSide && side * side <= area; side += 2)
    if (area % (2 * side) == 0) best = {side, area / side};
  return best;
}

// `feeds`, and every integer that would be drawn is `number`; nullopt where none would be.
std::optional<FeedOptions> with_all_integers(const ir::Model& model, const FeedOptions& feeds, int number) {
  FeedOptions plain = feeds;
  const double value = number;
  for (const ir::Value* input : model.graph->inputs())
    if (is_drawn_integer(*input, feeds)) plain.ranges[input->name()] = {value, value};
  return plain.ranges.size() > feeds.ranges.size() ? std::optional(std::move(plain)) : std::nullopt;
}

// Of as many patches as a size that the model was made for.
std::vector<Grid> own_grids(const ir::Model& model) {
  constexpr size_t kMostOwn = 4;
  dim::Scope scope;
  std::set<int64_t> areas;
  for (const auto& [name, size] : own_sizes(model, {}, scope)) areas.insert(size);
  for (const ir::Value* input : model.graph->inputs())
    if (input->type.shape && !input->type.shape->empty()) areas.insert(input->type.shape->front().value.value_or(0));
  std::vector<Grid> grids;
  for (const int64_t area : areas | std::views::reverse)
    if (const auto grid = squarest(area); grid && grids.size() < kMostOwn) grids.push_back(*grid);
  return grids;
}

// `feeds`, and each input that may be a grid is one row: this one, with a count of 1 before it. nullopt where there is none.
std::optional<FeedOptions> with_grid(const ir::Model& model, const FeedOptions& feeds, const Grid& grid) {
  FeedOptions plain = feeds;
  for (const ir::Value* input : model.graph->inputs()) {
    const size_t size = size_of_grid(*input);
    if (size == 0 || !is_drawn_integer(*input, feeds)) continue;
    std::vector<std::string>& row = plain.values[input->name()];
    row = {std::to_string(grid.height), std::to_string(grid.width)};
    if (size == 3) row.insert(row.begin(), "1");
  }
  return plain.values.size() > feeds.values.size() ? std::optional(std::move(plain)) : std::nullopt;
}

bool reads_grid(const ir::Model& model, const FeedOptions& feeds) {
  const auto is_grid = [&](const ir::Value* input) {
    return size_of_grid(*input) > 0 && is_drawn_integer(*input, feeds);
  };
  if (std::ranges::none_of(model.graph->inputs(), is_grid)) return false;
  dim::Scope scope;
  const std::map<std::string, infer::IntegerRange> ranges = infer::integer_ranges(model, infer::infer(model, scope));
  return std::ranges::any_of(model.graph->inputs(), [&](const ir::Value* input) {
    const auto range = ranges.find(input->name());
    return is_grid(input) && range != ranges.end() && range->second.lowest > 0;
  });
}

}  // namespace

std::vector<FeedOptions> grid_feeds(const ir::Model& model, const FeedOptions& feeds) {
  std::vector<FeedOptions> grids;
  if (!reads_grid(model, feeds)) return grids;
  for (const Grid& grid : kSmall)
    if (auto fed = with_grid(model, feeds, grid)) grids.push_back(*std::move(fed));
  return grids;
}

std::vector<std::vector<FeedOptions>> likely_feeds(const ir::Model& model, const FeedOptions& feeds) {
  std::vector<std::vector<FeedOptions>> groups;
  for (const int number : {1, 0})
    if (auto plain = with_all_integers(model, feeds, number)) groups.push_back({*std::move(plain)});
  if (!with_grid(model, feeds, kSmall[0])) return groups;
  groups.emplace_back();
  for (const Grid& grid : kSmall) groups.back().push_back(*with_grid(model, feeds, grid));
  for (const Grid& grid : own_grids(model)) groups.push_back({*with_grid(model, feeds, grid)});
  return groups;
}

}  // namespace thaw::confirm
