#include <gtest/gtest.h>

#include "thaw/ops/rule/rule_testing.h"

namespace thaw::ops {
namespace {

using ir::DataType;
using ir::Value;
using Ints = std::vector<int64_t>;

std::string reshaped(const ir::Dims& dims, Ints target, std::string* obligations = nullptr) {
  RuleModel m;
  Value* x = m.add_input("x", DataType::kFloat, dims);
  m.add_output(m.add_node("Reshape", {x, m.add_ints("", std::move(target))}));
  if (obligations) *obligations = m.obligations();
  return m.dims();
}

TEST(Reshape, InfersMinusOneExactlyWhereTheFactorsDivide) {
  std::string obligations;
  EXPECT_EQ(reshaped({"n", "h", 12}, {0, -1, 6}, &obligations), "n, 2*h, 6");
  EXPECT_EQ(obligations, "");
  EXPECT_EQ(reshaped({"n", 3, "h", "w"}, {0, 0, -1}), "n, 3, h*w");
  EXPECT_EQ(reshaped({"n", 5, 4}, {-1}), "20*n");
}

TEST(Reshape, DividesWithAnObligationWhereTheyDoNot) {
  std::string obligations;
  EXPECT_EQ(reshaped({"n", 3}, {-1, 2}, &obligations), "n + floor(n/2), 2");
  EXPECT_EQ(obligations, "3*n % 2");
}

TEST(Reshape, SaysWhichSizeAConstantTargetWasFrozenAt) {
  std::string obligations;
  EXPECT_EQ(reshaped({"n", 3, 4}, {7, 12}, &obligations), "7, 12");
  EXPECT_EQ(obligations, "n == 7");
  EXPECT_EQ(reshaped({1, 3, "h", "w"}, {1, 3, 196}, &obligations), "1, 3, 196");
  EXPECT_EQ(obligations, "h*w == 196");
}

TEST(Reshape, CopiesUnknownSizesThatCancel) {
  RuleModel m;
  Value* x = m.add_input("x", DataType::kFloat, {"n", "k", 8, 2});
  Value* kept = m.add_node("Compress", {x, m.add_input("mask", DataType::kBool, {"m"})}, {{"axis", int64_t{0}}});
  m.add_output(m.add_node("Reshape", {kept, m.add_ints("", {0, -1, 4})}));
  EXPECT_EQ(m.dims(), "Compress_dim0, 4*k, 4");
}

TEST(Reshape, TakesSizesFromShapeChains) {
  RuleModel m;
  Value* x = m.add_input("x", DataType::kFloat, {"batch", "seq", 64});
  Value* shape = m.add_node("Shape", {x});
  Value* batch = m.add_node("Gather", {shape, m.add_ints("", {0})});
  Value* seq = m.add_node("Slice", {shape, m.add_ints("", {1}), m.add_ints("", {2})});
  Value* target = m.add_node("Concat", {batch, seq, m.add_ints("", {-1, 16})}, {{"axis", int64_t{0}}});
  m.add_output(m.add_node("Reshape", {x, target}));
  EXPECT_EQ(m.dims(), "batch, seq, 4, 16");
  EXPECT_EQ(m.obligations(), "");
}

TEST(Reshape, AsksForPositiveSizesWhereZeroWouldCopy) {
  RuleModel m;
  Value* x = m.add_input("x", DataType::kFloat, {"a", "n"});
  Value* n = m.add_node("Gather", {m.add_node("Shape", {x}), m.add_ints("", {1})});
  m.add_output(m.add_node("Reshape", {x, m.add_node("Concat", {n, m.add_ints("", {-1})}, {{"axis", int64_t{0}}})}));
  EXPECT_EQ(m.dims(), "n, a");
  EXPECT_EQ(m.obligations(), "1 <= n");
}

TEST(Reshape, RefusesTargetsThatNoInputFits) {
  for (const Ints& target : {Ints{-1, -1}, Ints{2, -2}, Ints{0, 0, 0}, Ints{5, 5}}) {
    RuleModel m;
    Value* x = m.add_input("x", DataType::kFloat, {2, 3});
    m.add_output(m.add_node("Reshape", {x, m.add_ints("", target)}));
    EXPECT_TRUE(m.has_problem()) << testing::PrintToString(target);
  }
}

// What Reshape does at run time; nullopt where it fails.
std::optional<Ints> reshape_at_run_time(const Ints& data, Ints target, bool allowzero) {
  int64_t total = 1, product = 1, infer = -1;
  for (int64_t d : data) total *= d;
  for (size_t i = 0; i < target.size(); ++i) {
    if (target[i] == 0 && !allowzero) {
      if (i >= data.size()) return std::nullopt;
      target[i] = data[i];
    }
    if (target[i] == -1) {
      if (infer >= 0) return std::nullopt;
      infer = static_cast<int64_t>(i);
    } else {
      product *= target[i];
    }
  }
  if (infer >= 0) {
    if (product == 0 || total % product != 0) return std::nullopt;
    target[static_cast<size_t>(infer)] = total / product;
    return target;
  }
  return product == total ? std::optional(target) : std::nullopt;
}

// A target that is fed may hold -1 and 0: whatever is stated must be right for every run that succeeds.
TEST(Reshape, IsRightForEveryTargetThatIsFed) {
  for (int64_t allowzero : {0, 1}) {
    for (int entries : {1, 2, 3}) {
      RuleModel m;
      Value* x = m.add_input("x", DataType::kFloat, {"a", "b"});
      Value* target = m.add_input("t", DataType::kInt64, {entries});
      m.add_output(m.add_node("Reshape", {x, target}, {{"allowzero", allowzero}}));
      ASSERT_EQ(m.output().rank(), entries);
      int runs = 0, known = 0;
      for (int64_t a : {0, 1, 2, 3, 4})
        for (int64_t b : {0, 1, 2, 6})
          for (int code = 0; code < (entries == 1 ? 11 : entries == 2 ? 121 : 1331); ++code) {
            Ints t;
            RuleModel::Values values{{"a", a}, {"b", b}};
            for (int i = 0, rest = code; i < entries; ++i, rest /= 11) {
              t.push_back(rest % 11 - 1);
              values.emplace_back("t[" + std::to_string(i) + "]", t.back());
            }
            auto expected = reshape_at_run_time({a, b}, t, allowzero != 0);
            if (!expected) continue;
            ++runs;
            auto stated = m.sizes_at(values);
            if (!stated) continue;
            ++known;
            EXPECT_EQ(*stated, *expected) << a << 'x' << b << " to " << testing::PrintToString(t);
          }
      EXPECT_GT(runs, entries * 10);
      EXPECT_EQ(known, runs) << entries << " entries";
    }
  }
}

TEST(Squeeze, KeepsTheRankOpenWhereASizeMayBeOne) {
  RuleModel m;
  m.add_output(m.add_node("Squeeze", {m.add_input("x", DataType::kFloat, {1, "n", 3})}));
  EXPECT_EQ(m.dims(), "rank ?");
}

// As ONNX Runtime reads it: a list of no axes is no list.
TEST(Squeeze, DropsEveryOneWhereTheListIsEmpty) {
  RuleModel m;
  Value* none = m.add_ints("", {});
  m.add_output(m.add_node("Squeeze", {m.add_input("x", DataType::kFloat, {1, 4, 1, 3}), none}));
  EXPECT_EQ(m.dims(), "4, 3");
}

TEST(Squeeze, DropsNamedAxesAndAsksThatTheyAreOne) {
  RuleModel m;
  m.add_output(m.add_node("Squeeze", {m.add_input("x", DataType::kFloat, {"b", "n", 3}), m.add_ints("", {-2})}));
  EXPECT_EQ(m.dims(), "b, 3");
  EXPECT_EQ(m.obligations(), "n == 1");
}

// One axis that is fed: exact for each value that it may have.
TEST(Squeeze, FollowsAnAxisThatIsFed) {
  RuleModel m;
  Value* axes = m.add_input("axes", DataType::kInt64, {1});
  m.add_output(m.add_node("Squeeze", {m.add_input("x", DataType::kFloat, {"a", "b", "c"}), axes}));
  for (int64_t axis = -3; axis < 3; ++axis) {
    Ints sizes{5, 7, 11};
    size_t at = static_cast<size_t>((axis + 3) % 3);
    sizes[at] = 1;
    auto stated = m.sizes_at({{"a", sizes[0]}, {"b", sizes[1]}, {"c", sizes[2]}, {"axes[0]", axis}});
    sizes.erase(sizes.begin() + static_cast<std::ptrdiff_t>(at));
    EXPECT_EQ(stated, sizes) << axis;
  }
}

TEST(Unsqueeze, FollowsAnAxisThatIsFed) {
  RuleModel m;
  Value* axes = m.add_input("axes", DataType::kInt64, {1});
  m.add_output(m.add_node("Unsqueeze", {m.add_input("x", DataType::kFloat, {"a", "b"}), axes}));
  for (int64_t axis = -3; axis < 3; ++axis) {
    Ints sizes{5, 7};
    sizes.insert(sizes.begin() + (axis + 3) % 3, 1);
    EXPECT_EQ(m.sizes_at({{"a", 5}, {"b", 7}, {"axes[0]", axis}}), sizes) << axis;
  }
}

TEST(Flatten, MultipliesBothSides) {
  RuleModel m;
  m.add_output(
      m.add_node("Flatten", {m.add_input("x", DataType::kFloat, {"n", 3, "h", "w"})}, {{"axis", int64_t{-2}}}));
  EXPECT_EQ(m.dims(), "3*n, h*w");
}

}  // namespace
}  // namespace thaw::ops
