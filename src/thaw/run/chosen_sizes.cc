#include "thaw/run/chosen_sizes.h"

#include <algorithm>

#include <fmt/format.h>

#include "thaw/core/memory.h"

namespace thaw::run {
namespace {

constexpr size_t kRounds = 5;                            // points of one scale
constexpr size_t kFailures = 2;                          // that end a scale
constexpr double kMostWork = 1e12;                       // of looking for more than one point: some ten seconds
constexpr uint64_t kMaxChosenBytes = uint64_t{1} << 26;  // of the inputs at sizes that nobody asked for

// Lengths of a signal, and images that shrink on their way.
constexpr Scale kLonger[] = {{64, 256}, {64, 1024}, {128, 4096}, {256, 16384}, {256, 65536}};

const FreeSymbol* find_symbol(const std::vector<FreeSymbol>& symbols, std::string_view name) {
  const auto found = std::ranges::find(symbols, name, &FreeSymbol::name);
  return found == symbols.end() ? nullptr : &*found;
}

}  // namespace

ChosenSizes::ChosenSizes(const Feeder& feeder, const dim::Scope& scope, const SizeConditions& conditions,
                         const RunCost& cost, const Point& base, size_t round)
    : feeder_(feeder),
      scope_(scope),
      conditions_(conditions),
      cost_(cost),
      base_(feeder.canonical(base)),
      free_(feeder.free_symbols(base_)),
      first_round_(round) {
  for (const int id : conditions.values()) {
    const std::string& name = scope.symbols()[static_cast<size_t>(id)].name;
    if (base_.find(name) == nullptr && feeder.draws_element(name)) values_.push_back(name);
  }
  const bool has_samples = std::ranges::any_of(free_, &FreeSymbol::leading);
  const auto add = [&](const Scale& scale, Mode mode) { plans_.push_back({scale, mode, plans_.size()}); };
  for (const Scale& scale : default_scales()) {
    add(scale, Mode::kDistinct);
    if (has_samples) add(scale, Mode::kOneSample);
  }
  for (const Scale& scale : kLonger) add(scale, has_samples ? Mode::kOneSample : Mode::kDistinct);
  for (const Scale& scale : {Scale{1, 1}, Scale{32, 32}}) add(scale, Mode::kEqual);
}

Point ChosenSizes::choose(const Point& base, const Plan& plan, size_t round) const {
  std::vector<FreeSymbol> open;
  Point point = base;
  for (const FreeSymbol& symbol : free_) {
    if (base.find(symbol.name) != nullptr) continue;
    if (plan.mode == Mode::kOneSample && symbol.leading)
      point.sizes.emplace_back(symbol.name, 1);
    else
      open.push_back(symbol);
  }
  add_default_sizes(point, open, round, plan.scale);
  if (plan.mode == Mode::kEqual)
    for (auto& [name, size] : point.sizes)
      if (find_symbol(open, name) != nullptr) size = static_cast<int64_t>(round + 2) * plan.scale.other;
  fit(point, base);
  return point;
}

// Moves what was chosen to where the conditions hold. Elements of inputs begin small: they count windows and patches.
void ChosenSizes::fit(Point& point, const Point& base) const {
  constexpr int64_t kFirstValue = 2;
  dim::Assignment sizes;
  std::vector<int> movable;
  for (const auto& [name, size] : point.sizes) {
    const auto symbol = scope_.find(name);
    if (!symbol) continue;
    sizes[scope_.symbol_id(*symbol)] = size;
    if (base.find(name) == nullptr) movable.push_back(scope_.symbol_id(*symbol));
  }
  for (const std::string& name : values_) {
    const int id = scope_.symbol_id(*scope_.find(name));
    if (sizes.emplace(id, kFirstValue).second) movable.push_back(id);
  }
  conditions_.fit(sizes, movable);
  for (auto& [name, size] : point.sizes)
    if (const auto symbol = scope_.find(name)) size = sizes.at(scope_.symbol_id(*symbol));
  for (const std::string& name : values_)
    if (point.find(name) == nullptr) point.sizes.emplace_back(name, sizes.at(scope_.symbol_id(*scope_.find(name))));
}

std::optional<Point> ChosenSizes::with(const Point& known) const {
  Point base = base_;
  for (const auto& [name, size] : known.sizes)
    if (base.find(name) == nullptr) base.sizes.emplace_back(name, size);
  Point point = choose(base, plans_.front(), 0);
  if (feeder_.drawn_bytes(point) > kMaxChosenBytes) return std::nullopt;
  return point;
}

RunCost::Taken ChosenSizes::taken_at(const Point& point) const {
  dim::Assignment sizes;
  for (const auto& [name, size] : point.sizes)
    if (const auto symbol = scope_.find(name)) sizes[scope_.symbol_id(*symbol)] = size;
  return cost_.at(sizes);
}

std::optional<Point> ChosenSizes::next() {
  if (auto small = next_small()) return small;
  return has_run_ ? std::nullopt : next_costly();
}

std::optional<Point> ChosenSizes::next_small() {
  while (plan_ < plans_.size() && work_ <= kMostWork) {
    if (round_ == kRounds || failed_ == kFailures) {
      ++plan_;
      round_ = failed_ = 0;
      continue;
    }
    scale_ = plans_[plan_].index;
    Point point = choose(base_, plans_[plan_], first_round_ + round_++);
    if (std::ranges::find(seen_, point) != seen_.end() || feeder_.drawn_bytes(point) > kMaxChosenBytes) continue;
    seen_.push_back(point);
    const RunCost::Taken taken = taken_at(point);
    if (taken.is_small()) {
      if (has_run_) work_ += taken.work();
      return point;
    }
    costly_.push_back({taken, std::move(point), scale_});
  }
  return std::nullopt;
}

std::optional<Point> ChosenSizes::next_costly() {
  if (!is_sorted_)
    std::ranges::stable_sort(costly_, std::ranges::greater(), [](const Costly& one) { return one.taken.work(); });
  is_sorted_ = true;
  if (costly_.empty()) return std::nullopt;
  const Costly cheapest = std::move(costly_.back());
  costly_.pop_back();
  const double bytes = cheapest.taken.working_bytes();
  const auto left = available_memory();
  if (left && bytes > static_cast<double>(*left)) {
    constexpr double kGigabyte = 1e9;
    too_large_ = fmt::format("at {} it takes about {:.1f} GB, and {:.1f} GB of memory are left",
                             describe(cheapest.point), bytes / kGigabyte, static_cast<double>(*left) / kGigabyte);
    costly_.clear();
    return std::nullopt;
  }
  scale_ = cheapest.scale;
  return cheapest.point;
}

void ChosenSizes::begin_with(size_t scale) {
  const auto at = std::ranges::find(plans_, scale, &Plan::index);
  if (at != plans_.end()) std::rotate(plans_.begin(), at, plans_.end());
}

void ChosenSizes::tell(bool runs) {
  failed_ = runs ? 0 : failed_ + 1;
  has_run_ = has_run_ || runs;
}

}  // namespace thaw::run
