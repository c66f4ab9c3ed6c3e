// Every rule on nodes that make no sense: missing inputs, wrong ranks, types and counts, attributes of the wrong kind
// or with extreme values. Rules may refuse, never crash, hang or say a negative size.
#include <limits>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "thaw/infer/infer.h"
#include "thaw/ops/rule/registry.h"

namespace thaw::ops {
namespace {

using ir::DataType;

const std::vector<std::string> kNames = {"alpha",
                                         "auto_pad",
                                         "axes",
                                         "axis",
                                         "batch_axis",
                                         "batch_dims",
                                         "bits",
                                         "block_size",
                                         "blocksize",
                                         "broadcast",
                                         "ceil_mode",
                                         "channels_last",
                                         "coordinate_transformation_mode",
                                         "dilations",
                                         "direction",
                                         "dtype",
                                         "end",
                                         "equation",
                                         "exclusive",
                                         "fmod",
                                         "gather_axis",
                                         "group",
                                         "groups",
                                         "height_scale",
                                         "hidden_size",
                                         "inverse",
                                         "K",
                                         "N",
                                         "keep_aspect_ratio_policy",
                                         "keepdims",
                                         "kernel_shape",
                                         "kv_num_heads",
                                         "layout",
                                         "mode",
                                         "new_axis",
                                         "noop_with_empty_axes",
                                         "num_groups",
                                         "num_heads",
                                         "num_outputs",
                                         "num_scan_inputs",
                                         "onesided",
                                         "output_height",
                                         "output_padding",
                                         "output_shape",
                                         "pads",
                                         "past_present_share_buffer",
                                         "perm",
                                         "pooled_shape",
                                         "q_num_heads",
                                         "qkv_hidden_sizes",
                                         "quantize_axis",
                                         "reduction",
                                         "sample_size",
                                         "scales",
                                         "shape",
                                         "size",
                                         "spatial",
                                         "split",
                                         "start",
                                         "step",
                                         "strides",
                                         "time_axis",
                                         "to",
                                         "transA",
                                         "transB",
                                         "transBatchA",
                                         "upper",
                                         "value",
                                         "value_ints",
                                         "v_head_size",
                                         "signal_ndim",
                                         "dim",
                                         "allowzero",
                                         "starts",
                                         "ends",
                                         "k",
                                         "state_window",
                                         "output_dtype"};

class Maker {
 public:
  explicit Maker(uint32_t seed) : random_(seed) {}

  int64_t pick(int64_t low, int64_t high) { return std::uniform_int_distribution<int64_t>(low, high)(random_); }
  bool chance(int percent) { return pick(1, 100) <= percent; }

  int64_t number() {
    static constexpr int64_t kExtreme[] = {std::numeric_limits<int64_t>::min(),
                                           std::numeric_limits<int64_t>::max(),
                                           -1,
                                           0,
                                           int64_t{1} << 31,
                                           (int64_t{1} << 62) + 1};
    return chance(10) ? kExtreme[pick(0, 5)] : pick(-3, 6);
  }

  std::vector<int64_t> numbers(size_t n) {
    std::vector<int64_t> list(n);
    for (int64_t& v : list) v = number();
    return list;
  }

  ir::Attribute attribute(const std::string& name) {
    static const std::vector<std::string> kTexts = {
        "SAME_UPPER", "VALID", "NOTSET", "bidirectional", "ij,jk->ik", "...a,b...->", "none", "x", ""};
    ir::Attribute a;
    a.name = name;
    switch (pick(0, 4)) {
      case 0:
        a.value = number();
        a.type = 2;
        break;
      case 1:
        a.value = numbers(static_cast<size_t>(pick(0, 6)));
        a.type = 7;
        break;
      case 2:
        a.value = kTexts[static_cast<size_t>(pick(0, static_cast<int64_t>(kTexts.size()) - 1))];
        a.type = 3;
        break;
      case 3:
        a.value = static_cast<float>(number());
        a.type = 1;
        break;
      default:
        a.value = std::vector<float>(static_cast<size_t>(pick(0, 5)), 1.5F);
        a.type = 6;
        break;
    }
    return a;
  }

  ir::Value* input(ir::Graph& graph, int i) {
    std::string name = "x" + std::to_string(i);
    if (chance(25)) {
      size_t n = static_cast<size_t>(pick(0, 8));
      std::vector<int64_t> dims;
      if (n != 1 || chance(50)) dims.push_back(static_cast<int64_t>(n));
      return graph.add_initializer(ir::Tensor::from_int64(name, dims, numbers(n)));
    }
    ir::Type type;
    type.kind = chance(85) ? ir::Type::Kind::kTensor : chance(50) ? ir::Type::Kind::kSequence : ir::Type::Kind::kNone;
    type.elem_type = static_cast<DataType>(pick(0, 26));
    if (type.kind == ir::Type::Kind::kSequence) {
      ir::Type inner;
      inner.kind = ir::Type::Kind::kTensor;
      inner.elem_type = DataType::kFloat;
      type.element = std::make_shared<const ir::Type>(inner);
    }
    if (type.kind == ir::Type::Kind::kTensor && chance(85)) {
      type.shape.emplace();
      for (int64_t k = pick(0, 6); k > 0; --k) {
        ir::DeclaredDim d;
        if (chance(50))
          d.value = chance(5) ? int64_t{1} << 61 : pick(0, 9);
        else
          d.param = "n" + std::to_string(pick(0, 4));
        type.shape->push_back(d);
      }
    }
    return graph.add_input(name, std::move(type));
  }

 private:
  std::mt19937 random_;
};

void try_operator(const Operator& entry, uint32_t seed) {
  Maker make(seed);
  ir::Model model;
  model.ir_version = 10;
  model.opset_imports.push_back({"", make.pick(1, 28)});
  if (!entry.domain.empty()) model.opset_imports.push_back({std::string(entry.domain), 1});
  model.graph = std::make_unique<ir::Graph>();
  std::vector<ir::Value*> inputs, outputs;
  for (int i = 0, n = static_cast<int>(make.pick(0, 9)); i < n; ++i)
    inputs.push_back(make.chance(10) ? nullptr : make.input(*model.graph, i));
  for (int i = 0, n = static_cast<int>(make.pick(0, 5)); i < n; ++i)
    outputs.push_back(make.chance(10) ? nullptr : model.graph->add_value("y" + std::to_string(i)));
  ir::Node* node = model.graph->add_node(std::string(entry.name), std::string(entry.domain), inputs, outputs);
  for (const std::string& name : kNames)
    if (make.chance(20)) node->set_attribute(make.attribute(name));
  dim::Scope scope;
  auto result = infer::infer(model, scope);
  for (const ir::Value* y : outputs) {
    if (!y || !result.fact(y).has_rank()) continue;
    for (dim::Dim d : *result.fact(y).shape) EXPECT_GE(d.constant().value_or(0), 0) << entry.name << " seed " << seed;
  }
}

TEST(Rules, SurviveNodesThatMakeNoSense) {
  for (const Operator* entry : registry().all())
    for (uint32_t seed = 1; seed <= 150; ++seed) {
      SCOPED_TRACE(std::string(entry->name) + " seed " + std::to_string(seed));
      EXPECT_NO_THROW(try_operator(*entry, seed));
    }
}

}  // namespace
}  // namespace thaw::ops
