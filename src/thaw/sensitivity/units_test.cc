#include "thaw/sensitivity/units.h"

#include <gtest/gtest.h>

namespace thaw::measuring {
namespace {

struct NameCase {
  std::string name, op, layer, kind;
};

TEST(PartsOfName, ExportersSpellings) {
  const NameCase cases[] = {
      {"/model/layers.3/self_attn/q_proj/MatMul", "MatMul", "layers.3", "q_proj"},
      {"blocks.11.attn.qkv.weight", "MatMul", "blocks.11", "qkv"},
      {"/transformer/h.5/mlp/c_fc/Gemm", "Gemm", "h.5", "c_fc"},
      {"/layer4/layer4.1/conv2/Conv", "Conv", "layer4.layer4.1", "conv2"},
      {"/encoder/layers/0/blocks/1/attn/qkv/MatMul_1", "MatMul", "layers.0.blocks.1", "qkv"},
      {"/lm_head/MatMul", "MatMul", "", "lm_head"},
      {"Conv_12", "Conv", "", "Conv"},
      {"MatMul", "MatMul", "", "MatMul"},
      {"", "Gemm", "", "Gemm"},
  };
  for (const NameCase& one : cases) {
    const NameParts parts = parts_of_name(one.name, one.op);
    EXPECT_EQ(parts.layer, one.layer) << one.name;
    EXPECT_EQ(parts.kind, one.kind) << one.name;
  }
}

}  // namespace
}  // namespace thaw::measuring
