// Fused operators by what they are defined to be: those of com.microsoft by ONNX Runtime's documentation, those of ai.onnx by
// the specification.
#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <numeric>
#include <unordered_map>

#include "thaw/ops/rule/registry.h"
#include "thaw/prove/laws.h"

namespace thaw::proving {

using ir::DataType;
using ops::Shape;

namespace {

using Results = std::vector<TermId>;

class Definitions {
 public:
  Definitions(Algebra& algebra, const NodeToRead& read) : algebra_(algebra), terms_(algebra.terms), read_(read) {}

  // x Φ(x), Φ of the normal distribution, or what is near it.
  Results gelu(bool by_tanh) {
    return each([&](TermId x) { return gelu_of(x, by_tanh); });
  }
  Results bias_gelu(bool by_tanh) {
    if (!is_all_real(2)) return {};
    return each_of({read_.operands[0], read_.operands[1]},
                   [&](const std::vector<TermId>& o) { return gelu_of(algebra_.arithmetic.add(o[0], o[1]), by_tanh); });
  }
  // FastGelu may have a bias.
  Results fast_gelu() { return read_.has(1) ? bias_gelu(true) : gelu(true); }

  Results sigmoid_times(double alpha) {
    return each([&](TermId x) {
      return algebra_.arithmetic.multiply(x, algebra_.of_each("Sigmoid", algebra_.arithmetic.times(alpha, x)));
    });
  }

  // alpha x below 0.
  Results leaky_relu(double alpha) {
    return each([&](TermId x) { return leaky(x, alpha); });
  }
  // What lies between 0 and 1 of alpha x + beta.
  Results hard_sigmoid(double alpha, double beta) {
    return each([&](TermId x) { return between(linear(x, alpha, beta), 0, 1); });
  }
  // x times the same of x / 6 + 1/2.
  Results hard_swish() {
    return each([&](TermId x) { return algebra_.arithmetic.multiply(x, between(linear(x, 1.0F / 6, 0.5), 0, 1)); });
  }

  // A convolution, what is added to it, and what is done to the sum.
  Results fused_conv() {
    auto made = convolution(algebra_, read_);
    if (!made || !is_known(terms_[*made].shape)) return {};
    if (read_.has(3)) {
      if (!is_floating(read_.operands[3], terms_[*made].dtype)) return {};
      const Results sum = each_of({*made, read_.operands[3]},
                                  [&](const std::vector<TermId>& o) { return algebra_.arithmetic.add(o[0], o[1]); });
      if (sum.empty()) return {};
      made = sum[0];
    }
    const ir::Attribute* numbers = read_.node.attribute("activation_params");
    const auto* given = numbers ? numbers->as<std::vector<float>>() : nullptr;
    return activated(*made, given ? std::vector<double>(given->begin(), given->end()) : std::vector<double>());
  }

  Results fused_gemm() {
    const auto made = gemm(algebra_, read_);
    if (!made || !is_known(terms_[*made].shape)) return {};
    std::vector<double> numbers;
    for (const char* name : {"activation_alpha", "activation_beta"})
      if (read_.node.attribute(name)) numbers.push_back(read_.real(name, 0));
    return activated(*made, numbers);
  }

  using Whole = Results (*)(Algebra&, const NodeToRead&);
  Results attention(Whole of) { return of(algebra_, read_); }
  Results rotary() { return rotary_embedding(algebra_, read_); }

  Results layer_norm(DataType type) {
    const TermId x = read_.operands[0];
    if (read_.wants(1) || read_.wants(2) || !is_floating(x, type)) return {};
    const auto axes = last_axes(x, read_.integer("axis", -1));
    if (!axes) return {};
    return normed(x, *axes, read_.operands[1], read_.has(2) ? read_.operands[2] : kNoTerm, read_.real("epsilon", 1e-5F),
                  true);
  }

  Results rms_norm() {
    const TermId x = read_.operands[0];
    if (read_.wants(1) || read_.wants(2) || !is_floating(x, terms_[x].dtype)) return {};
    const auto axes = last_axes(x, read_.integer("axis", -1));
    if (!axes) return {};
    return normed(x, *axes, read_.operands[1], kNoTerm, read_.real("epsilon", 1e-5F), false);
  }

