// The prover: named statements as they come up in models, and its verdicts against brute force on small domains.
#include "thaw/dim/prove/prove.h"

#include <gtest/gtest.h>

#include "thaw/dim/expr/dim_testing.h"
#include "thaw/dim/text/text.h"

namespace thaw::dim {
namespace {

using testing::TreePtr;

class Prove : public ::testing::Test {
 protected:
  Dim dim(std::string_view text) { return parse(text, scope_); }
  int64_t value(const Proof& proof, std::string_view name) {
    return proof.counterexample.at(scope_.symbol_id(dim(name)));
  }
  Verdict equal(std::string_view a, std::string_view b) { return prove(Relation::kEqual, dim(a), dim(b)).verdict; }
  Verdict at_most(std::string_view a, std::string_view b) { return prove_at_most(dim(a), dim(b)).verdict; }
  Verdict divisible(std::string_view a, std::string_view b) { return prove_divisible(dim(a), dim(b)).verdict; }
  Verdict broadcastable(std::string_view a, std::string_view b) {
    return prove(Relation::kBroadcastable, dim(a), dim(b)).verdict;
  }

  Scope scope_;
};

TEST_F(Prove, PyramidLevelsAgreeOnlyWhereTheSizeDivides) {
  const Proof wrong = prove(Relation::kEqual, dim("2*ceil(ceil(h/8)/2)"), dim("ceil(h/8)"));
  EXPECT_EQ(wrong.verdict, Verdict::kNo);
  EXPECT_EQ(value(wrong, "h"), 1);
  scope_.assume_divisible(dim("h"), 32);
  EXPECT_EQ(equal("2*ceil(ceil(h/8)/2)", "ceil(h/8)"), Verdict::kYes);
  EXPECT_EQ(equal("8*floor(h/8)", "h"), Verdict::kYes);
  EXPECT_EQ(equal("4*floor(floor(h/4 // 1)/8)", "floor(h/8)"), Verdict::kYes);
}

TEST_F(Prove, TheCounterexampleIsTheSmallest) {
  const Proof proof = prove(Relation::kEqual, dim("floor(n/7)*7"), dim("min(n, 35)"));
  EXPECT_EQ(proof.verdict, Verdict::kNo);
  EXPECT_EQ(value(proof, "n"), 1);
  const Proof far = prove_at_most(dim("n + m"), dim("2*m + 1024"));
  EXPECT_EQ(far.verdict, Verdict::kNo);
  EXPECT_EQ(value(far, "n"), 1025);
  EXPECT_EQ(value(far, "m"), 0);
  const Proof beyond = prove_at_most(dim("n"), dim("70000001"));
  EXPECT_EQ(beyond.verdict, Verdict::kNo);
  EXPECT_EQ(value(beyond, "n"), 70000002);
}

TEST_F(Prove, RangesAndSteps) {
  scope_.assume_range(dim("height"), 64, 1024);
  scope_.assume_divisible(dim("height"), 32);
  scope_.assume_range(dim("batch"), 1, 32);
  EXPECT_EQ(at_most("64", "height"), Verdict::kYes);
  EXPECT_EQ(divisible("height*batch", "16*batch"), Verdict::kYes);
  EXPECT_EQ(equal("floor(height/16)*16", "height"), Verdict::kYes);
  const Proof proof = prove(Relation::kEqual, dim("floor(height/64)*64"), dim("height"));
  EXPECT_EQ(proof.verdict, Verdict::kNo);
  EXPECT_EQ(value(proof, "height"), 96);
  EXPECT_EQ(broadcastable("ceil(height/32)", "floor(height/32)"), Verdict::kYes);
  EXPECT_EQ(equal("batch*batch - batch", "batch"), Verdict::kNo);
}

TEST_F(Prove, FloorsAreSplitIntoRemainders) {
  EXPECT_EQ(equal("floor(n/2) + ceil(n/2)", "n"), Verdict::kYes);
  EXPECT_EQ(equal("floor(n/3) + floor((n+1)/3) + floor((n+2)/3)", "n"), Verdict::kYes);
  EXPECT_EQ(equal("floor(n/6)", "floor((n - n % 2)/6)"), Verdict::kYes);
  EXPECT_EQ(equal("(n % 4) % 2", "n % 2"), Verdict::kYes);
  EXPECT_EQ(at_most("floor(h/14)*14*w", "h*w"), Verdict::kYes);
  EXPECT_EQ(at_most("floor(n/3)", "floor(n/2)"), Verdict::kYes);
  EXPECT_EQ(divisible("n*(n + 1)", "2"), Verdict::kYes);
  EXPECT_EQ(divisible("n*(n + 1)*(n + 2)", "6"), Verdict::kYes);
  EXPECT_EQ(divisible("n + n % 2", "2"), Verdict::kYes);
  EXPECT_EQ(divisible("n*n + 1", "3"), Verdict::kNo);
  scope_.assume_range(dim("p"), 1, std::nullopt);
  EXPECT_EQ(equal("ceil(p/32)*32 - p", "(-p) % 32"), Verdict::kYes);
}

TEST_F(Prove, MinMaxAndBroadcastAreSplitIntoComparisons) {
  EXPECT_EQ(equal("max(n, m) + min(n, m)", "n + m"), Verdict::kYes);
  EXPECT_EQ(equal("max(n - m, 0) - max(m - n, 0)", "n - m"), Verdict::kYes);
  EXPECT_EQ(equal("max(n, m) - n", "max(m - n, 0)"), Verdict::kYes);
  EXPECT_EQ(at_most("min(n, m)*k", "n*k"), Verdict::kYes);
  EXPECT_EQ(equal("min(max(n, 3), 8)", "max(min(n, 8), 3)"), Verdict::kYes);
  EXPECT_EQ(broadcastable("broadcast(n, m)", "n"), Verdict::kYes);
  EXPECT_EQ(at_most("broadcast(n, m)", "n + m"), Verdict::kYes);
  EXPECT_EQ(equal("broadcast(n, m)", "max(n, m)"), Verdict::kNo);  // 0 and 1 are 0
  scope_.assume_range(dim("n"), 1, std::nullopt);
  scope_.assume_range(dim("m"), 1, std::nullopt);
  EXPECT_EQ(equal("broadcast(n, m)", "max(n, m)"), Verdict::kYes);
}

TEST_F(Prove, BroadcastingOfTwoNamesBreaksAtTheSmallestPair) {
  const Dim n = dim("n");
  const Dim m = dim("m");
  const Proof proof = prove(Relation::kBroadcastable, n, m);
  EXPECT_EQ(proof.verdict, Verdict::kNo);
  EXPECT_EQ(value(proof, "n"), 0);
  EXPECT_EQ(value(proof, "m"), 2);
}

TEST_F(Prove, AZeroDivisorBreaksDivisibility) {
  const Proof proof = prove_divisible(dim("n*m"), dim("n"));
  EXPECT_EQ(proof.verdict, Verdict::kNo);
  EXPECT_EQ(value(proof, "n"), 0);
  scope_.assume_range(dim("n"), 1, std::nullopt);
  EXPECT_EQ(divisible("n*m", "n"), Verdict::kYes);
  EXPECT_EQ(divisible("6*n*m", "2*n"), Verdict::kYes);
  EXPECT_EQ(divisible("n*m + 1", "n"), Verdict::kNo);
}

TEST_F(Prove, UnknownIsNeverProven) {
  EXPECT_EQ(prove(Relation::kEqual, Dim(), Dim()).verdict, Verdict::kUnknown);
  EXPECT_EQ(prove_at_most(Dim(), 3).verdict, Verdict::kUnknown);
  EXPECT_FALSE(prove(Relation::kEqual, Dim(), dim("n")).reason.empty());
  Scope other;
  EXPECT_EQ(prove(Relation::kEqual, dim("n"), other.symbol("n")).verdict, Verdict::kUnknown);
}

TEST_F(Prove, ConstantsNeedNoSymbols) {
  EXPECT_EQ(prove(Relation::kEqual, 3, 3).verdict, Verdict::kYes);
  EXPECT_EQ(prove(Relation::kEqual, 3, 4).verdict, Verdict::kNo);
  EXPECT_EQ(prove_divisible(8, -4).verdict, Verdict::kYes);
  EXPECT_EQ(prove_divisible(8, 0).verdict, Verdict::kNo);
  EXPECT_EQ(prove(Relation::kBroadcastable, 1, 5).verdict, Verdict::kYes);
  EXPECT_EQ(prove(Relation::kBroadcastable, 2, 5).verdict, Verdict::kNo);
}

TEST_F(Prove, WhatIsOutOfReachIsUnknownWithAReason) {
  // x*x*x + y*y*y == z*z*z has no solution in positive integers.
  for (const char* name : {"x", "y", "z"}) scope_.assume_range(dim(name), 1, std::nullopt);
  const Proof proof = prove_divisible(dim("1"), dim("x*x*x + y*y*y - z*z*z"));
  EXPECT_EQ(proof.verdict, Verdict::kNo);
  const Proof fermat = prove_at_most(1, dim("(x*x*x + y*y*y - z*z*z)*(x*x*x + y*y*y - z*z*z)"));
  EXPECT_EQ(fermat.verdict, Verdict::kUnknown);
  EXPECT_NE(fermat.reason.find("not proven"), std::string::npos);
}

}  // namespace
}  // namespace thaw::dim
