#include "thaw/lift/table/keys/key.h"

#include <algorithm>
#include <cmath>
#include <random>

#include <gtest/gtest.h>

namespace thaw::lifting {
namespace {

Size size_of(std::vector<int64_t> at) { return {dim::Dim(), std::move(at)}; }

// A table of two axes, the entry at a place by `entry(trace, i, j, column)`.
template <typename F>
View table_of(const Size& rows, const Size& columns, int64_t width, const F& entry) {
  View view;
  view.kind = Kind::kReal;
  view.width = width;
  view.growing = {rows, columns};
  for (size_t k = 0; k < rows.at.size(); ++k) {
    auto& entries = view.entries.emplace_back();
    for (int64_t i = 0; i < rows.at[k]; ++i)
      for (int64_t j = 0; j < columns.at[k]; ++j)
        for (int64_t c = 0; c < width; ++c) entries.push_back(entry(k, i, j, c));
  }
  return view;
}

// All small tables whose entries are those of a distance, a digit or a sum of the places: read by that key they hold each once.
TEST(Key, TellsWhatDependsOnItAlone) {
  std::mt19937 random(7);
  const auto draw = [&](int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random);
  };
  for (int round = 0; round < 60; ++round) {
    const Size rows = size_of({draw(1, 7), draw(1, 7)}), columns = size_of({draw(1, 7), draw(1, 7)});
    const Size last = columns - constant_size(1, 2);
    const Key keys[] = {{"", {{position(0) - position(1) + Formula(last), rows + last}}},
                        {"", {{position(0) / Formula(2), ceil_div(rows, constant_size(2, 2))}, {position(1), columns}}},
                        {"", {{position(0) + position(1), rows + last}}}};
    const int64_t width = draw(1, 3);
    std::vector<double> of_key(400);
    for (double& each : of_key) each = static_cast<double>(draw(0, 1000));
    for (const Key& key : keys) {
      const auto place_of = [&](size_t k, int64_t i, int64_t j) {
        int64_t place = 0;
        for (const Key::Part& part : key.parts) {
          const Points points{.trace = k, .positions = {{static_cast<double>(i)}, {static_cast<double>(j)}, {0}}};
          place = place * part.range.at[k] + std::llround(evaluate(part.formula, points).entries.front());
        }
        return place;
      };
      const View table = table_of(rows, columns, width, [&](size_t k, int64_t i, int64_t j, int64_t c) {
        return of_key[static_cast<size_t>(place_of(k, i, j) * width + c)];
      });
      const auto by = by_key(table, key);
      ASSERT_TRUE(by);
      for (size_t k = 0; k < 2; ++k)
        EXPECT_TRUE(std::equal(by->entries[k].begin(), by->entries[k].end(), of_key.begin()));
      // Where another place has the same distance, another number at one of them is no function of it.
      View other = table;
      other.entries[0].back() += 1;
      if (&key == &keys[0] && rows.at[0] > 1 && columns.at[0] > 1) {
        EXPECT_FALSE(by_key(other, key));
      }
    }
  }
}

TEST(Key, HasAnEntryForEachOfItsPlaces) {
  const Size n = size_of({5, 3}), two = constant_size(2, 2);
  const View table = table_of(n, n, 1, [](size_t, int64_t i, int64_t, int64_t) { return static_cast<double>(i); });
  EXPECT_TRUE(by_key(table, {"", {{position(0), n}}}));
  EXPECT_FALSE(by_key(table, {"", {{position(0), n + constant_size(1, 2)}}}));  // no entry at the last place
  EXPECT_FALSE(by_key(table, {"", {{position(0), two}}}));                      // entries past it
  EXPECT_FALSE(by_key(table, {"", {{position(1), n}}}));
}

TEST(Key, LooksAtSomePlacesAlone) {
  const Size n = size_of({5, 3});
  // Behind the diagonal alone it is one of the distance.
  const View table = table_of(
      n, n, 1, [](size_t, int64_t i, int64_t j, int64_t) { return static_cast<double>(j <= i ? i - j : 100 + i * j); });
  const Key key{"", {apart(position(0), position(1), n, n)}};
  const Formula behind = negation(less(position(0), position(1)));
  EXPECT_FALSE(by_key(table, key));
  const auto by = by_key(table, key, &behind);
  ASSERT_TRUE(by);
  for (size_t k = 0; k < 2; ++k) {
    const int64_t zero = n.at[k] - 1;
    for (int64_t at = 0; at < 2 * n.at[k] - 1; ++at) {
      const double entry = by->entries[k][static_cast<size_t>(at)];
      if (at < zero)
        EXPECT_TRUE(std::isnan(entry));
      else
        EXPECT_EQ(entry, static_cast<double>(at - zero));
    }
  }
}

// Whatever is computed in float32, step by step, is as near as what is said of it.
TEST(Rounding, BoundsFloat32) {
  std::mt19937 random(3);
  std::uniform_real_distribution<double> number(0.1, 40);
  for (int round = 0; round < 400; ++round) {
    const auto a = static_cast<float>(number(random)), b = static_cast<float>(number(random)),
               c = static_cast<float>(number(random));
    const Formula i = as_real(position(0));
    const Formula place = (i + real_number(a)) / real_number(b) - real_number(c);
    const Formula formulas[] = {place * real_number(b), sine(place * real_number(c)), cosine(place),
                                logarithm(absolute(place) + real_number(1)), larger(place, i * real_number(a))};
    for (int64_t at = 0; at < 23; at += 5) {
      const auto x = static_cast<float>(at);
      const float there = (x + a) / b - c;
      const float computed[] = {there * b, std::sin(there * c), std::cos(there), std::log(std::abs(there) + 1.0F),
                                std::max(there, x * a)};
      const Points points{.trace = 0, .positions = {{static_cast<double>(at)}, {0}}};
      for (size_t f = 0; f < std::size(formulas); ++f) {
        const double exact = evaluate(formulas[f], points).entries.front(),
                     off = rounding_of(formulas[f], points).entries.front();
        EXPECT_LE(std::abs(exact - static_cast<double>(computed[f])), 1.5 * off + 1e-9) << f << " at " << at;
        EXPECT_LT(off, 1e-3);
      }
    }
  }
}

}  // namespace
}  // namespace thaw::lifting
