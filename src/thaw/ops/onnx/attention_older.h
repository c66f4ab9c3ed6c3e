// Attention and RotaryEmbedding as the arithmetic that they stand for, for opsets that lack them.
#pragma once

#include "thaw/ops/rule/rewording.h"

namespace thaw::ops {

void older_attention(Rewording& n);
void older_rotary_embedding(Rewording& n);

}  // namespace thaw::ops
