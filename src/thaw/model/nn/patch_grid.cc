#include "thaw/model/nn/patch_grid.h"

#include "thaw/math/rotary_frequencies.h"
#include "thaw/model/nn/rotary.h"
#include "thaw/model/nn/scope.h"

namespace thaw::model {

using ir::DataType;

Var Counted::total() const { return ends ? reduce_sum(each, {0}) : images * each; }
Var Counted::image_of(Var index) const { return ends ? interval_of(index, ends) : index / each; }
Var Counted::before(Var image) const { return ends ? gather(starts, image) : image * each; }

Counted PatchGrid::count(Var each) const {
  if (images) return {each, {}, {}, images};
  Var ends = cumulative_sum(each, 0);
  return {each, ends - each, ends, {}};
}
Var PatchGrid::of(Var per_image, Var image_index) const { return images ? per_image : gather(per_image, image_index); }

namespace {

// What follows for the patches, from frames, height and width.
void locate_patches(PatchGrid& g, Var patch) {
  g.image = g.patches.image_of(patch);
  g.patch_height = g.of(g.height, g.image);
  g.patch_width = g.of(g.width, g.image);
  Var frame_size = g.patch_height * g.patch_width;
  Var in_image = patch - g.patches.before(g.image);
  g.frame = in_image / frame_size;
  g.in_frame = in_image - g.frame * frame_size;
  const auto unit = static_cast<double>(g.merge);
  Var block = g.in_frame / (unit * unit);
  Var in_block = g.in_frame - block * (unit * unit);
  Var blocks_across = g.patch_width / unit;
  Var block_row = block / blocks_across;
  Var block_column = block - block_row * blocks_across;
  Var row_in_block = in_block / unit;
  g.row = block_row * unit + row_in_block;
  g.column = block_column * unit + (in_block - row_in_block * unit);
}

}  // namespace

PatchGrid patch_grid(Var grid_thw, Var patches, int64_t merge) {
  Net& net = *grid_thw.net;
  const Here here(net, "grid");
  PatchGrid g;
  g.merge = merge;
  const auto column = [&](int64_t i) { return gather(grid_thw, net.integer(i), 1); };
  g.frames = column(0);
  g.height = column(1);
  g.width = column(2);
  g.patches = g.count(g.frames * g.height * g.width);
  locate_patches(g, arange(length_of(patches, 0)));
  return g;
}

PatchGrid image_grid(Var image, int64_t patch, int64_t merge) {
  Net& net = *image.net;
  const Here here(net, "grid");
  PatchGrid g;
  g.merge = merge;
  g.images = length_of(image, 0);
  g.frames = net.integer(1);
  g.height = length_of(image, 2) / static_cast<double>(patch);
  g.width = length_of(image, 3) / static_cast<double>(patch);
  g.patches = g.count(g.height * g.width);
  locate_patches(g, arange(g.patches.total()));
  return g;
}

Var image_patches(Var image, int64_t channels, int64_t temporal_patch, int64_t patch, int64_t merge) {
  Net& net = *image.net;
  const Here here(net, "patches");
  const auto blocks = [&](int64_t axis) { return size_of(image, axis) / static_cast<double>(patch * merge); };
  Var block = net.integers({merge, patch});
  Var shape = concat({size_of(image, 0), net.integers({channels}), blocks(2), block, blocks(3), block}, 0);
  Var patches = transpose(reshape(image, shape), {0, 2, 5, 3, 6, 1, 4, 7});
  Var still = reshape(patches, {-1, channels, 1, patch * patch});
  Var frames = concat(std::vector<Var>(static_cast<size_t>(temporal_patch), still), 2);
  return reshape(frames, {-1, channels * temporal_patch * patch * patch});
}

Groups group_frames(const PatchGrid& grid) {
  Net& net = *grid.image.net;
  const Here here(net, "frames");
  if (grid.images) return even_groups(grid.images, grid.patches.each);
  const Counted frames = grid.count(grid.frames);
  Var sizes = grid.height * grid.width;
  Var group = arange(frames.total());
  Var image = frames.image_of(group);
  Var frame = group - frames.before(image);
  Var size = gather(sizes, image);
  Var start = grid.patches.before(image) + frame * size;

  Var longest = reduce_max(sizes, {0});
  Var slot = unsqueeze(arange(longest), {0});
  Var present = less(slot, unsqueeze(size, {1}));
  Var row = where(present, unsqueeze(start, {1}) + slot, net.integer(0));
  Var patch_group = frames.before(grid.image) + grid.frame;
  return make_groups(row, present, patch_group * longest + grid.in_frame, /*bounded=*/false);
}

Groups group_windows(const PatchGrid& grid, int64_t side) {
  Net& net = *grid.image.net;
  const Here here(net, "windows");
  const int64_t merge = grid.merge;
  const auto window_side = static_cast<double>(side * merge);  // patches along a window's side
  const auto windows_along = [&](Var patches) { return (patches + (window_side - 1)) / window_side; };
  Var down = windows_along(grid.height), across = windows_along(grid.width);
  const Counted windows = grid.count(grid.frames * down * across);

  // Of each window: its image, frame, and upper left block.
  Var window = arange(windows.total());
  Var image = windows.image_of(window);
  Var in_image = window - windows.before(image);
  Var per_frame = grid.of(down * across, image);
  Var frame = in_image / per_frame;
  Var in_frame = in_image - frame * per_frame;
  Var window_row = in_frame / grid.of(across, image);
  Var window_column = in_frame - window_row * grid.of(across, image);
  Var blocks_down = grid.of(grid.height, image) / static_cast<double>(merge);
  Var blocks_across = grid.of(grid.width, image) / static_cast<double>(merge);

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
  const auto per_side = [&](Var x) { return grid.images ? x : per_window(x); };
  const auto per_slot = [&](const std::vector<int64_t>& table) { return unsqueeze(net.integers(table), {0}); };
  const auto sides = static_cast<double>(side);
  Var block_row = per_window(window_row * sides) + per_slot(rows);
  Var block_column = per_window(window_column * sides) + per_slot(columns);
  Var present = logical_and(less(block_row, per_side(blocks_down)), less(block_column, per_side(blocks_across)));
  Var block = per_window(frame * blocks_down) + block_row;
  block = block * per_side(blocks_across) + block_column;
  Var row = per_window(grid.patches.before(image)) + block * static_cast<double>(merge * merge) + per_slot(patches);
  row = where(present, row, net.integer(0));

  // Of each patch: its window and slot.
  const auto merges = static_cast<double>(merge);
  Var patch_window = windows.before(grid.image) + grid.frame * grid.of(down * across, grid.image) +
                     grid.row / window_side * grid.of(across, grid.image) + grid.column / window_side;
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
  const std::vector<float> frequencies = math::rotary_frequencies_as_trained(theta, head_dim / 2);
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
  // every device; the rest is the result of float32 division, as in PyTorch.
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
