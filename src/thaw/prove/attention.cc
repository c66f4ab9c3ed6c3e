// Attention as it is defined: softmax(scale * q k^T + bias) v, head by head (Vaswani et al., "Attention Is All You Need", 3.2).
#include <array>
#include <cmath>

#include "thaw/prove/laws.h"

namespace thaw::proving {

using dim::Dim;
using ops::Shape;

namespace {

constexpr std::array<int64_t, 4> kHeadsFirst{0, 2, 1, 3}, kLastTwoSwapped{0, 1, 3, 2};

// [batch, positions, hidden] as [batch, heads, positions, width]; what has four axes is that already. nullopt where the axes do
// not fit.
std::optional<TermId> by_head(Algebra& algebra, TermId x, int64_t heads) {
  const Shape shape = *algebra.terms[x].shape;
  if (shape.size() == 4) return shape[1].is_constant(heads) ? std::optional(x) : std::nullopt;
  const auto hidden = shape.size() == 3 ? shape[2].constant() : std::nullopt;
  if (!hidden || *hidden <= 0 || *hidden % heads != 0) return std::nullopt;
  return algebra.views.transpose(algebra.views.reshape(x, {shape[0], shape[1], heads, *hidden / heads}), kHeadsFirst);
}

}  // namespace

std::vector<TermId> multi_head_attention(Algebra& algebra, const NodeToRead& read) {
  enum Operand : uint8_t { kBias = 3, kKeyMask, kScoreBias, kPastKey, kPastValue, kPastLength, kIndirection };
  Terms& terms = algebra.terms;
  const int64_t heads = read.integer("num_heads", 0);
  const bool has_more = read.has(kKeyMask) || read.has(kPastLength) || read.has(kIndirection) || read.wants(3) ||
                        read.integer("unidirectional", 0) != 0 || read.has(kPastKey) != read.has(kPastValue);
  if (heads < 1 || has_more) return {};
  const ir::DataType type = terms[read.operands[0]].dtype;
  for (size_t i = 0; i < read.operands.size(); ++i) {
    if (!read.has(i)) {
      if (i < 3) return {};  // packed in the query
      continue;
    }
    const Term& operand = terms[read.operands[i]];
    if (!is_real(type) || operand.dtype != type || !is_known(operand.shape)) return {};
  }
  const auto add = [&](TermId a, TermId b) {
    return algebra.elementwise({a, b},
                               [&](const std::vector<TermId>& o) { return algebra.arithmetic.add(o[0], o[1]); });
  };
  std::array<TermId, 3> parts{read.operands[0], read.operands[1], read.operands[2]};  // query, key, value
  if (terms[parts[0]].shape->size() != 3) return {};
  if (read.has(kBias)) {
    Dim begin = 0;
    for (TermId& part : parts) {
      if (terms[part].shape->size() != 3) return {};
      const Cut cut{0, begin, terms[part].shape->back(), 1};
      const auto sum = add(part, algebra.slice(read.operands[kBias], std::span(&cut, 1)));
      if (!sum) return {};
      part = *sum;
      begin = begin + cut.length;
    }
  }
  for (TermId& part : parts) {
    const auto apart = by_head(algebra, part, heads);
    if (!apart) return {};
    part = *apart;
  }
  if (read.has(kPastKey))
    for (const size_t i : {1, 2}) {
      const TermId past = read.operands[kPastKey + i - 1];
      if (terms[past].shape->size() != 4) return {};
      const std::array both{past, parts[i]};
      parts[i] = algebra.views.concat(both, 2);
    }
  const auto [query, key, value] = parts;
  const auto width = terms[query].shape->back().constant();
  double scale = read.real("scale", 0);
  if (scale == 0) scale = 1 / std::sqrt(static_cast<double>(*width));
  const TermId product = algebra.matmul(query, algebra.views.transpose(key, kLastTwoSwapped));
  if (!is_known(terms[product].shape)) return {};
  TermId scores = algebra.times(scale, product);
  if (read.has(kScoreBias)) {
    const auto sum = add(scores, read.operands[kScoreBias]);
    if (!sum || terms[*sum].shape->size() != 4) return {};
    scores = *sum;
  }
  const TermId result = algebra.matmul(algebra.softmax("Softmax", scores, -1), value);
  const Shape* shape = read.known_shape(0);
  if (!is_known(terms[result].shape) || !shape) return {};
  return {algebra.views.reshape(algebra.views.transpose(result, kHeadsFirst), *shape), key, value};
}

}  // namespace thaw::proving
