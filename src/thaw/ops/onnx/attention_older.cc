// Formulas: ONNX, docs/Operators.md, Attention (23) and RotaryEmbedding (23).
#include "thaw/ops/onnx/attention_older.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <string_view>

namespace thaw::ops {

namespace {

using ir::DataType;
using ir::Value;

// A size that arithmetic on heads must know.
int64_t number_of(const dim::Dim& size, const char* what) {
  if (const auto number = size.constant()) return *number;
  throw NoEqual{std::string(what) + " is not known"};
}

// Attributes that are looked at, or that mean nothing here.
constexpr std::string_view kKnownAttributes[] = {
    "is_causal", "kv_num_heads", "q_num_heads", "qk_matmul_output_mode", "scale", "softmax_precision", "softcap"};

class AttentionWriter {
 public:
  explicit AttentionWriter(AdapterContext& n) : n_(n), at_(n.at()), type_(n.input(0).dtype) {}

  void run() {
    refuse_unknown_attributes();
    Value *query = with_heads(0, "q_num_heads"), *key = with_heads(1, "kv_num_heads"),
          *value = with_heads(2, "kv_num_heads");
    if (n_.has_input(4)) {
      key = at_.concat({n_.changing().input(4), key}, 2);
      value = at_.concat({n_.changing().input(5), value}, 2);
    }
    if (n_.wants_output(1)) n_.become(1, key);
    if (n_.wants_output(2)) n_.become(2, value);
    const int64_t heads = heads_of(0, "q_num_heads"), kv_heads = heads_of(1, "kv_num_heads");
    key = repeated(key, heads, kv_heads, width_of(1, "kv_num_heads"));
    value = repeated(value, heads, kv_heads, width_of(2, "kv_num_heads"));
    // Half of the factor each, as the specification has it, so that no product overflows.
    const double scale = n_.attr_float("scale", 0) != 0
                             ? n_.attr_float("scale", 0)
                             : 1 / std::sqrt(static_cast<double>(width_of(0, "q_num_heads")));
    Value* root = at_.scalar(std::sqrt(scale), type_);
    Value* scores = at_.emit("MatMul", {at_.mul(query, root), at_.mul(at_.transpose(key, {0, 1, 3, 2}), root)});
    show(0, scores);
    scores = capped(scores);
    show(1, scores);
    scores = masked(scores, query, key);
    show(2, scores);
    Value* weights = softmax(scores);
    show(3, weights);
    Value* result = at_.emit("MatMul", {weights, value});
    if (n_.input(0).rank() == 3) {
      const int64_t width = heads * width_of(2, "kv_num_heads");
      result = at_.reshape(at_.transpose(result, {0, 2, 1, 3}), at_.list({0, 0, width}));
    }
    n_.become(0, result);
  }

 private:
  void refuse_unknown_attributes() {
    for (const ir::Attribute& attribute : n_.node().attributes())
      if (std::ranges::find(kKnownAttributes, attribute.name) == std::end(kKnownAttributes))
        throw NoEqual{"its attribute '" + attribute.name + "' has no arithmetic here"};
    if (!ir::is_floating(type_)) throw NoEqual{"its type is not known"};
    if (n_.has_input(6)) throw NoEqual{"it has nonpad_kv_seqlen"};
  }

  int64_t heads_of(int i, std::string_view attribute) {
    const Fact& x = n_.input(i);
    if (x.rank() == 4) return number_of(x.dim(1), "its number of heads");
    return n_.attr_int(attribute, 0);
  }

  int64_t width_of(int i, std::string_view attribute) {
    const Fact& x = n_.input(i);
    if (x.rank() == 4) return number_of(x.dim(3), "its heads' width");
    const int64_t heads = heads_of(i, attribute);
    if (x.rank() != 3 || heads <= 0) throw NoEqual{"the rank of its operands is not known"};
    return number_of(x.dim(2), "its heads' width") / heads;
  }

