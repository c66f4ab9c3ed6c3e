// Numbers that go out of weights, and vectors over their length, against ONNX Runtime.
#include <gtest/gtest.h>

#include "thaw/prove/laws_testing.h"

namespace thaw::proving {
namespace {

TEST(Scales, GoOutOfWhatIsMultiplied) {
  Graph g("float[n,4,m] x, float[n,m,4] z, float[n,4,m] p");
  const std::string column = g.floats("4,1", {3, -0.5, 0, 7}), shift = g.floats("4,1", {0.25, -3, 1, 5}),
                    number = g.floats("1", {0.3}), zeros = g.floats("4,1", {0, 0, 0, 0});
  const std::string weighed = g.add(fmt::format("Mul(x, {})", column)),
                    moved = g.add(fmt::format("Add({}, {})", weighed, shift)),
                    two = g.add(fmt::format("Add({}, {})", moved, g.add(fmt::format("Mul(p, {})", shift)))),
                    product = g.add(fmt::format("Mul({}, {})", g.add("Sin(p)"), moved)),
                    nothing = g.add(fmt::format("Mul(x, {})", zeros)),
                    parts = g.add(fmt::format("Concat <axis = 2> ({}, {}, x)", moved, product));
  for (const std::string& one : {weighed, moved, two, product, nothing}) {
    const std::string scaled = g.add(fmt::format("Mul({}, {})", one, number)),
                      back = g.add(transposed(scaled, {0, 2, 1}));
    g.add(fmt::format("MatMul({}, z)", scaled));
    g.add(fmt::format("MatMul(z, {})", one));
    g.add(fmt::format("MatMul({}, {})", back, scaled));
    g.add(fmt::format("ReduceMean <axes = [1]> ({})", scaled));
  }
  const std::string all = g.add(fmt::format("Mul({}, {})", parts, number));
  g.add(fmt::format("MatMul({}, {})", g.add(transposed(all, {0, 2, 1})), weighed));
  g.add(fmt::format("MatMul(z, {})", all));
  expect_laws_hold(g, kSizesToTry);
}

TEST(Scales, OfVectorsOverTheirLength) {
  Graph g("float[n,4,m] x", 18);
  const std::string some = g.add(fmt::format("Mul(x, {})", g.floats("4,1", {1, 0, -2, 0})));  // vectors of zeros too
  for (const std::string& vector : {std::string("x"), some, g.add(transposed(some, {2, 0, 1}))})
    for (const int64_t axis : {-1, 0, 1})
      for (const int64_t p : {1, 2}) {
        g.add(fmt::format("LpNormalization <axis = {}, p = {}> ({})", axis, p, vector));
        const std::string length = g.add(fmt::format("ReduceL{}({}, {})", p, vector, g.ints({axis})));
        for (const double limit : {1e-12, 1e-6, 0.5})
          g.add(fmt::format("Div({}, {})", vector, g.add(fmt::format("Max({}, {})", length, g.floats("1", {limit})))));
        const std::string halved = g.add(fmt::format("Mul({}, {})", vector, g.floats("1", {0.5})));
        g.add(fmt::format("LpNormalization <axis = {}, p = {}> ({})", axis, p, halved));
      }
  const std::string squares = g.add(fmt::format("ReduceSumSquare({}, {})", some, g.ints({1})));
  const std::string limited = g.add(fmt::format("Max({}, {})", squares, g.floats("1", {1e-12})));
  g.add(fmt::format("Mul({}, {})", some, g.add(fmt::format("Pow({}, {})", limited, g.floats("1", {-0.5})))));
  expect_laws_hold(g, kSizesToTry);
}

TEST(Views, PiecesOfATranspose) {
  Graph g("float[n,4,m] x, float[2,1] prow, float[2] plast");
  for (const auto& order : {std::vector<int64_t>{0, 2, 1}, {2, 1, 0}, {1, 0, 2}, {2, 0, 1}}) {
    const std::string turned = g.add(transposed("x", order));
    std::vector<int64_t> pieces;
    for (const int64_t axis : order) {
      if (axis == 1) pieces.insert(pieces.end(), {2, 2});
      if (axis != 1) pieces.push_back(axis == 0 ? 0 : -1);
    }
    if (order[0] != 0 && pieces[0] == -1) pieces = {-1, 2, 2, 1};
    const std::string apart = g.add(fmt::format("Reshape({}, {})", turned, g.ints(pieces)));
    for (const char* other : {"prow", "plast"})
      g.add(fmt::format("Sigmoid({})", g.add(fmt::format("Mul({}, {})", apart,
                                                         g.add(fmt::format("Expand({}, {})", other, g.ints({1})))))));
  }
  expect_laws_hold(g, {{{"n", 2}, {"m", 2}}});
}

TEST(Views, ReshapedPartsOfAConcat) {
  Graph g("float[n,4,m] x, float[n,2,m] y");
  const std::string both = g.add("Concat <axis = 1> (x, y)");
  for (const std::vector<int64_t>& shape : {std::vector<int64_t>{0, 6, 1, -1}, {1, -1, 6, 1}, {0, 2, 3, -1}, {0, -1}}) {
    const std::string view = g.add(fmt::format("Reshape({}, {})", both, g.ints(shape)));
    for (int64_t axis = 0; axis < static_cast<int64_t>(shape.size()); ++axis)
      g.add(fmt::format("Concat <axis = {}> ({}, {}, {})", axis, view, g.add(fmt::format("Sin({})", view)), view));
  }
  expect_laws_hold(g, {{{"n", 1}, {"m", 1}}, {{"n", 1}, {"m", 3}}});
}

TEST(Views, ConcatsOfWhatIsMerged) {
  Graph g("float[n,4,m] x, float[n,2,m] y");
  for (const auto& order : permutations(3)) {
    const std::string a = g.add(transposed("x", order)), b = g.add(transposed("y", order));
    for (const std::vector<int64_t>& shape : {std::vector<int64_t>{0, -1}, {-1}, {0, 1, -1}}) {
      const std::string c = g.add(fmt::format("Reshape({}, {})", a, g.ints(shape))),
                        d = g.add(fmt::format("Reshape({}, {})", b, g.ints(shape)));
      const auto rank = static_cast<int64_t>(shape.size());
      if (order[0] != 1 || rank == 1) g.add(fmt::format("Concat <axis = {}> ({}, {}, {})", rank - 1, c, d, c));
      for (int64_t axis = 0; axis < rank; ++axis) g.add(fmt::format("Concat <axis = {0}> ({1}, {1})", axis, c));
    }
  }
  const std::string c = g.add(fmt::format("Reshape({}, {})", g.add("Sin(x)"), g.ints({-1, 2, 2}))),
                    k = g.floats("1,2,2", {1, 2, 3, 4});
  g.add(fmt::format("Sin({})", g.add(fmt::format("Concat <axis = 0> ({}, {}, {})", c, k, c))));
  expect_laws_hold(g, {{{"n", 1}, {"m", 1}}, {{"n", 2}, {"m", 3}}});
}

}  // namespace
}  // namespace thaw::proving
