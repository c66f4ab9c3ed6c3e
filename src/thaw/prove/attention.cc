// Attention as it is defined: softmax(scale * q k^T + bias) v, head by head (Vaswani et al., "Attention Is All You Need", 3.2).
#include <algorithm>
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
  if (shape.size() == 4) return heads == 0 || shape[1].is_constant(heads) ? std::optional(x) : std::nullopt;
  const auto hidden = shape.size() == 3 ? shape[2].constant() : std::nullopt;
  if (!hidden || *hidden <= 0 || heads < 1 || *hidden % heads != 0) return std::nullopt;
  return algebra.views.transpose(algebra.views.reshape(x, {shape[0], shape[1], heads, *hidden / heads}), kHeadsFirst);
}

// Each head of keys for as many heads of queries as share it.
std::optional<TermId> repeated(Algebra& algebra, TermId x, Dim heads) {
  const Shape shape = *algebra.terms[x].shape;
  const auto own = shape[1].constant(), wanted = heads.constant();
  if (!own || !wanted || *own < 1 || *wanted % *own != 0) return std::nullopt;
  if (*own == *wanted) return x;
  const TermId apart = algebra.views.reshape(x, {shape[0], shape[1], 1, shape[2], shape[3]});
  const TermId all = algebra.views.conform(apart, {shape[0], shape[1], *wanted / *own, shape[2], shape[3]});
  return algebra.views.reshape(all, {shape[0], heads, shape[2], shape[3]});
}

std::optional<TermId> added(Algebra& algebra, TermId a, TermId b) {
  return algebra.elementwise({a, b}, [&](const std::vector<TermId>& o) { return algebra.arithmetic.add(o[0], o[1]); });
}

// Operands of an attention, each [batch, heads, positions, width].
struct Heads {
  TermId query = kNoTerm, key = kNoTerm, value = kNoTerm;
  double scale = 0;          // 0: 1 over the root of the width
  double softcap = 0;        // 0: none
  TermId bias = kNoTerm;     // that is added to the scores
  TermId is_seen = kNoTerm;  // scores that count, by truth values
  bool is_causal = false;    // a query sees as many keys as there are queries up to it
  int64_t window = 0;        // how many of these it sees, the last ones; 0: all
};

// What a query sees by where it stands: keys at its position and before.
std::optional<TermId> seen_by_position(Algebra& algebra, const Heads& heads) {
  const Dim queries = (*algebra.terms[heads.query].shape)[2], keys = (*algebra.terms[heads.key].shape)[2];
  const TermId key = algebra.positions(keys),
               query = algebra.views.reshape(algebra.positions(queries), {queries, Dim(1)});
  const auto before = algebra.at_most(key, query);
  if (!before || heads.window <= 0) return before;
  const auto first = algebra.elementwise({query}, [&](const std::vector<TermId>& o) {
    const TermId less = algebra.constants.sizes(ir::DataType::kInt64, {}, {Dim(1 - heads.window)});
    return algebra.arithmetic.sum({{1, o[0]}, {1, less}}, ir::DataType::kInt64);
  });
  const auto within = first ? algebra.at_most(*first, key) : std::nullopt;
  if (!within) return std::nullopt;
  return algebra.elementwise({*before, *within},
                             [&](const std::vector<TermId>& o) { return algebra.logical("And", o); });
}

