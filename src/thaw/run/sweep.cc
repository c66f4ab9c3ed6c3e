#include "thaw/run/sweep.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

#include "thaw/core/error.h"
#include "thaw/dim/expr/scope.h"
#include "thaw/dim/text/text.h"

namespace thaw::run {
namespace {

constexpr uint64_t kEnumerated = 16;    // combinations that are all tried when nobody asks for a number
constexpr size_t kChosen = 6;           // else that many
constexpr size_t kTriedOfRelated = 8;   // times as many where relations may take points away
constexpr int64_t kOpenSteps = 1000;    // a range without end is taken to be that many steps long
constexpr int64_t kNeighbourhood = 64;  // steps around a target in which a prime is looked for

// The values of an entry, all of them; only for entries of few values.
std::vector<int64_t> all_values(const dim::SpecEntry& entry) {
  std::vector<int64_t> values;
  for (const dim::Range& range : entry.ranges) {
    for (uint64_t i = 0; i < *range.count(); ++i) values.push_back(range.first + static_cast<int64_t>(i) * range.step);
  }
  return values;
}

// How many values an entry has, saturating; nullopt without end.
std::optional<uint64_t> count_values(const dim::SpecEntry& entry) {
  uint64_t total = 0;
  for (const dim::Range& range : entry.ranges) {
    const auto count = range.count();
    if (!count) return std::nullopt;
    if (__builtin_add_overflow(total, *count, &total)) return std::nullopt;
  }
  return total;
}

// Prime, or a prime number of steps: sizes that only their own factors divide.
bool is_awkward(int64_t value, int64_t step) {
  return value > 1 && (is_prime(value) || (value % step == 0 && is_prime(value / step)));
}

// Up to `wanted` values of a range, ascending, spread over it.
std::vector<int64_t> spread_values(const dim::Range& range, size_t wanted) {
  const uint64_t count = range.count().value_or(kOpenSteps);
  std::vector<int64_t> values;
  if (count <= wanted) {
    for (uint64_t i = 0; i < count; ++i) values.push_back(range.first + static_cast<int64_t>(i) * range.step);
    return values;
  }
  const auto last_index = static_cast<int64_t>(std::min<uint64_t>(count - 1, uint64_t{1} << 40));
  const double base = std::max(1.0, static_cast<double>(range.first) / static_cast<double>(range.step));
  for (size_t j = 0; j < wanted; ++j) {
    const double part = (static_cast<double>(j) + 0.5) / static_cast<double>(wanted);
    const double index = base * (std::pow((base + static_cast<double>(last_index)) / base, part) - 1);
    const int64_t target = std::clamp<int64_t>(std::llround(index), 0, last_index);
    std::optional<int64_t> best, fallback;
    for (int64_t away = 0; away <= 2 * kNeighbourhood && !best; ++away) {
      const int64_t at = target + (away % 2 == 0 ? away / 2 : -(away + 1) / 2);
      if (at < 0 || at > last_index) continue;
      const int64_t value = range.first + at * range.step;
      if (std::find(values.begin(), values.end(), value) != values.end()) continue;
      if (is_awkward(value, range.step)) best = value;
      if (!fallback && value > 1) fallback = value;
    }
    if (!best) best = fallback;
    if (best) values.push_back(*best);
  }
  std::sort(values.begin(), values.end());
  return values;
}

std::vector<int64_t> values_to_try(const dim::SpecEntry& entry, size_t wanted) {
  std::vector<int64_t> values;
  for (const dim::Range& range : entry.ranges) {
    const std::vector<int64_t> more = spread_values(range, range.is_single() ? 1 : wanted);
    values.insert(values.end(), more.begin(), more.end());
  }
  return values;
}

void enumerate(const dim::SpecGroup& group, std::vector<Point>& points) {
  std::vector<std::vector<int64_t>> values;
  for (const dim::SpecEntry& entry : group) values.push_back(all_values(entry));
  std::vector<size_t> index(group.size(), 0);
  while (true) {
    Point point;
    for (size_t i = 0; i < group.size(); ++i) {
      if (!values[i].empty()) point.sizes.emplace_back(group[i].name, values[i][index[i]]);
    }
    points.push_back(std::move(point));
    size_t axis = group.size();
    while (axis-- > 0) {
      if (++index[axis] < values[axis].size()) break;
      index[axis] = 0;
    }
    if (axis == static_cast<size_t>(-1)) return;
  }
}

// `wanted` points of a group: entry i walks its values up where i is even and down where it is odd, so that small sizes
// of one meet large sizes of another.
void sample(const dim::SpecGroup& group, size_t wanted, std::vector<Point>& points) {
  std::vector<std::vector<int64_t>> values;
  for (const dim::SpecEntry& entry : group) values.push_back(values_to_try(entry, wanted));
  std::vector<Point> chosen;
  for (size_t j = 0; chosen.size() < wanted && j < 16 * wanted; ++j) {
    Point point;
    for (size_t i = 0; i < group.size(); ++i) {
      const std::vector<int64_t>& choices = values[i];
      if (choices.empty()) continue;
      const size_t turn = j / choices.size();  // another pairing once an entry starts again
      size_t at = (j + i / 2 + (i % 2 == 0 ? 0 : turn)) % choices.size();
      if (i % 2 == 1) at = choices.size() - 1 - at;
      const auto taken = [&](int64_t value) {
        return std::any_of(point.sizes.begin(), point.sizes.end(),
                           [&](const auto& size) { return size.second == value; });
      };
      for (size_t tries = 0; tries < choices.size() && taken(choices[at]); ++tries) at = (at + 1) % choices.size();
      point.sizes.emplace_back(group[i].name, choices[at]);
    }
    if (std::find(chosen.begin(), chosen.end(), point) == chosen.end()) chosen.push_back(std::move(point));
  }
  points.insert(points.end(), chosen.begin(), chosen.end());
}

// Of an expression over names that have values at the point; nullopt where it has none there.
std::optional<int64_t> value_at(const std::string& expression, const Point& point) {
  dim::Scope scope;
  const dim::Dim value =
      dim::parse(expression, scope, [&](std::string_view name) { return point.find(name) != nullptr; });
  dim::Assignment assignment;
  for (const int id : dim::symbols_of(value)) assignment[id] = *point.find(scope.symbols()[id].name);
  return dim::evaluate(value, assignment);
}

// Whether the group's relations hold at a point.
bool is_admitted(const dim::SpecGroup& group, const Point& point) {
  return std::ranges::all_of(group, [&](const dim::SpecEntry& entry) {
    if (!entry.is_relation()) return true;
    const auto left = value_at(entry.left, point), right = value_at(entry.expression, point);
    return left && right && (entry.is_equal ? *left == *right : *left <= *right);
  });
}

// Adds what the group's expressions give, in the order in which they can be evaluated.
void evaluate_expressions(const dim::SpecGroup& group, Point& point) {
  std::vector<const dim::SpecEntry*> waiting;
  for (const dim::SpecEntry& entry : group) {
    if (entry.is_expression()) waiting.push_back(&entry);
  }
  while (!waiting.empty()) {
    const size_t before = waiting.size();
    for (auto it = waiting.begin(); it != waiting.end();) {
      const dim::SpecEntry& entry = **it;
      const bool ready = std::none_of(waiting.begin(), waiting.end(), [&](const dim::SpecEntry* other) {
        return other != &entry && entry.expression.find(other->name) != std::string::npos;
      });
      if (!ready) {
        ++it;
        continue;
      }
      const auto size = value_at(entry.expression, point);
      if (!size) {
        throw Error(ErrorCode::kInvalidArgument,
                    {.what = "'" + entry.expression + "' has no value at " + describe(point),
                     .where = "sizes, " + entry.name,
                     .expected = "an integer"});
      }
      point.sizes.emplace_back(entry.name, *size);
      it = waiting.erase(it);
    }
    if (waiting.size() == before) {
      throw Error(ErrorCode::kInvalidArgument, {.what = "the expressions of a group stand for each other in a circle",
                                                .where = "sizes, " + waiting.front()->name,
                                                .expected = "expressions over names that have values"});
    }
  }
}

}  // namespace

const int64_t* Point::find(std::string_view name) const {
  const auto found = std::find_if(sizes.begin(), sizes.end(), [&](const auto& size) { return size.first == name; });
  return found == sizes.end() ? nullptr : &found->second;
}

std::string describe(const Point& point) {
  std::string text;
  for (const auto& [name, size] : point.sizes) text += (text.empty() ? "" : ", ") + name + "=" + std::to_string(size);
  return text;
}

bool is_prime(int64_t value) {
  if (value < 2) return false;
  for (int64_t divisor = 2; divisor <= value / divisor; ++divisor) {
    if (value % divisor == 0) return false;
  }
  return true;
}

std::vector<Point> choose_points(std::span<const dim::SpecGroup> spec, size_t points) {
  std::vector<Point> result;
  for (const dim::SpecGroup& group : spec) {
    std::optional<uint64_t> total = 1;
    for (const dim::SpecEntry& entry : group) {
      if (!entry.expression.empty()) continue;
      const auto count = count_values(entry);
      uint64_t product = 0;
      const bool bounded = total && count && !__builtin_mul_overflow(*total, *count, &product);
      total = bounded ? std::optional(product) : std::nullopt;
    }
    std::vector<Point> chosen;
    size_t wanted = points > 0 ? points : kChosen;
    if (total && *total <= (points > 0 ? points : kEnumerated)) {
      enumerate(group, chosen);
      wanted = chosen.size();
    } else {
      const bool related = std::ranges::any_of(group, [](const dim::SpecEntry& e) { return e.is_relation(); });
      sample(group, wanted * (related ? kTriedOfRelated : 1), chosen);
    }
    size_t admitted = 0;
    for (Point& point : chosen) {
      if (admitted == wanted) break;
      evaluate_expressions(group, point);
      if (!is_admitted(group, point)) continue;
      ++admitted;
      if (std::find(result.begin(), result.end(), point) == result.end()) result.push_back(std::move(point));
    }
    if (admitted == 0 && !chosen.empty())
      throw Error(ErrorCode::kInvalidArgument, {.what = "the relations hold at none of the sizes that were tried",
                                                .where = "sizes",
                                                .expected = "ranges in which they hold, or NAME=expression"});
  }
  return result;
}

std::span<const Scale> default_scales() {
  // Detectors and encoders halve an image five times; patches are 14 or 16 wide, and merged two by two.
  static constexpr std::array<Scale, 8> kScales{
      {{32, 1}, {1, 1}, {64, 1}, {28, 1}, {32, 32}, {16, 16}, {14, 14}, {28, 28}}};
  return kScales;
}

void add_default_sizes(Point& point, std::span<const FreeSymbol> symbols, size_t round, Scale scale) {
  std::vector<int64_t> primes;
  for (int64_t value = 2; primes.size() < symbols.size() + 2; ++value) {
    if (is_prime(value)) primes.push_back(value);
  }
  for (size_t i = 0; i < symbols.size(); ++i) {
    const int64_t prime = primes[(i + round) % primes.size()];
    point.sizes.emplace_back(symbols[i].name, prime * (symbols[i].spatial ? scale.spatial : scale.other));
  }
}

}  // namespace thaw::run
