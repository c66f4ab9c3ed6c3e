// Rotary position embedding (Su et al., "RoFormer", 3.4): pairs of elements are turned by an angle that follows from their position.
#include <array>

#include "thaw/ops/rule/registry.h"
#include "thaw/prove/laws.h"

namespace thaw::proving {

using dim::Dim;
using ops::Shape;

namespace {

constexpr std::array<int64_t, 4> kHeadsBeforePositions{0, 2, 1, 3};

// The operands of either domain, and what they say.
struct Rotary {
  TermId x = kNoTerm, positions = kNoTerm, cos = kNoTerm, sin = kNoTerm;
  int64_t heads = 0, width = 0;  // of a head
  int64_t turned = 0;            // elements of a head that are turned: the first
};

std::optional<Rotary> understood(const Terms& terms, const NodeToRead& read) {
  const bool is_microsoft = read.node.domain() == ops::kMicrosoft;
  const auto operand = [&](size_t i) { return read.has(i) ? read.operands[i] : kNoTerm; };
  Rotary rotary{.x = operand(0),
                .positions = operand(is_microsoft ? 1 : 3),
                .cos = operand(is_microsoft ? 2 : 1),
                .sin = operand(is_microsoft ? 3 : 2)};
  if (read.integer("is_packed_batching", 0) != 0 || read.real("scale", 1) != 1) return std::nullopt;
  const ir::DataType type = terms[rotary.x].dtype;
  for (const TermId one : {rotary.x, rotary.cos, rotary.sin})
    if (one == kNoTerm || !is_real(type) || terms[one].dtype != type || !is_known(terms[one].shape))
      return std::nullopt;
  const Shape &shape = *terms[rotary.x].shape, &table = *terms[rotary.cos].shape;
  if ((shape.size() != 3 && shape.size() != 4) || table.empty() || !is_same(table, *terms[rotary.sin].shape))
    return std::nullopt;
  const auto half = table.back().constant(), last = shape.back().constant();
  if (!half || *half < 1 || !last) return std::nullopt;
  const int64_t given = read.integer("rotary_embedding_dim", 0), heads = read.integer("num_heads", 0);
  if (shape.size() == 4) {
    rotary.width = *last;
  } else if (is_microsoft && given == 0) {
    rotary.width = 2 * *half;
  } else {
    if (heads < 1 || *last % heads != 0) return std::nullopt;
    rotary.width = *last / heads;
  }
  rotary.turned = given > 0 ? given : rotary.width;
  if (rotary.turned != 2 * *half || rotary.turned > rotary.width) return std::nullopt;
  if (shape.size() == 3) {
    if (*last % rotary.width != 0) return std::nullopt;
    rotary.heads = *last / rotary.width;
    if (heads > 0 && heads != rotary.heads) return std::nullopt;
  }
  // Rows of the table by position, or one for each place already.
  const size_t rows = table.size();
  if (rotary.positions != kNoTerm ? rows != 2 || !is_known(terms[rotary.positions].shape) : rows != 3)
    return std::nullopt;
  return rotary;
}

bool is_one_position(const Term& positions) {
  return positions.kind == Term::Kind::kSizes && positions.shape->size() == 1 && positions.dims.size() == 1;
}

}  // namespace

std::optional<TermId> rotated(Algebra& algebra, TermId x, TermId cos, TermId sin, bool is_interleaved) {
  Views& views = algebra.views;
  const Shape shape = *algebra.terms[x].shape;
  const int64_t width = *shape[3].constant(), half = *algebra.terms[cos].shape->back().constant();
  const auto part = [&](Dim begin, int64_t length, int64_t step) {
    const Cut cut{3, begin, length, step};
    return algebra.slice(x, std::span(&cut, 1));
  };
  const TermId first = part(0, half, is_interleaved ? 2 : 1),
               second = is_interleaved ? part(1, half, 2) : part(half, half, 1);
  const auto turned = [&](TermId a, TermId b, double sign) {
    return algebra.elementwise({a, cos, b, sin}, [&](const std::vector<TermId>& o) {
      auto& real = algebra.arithmetic;
      return real.sum({{1, real.multiply(o[0], o[1])}, {sign, real.multiply(o[2], o[3])}}, algebra.terms[x].dtype);
    });
  };
  const auto one = turned(first, second, -1), other = turned(second, first, 1);
  if (!one || !other) return std::nullopt;
  std::vector<TermId> parts{*one, *other};
  if (is_interleaved) {
    for (TermId& id : parts) id = views.reshape(id, {shape[0], shape[1], shape[2], half, 1});
    parts = {views.reshape(views.concat(parts, 4), {shape[0], shape[1], shape[2], 2 * half})};
  }
  if (2 * half < width) parts.push_back(part(2 * half, width - 2 * half, 1));
  return views.concat(parts, 3);
}

std::vector<TermId> rotary_embedding(Algebra& algebra, const NodeToRead& read) {
  const auto said = understood(algebra.terms, read);
  if (!said) return {};
  Views& views = algebra.views;
  const Shape given = *algebra.terms[said->x].shape;
  TermId x = said->x;
  if (given.size() == 3)
    x = views.transpose(views.reshape(x, {given[0], given[1], said->heads, said->width}), kHeadsBeforePositions);
  const Shape shape = *algebra.terms[x].shape;  // [batch, heads, positions, width]
  const int64_t half = said->turned / 2;
  std::array<TermId, 2> factors{said->cos, said->sin};
  for (TermId& one : factors) {
    if (said->positions != kNoTerm && is_one_position(algebra.terms[said->positions])) {
      // The first of positions that follow each other, in every sample.
      const Cut rows{0, algebra.terms[said->positions].dims[0], shape[2], 1};
      one = views.reshape(algebra.slice(one, std::span(&rows, 1)), {1, 1, shape[2], half});
      continue;
    }
    if (said->positions != kNoTerm) {
      const auto rows = algebra.gather(one, said->positions, 0);
      if (!rows) return {};
      one = *rows;
    }
    if (!is_same(*algebra.terms[one].shape, {shape[0], shape[2], half})) return {};
    one = views.reshape(one, {shape[0], 1, shape[2], half});
  }
  const auto made = rotated(algebra, x, factors[0], factors[1], read.integer("interleaved", 0) != 0);
  if (!made) return {};
  return {given.size() == 3 ? views.reshape(views.transpose(*made, kHeadsBeforePositions), given) : *made};
}

}  // namespace thaw::proving