// [batch, heads, queries, width of the values]; nullopt where it is not understood.
std::optional<TermId> attended(Algebra& algebra, const Heads& heads) {
  Terms& terms = algebra.terms;
  const Dim count = (*terms[heads.query].shape)[1];
  const auto width = terms[heads.query].shape->back().constant();
  const auto key = repeated(algebra, heads.key, count), value = repeated(algebra, heads.value, count);
  if (!key || !value || !width || *width < 1) return std::nullopt;
  const double scale = heads.scale != 0 ? heads.scale : 1 / std::sqrt(static_cast<double>(*width));
  const TermId product = algebra.matmul(heads.query, algebra.views.transpose(*key, kLastTwoSwapped));
  if (!is_known(terms[product].shape)) return std::nullopt;
  TermId scores = algebra.times(scale, product);
  if (heads.softcap > 0)
    scores = algebra.times(heads.softcap, algebra.of_each("Tanh", algebra.times(1 / heads.softcap, scores)));
  if (heads.bias != kNoTerm) {
    const auto sum = added(algebra, scores, heads.bias);
    if (!sum || terms[*sum].shape->size() != 4) return std::nullopt;
    scores = *sum;
  }
  std::vector<TermId> seen;
  if (heads.is_seen != kNoTerm) seen.push_back(heads.is_seen);
  if (heads.is_causal) {
    const auto by_position = seen_by_position(algebra, heads);
    if (!by_position) return std::nullopt;
    seen.push_back(*by_position);
  }
  for (const TermId one : seen) {
    const auto hidden = hidden_where(algebra, algebra.negation(one), scores);
    if (!hidden || !is_known(terms[*hidden].shape) || terms[*hidden].shape->size() != 4) return std::nullopt;
    scores = *hidden;
  }
  const TermId result = algebra.matmul(algebra.softmax("Softmax", scores, -1), *value);
  return is_known(terms[result].shape) ? std::optional(result) : std::nullopt;
}

// Whether the first operands are there, of one floating-point type and of known shapes; those behind may be left out.
bool are_real(const Algebra& algebra, const NodeToRead& read, size_t needed, std::span<const size_t> others) {
  const ir::DataType type = algebra.terms[read.operands[0]].dtype;
  const auto fits = [&](size_t i) {
    const Term& operand = algebra.terms[read.operands[i]];
    return is_real(type) && operand.dtype == type && is_known(operand.shape);
  };
  for (size_t i = 0; i < needed; ++i)
    if (!read.has(i) || !fits(i)) return false;
  return std::ranges::all_of(others, [&](size_t i) { return !read.has(i) || fits(i); });
}

// Query, key and value by head, with the keys and values of a past before them; false where these are of another rank.
bool add_past(Algebra& algebra, std::array<TermId, 3>& parts, TermId key, TermId value) {
  for (const auto& [part, past] : {std::pair{&parts[1], key}, {&parts[2], value}}) {
    if (algebra.terms[past].shape->size() != 4) return false;
    const std::array both{past, *part};
    *part = algebra.views.concat(both, 2);
  }
  return true;
}

TermId merged(Algebra& algebra, TermId by_head, const Shape& shape) {
  return algebra.views.reshape(algebra.views.transpose(by_head, kHeadsFirst), shape);
}

}  // namespace

