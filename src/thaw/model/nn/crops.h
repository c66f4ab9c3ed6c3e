// Images cut into square crops, and their features laid out as one sequence of tokens.
//
// An image of `down` x `across` crops comes as 1 + down * across of them: a view of the whole image, then its crops row
// by row. Images of a batch are padded to the same number of crops; the padding is left out before anything is
// computed. A crop is a square of side x side patches, of which a mask says which show the image and which its border.
//
// Everything is computed in the graph from the values of image_sizes and the mask, on integers.
#pragma once

#include <cstdint>

#include "thaw/model/nn/net.h"

namespace thaw::model {

struct CropGrid {
  // Per image, int64 [num_images].
  Var down, across;  // in crops; 0 for an image that is smaller than a crop
  Var first;         // its whole view's index among the crops in use
  // Per crop in use, int64 [num_crops, 2]: (image, crop of the image)
  Var index;
};

// image_sizes: int64 [num_images, 2], height and width in pixels.
CropGrid crop_grid(Var image_sizes, int64_t crop_size);

// x [num_images, max_num_crops, ...] -> [num_crops, ...], the crops in use. An image that claims more crops than x
// holds makes the model fail when it runs.
Var used_crops(const CropGrid& grid, Var x);

// Which entry of a table of table_side x table_side learned positions each patch takes: int64 [num_crops, side * side].
// Position k of n along an axis takes the bucket that the fraction k / n falls into (Dehghani et al., "Patch n' Pack:
// NaViT", 2023), where n counts the patches of the crop's first row or column that show the image. Others take entry 0.
// mask: bool [num_crops, side, side].
Var bucketed_positions(Var mask, int64_t side, int64_t table_side);

enum class CropOrder : uint8_t { kCropsFirst, kWholeFirst };

// The tokens of all images, one image after the other: int64 [num_tokens]. An image's crops are one picture, of which
// the cells that show the image are read row by row, with a line break after each row; its whole view likewise; and
// between the two stands a separator. A token is kLineBreak, kSeparator, or kFirstCell + the index of a cell in
// [num_crops, cells, cells], with cells = (side + 1) / 2: two by two patches are a cell.
// mask: bool [num_images, max_num_crops, side, side]; a cell shows the image if its upper left patch does.
constexpr int64_t kLineBreak = 0, kSeparator = 1, kFirstCell = 2;
Var crop_tokens(const CropGrid& grid, Var mask, int64_t side, CropOrder order);

}  // namespace thaw::model