  // [batch, heads, positions, width]
  Value* with_heads(int i, std::string_view attribute) {
    Value* x = n_.changing().input(i);
    if (n_.input(i).rank() == 4) return x;
    const std::vector<int64_t> split = {0, 0, heads_of(i, attribute), width_of(i, attribute)};
    return at_.transpose(at_.reshape(x, at_.list(split)), {0, 2, 1, 3});
  }

  // Each head of keys as often as queries share it.
  Value* repeated(Value* x, int64_t heads, int64_t kv_heads, int64_t width) {
    if (heads == kv_heads) return x;
    if (kv_heads <= 0 || heads % kv_heads != 0) throw NoEqual{"its heads do not share those of the keys evenly"};
    Value* many = at_.emit("Expand", {at_.unsqueeze(x, {2}), at_.list({1, 1, heads / kv_heads, 1, 1})});
    return at_.reshape(many, at_.list({0, heads, -1, width}));
  }

  // The scores are an output as they are at one of four steps.
  void show(int64_t position, Value* scores) {
    if (n_.wants_output(3) && n_.attr_int("qk_matmul_output_mode", 0) == position) n_.become(3, scores);
  }

  Value* capped(Value* scores) {
    const double cap = n_.attr_float("softcap", 0);
    if (cap == 0) return scores;
    Value* most = at_.scalar(cap, type_);
    return at_.mul(at_.emit("Tanh", {at_.emit("Div", {scores, most})}), most);
  }

  Value* length_of(Value* x) { return at_.squeeze(at_.slice(at_.shape(x), 2, 3), {0}); }

  Value* positions(Value* x) { return at_.emit("Range", {at_.integer(0), length_of(x), at_.integer(1)}); }

  // Those of queries stand behind the past.
  Value* positions_behind_past(Value* query) {
    if (!n_.has_input(4)) return positions(query);
    Value* past = length_of(n_.changing().input(4));
    return at_.emit("Range", {past, at_.add(past, length_of(query)), at_.integer(1)});
  }

  Value* masked(Value* scores, Value* query, Value* key) {
    if (n_.attr_int("is_causal", 0) != 0) {
      Value* last = positions_behind_past(query);
      Value* seen = at_.emit("LessOrEqual", {at_.unsqueeze(positions(key), {0}), at_.unsqueeze(last, {1})});
      scores = at_.emit("Where", {seen, scores, at_.scalar(-std::numeric_limits<double>::infinity(), type_)});
    }
    if (!n_.has_input(3)) return scores;
    const Fact &mask = n_.input(3), &keys = n_.input(1), &past = n_.input(4);
    if (!mask.has_rank() || mask.rank() < 1 || keys.rank() < 3) throw NoEqual{"the rank of its mask is not known"};
    dim::Dim total = keys.dim(keys.rank() == 4 ? 2 : 1);
    if (n_.has_input(4)) total = total + (past.rank() == 4 ? past.dim(2) : dim::Dim());
    if (!dim::same(mask.dim(mask.rank() - 1), total)) throw NoEqual{"its mask may be shorter than the keys"};
    Value* given = n_.changing().input(3);
    if (mask.dtype == DataType::kBool)
      return at_.emit("Where", {given, scores, at_.scalar(-std::numeric_limits<double>::infinity(), type_)});
    return at_.add(scores, mask.dtype == type_ ? given : at_.cast(given, type_));
  }

  Value* softmax(Value* scores) {
    const auto wanted = static_cast<DataType>(n_.attr_int("softmax_precision", 0));
    const bool converts = wanted != DataType::kUndefined && wanted != type_;
    if (converts) scores = at_.cast(scores, wanted);
    Value* weights = at_.emit("Softmax", {scores}, {{"axis", int64_t{-1}}});
    if (n_.has_input(3))  // a query that sees nothing gets zeros
      weights = at_.emit("Where", {at_.emit("IsNaN", {weights}), at_.scalar(0, converts ? wanted : type_), weights});
    return converts ? at_.cast(weights, type_) : weights;
  }

