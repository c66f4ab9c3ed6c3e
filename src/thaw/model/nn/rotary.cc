#include "thaw/model/nn/rotary.h"

namespace thaw::model {

Rotary rotary_from_angles(Var angles, ir::DataType type, double scale) {
  Var c = cos(angles), s = sin(angles);
  if (scale != 1.0) {
    c = c * scale;
    s = s * scale;
  }
  return {cast(c, type), cast(s, type)};
}

Var rotate(Var x, Var c, Var s, int64_t head_dim, int64_t rotary_dim) {
  const int64_t half = rotary_dim / 2;
  std::vector<int64_t> sizes{half, half};
  if (head_dim > rotary_dim) sizes.push_back(head_dim - rotary_dim);
  std::vector<Var> parts = split(x, -1, sizes);
  Var a = parts[0], b = parts[1];
  parts[0] = a * c - b * s;
  parts[1] = b * c + a * s;
  return concat(parts, -1);
}

Var rotate_rows(Var x, const Rotary& r, int64_t heads, int64_t head_dim, int64_t rotary_dim) {
  Net& net = *x.net;
  if (net.is_ort() && head_dim == rotary_dim) {
    // One "batch" whose positions are the rows: cos and sin are the caches.
    Var positions = unsqueeze(arange(length_of(x, 0)), {0});
    Var rotated = net.node("RotaryEmbedding", {unsqueeze(x, {0}), positions, r.cos, r.sin}, x.type,
                           {{"num_heads", heads}, {"interleaved", int64_t{0}}}, "com.microsoft");
    return squeeze(rotated, {0});
  }
  Var split_heads = reshape(x, {0, heads, head_dim});
  Var rotated = rotate(split_heads, unsqueeze(r.cos, {1}), unsqueeze(r.sin, {1}), head_dim, rotary_dim);
  return reshape(rotated, {0, heads * head_dim});
}

}  // namespace thaw::model
