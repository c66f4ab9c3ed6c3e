#include "thaw/model/weight.h"

#include <mutex>
#include <optional>
#include <random>
#include <set>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "thaw/core/small_float.h"
#include "thaw/ir/data/tensor_source.h"
#include "thaw/model/add_product.h"
#include "thaw/model/checkpoint_testing.h"

namespace thaw::model {
namespace {

using ir::DataType;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr DataType kTypes[] = {DataType::kFloat, DataType::kFloat16, DataType::kBfloat16};

// A matrix of numbers that every type holds, and whose products and sums float32 holds.
struct Matrix {
  int64_t rows = 0, columns = 0;
  std::vector<float> values;

  float& at(int64_t i, int64_t j) { return values[static_cast<size_t>(i * columns + j)]; }
  float at(int64_t i, int64_t j) const { return values[static_cast<size_t>(i * columns + j)]; }
};

Matrix random_matrix(std::mt19937& random, int64_t rows, int64_t columns) {
  Matrix m{rows, columns, std::vector<float>(static_cast<size_t>(rows * columns))};
  for (float& value : m.values) value = (static_cast<float>(random() % 31) - 15) / 8;
  return m;
}

ir::Tensor stored(const Matrix& m, DataType type) { return tensor_of("m", type, {m.rows, m.columns}, m.values); }

Matrix plus_product(Matrix w, const Matrix& a, const Matrix& b, float scale) {
  for (int64_t i = 0; i < w.rows; ++i)
    for (int64_t j = 0; j < w.columns; ++j)
      for (int64_t k = 0; k < a.rows; ++k) w.at(i, j) += scale * b.at(i, k) * a.at(k, j);
  return w;
}

Matrix transposed(const Matrix& m) {
  Matrix t{m.columns, m.rows, std::vector<float>(m.values.size())};
  for (int64_t i = 0; i < m.rows; ++i)
    for (int64_t j = 0; j < m.columns; ++j) t.at(j, i) = m.at(i, j);
  return t;
}

std::vector<float> rounded(const std::vector<float>& values, DataType type) {
  if (type == DataType::kFloat) return values;
  const FloatFormat& format = type == DataType::kFloat16 ? kFloat16Format : kBfloat16Format;
  std::vector<float> out;
  for (const float value : values) out.push_back(static_cast<float>(decode_float(format, encode_float(format, value))));
  return out;
}

// Sizes on both sides of what vectors, tiles and chunks hold.
int64_t any_size(std::mt19937& random) {
  constexpr int64_t kSizes[] = {1, 2, 3, 5, 7, 13, 17, 31, 37, 67, 127, 131, 257, 263};
  return kSizes[random() % std::size(kSizes)];
}

RC_GTEST_PROP(Weight, IsWhatItsPartsSay, (uint32_t seed)) {
  std::mt19937 random(seed);
  const auto type = [&] { return kTypes[random() % 3]; };
  const int64_t columns = any_size(random);
  std::optional<Weight> weight;
  Matrix wanted{0, columns, {}};
  for (size_t part = 0; part <= random() % 3; ++part) {
    Matrix m = random_matrix(random, any_size(random), columns);
    Weight next = Weight::of(stored(m, type()));
    for (size_t adapter = 0; adapter < random() % 3; ++adapter) {
      const int64_t rank = 1 + random() % 19;
      const Matrix a = random_matrix(random, rank, columns), b = random_matrix(random, m.rows, rank);
      const float scale = random() % 2 ? 0.5F : 2.0F;
      next = next.plus_low_rank(stored(a, type()), stored(b, type()), scale);
      m = plus_product(std::move(m), a, b, scale);
    }
    if (random() % 3 == 0) {
      const int64_t first = static_cast<int64_t>(random()) % m.rows;
      const int64_t count = 1 + static_cast<int64_t>(random()) % (m.rows - first);
      next = next.rows(first, count);
      m.values = {m.values.begin() + first * columns, m.values.begin() + (first + count) * columns};
      m.rows = count;
    }
    weight = weight ? weight->concat_rows(next) : next;
    wanted.values.insert(wanted.values.end(), m.values.begin(), m.values.end());
    wanted.rows += m.rows;
  }
  if (random() % 2) {
    const int64_t first = static_cast<int64_t>(random()) % wanted.rows;
    weight = weight->rows(first, wanted.rows - first);  // across the parts
    wanted.values.erase(wanted.values.begin(), wanted.values.begin() + first * columns);
    wanted.rows -= first;
  }
  if (random() % 2) {
    weight = weight->transposed();
    wanted = transposed(wanted);
  }
  RC_ASSERT(weight->dims() == (std::vector{wanted.rows, wanted.columns}));
  const DataType out = type();
  const ir::Tensor tensor = weight->tensor("w", out);
  RC_ASSERT(tensor.dims == weight->dims());
  RC_ASSERT(floats_of(tensor) == rounded(wanted.values, out));
}

TEST(Weight, IsWrittenInBlocksInOrderAndAsOftenAsAsked) {
  std::mt19937 random(5);
  // More than one block of rows, and of columns.
  const Matrix m = random_matrix(random, 2053, 1031), a = random_matrix(random, 3, 1031);
  const Matrix b = random_matrix(random, 2053, 3);
  const Weight weight = Weight::of(stored(m, DataType::kBfloat16))
                            .plus_low_rank(stored(a, DataType::kFloat16), stored(b, DataType::kFloat), 2.0);
  const Matrix wanted = plus_product(m, a, b, 2.0F);
  for (const bool turn : {false, true}) {
    const ir::Tensor tensor = (turn ? weight.transposed() : weight).tensor("w", DataType::kFloat);
    const std::vector<float> values = turn ? transposed(wanted).values : wanted.values;
    std::mutex mutex;
    std::vector<std::vector<float>> written;
    const auto write = [&] {
      std::vector<float> mine;
      size_t calls = 0;
      tensor.source()->write([&](std::span<const std::byte> bytes) {
        ++calls;
        const auto* from = reinterpret_cast<const float*>(bytes.data());
        mine.insert(mine.end(), from, from + bytes.size() / sizeof(float));
      });
      EXPECT_GT(calls, 1U);
      const std::lock_guard lock(mutex);
      written.push_back(std::move(mine));
    };
    std::thread one(write), two(write);
    one.join();
    two.join();
    EXPECT_EQ(written, (std::vector{values, values}));
  }
}

TEST(Weight, WhatNeedsNoChangeIsPassedOnWhereItLies) {
  std::mt19937 random(6);
  const ir::Tensor tensor = stored(random_matrix(random, 7, 5), DataType::kFloat16);
  std::set<const std::byte*> seen;
  Weight::of(tensor).tensor("w", DataType::kFloat16).source()->write([&](std::span<const std::byte> bytes) {
    seen.insert(bytes.data());
  });
  EXPECT_THAT(seen, ElementsAre(tensor.bytes().data()));
}

TEST(Weight, KernelsAreMatricesAndVectorsAreColumns) {
  std::mt19937 random(7);
  const Matrix m = random_matrix(random, 3, 20);
  const Weight kernel = Weight::of(tensor_of("k", {3, 5, 2, 2}, m.values));
  EXPECT_EQ(kernel.num_rows(), 3);
  EXPECT_THAT(kernel.dims(), ElementsAre(3, 5, 2, 2));
  EXPECT_EQ(floats_of(kernel.reshaped({3, 20}).transposed().tensor("w", DataType::kFloat)), transposed(m).values);
  EXPECT_THAT(kernel.reshaped({6, 10}).tensor("w", DataType::kFloat).dims, ElementsAre(6, 10));

  const Weight vector = Weight::of(tensor_of("v", {3}, {1, 2, 3}));
  EXPECT_THAT(vector.concat_rows(vector).dims(), ElementsAre(6));
  EXPECT_THAT(floats_of(vector.concat_rows(vector).rows(2, 3).tensor("w", DataType::kFloat)), ElementsAre(3, 1, 2));
}

TEST(Weight, EmptyOnesAreWrittenAsNothing) {
  const Weight empty = Weight::of(tensor_of("e", {0, 5}, {}));
  EXPECT_TRUE(floats_of(empty.tensor("w", DataType::kFloat)).empty());
  EXPECT_TRUE(floats_of(empty.transposed().tensor("w", DataType::kFloat)).empty());
}

TEST(Weight, ANumberThatFloat16CannotHoldIsNamed) {
  for (const bool turn : {false, true}) {
    const Weight weight = Weight::of(tensor_of("w", {2, 2}, {1, 2, 70000, 3}));
    const ir::Tensor tensor = (turn ? weight.transposed() : weight).tensor("layer.weight", DataType::kFloat16);
    const std::string message = error_of([&] { tensor.source()->write([](std::span<const std::byte>) {}); });
    EXPECT_THAT(message, HasSubstr("layer.weight"));
    EXPECT_THAT(message, HasSubstr("65504"));
  }
}

TEST(Weight, MisuseIsAProgrammingError) {
  const Weight weight = Weight::of(tensor_of("w", {2, 3}, {1, 2, 3, 4, 5, 6}));
  const ir::Tensor a = tensor_of("a", {1, 3}, {1, 2, 3});
  const ir::Tensor b = tensor_of("b", {2, 1}, {1, 2});
  EXPECT_THROW(weight.rows(1, 2), std::logic_error);
  EXPECT_THROW(weight.concat_rows(Weight::of(a).transposed()), std::logic_error);
  EXPECT_THROW(weight.concat_rows(Weight::of(b)), std::logic_error);
  EXPECT_THROW(weight.plus_low_rank(b, a, 1), std::logic_error);
  EXPECT_THROW(weight.concat_rows(weight).plus_low_rank(a, b, 1), std::logic_error);
  EXPECT_THROW(weight.transposed().transposed(), std::logic_error);
  EXPECT_THROW(weight.reshaped({5}), std::logic_error);
}

RC_GTEST_PROP(AddProduct, AddsToWhatIsThereAndNothingElse, (uint32_t seed)) {
  std::mt19937 random(seed);
  const int64_t rows = any_size(random), depth = any_size(random) % 41, columns = any_size(random);
  const Matrix a = random_matrix(random, depth, columns), b = random_matrix(random, rows, depth);
  Matrix c = random_matrix(random, rows, columns);
  const Matrix wanted = plus_product(c, a, b, 0.25F);
  c.values.push_back(17);
  add_product(b.values.data(), a.values.data(), rows, depth, columns, 0.25F, c.values.data());
  RC_ASSERT(c.values.back() == 17.0F);
  c.values.pop_back();
  RC_ASSERT(c.values == wanted.values);
}

}  // namespace
}  // namespace thaw::model
