// Each law against ONNX Runtime: what the terms of a node compute is what the node computes, at sizes of 1 and more.
#include "thaw/prove/laws.h"

#include <array>
#include <cmath>
#include <random>
#include <sstream>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include "thaw/prove/laws_testing.h"

namespace thaw::proving {
namespace {

TEST(Laws, TransposesCompose) {
  for (const char* input : {"float[n,4,m] x", "float[n,1,m] x", "float[1,2,m] x"}) {
    Graph g(input);
    for (const auto& first : permutations(3)) {
      const std::string inner = g.add(transposed("x", first));
      for (const auto& second : permutations(3)) g.add(transposed(inner, second));
    }
    expect_laws_hold(g, kSizesToTry);
  }
}

TEST(Laws, ReshapesBetweenTransposes) {
  Graph g("float[n,4,m] x");
  const std::vector<std::vector<int64_t>> shapes = {{0, 0, -1}, {0, -1}, {-1, 4}, {1, 2, 2, -1}, {1, -1, 4}, {-1}};
  for (const auto& order : permutations(3)) {
    const std::string inner = g.add(transposed("x", order));
    for (const auto& shape : shapes) {
      const std::string between = g.add(fmt::format("Reshape({}, {})", inner, g.ints(shape)));
      const auto rank = static_cast<int64_t>(shape.size());
      for (const auto& again : permutations(rank)) g.add(transposed(between, again));
      g.add(fmt::format("Reshape({}, {})", between, g.ints({-1})));
    }
  }
  g.add("Flatten <axis = 2> (x)");
  g.add("Flatten <axis = 0> (x)");
  const std::string unsqueezed = g.add(fmt::format("Unsqueeze(x, {})", g.ints({0, -1})));
  g.add(fmt::format("Squeeze({}, {})", unsqueezed, g.ints({0})));
  expect_laws_hold(g, kSizesToTry);
}

// Of no batch they would be none, and the Reshape would not run.
TEST(Laws, ReshapesOfOneElement) {
  Graph g("float[n,m] x, float[1,1] one");
  const std::string count = g.add(fmt::format("Gather({}, {})", g.add("Shape(x)"), g.ints({0})));
  const std::string size = g.add(fmt::format("Min({}, {})", count, g.ints({1})));
  const std::string sizes = g.add(fmt::format("Concat <axis = 0> ({0}, {0}, {0})", size));
  for (const std::string& shape : {size, sizes}) {
    const std::string reshaped = g.add(fmt::format("Reshape(one, {})", shape));
    g.add(fmt::format("Mul(x, {})", reshaped));
    g.add(fmt::format("ReduceMax <keepdims = 0> ({})", reshaped));
    g.add(fmt::format("ReduceMax <keepdims = 0> ({})", g.add(fmt::format("Reshape({}, {})", count, shape))));
  }
  expect_laws_hold(g, kSizesToTry);
}

TEST(Laws, SlicesOfSlices) {
  Graph g("float[n,7,m] x");
  for (const int64_t axis : {1, -2})
    for (int64_t begin = -8; begin <= 8; begin += 3)
      for (int64_t end = -8; end <= 9; end += 2)
        for (int64_t step = 1; step <= 3; ++step) {
          const auto slice = [&](const std::string& of, int64_t b, int64_t e, int64_t s) {
            return g.add(
                fmt::format("Slice({}, {}, {}, {}, {})", of, g.ints({b}), g.ints({e}), g.ints({axis}), g.ints({s})));
          };
          const std::string inner = slice("x", begin, end, step);
          slice(inner, 1, 99, 2);
          slice(inner, -2, 99, 1);
        }
  g.add(fmt::format("Slice(x, {}, {})", g.ints({0, 1, 0}), g.ints({1, -1, 99})));
  g.add(fmt::format("Slice(x, {}, {}, {})", g.ints({1, 1}), g.ints({99, 99}), g.ints({0, 2})));
  expect_laws_hold(g, kSizesToTry);
}

TEST(Laws, PartsPutTogether) {
  Graph g("float[n,6,m] x");
  const auto part = [&](int64_t begin, int64_t end, int64_t axis) {
    return g.add(fmt::format("Slice(x, {}, {}, {})", g.ints({begin}), g.ints({end}), g.ints({axis})));
  };
  for (const int64_t axis : {0, 1, 2}) {
    const std::vector<std::string> parts = {part(0, 1, axis), part(1, 3, axis), part(3, 99, axis), part(-1, 99, axis)};
    for (const std::string& a : parts)
      for (const std::string& b : parts) {
        const std::string both = g.add(fmt::format("Concat <axis = {}> ({}, {})", axis, a, b));
        const std::string all = g.add(fmt::format("Concat <axis = {}> ({}, {}, x)", axis - 3, both, a));
        for (const int64_t begin : {0, 1, 3})
          g.add(fmt::format("Slice({}, {}, {}, {})", all, g.ints({begin}), g.ints({4}), g.ints({axis})));
      }
  }
  for (int64_t at = -6; at < 6; ++at) g.add(fmt::format("Gather <axis = 1> (x, {})", g.ints({at})));
  g.add(fmt::format("Gather <axis = 1> (x, {})", g.ints({1, 2, 3})));
  g.add(fmt::format("Gather <axis = 1> (x, {})", g.ints({-2, -1})));
  g.add(fmt::format("Gather <axis = 1> (x, {})", g.ints({-1, 0})));
  g.add(fmt::format("Gather <axis = -2> (x, {})", g.ints({4, 0, 4})));
  for (const std::vector<int64_t>& lengths : {std::vector<int64_t>{1, 2, 3}, {3, 0, 3}, {6}}) {
    const auto parts = g.add(fmt::format("Split <axis = 1> (x, {})", g.ints(lengths)), lengths.size());
    g.add(fmt::format("Concat <axis = -2> ({})", fmt::join(parts, ", ")));
    g.add(fmt::format("Concat <axis = 1> ({}, {})", parts.back(), parts.front()));
  }
  expect_laws_hold(g, kSizesToTry);
}

TEST(Laws, CutsBehindViews) {
  Graph g("float[n,6,m] x");
  std::vector<std::pair<std::string, int64_t>> views;  // and how many axes
  for (const auto& order : permutations(3)) {
    const std::string turned = g.add(transposed("x", order));
    views.emplace_back(turned, 3);
    views.emplace_back(g.add(fmt::format("Unsqueeze({}, {})", turned, g.ints({1, 3}))), 5);
    views.emplace_back(g.add(fmt::format("Reshape({}, {})", turned, g.ints({-1}))), 1);
  }
  for (const std::vector<int64_t>& shape :
       {std::vector<int64_t>{0, 2, 3, -1}, {0, 3, 2, -1}, {0, 3, -1}, {-1, 3, 2}, {0, -1}, {3, 2, -1}, {2, 3, -1}})
    views.emplace_back(g.add(fmt::format("Reshape(x, {})", g.ints(shape))), static_cast<int64_t>(shape.size()));
  for (const auto& [view, rank] : std::vector(views))
    for (int64_t axis = 0; axis < rank; ++axis) {
      std::vector<std::string> parts;
      for (const auto& [begin, end, step] : {std::array<int64_t, 3>{0, 1, 1}, {1, 99, 1}, {1, 3, 1}, {0, 99, 2}})
        parts.push_back(g.add(fmt::format("Slice({}, {}, {}, {}, {})", view, g.ints({begin}), g.ints({end}),
                                          g.ints({axis}), g.ints({step}))));
      g.add(fmt::format("Concat <axis = {}> ({}, {})", axis, parts[0], parts[1]));
      g.add(fmt::format("Concat <axis = {}> ({}, {})", axis, parts[1], parts[0]));
      if (axis + 1 < rank)
        g.add(fmt::format("Slice({}, {}, {}, {})", view, g.ints({0, 1}), g.ints({1, 3}), g.ints({axis, axis + 1})));
      g.add(fmt::format("Squeeze({}, {})", g.add(fmt::format("Gather <axis = {}> ({}, {})", axis, view, g.ints({0}))),
                        g.ints({axis})));
    }
  expect_laws_hold(g, kSizesToTry);
}

const std::vector<std::string> kBinary = {"Add", "Sub", "Mul", "Div", "Max", "Min"};

// Operands that broadcast, and views of them.
TEST(Laws, ElementByElement) {
  Graph g("float[n,4,m] x, float[n,4,m] p, float[m] prow, float[4,1] pcolumn, float[n,1,m] pmiddle, float[1,1,1] pone");
  const std::string turned = g.add(transposed("p", {2, 0, 1}));
  const std::string back = g.add(transposed(turned, {1, 2, 0}));
  const std::string flat = g.add(fmt::format("Reshape(p, {})", g.ints({-1, 4, 1})));
  const std::vector<std::string> others = {"p", "prow", "pcolumn", "pmiddle", "pone", back};
  for (const std::string& op : kBinary)
    for (const std::string& other : others) {
      const std::string inner = g.add(fmt::format("{}(x, {})", op, other));
      g.add(fmt::format("{}({}, prow)", op, inner));
      g.add(fmt::format("Add({}, {})", inner, other));
      g.add(fmt::format("Mul({}, {})", other, inner));
      g.add(fmt::format("Tanh({})", inner));
    }
  g.add(fmt::format("Add({}, pcolumn)", flat));
  expect_laws_hold(g, kSizesToTry);
}

TEST(Laws, ElementByElementBehindViews) {
  Graph g("float[n,4,m] x, float[n,4,m] p, float[4,m] pinner, float[m,4] pouter, float[4] pfour");
  std::vector<std::string> views;
  for (const auto& order : permutations(3)) views.push_back(g.add(transposed("x", order)));
  views.push_back(g.add(fmt::format("Reshape(x, {})", g.ints({-1, 2, 2}))));
  views.push_back(g.add(fmt::format("Reshape(x, {})", g.ints({0, -1}))));
  views.push_back(g.add(fmt::format("Unsqueeze(x, {})", g.ints({0}))));
  views.push_back(g.add(fmt::format("Expand(x, {})", g.ints({2, 1, 1, 1}))));
  views.push_back(g.add(fmt::format("Expand(pfour, {})", g.ints({3, 2, 4}))));
  for (const std::string& view : views) {
    const std::string same = g.add(fmt::format("Tanh({})", view));
    g.add(fmt::format("Mul({}, {})", view, same));
    g.add(fmt::format("Sub({}, {})", same, view));
    g.add(fmt::format("Exp({})", g.add(fmt::format("Reshape({}, {})", view, g.ints({-1})))));
  }
  // Views on both sides that differ.
  for (const auto& order : permutations(3)) {
    const std::string turned = g.add(transposed("p", order));
    std::vector<int64_t> inverse(3);
    for (size_t i = 0; i < 3; ++i) inverse[static_cast<size_t>(order[i])] = static_cast<int64_t>(i);
    const std::string straight = g.add(transposed(g.add(fmt::format("Tanh({})", turned)), inverse));
    g.add(fmt::format("Add(x, {})", straight));
    g.add(fmt::format("Add({}, x)", g.add(transposed(g.add(fmt::format("Mul({}, {})", turned, turned)), inverse))));
  }
  g.add("Add(x, pinner)");
  g.add(fmt::format("Add({}, pfour)", g.add(transposed("x", {0, 2, 1}))));
  g.add(fmt::format("Mul(pfour, {})", g.add(transposed("x", {2, 0, 1}))));
  g.add(fmt::format("Mul(pouter, {})", g.add(transposed("x", {0, 2, 1}))));
  expect_laws_hold(g, kSizesToTry);
}

TEST(Laws, CutsOfWhatIsRepeated) {
  Graph g("float[n,4] x, float[n,1,m] y");
  const std::string tiled = g.add(fmt::format("Tile(x, {})", g.ints({1, 3}))),
                    expanded = g.add(fmt::format("Expand(y, {})", g.ints({1, 6, 1})));
  const std::vector<std::pair<int64_t, int64_t>> cuts = {{0, 4}, {4, 8},  {4, 12}, {8, 12},
                                                         {5, 7}, {9, 12}, {3, 5},  {2, 11}};
  for (const auto& [begin, end] : cuts)
    g.add(fmt::format("Sin({})",
                      g.add(fmt::format("Slice({}, {}, {}, {})", tiled, g.ints({begin}), g.ints({end}), g.ints({1})))));
  for (const auto& [begin, end] : cuts)
    g.add(
        fmt::format("Slice({}, {}, {}, {})", g.add("Sin(" + tiled + ")"), g.ints({begin}), g.ints({end}), g.ints({1})));
  for (const int64_t begin : {0, 2, 5})
    g.add(fmt::format("Slice({}, {}, {}, {}, {})", expanded, g.ints({begin, 0}), g.ints({6, 1}), g.ints({1, 2}),
                      g.ints({2, 1})));
  g.add(fmt::format("Concat<axis = 1>({0}, {0})",
                    g.add(fmt::format("Slice({}, {}, {}, {})", tiled, g.ints({4}), g.ints({8}), g.ints({1})))));
  expect_laws_hold(g, kSizesToTry);
}

TEST(Laws, Einsum) {
  Graph g("float[n,4,m,3] x, float[n,m,5,4] y, float[4,m] w, float[m] row, float[n,4,m,3] z");
  const auto add = [&](const std::string& equation, const std::string& operands) {
    g.add(fmt::format("Einsum<equation = \"{}\">({})", equation, operands));
  };
  for (const std::string to : {"abd", "dba", "ad", "b", "", "acdb"}) add("abcd->" + to, "x");
  add("abcd", "x");
  add("dcba", "x");
  for (const std::string to : {"aqbd", "abdq", "qd", "bdaq", "abcdq", "cq", "adqb"}) add("abcd,acqb->" + to, "x, y");
  for (const std::string to : {"aqbd", "dqab", "aq"}) add("acqb,abcd->" + to, "y, x");
  add("bc,abcd->abcd", "w, x");
  add("bc,abcd->ad", "w, x");
  add("i,j->ij", "row, row");
  add("i,j->ji", "row, row");
  add("i,i", "row, row");
  add("...d,...d->...", "x, z");
  add("...cd,...qd->...qc", "x, z");
  add("a...,a...->...a", "x, z");
  expect_laws_hold(g, kSizesToTry);
}

TEST(Laws, SumsAndProductsOfNumbers) {
  Graph g("float[n,4,m] x, float[n,4,m] p, float[m] prow");
  const std::string two = g.floats("1", {2}), half = g.floats("1,1", {0.5}), less = g.floats("1", {-3}),
                    none = g.floats("1", {0}), four = g.floats("4,1", {1, -2, 0.5, 3}),
                    all = g.floats("4,1", {7, 7, 7, 7});
  std::vector<std::string> made = {"x", "p"};
  for (const std::string& number : {two, half, less, none, four, all}) {
    made.push_back(g.add(fmt::format("Add(x, {})", number)));
    made.push_back(g.add(fmt::format("Mul({}, p)", number)));
    made.push_back(g.add(fmt::format("Sub({}, x)", number)));
    if (number != none) made.push_back(g.add(fmt::format("Div(p, {})", number)));
    g.add(fmt::format("Div({}, p)", number));
    g.add(fmt::format("Max({}, x)", number));
    g.add(fmt::format("Min(p, {}, x)", number));
  }
  const size_t count = made.size();
  for (size_t i = 0; i < count; ++i) {
    const std::string& one = made[i];
    for (const std::string& number : {two, less, four}) {
      g.add(fmt::format("Mul({}, {})", one, number));
      g.add(fmt::format("Mul({}, {})", number, g.add(fmt::format("Add({}, {})", one, number))));
      g.add(fmt::format("Add({}, {})", number, g.add(fmt::format("Mul({}, {})", one, number))));
      g.add(fmt::format("Div({}, {})", g.add(fmt::format("Sub({}, {})", one, made[(i + 3) % count])), number));
    }
    g.add(fmt::format("Mul({}, {})", one, made[(i + 5) % count]));
    g.add(fmt::format("Add({}, {})", one, one));
    g.add(fmt::format("Sub({}, {})", one, one));
    g.add(fmt::format("Mul({}, {})", one, one));
    g.add(fmt::format("Neg({})", one));
    g.add(fmt::format("Sum({}, x, {})", one, four));
  }
  expect_laws_hold(g, kSizesToTry);
}

TEST(Laws, Powers) {
  Graph g("float[n,3] p, float[3] pa, float[3] pb");
  const std::vector<double> exponents = {2, 3, -1, -2, 0.5, -0.5, 1, 1.5};
  std::vector<std::string> made = {"p", g.add("Mul(p, pa)"), g.add("Div(p, pb)"), g.add("Add(p, pa)"),
                                   g.add(fmt::format("Mul(p, {})", g.floats("1", {3})))};
  for (const double exponent : exponents) made.push_back(g.add(fmt::format("Pow(p, {})", g.floats("1", {exponent}))));
  made.push_back(g.add("Sqrt(pa)"));
  made.push_back(g.add("Reciprocal(pb)"));
  for (const std::string& one : made) {
    for (const double exponent : exponents) {
      const std::string raised = g.add(fmt::format("Pow({}, {})", one, g.floats("1", {exponent})));
      g.add(fmt::format("Mul({}, {})", raised, one));
      g.add(fmt::format("Div({}, {})", one, raised));
      g.add(fmt::format("Sqrt({})", raised));
    }
    g.add(fmt::format("Pow({}, {})", one, g.ints({2})));
    g.add(fmt::format("Reciprocal({})", g.add(fmt::format("Sqrt({})", one))));
  }
  expect_laws_hold(g, kSizesToTry);
}

// A square root undoes no square, and a power of a product is one of products only for whole numbers: signs count.
TEST(Laws, PowersOfNegativeNumbers) {
  Graph g("float[n,3] x, float[3] row");
  const std::string two = g.floats("1", {2}), less = g.floats("1", {-2});
  for (const std::string& one : {g.add("Mul(x, x)"), g.add(fmt::format("Pow(x, {})", two)),
                                 g.add(fmt::format("Pow({}, {})", g.add("Mul(x, row)"), two)),
                                 g.add(fmt::format("Pow({}, {})", g.add(fmt::format("Mul(x, {})", less)), two))}) {
    const std::string root = g.add(fmt::format("Sqrt({})", one));
    g.add(fmt::format("Mul({}, {})", root, root));
    g.add(fmt::format("Div(x, {})", root));
    g.add(fmt::format("Pow({}, {})", root, g.floats("1", {3})));
    g.add(fmt::format("Mul({}, {})", root, less));
  }
  expect_laws_hold(g, kSizesToTry);
}

TEST(Laws, Reductions) {
  const std::vector<std::vector<int64_t>> subsets = {{0}, {1}, {2}, {-1}, {0, 1}, {0, -1}, {1, 2}, {-3, -2, -1}};
  for (const char* input : {"float[n,4,m] p", "float[n,1,m] p", "float[3,1,2] p", "float[1,n,1] p"}) {
    Graph g(input), newer(input, 18);
    const std::string turned = g.add(transposed("p", {2, 0, 1}));
    const std::string scaled = g.add(fmt::format("Mul(p, {})", g.floats("1", {-3})));
    const std::string apart = g.add(fmt::format("Reshape({}, {})", turned, g.ints({0, 0, -1, 1})));
    for (const auto& axes : subsets)
      for (const int keeps : {0, 1}) {
        for (const char* op : {"ReduceMean", "ReduceMax", "ReduceMin", "ReduceProd", "ReduceL2", "ReduceSumSquare"})
          for (const std::string& of : {std::string("p"), turned, scaled, apart})
            g.add(fmt::format("{} <axes = [{}], keepdims = {}> ({})", op, fmt::join(axes, ", "), keeps, of));
        g.add(fmt::format("ReduceSum <keepdims = {}> ({}, {})", keeps, scaled, g.ints(axes)));
        for (const char* op : {"ReduceMean", "ReduceMax", "ReduceSum", "ReduceL2"})
          newer.add(fmt::format("{} <keepdims = {}> (p, {})", op, keeps, newer.ints(axes)));
      }
    for (const int keeps : {0, 1}) {
      g.add(fmt::format("ReduceSum <keepdims = {}> (p)", keeps));
      g.add(fmt::format("ReduceMean <keepdims = {}> (p)", keeps));
      newer.add(fmt::format("ReduceMax <keepdims = {}> (p)", keeps));
    }
    expect_laws_hold(g, kSizesToTry);
    expect_laws_hold(newer, kSizesToTry);
  }
}

TEST(Laws, ProductsOfMatrices) {
  Graph g(
      "float[n,4,m] x, float[m,4] other, float[4,5] w, float[n,m,5] batch, float[3,1,m,2] more, float[5] bias, "
      "float[1,m,4] single, float[1,4,m] singles");
  const std::string two = g.floats("1", {2});
  const std::string turned = g.add(transposed("x", {0, 2, 1}));
  const std::vector<std::string> lefts = {turned, g.add(fmt::format("Mul({}, {})", turned, two)), "other",
                                          g.add(fmt::format("Reshape({}, {})", turned, g.ints({-1, 4}))),
                                          g.add(fmt::format("Unsqueeze({}, {})", turned, g.ints({1})))};
  for (const std::string& left : lefts) {
    const std::string made = g.add(fmt::format("MatMul({}, w)", left));
    g.add(fmt::format("Add({}, bias)", made));
    g.add(fmt::format("Mul(bias, {})", g.add(fmt::format("Add(bias, {})", made))));
    g.add(fmt::format("Reshape({}, {})", made, g.ints({-1})));
  }
  const std::string one = g.add(fmt::format("Unsqueeze(x, {})", g.ints({1})));
  const std::string ones = g.add(fmt::format("Unsqueeze({}, {})", one, g.ints({1})));
  const std::string columns = g.add(fmt::format("Unsqueeze(batch, {})", g.ints({1})));
  for (const std::string& left : {std::string("x"), one, ones})
    for (const std::string& right : {std::string("batch"), columns, std::string("more")})
      if (left != one || right != "more") g.add(fmt::format("MatMul({}, {})", left, right));
  const std::string rows = g.add(fmt::format("Reshape(single, {})", g.ints({-1, 4})));
  for (const std::string& right : {std::string("w"), std::string("x"), std::string("singles")}) {
    g.add(fmt::format("MatMul({}, {})", rows, right));
    g.add(fmt::format("MatMul(single, {})", right));
    g.add(fmt::format("MatMul({}, {})", rows, g.add(fmt::format("Unsqueeze({}, {})", right, g.ints({0})))));
  }
  g.add("MatMul(x, batch)");
  g.add("MatMul(x, more)");
  g.add("MatMul(other, x)");
  g.add(fmt::format("MatMul({}, x)", g.add(transposed("x", {0, 2, 1}))));
  expect_laws_hold(g, kSizesToTry);
}

TEST(Laws, Gemm) {
  Graph g(
      "float[n,4] a, float[4,n] at, float[4,3] b, float[3,4] bt, float[3] row, float[n,3] whole, float[n,1] column");
  for (const double alpha : {1.0, -2.5})
    for (const double beta : {1.0, 0.0, 0.5})
      for (const char* c : {"row", "whole", "column"}) {
        const std::string factors = fmt::format("alpha = {:.1f}, beta = {:.1f}", alpha, beta);
        g.add(fmt::format("Gemm <{}> (a, b, {})", factors, c));
        g.add(fmt::format("Gemm <{}, transA = 1, transB = 1> (at, bt, {})", factors, c));
      }
  g.add("Gemm <alpha = 3.0> (a, b)");
  g.add("Gemm <transB = 1> (a, bt)");
  expect_laws_hold(g, kSizesToTry);
}

std::vector<double> ramp(size_t count) {
  std::vector<double> values;
  for (size_t i = 0; i < count; ++i) values.push_back(0.25 * static_cast<double>((i * 7) % 13) - 1.1);
  return values;
}

TEST(Laws, ConvolutionsAndWhatIsMultipliedIntoThem) {
  Graph g("float[n,4,5,5] x, float[n,4,6] line, float[3] bias");
  const std::string weight = g.floats("3,4,3,2", ramp(72)), grouped = g.floats("6,2,2,2", ramp(48)),
                    kernel = g.floats("3,4,2", ramp(24)), scale = g.floats("3,1,1", {2, -3, 0.5}),
                    rows = g.floats("3,1", {1, -1, 4}), gain = g.floats("3", {2, -3, 0.5}),
                    mean = g.floats("3", {0.5, 1, -1}), variance = g.floats("3", {0.5, 1, 2}),
                    across = g.floats("1,4", {1, 2, 3, 4});
  std::vector<std::string> made;
  for (const char* how :
       {"", "<strides = [2, 1], pads = [1, 0, 2, 1]>", "<dilations = [2, 3], auto_pad = \"VALID\">"}) {
    made.push_back(g.add(fmt::format("Conv {} (x, {})", how, weight)));
    made.push_back(g.add(fmt::format("Conv {} (x, {}, bias)", how, weight)));
  }
  g.add(fmt::format("Conv <group = 2> (x, {})", grouped));
  for (const std::vector<int64_t>& pads : {std::vector<int64_t>{0, 0, 1, 0, 0, 0, 2, 1},
                                           {0, 0, 0, 2, 0, 0, 0, 0},
                                           {0, 1, 0, 0, 0, 3, 0, 0},
                                           {2, 0, 0, 0, 0, 0, 0, 0}}) {
    const std::string padded = g.add(fmt::format("Pad(x, {})", g.ints(pads)));
    const bool is_of_channels = pads[1] > 0;
    for (const char* how : {"", "<pads = [1, 0, 2, 1], strides = [2, 2]>", "<auto_pad = \"VALID\">"})
      g.add(fmt::format("Conv {} ({}, {})", how, padded, is_of_channels ? g.floats("2,8,3,2", ramp(96)) : weight));
  }
  for (const std::string& one : made) {
    g.add(fmt::format("Mul({}, {})", one, scale));
    g.add(fmt::format("Div({}, {})", g.add(fmt::format("Add({}, {})", scale, one)), scale));
    g.add(fmt::format("BatchNormalization <epsilon = 0.001> ({}, {}, bias, {}, {})", one, gain, mean, variance));
  }
  g.add(fmt::format("Mul({}, {})", made[0], across));
  const std::string lines = g.add(fmt::format("Conv <pads = [1, 1]> (line, {}, bias)", kernel));
  g.add(fmt::format("Mul({}, {})", lines, rows));
  g.add("GlobalAveragePool(x)");
  g.add(fmt::format("Conv <strides = [2, 3]> (x, {}, bias)", g.floats("3,4,5,5", ramp(300))));
  g.add(fmt::format("Conv (line, {})", g.floats("3,4,6", ramp(72))));
  expect_laws_hold(g, {{{"n", 1}}, {{"n", 3}}});
}

TEST(Laws, ScalesOfProducts) {
  Graph g("float[n,m,3] x");
  const std::string w = g.floats("3,4", ramp(12)), columns = g.floats("4", {2, -1, 0.5, 3}),
                    rows = g.floats("4,1", {1, 2, 3, 4}), bias = g.floats("4", {1, 0, -2, 5});
  const std::string product = g.add(fmt::format("MatMul(x, {})", w));
  for (const std::string& one : {product, g.add(fmt::format("Add({}, {})", bias, product))}) {
    g.add(fmt::format("Mul({}, {})", one, columns));
    g.add(fmt::format("Div({}, {})", one, columns));
    g.add(fmt::format("Mul({}, {})", g.add(fmt::format("Unsqueeze({}, {})", one, g.ints({2}))), rows));
  }
  expect_laws_hold(g, kSizesToTry);
}

TEST(Laws, NormsAndActivations) {
  Graph g("float[n,m,6] x, float[n,m,6] skip, float[6] scale, float[6] bias, float[m] channel, float[m] other");
  g.add("LayerNormalization <epsilon = 0.01> (x, scale, bias)");
  g.add("LayerNormalization <axis = -1> (x, scale)");
  g.add("InstanceNormalization <epsilon = 0.1> (x, channel, other)");
  g.add("SimplifiedLayerNormalization <epsilon = 0.01> (x, scale)");
  g.add("com.microsoft.SkipLayerNormalization <epsilon = 0.01> (x, skip, scale, bias)");
  g.add("com.microsoft.SkipLayerNormalization <epsilon = 0.01> (x, skip, scale, bias, scale)");
  g.add("com.microsoft.SkipSimplifiedLayerNormalization <epsilon = 0.01> (x, skip, scale)");
  g.add("com.microsoft.SkipSimplifiedLayerNormalization <epsilon = 0.01> (x, skip, scale, bias)");
  g.add("com.microsoft.Gelu(x)");
  g.add("com.microsoft.FastGelu(x)");
  g.add("com.microsoft.FastGelu(x, bias)");
  g.add("com.microsoft.BiasGelu(x, bias)");
  g.add("com.microsoft.QuickGelu <alpha = 1.5> (x)");
  g.add("com.microsoft.FusedMatMul <alpha = 0.5, transA = 1> (x, skip)");
  g.add("com.microsoft.FusedMatMul <transB = 1> (x, skip)");
  for (const int axis : {0, 1, 2, -1, -2}) {
    g.add(fmt::format("Softmax <axis = {}> (x)", axis));
    g.add(fmt::format("LogSoftmax <axis = {}> (x)", axis));
  }
  g.add("Softmax(x)");
  const std::string twice = g.add(fmt::format("Mul(x, {})", g.floats("1", {2}))),
                    largest = g.add(fmt::format("ReduceMax <axes = [-1]> ({})", twice));
  g.add(fmt::format("Softmax({})", g.add(fmt::format("Sub({}, {})", twice, largest))));
  g.add(fmt::format("Softmax <axis = 1> ({})", g.add(fmt::format("Sub({}, {})", twice, largest))));
  g.add(fmt::format("Softmax({})", g.add(fmt::format("Sub(x, {})", largest))));
  for (const auto& order : permutations(3))
    for (const int axis : {0, 1, 2}) {
      const std::string turned = g.add(transposed("x", order));
      g.add(fmt::format("Softmax <axis = {}> ({})", axis, turned));
      g.add(fmt::format("Softmax <axis = {}> ({})", axis,
                        g.add(fmt::format("Unsqueeze({}, {})", turned, g.ints({axis})))));
    }
  for (const std::vector<int64_t>& shape : {std::vector<int64_t>{-1, 6}, {-1, 3}, {-1}, {0, 0, 1, 6}, {0, -1}})
    g.add(fmt::format("LogSoftmax <axis = -1> ({})", g.add(fmt::format("Reshape(x, {})", g.ints(shape)))));
  g.add("Relu(x)");
  const std::string low = g.floats("1", {-0.5});
  g.add(fmt::format("Clip(x, {})", g.add(fmt::format("Squeeze({})", low))));
  g.add(fmt::format("Clip(x, {0}, {0})", g.add(fmt::format("Squeeze({})", low))));
  Graph newer("float[n,m,6] x, float[6] scale", 20);
  newer.add("Gelu(x)");
  newer.add("Gelu <approximate = \"tanh\"> (x)");
  expect_laws_hold(g, kSizesToTry);
  expect_laws_hold(newer, kSizesToTry);
}

TEST(Laws, FusedActivations) {
  Graph g("float[n,4,5,5] x, float[3] bias, float[n,3,3,4] addend, float[n,3] rows, float[3,5] matrix");
  const std::string weight = g.floats("3,4,3,2", ramp(72));
  for (const char* how : {"activation = \"Relu\"", "activation = \"Tanh\"", "activation = \"Sigmoid\"",
                          "activation = \"LeakyRelu\", activation_params = [0.25]",
                          "activation = \"HardSigmoid\", activation_params = [0.3, 0.4]",
                          "activation = \"Clip\", activation_params = [-0.5, 2.0]"}) {
    g.add(fmt::format("com.microsoft.FusedConv <{}> (x, {})", how, weight));
    g.add(
        fmt::format("com.microsoft.FusedConv <{}, strides = [2, 2], pads = [1, 0, 0, 1]> (x, {}, bias)", how, weight));
  }
  g.add(fmt::format("com.microsoft.FusedConv <activation = \"Relu\"> (x, {}, bias, addend)", weight));
  g.add("com.microsoft.FusedGemm <activation = \"Relu\", alpha = 2.0> (rows, matrix)");
  g.add("com.microsoft.FusedGemm <activation = \"LeakyRelu\", activation_alpha = 0.5> (rows, matrix)");
  g.add("LeakyRelu <alpha = 0.3> (x)");
  g.add("LeakyRelu(x)");
  g.add("HardSigmoid <alpha = 0.4, beta = 0.1> (x)");
  g.add("HardSigmoid(x)");
  expect_laws_hold(g, {{{"n", 1}}, {{"n", 3}}});
}

// Ramps: numbers in front, of either sign, behind limits of either sign, each beside a second operand too.
TEST(Laws, NumbersOutOfExtrema) {
  Graph g("float[n,4,m] x, float[n,4,m] z, float[m] row, float[n,4,m] p", 14);
  std::vector<std::string> numbers;
  for (const double number : {2.0, -0.5, 1.0 / 6, -3.0, 1e30, 0.0}) numbers.push_back(g.floats("1", {number}));
  const std::string tensor = g.floats("4,1", {1, -2, 0.5, 3}), low = g.floats("1", {-0.75}), none = g.floats("1", {0}),
                    high = g.floats("1", {1.5});
  std::vector<std::string> scaled;
  for (const std::string& number : numbers) {
    const std::string one = g.add(fmt::format("Mul(x, {})", number));
    scaled.push_back(one);
    scaled.push_back(g.add(fmt::format("Add({}, {})", one, low)));
    scaled.push_back(g.add(fmt::format("Add({}, {})", one, tensor)));
    scaled.push_back(g.add(fmt::format("Sub(row, {})", one)));
  }
  for (const std::string& one : scaled) {
    std::vector<std::string> limited;
    for (const std::string op : {"Max", "Min"}) {
      for (const std::string& limit : {low, none, high})
        limited.push_back(g.add(fmt::format("{}({}, {})", op, one, limit)));
      for (const std::string& other : {std::string("z"), tensor, scaled[2]})
        g.add(fmt::format("{}({}, {})", op, one, other));
    }
    for (const std::string& inner : limited) {
      const std::string again = g.add(fmt::format("Mul({}, {})", inner, numbers[1]));
      for (const std::string op : {"Max", "Min"}) {
        g.add(fmt::format("{}({}, {})", op, inner, low));
        g.add(fmt::format("{}({}, {})", op, again, high));
        g.add(fmt::format("{}({}, z, {})", op, again, low));
        g.add(fmt::format("{}({}, {})", op, again, inner));
      }
      g.add(fmt::format("Div({}, p)", again));
    }
  }
  g.add("HardSwish(x)");
  g.add("HardSigmoid <alpha = -0.4, beta = 0.3> (x)");
  expect_laws_hold(g, {{{"n", 1}, {"m", 1}}, {{"n", 3}, {"m", 2}}});
}

TEST(Laws, Attention) {
  Graph g(
      "float[n,3,8] query, float[n,m,8] key, float[n,m,4] value, float[n,2,m,4] fourkey, float[n,2,m,4] fourvalue, "
      "float[20] bias, "
      "float[n,2,3,m] whole, float[1,1,3,m] mask, float[n,2,k,4] pastkey, float[1,1,3,j] longer, "
      "float[n,3,8] ownkey, float[n,3,8] ownvalue, float[n,2,k,4] pastowned, float[24] all");
  for (const char* how : {"num_heads = 2", "num_heads = 2, scale = 0.3"}) {
    const std::string op = fmt::format("com.microsoft.MultiHeadAttention <{}> ", how);
    g.add(op + "(query, key, value)");
    g.add(op + "(query, key, value, bias)");
    g.add(op + "(query, key, value, , , whole)");
    g.add(op + "(query, key, value, , , mask)");
    g.add(op + "(query, fourkey, fourvalue)");
    g.add(op + "(query, ownkey, ownvalue, all, , , pastkey, pastowned)", 3);
    g.add(op + "(query, ownkey, ownvalue, , , longer, pastkey, pastowned)", 3);
  }
  g.add(fmt::format("com.microsoft.MultiHeadAttention <num_heads = 4> ({0}, {0}, ownvalue)",
                    g.add(fmt::format("Mul(query, {})", g.floats("1", {-0.5})))));
  expect_laws_hold(g, {{{"n", 1}, {"m", 1}, {"k", 1}, {"j", 4}}, {{"n", 3}, {"m", 5}, {"k", 2}, {"j", 5}}});
}

TEST(Laws, AttentionOfOnnx) {
  Graph g(
      "float[n,4,3,8] query, float[n,2,m,8] key, float[n,2,m,6] value, float[n,3,16] merged, float[n,m,8] mergedkey, "
      "float[3,m] mask, float[n,1,3,m] own, float[n,2,k,8] pastkey, float[n,2,k,6] pastvalue",
      23);
  const std::string seen = g.add(fmt::format("Less({}, mask)", g.floats("1", {-1.9})));
  for (const char* how : {"", "<scale = 0.3, softcap = 2.0>", "<is_causal = 1>", "<is_causal = 1, softcap = 1.5>"}) {
    const std::string op = fmt::format("Attention {} ", how);
    g.add(op + "(query, key, value)");
    g.add(op + "(query, key, value, mask)");
    g.add(op + "(query, key, value, own)");
    if (std::string_view(how).starts_with("<scale")) g.add(op + "(query, key, value, , pastkey, pastvalue)", 3);
  }
  g.add(fmt::format("Attention (query, key, value, {})", seen));
  g.add("Attention <q_num_heads = 2, kv_num_heads = 1> (merged, mergedkey, mergedkey)");
  expect_laws_hold(g, {{{"n", 1}, {"m", 1}, {"k", 1}}, {{"n", 2}, {"m", 3}, {"k", 1}}, {{"n", 3}, {"m", 5}, {"k", 2}}});
}

TEST(Laws, AttentionOfGroups) {
  Graph g(
      "float[n,m,64] query, float[n,m,32] key, float[n,m,32] value, float[n,m,96] x, float[1,1,m,m] bias, "
      "float[9,8] cos, float[9,8] sin, float[9,4] fewcos, float[9,4] fewsin");
  const std::string sizes = g.add("Shape(key)"),
                    total = g.add(fmt::format("Slice({}, {}, {})", sizes, g.ints({1}), g.ints({2}))),
                    batch = g.add(fmt::format("Slice({}, {}, {})", sizes, g.ints({0}), g.ints({1})));
  const std::string last =
      g.add(fmt::format("Expand({}, {})", g.add(fmt::format("Sub({}, {})", total, g.ints({1}))), batch));
  const std::string lengths = g.add(fmt::format("Cast <to = 6> ({})", last)),
                    count = g.add(fmt::format("Cast <to = 6> ({})", total));
  for (const char* how : {"", ", scale = 0.3", ", softcap = 1.5", ", local_window_size = 2"})
    for (const char* more : {"", ", , , , bias"}) {
      const std::string op = fmt::format("com.microsoft.GroupQueryAttention <num_heads = 4, kv_num_heads = 2{}> ", how);
      g.add(op + fmt::format("(query, key, value, , , {}, {}{})", lengths, count, more), 3);
    }
  for (const int interleaved : {0, 1}) {
    const std::string op = fmt::format(
        "com.microsoft.GroupQueryAttention <num_heads = 4, kv_num_heads = 2, do_rotary = 1, rotary_interleaved = {}> ",
        interleaved);
    g.add(op + fmt::format("(query, key, value, , , {}, {}, cos, sin)", lengths, count), 3);
  }
  expect_laws_hold(g, {{{"n", 1}, {"m", 1}}, {{"n", 2}, {"m", 4}}, {{"n", 3}, {"m", 5}}});
}

TEST(Laws, AttentionOfOneProduct) {
  Graph g("float[n,m,6] x, float[6,24] w, float[24] bias, float[6,20] narrow, float[20] bias20, float[1,2,m,m] added");
  for (const char* how : {"", ", scale = 0.3", ", unidirectional = 1"}) {
    const std::string op = fmt::format("com.microsoft.Attention <num_heads = 2{}> ", how);
    g.add(op + "(x, w, bias)");
    g.add(op + "(x, w, bias, , , added)");
  }
  g.add("com.microsoft.Attention <num_heads = 2, qkv_hidden_sizes = [8, 8, 4]> (x, narrow, bias20)");
  expect_laws_hold(g, {{{"n", 1}, {"m", 1}}, {{"n", 2}, {"m", 4}}});
}

TEST(Laws, PartsOfAConcatOneByOne) {
  Graph g("float[n,4,m] x, float[n,2,m] y, float[6,1] column, float[n,6,m] whole, float[m] row");
  const std::string both = g.add("Concat <axis = 1> (x, y)"), turned = g.add("Concat <axis = -2> (y, x)");
  std::vector<std::string> all = {both, g.add(transposed(both, {1, 0, 2})),
                                  g.add(fmt::format("Unsqueeze({}, {})", both, g.ints({1}))),
                                  g.add(fmt::format("Reshape({}, {})", both, g.ints({0, 2, 3, -1})))};
  for (const std::string& one : all) {
    g.add(fmt::format("Sin({})", one));
    g.add(fmt::format("Mul({}, {})", one, g.floats("1", {2})));
    g.add(fmt::format("Mul({}, row)", one));
    g.add(fmt::format("Max({0}, {0})", one));
  }
  for (const char* other : {"column", "whole"}) {
    g.add(fmt::format("Mul({}, {})", both, other));
    g.add(fmt::format("Sub({}, {})", g.add(fmt::format("Mul({}, {})", both, other)), turned));
    g.add(fmt::format("Add({}, {})", all[2], other));
  }
  g.add(fmt::format("Mul({}, {})", both, turned));
  g.add(fmt::format("Mul({}, {})", g.add("Concat <axis = -1> (y, y)"), g.add("Concat <axis = 0> (row, row)")));
  expect_laws_hold(g, {{{"n", 2}, {"m", 4}}, {{"n", 3}, {"m", 2}}});
}

TEST(Laws, ConcatsOfTransposesAndOfAxesOfSize1) {
  Graph g("float[n,4,m] x, float[n,2,m] y, float[1,3,n,1] a, float[1,2,n,1] b");
  for (const auto& order : permutations(3)) {
    const auto axis = std::ranges::find(order, 1) - order.begin();
    g.add(
        fmt::format("Concat <axis = {}> ({}, {})", axis, g.add(transposed("x", order)), g.add(transposed("y", order))));
    g.add(transposed(g.add("Concat <axis = 1> (y, x)"), order));
  }
  for (const auto& order : permutations(4)) {
    const auto axis = std::ranges::find(order, 1) - order.begin();
    const std::string both = g.add(
        fmt::format("Concat <axis = {}> ({}, {})", axis, g.add(transposed("a", order)), g.add(transposed("b", order))));
    g.add(fmt::format("Slice({}, {}, {}, {})", both, g.ints({3}), g.ints({9}), g.ints({axis})));
    g.add(fmt::format("Concat <axis = {0}> ({1}, {1})", axis - 4, both));
  }
  expect_laws_hold(g, kSizesToTry);
}

TEST(Laws, TransposesOfWhatIsRepeatedOrMerged) {
  Graph g("float[n,2,m,3] x, float[n,1,m,3] one");
  for (const std::vector<int64_t>& shape :
       {std::vector<int64_t>{0, -1, 3}, {0, 2, -1}, {-1, 0, 3}, {0, 2, 1, -1}, {-1, 3}, {0, 1, 2, -1, 3}}) {
    const std::string merged = g.add(fmt::format("Reshape(x, {})", g.ints(shape)));
    for (const auto& order : permutations(static_cast<int64_t>(shape.size()))) g.add(transposed(merged, order));
  }
  const std::string repeated = g.add(fmt::format("Expand(one, {})", g.ints({1, 4, 1, 1})));
  const std::string heads = g.add(
      fmt::format("Expand({}, {})", g.add(fmt::format("Unsqueeze(x, {})", g.ints({2}))), g.ints({1, 1, 3, 1, 1})));
  const std::string joined = g.add(fmt::format("Reshape({}, {})", heads, g.ints({0, 6, -1, 3})));
  for (const auto& order : permutations(4)) {
    g.add(transposed(repeated, order));
    g.add(transposed(joined, order));
    g.add(transposed(g.add(fmt::format("Reshape({}, {})", repeated, g.ints({0, 2, 2, -1}))), order));
  }
  for (const auto& order : permutations(5)) g.add(transposed(heads, order));
  expect_laws_hold(g, {{{"n", 2}, {"m", 4}}, {{"n", 1}, {"m", 1}}, {{"n", 3}, {"m", 2}}});
}

TEST(Laws, ConstantsPutTogether) {
  Graph g("float[n,6] x");
  const std::string a = g.floats("2,3", {1, 2, 3, 4, 5, 6}), b = g.floats("2,3", {-1, 0.5, 7, 0, 2, 9});
  for (const std::string& one : {a, g.add(fmt::format("Mul({}, {})", a, b))})
    for (const int axis : {0, 1, -1})
      g.add(fmt::format("Concat <axis = {}> ({}, {}, {})", axis, one, b, g.add(fmt::format("Add({}, {})", b, b))));
  g.add(fmt::format("Mul(x, {})", g.add(fmt::format("Concat <axis = 1> ({}, {})", a, b))));
  g.add(fmt::format("Concat <axis = 0> ({}, {})", g.add(fmt::format("ReduceSum({}, {})", a, g.ints({0}))), b));
  expect_laws_hold(g, {{{"n", 1}}, {{"n", 2}}});
}

// Constants that another model may hold folded.
TEST(Laws, SumsAndProductsOfConstants) {
  Graph g("float[n,3] x");
  const std::string a = g.floats("2,3", {1, -2, 3, 0.5, 5, 6}), b = g.floats("3,4", ramp(12)),
                    gain = g.floats("3", {1.5, -2, 0.25}),
                    low = g.add(fmt::format("Squeeze({})", g.floats("1", {0.75})));
  for (const int axis : {0, 1}) {
    for (const char* op : {"ReduceMean", "ReduceSumSquare", "ReduceL2"})
      g.add(fmt::format("{} <axes = [{}]> ({})", op, axis, a));
    g.add(fmt::format("ReduceSum({}, {})", a, g.ints({axis})));
  }
  const std::string normed = g.add(fmt::format("LayerNormalization({}, {})", a, gain));
  g.add(fmt::format("MatMul({}, {})", normed, b));
  g.add(fmt::format("MatMul({}, {})", a, b));
  g.add(fmt::format("Clip({}, {})", g.add(fmt::format("Abs({})", normed)), low));
  g.add(fmt::format("Softplus({})", normed));
  g.add(fmt::format("Max({}, {})", a, g.floats("1,1", {0.75})));
  g.add(fmt::format("Add(x, {})", g.add(fmt::format("ReduceMean <axes = [0]> ({})", a))));
  expect_laws_hold(g, {{{"n", 1}}, {{"n", 3}}});
}

TEST(Laws, FunctionsOfConstants) {
  Graph g("float[n,6] x");
  const std::string values = g.floats("6", {0.5, -1.25, 2, 40, 0.01, 3}),
                    some = g.floats("6", {0.5, 1.25, 2, 4, 0.01, 3});
  for (const char* op : {"Cos", "Sin", "Tanh", "Erf", "Sigmoid"}) {
    const std::string made = g.add(fmt::format("{}({})", op, values));
    g.add(fmt::format("Add(x, {})", made));
  }
  for (const char* op : {"Exp", "Log"}) g.add(fmt::format("{}({})", op, some));
  expect_laws_hold(g, kSizesToTry);
}

TEST(Laws, IntegersAndTruthValues) {
  Graph g("float[n,4,m] x");
  const auto scalar = [&](const std::string& of) { return g.add(fmt::format("Squeeze({})", of)); };
  const std::string shape = g.add("Shape(x)"), m = scalar(g.add(fmt::format("Gather({}, {})", shape, g.ints({2}))));
  const std::string range = g.add(fmt::format("Range({}, {}, {})", scalar(g.ints({0})), m, scalar(g.ints({1}))));
  const std::string rows = g.add(fmt::format("Reshape({}, {})", range, g.ints({-1, 1}))),
                    columns = g.add(fmt::format("Reshape({}, {})", range, g.ints({1, -1}))),
                    apart = g.add(fmt::format("Sub({}, {})", rows, columns));
  const std::string none = g.add(fmt::format("Reshape({}, {})", g.ints({0}), g.ints({1, 1, 1}))),
                    zeros = g.add(fmt::format("Sub({0}, {0})", apart));
  std::vector<std::string> whole = {rows, columns, apart, zeros, none};
  for (const std::string& one : {rows, apart, zeros}) {
    for (const int64_t number : {0, 1, -1, 3}) {
      whole.push_back(g.add(fmt::format("Mul({}, {})", one, g.ints({number}))));
      whole.push_back(g.add(fmt::format("Add({}, {})", g.ints({number}), one)));
    }
    whole.push_back(g.add(fmt::format("Neg({})", one)));
    whole.push_back(g.add(fmt::format("Add({}, {})", one, m)));
    whole.push_back(g.add(fmt::format("Add({}, {})", one, none)));
    whole.push_back(g.add(transposed(apart, {1, 0})));
  }
  std::vector<std::string> truths;
  const size_t count = whole.size();
  for (size_t i = 0; i < count; ++i) {
    const std::string &one = whole[i], &other = whole[(3 * i + 1) % count];
    g.add(fmt::format("Mul({}, {})", one, other));
    g.add(fmt::format("Add({}, {})", g.add(fmt::format("Sub({}, {})", one, other)), other));
    for (const char* op : {"Less", "LessOrEqual", "Greater", "GreaterOrEqual", "Equal"})
      if (i % 3 == 0 || op[0] == 'G') truths.push_back(g.add(fmt::format("{}({}, {})", op, one, other)));
  }
  const std::string yes = g.add(fmt::format("Cast <to = 9> ({})", g.ints({1}))),
                    no = g.add(fmt::format("Cast <to = 9> ({})", g.ints({0})));
  for (size_t i = 0; i < truths.size(); ++i) {
    const std::string& one = truths[i];
    const std::string both = g.add(fmt::format("And({}, {})", one, truths[(i + 2) % truths.size()])),
                      either = g.add(fmt::format("Or({}, {})", truths[(i + 5) % truths.size()], one));
    g.add(fmt::format("And({}, {})", both, either));
    g.add(fmt::format("Or({}, {})", either, both));
    g.add(fmt::format("And({0}, {0})", one));
    g.add(fmt::format("Not({})", g.add(fmt::format("Not({})", one))));
    for (const std::string& known : {yes, no})
      for (const char* op : {"And", "Or"}) g.add(fmt::format("{}({}, {})", op, known, one));
  }
  g.add(fmt::format("Not({})", yes));
  expect_laws_hold(g, kSizesToTry);
}

// Rows that a mask leaves nothing of are NaN, and 0 once that is looked for: in the weights, or in what they weigh.
TEST(Laws, RowsOfNothing) {
  Graph g("float[n,2,3,m] x, float[n,2,m,4] value, float[1,1,3,1] hidden, float[2,m,5] fewer");
  const std::string zero = g.floats("1", {0});
  const std::string mask = g.add(fmt::format("Log({})", g.add("Relu(hidden)")));  // -inf where it is below 0
  const std::string weights = g.add(fmt::format("Softmax <axis = -1> ({})", g.add(fmt::format("Add(x, {})", mask))));
  const auto without_nan = [&](const std::string& of) {
    return g.add(fmt::format("Where({}, {}, {})", g.add(fmt::format("IsNaN({})", of)), zero, of));
  };
  const auto weighed = [&](const std::string& by) {
    return std::vector{
        g.add(fmt::format("MatMul({}, value)", by)), g.add(fmt::format("MatMul({}, fewer)", by)),
        g.add(fmt::format("MatMul({}, {})", by, g.add(fmt::format("Mul(value, {})", g.floats("1", {-3})))))};
  };
  weighed(without_nan(weights));
  for (const std::string& one : {weights, g.add(fmt::format("Reshape({}, {})", weights, g.ints({0, 1, 2, 3, -1}))),
                                 g.add(transposed(weights, {0, 1, 3, 2})), g.add(transposed(weights, {1, 0, 2, 3})),
                                 g.add(fmt::format("Softmax <axis = 2> ({})", g.add(fmt::format("Add(x, {})", mask))))})
    without_nan(one);
  for (const std::string& one : weighed(weights)) {
    without_nan(one);
    without_nan(g.add(transposed(one, {0, 2, 1, 3})));
    without_nan(g.add(fmt::format("Reshape({}, {})", one, g.ints({0, -1}))));
    without_nan(g.add(fmt::format("Mul({}, {})", one, g.floats("1", {0}))));
  }
  // As columns of the other operand they are no rows.
  without_nan(g.add(fmt::format("MatMul({}, {})", g.add(transposed("value", {0, 1, 3, 2})),
                                g.add(transposed(weights, {0, 1, 3, 2})))));
  without_nan(g.add(fmt::format("MatMul({}, {})", g.add(transposed(weights, {0, 1, 3, 2})), "x")));
  expect_laws_hold(g, {{{"n", 1}, {"m", 1}}, {{"n", 2}, {"m", 3}}});
}

TEST(Laws, MasksByWhatTheyHide) {
  Graph g("float[n,2,m,m] x, float[m,m] a, float[n,1,1,m] b");
  const std::string zero = g.floats("1", {0}), low = g.floats("1", {-1e30}), lower = g.floats("1", {-1e38}),
                    some = g.floats("1", {-2}), none = g.add(fmt::format("Log({})", zero));
  const std::string first = g.add(fmt::format("Less(a, {})", zero)), second = g.add(fmt::format("Less({}, b)", zero)),
                    turned = g.add(fmt::format("Unsqueeze({}, {})", first, g.ints({0}))),
                    third = g.add(transposed(turned, {0, 2, 1}));
  for (const std::string& number : {low, lower, some, none})
    for (const std::string& condition : {first, second, third}) {
      const std::string mask = g.add(fmt::format("Where({}, {}, {})", condition, number, zero)),
                        other = g.add(fmt::format("Where({}, {}, {})", condition, zero, number));
      std::vector<std::string> all = {
          g.add(fmt::format("Add(x, {})", mask)),
          g.add(fmt::format("Add({}, x)", other)),
          g.add(fmt::format("Where({}, {}, x)", condition, number)),
          g.add(fmt::format("Where({}, x, {})", condition, number)),
          g.add(fmt::format("Where({}, {}, x)", g.add(fmt::format("Not({})", condition)), number)),
          g.add(fmt::format("Sub(x, {})", g.add(fmt::format("Mul({}, {})", mask, g.floats("1", {-1})))))};
      all.push_back(
          g.add(fmt::format("Add({}, {})", all[0], g.add(fmt::format("Where({}, {}, {})", second, number, zero)))));
      all.push_back(g.add(fmt::format("Where({}, {}, {})", first, number, all[2])));
      for (const std::string& one : all) {
        const std::string weights = g.add(fmt::format("Softmax <axis = -1> ({})", one));
        g.add(fmt::format("MatMul({}, x)", weights));
        g.add(fmt::format("Where({}, {}, {})", g.add(fmt::format("IsNaN({})", weights)), zero, weights));
        g.add(fmt::format("Softmax <axis = 0> ({})", one));
      }
    }
  expect_laws_hold(g, {{{"n", 1}, {"m", 1}}, {{"n", 2}, {"m", 3}}, {{"n", 3}, {"m", 4}}});
}

TEST(Laws, PositionsThatFollowEachOther) {
  Graph g("float[n,4,m] x, float[m,2] rows");
  const auto scalar = [&](const std::string& of) { return g.add(fmt::format("Squeeze({})", of)); };
  const std::string zero = scalar(g.ints({0})), one = scalar(g.ints({1})),
                    m = scalar(g.add(fmt::format("Gather({}, {})", g.add("Shape(x)"), g.ints({2}))));
  for (const std::vector<int64_t>& at : {std::vector<int64_t>{0, 1, 2, 3}, {1, 2}, {-2, -1}, {2, 1}, {-1, 0}, {3}}) {
    g.add(fmt::format("Gather <axis = 1> (x, {})", g.ints(at)));
    g.add(fmt::format("Gather <axis = 1> (x, {})",
                      g.add(fmt::format("Reshape({}, {})", g.ints(at), g.ints({1, -1, 1})))));
  }
  const std::string all = g.add(fmt::format("Range({}, {}, {})", zero, m, one));
  for (const std::string& at : {all, g.add(fmt::format("Reshape({}, {})", all, g.ints({1, -1})))}) {
    g.add(fmt::format("Gather(rows, {})", at));
    g.add(fmt::format("Gather <axis = 2> (x, {})", at));
  }
  expect_laws_hold(g, kSizesToTry);
}

// What is done in one layout and given in another: merged, split, transposed, with operands that broadcast in each.
TEST(Laws, ElementByElementInOtherLayouts) {
  Graph g("float[4,n,m] x, float[4,n,m] p, float[4] pchannel, float[n,m] pplane, float[m] prow, float[6,1,m] shared",
          18);
  const auto reshaped = [&](const std::string& of, const std::vector<int64_t>& shape) {
    return g.add(fmt::format("Reshape({}, {})", of, g.ints(shape)));
  };
  const std::string last = g.add(transposed("x", {1, 2, 0})), other = g.add(transposed("p", {1, 2, 0}));
  const std::string rows = reshaped(last, {-1, 4}), other_rows = reshaped(other, {-1, 4});
  const std::string columns = reshaped("x", {4, -1}), split = reshaped("x", {2, 2, -1}),
                    image = g.add(fmt::format("Unsqueeze(x, {})", g.ints({0, 2})));
  const std::string plane = reshaped("pplane", {-1, 1}), channel = reshaped("pchannel", {4, 1, 1}),
                    halves = reshaped("pchannel", {2, 2, 1}), line = reshaped("pplane", {1, -1});
  for (const std::string& op : kBinary) {
    const auto both = [&](const std::string& a, const std::string& b) {
      return g.add(fmt::format("{}({}, {})", op, a, b));
    };
    for (const std::string& b : {other, std::string("pchannel"), reshaped("pplane", {0, 0, 1})}) {
      const std::string made = both(last, b);
      g.add(transposed(made, {2, 0, 1}));
      reshaped(made, {-1, 4});
    }
    for (const std::string& b : {other_rows, std::string("pchannel"), plane}) {
      const std::string made = both(rows, b);
      g.add(fmt::format("ReduceSum({}, {})", made, g.ints({1})));
      reshaped(g.add(transposed(made, {1, 0})), {2, 2, -1});
    }
    for (const std::string& b : {line, reshaped("p", {4, -1})}) reshaped(both(columns, b), {2, -1});
    for (const std::string& b : {halves, line}) reshaped(both(split, b), {4, -1});
    both(both("x", channel), both("p", "pplane"));
    both(image, g.add(fmt::format("Unsqueeze(p, {})", g.ints({0, 2}))));
    reshaped(both(image, "prow"), {4, -1});
  }
  // As many heads as share one.
  const std::string repeated = g.add(fmt::format("Expand(shared, {})", g.ints({6, 3, 1})));
  const std::string heads = reshaped(repeated, {18, -1}), turned = g.add(transposed(heads, {1, 0}));
  for (const std::string& of : {heads, turned, repeated}) {
    g.add(fmt::format("Neg({})", of));
    g.add(fmt::format("Mul({}, {})", of, g.floats("1", {0.5})));
    g.add(fmt::format("Exp({})", of));
  }
  expect_laws_hold(g, kSizesToTry);
}

TEST(Laws, CutsOfSumsBehindViews) {
  Graph g("float[n,24] x, float[n,24] y, float[24] bias, float[n,2,12] z", 18);
  for (const std::string& sum :
       {g.add("Add(x, bias)"), g.add("Mul(x, y)"), g.add(fmt::format("Add({}, bias)", g.add("Mul(x, y)")))})
    for (const std::vector<int64_t>& shape :
         {std::vector<int64_t>{0, 3, 8}, {0, 3, 2, 4}, {0, 2, 12}, {-1, 8}, {0, 1, 24}}) {
      const std::string view = g.add(fmt::format("Reshape({}, {})", sum, g.ints(shape)));
      for (int64_t axis = 0; axis < static_cast<int64_t>(shape.size()); ++axis) {
        g.add(fmt::format("Slice({}, {}, {}, {})", view, g.ints({0}), g.ints({1}), g.ints({axis})));
        g.add(fmt::format("Gather <axis = {}> ({}, {})", axis, view, g.ints({-1})));
      }
      if (shape.size() == 3 && shape[1] == 2) g.add(fmt::format("Add({}, z)", view));
    }
  expect_laws_hold(g, {{{"n", 1}}, {{"n", 2}}, {{"n", 4}}});
}

TEST(Laws, ConcatsOfWhatIsMovedInSeveralWays) {
  Graph g("float[4,n,m] x, float[4,m,n] y, float[1,4] one", 18);
  const std::string row = g.floats("1,4", {1, 2, 3, 4});
  const auto rows = [&](const std::string& of) {
    return g.add(fmt::format("Reshape({}, {})", g.add(transposed(of, {1, 2, 0})), g.ints({-1, 4})));
  };
  const std::string a = rows("x"), b = rows("y");
  for (const std::vector<std::string>& parts :
       {std::vector<std::string>{a, b}, {"one", a}, {b, "one", row}, {row, a, b}}) {
    const std::string all = g.add(fmt::format("Concat <axis = 0> ({})", fmt::join(parts, ", ")));
    g.add(transposed(all, {1, 0}));
    g.add(fmt::format("Relu({})", all));
  }
  g.add(fmt::format("Concat <axis = 1> ({}, {})", a, a));
  expect_laws_hold(g, kSizesToTry);
}

TEST(Laws, WeightsThatStandOnTheRight) {
  Graph g("float[n,4,m] x, float[n,5,m] y, float[n,4,m] v", 18);
  const std::string scores = g.add(fmt::format("MatMul(x, {})", g.add(transposed("y", {0, 2, 1}))));  // [n, 4, 5]
  const std::string weights = g.add(fmt::format("Softmax({})", scores)), turned = g.add(transposed(weights, {0, 2, 1}));
  g.add(fmt::format("MatMul({}, y)", weights));
  g.add(fmt::format("MatMul({}, {})", g.add(transposed("y", {0, 2, 1})), turned));
  g.add(fmt::format("MatMul({}, {})", g.add(transposed("v", {0, 2, 1})), weights));
  g.add(fmt::format("MatMul({}, {})", turned, weights));
  expect_laws_hold(g, kSizesToTry);
}

TEST(Laws, ResizedToWhatIsThere) {
  Graph g("float[1,2,n,m] x", 18);
  const std::string shape = g.add("Shape(x)"), ones = g.floats("4", {1, 1, 1, 1});
  for (const char* mode : {"nearest", "linear", "cubic"})
    for (const char* how : {"half_pixel", "pytorch_half_pixel", "asymmetric", "align_corners"}) {
      const std::string attributes = fmt::format("<mode = \"{}\", coordinate_transformation_mode = \"{}\">", mode, how);
      g.add(fmt::format("Resize {} (x, , , {})", attributes, shape));
      g.add(fmt::format("Resize {} (x, , {})", attributes, ones));
    }
  expect_laws_hold(g, kSizesToTry);
}

TEST(Laws, TransposedConvolutions) {
  Graph g("float[n,4,3,5] x, float[3] bias, float[6] more");
  const std::string weight = g.floats("4,3,3,2", ramp(72)), grouped = g.floats("4,3,2,2", ramp(48)),
                    scale = g.floats("3,1,1", {2, -3, 0.5}), gain = g.floats("3", {2, -3, 0.5}),
                    mean = g.floats("3", {0.5, 1, -1}), variance = g.floats("3", {0.5, 1, 2});
  for (const char* how : {"", "<strides = [2, 1], pads = [1, 0, 2, 1]>", "<dilations = [2, 3], auto_pad = \"VALID\">",
                          "<strides = [2, 3], output_padding = [1, 2]>"}) {
    const std::string made = g.add(fmt::format("ConvTranspose {} (x, {}, bias)", how, weight));
    g.add(fmt::format("Mul({}, {})", made, scale));
    g.add(fmt::format("BatchNormalization ({}, {}, bias, {}, {})", made, gain, mean, variance));
  }
  const std::string made = g.add(fmt::format("ConvTranspose <group = 2> (x, {}, more)", grouped));
  g.add(fmt::format("Mul({}, {})", made, g.floats("6,1,1", {1, -2, 3, 4, 0.5, 6})));
  expect_laws_hold(g, {{{"n", 1}}, {{"n", 3}}});
}

TEST(Laws, AttentionOverConstants) {
  Graph g("float[n,4] x, float[2,3,5] pbatch", 18);
  const std::string a = g.floats("2,3,4", ramp(24)), b = g.floats("2,4,5", ramp(40)), table = g.floats("5,4", ramp(20));
  const std::string product = g.add(fmt::format("MatMul({}, {})", a, b));
  for (const int axis : {-1, 0, 1}) {
    const std::string weights = g.add(fmt::format("Softmax <axis = {}> ({})", axis, product));
    g.add(fmt::format("MatMul({}, {})", weights, g.add(transposed(b, {0, 2, 1}))));
    g.add(fmt::format("Mul(pbatch, {})", weights));
  }
  for (const std::vector<int64_t>& at : {std::vector<int64_t>{3, 0, -1}, {2, 2}, {1}}) {
    const std::string picked = g.add(fmt::format("Gather({}, {})", table, g.ints(at)));
    g.add(fmt::format("Sigmoid({})", picked));
    g.add(fmt::format("Gather <axis = 1> ({}, {})", table, g.ints(at)));
  }
  g.add(fmt::format("Add(x, {})", g.add(fmt::format("Gather({}, {})", table, g.ints({4})))));
  expect_laws_hold(g, {{{"n", 1}}, {{"n", 2}}});
}

TEST(Laws, PolynomialsOfOneTerm) {
  Graph g("float[n,m] x, float[n,m] y", 18);
  const std::string one = g.floats("1", {1}), c = g.floats("1", {0.044715}), root = g.floats("1", {0.79788456});
  const std::string square = g.add("Mul(x, x)");
  for (const std::string& power : {square, g.add(fmt::format("Mul({}, x)", square)), std::string("x")}) {
    const std::string inner = g.add(fmt::format("Add({}, {})", one, g.add(fmt::format("Mul({}, {})", c, power))));
    for (const std::string& by : {std::string("x"), std::string("y"), square})
      g.add(fmt::format("Mul({}, {})", root, g.add(fmt::format("Mul({}, {})", by, inner))));
    g.add(fmt::format("Div(x, {})", inner));
  }
  expect_laws_hold(g, kSizesToTry);
}

TEST(Laws, RotaryEmbedding) {
  const char* inputs =
      "float[2,3,8] x, float[2,2,3,4] heads, float[5,2] cos, float[5,2] sin, float[5,1] fewcos, float[5,1] fewsin, "
      "float[2,3,2] owncos, float[2,3,2] ownsin";
  Graph g(inputs), newer(inputs, 23);
  const auto positions = [](Graph& of) {
    return of.add(fmt::format("Reshape({}, {})", of.ints({0, 3, 1, 2, 2, 4}), of.ints({2, 3})));
  };
  const std::string at = positions(g), then = positions(newer);
  for (const int interleaved : {0, 1}) {
    const std::string op = fmt::format("com.microsoft.RotaryEmbedding <interleaved = {}", interleaved);
    g.add(fmt::format("{}> (x, {}, cos, sin)", op, at));
    g.add(fmt::format("{}> (heads, {}, cos, sin)", op, at));
    for (const int64_t first : {0, 2}) g.add(fmt::format("{}> (x, {}, cos, sin)", op, g.ints({first})));
    g.add(fmt::format("{}, num_heads = 2, rotary_embedding_dim = 2> (x, {}, fewcos, fewsin)", op, at));
    const std::string own = fmt::format("RotaryEmbedding <interleaved = {}", interleaved);
    newer.add(fmt::format("{}, num_heads = 2> (x, cos, sin, {})", own, then));
    newer.add(fmt::format("{}, num_heads = 2> (x, owncos, ownsin)", own));
    newer.add(fmt::format("{}> (heads, cos, sin, {})", own, then));
    newer.add(fmt::format("{}, rotary_embedding_dim = 2> (heads, fewcos, fewsin, {})", own, then));
  }
  expect_laws_hold(g, {{}});
  expect_laws_hold(newer, {{}});
}

TEST(Laws, WhatChangesNothing) {
  Graph g("float[n,4,m] x, float[4,1] column");
  g.add("Dropout(x)");
  g.add("Identity(x)");
  g.add("Cast <to = 1> (x)");
  g.add("Cast <to = 1> (" + g.add("Cast <to = 11> (x)") + ")");
  g.add(fmt::format("Pad(x, {})", g.ints({0, 0, 0, 0, 0, 0})));
  g.add(fmt::format("Tile(x, {})", g.ints({1, 1, 1})));
  for (const std::vector<int64_t>& repeats : {std::vector<int64_t>{1, 3, 1}, {2, 1, 2}, {1, 1, 4}})
    g.add(fmt::format("Tile(x, {})", g.ints(repeats)));
  const std::string yes = g.add(fmt::format("Cast <to = 9> ({})", g.ints({1})));
  const std::string no = g.add(fmt::format("Cast <to = 9> ({})", g.ints({0})));
  g.add(fmt::format("Where({}, column, x)", yes));
  g.add(fmt::format("Where({}, column, x)", no));
  const std::string truth = g.add("Less(x, column)");
  for (const int type : {1, 3, 7, 10, 11, 13})
    g.add(fmt::format("Cast <to = 9> ({})", g.add(fmt::format("Cast <to = {}> ({})", type, truth))));
  expect_laws_hold(g, kSizesToTry);
}

TEST(Laws, SizesThatAreComputed) {
  Graph g("float[n,4,m] x, float[m] row");
  const std::string shape = g.add("Shape(x)");
  const std::string n = g.add(fmt::format("Gather({}, {})", shape, g.ints({0})));
  const std::string rest =
      g.add(fmt::format("Mul({}, {})", g.add(fmt::format("Gather({}, {})", shape, g.ints({2}))), g.ints({4})));
  const std::string target = g.add(fmt::format("Concat <axis = 0> ({}, {})", n, rest));
  g.add(fmt::format("Reshape(x, {})", target));
  g.add(fmt::format("Expand(row, {})", shape));
  g.add(fmt::format("ConstantOfShape({})", shape));
  g.add(fmt::format("Slice(x, {}, {}, {})", g.ints({0}), n, g.ints({2})));
  for (const std::vector<int64_t>& numbers : {std::vector<int64_t>{0, 3, 0, -5}, {0, 0}, {1}})
    g.add(fmt::format("NonZero({})", g.ints(numbers)));
  g.add(fmt::format("NonZero({})", g.add(fmt::format("Reshape({}, {})", g.ints({0, 3, 0, 5, 6, 0}), g.ints({2, 3})))));
  expect_laws_hold(g, kSizesToTry);
}

}  // namespace
}  // namespace thaw::proving
