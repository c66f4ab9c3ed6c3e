// How a frozen size shows at a Reshape.
//
// With the sizes known at which the model was frozen, a Reshape of [B, S, 64] to the constants [2, 11, 4, 16] can be
// read as [B, S, 4, 16]: sizes are grouped where their products agree, and a group's symbols carry over.
#include <algorithm>
#include <map>
#include <utility>

#include "thaw/ops/onnx/reshape.h"
#include "thaw/ops/rule/product_groups.h"

namespace thaw::ops {

using dim::Dim;

namespace {

bool is_prime(int64_t n) {
  for (int64_t k = 2; k * k <= n; ++k)
    if (n % k == 0) return false;
  return true;
}

// Sizes as numbers, to group axes by. A symbol that the model was frozen at no value of, so far as is known, is given a
// prime of its own: it stands on both sides of a Reshape, and no product of other sizes comes to it.
class Numbers {
 public:
  explicit Numbers(const dim::Assignment& assumed_sizes) : values_(assumed_sizes) {}

  // nullopt where one is not known, or not positive.
  std::optional<std::vector<int64_t>> of(const std::vector<Dim>& dims) {
    std::vector<int64_t> numbers;
    for (const Dim d : dims) {
      auto value = dim::evaluate(d, values_);
      if (!value && d.is_symbolic()) {
        for (const int id : dim::symbols_of(d))
          if (!values_.contains(id)) values_.emplace(id, next_prime());
        value = dim::evaluate(d, values_);
      }
      if (!value || *value <= 0) return std::nullopt;
      numbers.push_back(*value);
    }
    return numbers;
  }

 private:
  int64_t next_prime() {
    do ++last_;
    while (!is_prime(last_));
    return last_;
  }

  dim::Assignment values_;
  int64_t last_ = 1000;
};

bool any_symbolic(const std::vector<Dim>& dims) {
  return std::ranges::any_of(dims, [](Dim d) { return d.is_symbolic(); });
}

// One way to write numbers as parts of a size.
struct Split {
  std::vector<Dim> parts;                  // by number
  std::vector<std::pair<int, size_t>> at;  // symbols, and the numbers that they are part of
};

// All ways in which numbers that make up a size, which is symbols times a number, are parts of it.
class SizeSplitter {
 public:
  SizeSplitter(Dim size, const dim::Assignment& assumed_sizes, std::vector<int64_t> numbers)
      : left_(std::move(numbers)) {
    Dim rest = size;
    for (const int id : dim::symbols_of(size)) {
      const Dim symbol = dim::scope_of(size)->symbol_at(id);
      while (const auto without = rest.is_symbolic() ? dim::exact_div(rest, symbol) : std::nullopt) {
        const auto value = assumed_sizes.find(id);
        if (value == assumed_sizes.end() || value->second < 1) return;
        factors_.push_back({id, symbol, value->second});
        rest = *without;
      }
    }
    is_product_ = rest.is_constant() && factors_.size() <= kMostFactors && left_.size() <= kMostNumbers;
    parts_.assign(left_.size(), Dim(1));
  }

  std::vector<Split> run() {
    if (is_product_) position(0);
    return std::move(found_);
  }

 private:
  static constexpr size_t kMostFactors = 4, kMostNumbers = 5;
  struct Factor {
    int id;
    Dim symbol;
    int64_t value;
  };

  void position(size_t next) {
    if (next == factors_.size()) {
      Split split{parts_, at_};
      for (size_t k = 0; k < left_.size(); ++k) split.parts[k] = split.parts[k] * Dim(left_[k]);
      const auto is_same = [&](const Split& other) {
        return std::ranges::equal(other.parts, split.parts, [](Dim a, Dim b) { return dim::same(a, b); });
      };
      if (std::ranges::none_of(found_, is_same)) found_.push_back(std::move(split));
      return;
    }
    const Factor& factor = factors_[next];
    for (size_t k = 0; k < left_.size(); ++k) {
      if (left_[k] % factor.value != 0) continue;
      const Dim before = parts_[k];
      left_[k] /= factor.value;
      parts_[k] = before * factor.symbol;
      at_.emplace_back(factor.id, k);
      position(next + 1);
      at_.pop_back();
      parts_[k] = before;
      left_[k] *= factor.value;
    }
  }

  std::vector<int64_t> left_;
  std::vector<Dim> parts_;
  std::vector<Factor> factors_;
  std::vector<std::pair<int, size_t>> at_;
  std::vector<Split> found_;
  bool is_product_ = false;
};

class ReshapeExplainer {
 public:
  explicit ReshapeExplainer(FrozenContext& ctx) : ctx_(ctx), numbers_(ctx.assumed_sizes()) {}

