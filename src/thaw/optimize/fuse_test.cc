// The fusions one by one: what each is for, and what looks alike and is left.
#include <cmath>

#include <gtest/gtest.h>

#include "thaw/optimize/passes_testing.h"

namespace thaw::optimizing {
namespace {

using ir::DataType;
using ir::Dims;
using ir::ModelBuilder;
using ir::Value;

constexpr auto kOrt = OptimizeTarget::kOrt;

template <typename Fill>
std::unique_ptr<ir::Model> fused_model(const Dims& dims, Fill fill, int64_t opset = 21) {
  ModelBuilder m(opset);
  Value* x = m.add_input("x", DataType::kFloat, dims);
  m.add_output(fill(m, x), "y");
  return m.build();
}

Value* floats(ModelBuilder& m, std::vector<int64_t> dims, float first = 0.5F) {
  int64_t count = 1;
  for (const int64_t size : dims) count *= size;
  std::vector<float> values;
  for (int64_t i = 0; i < count; ++i) values.push_back(first + 0.125F * static_cast<float>(i % 5));
  return m.add_floats("", std::move(dims), values);
}

// A table of fusions for a target.
auto fusing_for(std::vector<rewrite::Fusion> (*table)(OptimizeTarget)) {
  return [table](Context& context) {
    const std::vector<rewrite::Fusion> fusions = table(context.target);
    return rewrite::fuse(context, fusions);
  };
}

TEST(Fuse, Activations) {
  const auto gelu = [](float root) {
    return fused_model({"n", 4}, [&](ModelBuilder& m, Value* x) {
      Value* erf = m.add_node("Erf", {m.add_node("Div", {x, m.add_float("", root)})});
      Value* half = m.add_node("Mul", {x, m.add_float("", 0.5F)});
      return m.add_node("Mul", {half, m.add_node("Add", {erf, m.add_float("", 1)})});
    });
  };
  EXPECT_EQ(made_by(fusing_for(fused_activations), gelu(std::sqrt(2.0F))), "Gelu");
  EXPECT_EQ(made_by(fusing_for(fused_activations), gelu(std::sqrt(2.0F)), kOrt), "Gelu");
  expect_left(fusing_for(fused_activations), gelu(1.5F));
}

TEST(Fuse, Norms) {
  const auto norm = [](int64_t axis) {
    return fused_model({"n", "m", 4}, [&](ModelBuilder& m, Value* x) {
      const auto mean = [&](Value* of) { return m.add_node("ReduceMean", {of, m.add_ints("", {axis})}); };
      Value* centred = m.add_node("Sub", {x, mean(x)});
      Value* variance = mean(m.add_node("Pow", {centred, m.add_float("", 2)}));
      Value* deviation = m.add_node("Sqrt", {m.add_node("Add", {variance, m.add_float("", 1e-5F)})});
      Value* scaled = m.add_node("Mul", {m.add_node("Div", {centred, deviation}), floats(m, {4})});
      return m.add_node("Add", {scaled, floats(m, {4}, -1)});
    });
  };
  EXPECT_EQ(made_by(fusing_for(fused_norms), norm(-1)), "LayerNormalization");
  expect_left(fusing_for(fused_norms), norm(1));
}

TEST(Fuse, Attention) {
  const auto attention = [](int64_t axis) {
    ModelBuilder m(23);
    const auto heads = [&](const char* name) { return m.add_input(name, DataType::kFloat, {"b", 2, "s", 8}); };
    Value *q = heads("q"), *k = heads("k"), *v = heads("v");
    Value* transposed = m.add_node("Transpose", {k}, {{"perm", std::vector<int64_t>{0, 1, 3, 2}}});
    Value* scores = m.add_node("Mul", {m.add_node("MatMul", {q, transposed}), m.add_float("", 0.25F)});
    m.add_output(m.add_node("MatMul", {m.add_node("Softmax", {scores}, {{"axis", axis}}), v}), "y");
    return m.build();
  };
  EXPECT_EQ(made_by(fuse_attention, attention(-1)), "Attention");
  expect_left(fuse_attention, attention(2));
}

TEST(Fuse, Rotary) {
  const auto transposed = [](bool negates) {
    ModelBuilder m(23);
    Value* x = m.add_input("x", DataType::kFloat, {"b", 2, "s", 8});
    const auto angles = [&](const char* name) { return m.add_input(name, DataType::kFloat, {"s", 4}); };
    Value *cos_half = angles("cos"), *sin_half = angles("sin");
    const auto doubled = [&](Value* half) { return m.add_node("Concat", {half, half}, {{"axis", int64_t{-1}}}); };
    const auto part = [&](int64_t from, int64_t to) {
      return m.add_node("Slice", {x, m.add_ints("", {from}), m.add_ints("", {to}), m.add_ints("", {3})});
    };
    Value* second = negates ? m.add_node("Neg", {part(4, 8)}) : part(4, 8);
    Value* rotated = m.add_node("Concat", {second, part(0, 4)}, {{"axis", int64_t{-1}}});
    m.add_output(
        m.add_node("Add", {m.add_node("Mul", {x, doubled(cos_half)}), m.add_node("Mul", {rotated, doubled(sin_half)})}),
        "y");
    return m.build();
  };
  EXPECT_NE(made_by(fuse_rotary, transposed(true)).find("RotaryEmbedding"), std::string::npos);
  const auto mirrored = transposed(false);
  Context context(*mirrored);
  EXPECT_EQ(fuse_rotary(context), 0);
}

TEST(Fuse, Skips) {
  const auto skip = [](const Dims& dims) {
    ModelBuilder m(21);
    Value *x = m.add_input("x", DataType::kFloat, dims), *y = m.add_input("y", DataType::kFloat, dims);
    Value* sum = m.add_node("Add", {x, y});
    m.add_output(m.add_node("LayerNormalization", {sum, floats(m, {4}), floats(m, {4})}), "z");
    return m.build();
  };
  EXPECT_EQ(made_by(fuse_skips, skip({"b", "s", 4}), kOrt), "SkipLayerNormalization");
  expect_left(fuse_skips, skip({"s", 4}), kOrt);  // rows without a batch
}

TEST(Fuse, Convolutions) {
  const auto scaled = [](std::vector<int64_t> factors) {
    return fused_model({"n", 3, "h", "w"}, [&](ModelBuilder& m, Value* x) {
      Value* conv = m.add_node("Conv", {x, floats(m, {2, 3, 3, 3})}, {{"kernel_shape", std::vector<int64_t>{3, 3}}});
      return m.add_node("Mul", {conv, floats(m, std::move(factors))});
    });
  };
  EXPECT_EQ(made_by(fuse_convolutions, scaled({2, 1, 1})), "Conv");
  expect_left(fuse_convolutions, scaled({1, 1, 2}));  // along the width
}

TEST(Fuse, LinearNorms) {
  const auto normed = [](std::string_view op) {
    return fused_model({"n", 4}, [&](ModelBuilder& m, Value* x) {
      Value* product = m.add_node("MatMul", {x, floats(m, {4, 3})});
      return m.add_node(op, {product, floats(m, {3}), floats(m, {3}), floats(m, {3}), floats(m, {3}, 1)});
    });
  };
  EXPECT_EQ(made_by(fuse_linear_norms, normed("BatchNormalization")), "MatMul Add");
}

TEST(Fuse, WholeConvolutions) {
  const auto patches = [](bool are_cut) {
    return fused_model({"n", are_cut ? 48 : 3, 4, 4}, [&](ModelBuilder& m, Value* x) {
      Value* image = are_cut ? m.add_node("Reshape", {x, m.add_ints("", {-1, 3, 4, 4})}) : x;
      return m.add_node("Conv", {image, floats(m, {2, 3, 4, 4})});
    });
  };
  EXPECT_EQ(made_by(simplifying(whole_convolutions()), patches(true)), "Reshape Reshape Gemm Reshape");
  expect_left(simplifying(whole_convolutions()), patches(false));  // an image that happens to be as large as the kernel
}

TEST(Fuse, ConvActivations) {
  const auto conv = [](std::string_view activation) {
    return fused_model({"n", 3, "h", "w"}, [&](ModelBuilder& m, Value* x) {
      return m.add_node(activation, {m.add_node("Conv", {x, floats(m, {2, 3, 3, 3})})});
    });
  };
  EXPECT_EQ(made_by(fuse_conv_activations, conv("Relu"), kOrt), "FusedConv");
  expect_left(fuse_conv_activations, conv("Elu"), kOrt);
}

TEST(Fuse, Products) {
  const auto product = [](bool has_weight) {
    return fused_model({"b", "s", 4}, [&](ModelBuilder& m, Value* x) {
      Value* right =
          has_weight ? floats(m, {4, 4}) : m.add_node("Transpose", {x}, {{"perm", std::vector<int64_t>{0, 2, 1}}});
      return m.add_node("Mul", {m.add_node("MatMul", {x, right}), m.add_float("", 0.5F)});
    });
  };
  EXPECT_EQ(made_by(fuse_products, product(false), kOrt), "FusedMatMul");
  expect_left(fuse_products, product(true), kOrt);  // quantizers look for a MatMul
}

TEST(Fuse, BlockWeights) {
  const auto product = [](int64_t columns_first) {
    return fused_model({"n", 32}, [&](ModelBuilder& m, Value* x) {
      const std::vector<int64_t> dims = columns_first != 0 ? std::vector<int64_t>{2, 32} : std::vector<int64_t>{32, 2};
      const std::vector<int64_t> blocks = columns_first != 0 ? std::vector<int64_t>{2, 2} : std::vector<int64_t>{2, 2};
      Value* codes = m.add_tensor(ir::Tensor::from_bytes("codes", DataType::kInt4, dims, std::vector<std::byte>(32)));
      Value* weight = m.add_node("DequantizeLinear", {codes, floats(m, blocks)},
                                 {{"axis", columns_first}, {"block_size", int64_t{16}}});
      if (columns_first != 0) weight = m.add_node("Transpose", {weight}, {{"perm", std::vector<int64_t>{1, 0}}});
      return m.add_node("MatMul", {x, weight});
    });
  };
  EXPECT_EQ(made_by(fuse_block_weights, product(1), kOrt), "MatMulNBits");
  expect_left(fuse_block_weights, product(0), kOrt);  // ONNX Runtime makes one of it by itself
}

}  // namespace
}  // namespace thaw::optimizing
