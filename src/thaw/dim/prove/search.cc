#include "thaw/dim/prove/search.h"

#include <algorithm>
#include <limits>

#include "thaw/core/saturated.h"
#include "thaw/dim/expr/range.h"

namespace thaw::dim {
namespace {

constexpr int64_t kFar = int64_t{1} << 61;  // sums of two fit int64
constexpr size_t kRandomPoints = 512;
constexpr size_t kMaxCorners = 1024;
constexpr size_t kMaxShrinking = 4096;

int64_t magnitude(int64_t value) { return value < 0 ? -value : value; }

// What is compared, and what must be 0 or more.
std::vector<Dim> roots_of(const Statement& statement) {
  std::vector<Dim> roots{statement.a, statement.b};
  roots.insert(roots.end(), statement.given.begin(), statement.given.end());
  return roots;
}

// A small generator of its own: the search is the same in every run.
class Random {
 public:
  uint64_t next() {
    state_ ^= state_ << 13;
    state_ ^= state_ >> 7;
    state_ ^= state_ << 17;
    return state_;
  }

 private:
  uint64_t state_ = 0x2545f4914f6cdd1dULL;
};

}  // namespace

Axis::Axis(const SymbolInfo& info) : step_(info.modulus) {
  const Bounds bounds = symbol_bounds(info);
  // An end moves inward by less than a step, to a value with the right remainder; both are far from the ends of int64.
  lower_ = std::max(bounds.lower, -kFar);
  upper_ = std::min(bounds.upper, kFar);
  lower_ += floor_remainder(info.remainder - floor_remainder(lower_, step_), step_);
  upper_ -= floor_remainder(floor_remainder(upper_, step_) - info.remainder, step_);
  upper_ = std::max(lower_, upper_);
  if (bounds.lower > -kFar && bounds.upper < kFar) count_ = (upper_ - lower_) / step_ + 1;
  if (lower_ >= 0) {
    next_up_ = lower_;
  } else if (upper_ < 0) {
    next_up_ = saturated_sum(upper_, step_);
  } else {
    next_up_ = info.remainder;  // the least that is not negative
  }
  next_down_ = saturated_sum(next_up_, -step_);
}

std::optional<int64_t> Axis::at(size_t position) {
  while (values_.size() <= position) {
    const bool up = next_up_ <= upper_;
    const bool down = next_down_ >= lower_;
    if (!up && !down) return std::nullopt;
    // -1 before 1: a step along an axis then never leads to a point that comes earlier.
    if (up && (!down || magnitude(next_up_) < magnitude(next_down_))) {
      values_.push_back(next_up_);
      next_up_ = saturated_sum(next_up_, step_);
    } else {
      values_.push_back(next_down_);
      next_down_ = saturated_sum(next_down_, -step_);
    }
  }
  return values_[position];
}

int64_t Axis::nearest(int64_t value) const {
  value = std::clamp(value, lower_, upper_);
  return value - floor_remainder(value - lower_, step_);
}

Search::Search(const Statement& statement)
    : relation_(statement.relation), num_given_(statement.given.size()), program_(roots_of(statement)) {
  const Scope& scope = *scope_of(statement);
  Node first{0, {}, {}, 0};
  for (int id : program_.symbols()) {
    axes_.emplace_back(scope.symbols()[static_cast<size_t>(id)]);
    first.point.push_back(*axes_.back().at(0));
    first.positions.push_back(0);
  }
  first.cost = cost_of(first.point);
  frontier_.push(std::move(first));
}

int64_t Search::cost_of(const std::vector<int64_t>& point) {
  int64_t cost = 0;
  for (int64_t v : point) {
    if (__builtin_add_overflow(cost, magnitude(v), &cost)) return std::numeric_limits<int64_t>::max();
  }
  return cost;
}

Search::Result Search::test(const std::vector<int64_t>& point) {
  ++tried_;
  const Outcome outcome = program_.run(point);
  if (outcome == Outcome::kValue) {
    for (size_t i = 0; i < num_given_; ++i)
      if (program_.root(2 + i) < 0) return Result::kNoValue;  // not admitted
    ++defined_;
    return holds(relation_, program_.root(0), program_.root(1)) ? Result::kHolds : Result::kBroken;
  }
  if (outcome != Outcome::kUndefined) ++overflowed_;
  return Result::kNoValue;
}

void Search::keep(const std::vector<int64_t>& point) {
  if (!best_ || std::pair(cost_of(point), point) < std::pair(cost_of(*best_), *best_)) best_ = point;
}

bool Search::try_point(const std::vector<int64_t>& point) {
  if (test(point) != Result::kBroken) return false;
  keep(point);
  return true;
}

bool Search::ascend(size_t limit) {
  for (size_t i = 0; i < limit && !frontier_.empty(); ++i) {
    const Node node = frontier_.top();
    if (best_ && std::pair(cost_of(*best_), *best_) < std::pair(node.cost, node.point)) return true;
    frontier_.pop();
    if (try_point(node.point)) return true;
    for (size_t axis = node.axis; axis < axes_.size(); ++axis) {
      const auto value = axes_[axis].at(node.positions[axis] + 1);
      if (!value) continue;
      Node next = node;
      next.axis = axis;
      ++next.positions[axis];
      next.point[axis] = *value;
      next.cost = cost_of(next.point);
      frontier_.push(std::move(next));
    }
  }
  return false;
}

bool Search::exhaust(int64_t limit) {
  int64_t total = 1;
  for (const Axis& axis : axes_) {
    if (!axis.count() || __builtin_mul_overflow(total, *axis.count(), &total) || total > limit) return false;
  }
  defined_ = overflowed_ = 0;
  std::vector<size_t> positions(axes_.size(), 0);
  std::vector<int64_t> point;
  for (Axis& axis : axes_) point.push_back(*axis.at(0));
  for (;;) {
    try_point(point);
    size_t axis = 0;
    for (; axis < axes_.size(); ++axis) {
      if (const auto value = axes_[axis].at(++positions[axis])) {
        point[axis] = *value;
        break;
      }
      positions[axis] = 0;
      point[axis] = *axes_[axis].at(0);
    }
    if (axis == axes_.size()) return true;
  }
}

bool Search::sample() {
  // Values at which sizes tend to break: the ends, powers of two and their neighbours, and what is random in between.
  Random random;
  std::vector<std::vector<int64_t>> corners;
  for (Axis& axis : axes_) {
    std::vector<int64_t> values = {axis.lower(), axis.upper(), axis.nearest(0), axis.nearest(1), axis.nearest(2)};
    std::sort(values.begin(), values.end());
    values.erase(std::unique(values.begin(), values.end()), values.end());
    corners.push_back(std::move(values));
  }
  size_t combinations = 1;
  for (const auto& values : corners) combinations = std::min(kMaxCorners, combinations * values.size());
  for (size_t i = 0; i < combinations + kRandomPoints; ++i) {
    std::vector<int64_t> point;
    size_t code = i;
    for (size_t axis = 0; axis < axes_.size(); ++axis) {
      if (i < combinations) {
        point.push_back(corners[axis][code % corners[axis].size()]);
        code /= corners[axis].size();
        continue;
      }
      // As many digits as chance has it, for sizes of every magnitude to come up.
      const int bits = static_cast<int>(random.next() % 24);
      const auto magnitude = static_cast<int64_t>(random.next() & ((uint64_t{2} << bits) - 1));
      const bool negative = axes_[axis].lower() < 0 && random.next() % 2 == 0;
      point.push_back(axes_[axis].nearest(negative ? -magnitude : magnitude));
    }
    if (try_point(point)) break;
  }
  if (!best_) return false;
  shrink();
  return true;
}

// Makes one value after the other smaller as long as the statement stays broken.
void Search::shrink() {
  const size_t last = tried_ + kMaxShrinking;
  for (bool smaller = true; smaller && tried_ < last;) {
    smaller = false;
    for (size_t axis = 0; axis < axes_.size(); ++axis) {
      const int64_t start = *axes_[axis].at(0);
      // Jump toward the start by ever smaller distances.
      for (int64_t jump = (*best_)[axis] - start; jump != 0; jump /= 2) {
        std::vector<int64_t> point = *best_;
        point[axis] = axes_[axis].nearest(point[axis] - jump);
        if (cost_of(point) < cost_of(*best_) && try_point(point)) {
          smaller = true;
          break;
        }
      }
    }
  }
}

Assignment Search::counterexample() const {
  Assignment values;
  for (size_t i = 0; best_ && i < best_->size(); ++i) values[symbols()[i]] = (*best_)[i];
  return values;
}

}  // namespace thaw::dim