  void run() {
    const Fact &data = ctx_.input(0), &out = ctx_.output(0);
    const auto target = ctx_.followed(1);
    if (!data.shape || !out.is_tensor() || !target || !(any_symbolic(*data.shape) || any_symbolic(*target))) return;
    in_ = *data.shape;
    target_ = *target;
    if (!in_.empty() && !target_.empty() && in_[0].is_symbolic() && target_[0].is_constant() &&
        *target_[0].constant() > 1)
      ctx_.suspect(in_[0], *target_[0].constant());
    const auto in_values = numbers_.of(in_);
    if (!in_values || !resolve_target(*in_values)) return;
    if (any_symbolic(target_) && holds_at_any_size()) return;
    const auto out_values = numbers_.of(out_);
    const auto groups = out_values ? group_by_product(*in_values, *out_values) : std::nullopt;
    if (!groups) return;
    for (const AxisGroup& g : *groups) explain_group(g, *in_values, *out_values);
    if (out.shape && out.shape->size() == out_.size()) ctx_.set_shape(0, out_);
  }

 private:
  // out_: the target with 0 and -1 replaced; false where that cannot be done at the frozen sizes.
  bool resolve_target(const std::vector<int64_t>& in_values) {
    int64_t total = 1, known = 1;
    for (int64_t v : in_values)
      if (__builtin_mul_overflow(total, v, &total)) return false;
    bool keep_zero = ctx_.attr_int("allowzero", 0) != 0;
    out_ = target_;
    for (size_t j = 0; j < out_.size(); ++j) {
      if (out_[j].is_constant(0) && !keep_zero) {
        if (j >= in_.size()) return false;
        out_[j] = in_[j];
      }
      if (out_[j].is_constant(-1)) {
        if (free_ >= 0) return false;
        free_ = static_cast<int>(j);
        continue;
      }
      auto v = numbers_.of({out_[j]});
      if (!v || __builtin_mul_overflow(known, v->front(), &known)) return false;
    }
    if (free_ >= 0) {
      if (total % known != 0) return false;
      out_[static_cast<size_t>(free_)] = total / known;
    }
    return true;
  }

  // Computed sizes that hold every element at any size have met no frozen one: equal numbers beside each other ([64, 8, 8]
  // as [8*8, 64]) are chance.
  bool holds_at_any_size() const {
    std::vector<Dim> given = out_;
    if (free_ >= 0) given.erase(given.begin() + free_);
    const auto rest = dim::exact_div(dim::product(in_), dim::product(given));
    return rest && (free_ >= 0 || rest->is_constant(1));
  }

  bool is_frozen_element(size_t j) const { return target_[j].is_constant() && *target_[j].constant() > 0; }

  // The 1s right beside element j of the target that are not the operand's own: those nearest to it.
  std::vector<int> adjacent_ones(size_t j, const AxisGroup& g, const std::vector<int64_t>& in_values,
                                 const std::vector<int64_t>& out_values) const {
    // A 1 that is copied or computed is the axis that it was read from.
    const auto is_new = [&](size_t k) {
      return out_values[k] == 1 && (static_cast<int>(k) == free_ || target_[k].is_constant(1));
    };
    std::vector<int> ones;
    // The operand's own axes of 1 beside the group: each is one of the target's, the farthest first.
    size_t first = g.in_begin, last = g.in_end;
    while (first < last && in_values[first] == 1) ++first;
    while (last > first && in_values[last - 1] == 1) --last;
    size_t before = 0, after = 0;
    while (before < first && in_values[first - 1 - before] == 1) ++before;
    while (last + after < in_values.size() && in_values[last + after] == 1) ++after;
    std::vector<int> left, right;
    for (size_t k = j; k > 0 && is_new(k - 1); --k) left.push_back(static_cast<int>(k - 1));
    for (size_t k = j + 1; k < out_values.size() && is_new(k); ++k) right.push_back(static_cast<int>(k));
    left.resize(left.size() - std::min(left.size(), before));
    right.resize(right.size() - std::min(right.size(), after));
    ones.insert(ones.end(), left.begin(), left.end());
    ones.insert(ones.end(), right.begin(), right.end());
    return ones;
  }

  void meet_shape(size_t j, Dim expression, bool product, std::vector<int> ones = {}) {
    Meeting m;
    m.input = 1;
    m.element = static_cast<int>(j);
    m.value = *target_[j].constant();
    m.expression = expression;
    m.is_shape = true;
    m.silent = free_ >= 0;
    m.product = product;
    if (*target_[j].constant() > 1) m.ones = std::move(ones);
    ctx_.meet(m);
  }

