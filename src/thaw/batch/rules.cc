// Which rule batches which kind of operator.
#include "thaw/batch/node_batch.h"

namespace thaw::batch {

Rule rule_of(ops::BatchKind kind) {
  using enum ops::BatchKind;
  switch (kind) {
    case kElementwise:
      return batch_elementwise;
    case kBatchFirst:
      return batch_first;
    case kAxis:
      return batch_axis;
    case kCumulative:
      return batch_cumulative;
    case kReduce:
      return batch_reduce;
    case kOneHot:
      return batch_one_hot;
    case kCompress:
      return batch_compress;
    case kConcat:
      return batch_concat;
    case kSplit:
      return batch_split;
    case kReshape:
      return batch_reshape;
    case kFlatten:
      return batch_flatten;
    case kSqueeze:
      return batch_squeeze;
    case kUnsqueeze:
      return batch_unsqueeze;
    case kTranspose:
      return batch_transpose;
    case kExpand:
      return batch_expand;
    case kTile:
      return batch_tile;
    case kSlice:
      return batch_slice;
    case kPad:
      return batch_pad;
    case kShape:
      return batch_shape;
    case kSize:
      return batch_size_of;
    case kResize:
      return batch_resize;
    case kGather:
      return batch_gather;
    case kGatherElements:
      return batch_gather_elements;
    case kGatherNd:
      return batch_gather_nd;
    case kScatterElements:
      return batch_scatter_elements;
    case kScatterNd:
      return batch_scatter_nd;
    case kMatMul:
      return batch_matmul;
    case kGemm:
      return batch_gemm;
    case kEinsum:
      return batch_einsum;
    case kRecurrent:
      return batch_recurrent;
    case kLike:
      return batch_like;
    case kIf:
      return batch_if;
    case kLoop:
      return batch_loop;
    case kScan:
      return batch_scan;
    case kSequenceMap:
      return batch_sequence_map;
    case kSequence:
      return batch_sequence;
    case kLength:
      return batch_length;
    case kLastAxes:
      return batch_last_axes;
    case kPoolIndices:
      return batch_pool_indices;
    case kUnpool:
      return batch_unpool;
    case kRegions:
      return batch_regions;
    case kAffineGrid:
      return batch_affine_grid;
    case kReverseSequence:
      return batch_reverse_sequence;
    case kDft:
      return batch_dft;
    case kQuantize:
      return batch_quantize;
    case kDynamicQuantize:
      return batch_dynamic_quantize;
    case kConvInteger:
      return batch_conv_integer;
    case kLoss:
      return batch_loss;
    case kDropout:
      return batch_dropout;
    case kCenterCropPad:
      return batch_center_crop_pad;
    case kNone:
      return nullptr;
  }
  return nullptr;
}

}  // namespace thaw::batch
