// gptq and awq: what products of samples that they have not seen come to.
#include <cmath>
#include <numeric>
#include <random>

#include <gtest/gtest.h>

#include "thaw/ir/graph/builder.h"
#include "thaw/quant/blocks/awq.h"
#include "thaw/quant/blocks/block_writer.h"
#include "thaw/quant/blocks/gptq.h"
#include "thaw/quant/blocks/searched_error.h"
#include "thaw/quant/blocks/weight_readers.h"
#include "thaw/rewrite/pass_testing.h"
#include "thaw/rewrite/remove_unused.h"
#include "thaw/run/session.h"

namespace thaw::quantizing::blocks {
namespace {

using ir::DataType;

constexpr int64_t kIn = 128, kOut = 80, kSeen = 512, kHeldOut = 256;

// Activations as they come: few directions make most of them, and some channels are far larger than others.
std::vector<float> activations(int64_t rows, uint32_t seed) {
  std::mt19937 shape(1), random(seed);
  std::normal_distribution<float> normal;
  constexpr int64_t kDirections = 24;
  std::vector<float> mix(kDirections * kIn), sizes(kIn);
  for (float& number : mix) number = normal(shape);
  for (float& size : sizes) size = std::exp(0.8F * normal(shape));
  std::vector<float> x;
  for (int64_t r = 0; r < rows; ++r) {
    float direction[kDirections];
    for (float& number : direction) number = normal(random);
    for (int64_t i = 0; i < kIn; ++i) {
      float sum = 1.5F * normal(random);
      for (int64_t d = 0; d < kDirections; ++d) sum += direction[d] * mix[static_cast<size_t>(d * kIn + i)];
      x.push_back(sum * sizes[static_cast<size_t>(i)]);
    }
  }
  return x;
}

std::vector<float> some_weights(uint32_t seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal(0, 0.05F);
  std::vector<float> weights(kIn * kOut);
  for (float& weight : weights) weight = normal(random);
  return weights;
}

ColumnStatistics statistics_of(const std::vector<float>& x) {
  ColumnStatistics statistics(kIn, true);
  statistics.add(x);
  statistics.finish();
  return statistics;
}

std::unique_ptr<ir::Model> model_of(bool has_norm) {
  ir::ModelBuilder m(21);
  ir::Value* x = m.add_input("x", DataType::kFloat, {"rows", kIn});
  if (has_norm) {
    std::vector<float> ones(kIn, 1), some(kIn, 0.25F);
    x = m.add_node("LayerNormalization", {x, m.add_floats("scale", {kIn}, ones), m.add_floats("bias", {kIn}, some)});
  }
  m.add_output(m.add_node("MatMul", {x, m.add_floats("w", {kIn, kOut}, some_weights(1))}), "y");
  m.add_output(m.add_node("MatMul", {x, m.add_floats("v", {kIn, kOut}, some_weights(2))}), "z");
  return m.build();
}

std::vector<double> run_on(const ir::Model& model, const std::vector<float>& x) {
  run::Session session(model, {.optimization = Optimization::kNone});
  const std::vector<double> numbers(x.begin(), x.end());
  const auto rows = static_cast<int64_t>(x.size()) / kIn;
  const Arrays outputs = session.run({{"x", Array::from_doubles(DataType::kFloat, {rows, kIn}, numbers)}});
  std::vector<double> all = run::to_doubles(outputs.at("y")), z = run::to_doubles(outputs.at("z"));
  all.insert(all.end(), z.begin(), z.end());
  return all;
}

// The mean squared error of the outputs on samples that the statistics do not hold.
double held_out_error(BlockMethod method, bool has_norm, int bits, bool symmetric, bool with_statistics = true) {
  const auto original = model_of(has_norm), converted = model_of(has_norm);
  const std::vector<float> seen = activations(kSeen, 11), held_out = activations(kHeldOut, 12);
  // Of a model with a norm the statistics are its output's: close to those of its input, as that is centred.
  const ColumnStatistics statistics = statistics_of(seen);
  rewrite::PassContext context(*converted);
  BlockWriter writer(context);
  std::vector<ir::Node*> nodes;
  for (ir::Node* node : converted->graph->nodes())
    if (is_candidate(*node)) nodes.push_back(node);
  const BlockOptions options{.symmetric = symmetric, .method = method, .accuracy_level = 1};
  for (const std::string& why : writer.write(nodes, bits, options, with_statistics ? &statistics : nullptr))
    EXPECT_EQ(why, "");
  rewrite::remove_unused(*converted);
  rewrite::expect_ensured(*original, *converted);
  const auto a = run_on(*original, held_out), b = run_on(*converted, held_out);
  double error = 0;
  for (size_t i = 0; i < a.size(); ++i) error += (a[i] - b[i]) * (a[i] - b[i]) / static_cast<double>(a.size());
  return error;
}

TEST(BlockSamples, GptqAndAwqAreBelowSearchOnWhatTheyHaveNotSeen) {
  for (const bool symmetric : {false, true}) {
    for (const int bits : {2, 4, 8}) {
      const double search = held_out_error(BlockMethod::kSearch, false, bits, symmetric, false);
      const double weighted = held_out_error(BlockMethod::kSearch, false, bits, symmetric);
      const double gptq = held_out_error(BlockMethod::kGptq, false, bits, symmetric);
      const double awq = held_out_error(BlockMethod::kAwq, false, bits, symmetric);
      EXPECT_LT(weighted, search);
      EXPECT_LT(gptq, 0.6 * search);
      EXPECT_LT(awq, search);
    }
  }
}

TEST(BlockSamples, ErrorsThatMeetTheMeanOfInputsAreMadeGood) {
  std::vector<float> x = activations(kSeen, 11);
  for (size_t i = 0; i < x.size(); ++i) x[i] += i % kIn % 3 == 0 ? 40.0F : -15.0F;
  const ColumnStatistics statistics = statistics_of(x);
  const std::vector<float> weights = some_weights(1);
  const WeightMatrix weight(ir::Tensor::from_float("w", {kIn, kOut}, weights), false);
  const std::vector<float> ones(kIn, 1);
  const Importance importance = importance_of(statistics);
  const SearchWay ways[] = {{ones, &importance}, {ones}};
  const std::vector<double> errors = searched_errors(std::span(&weight, 1), ways, {}, statistics);
  EXPECT_LT(errors[0], 0.2 * errors[1]);
}

TEST(BlockSamples, MeansThatSamplesDoNotShareCountAsChance) {
  std::mt19937 random(4);
  std::normal_distribution<float> normal;
  const auto of_samples = [&](float shared, float own) {
    ColumnStatistics statistics(kIn);
    for (int sample = 0; sample < 6; ++sample) {
      std::vector<float> mean(kIn), x;
      for (float& number : mean) number = shared + own * normal(random);
      for (int row = 0; row < 50; ++row)
        for (const float number : mean) x.push_back(number + 0.1F * normal(random));
      statistics.add(x);
      statistics.end_sample();
    }
    statistics.finish();
    const Importance importance = importance_of(statistics);
    double sum = 0;
    for (const float number : importance.means) sum += static_cast<double>(number) * number / kIn;
    return sum;  // the share of the inputs' mean square that is their mean's
  };
  EXPECT_GT(of_samples(1, 0.1F), 0.95);
  EXPECT_LT(of_samples(0, 1), 0.05);
  EXPECT_TRUE(importance_of(ColumnStatistics(kIn)).empty());
}

TEST(BlockSamples, AwqFoldsItsScalesIntoTheNormBefore) {
  const auto original = model_of(true), converted = model_of(true);
  const ColumnStatistics statistics = statistics_of(activations(kSeen, 11));
  dim::Scope scope;
  infer::Inference facts(*converted, scope);
  std::vector<ir::Node*> products;
  for (ir::Node* node : converted->graph->nodes())
    if (is_candidate(*node)) products.push_back(node);
  std::vector<float> scales;
  for (int64_t i = 0; i < kIn; ++i) scales.push_back(std::ldexp(1.0F, static_cast<int>(i % 5) - 2));
  const size_t nodes = converted->graph->nodes().size();
  divide_input(*converted, facts, summed_input(*products.front()), products, scales);
  EXPECT_EQ(converted->graph->nodes().size(), nodes);
  rewrite::remove_unused(*converted);
  run::Session session(*converted);
  // The products see what they saw, divided.
  const std::vector<float> x = activations(4, 13);
  ir::Value* normed = summed_input(*products.front());
  for (ir::Node* product : products) {
    std::vector<float> unscaled;
    const std::vector<double> w = product->input(1)->constant()->to_double();
    for (size_t i = 0; i < w.size(); ++i) unscaled.push_back(static_cast<float>(w[i]) * scales[i / kOut]);
    ir::Tensor tensor = ir::Tensor::from_float("u" + product->output(0)->name(), {kIn, kOut}, unscaled);
    product->set_input(1, converted->graph->add_initializer(std::move(tensor)));
  }
  EXPECT_EQ(normed->producer()->op_type(), "LayerNormalization");
  const auto a = run_on(*original, x), b = run_on(*converted, x);
  for (size_t i = 0; i < a.size(); ++i) EXPECT_NEAR(a[i], b[i], 1e-4);
  EXPECT_LT(held_out_error(BlockMethod::kAwq, true, 4, false), held_out_error(BlockMethod::kRtn, true, 4, false));
}

TEST(BlockSamples, StatisticsLeaveOutRowsThatAreNotFinite) {
  ColumnStatistics statistics(2, true);
  statistics.add(std::vector<float>{1, 2, NAN, 1, 3, -4, INFINITY, 0});
  EXPECT_EQ(statistics.rows, 2);
  EXPECT_EQ(statistics.sum_abs, (std::vector<double>{4, 6}));
  EXPECT_EQ(statistics.sum_squares, (std::vector<double>{10, 20}));
  EXPECT_EQ(statistics.products, (std::vector<float>{10, -10, 0, 20}));
}

TEST(BlockSamples, InputsWhoseSquaresNoFloatHoldsAreTakenAsTheyAre) {
  // Powers of two of inputs change nothing: the codes are those of the inputs themselves.
  const std::vector<float> x = activations(kSeen, 11), weights = some_weights(1);
  const WeightMatrix weight(ir::Tensor::from_float("w", {kIn, kOut}, weights), false);
  const ChosenCodes expected = gptq(weight, {}, statistics_of(x));
  for (const float by : {0x1p100F, 0x1p115F}) {
    std::vector<float> large;
    for (const float number : x) large.push_back(number * by);
    const ChosenCodes chosen = gptq(weight, {}, statistics_of(large));
    EXPECT_EQ(chosen.codes, expected.codes);
    EXPECT_EQ(chosen.scales, expected.scales);
  }
}

TEST(BlockSamples, WhatFewRowsHaveInCommonCountsAsChance) {
  // Two positions that go along with each other, and two that do not.
  std::mt19937 engine(5);
  std::normal_distribution<float> normal;
  const auto products_of = [&](int rows) {
    std::vector<float> x;
    for (int i = 0; i < rows; ++i) {
      const float shared = normal(engine);
      for (const float number : {shared + 0.1F * normal(engine), shared, normal(engine), normal(engine)})
        x.push_back(number);
    }
    ColumnStatistics statistics(4, true);
    statistics.add(x);
    const float before = statistics.products[1];
    statistics.finish();
    EXPECT_EQ(statistics.products[4], statistics.products[1]);
    return statistics.products[1] / before;
  };
  EXPECT_GT(products_of(2000), 0.99F);
  EXPECT_LT(products_of(3), 0.8F);
  EXPECT_GE(products_of(1), 0.0F);
}

TEST(BlockSamples, RowsAreKeptEvenlyFromAll) {
  ColumnStatistics statistics(1);
  std::vector<float> x(1001);
  std::iota(x.begin(), x.end(), 0.0F);
  statistics.add(std::span(x).first(333));
  statistics.add(std::span(x).subspan(333));
  ASSERT_GE(statistics.kept.size(), 128U);
  ASSERT_LE(statistics.kept.size(), 256U);
  const float apart = statistics.kept[1] - statistics.kept[0];
  for (size_t i = 0; i < statistics.kept.size(); ++i) EXPECT_EQ(statistics.kept[i], static_cast<float>(i) * apart);
  EXPECT_GT(statistics.kept.back() + apart, 1000.0F);
  EXPECT_TRUE(ColumnStatistics(1, true).kept.empty());
}

TEST(BlockSamples, InputsThatWereNeverSeenDoNoHarm) {
  std::vector<float> x = activations(kSeen, 11);
  for (size_t i = 0; i < x.size(); ++i)
    if (i % kIn < 20) x[i] = 0;
  const ColumnStatistics statistics = statistics_of(x);
  const std::vector<float> weights = some_weights(1);
  const WeightMatrix weight(ir::Tensor::from_float("w", {kIn, kOut}, weights), false);
  const BlockFormat format{};
  const ChosenCodes chosen = gptq(weight, format, statistics);
  for (const float scale : chosen.scales) EXPECT_TRUE(std::isfinite(scale) && scale != 0);
  double error = 0;
  for (int64_t i = 0; i < 20; ++i) {
    for (int64_t n = 0; n < kOut; ++n) {
      const auto block = static_cast<size_t>(n * (kIn / 32) + i / 32);
      const double decoded =
          (chosen.codes[static_cast<size_t>(n * kIn + i)] - chosen.zeros[block]) * chosen.scales[block];
      error += std::abs(decoded - weights[static_cast<size_t>(i * kOut + n)]) / (20 * kOut);
    }
  }
  EXPECT_LT(error, 0.01);  // of weights of 0.05
}

}  // namespace
}  // namespace thaw::quantizing::blocks
