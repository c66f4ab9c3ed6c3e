#include "thaw/ir/graph/small_models_testing.h"

#include <random>

namespace thaw::ir {
namespace {

constexpr int64_t kWidth = 8;

class Layers {
 public:
  Layers(uint32_t seed, const DimSpec& first) : random_(seed), first_(first) {}

  SmallModel make() {
    Value* x = m_.add_input("x", DataType::kFloat, {first_, "n", kWidth});
    std::vector<Value*> made{x};
    const int count = 3 + pick(6);
    for (int i = 0; i < count; ++i) made.push_back(layer(made));
    SmallModel out;
    for (size_t i = 1; i < made.size(); ++i) {
      const bool is_last = i + 1 == made.size();
      if (!is_last) m_.graph().rename(made[i], "layer_" + std::to_string(i));
      if (is_last) m_.add_output(made[i], "y");
      out.layers.push_back(made[i]->name());
    }
    m_.add_output(node("ReduceMean", {made[1]}, {{"axes", Ints{1}}, {"keepdims", int64_t{0}}}), "pooled");
    out.model = m_.build();
    return out;
  }

 private:
  using Ints = std::vector<int64_t>;

  int pick(int count) { return static_cast<int>(random_() % static_cast<uint32_t>(count)); }
  Value* node(std::string_view op, std::vector<Value*> inputs, std::vector<Attribute> attributes = {}) {
    return m_.add_node(op, std::move(inputs), std::move(attributes));
  }
  Value* weight(Ints dims) {
    int64_t count = 1;
    for (const int64_t dim : dims) count *= dim;
    std::vector<float> numbers;
    for (int64_t i = 0; i < count; ++i) numbers.push_back(static_cast<float>(pick(201) - 100) / 100);
    return m_.add_floats("", std::move(dims), numbers);
  }

  Value* layer(const std::vector<Value*>& made) {
    Value* x = made.back();
    Value* earlier = made[static_cast<size_t>(pick(static_cast<int>(made.size())))];
    switch (pick(11)) {
      case 0:
        return node(pick(2) == 0 ? "Relu" : "Tanh", {x});
      case 1:
        return node("Add", {node("MatMul", {x, weight({kWidth, kWidth})}), weight({kWidth})});
      case 2:
        return node("Add", {node("Sigmoid", {x}), earlier});
      case 3:
        return node("Softmax", {x}, {{"axis", int64_t{-1}}});
      case 4: {
        const std::vector<Attribute> turn{{"perm", Ints{0, 2, 1}}};
        return node("Transpose", {node("Softmax", {node("Transpose", {x}, turn)}, {{"axis", int64_t{-1}}})}, turn);
      }
      case 5:
        return node("LayerNormalization", {x, weight({kWidth}), weight({kWidth})}, {{"axis", int64_t{-1}}});
      case 6:
        return node("Sub", {x, node("ReduceMean", {x}, {{"axes", Ints{1}}, {"keepdims", int64_t{1}}})});
      case 7: {
        const std::vector<Attribute> swap{{"perm", Ints{0, 2, 1, 3}}};
        Value* heads = node("Transpose", {node("Reshape", {x, m_.add_ints("", {0, 0, 2, 4})})}, swap);
        return node("Reshape", {node("Transpose", {node("Relu", {heads})}, swap), m_.add_ints("", {0, 0, kWidth})});
      }
      case 8: {
        Value* n = node("Gather", {node("Shape", {x}), m_.add_int("", 1)}, {{"axis", int64_t{0}}});
        Value* rows = node("Unsqueeze", {n, m_.add_ints("", {0})});
        Value* target =
            node("Concat", {m_.add_ints("", {-1}), rows, m_.add_ints("", {kWidth})}, {{"axis", int64_t{0}}});
        return node("Neg", {node("Reshape", {x, target})});
      }
      case 9:
        return node("MatMul", {node("Concat", {x, earlier}, {{"axis", int64_t{2}}}), weight({2 * kWidth, kWidth})});
      default:
        return node("Add",
                    {x, node("Slice", {earlier, m_.add_ints("", {0}), m_.add_ints("", {1}), m_.add_ints("", {1})})});
    }
  }

  std::mt19937 random_;
  DimSpec first_;
  ModelBuilder m_{17, 8};
};

}  // namespace

SmallModel small_model(uint32_t seed, const DimSpec& first) { return Layers(seed, first).make(); }

}  // namespace thaw::ir
