#include "thaw/sensitivity/cut_model.h"

#include <functional>
#include <random>

#include <gtest/gtest.h>

#include "thaw/infer/infer.h"
#include "thaw/ir/graph/builder.h"
#include "thaw/limits.h"

namespace thaw::measuring {
namespace {

using ir::DataType;

constexpr int64_t kWidth = 8;

// A chain of what models are made of, in types that change on the way, with values that are read again far behind.
class RandomChain {
 public:
  explicit RandomChain(uint32_t seed) : random_(seed) {}

  std::unique_ptr<ir::Model> build(int links) {
    x_ = m_.add_input("x", DataType::kFloat, {"batch", "seq", kWidth});
    ir::Value* ids = m_.add_input("ids", DataType::kInt64, {"batch", "seq"});
    add_product();
    for (int i = 0; i < links; ++i) add_link();
    ir::Value* looked_up = m_.add_node("Gather", {weight(), ids});
    m_.add_output(m_.add_node("Add", {x_, looked_up}), "y");
    return m_.build();
  }

 private:
  ir::Value* weight() {
    return m_.add_floats({}, {kWidth, kWidth}, std::vector<float>(static_cast<size_t>(kWidth * kWidth), 0.5F));
  }
  void add_product() {
    x_ = m_.add_node("MatMul", {x_, weight()});
    kept_.push_back(x_);
  }
  ir::Value* cast(ir::Value* value, DataType to) {
    return m_.add_node("Cast", {value}, {{"to", static_cast<int64_t>(to)}});
  }

  void add_link() {
    switch (random_() % 7) {
      case 0:
        x_ = m_.add_node("Add", {x_, kept_[random_() % kept_.size()]});
        break;
      case 1:
        x_ = cast(m_.add_node("Relu", {cast(x_, DataType::kFloat16)}), DataType::kFloat);
        break;
      case 2:
        x_ = m_.add_node("Where", {m_.add_node("Greater", {x_, kept_.back()}), x_, kept_.front()});
        break;
      case 3:
        x_ = m_.add_node("Reshape", {m_.add_node("Transpose", {x_}), m_.add_node("Shape", {x_})});
        break;
      case 4: {
        const auto made = m_.add_node(2, "TopK", {x_, m_.add_ints({}, {kWidth})});
        x_ = m_.add_node("Add", {made[0], cast(made[1], DataType::kFloat)});
        break;
      }
      case 5: {
        ir::Value* size = m_.add_node("Gather", {m_.add_node("Shape", {kept_.front()}), m_.add_int({}, 0)});
        const auto branch = [&](const char* op) {
          return m_.make_subgraph(op, [&](ir::GraphBuilder& b) { b.add_output(b.add_node(op, {x_})); });
        };
        x_ = m_.add_node("If", {m_.add_node("Greater", {size, m_.add_int({}, 1)})},
                         {{"then_branch", branch("Relu")}, {"else_branch", branch("Neg")}});
        break;
      }
      default:
        break;
    }
    add_product();
  }