  AdapterContext& n_;
  const Emit& at_;
  DataType type_;
};

}  // namespace

void older_attention(AdapterContext& n) { AttentionWriter(n).run(); }

Value* rotation_as_arithmetic(const Emit& at, const Rotation& r) {
  Value* part = r.rotated == r.width ? r.whole : at.slice(r.whole, 0, r.rotated, 3);
  Value *first = nullptr, *second = nullptr;
  if (r.interleaved) {
    Value* pairs = at.reshape(part, at.list({0, 0, r.heads, r.rotated / 2, 2}));
    first = at.squeeze(at.slice(pairs, 0, 1, 4), {4});
    second = at.squeeze(at.slice(pairs, 1, 2, 4), {4});
  } else {
    first = at.slice(part, 0, r.rotated / 2, 3);
    second = at.slice(part, r.rotated / 2, r.rotated, 3);
  }
  Value* real = at.sub(at.mul(r.cosine, first), at.mul(r.sine, second));
  Value* imaginary = at.add(at.mul(r.sine, first), at.mul(r.cosine, second));
  Value* rotated = nullptr;
  if (r.interleaved) {
    rotated = at.concat({at.unsqueeze(real, {4}), at.unsqueeze(imaginary, {4})}, 4);
    rotated = at.reshape(rotated, at.list({0, 0, r.heads, r.rotated}));
  } else {
    rotated = at.concat({real, imaginary}, 3);
  }
  return r.rotated == r.width ? rotated : at.concat({rotated, at.slice(r.whole, r.rotated, r.width, 3)}, 3);
}

Value* heads_of(AdapterContext& n, int64_t heads, int64_t width) {
  const Emit& at = n.at();
  Value* whole = n.changing().input(0);
  return n.input(0).rank() == 4 ? at.transpose(whole, {0, 2, 1, 3}) : at.reshape(whole, at.list({0, 0, heads, width}));
}

void become_heads(AdapterContext& n, Value* rotated, int64_t heads, int64_t width) {
  const Emit& at = n.at();
  n.become(0, n.input(0).rank() == 4 ? at.transpose(rotated, {0, 2, 1, 3})
                                     : at.reshape(rotated, at.list({0, 0, heads * width})));
}

void older_rotary_embedding(AdapterContext& n) {
  const Emit& at = n.at();
  const Fact &x = n.input(0), &cache = n.input(1);
  if ((x.rank() != 3 && x.rank() != 4) || !cache.has_rank()) throw NoEqual{"the rank of its operands is not known"};
  const int64_t heads = x.rank() == 4 ? number_of(x.dim(1), "its number of heads") : n.attr_int("num_heads", 0);
  if (heads <= 0) throw NoEqual{"its number of heads is not known"};
  const int64_t width =
      x.rank() == 4 ? number_of(x.dim(3), "its heads' width") : number_of(x.dim(2), "its heads' width") / heads;
  const int64_t given = n.attr_int("rotary_embedding_dim", 0), rotated = given > 0 ? given : width;
  Value* whole = heads_of(n, heads, width);
  const auto half = cache.dim(cache.rank() - 1).constant();
  if (half && *half != rotated / 2) throw NoEqual{"its angles are not half as many as it turns"};
  const auto angles = [&](int i) {
    Value* table = n.changing().input(i);
    if (n.has_input(3)) table = at.emit("Gather", {table, n.changing().input(3)}, {{"axis", int64_t{0}}});
    return at.unsqueeze(table, {2});
  };
  Value* result = rotation_as_arithmetic(at, {.whole = whole,
                                              .cosine = angles(1),
                                              .sine = angles(2),
                                              .heads = heads,
                                              .width = width,
                                              .rotated = rotated,
                                              .interleaved = n.attr_int("interleaved", 0) != 0});
  become_heads(n, result, heads, width);
}

}  // namespace thaw::ops
