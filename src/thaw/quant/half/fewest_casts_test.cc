#include "thaw/quant/half/fewest_casts.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace thaw::quantizing {
namespace {

double cost_of(const std::vector<bool>& narrow, const std::vector<LabelledNode>& nodes,
               const std::vector<LabelledEdge>& edges) {
  double cost = 0;
  for (size_t i = 0; i < nodes.size(); ++i)
    if (nodes[i].width == Width::kEither && !narrow[i]) cost += nodes[i].cost_when_wide;
  for (const LabelledEdge& edge : edges)
    if (narrow[static_cast<size_t>(edge.a)] != narrow[static_cast<size_t>(edge.b)]) cost += edge.cost_when_different;
  return cost;
}

bool is_allowed(const std::vector<bool>& narrow, const std::vector<LabelledNode>& nodes) {
  for (size_t i = 0; i < nodes.size(); ++i)
    if ((nodes[i].width == Width::kNarrow && !narrow[i]) || (nodes[i].width == Width::kWide && narrow[i])) return false;
  return true;
}

RC_GTEST_PROP(FewestCasts, CostsAsLittleAsTheBestOfAll, ()) {
  const int count = *rc::gen::inRange(1, 9);
  std::vector<LabelledNode> nodes;
  for (int i = 0; i < count; ++i)
    nodes.push_back({*rc::gen::element(Width::kNarrow, Width::kWide, Width::kEither, Width::kEither),
                     static_cast<double>(*rc::gen::inRange(0, 20))});
  std::vector<LabelledEdge> edges;
  const int links = *rc::gen::inRange(0, 14);
  for (int i = 0; i < links; ++i)
    edges.push_back(
        {*rc::gen::inRange(0, count), *rc::gen::inRange(0, count), static_cast<double>(*rc::gen::inRange(0, 20))});
  const std::vector<bool> found = narrow_nodes(nodes, edges);
  RC_ASSERT(is_allowed(found, nodes));
  double best = cost_of(found, nodes, edges);
  for (unsigned all = 0; all < 1U << count; ++all) {
    std::vector<bool> other;
    for (int i = 0; i < count; ++i) other.push_back((all >> i & 1) != 0);
    if (is_allowed(other, nodes)) RC_ASSERT(best <= cost_of(other, nodes, edges));
  }
}

TEST(FewestCasts, AnIslandBetweenWideNodesStaysWide) {
  // wide - either - wide, where two Casts cost more than the node gains.
  const std::vector<LabelledNode> nodes = {{Width::kWide}, {Width::kEither, 4}, {Width::kWide}};
  const std::vector<LabelledEdge> edges = {{0, 1, 6}, {1, 2, 6}};
  EXPECT_EQ(narrow_nodes(nodes, edges), (std::vector<bool>{false, false, false}));
}

TEST(FewestCasts, ALongPathIsNoDeepRecursion) {
  constexpr int kCount = 200'000;
  std::vector<LabelledNode> nodes(kCount, {Width::kEither, 1});
  nodes.front().width = Width::kNarrow;
  nodes.back().width = Width::kWide;
  std::vector<LabelledEdge> edges;
  for (int i = 1; i < kCount; ++i) edges.push_back({i - 1, i, 10});
  const std::vector<bool> found = narrow_nodes(nodes, edges);
  EXPECT_TRUE(found[kCount - 2]);
  EXPECT_FALSE(found.back());
}

}  // namespace
}  // namespace thaw::quantizing
