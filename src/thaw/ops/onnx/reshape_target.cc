#include "thaw/ops/onnx/reshape_target.h"

#include <algorithm>
#include <string>
#include <string_view>

#include "thaw/dim/expr/scope.h"
#include "thaw/ops/rule/size_help.h"

namespace thaw::ops {

using dim::Dim;

namespace {

constexpr size_t kMaxShared = 32;  // sizes of the input that are looked through for one that the target has too
constexpr std::string_view kReshapedElements = "elements of a Reshape";

// One resolution: the target's entries sorted by what they can mean.
class Resolution {
 public:
  Resolution(Context& ctx, const Fact& data, std::span<const Dim> target, bool allowzero)
      : ctx_(ctx), data_(data), target_(target), allowzero_(allowzero), out_(target.size()), copied_(target.size()) {}

  std::optional<Shape> run() {
    for (size_t i = 0; i < target_.size(); ++i)
      if (!classify(i)) return std::nullopt;
    if (open_.size() == 1 && infer_ < 0 && others_are_positive(open_.front())) {
      // Whatever it says (a size, -1, or 0 for a copy), the element counts leave one size only.
      infer_ = static_cast<int>(open_.front());
      meant_ = target_[open_.front()];
      open_.clear();
    }
    if (!open_.empty()) {
      resolve_open();
      return out_;
    }
    divide_counts();
    return out_;
  }

 private:
  bool classify(size_t i) {
    Dim t = target_[i];
    if (auto v = t.constant()) {
      if (*v < -1) {
        ctx_.invalid("a Reshape's target holds " + std::to_string(*v));
        return false;
      }
      if (*v == -1) {
        if (infer_ >= 0) {
          ctx_.invalid("a Reshape's target holds -1 twice");
          return false;
        }
        infer_ = static_cast<int>(i);
        return true;
      }
      if (*v > 0 || allowzero_) {
        out_[i] = t;
        return true;
      }
      return copy(i);
    }
    if (ctx_.holds_at_least(t, 1) || (allowzero_ && ctx_.holds_at_least(t, 0))) {
      out_[i] = t;
    } else if (ctx_.holds_at_least(t, 0)) {
      // Where it is 0 at run time, the input's size is copied: the same where both are one size.
      out_[i] = t;
      bool same_axis = static_cast<int>(i) < data_.rank() && dim::same(t, data_.dim(static_cast<int>(i)));
      if (!same_axis) may_be_zero_.push_back(i);
    } else {
      open_.push_back(i);
    }
    return true;
  }

  bool copy(size_t i) {
    copied_[i] = true;
    if (!data_.has_rank()) return true;
    if (static_cast<int>(i) >= data_.rank()) {
      ctx_.invalid("a Reshape's target copies axis " + std::to_string(i) + " of an input of rank " +
                   std::to_string(data_.rank()));
      return false;
    }
    out_[i] = data_.dim(static_cast<int>(i));
    return true;
  }

  bool others_are_positive(size_t open) const {
    for (size_t i = 0; i < out_.size(); ++i)
      if (i != open && !ctx_.holds_at_least(out_[i], 1)) return false;
    return true;
  }

