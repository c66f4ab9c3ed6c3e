#include "thaw/quant/blocks/block_writer.h"

#include <cmath>
#include <functional>
#include <random>
#include <set>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "thaw/core/error.h"
#include "thaw/core/temp_folder_testing.h"
#include "thaw/ir/data/tensor_source.h"
#include "thaw/ir/graph/builder.h"
#include "thaw/quant/blocks/weight_readers.h"
#include "thaw/rewrite/pass_testing.h"
#include "thaw/rewrite/remove_unused.h"
#include "thaw/run/session.h"

namespace thaw::quantizing::blocks {
namespace {

using ir::DataType;
using testing::HasSubstr;

constexpr int64_t kRows = 3;

// Weights that blocks can say without an error: each column's block has its outermost codes and a scale of its own.
std::vector<double> sayable(int64_t k, int64_t n, int bits, int64_t block, bool symmetric) {
  std::mt19937 random(static_cast<uint32_t>(k * 31 + n));
  std::vector<double> weights(static_cast<size_t>(k * n));
  const int levels = (1 << bits) - 1;
  for (int64_t column = 0; column < n; ++column) {
    int zero = 0;
    double scale = 1;
    for (int64_t i = 0; i < k; ++i) {
      if (i % block == 0) {
        zero = symmetric ? 1 << (bits - 1) : static_cast<int>(random() % static_cast<unsigned>(levels + 1));
        scale = std::ldexp(1.0, static_cast<int>(random() % 4) - bits);
      }
      const int code = i % block == 0   ? 0
                       : i % block == 1 ? levels
                                        : static_cast<int>(random() % static_cast<unsigned>(levels + 1));
      weights[static_cast<size_t>(i * n + column)] = (code - zero) * scale;
    }
  }
  return weights;
}

std::vector<double> transposed(const std::vector<double>& matrix, int64_t rows, int64_t columns) {
  std::vector<double> result(matrix.size());
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < columns; ++j)
      result[static_cast<size_t>(j * rows + i)] = matrix[static_cast<size_t>(i * columns + j)];
  return result;
}

ir::Tensor tensor(std::string name, DataType type, std::vector<int64_t> dims, std::span<const double> values) {
  Array array = Array::from_doubles(type, dims, values);
  return ir::Tensor::from_bytes(std::move(name), type, std::move(dims), std::move(array.bytes));
}

std::vector<double> input(int64_t count) {
  std::vector<double> x;
  for (int64_t i = 0; i < count; ++i) x.push_back(0.25 * static_cast<double>(i * 7 % 17) - 2);
  return x;
}

// What ONNX Runtime fuses a DequantizeLinear into rounds the activations too: by default it fuses nothing here.
std::vector<double> result_of(const ir::Model& model, const Array& x, const std::string& output = "y",
                              Optimization optimization = Optimization::kNone) {
  run::Session session(model, {.optimization = optimization});
  return run::to_doubles(session.run({{"x", x}}).at(output));
}

struct Conversion {
  std::vector<std::string> why;  // of each node that was asked for
  rewrite::Changes changes;
};

Conversion convert_candidates(ir::Model& model, int bits, const BlockOptions& options,
                              const ColumnStatistics* statistics = nullptr) {
  rewrite::PassContext context(model);
  BlockWriter writer(context);
  Conversion result;
  std::vector<ir::Node*> nodes;
  for (ir::Node* node : model.graph->nodes())
    if (is_candidate(*node)) nodes.push_back(node);
  for (ir::Node* node : nodes) result.why.push_back(writer.write(*node, bits, options, statistics));
  rewrite::remove_unused(model);
  result.changes = std::move(context.changes);
  return result;
}

size_t count_of(const ir::Model& model, std::string_view op) {
  size_t count = 0;
  for (const ir::Node* node : model.graph->nodes()) count += node->op_type() == op;
  return count;
}

struct Case {
  const char* op;
  int64_t k, n;
  int bits;
  int64_t block;
  bool symmetric;
  BlockForm form = BlockForm::kMatMulNBits;
  DataType type = DataType::kFloat;
  bool has_bias = false, x_is_transposed = false, weight_is_transposed = false;
  float alpha = 1, beta = 1;
  bool behind_transpose = false;
};

std::unique_ptr<ir::Model> product_model(const Case& c) {
  ir::ModelBuilder m(c.bits == 2 ? 25 : 21);
  const std::vector<double> weights = sayable(c.k, c.n, c.bits, c.block, c.symmetric);
  const bool is_transposed = c.weight_is_transposed != c.behind_transpose;
  ir::Value* x = c.x_is_transposed ? m.add_input("x", c.type, {c.k, "rows"}) : m.add_input("x", c.type, {"rows", c.k});
  ir::Value* w = m.add_tensor(is_transposed ? tensor("w", c.type, {c.n, c.k}, transposed(weights, c.k, c.n))
                                            : tensor("w", c.type, {c.k, c.n}, weights));
  if (c.behind_transpose) w = m.add_node("Transpose", {w}, {{"perm", std::vector<int64_t>{1, 0}}});
  std::vector<ir::Value*> inputs{x, w};
  if (c.has_bias) inputs.push_back(m.add_tensor(tensor("b", c.type, {c.n}, input(c.n))));
  std::vector<ir::Attribute> attributes;
  if (std::string_view(c.op) == "Gemm")
    attributes = {{"alpha", c.alpha},
                  {"beta", c.beta},
                  {"transA", int64_t{c.x_is_transposed}},
                  {"transB", int64_t{c.weight_is_transposed}}};
  m.add_output(m.add_node(c.op, inputs, attributes), "y");
  return m.build();
}

class Products : public testing::TestWithParam<Case> {};

TEST_P(Products, AreTheSameInBlocks) {
  const Case& c = GetParam();
  const auto original = product_model(c);
  const auto x = Array::from_doubles(c.type, {c.x_is_transposed ? c.k : kRows, c.x_is_transposed ? kRows : c.k},
                                     input(kRows * c.k));
  const std::vector<double> expected = result_of(*original, x);
  for (const BlockMethod method : {BlockMethod::kRtn, BlockMethod::kSearch}) {
    const auto converted = ir::clone(*original);
    const auto conversion = convert_candidates(*converted, c.bits,
                                               {.block = c.block,
                                                .symmetric = c.symmetric,
                                                .method = method,
                                                .form = c.form,
                                                .accuracy_level = c.form == BlockForm::kQdq ? 0 : 1});
    ASSERT_THAT(conversion.why, testing::ElementsAre(""));
    EXPECT_EQ(conversion.changes.made.size(), 1u);
    rewrite::expect_ensured(*original, *converted);
    EXPECT_EQ(converted->graph->find("w"), nullptr);
    EXPECT_EQ(count_of(*converted, c.form == BlockForm::kQdq ? "DequantizeLinear" : "MatMulNBits"), 1u);
    const std::vector<double> found = result_of(*converted, x);
    ASSERT_EQ(found.size(), expected.size());
    double largest = 0;
    for (const double number : expected) largest = std::max(largest, std::abs(number));
    for (size_t i = 0; i < found.size(); ++i)
      EXPECT_NEAR(found[i], expected[i], largest * (c.type == DataType::kFloat ? 1e-5 : 2e-3)) << i;
    const std::vector<double> fused = result_of(*converted, x, "y", Optimization::kAll);
    ASSERT_EQ(fused.size(), expected.size());
    for (size_t i = 0; i < fused.size(); ++i) EXPECT_NEAR(fused[i], expected[i], largest * 0.03) << i;
    if (c.form == BlockForm::kMatMulNBits) {
      // And from a file: what is written there is made by another pass.
      TempFolder folder;
      ir::save(*converted, folder / "m.onnx");
      run::Session session(folder / "m.onnx", {.optimization = Optimization::kNone});
      EXPECT_EQ(run::to_doubles(session.run({{"x", x}}).at("y")), found);
    }
  }
}

constexpr BlockForm kQdq = BlockForm::kQdq, kNBits = BlockForm::kMatMulNBits;
INSTANTIATE_TEST_SUITE_P(
    Blocks, Products,
    testing::Values(Case{"MatMul", 64, 48, 4, 32, false}, Case{"MatMul", 64, 5, 4, 16, true},
                    Case{"MatMul", 40, 33, 4, 32, false}, Case{"MatMul", 20, 7, 4, 32, true},
                    Case{"MatMul", 300, 17, 2, 256, false}, Case{"MatMul", 96, 20, 2, 32, true},
                    Case{"MatMul", 64, 48, 3, 32, false}, Case{"MatMul", 45, 33, 3, 16, true},
                    Case{"MatMul", 64, 18, 3, 32, false, kNBits, DataType::kFloat16},
                    Case{"MatMul", 41, 9, 3, 16, false, kQdq}, Case{"MatMul", 64, 24, 3, 32, true, kQdq},
                    Case{"Gemm", 45, 23, 3, 16, true, kQdq, DataType::kFloat, true, true, true, 0.5, 3},
                    Case{"Gemm", 64, 24, 3, 32, false, kQdq, DataType::kFloat16, true, false, true},
                    Case{"Gemm", 64, 24, 3, 32, true, kNBits, DataType::kFloat, true, true, true, -0.5, 2},
                    Case{"MatMul", 50, 20, 8, 16, false}, Case{"MatMul", 33, 1, 8, 16, true},
                    Case{"MatMul", 2, 3, 4, 16, false},
                    Case{"MatMul", 64, 18, 4, 32, false, kNBits, DataType::kFloat16},
                    Case{"MatMul", 64, 18, 4, 32, true, kNBits, DataType::kFloat, false, false, false, 1, 1, true},
                    Case{"MatMul", 70, 35, 4, 32, false, kQdq}, Case{"MatMul", 64, 21, 4, 16, true, kQdq},
                    Case{"MatMul", 64, 20, 2, 16, false, kQdq}, Case{"MatMul", 70, 24, 2, 32, true, kQdq},
                    Case{"Gemm", 64, 21, 2, 32, false, kQdq, DataType::kFloat, true, false, true},
                    Case{"MatMul", 48, 9, 8, 32, false, kQdq}, Case{"MatMul", 48, 9, 8, 16, true, kQdq},
                    Case{"MatMul", 41, 9, 4, 16, false, kQdq, DataType::kFloat, false, false, false, 1, 1, true},
                    Case{"Gemm", 64, 24, 4, 32, false, kNBits, DataType::kFloat, true},
                    Case{"Gemm", 64, 24, 4, 32, true, kNBits, DataType::kFloat, true, true, true, -0.5, 2},
                    Case{"Gemm", 45, 24, 4, 16, false, kNBits, DataType::kFloat, false, false, true, 3, 1},
                    Case{"Gemm", 45, 23, 4, 16, false, kQdq, DataType::kFloat, true, true, true, 0.5, 3},
                    Case{"Gemm", 64, 23, 4, 32, true, kQdq, DataType::kFloat, true, false, false, 2, 1}));

// x looks rows up in a table, and what they are multiplied by is the same table: tied embeddings.
std::unique_ptr<ir::Model> tied_model(int64_t width, bool product_first, int bits) {
  constexpr int64_t kWords = 50;
  ir::ModelBuilder m(21);
  ir::Value* x = m.add_input("x", DataType::kInt64, {"batch", "length"});
  ir::Value* table = m.add_tensor(tensor("table", DataType::kFloat, {kWords, width},
                                         transposed(sayable(width, kWords, bits, 32, false), width, kWords)));
  ir::Value* back = product_first ? m.add_node("Transpose", {table}, {{"perm", std::vector<int64_t>{1, 0}}}) : nullptr;
  ir::Value* other =
      product_first
          ? m.add_node("MatMul",
                       {m.add_floats("ones", {1, width}, std::vector<float>(static_cast<size_t>(width), 1)), back})
          : nullptr;
  ir::Value* rows = m.add_node("Gather", {table, x});
  if (!back) back = m.add_node("Transpose", {table}, {{"perm", std::vector<int64_t>{1, 0}}});
  ir::Value* y = m.add_node("MatMul", {rows, back});
  if (other) y = m.add_node("Add", {y, other});
  m.add_output(rows, "rows");
  m.add_output(y, "y");
  return m.build();
}

// A weight that is made in chunks that end anywhere, as those of a checkpoint are.
class InPieces final : public ir::TensorSource {
 public:
  explicit InPieces(ir::Tensor tensor) : tensor_(std::move(tensor)), bytes_(tensor_.bytes()) {}
  void write(const Sink& sink) const override {
    for (size_t at = 0, size = 1; at < bytes_.size(); at += size, size = size * 7 % 1009)
      sink(bytes_.subspan(at, std::min(size, bytes_.size() - at)));
  }

