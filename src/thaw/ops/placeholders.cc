// Families that no file offers yet: each line goes when its family's file comes.
#include "thaw/ops/families.h"

namespace thaw::ops {

#define THAW_NO_FAMILY(name) \
  __attribute__((weak)) void name(Registry&) {}

THAW_NO_FAMILY(add_attention_ops)
THAW_NO_FAMILY(add_reshape_ops)
THAW_NO_FAMILY(add_transpose_ops)
THAW_NO_FAMILY(add_slice_ops)
THAW_NO_FAMILY(add_concat_ops)
THAW_NO_FAMILY(add_gather_ops)
THAW_NO_FAMILY(add_select_ops)
THAW_NO_FAMILY(add_generator_ops)
THAW_NO_FAMILY(add_sequence_ops)
THAW_NO_FAMILY(add_control_ops)
THAW_NO_FAMILY(add_string_ops)
THAW_NO_FAMILY(add_ml_ops)

#undef THAW_NO_FAMILY

}  // namespace thaw::ops
