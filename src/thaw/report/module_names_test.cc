#include "thaw/report/module_names.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace thaw::report {
namespace {

using testing::ElementsAre;

TEST(ModuleNames, NamesAreCutAtTheirSlashes) {
  EXPECT_THAT(name_parts("/model/layers.3/attn/MatMul"), ElementsAre("/model", "/layers.3", "/attn", "/MatMul"));
  EXPECT_THAT(name_parts("head/act/Sigmoid"), ElementsAre("head", "/act", "/Sigmoid"));
  EXPECT_THAT(name_parts("a//b"), ElementsAre("a", "//b"));
  EXPECT_THAT(name_parts("a/b/"), ElementsAre("a", "/b/"));
}

TEST(ModuleNames, NamesWithoutSlashesAreCutAtTheirDots) {
  EXPECT_THAT(name_parts("layers.3.attn.MatMul"), ElementsAre("layers.3", ".attn", ".MatMul"));
  EXPECT_THAT(name_parts("MatMul.12"), ElementsAre("MatMul.12"));
  EXPECT_THAT(name_parts("Conv_7"), ElementsAre("Conv_7"));
  EXPECT_THAT(name_parts(""), ElementsAre(""));
  EXPECT_THAT(name_parts("/"), ElementsAre("/"));
}

TEST(ModuleNames, AModuleIsAllButTheNodesOwnPart) {
  EXPECT_EQ(module_of("/layers/3/attn/MatMul", 5), "/layers/3/attn");
  EXPECT_EQ(module_of("/layers/3/attn/MatMul", 2), "/layers/3");
  EXPECT_EQ(module_of("layers.3.attn.MatMul", 5), "layers.3.attn");
  EXPECT_EQ(module_of("/MatMul", 5), "");
}

TEST(ModuleNames, NotesTellTheModule) {
  const auto noted = [](std::string_view scopes) {
    const std::string key = "pkg.torch.onnx.name_scopes";
    const auto text = [](int field, std::string_view bytes) {
      return std::string{static_cast<char>(field << 3 | 2), static_cast<char>(bytes.size())}.append(bytes);
    };
    ir::Graph graph;
    ir::Node* node = graph.add_node("Relu", "", {}, {});
    node->extra = text(9, text(1, "other") + text(2, "'x'")) + text(9, text(1, key) + text(2, scopes));
    return noted_module(*node);
  };
  EXPECT_EQ(noted("['', 'layers.3', 'layers.3.attn', 'linear_5']"), "layers.3.attn");
  EXPECT_EQ(noted("['', 'linear_5']"), "");
  EXPECT_EQ(noted("'"), "");
  EXPECT_EQ(noted(""), "");
}

RC_GTEST_PROP(ModuleNames, ThePartsTogetherAreTheName, ()) {
  const auto name = *rc::gen::container<std::string>(rc::gen::element('/', '.', 'a', '7'));
  std::string merged;
  for (const std::string_view part : name_parts(name)) merged += part;
  RC_ASSERT(merged == name);
}

}  // namespace
}  // namespace thaw::report