  void explain_group(const AxisGroup& g, const std::vector<int64_t>& in_values,
                     const std::vector<int64_t>& out_values) {
    Dim e = dim::product(std::span(in_).subspan(g.in_begin, g.in_end - g.in_begin));
    bool in_symbolic = e.is_symbolic();
    bool out_symbolic = false, has_free = false;
    std::vector<size_t> frozen;  // constants of the target, ones apart
    for (size_t j = g.out_begin; j < g.out_end; ++j) {
      out_symbolic |= target_[j].is_symbolic() || (target_[j].is_constant(0) && out_[j].is_symbolic());
      has_free |= static_cast<int>(j) == free_;
      if (is_frozen_element(j) && out_values[j] != 1) frozen.push_back(j);
    }
    if (!in_symbolic) {
      if (out_symbolic) meet_data(g, in_values);
      return;
    }
    // A dim of 1 that stands for a symbol of that value (a batch of one) keeps it.
    if (g.in_end - g.in_begin == 1 && g.out_end - g.out_begin == 1) {
      if (is_frozen_element(g.out_begin))
        meet_shape(g.out_begin, e, false, adjacent_ones(g.out_begin, g, in_values, out_values));
      out_[g.out_begin] = e;
      return;
    }
    Dim others = 1;
    for (size_t j = g.out_begin; j < g.out_end; ++j)
      if (static_cast<int>(j) != free_ && !(frozen.size() == 1 && !has_free && j == frozen[0]))
        others = others * out_[j];
    if (has_free) {
      // [-1, 4] of N: a structural factor, unless the group's constants leave nothing for the symbol.
      if (out_values[static_cast<size_t>(free_)] == 1 && !frozen.empty()) {
        for (size_t j : frozen) meet_shape(j, e, frozen.size() > 1, adjacent_ones(j, g, in_values, out_values));
        if (frozen.size() == 1) {
          out_[frozen[0]] = e;
          out_[static_cast<size_t>(free_)] = 1;
        }
        return;
      }
      // ... or unless the -1 is what is left beside a batch.
      std::vector<size_t> sharing = frozen;
      sharing.insert(std::ranges::upper_bound(sharing, static_cast<size_t>(free_)), static_cast<size_t>(free_));
      if (const auto parts = out_symbolic ? std::nullopt : parts_of(e, sharing, out_values))
        return explain_parts(sharing, *parts);
      out_[static_cast<size_t>(free_)] = quotient(e, others);
      return;
    }
    if (out_symbolic) {
      // What is a constant beside a computed size is a structural factor ([h/2, 2] of h), unless the count of elements leaves
      // one size in its place.
      const auto rest = frozen.size() == 1 ? dim::exact_div(e, others) : std::nullopt;
      const auto value = rest && rest->is_symbolic() ? numbers_.of({*rest}) : std::nullopt;
      if (!value || value->front() != out_values[frozen[0]]) return;
      meet_shape(frozen[0], *rest, false);
      out_[frozen[0]] = *rest;
      return;
    }
    if (frozen.size() == 1) {
      meet_shape(frozen[0], quotient(e, others), false, adjacent_ones(frozen[0], g, in_values, out_values));
      out_[frozen[0]] = quotient(e, others);
      return;
    }
    if (frozen.empty()) return;
    if (const auto parts = parts_of(e, frozen, out_values)) return explain_parts(frozen, *parts);
    // Several constants share the size: which of them move with it, one model cannot tell. The largest is taken to
    // where there are two (165 * 4 = patches); more are left as they are.
    for (size_t j : frozen) meet_shape(j, e, true);
    if (frozen.size() == 2) {
      size_t largest = out_values[frozen[0]] >= out_values[frozen[1]] ? frozen[0] : frozen[1];
      size_t rest = largest == frozen[0] ? frozen[1] : frozen[0];
      out_[largest] = quotient(e, out_[rest]);
    }
  }

  // Which of several constants that share a size are which part of it: sizes of inputs times a number. Where more than one way would
  // do: what a batch counts lies one after the other, so that it is part of the first.
  std::optional<std::vector<Dim>> parts_of(Dim e, const std::vector<size_t>& sharing,
                                           const std::vector<int64_t>& out_values) {
    std::vector<int64_t> values;
    for (const size_t j : sharing) values.push_back(out_values[j]);
    const std::vector<Split> all = SizeSplitter(e, ctx_.assumed_sizes(), values).run();
    if (all.size() == 1) return all.front().parts;
    std::vector<const Split*> by_batch;
    for (const Split& split : all)
      if (std::ranges::all_of(split.at, [&](const auto& at) { return at.second == 0 || !ctx_.is_batch(at.first); }))
        by_batch.push_back(&split);
    const auto has_batch = [&](int id) { return ctx_.is_batch(id); };
    if (by_batch.size() != 1 || std::ranges::none_of(dim::symbols_of(e), has_batch)) return std::nullopt;
    return by_batch.front()->parts;
  }

