// What holds of the parts of a model wherever it is cut.
#include "thaw/split/split.h"

#include <algorithm>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "thaw/core/error_testing.h"
#include "thaw/dim/text/text.h"
#include "thaw/infer/infer.h"
#include "thaw/ir/graph/builder.h"
#include "thaw/ir/graph/consistency_testing.h"
#include "thaw/ir/graph/small_models_testing.h"

namespace thaw::splitting {
namespace {

using ir::SmallModel;
using ir::Value;
using testing::ElementsAreArray;
using testing::HasSubstr;
using testing::SizeIs;

constexpr uint32_t kSeeds = 40;

SmallModel small_model(uint32_t seed) { return ir::small_model(seed, "batch"); }

// Names of the tensors that nodes make of inputs, apart from sizes: what is work.
std::multiset<std::string> work_of(const ir::Model& model) {
  dim::Scope scope;
  const infer::Result facts = infer::infer(model, scope);
  EXPECT_TRUE(facts.problems().empty());
  const Passings passings(model, facts);
  std::multiset<std::string> names;
  for (const ir::Node* node : model.graph->nodes())
    if (passings.is_work(*node)) names.insert(node->output(0)->name());
  return names;
}

uint64_t weights_of(const ir::Model& model) {
  uint64_t bytes = 0;
  for (const Value* weight : model.graph->initializers())
    if (weight->initializer()->data_type == ir::DataType::kFloat) bytes += weight->initializer()->num_bytes();
  return bytes;
}

std::map<std::string, std::string> sizes_of(const ir::Model& model, std::span<Value* const> values) {
  dim::Scope scope;
  const infer::Result facts = infer::infer(model, scope);
  std::map<std::string, std::string> sizes;
  for (const Value* value : values) {
    std::string& text = sizes[value->name()];
    for (const dim::Dim size : *facts.fact(value).shape) text += dim::to_string(size) + " ";
  }
  return sizes;
}

std::string refusal(const ir::Model& model, const SplitOptions& options) {
  return error_of([&] { static_cast<void>(split(model, options)); });
}

void expect_whole(const SmallModel& whole, const Result& result, size_t parts) {
  const ir::Model& model = *whole.model;
  ASSERT_THAT(result.parts, SizeIs(parts));
  const auto wanted = sizes_of(model, model.graph->outputs());
  std::set<std::string> there{"x"}, given;
  std::multiset<std::string> work;
  uint64_t weights = 0;
  for (const Part& part : result.parts) {
    EXPECT_EQ(ir::inconsistency(*part.model->graph), "");
    for (const Value* input : part.model->graph->inputs()) EXPECT_TRUE(there.contains(input->name())) << input->name();
    for (const auto& [name, sizes] : sizes_of(*part.model, part.model->graph->outputs())) {
      there.insert(name);
      if (const auto known = wanted.find(name); known != wanted.end()) {
        EXPECT_EQ(sizes, known->second);
      }
    }
    const auto own = work_of(*part.model);
    EXPECT_FALSE(own.empty());
    work.insert(own.begin(), own.end());
    weights += weights_of(*part.model);
  }
  for (const auto& [name, sizes] : wanted) EXPECT_TRUE(there.contains(name)) << name;
  EXPECT_EQ(work, work_of(model));  // each node in one part
  EXPECT_EQ(weights, weights_of(model));
}

TEST(Split, PartsOfACutAnywhereAreTheModel) {
  for (uint32_t seed = 0; seed < kSeeds; ++seed) {
    const SmallModel whole = small_model(seed);
    const std::string before = ir::serialize(*whole.model);
    for (size_t layer = 0; layer + 1 < whole.layers.size(); ++layer) {
      SCOPED_TRACE(testing::Message() << seed << ", " << whole.layers[layer]);
      const Result result = split(*whole.model, {.at = {{whole.layers[layer]}}});
      expect_whole(whole, result, 2);
      EXPECT_NE(result.parts.front().model->graph->find(whole.layers[layer]), nullptr);
    }
    EXPECT_EQ(ir::serialize(*whole.model), before);
  }
}

TEST(Split, TwoCutsInAnyOrderMakeTheSameThreeParts) {
  for (uint32_t seed = 0; seed < kSeeds; ++seed) {
    SCOPED_TRACE(seed);
    const SmallModel whole = small_model(seed);
    if (whole.layers.size() < 4) continue;
    const std::string first = whole.layers[1], second = whole.layers[2];
    const Result result = split(*whole.model, {.at = {{first}, {second}}}),
                 again = split(*whole.model, {.at = {{second}, {first}}});
    expect_whole(whole, result, 3);
    ASSERT_THAT(again.parts, SizeIs(3));
    for (size_t part = 0; part < 3; ++part)
      EXPECT_EQ(ir::serialize(*result.parts[part].model), ir::serialize(*again.parts[part].model));
  }
}

// Both orders of the same values: no order by their addresses, or by a hash, gives both.
TEST(Stages, OperandsAreInTheOrderInWhichTheyAreRead) {
  ir::ModelBuilder m;
  std::vector<Value*> inputs;
  for (int i = 0; i < 6; ++i) inputs.push_back(m.add_input("x" + std::to_string(i), ir::DataType::kFloat, {"n"}));
  Value* condition = m.add_input("condition", ir::DataType::kBool, {});
  for (int order = 0; order < 2; ++order, std::ranges::reverse(inputs)) {
    std::vector<Value*> repeated(inputs);
    repeated.insert(repeated.begin() + 3, inputs.begin(), inputs.begin() + 2);
    EXPECT_THAT(operands_of(*m.add_node("Sum", repeated)->producer()), ElementsAreArray(inputs));

    const auto branch = [&](size_t first, size_t last) {
      return m.make_subgraph("branch", [&](ir::GraphBuilder& b) {
        b.add_output(b.add_node("Sum", std::vector<Value*>(inputs.begin() + static_cast<std::ptrdiff_t>(first),
                                                           inputs.begin() + static_cast<std::ptrdiff_t>(last))));
      });
    };
    const ir::Node& either =
        *m.add_node("If", {condition}, {{"then_branch", branch(0, 4)}, {"else_branch", branch(2, 6)}})->producer();
    std::vector<const Value*> wanted{condition};
    wanted.insert(wanted.end(), inputs.begin(), inputs.end());
    EXPECT_THAT(operands_of(either), ElementsAreArray(wanted));
  }
}

TEST(Split, ChosenPositionsAreNarrowOnesInOrder) {
  for (uint32_t seed = 0; seed < kSeeds; ++seed) {
    SCOPED_TRACE(seed);
    const SmallModel whole = small_model(seed);
    double weights = 0;
    for (const CutPoint& point : cut_points(*whole.model, {})) {
      EXPECT_GE(point.weight_share_before, weights);
      EXPECT_LE(point.weight_share_before, 1);
      weights = point.weight_share_before;
      EXPECT_FALSE(point.tensors.empty());
      EXPECT_FALSE(point.bytes.empty());
      expect_whole(whole, split(*whole.model, {.at = {point.tensors}}), 2);
    }
    expect_whole(whole, split(*whole.model, {.parts = 2, .balance = SplitBalance::kFlops}), 2);
  }
}

TEST(Stages, NoNodeRunsBeforeWhatItReads) {
  for (uint32_t seed = 0; seed < kSeeds; ++seed) {
    const SmallModel whole = small_model(seed);
    dim::Scope scope;
    const infer::Result facts = infer::infer(*whole.model, scope);
    const Passings passings(*whole.model, facts);
    const Cut cuts[] = {{whole.model->graph->find(whole.layers.front())}};
    const Stages stages(*whole.model, passings, cuts);
    EXPECT_EQ(stages.count(), 2);
    EXPECT_EQ(stages.of(cuts[0].front()->producer()), 0);
    for (const ir::Node* node : whole.model->graph->nodes()) {
      if (!passings.is_work(*node)) continue;
      for (const Value* operand : operands_of(*node)) {
        if (!operand->producer() || passings.of(operand) == Passing::kConstant) continue;
        EXPECT_LE(stages.of(operand->producer()), stages.of(node)) << seed << ": " << node->describe();
      }
    }
  }
}

TEST(Split, RefusesWhatIsNoCut) {
  for (uint32_t seed = 0; seed < kSeeds; ++seed) {
    const SmallModel whole = small_model(seed);
    EXPECT_THAT(refusal(*whole.model, {.at = {{"nothing"}}}), HasSubstr("'nothing' is no tensor"));
    EXPECT_THAT(refusal(*whole.model, {.at = {{"x"}}}), HasSubstr("'x' is an input"));
    EXPECT_THAT(refusal(*whole.model, {.at = {{whole.layers[0]}, {whole.layers[0]}}}),
                HasSubstr("'" + whole.layers[0] + "' is named in two cuts"));
    EXPECT_THAT(refusal(*whole.model, {.parts = 1}), HasSubstr("1 parts"));
    EXPECT_THAT(refusal(*whole.model, {.parts = 100}), HasSubstr("99 cut points"));
    for (const Value* weight : whole.model->graph->initializers())
      EXPECT_THAT(refusal(*whole.model, {.at = {{weight->name()}}}), HasSubstr("is a constant"));
  }
}

}  // namespace
}  // namespace thaw::splitting
