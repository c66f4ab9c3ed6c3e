#include "thaw/report/weight_diff.h"

#include <cmath>
#include <cstring>

#include <gtest/gtest.h>

namespace thaw::report {
namespace {

using ir::DataType;
using ir::Tensor;

template <typename T>
Tensor tensor(DataType type, std::vector<int64_t> dims, const std::vector<T>& values) {
  std::vector<std::byte> bytes(values.size() * sizeof(T));
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return Tensor::from_bytes("t", type, std::move(dims), std::move(bytes));
}

std::string note(const Tensor& a, const Tensor& b) {
  const std::vector<Difference> found = compare({a, {}}, {b, {}}, true);
  return found.empty() ? "" : found.front().note;
}

TEST(CompareWeights, CountsElementsAndMeasuresTheFarthest) {
  const Tensor a = tensor<float>(DataType::kFloat, {5}, {1, 2, 3, 4, 5});
  const Tensor b = tensor<float>(DataType::kFloat, {5}, {1, 2.5, 3, 2, 5});
  EXPECT_EQ(note(a, a), "");
  EXPECT_EQ(note(a, b), "2 of 5 elements differ, by at most 2");
  EXPECT_TRUE(compare({a, {}}, {b, {}}, false).empty());
}

TEST(CompareWeights, SaysWhereNumbersAreNoNumbers) {
  const Tensor a = tensor<float>(DataType::kFloat, {2}, {1, 2});
  const Tensor b = tensor<float>(DataType::kFloat, {2}, {NAN, 2.5});
  EXPECT_EQ(note(a, b), "2 of 2 elements differ, by at most 0.5 or NaN");
  EXPECT_EQ(note(b, b), "");
}

TEST(CompareWeights, FindsADifferencePastTheFirstBlock) {
  std::vector<int64_t> values(300'007, 7);
  const Tensor a = tensor(DataType::kInt64, {300'007}, values);
  values.back() = -4;
  values[131'072] = 8;
  EXPECT_EQ(note(a, tensor(DataType::kInt64, {300'007}, values)), "2 of 300007 elements differ, by at most 11");
}

TEST(CompareWeights, TypesComeBeforeValues) {
  const Tensor a = tensor<float>(DataType::kFloat, {2, 3}, {1, 2, 3, 4, 5, 6});
  const Tensor b = tensor<float>(DataType::kFloat, {3, 2}, {1, 2, 3, 4, 5, 6});
  const std::vector<Difference> found = compare({a, {}}, {b, {}}, true);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].what, "type");
  EXPECT_EQ(found[0].a, "float32 [2, 3]");
  EXPECT_EQ(found[0].b, "float32 [3, 2]");
}

TEST(CompareWeights, HalvesAreCountedNotMeasured) {
  const Tensor a = tensor<uint16_t>(DataType::kFloat16, {3}, {1, 2, 3});
  const Tensor b = tensor<uint16_t>(DataType::kFloat16, {3}, {1, 2, 4});
  EXPECT_EQ(note(a, b), "1 of 3 elements differ");
}

TEST(CompareWeights, Strings) {
  const std::vector<std::string> x = {"a", "b"};
  const std::vector<std::string> y = {"a", "c"};
  const Tensor a = Tensor::from_strings("t", {2}, x);
  EXPECT_EQ(note(a, a), "");
  EXPECT_EQ(note(a, Tensor::from_strings("t", {2}, y)), "1 of 2 elements differ");
}

}  // namespace
}  // namespace thaw::report