  // Elements of the target that are parts of a size, those that move with it as frozen ones.
  void explain_parts(const std::vector<size_t>& sharing, const std::vector<Dim>& parts) {
    for (size_t k = 0; k < sharing.size(); ++k) {
      const size_t j = sharing[k];
      if (parts[k].is_symbolic() && static_cast<int>(j) != free_) meet_shape(j, parts[k], false);
      out_[j] = parts[k];
    }
  }

  // A constant operand (a table) that is given a symbolic shape: its own size is frozen.
  void meet_data(const AxisGroup& g, const std::vector<int64_t>& in_values) {
    Dim e = dim::product(std::span(out_).subspan(g.out_begin, g.out_end - g.out_begin));
    std::vector<size_t> sized;
    for (size_t i = g.in_begin; i < g.in_end; ++i)
      if (in_values[i] != 1) sized.push_back(i);
    for (size_t i : sized) {
      Meeting m;
      m.input = 0;
      m.element = static_cast<int>(i);
      m.value = in_values[i];
      m.expression = e;
      m.product = sized.size() > 1;
      ctx_.meet(m);
    }
  }

  static Dim quotient(Dim e, Dim by) {
    if (auto exact = dim::exact_div(e, by)) return *exact;
    return dim::floor_div(e, by);
  }

  FrozenContext& ctx_;
  Numbers numbers_;
  std::vector<Dim> in_, target_, out_;
  int free_ = -1;  // where the target has its -1
};

// Drops constants at the end of both lists as long as they make up equal products: [n, s, 8] and [-1, 7, 2, 4] are left
// as [n, s] and [-1, 7].
void drop_constant_tail(std::vector<Dim>& in, std::vector<Dim>& out) {
  while (!in.empty() && in.back().is_constant()) {
    int64_t wanted = *in.back().constant(), product = 1;
    size_t keep = out.size();
    while (product < wanted && keep > 0 && out[keep - 1].is_constant() && *out[keep - 1].constant() > 0)
      if (__builtin_mul_overflow(product, *out[--keep].constant(), &product)) return;
    if (product != wanted) return;
    in.pop_back();
    out.resize(keep);
  }
}

// A target that repeats the operand's axes in their places, but for the first and a -1 that axes of the operand's own part from it
// ([n, 7, 9] to [3, 7, -1]), keeps them: at no other size than 3 are they where they were.
bool keeps_axes_apart(const std::vector<Dim>& in, const std::vector<Dim>& target) {
  if (in.size() != target.size() || in.size() < 3 || !in[0].is_symbolic() || target[0].constant().value_or(0) <= 1)
    return false;
  int free = 0;
  bool are_apart = false;
  for (size_t k = 1; k < in.size(); ++k) {
    const bool is_free = target[k].is_constant(-1);
    if (is_free && (!are_apart || ++free > 1)) return false;
    if (!is_free && !target[k].is_constant(0) && !dim::same(in[k], target[k])) return false;
    are_apart |= !is_free && in[k].constant().value_or(0) > 1;
  }
  return free == 1;
}

// Axes that line up are equal, as far as that helps to solve for the sizes of the example.
void suggest_aligned_axes(FrozenContext& ctx) {
  const auto target = ctx.followed(1);
  if (target && ctx.input(0).shape && keeps_axes_apart(*ctx.input(0).shape, *target))
    ctx.suggest(ctx.input(0).dim(0), (*target)[0], "axes of a Reshape");
  // A Reshape that goes through at every size (chunks of 10 of what was padded to a multiple of 10) fixes none.
  const bool may_fail = std::ranges::any_of(ctx.stated(), [](const Obligation& o) {
    return o.kind == dim::Relation::kEqual || o.kind == dim::Relation::kDivisible;
  });
  if (!target || !may_fail || !ctx.input(0).shape) return;
  std::vector<Dim> in, out;
  for (Dim d : *ctx.input(0).shape)
    if (!d.is_constant(1)) in.push_back(d);
  for (Dim d : *target)
    if (!d.is_constant(1)) out.push_back(d);
  drop_constant_tail(in, out);
  std::reverse(in.begin(), in.end());
  std::reverse(out.begin(), out.end());
  drop_constant_tail(in, out);
  if (in.size() != out.size()) return;
  for (size_t i = 0; i < in.size(); ++i)
    if (in[i].is_constant() && out[i].is_constant() && !dim::same(in[i], out[i]) && !out[i].is_constant(-1)) return;
  for (size_t i = 0; i < in.size(); ++i)
    if (in[i].is_symbolic() && out[i].is_constant() && *out[i].constant() > 0)
      ctx.suggest(in[i], out[i], "axes of a Reshape");
}

}  // namespace

void frozen_reshape(FrozenContext& ctx) {
  suggest_aligned_axes(ctx);
  ReshapeExplainer(ctx).run();
}

}  // namespace thaw::ops
