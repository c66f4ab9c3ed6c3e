#include "thaw/report/module_tree.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace thaw::report {
namespace {

TEST(ModuleTree, AModuleOfOneModuleIsOneWithIt) {
  ModuleTree tree;
  const int root = tree.add_root();
  const int model = tree.inside(root, "/model");
  const int layers = tree.inside(model, "/layers");
  const int first = tree.inside(layers, "/0"), second = tree.inside(layers, "/1");
  EXPECT_EQ(tree.inside(layers, "/1"), second);
  tree.add_node(first);
  tree.add_node(second);
  const auto [modules, now] = tree.merged();
  ASSERT_EQ(modules.size(), 3);
  EXPECT_EQ(modules[0].name, "/model/layers");
  EXPECT_EQ(modules[1].name, "/0");
  EXPECT_EQ(modules[2].parent, 0);
  EXPECT_THAT(now, testing::ElementsAre(0, 0, 0, 1, 2));
}

TEST(ModuleTree, AModuleWithANodeOfItsOwnStays) {
  ModuleTree tree;
  const int root = tree.add_root(), inner = tree.inside(root, "a"), other = tree.add_root();
  tree.add_node(root);
  tree.add_node(inner);
  const auto [modules, now] = tree.merged();
  ASSERT_EQ(modules.size(), 3);
  EXPECT_EQ(modules[1].parent, 0);
  EXPECT_EQ(modules[static_cast<size_t>(now[static_cast<size_t>(other)])].parent, -1);
}

}  // namespace
}  // namespace thaw::report
