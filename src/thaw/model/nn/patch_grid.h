// Where each patch of packed images lies, computed in the graph from the values of grid_thw.
//
// Images (or clips: t frames of h x w patches) follow each other along the first axis. Inside a frame, patches stand in
// blocks of merge x merge, block after block and row by row, as the image processors of the Qwen-VL family write them:
// (frame, block row, block column, row in block, column in block). h and w are multiples of merge.
#pragma once

#include "thaw/model/nn/groups.h"

namespace thaw::model {

struct PatchGrid {
  int64_t merge = 1;
  // Per image, int64 [num_images].
  Var frames, height, width;  // in patches
  Var first;                  // its first patch
  Var frame_ends;             // cumulative number of frames
  // Per patch, int64 [num_patches].
  Var image;
  Var frame;                                   // within its image
  Var row, column;                             // in patches, within the frame
  Var in_frame;                                // its place among the frame's patches
  Var patch_height, patch_width, patch_first;  // height, width, first of its image
};

// grid_thw: int64 [num_images, 3]; patches: any tensor [num_patches, ...].
PatchGrid patch_grid(Var grid_thw, Var patches, int64_t merge);

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