std::vector<TermId> multi_head_attention(Algebra& algebra, const NodeToRead& read) {
  enum Operand : uint8_t { kBias = 3, kKeyMask, kScoreBias, kPastKey, kPastValue, kPastLength, kIndirection };
  static constexpr std::array<size_t, 4> kOthers{kBias, kScoreBias, kPastKey, kPastValue};
  Terms& terms = algebra.terms;
  const int64_t heads = read.integer("num_heads", 0);
  const bool has_more = read.has(kKeyMask) || read.has(kPastLength) || read.has(kIndirection) || read.wants(3) ||
                        read.integer("unidirectional", 0) != 0 || read.has(kPastKey) != read.has(kPastValue);
  if (heads < 1 || has_more || !are_real(algebra, read, 3, kOthers)) return {};
  std::array<TermId, 3> parts{read.operands[0], read.operands[1], read.operands[2]};  // query, key, value
  if (terms[parts[0]].shape->size() != 3) return {};
  if (read.has(kBias)) {
    Dim begin = 0;
    for (TermId& part : parts) {
      if (terms[part].shape->size() != 3) return {};
      const Cut cut{0, begin, terms[part].shape->back(), 1};
      const auto sum = added(algebra, part, algebra.slice(read.operands[kBias], std::span(&cut, 1)));
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
  if (read.has(kPastKey) && !add_past(algebra, parts, read.operands[kPastKey], read.operands[kPastValue])) return {};
  const auto [query, key, value] = parts;
  const auto result = attended(algebra, {.query = query,
                                         .key = key,
                                         .value = value,
                                         .scale = read.real("scale", 0),
                                         .bias = read.has(kScoreBias) ? read.operands[kScoreBias] : kNoTerm});
  const Shape* shape = read.known_shape(0);
  if (!result || !shape) return {};
  return {merged(algebra, *result, *shape), key, value};
}

// Without a past, every sample as long as there are positions.
std::vector<TermId> group_query_attention(Algebra& algebra, const NodeToRead& read) {
  enum Operand : uint8_t { kPastKey = 3, kPastValue, kLast, kTotal, kCos, kSin, kPositions, kScoreBias, kSink };
  static constexpr std::array<size_t, 3> kOthers{kCos, kSin, kScoreBias};
  const Terms& terms = algebra.terms;
  const int64_t heads = read.integer("num_heads", 0), key_heads = read.integer("kv_num_heads", 0);
  const bool turns = read.integer("do_rotary", 0) != 0;
  const bool has_more = read.has(kPastKey) || read.has(kPastValue) || read.has(kPositions) ||
                        read.operands.size() > kSink || read.wants(3) || read.integer("smooth_softmax", 0) > 0 ||
                        read.integer("qk_output", 0) != 0;
  if (heads < 1 || key_heads < 1 || has_more || !read.has(kLast) || !read.has(kTotal) ||
      !are_real(algebra, read, 3, kOthers) || turns != (read.has(kCos) && read.has(kSin)))
    return {};
  std::array<TermId, 3> parts{read.operands[0], read.operands[1], read.operands[2]};
  const Dim positions = terms[parts[0]].shape->size() == 3 ? (*terms[parts[0]].shape)[1] : Dim();
  const auto last = uniform(terms, read.operands[kLast]), total = uniform(terms, read.operands[kTotal]);
  if (!positions.is_known() || !last || !total || !dim::same(*total, positions) ||
      !dim::same(*last, positions - Dim(1)))
    return {};
  for (size_t i = 0; i < 3; ++i) {
    const auto apart = by_head(algebra, parts[i], i == 0 ? heads : key_heads);
    if (!apart || !dim::same((*terms[*apart].shape)[2], positions)) return {};
    parts[i] = *apart;
  }
  if (turns) {
    std::array<TermId, 2> tables{read.operands[kCos], read.operands[kSin]};
    for (TermId& table : tables) {
      const Shape shape = *terms[table].shape;
      const auto half = shape.size() == 2 ? shape[1].constant() : std::nullopt;
      const auto width = terms[parts[0]].shape->back().constant();
      if (!half || *half < 1 || !width || 2 * *half > *width) return {};
      const Cut rows{0, 0, positions, 1};
      table = algebra.views.reshape(algebra.slice(table, std::span(&rows, 1)), {1, 1, positions, *half});
    }
    for (const size_t i : {0, 1}) {
      const auto turned = rotated(algebra, parts[i], tables[0], tables[1], read.integer("rotary_interleaved", 0) != 0);
      if (!turned) return {};
      parts[i] = *turned;
    }
  }
  const auto result = attended(algebra, {.query = parts[0],
                                         .key = parts[1],
                                         .value = parts[2],
                                         .scale = read.real("scale", 0),
                                         .softcap = read.real("softcap", 0),
                                         .bias = read.has(kScoreBias) ? read.operands[kScoreBias] : kNoTerm,
                                         .is_causal = true,
                                         .window = std::max<int64_t>(read.integer("local_window_size", -1), 0)});
  const Shape* shape = read.known_shape(0);
  if (!result || !shape) return {};
  return {merged(algebra, *result, *shape), parts[1], parts[2]};
}

// Query, key and value are one product of the input; without a mask of keys, and without a past.
std::vector<TermId> packed_attention(Algebra& algebra, const NodeToRead& read) {
  enum Operand : uint8_t { kInput, kWeights, kBias, kKeyMask, kPast, kScoreBias, kPastLength };
  static constexpr std::array<size_t, 2> kOthers{kBias, kScoreBias};
  const int64_t heads = read.integer("num_heads", 0);
  const bool has_more = read.has(kKeyMask) || read.has(kPast) || read.has(kPastLength) || read.wants(1) ||
                        read.integer("do_rotary", 0) != 0 || read.integer("past_present_share_buffer", 0) != 0;
  if (heads < 1 || has_more || !are_real(algebra, read, 2, kOthers)) return {};
  if (!algebra.is_matrix(read.operands[kInput]) || !algebra.is_matrix(read.operands[kWeights])) return {};
  std::optional<TermId> all = algebra.matmul(read.operands[kInput], read.operands[kWeights]);
  if (read.has(kBias)) all = added(algebra, *all, read.operands[kBias]);
  if (!all || !is_known(algebra.terms[*all].shape) || algebra.terms[*all].shape->size() != 3) return {};
  const auto width = algebra.terms[*all].shape->back().constant();
  if (!width) return {};
  std::vector<int64_t> sizes(3, *width / 3);
  if (const auto given = read.node.attribute_ints("qkv_hidden_sizes"); !given.empty())
    sizes.assign(given.begin(), given.end());
  if (sizes.size() != 3 || sizes[0] + sizes[1] + sizes[2] != *width) return {};
  std::array<TermId, 3> parts{};
  int64_t begin = 0;
  for (size_t i = 0; i < 3; ++i) {
    const Cut cut{2, begin, sizes[i], 1};
    const auto apart = by_head(algebra, algebra.slice(*all, std::span(&cut, 1)), heads);
    if (!apart) return {};
    parts[i] = *apart;
    begin += sizes[i];
  }
  const auto result = attended(algebra, {.query = parts[0],
                                         .key = parts[1],
                                         .value = parts[2],
                                         .scale = read.real("scale", 0),
                                         .bias = read.has(kScoreBias) ? read.operands[kScoreBias] : kNoTerm,
                                         .is_causal = read.integer("unidirectional", 0) != 0});
  const Shape* shape = read.known_shape(0);
  if (!result || !shape) return {};
  return {merged(algebra, *result, *shape)};
}

// Of opset 23 and later. A query sees the keys up to its own place, counted from the first of both, without a past.
std::vector<TermId> standard_attention(Algebra& algebra, const NodeToRead& read) {
  enum Operand : uint8_t { kMask = 3, kPastKey, kPastValue, kLengths };
  static constexpr std::array<size_t, 2> kOthers{kPastKey, kPastValue};
  Terms& terms = algebra.terms;
  const bool is_causal = read.integer("is_causal", 0) != 0;
  const bool has_more = read.has(kLengths) || read.wants(3) || read.has(kPastKey) != read.has(kPastValue) ||
                        (is_causal && read.has(kPastKey)) || read.integer("softmax_precision", 0) != 0;
  if (has_more || !are_real(algebra, read, 3, kOthers)) return {};
  std::array<TermId, 3> parts{read.operands[0], read.operands[1], read.operands[2]};
  const bool is_merged = terms[parts[0]].shape->size() == 3;
  for (size_t i = 0; i < 3; ++i) {
    const auto apart = by_head(algebra, parts[i], read.integer(i == 0 ? "q_num_heads" : "kv_num_heads", 0));
    if (!apart) return {};
    parts[i] = *apart;
  }
  if (read.has(kPastKey) && !add_past(algebra, parts, read.operands[kPastKey], read.operands[kPastValue])) return {};
  Heads heads{.query = parts[0],
              .key = parts[1],
              .value = parts[2],
              .scale = read.real("scale", 0),
              .softcap = read.real("softcap", 0),
              .is_causal = is_causal};
  if (read.has(kMask)) {
    const Term& mask = terms[read.operands[kMask]];
    const bool has_all_keys =
        is_known(mask.shape) && mask.shape->size() >= 2 && dim::same(mask.shape->back(), (*terms[parts[1]].shape)[2]);
    if (!has_all_keys || (mask.dtype != ir::DataType::kBool && mask.dtype != terms[parts[0]].dtype)) return {};
    (mask.dtype == ir::DataType::kBool ? heads.is_seen : heads.bias) = read.operands[kMask];
  }
  const auto result = attended(algebra, heads);
  const Shape* shape = read.known_shape(0);
  if (!result || !shape) return {};
  return {is_merged ? merged(algebra, *result, *shape) : *result, parts[1], parts[2]};
}

}  // namespace thaw::proving