  // Entries that may be -1 or 0 at run time, all else known: the sizes are still exact expressions. |s| is s for a size
  // and 1 for -1, so the product of these factors is what an inferred size divides.
  void resolve_open() {
    Dim total = data_.num_elements();
    Dim divisor = 1;
    bool inferred_elsewhere = infer_ >= 0;
    std::vector<Dim> factor(out_);
    for (size_t i : open_) {
      Dim s = target_[i];
      Dim magnitude = inferred_elsewhere ? dim::max(s, 0) : dim::max(s, -s);
      bool copies = !allowzero_ && static_cast<int>(i) < data_.rank();
      if (!allowzero_ && !data_.has_rank()) magnitude = Dim();
      factor[i] = copies ? dim::max(magnitude, data_.dim(static_cast<int>(i)) * dim::max(0, 1 - magnitude)) : magnitude;
    }
    for (size_t i = 0; i < out_.size(); ++i)
      if (static_cast<int>(i) != infer_) divisor = divisor * factor[i];
    state_open(total, divisor, inferred_elsewhere);
    Dim inferred = dim::floor_div(total, dim::max(divisor, 1));
    if (inferred_elsewhere) {
      out_[infer_] = inferred;
      for (size_t i : open_) out_[i] = factor[i];
      return;
    }
    for (size_t i : open_) {
      Dim is_inferred = dim::max(0, -target_[i]);
      out_[i] = factor[i] + is_inferred * (inferred - 1);
    }
  }

  // What has to hold of entries that may be below 0, for a proof alone: of a frozen size it tells nothing.
  void state_open(Dim total, Dim divisor, bool inferred_elsewhere) {
    if (!ctx_.wants_values()) return;
    // Beside a -1 each is a size, or a 0 that copies. Which of them is the one that is inferred else, no statement says.
    if (!inferred_elsewhere || total.is_unknown() || divisor.is_unknown())
      return ctx_.leave_open("sizes of a Reshape of which one may be -1", 1);
    for (size_t i : open_) ctx_.require_of_values(allowzero_ ? 1 : 0, target_[i], "a size of a Reshape", 1, false);
    ctx_.require_divisible(total, divisor, kReshapedElements);
  }

  // The element counts of input and output with the factors that both share left out: what is copied, and equal sizes.
  void divide_counts() {
    if (!data_.has_rank()) return;
    std::vector<Dim> in, out;
    std::vector<size_t> out_axis;
    for (size_t i = 0; i < data_.shape->size(); ++i)
      if (i >= copied_.size() || !copied_[i]) in.push_back((*data_.shape)[i]);
    for (size_t i = 0; i < out_.size(); ++i) {
      if (copied_[i] || static_cast<int>(i) == infer_) continue;
      bool shared = false;
      for (size_t k = 0; k < std::min(in.size(), kMaxShared) && !shared; ++k) {
        if (!dim::same(in[k], out_[i]) || in[k].is_constant(0)) continue;
        in.erase(in.begin() + static_cast<std::ptrdiff_t>(k));
        shared = true;
      }
      if (shared) continue;
      out.push_back(out_[i]);
      out_axis.push_back(i);
    }
    Dim numerator = dim::product(in), denominator = dim::product(out);
    require_sizes();
    if (infer_ >= 0) {
      if (denominator.is_constant(0)) {
        ctx_.invalid("a Reshape's target holds -1 beside a size of 0");
        return;
      }
      // Where a size that may be 0 is, the input's stands in its place.
      const bool is_exact = !ctx_.wants_values() || may_be_zero_.empty() || dim::exact_div(numerator, denominator);
      out_[infer_] =
          divide_evenly(ctx_, numerator, is_exact ? denominator : dim::max(denominator, 1), kReshapedElements);
      require_meant();
      return;
    }
    require_count(numerator, denominator, out, out_axis);
  }

  // An entry that is taken for what the others leave is that size, or -1, or a 0 that copies it.
  void require_meant() {
    if (meant_.is_unknown() || !ctx_.wants_values()) return;
    ctx_.require_of_values(meant_, out_[infer_], kReshapedElements, 1, true);
    ctx_.require_of_values(out_[infer_], meant_, kReshapedElements, 1, true);
  }

  // A size that is 0 at run time means a copy: the result is another one where an inferred size, or a second size of 0,
  // makes the counts agree all the same. (A size known only at run time is let pass: nobody could prove it.)
  void require_sizes() {
    constexpr std::string_view kWhat = "a Reshape's size, where 0 would mean a copy";
    if (ctx_.wants_values()) return need_sizes(kWhat);
    auto can_vanish = std::count_if(out_.begin(), out_.end(), [&](Dim d) { return !ctx_.holds_at_least(d, 1); });
    if (can_vanish < 2 && infer_ < 0) return;
    for (size_t i : may_be_zero_)
      if (!dim::is_data_dependent(target_[i])) ctx_.require_at_most(1, target_[i], kWhat);
  }

