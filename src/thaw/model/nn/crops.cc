#include "thaw/model/nn/crops.h"

#include "thaw/model/nn/groups.h"
#include "thaw/model/nn/scope.h"

namespace thaw::model {

using ir::DataType;

CropGrid crop_grid(Var image_sizes, int64_t crop_size) {
  Net& net = *image_sizes.net;
  const Here here(net, "crops");
  Var crops = image_sizes / static_cast<double>(crop_size);
  CropGrid g;
  g.down = gather(crops, net.integer(0), 1);
  g.across = gather(crops, net.integer(1), 1);
  Var counts = g.down * g.across + 1.0;
  Var ends = cumulative_sum(counts, 0);
  g.first = ends - counts;
  Var crop = arange(reduce_sum(counts, {0}));
  Var image = interval_of(crop, ends);
  g.index = concat({unsqueeze(image, {1}), unsqueeze(crop - gather(g.first, image), {1})}, 1);
  return g;
}

Var used_crops(const CropGrid& grid, Var x) {
  const Here here(*x.net, "crops");
  return x.net->node("GatherND", {x, grid.index}, x.type);
}

namespace {

// bucket[n][k] = floor(table_side * k / n), exactly. A table of integers, because floating point takes the neighbour
// where k/n falls on a boundary, and each device another one. n = 0 and k >= n, which no patch that shows the image
// has, go to the last bucket.
std::vector<int64_t> bucket_table(int64_t side, int64_t table_side) {
  std::vector<int64_t> table;
  for (int64_t n = 0; n <= side; ++n)
    for (int64_t k = 0; k < side; ++k) table.push_back(k < n ? table_side * k / n : table_side - 1);
  return table;
}

}  // namespace

Var bucketed_positions(Var mask, int64_t side, int64_t table_side) {
  Net& net = *mask.net;
  const Here here(net, "position");
  Var table = reshape(net.integers(bucket_table(side, table_side)), {side + 1, side});
  Var shown = cast(mask, DataType::kInt64);
  const auto buckets_along = [&](int64_t axis) {  // [num_crops, side]
    Var count = reduce_sum(gather(shown, net.integer(0), 3 - axis), {1});
    return gather(table, count);
  };
  Var row = buckets_along(1), column = buckets_along(2);
  Var entry = unsqueeze(row, {2}) * static_cast<double>(table_side) + unsqueeze(column, {1});
  return reshape(where(mask, entry, net.integer(0)), {0, side * side});
}

namespace {

// How many cells down and across of each image's crops side by side show the image: the first column of the crops that begin
// a row, and the first row of the crops of the first row. int64 [num_images] each.
struct Shown {
  Var down, across;
};

Shown shown_cells(const CropGrid& grid, Var mask, int64_t side) {
  Net& net = *mask.net;
  std::vector<int64_t> upper_left;
  for (int64_t i = 0; i < side; i += 2) upper_left.push_back(i);
  // Cells of a crop's first column (axis 2 counts down) or row: [num_images, max_num_crops].
  const auto count_along = [&](int64_t axis) {
    Var line = gather(mask, net.integer(0), 5 - axis);
    return reduce_sum(cast(gather(line, net.integers(upper_left), 2), DataType::kInt64), {2});
  };
  Var crop = unsqueeze(arange(length_of(mask, 1)), {0}) - 1.0;  // -1 is the whole view
  Var across = unsqueeze(grid.across, {1});
  Var row = crop / maximum(across, net.integer(1));
  Var is_crop = greater_or_equal(crop, net.integer(0));
  Var begins_row =
      logical_and(logical_and(is_crop, less(crop, unsqueeze(grid.down, {1}) * across)), equal(crop, row * across));
  Var in_first_row = logical_and(is_crop, less(crop, across));
  const auto sum_where = [&](Var condition, Var counts) {
    return reduce_sum(where(condition, counts, net.integer(0)), {1});
  };
  return {sum_where(begins_row, count_along(2)), sum_where(in_first_row, count_along(3))};
}

}  // namespace

Var crop_tokens(const CropGrid& grid, Var mask, int64_t side, CropOrder order) {
  Net& net = *mask.net;
  const Here here(net, "tokens");
  const int64_t cells = (side + 1) / 2;  // along a crop
  const int64_t whole_length = cells * (cells + 1);
  const auto c = static_cast<double>(cells);
  const Shown shown = shown_cells(grid, mask, side);
  Var crops_length = shown.down * (shown.across + 1.0);
  Var lengths = crops_length + static_cast<double>(whole_length + 1);
  Var ends = cumulative_sum(lengths, 0);

  Var token = arange(reduce_sum(lengths, {0}));
  Var image = interval_of(token, ends);
  const auto of_image = [&](Var x) { return gather(x, image); };
  Var at = token - of_image(ends - lengths);
  const bool crops_first = order == CropOrder::kCropsFirst;
  Var before = crops_first ? of_image(crops_length) : net.integer(whole_length);
  Var after = at - before - 1.0;
  Var first = of_image(grid.first);

  // Each part's token as if it were in that part: which row and column, and from that the cell.
  const auto location = [&](Var crop, Var row, Var column) {  // row and column within the crop
    return (crop * c + row) * c + column + static_cast<double>(kFirstCell);
  };
  Var line_break = net.integer(kLineBreak);
  const auto whole_token = [&](Var index) {
    Var row = index / (c + 1.0);
    Var column = index - row * (c + 1.0);
    return where(equal(column, net.integer(cells)), line_break, location(first, row, column));
  };
  const auto crops_token = [&](Var index) {
    Var width = of_image(shown.across);
    Var row = index / (width + 1.0);
    Var column = index - row * (width + 1.0);
    Var crop_row = row / c, crop_column = column / c;
    Var crop = first + crop_row * of_image(grid.across) + crop_column + 1.0;
    Var cell = location(crop, row - crop_row * c, column - crop_column * c);
    return where(equal(column, width), line_break, cell);
  };
  Var front = crops_first ? crops_token(at) : whole_token(at);
  Var back = crops_first ? whole_token(after) : crops_token(after);
  return where(less(at, before), front, where(equal(at, before), net.integer(kSeparator), back));
}

}  // namespace thaw::model