  std::mt19937 random_;
  ir::ModelBuilder m_;
  ir::Value* x_ = nullptr;
  std::vector<ir::Value*> kept_;
};

void for_values(const ir::Graph& graph, const std::function<void(const ir::Value*)>& each) {
  for (const ir::Node* node : graph.nodes()) {
    for (const ir::Value* output : node->outputs())
      if (output) each(output);
    for (const ir::Graph* inner : node->subgraphs()) for_values(*inner, each);
  }
}

std::map<std::string, DataType> types_of(const ir::Model& model) {
  dim::Scope scope;
  const infer::Result facts = infer::infer(model, scope);
  std::map<std::string, DataType> types;
  const auto add = [&](const ir::Value* value) { types[value->name()] = facts.fact(value).dtype; };
  for (const ir::Value* input : model.graph->inputs()) add(input);
  for_values(*model.graph, add);
  return types;
}

// How many types of its parts are other than the whole's; how many were looked at is added to `seen`.
size_t count_lost(const ir::Model& model, size_t sections, const std::map<std::string, DataType>& wanted,
                  size_t& seen) {
  CachedArrays::Memory memory{uint64_t{1} << 20};
  const CutModel cut(ir::clone(model), sections, 1, memory);
  EXPECT_EQ(cut.sections().size(), sections);
  size_t lost = 0;
  for (size_t i = 0; i < cut.sections().size(); ++i)
    for (const auto& [name, type] : types_of(*cut.part(i))) {
      ++seen;
      lost += type != wanted.at(name);
    }
  return lost;
}

TEST(CutModel, EverySectionKnowsTheTypesThatTheWholeKnows) {
  size_t seen = 0;
  for (uint32_t seed = 0; seed < 40; ++seed) {
    const auto model = RandomChain(seed).build(6 + static_cast<int>(seed % 10));
    const std::map<std::string, DataType> wanted = types_of(*model);
    for (const auto& [name, type] : wanted) EXPECT_NE(type, DataType::kUndefined) << name;
    for (const size_t sections : {1, 2, 3, 5}) EXPECT_EQ(count_lost(*model, sections, wanted, seen), 0U) << seed;
  }
  EXPECT_GT(seen, 4000U);
}

// Large values stay where they are computed, small ones come here; what comes of them is the same.
TEST(CutModel, LargeValuesPassFromSectionToSectionWhereTheyAreComputed) {
  const auto model = RandomChain(3).build(12);
  CachedArrays::Memory memory{uint64_t{1} << 26};
  CutModel cut(ir::clone(*model), 5, 1, memory);
  std::mt19937 random(1);
  std::normal_distribution<float> normal;
  const std::vector<int64_t> rows{4, 5000};  // of seq, by sample
  for (size_t sample = 0; sample < rows.size(); ++sample) {
    const auto count = static_cast<size_t>(rows[sample] * kWidth);
    std::vector<double> numbers(count);
    for (double& number : numbers) number = normal(random);
    const Arrays feeds{{"x", Array::from_doubles(DataType::kFloat, {1, rows[sample], kWidth}, numbers)},
                       {"ids", Array::zeros(DataType::kInt64, {1, rows[sample]})}};
    cut.keep(sample, feeds);
    run::Values changed;
    for (const std::string& output : cut.sections().front().outputs)
      changed.arrays.emplace(output, cut.kept().get(sample, output));
    cut.run(sample, 1, cut.sections().size(), changed);
    EXPECT_EQ(changed.arrays.at("y"), cut.kept().get(sample, "y"));
    EXPECT_EQ(changed.held.empty(), sample == 0);
    for (const auto& [name, array] : changed.held) {
      EXPECT_TRUE(cut.stays(sample, name));
      EXPECT_FALSE(changed.arrays.contains(name));
    }
  }
}

// What a section may cost is its own: what is enough for the whole once is enough for all of them, again and again.
TEST(CutModel, ManySectionsCostNoneOfThemItsTypes) {
  constexpr size_t kSections = 20;
  const auto model = RandomChain(1).build(60);
  const std::map<std::string, DataType> wanted = types_of(*model);
  CachedArrays::Memory memory{uint64_t{1} << 20};
  std::unique_ptr<CutModel> cut;
  for (uint64_t visits = model->graph->num_nodes(); !cut || cut->sections().size() < kSections; visits *= 2) {
    set_limits({.max_visits = visits});
    cut = std::make_unique<CutModel>(ir::clone(*model), kSections, 1, memory);
  }
  size_t lost = 0;
  for (int round = 0; round < 20; ++round)
    for (size_t i = 0; i < kSections; ++i)
      for (const auto& [name, type] : types_of(*cut->part(i))) lost += type != wanted.at(name);
  set_limits({});
  EXPECT_EQ(lost, 0U);
}

}  // namespace
}  // namespace thaw::measuring