 private:
  ir::Tensor tensor_;
  std::span<const std::byte> bytes_;
};

std::vector<std::byte> bytes_of(const ir::Tensor& made) {
  std::vector<std::byte> bytes;
  made.source()->write(
      [&](std::span<const std::byte> chunk) { bytes.insert(bytes.end(), chunk.begin(), chunk.end()); });
  EXPECT_EQ(bytes.size(), made.num_bytes());
  return bytes;
}

TEST(BlockWriter, AWeightThatIsMadeIsTheSameAsOneThatIsThere) {
  for (const Layout layout : {Layout::kColumns, Layout::kTable, Layout::kAsStored}) {
    for (const auto& [rows, columns] : {std::pair<int64_t, int64_t>{70, 40}, {64, 33}, {3000, 1500}}) {
      for (const bool is_transposed : {false, true}) {
        if (layout == Layout::kTable && (!is_transposed || columns % 2 != 0)) continue;
        const ir::Tensor there = tensor("w", DataType::kFloat, {rows, columns}, input(rows * columns));
        const ir::Tensor made =
            ir::Tensor::made("w", DataType::kFloat, {rows, columns}, std::make_shared<InPieces>(there));
        const BlockFormat format{.symmetric = columns == 33};
        const BlockTensors a = in_blocks(WeightMatrix(there, is_transposed), format, layout, rtn);
        const BlockTensors b = in_blocks(WeightMatrix(made, is_transposed), format, layout, rtn);
        // Whatever is asked for first, and again.
        EXPECT_EQ(bytes_of(a.codes), bytes_of(b.codes));
        EXPECT_EQ(bytes_of(a.scales), bytes_of(b.scales));
        EXPECT_EQ(bytes_of(a.codes), bytes_of(b.codes));
        if (a.zeros) {
          EXPECT_EQ(bytes_of(*a.zeros), bytes_of(*b.zeros));
        }
        EXPECT_EQ(bytes_of(b.scales), bytes_of(a.scales));
      }
    }
  }
}

TEST(BlockWriter, TiedEmbeddingsAreOneTensor) {
  for (const auto& [width, bits] : {std::pair<int64_t, int>{64, 4}, {40, 4}, {64, 3}, {40, 3}}) {
    for (const bool product_first : {false, true}) {
      const auto original = tied_model(width, product_first, bits);
      const auto converted = ir::clone(*original);
      const Conversion conversion = convert_candidates(*converted, bits, {.accuracy_level = 1});
      for (const std::string& why : conversion.why) EXPECT_EQ(why, "");
      rewrite::expect_ensured(*original, *converted);
      EXPECT_EQ(converted->graph->find("table"), nullptr);
      std::set<const void*> sources;
      int tensors = 0;
      for (const ir::Value* value : converted->graph->initializers()) {
        if (!value->initializer()->source()) continue;
        ++tensors;
        sources.insert(value->initializer()->source());
      }
      // A row that ends within a block is filled up for a product and not for a lookup.
      EXPECT_EQ(tensors, width % 32 == 0 ? 3 : 6) << width << product_first;
      EXPECT_EQ(sources.size(), width % 32 == 0 ? 3u : 6u);
      const auto x = Array::from_int64(DataType::kInt64, {2, 3}, std::vector<int64_t>{0, 49, 7, 3, 12, 31});
      for (const std::string output : {"rows", "y"}) {
        const auto expected = result_of(*original, x, output), found = result_of(*converted, x, output);
        ASSERT_EQ(found.size(), expected.size());
        for (size_t i = 0; i < found.size(); ++i) EXPECT_NEAR(found[i], expected[i], 1e-3) << output;
      }
    }
  }
}

TEST(BlockWriter, LookupsAreTheSame) {
  for (const int bits : {2, 3, 4, 8}) {
    for (const auto& [width, symmetric] : {std::pair<int64_t, bool>{64, true}, {40, false}, {20, true}}) {
      ir::ModelBuilder m(21);
      ir::Value* x = m.add_input("x", DataType::kInt64, {"n"});
      ir::Value* table = m.add_tensor(tensor("table", DataType::kFloat, {19, width},
                                             transposed(sayable(width, 19, bits, 16, symmetric), width, 19)));
      m.add_output(m.add_node("Gather", {table, x}), "y");
      const auto original = m.build();
      const auto converted = ir::clone(*original);
      EXPECT_THAT(convert_candidates(*converted, bits, {.block = 16, .symmetric = symmetric}).why,
                  testing::ElementsAre(""));
      rewrite::expect_ensured(*original, *converted);
      EXPECT_EQ(count_of(*converted, "GatherBlockQuantized"), 1u);
      const auto indices = Array::from_int64(DataType::kInt64, {4}, std::vector<int64_t>{18, 0, -1, 5});
      const auto expected = result_of(*original, indices), found = result_of(*converted, indices);
      ASSERT_EQ(found.size(), expected.size());
      for (size_t i = 0; i < found.size(); ++i) EXPECT_NEAR(found[i], expected[i], 1e-4) << bits << " " << width;
    }
  }
}

TEST(BlockWriter, AWeightOfSeveralProductsIsPackedOnce) {
  ir::ModelBuilder m(21);
  ir::Value* x = m.add_input("x", DataType::kFloat, {"rows", 64});
  ir::Value* w = m.add_tensor(tensor("w", DataType::kFloat, {64, 64}, sayable(64, 64, 4, 32, false)));
  m.add_output(m.add_node("MatMul", {m.add_node("MatMul", {x, w}), w}), "y");
  const auto model = m.build();
  convert_candidates(*model, 4, {});
  EXPECT_EQ(count_of(*model, "MatMulNBits"), 2u);
  EXPECT_EQ(model->graph->initializers().size(), 3u);
}

TEST(BlockWriter, SaysWhyNot) {
  const auto why = [](const std::function<void(ir::ModelBuilder&)>& build, int bits, const BlockOptions& options,
                      int opset = 21) {
    ir::ModelBuilder m(opset);
    build(m);
    const auto model = m.build();
    const std::string before = ir::serialize(*model);
    const Conversion conversion = convert_candidates(*model, bits, options);
    EXPECT_EQ(ir::serialize(*model), before);
    return conversion.why.empty() ? "no candidate" : conversion.why.front();
  };
  const auto product = [](DataType type, std::vector<int64_t> dims, ir::Dims x_dims) {
    return [=](ir::ModelBuilder& m) {
      ir::Value* x = m.add_input("x", type, x_dims);
      m.add_output(m.add_node("MatMul", {x, m.add_zeros("w", type, dims)}), "y");
    };
  };
  const auto plain = product(DataType::kFloat, {32, 4}, {"n", 32});
  EXPECT_THAT(why(plain, 3, {}, 17), HasSubstr("takes opset 18"));
  EXPECT_THAT(why(plain, 3, {.form = kQdq}, 20), HasSubstr("takes opset 21"));
  EXPECT_THAT(why(plain, 2, {.form = kQdq}), HasSubstr("takes opset 25"));
  EXPECT_THAT(why(product(DataType::kFloat, {32, 6}, {"n", 32}), 2, {.form = kQdq}, 25), HasSubstr("wrong results"));
  EXPECT_THAT(why(plain, 5, {}), HasSubstr("quantization to 5 bits is not supported"));
  EXPECT_THAT(why(plain, 4, {.block = 8}), HasSubstr("not 8"));
  EXPECT_THAT(why(plain, 4, {.block = 48}), HasSubstr("not 48"));
  EXPECT_THAT(why(plain, 4, {.form = kQdq}, 17), HasSubstr("opset 21"));
  EXPECT_THAT(why(plain, 4, {.method = BlockMethod::kGptq}), HasSubstr("needs samples"));
  EXPECT_EQ(why(product(DataType::kInt32, {32, 4}, {"n", 32}), 4, {}), "no candidate");
  EXPECT_THAT(why(product(DataType::kFloat, {32, 4}, {32}), 4, {}), HasSubstr("a vector"));
  EXPECT_THAT(why(product(DataType::kFloat, {0, 4}, {"n", 0}), 4, {}), HasSubstr("empty"));
  EXPECT_THAT(why(product(DataType::kFloat, {3, 32, 4}, {3, "n", 32}), 4, {}), HasSubstr("has 3 axes"));
  const auto lookup = [](ir::ModelBuilder& m) {
    m.add_output(
        m.add_node("Gather", {m.add_zeros("w", DataType::kFloat, {4, 33}), m.add_input("x", DataType::kInt64, {"n"})}),
        "y");
  };
  EXPECT_THAT(why(lookup, 4, {}), HasSubstr("ends within a byte"));
  EXPECT_THAT(why(lookup, 4, {.form = kQdq}), HasSubstr("dequantize the whole table"));
}

TEST(BlockWriter, NanAndInfinityAreOneErrorThatNamesTheWeight) {
  for (const bool is_transposed : {false, true}) {
    for (const float bad : {std::nanf(""), INFINITY}) {
      ir::ModelBuilder m(21);
      std::vector<float> weights(size_t{40} * 40, 0.5F);
      weights[1234] = bad;
      ir::Value* x = m.add_input("x", DataType::kFloat, {"rows", 40});
      m.add_output(
          m.add_node("Gemm", {x, m.add_floats("lm_head", {40, 40}, weights)}, {{"transB", int64_t{is_transposed}}}),
          "y");
      const auto model = m.build();
      EXPECT_THAT(convert_candidates(*model, 4, {}).why, testing::ElementsAre(""));
      TempFolder folder;
      try {
        ir::save(*model, folder / "m.onnx");
        ADD_FAILURE();
      } catch (const Error& error) {
        EXPECT_EQ(error.code(), ErrorCode::kInvalidFile);
        EXPECT_THAT(error.what(), HasSubstr("lm_head"));
      }
      EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
    }
  }
}

}  // namespace
}  // namespace thaw::quantizing::blocks
