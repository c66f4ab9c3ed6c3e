#include "thaw/model/nn/patch_grid.h"

#include "thaw/model/nn/rotary.h"
#include "thaw/model/nn/scope.h"

namespace thaw::model {

using ir::DataType;

PatchGrid patch_grid(Var grid_thw, Var patches, int64_t merge) {
  Net& net = *grid_thw.net;
  const Here here(net, "grid");
  PatchGrid g;
  g.merge = merge;
  const auto column = [&](int64_t i) { return gather(grid_thw, net.integer(i), 1); };
  g.frames = column(0);
  g.height = column(1);
  g.width = column(2);
  Var sizes = g.frames * g.height * g.width;
  Var ends = cumulative_sum(sizes, 0);
  g.first = ends - sizes;
  g.frame_ends = cumulative_sum(g.frames, 0);

  Var patch = arange(length_of(patches, 0));
  g.image = interval_of(patch, ends);
  g.patch_height = gather(g.height, g.image);
  g.patch_width = gather(g.width, g.image);
  g.patch_first = gather(g.first, g.image);
  Var frame_size = g.patch_height * g.patch_width;
  Var in_image = patch - g.patch_first;
  g.frame = in_image / frame_size;
  g.in_frame = in_image - g.frame * frame_size;
  const auto unit = static_cast<double>(merge);
  Var block = g.in_frame / (unit * unit);
  Var in_block = g.in_frame - block * (unit * unit);
  Var blocks_across = g.patch_width / unit;
  Var block_row = block / blocks_across;
  Var block_column = block - block_row * blocks_across;
  Var row_in_block = in_block / unit;
  g.row = block_row * unit + row_in_block;
  g.column = block_column * unit + (in_block - row_in_block * unit);
  return g;
}

Groups group_frames(const PatchGrid& grid) {
  Net& net = *grid.image.net;
  const Here here(net, "frames");
  Var sizes = grid.height * grid.width;
  Var group = arange(reduce_sum(grid.frames, {0}));
  Var image = interval_of(group, grid.frame_ends);
  Var frame = group - gather(grid.frame_ends - grid.frames, image);
  Var size = gather(sizes, image);
  Var start = gather(grid.first, image) + frame * size;

  Var longest = reduce_max(sizes, {0});
  Var slot = unsqueeze(arange(longest), {0});
  Var present = less(slot, unsqueeze(size, {1}));
  Var row = where(present, unsqueeze(start, {1}) + slot, net.integer(0));
  Var patch_group = gather(grid.frame_ends - grid.frames, grid.image) + grid.frame;
  return make_groups(row, present, patch_group * longest + grid.in_frame, /*bounded=*/false);
}

Groups group_windows(const PatchGrid& grid, int64_t side) {
  Net& net = *grid.image.net;
  const Here here(net, "windows");
  const int64_t merge = grid.merge;
  const auto window_side = static_cast<double>(side * merge);  // patches along a window's side
  const auto windows_along = [&](Var patches) { return (patches + (window_side - 1)) / window_side; };
  Var down = windows_along(grid.height), across = windows_along(grid.width);
  Var per_image = grid.frames * down * across;
  Var ends = cumulative_sum(per_image, 0);
  Var first = ends - per_image;

  // Of each window: its image, frame, and upper left block.
  Var window = arange(reduce_sum(per_image, {0}));
  Var image = interval_of(window, ends);
  Var in_image = window - gather(first, image);
  Var per_frame = gather(down * across, image);
  Var frame = in_image / per_frame;
  Var in_frame = in_image - frame * per_frame;
  Var window_row = in_frame / gather(across, image);
  Var window_column = in_frame - window_row * gather(across, image);
  Var blocks_down = gather(grid.height, image) / static_cast<double>(merge);
  Var blocks_across = gather(grid.width, image) / static_cast<double>(merge);

  // Of each slot: which block of the window, which patch of the block. The window's size is fixed, so these are tables.
  std::vector<int64_t> rows, columns, patches;
  for (int64_t block = 0; block < side * side; ++block) {
    for (int64_t patch = 0; patch < merge * merge; ++patch) {
      rows.push_back(block / side);
      columns.push_back(block % side);
      patches.push_back(patch);
    }
  }
  const auto per_window = [](Var x) { return unsqueeze(x, {1}); };
  const auto per_slot = [&](const std::vector<int64_t>& table) { return unsqueeze(net.integers(table), {0}); };
  const auto sides = static_cast<double>(side);
  Var block_row = per_window(window_row * sides) + per_slot(rows);
  Var block_column = per_window(window_column * sides) + per_slot(columns);
  Var present = logical_and(less(block_row, per_window(blocks_down)), less(block_column, per_window(blocks_across)));
  Var block = per_window(frame * blocks_down) + block_row;
  block = block * per_window(blocks_across) + block_column;
  Var row = per_window(gather(grid.first, image)) + block * static_cast<double>(merge * merge) + per_slot(patches);
  row = where(present, row, net.integer(0));

  // Of each patch: its window and slot.
  const auto merges = static_cast<double>(merge);
  Var patch_window = gather(first, grid.image) + grid.frame * gather(down * across, grid.image) +
                     grid.row / window_side * gather(across, grid.image) + grid.column / window_side;
  const auto block_in_window = [&](Var patches_along) {
    return (patches_along - patches_along / window_side * window_side) / merges;
  };
  const auto in_block = [&](Var patches_along) { return patches_along - patches_along / merges * merges; };
  Var slot = (block_in_window(grid.row) * sides + block_in_window(grid.column)) * (merges * merges) +
             in_block(grid.row) * merges + in_block(grid.column);
  return make_groups(row, present, patch_window * static_cast<double>(rows.size()) + slot, /*bounded=*/true);
}

Var patch_angles(const PatchGrid& grid, int64_t head_dim, double theta) {
  Net& net = *grid.image.net;
  const Here here(net, "rotary");
  const std::vector<float> frequencies = inverse_frequencies(theta, head_dim / 2);
  Var table = net.floats({1, static_cast<int64_t>(frequencies.size())}, frequencies);
  const auto angles = [&](Var position) { return unsqueeze(cast(position, DataType::kFloat), {1}) * table; };
  return concat({angles(grid.row), angles(grid.column)}, 1);
}

Var interpolated_positions(const PatchGrid& grid, Var table, int64_t side) {
  Net& net = *grid.image.net;
  const Here here(net, "position");
  struct Axis {
    Var low, high;        // entries of the table, int64 [num_patches]
    Var to_low, to_high;  // their weights, float32 [num_patches, 1]
  };
  // Position i of n falls on i * (side - 1) / (n - 1). The whole part is computed on integers, so that it is right on
  // every device; the rest is what float32 division gives, as in PyTorch.
  const auto axis = [&](Var index, Var size) {
    Var steps = maximum(size - 1.0, net.integer(1));
    Var scaled = index * static_cast<double>(side - 1);
    Axis a;
    a.low = scaled / steps;
    a.high = minimum(a.low + 1.0, net.integer(side - 1));
    Var rest = cast(scaled, DataType::kFloat) / cast(steps, DataType::kFloat) - cast(a.low, DataType::kFloat);
    a.to_high = unsqueeze(rest, {1});
    a.to_low = 1.0 - a.to_high;
    return a;
  };
  const Axis y = axis(grid.row, grid.patch_height), x = axis(grid.column, grid.patch_width);
  const auto corner = [&](Var row, Var column, Var weight) {
    Var entry = gather(table, row * static_cast<double>(side) + column);
    return cast(entry, DataType::kFloat) * weight;
  };
  Var sum = corner(y.low, x.low, y.to_low * x.to_low) + corner(y.low, x.high, y.to_low * x.to_high) +
            corner(y.high, x.low, y.to_high * x.to_low) + corner(y.high, x.high, y.to_high * x.to_high);
  return cast(sum, table.type);
}

}  // namespace thaw::model