  // The sum is a result too.
  Results skip_norm(bool is_centred) {
    const TermId x = read_.operands[0], skip = read_.operands[1];
    const size_t bias_at = is_centred ? 4 : 3;
    if (read_.wants(1) || read_.wants(2) || !is_floating(x, terms_[x].dtype) || !is_known(terms_[skip].shape))
      return {};
    if (!is_same(*terms_[x].shape, *terms_[skip].shape)) return {};
    std::vector<TermId> operands{x, skip};
    if (read_.has(bias_at)) operands.push_back(read_.operands[bias_at]);
    const Results sum = each_of(operands, [&](const std::vector<TermId>& o) {
      std::vector<Scaled> addends;
      for (const TermId one : o) addends.push_back({1, one});
      return algebra_.arithmetic.sum(addends, terms_[x].dtype);
    });
    if (sum.empty()) return {};
    const auto axes = last_axes(sum[0], -1);
    if (!axes) return {};
    Results made = normed(sum[0], *axes, read_.operands[2], is_centred && read_.has(3) ? read_.operands[3] : kNoTerm,
                          read_.real("epsilon", 1e-12F), is_centred);
    if (made.empty()) return {};
    return {made[0], kNoTerm, kNoTerm, sum[0]};
  }

  // Each channel of each sample by itself.
  Results instance_norm() {
    const TermId x = read_.operands[0];
    if (!is_floating(x, terms_[x].dtype) || terms_[x].shape->size() < 3) return {};
    std::vector<int64_t> axes(terms_[x].shape->size() - 2);
    std::iota(axes.begin(), axes.end(), 2);
    std::array<TermId, 2> parameters{};
    for (size_t i = 0; i < 2; ++i) {
      const TermId one = read_.operands[i + 1];
      if (!is_known(terms_[one].shape) || terms_[one].shape->size() != 1) return {};
      Shape shape(terms_[x].shape->size() - 1, dim::Dim(1));
      shape[0] = terms_[one].shape->front();
      parameters[i] = algebra_.views.reshape(one, shape);
    }
    return normed(x, axes, parameters[0], parameters[1], read_.real("epsilon", 1e-5F), true);
  }

  // Each channel of all samples together; what else it gives is left as it is.
  Results norm_of_batch() {
    const TermId x = read_.operands[0];
    if (read_.opset < 14 || read_.integer("training_mode", 0) == 0 || !is_floating(x, terms_[x].dtype) ||
        terms_[x].shape->size() < 2)
      return {};
    std::vector<int64_t> axes(terms_[x].shape->size());
    std::iota(axes.begin(), axes.end(), 0);
    axes.erase(axes.begin() + 1);
    std::array<TermId, 2> parameters{};
    for (size_t i = 0; i < 2; ++i) {
      const auto one = algebra_.by_channel(read_.operands[i + 1], terms_[x].shape->size());
      if (!one) return {};
      parameters[i] = *one;
    }
    return normed(x, axes, parameters[0], parameters[1], read_.real("epsilon", 1e-5F), true);
  }

  Results fused_matmul() {
    if (!is_all_real(2) || read_.integer("transBatchA", 0) != 0 || read_.integer("transBatchB", 0) != 0) return {};
    std::array<TermId, 2> sides{};
    for (size_t i = 0; i < 2; ++i) {
      TermId side = read_.operands[i];
      const size_t rank = terms_[side].shape->size();
      if (rank < 2) return {};
      if (read_.integer(i == 0 ? "transA" : "transB", 0) != 0) {
        std::vector<int64_t> order(rank);
        std::iota(order.begin(), order.end(), 0);
        std::swap(order[rank - 1], order[rank - 2]);
        side = algebra_.views.transpose(side, order);
      }
      sides[i] = side;
    }
    const TermId made = algebra_.matmul(sides[0], sides[1]);
    if (!is_known(terms_[made].shape)) return {};
    return {algebra_.times(read_.real("alpha", 1), made)};
  }

 private:
  bool is_floating(TermId x, DataType type) const {
    return is_real(terms_[x].dtype) && terms_[x].dtype == type && is_known(terms_[x].shape) &&
           !terms_[x].shape->empty();
  }
  bool is_all_real(size_t count) const {
    for (size_t i = 0; i < count; ++i)
      if (!read_.has(i) || !is_floating(read_.operands[i], terms_[read_.operands[0]].dtype)) return false;
    return true;
  }

