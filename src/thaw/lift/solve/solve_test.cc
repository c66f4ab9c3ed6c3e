#include "thaw/lift/solve/solve.h"

#include <functional>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "thaw/dim/text/text.h"

namespace thaw::lifting {
namespace {

struct ImageSizes {
  dim::Scope scope;
  std::vector<Variable> variables;

  ImageSizes(std::vector<int64_t> batch, std::vector<int64_t> height, std::vector<int64_t> width) {
    int64_t axis = 0;
    for (auto& [name, at] : {std::pair{"batch", &batch}, {"height", &height}, {"width", &width}}) {
      variables.push_back(
          {.symbol = scope.symbol(name), .at = *at, .input = "image", .index = axis, .is_batch = axis == 0});
      scope.assume_range(variables.back().symbol, 1, std::nullopt);
      ++axis;
    }
  }

  // What gives these values of an operand, evaluated at other sizes.
  std::optional<int64_t> at(std::span<const int64_t> wanted, int64_t batch, int64_t height, int64_t width) const {
    Solver solver(variables);
    solver.draw({{2, 177, 41}, {3, 291, 88}, {4, 204, 63}, {6, 64, 96}});
    const auto found = solver.solve(wanted, {.axes = variables});
    if (!found) return std::nullopt;
    dim::Assignment sizes;
    const int64_t values[] = {batch, height, width};
    for (size_t i = 0; i < variables.size(); ++i) sizes[scope.symbol_id(variables[i].symbol)] = values[i];
    return dim::evaluate(*found, sizes);
  }
};

using SizeOfImage = std::function<int64_t(int64_t, int64_t, int64_t)>;

int64_t windows(int64_t n, int64_t m) { return (n + m - 1) / m; }

// Each is a size that a graph computes; three traces tell which.
const std::pair<const char*, SizeOfImage> kSizes[] = {
    {"a constant", [](int64_t, int64_t, int64_t) { return 7; }},
    {"itself", [](int64_t, int64_t h, int64_t) { return h; }},
    {"a part", [](int64_t, int64_t h, int64_t) { return h / 4; }},
    {"a multiple", [](int64_t, int64_t, int64_t w) { return w * 3; }},
    {"a product", [](int64_t b, int64_t h, int64_t) { return b * h; }},
    {"patches", [](int64_t, int64_t h, int64_t w) { return h / 8 * (w / 8); }},
    {"one more", [](int64_t, int64_t h, int64_t) { return h + 1; }},
    {"what is left", [](int64_t, int64_t h, int64_t) { return 500 - h; }},
    {"a line", [](int64_t, int64_t h, int64_t) { return h * 5 + 11; }},
    {"windows", [](int64_t, int64_t h, int64_t) { return windows(h / 4, 3); }},
    {"whole windows", [](int64_t, int64_t, int64_t w) { return windows(w / 4, 3) * 3; }},
    {"padding", [](int64_t, int64_t, int64_t w) { return windows(w, 32) * 32 - w; }},
    {"windows of a grid", [](int64_t, int64_t h, int64_t w) { return windows(h, 7) * windows(w, 7); }},
    {"windows of all images", [](int64_t b, int64_t h, int64_t w) { return b * windows(h, 7) * windows(w, 7); }},
    {"distances of a grid", [](int64_t, int64_t h, int64_t w) { return (2 * h - 1) * (2 * w - 1) + 3; }},
    {"the longer side", [](int64_t, int64_t h, int64_t w) { return std::max(h, w); }},
    {"a volume", [](int64_t b, int64_t h, int64_t w) { return b * h * w; }},
};

TEST(Solver, FindsSizesThatHoldElsewhere) {
  const ImageSizes sizes({2, 3, 5}, {43, 90, 71}, {58, 29, 107});
  for (const auto& [name, size] : kSizes) {
    const std::vector<int64_t> wanted{size(2, 43, 58), size(3, 90, 29), size(5, 71, 107)};
    EXPECT_EQ(sizes.at(wanted, 7, 136, 40), size(7, 136, 40)) << name;
    EXPECT_EQ(sizes.at(wanted, 1, 8, 8), size(1, 8, 8)) << name;
  }
}

// The last molecule of CANINE stands for the characters that are left, and for its own.
TEST(Solver, FindsWhatWholePiecesLeave) {
  const ImageSizes sizes({2, 3, 5}, {40, 70, 103}, {56, 24, 104});
  EXPECT_EQ(sizes.at(std::vector<int64_t>{4, 6, 7}, 1, 50, 8), 6);
  EXPECT_EQ(sizes.at(std::vector<int64_t>{0, 6, 7}, 1, 50, 8), 2);
}

TEST(Solver, GivesEveryTraceWhateverItFinds) {
  const ImageSizes sizes({2, 3, 5}, {40, 88, 72}, {56, 24, 104});
  rc::check([&](const std::vector<uint8_t>& bytes) {
    RC_PRE(bytes.size() >= 3U);
    const std::vector<int64_t> wanted{bytes[0], bytes[1], bytes[2]};
    for (const Solution& solution : Solver(sizes.variables).solutions(wanted, 5)) {
      for (size_t k = 0; k < 3; ++k) {
        dim::Assignment at;
        for (const Variable& v : sizes.variables) at[sizes.scope.symbol_id(v.symbol)] = v.at[k];
        RC_ASSERT(dim::evaluate(solution.dim, at) == std::optional(wanted[k]));
      }
    }
  });
}

TEST(Solver, PassesOverWhatWasRefused) {
  const ImageSizes sizes({2, 3, 5}, {40, 88, 72}, {56, 24, 104});
  const std::vector<int64_t> wanted{21, 45, 37};
  const std::vector<std::vector<int64_t>> unseen{{2, 177, 41}, {3, 291, 88}, {4, 204, 63}};
  Solver solver(sizes.variables);
  solver.draw(unseen);
  const auto all = solver.solutions(wanted, 3);
  ASSERT_GE(all.size(), 2U);
  const Choices choices{.by_values = {{wanted, {.index = 1}}}, .by_place = {}};
  Solver other(sizes.variables, &choices);
  other.draw(unseen);
  EXPECT_TRUE(dim::same(*other.solve(wanted), all[1].dim));
  EXPECT_EQ(other.solved().at(wanted), all[1].rule);
}

TEST(Solver, KnowsTheSizesOfTensors) {
  ImageSizes sizes({2, 3, 5}, {400, 521, 803}, {56, 24, 104});
  const dim::Dim length = dim::floor_div(sizes.variables[1].symbol - dim::Dim(27), 20);
  const TensorSizes tensors{{{18, 24, 38}, {length}}};
  const Solver solver(sizes.variables, nullptr, &tensors);
  EXPECT_TRUE(dim::same(*solver.solve(std::vector<int64_t>{18, 24, 38}), length));
}

// Two stages of a pyramid are as large in these traces, and rounded otherwise: what a node reads says which is meant.
TEST(Solver, TakesAnAxisOfItsDataBeforeOtherTensorsOfThatSize) {
  ImageSizes sizes({2, 3, 5}, {120, 70, 93}, {131, 96, 65});
  const std::vector<int64_t> wanted{3, 2, 3};
  const dim::Dim height = sizes.variables[1].symbol;
  const dim::Dim first = dim::floor_div(height + dim::Dim(3), 32), second = dim::floor_div(height + dim::Dim(7), 32);
  const TensorSizes tensors{{wanted, {first}}};
  const Solver solver(sizes.variables, nullptr, &tensors);
  EXPECT_TRUE(dim::same(*solver.solve(wanted), first));
  EXPECT_TRUE(dim::same(*solver.solve(wanted, {.axes = {{.symbol = second, .at = wanted}}}), second));
}

// A Slice that cuts nothing off in any trace stands there for another tensor of that size.
TEST(Solver, CutsDownToAnotherTensor) {
  ImageSizes sizes({2, 3, 5}, {96, 187, 224}, {131, 96, 65});
  const std::vector<int64_t> wanted{6, 12, 14};
  const dim::Dim height = sizes.variables[1].symbol;
  const dim::Dim other = dim::ceil_div(height, 16), own = dim::ceil_div(height, 32) * dim::Dim(2);
  const TensorSizes tensors{{wanted, {other}}};
  const Solver solver(sizes.variables, nullptr, &tensors);
  const Variable axis{.symbol = own, .at = wanted};
  EXPECT_TRUE(dim::same(*solver.solve(wanted, {.axes = {axis}, .cuts = true}), other));
  EXPECT_TRUE(dim::same(*solver.solve(wanted, {.axes = {axis}}), own));
}

// A term is taken where the traces tell it from chance.
TEST(Solver, TakesTermsThatTheTracesTell) {
  const ImageSizes sizes({2, 3, 5}, {130, 223, 351}, {56, 24, 104});
  const Choices choices;
  Solver solver(sizes.variables, &choices);
  solver.draw({{2, 177, 41}, {3, 291, 88}, {4, 204, 63}});
  const dim::Dim height = sizes.variables[1].symbol;
  const std::vector<int64_t> stretched{195, 334, 526};  // floor(3 * height / 2)
  EXPECT_TRUE(dim::same(*solver.solve(stretched), dim::floor_div(height * dim::Dim(3), 2)));
  EXPECT_EQ(solver.guessed().size(), 1U);
  const std::vector<int64_t> even{130, 222, 350};  // 2 * floor(height / 2), or height - height % 2
  EXPECT_TRUE(dim::same(*solver.solve(even), dim::floor_div(height, 2) * dim::Dim(2)));
  EXPECT_EQ(solver.solve(std::vector<int64_t>{1, 7, 2}), std::nullopt);
  // 2 * (height % 128), or what is left of other numbers.
  EXPECT_EQ(solver.solve(std::vector<int64_t>{17, 31, 90}), std::nullopt);
}

}  // namespace
}  // namespace thaw::lifting