  // For a proof. A copy may well run, but not beside a -1 where what it copies is 0, too.
  void need_sizes(std::string_view what) {
    for (size_t i = 0; i < out_.size(); ++i) {
      if (static_cast<int>(i) == infer_ || out_[i].is_unknown()) continue;
      if (std::ranges::find(may_be_zero_, i) != may_be_zero_.end())
        ctx_.require_of_values(1, target_[i], what, 1, true);
      else if (infer_ >= 0 && !ctx_.holds_at_least(out_[i], 1))
        ctx_.require_of_values(1, out_[i], "a Reshape's size beside one of -1", 1, false);
    }
  }

  // States that the counts agree. Where the target is constant and one of its sizes can be solved for, the obligation
  // is about that size (n == 7, not 12*n == 84), which says where the number came from.
  void require_count(Dim numerator, Dim denominator, std::span<const Dim> out, std::span<const size_t> out_axis) {
    if (numerator.is_unknown() || denominator.is_unknown()) return;
    auto constant = denominator.constant();
    if (numerator.is_symbolic() && constant && *constant > 0) {
      for (size_t k = 0; k < out.size(); ++k) {
        auto size = dim::exact_div(numerator, *constant / *out[k].constant());
        if (!size) continue;
        out_[out_axis[k]] =
            ctx_.require_equal(*size, out[k], kReshapedElements, {}, {1, static_cast<int>(out_axis[k])});
        return;
      }
    }
    if (!ctx_.wants_values() || may_be_zero_.empty() || dim::same(numerator, denominator)) {
      ctx_.require_equal(numerator, denominator, kReshapedElements);
      return;
    }
    // Only where all of them are sizes.
    Dim difference = numerator - denominator;
    for (size_t i : may_be_zero_) difference = difference * dim::min(target_[i], 1);
    ctx_.require_equal(difference, 0, kReshapedElements);
  }

  Context& ctx_;
  const Fact& data_;
  std::span<const Dim> target_;
  bool allowzero_;
  Shape out_;
  std::vector<bool> copied_;         // by axis: the target says 0, take the input's size
  int infer_ = -1;                   // axis whose size the others leave
  Dim meant_;                        // what the target says of that axis, where it is an expression
  std::vector<size_t> open_;         // axes whose entry may be -1, or is not known
  std::vector<size_t> may_be_zero_;  // axes whose entry is a size that may be 0, hence a copy
};

}  // namespace

std::optional<Shape> resolve_reshape(Context& ctx, const Fact& data, std::span<const Dim> target, bool allowzero) {
  return Resolution(ctx, data, target, allowzero).run();
}

std::optional<std::vector<int64_t>> reshape_target(const Shape& in, const Shape& out, std::span<const Dim> literal) {
  std::vector<int64_t> target(out.size());
  bool infers = false;
  for (size_t j = 0; j < out.size(); ++j) {
    const std::optional<int64_t> number = literal[j].constant();
    // At a size of 0 a number and a copy are different things.
    if (number == 0 || out[j].is_constant(0)) return std::nullopt;
    if (number) {
      target[j] = *number;
    } else if (j < in.size() && dim::same(out[j], in[j])) {
      target[j] = 0;
    } else if (!infers) {
      infers = true;
      target[j] = -1;
    } else {
      return std::nullopt;
    }
  }
  // A size known only at run time is left to -1 alone: the others must make up for it exactly.
  if (infers && !dim::same(dim::product(in), dim::product(out))) return std::nullopt;
  return target;
}

}  // namespace thaw::ops
