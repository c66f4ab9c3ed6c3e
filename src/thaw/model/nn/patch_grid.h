// Where each patch of packed images lies, computed in the graph from the values of grid_thw.
//
// Images (or clips: t frames of h x w patches) follow each other along the first axis. Inside a frame, patches stand in
// blocks of merge x merge, block after block and row by row, as the image processors of the Qwen-VL family write them:
// (frame, block row, block column, row in block, column in block). h and w are multiples of merge.
//
// Of images that stand as a batch, [num_images, channels, height, width], all have one size: what is said of each is a
// scalar then, and every frame is a group of equally many slots.
#pragma once

#include "thaw/model/nn/groups.h"

namespace thaw::model {

// Things of which every image has some (patches, frames, windows), counted through all images.
struct Counted {
  Var each;          // how many an image has: int64 [num_images]; a scalar where all have one size
  Var starts, ends;  // cumulative, without and with the image's own; none where all have one size
  Var images;        // int64 scalar, where all have one size

  Var total() const;
  Var image_of(Var index) const;  // index: int64 [n]
  Var before(Var image) const;    // how many stand before an image's first; image: int64 [n]
};

struct PatchGrid {
  int64_t merge = 1;
  Var images;  // int64 scalar; none where images differ in size
  // Per image, int64 [num_images]; scalars where all have one size.
  Var frames, height, width;  // in patches
  Counted patches;
  // Per patch, int64 [num_patches]; the last two scalars where all images have one size.
  Var image;
  Var frame;                      // within its image
  Var row, column;                // in patches, within the frame
  Var in_frame;                   // its position among the frame's patches
  Var patch_height, patch_width;  // of its image

  Counted count(Var each) const;
  Var of(Var per_image, Var image) const;  // image: int64 [n]
};

// grid_thw: int64 [num_images, 3]; patches: any tensor [num_patches, ...].
PatchGrid patch_grid(Var grid_thw, Var patches, int64_t merge);

// Of images as a batch: [num_images, channels, height, width] with patches of `patch` x `patch` pixels.
PatchGrid image_grid(Var image, int64_t patch, int64_t merge);

// The patches of images as a batch, in the grid's order: [num_patches, channels * temporal_patch * patch^2]. A still image is
// all of a patch's frames. Where height or width is no multiple of patch * merge the model ends with an error.
Var image_patches(Var image, int64_t channels, int64_t temporal_patch, int64_t patch, int64_t merge);

// Each frame is a group.
Groups group_frames(const PatchGrid& grid);

// Each window of side x side blocks of a frame is a group; windows at the lower and right edge are cut off by it.
Groups group_windows(const PatchGrid& grid, int64_t side);

// The angles of two-dimensional rotary positions: float32 [num_patches, head_dim / 2], the first half of them from the
// row, the second from the column.
Var patch_angles(const PatchGrid& grid, int64_t head_dim, double theta);

// A learned table of side x side positions, [side * side, features], stretched over each frame so that the corners
// fall on the corners, and read bilinearly: [num_patches, features].
Var interpolated_positions(const PatchGrid& grid, Var table, int64_t side);

}  // namespace thaw::model