  Results each_of(std::vector<TermId> operands, const Algebra::Write& write) {
    for (const TermId id : operands)
      if (terms_[id].dtype != terms_[operands[0]].dtype) return {};
    const auto made = algebra_.elementwise(std::move(operands), write);
    if (!made) return {};
    return {*made};
  }
  template <typename F>
  Results each(F f) {
    if (!is_real(terms_[read_.operands[0]].dtype)) return {};
    return each_of({read_.operands[0]}, [&](const std::vector<TermId>& o) { return f(o[0]); });
  }

  TermId linear(TermId x, double alpha, double beta) {
    const DataType type = terms_[x].dtype;
    return algebra_.arithmetic.sum({{alpha, x}, {beta, algebra_.constants.one(type)}}, type);
  }
  TermId limited(std::string_view op, TermId x, double bound) {
    const std::array both{x, algebra_.arithmetic.number(bound, terms_[x].dtype)};
    return algebra_.extremum(op, both);
  }
  TermId between(TermId x, double low, double high) { return limited("Min", limited("Max", x, low), high); }
  TermId leaky(TermId x, double alpha) {
    return algebra_.arithmetic.sum({{1, limited("Max", x, 0)}, {alpha, limited("Min", x, 0)}}, terms_[x].dtype);
  }

  // What the attribute "activation" says, with its numbers.
  Results activated(TermId x, const std::vector<double>& numbers) {
    const std::string_view name = read_.node.attribute_string("activation", "");
    const auto one = [&](size_t count, const std::function<TermId(TermId)>& f) -> Results {
      if (numbers.size() != count) return {};
      return each_of({x}, [&](const std::vector<TermId>& o) { return f(o[0]); });
    };
    if (name == "Relu") return one(0, [&](TermId v) { return limited("Max", v, 0); });
    if (name == "Sigmoid" || name == "Tanh")
      return one(0, [&](TermId v) { return algebra_.of_each(std::string(name), v); });
    if (name == "LeakyRelu") return one(1, [&](TermId v) { return leaky(v, numbers[0]); });
    if (name == "HardSigmoid")
      return one(2, [&](TermId v) { return between(linear(v, numbers[0], numbers[1]), 0, 1); });
    if (name == "Clip") return one(2, [&](TermId v) { return between(v, numbers[0], numbers[1]); });
    return {};
  }

  TermId gelu_of(TermId x, bool by_tanh) {
    auto& real = algebra_.arithmetic;
    TermId inner = kNoTerm;
    if (by_tanh) {
      const double root = std::sqrt(2 / M_PI);
      inner = algebra_.of_each("Tanh", real.sum({{root, x}, {root * 0.044715, real.power(x, 3)}}, terms_[x].dtype));
    } else {
      inner = algebra_.of_each("Erf", real.times(std::sqrt(0.5), x));
    }
    return real.product({{x, 1}, {real.plus(inner, 1), 1}}, terms_[x].dtype, 0.5);
  }

  std::optional<std::vector<int64_t>> last_axes(TermId x, int64_t first) const {
    const auto rank = static_cast<int64_t>(terms_[x].shape->size());
    if (first < -rank || first >= rank) return std::nullopt;
    std::vector<int64_t> axes;
    for (int64_t axis = first < 0 ? first + rank : first; axis < rank; ++axis) axes.push_back(axis);
    return axes;
  }

  // (x - mean) / sqrt(variance + epsilon) * scale + bias; without what is centred, the root of the mean square.
  Results normed(TermId x, const std::vector<int64_t>& axes, TermId scale, TermId bias, double epsilon,
                 bool is_centred) {
    auto& real = algebra_.arithmetic;
    const DataType type = terms_[x].dtype;
    for (const TermId one : {scale, bias})
      if (one != kNoTerm && (terms_[one].dtype != type || !is_known(terms_[one].shape))) return {};
    TermId centred = x;
    if (is_centred) {
      const Results apart = each_of({x, algebra_.mean(x, axes)}, [&](const std::vector<TermId>& o) {
        return real.sum({{1, o[0]}, {-1, o[1]}}, type);
      });
      if (apart.empty()) return {};
      centred = apart[0];
    }
    std::vector<TermId> operands{centred, algebra_.mean(algebra_.power(centred, 2), axes), scale};
    if (bias != kNoTerm) operands.push_back(bias);
    return each_of(operands, [&](const std::vector<TermId>& o) {
      const TermId made = real.product({{o[0], 1}, {real.plus(o[1], epsilon), -0.5}, {o[2], 1}}, type);
      return o.size() > 3 ? real.add(made, o[3]) : made;
    });
  }

