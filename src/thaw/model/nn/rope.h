// Rotary positions of decoders: which angles a position turns a head by, as config.json says.
//
//   Rope rope = read_rope(text_config, head_dim, {.theta = 1e4});
//   TokenRotary r = rotary_at(rope, positions, batch);
//   q = rotate_tokens(q, r, sizes.heads, sizes.head_dim);
//
// A position p turns pair j of a head by p * frequency[j]. Scaled variants (position interpolation, NTK by parts, YaRN,
// LongRoPE) are other tables of frequencies; LongRoPE has two, for contexts up to a length and past it. With sections
// (M-RoPE, Wang et al., "Qwen2-VL", 2024) a position has three coordinates - time, height, width - and each pair turns
// by one of them.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "thaw/model/config.h"
#include "thaw/model/nn/rotary.h"

namespace thaw::model {

struct Rope {
  int64_t dim = 0;                  // elements of a head that turn
  std::vector<float> frequencies;   // dim / 2
  std::vector<float> long_context;  // LongRoPE: the frequencies where a position is at or past `switch_at`; else empty
  int64_t switch_at = 0;
  double scale = 1;           // of cos and sin
  std::vector<int64_t> axis;  // M-RoPE: 0 (time), 1 (height) or 2 (width) for each pair; empty: one coordinate
  bool has_axes() const { return !axis.empty(); }
};

// What a family says besides its config.
struct RopeDefaults {
  double theta = 10000;
  bool is_partial = false;             // partial_rotary_factor counts (Phi-3)
  bool longrope_only = false;          // Phi-3: "su" and "yarn" in old configs mean LongRoPE
  std::vector<int64_t> sections = {};  // M-RoPE where the config is silent; empty: the family has one coordinate
  bool interleaved = false;            // M-RoPE: sections alternate, pair by pair (Qwen3-VL)
};

// `text`: the object with rope_theta and rope_scaling, or with rope_parameters. Throws thaw::Error for a kind of
// scaling that cannot be a table ("dynamic"), or is not known, and for factors of a wrong number.
Rope read_rope(const Config& text, int64_t head_dim, const RopeDefaults& defaults);

// The angles' cosines and sines, computed once for all layers.
struct TokenRotary {
  Var cos, sin;     // [batch or 1, seq, 1, dim / 2]; for BuildTarget::kOrt [batch * seq or seq, dim / 2]
  Var row;          // for BuildTarget::kOrt: which row of them a token takes, int64 [batch, seq]
  int64_t dim = 0;  // elements of a head that turn
};

// positions: int64 [batch or 1, seq], or [3, batch, seq] for `by_axis`, which the rope must have. batch: int64 [1].
TokenRotary rotary_at(const Rope& rope, Var positions, bool by_axis, Var batch);

// x [batch, seq, heads, head_dim] rotated; for BuildTarget::kOrt [batch, seq, heads * head_dim].
Var rotate_tokens(Var x, const TokenRotary& rotary, int64_t heads, int64_t head_dim);

}  // namespace thaw::model