  Algebra& algebra_;
  Terms& terms_;
  const NodeToRead& read_;
};

using Definition = Results (*)(Definitions&, const NodeToRead&);
const std::unordered_map<std::string_view, Definition>& onnx_definitions() {
  static const std::unordered_map<std::string_view, Definition> all = {
      {"Gelu", [](Definitions& d,
                  const NodeToRead& n) { return d.gelu(n.node.attribute_string("approximate", "none") == "tanh"); }},
      {"Swish", [](Definitions& d, const NodeToRead& n) { return d.sigmoid_times(n.real("alpha", 1)); }},
      {"LeakyRelu", [](Definitions& d, const NodeToRead& n) { return d.leaky_relu(n.real("alpha", 0.01F)); }},
      {"HardSigmoid",
       [](Definitions& d, const NodeToRead& n) { return d.hard_sigmoid(n.real("alpha", 0.2F), n.real("beta", 0.5F)); }},
      {"LayerNormalization", [](Definitions& d, const NodeToRead& n) { return d.layer_norm(n.results[0].dtype); }},
      {"HardSwish", [](Definitions& d, const NodeToRead&) { return d.hard_swish(); }},
      {"RMSNormalization", [](Definitions& d, const NodeToRead&) { return d.rms_norm(); }},
      {"SimplifiedLayerNormalization", [](Definitions& d, const NodeToRead&) { return d.rms_norm(); }},
      {"BatchNormalization", [](Definitions& d, const NodeToRead&) { return d.norm_of_batch(); }},
      {"InstanceNormalization", [](Definitions& d, const NodeToRead&) { return d.instance_norm(); }},
      {"RotaryEmbedding", [](Definitions& d, const NodeToRead&) { return d.rotary(); }},
      {"Attention", [](Definitions& d, const NodeToRead&) { return d.attention(standard_attention); }},
  };
  return all;
}

const std::unordered_map<std::string_view, Definition>& microsoft_definitions() {
  static const std::unordered_map<std::string_view, Definition> all = {
      {"Gelu", [](Definitions& d, const NodeToRead&) { return d.gelu(false); }},
      {"FastGelu", [](Definitions& d, const NodeToRead&) { return d.fast_gelu(); }},
      {"BiasGelu", [](Definitions& d, const NodeToRead&) { return d.bias_gelu(false); }},
      {"QuickGelu", [](Definitions& d, const NodeToRead& n) { return d.sigmoid_times(n.real("alpha", 1.702F)); }},
      {"SkipLayerNormalization", [](Definitions& d, const NodeToRead&) { return d.skip_norm(true); }},
      {"SkipSimplifiedLayerNormalization", [](Definitions& d, const NodeToRead&) { return d.skip_norm(false); }},
      {"SimplifiedLayerNormalization", [](Definitions& d, const NodeToRead&) { return d.rms_norm(); }},
      {"FusedMatMul", [](Definitions& d, const NodeToRead&) { return d.fused_matmul(); }},
      {"FusedConv", [](Definitions& d, const NodeToRead&) { return d.fused_conv(); }},
      {"FusedGemm", [](Definitions& d, const NodeToRead&) { return d.fused_gemm(); }},
      {"MultiHeadAttention", [](Definitions& d, const NodeToRead&) { return d.attention(multi_head_attention); }},
      {"GroupQueryAttention", [](Definitions& d, const NodeToRead&) { return d.attention(group_query_attention); }},
      {"Attention", [](Definitions& d, const NodeToRead&) { return d.attention(packed_attention); }},
      {"RotaryEmbedding", [](Definitions& d, const NodeToRead&) { return d.rotary(); }},
  };
  return all;
}

}  // namespace

std::vector<TermId> by_definition(Algebra& algebra, const NodeToRead& read) {
  const bool is_microsoft = read.node.domain() == ops::kMicrosoft;
  if (!read.node.domain().empty() && !is_microsoft) return {};
  const auto& all = is_microsoft ? microsoft_definitions() : onnx_definitions();
  const auto found = all.find(read.node.op_type());
  if (found == all.end()) return {};
  Definitions definitions(algebra, read);
  return found->second(definitions, read);
}

}  // namespace thaw::proving
