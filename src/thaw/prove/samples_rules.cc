// What each operator makes of samples that stand in an axis of its operands: where they stand in its results, and whether they are apart.
#include "thaw/prove/samples_rules.h"

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "thaw/prove/laws.h"

namespace thaw::proving {

using dim::Dim;
using ops::Shape;
using Kind = Samples::Kind;

Samples SampleRules::each() const {
  const Shape* result = of_.result_shape(output_);
  if (!result) return kMixed;
  if (of_.node.op_type() == "Dropout" && of_.has(2)) {
    const std::vector<Dim> is_training = of_.elements(2);
    if (is_training.size() != 1 || !is_training[0].is_constant(0)) return kMixed;
  }
  std::optional<Samples> made;
  for (size_t i = 0; i < of_.operands.size(); ++i) {
    const Samples& operand = of_.operands[i];
    if (operand.is_none()) continue;
    if (!operand.is_rows() || !of_.shape(i)) return kMixed;
    if (of_.shape(i)->size() > result->size()) return kMixed;
    const Samples here = rows(operand.axis + result->size() - of_.shape(i)->size(), operand.inner);
    const bool is_whole = dim::same((*of_.shape(i))[operand.axis], (*result)[here.axis]);
    if (!is_whole || (made && !is_alike(*made, here))) return kMixed;
    made = here;
  }
  return made.value_or(kMixed);
}

Samples SampleRules::first_rows() const {
  const bool has_order = of_.node.op_type() == "MaxPool" && output_ > 0;  // positions among all elements
  const bool is_training =
      of_.node.attribute_int("training_mode", 0) != 0 || (of_.node.op_type() == "BatchNormalization" && of_.opset < 7);
  if (!others_are_none(0) || !is_first(of_.operands[0]) || has_order || is_training || output_ > 0) return kMixed;
  return rows(0, of_.operands[0].inner);
}

Samples SampleRules::all_first_rows() const {
  std::optional<Samples> made;
  const bool has_mask = of_.node.domain().empty() && of_.node.op_type() == "Attention" && of_.has(3);
  if (has_mask && of_.operands[3].is_rows() && (!of_.shape(3) || of_.shape(3)->size() != 4))
    return kMixed;  // it broadcasts
  for (const Samples& operand : of_.operands) {
    if (operand.is_none()) continue;
    if (!is_first(operand) || !operand.inner.is_constant(1) || (made && !is_alike(*made, operand))) return kMixed;
    made = operand;
  }
  return made.value_or(kMixed);
}

Samples SampleRules::reduced() const {
  const Shape* from = of_.shape(0);
  if (!from || !of_.operands[0].is_rows() || !no_samples_from(1)) return kMixed;
  std::vector<int64_t> axes;
  if (of_.node.attribute("axes")) {
    const auto given = of_.node.attribute_ints("axes");
    axes.assign(given.begin(), given.end());
  } else if (of_.has(1)) {
    for (const Dim d : of_.elements(1)) {
      if (!d.constant()) return kMixed;
      axes.push_back(*d.constant());
    }
  }
  if (axes.empty()) return kMixed;
  return without(axes, from->size());
}

Samples SampleRules::along_an_axis(int64_t otherwise) const {
  const Shape* from = of_.shape(0);
  if (!from || !of_.operands[0].is_rows() || !no_samples_from(1)) return kMixed;
  const std::string& op = of_.node.op_type();
  const bool is_softmax = op == "Softmax" || op == "LogSoftmax" || op == "Hardmax";
  const auto axis = attribute_axis("axis", is_softmax && of_.opset < 13 ? 1 : otherwise);
  if (!axis) return kMixed;
  if (is_softmax && of_.opset < 13) return of_.operands[0].axis < *axis ? of_.operands[0] : kMixed;
  if (op == "ArgMax" || op == "ArgMin") return without({static_cast<int64_t>(*axis)}, from->size());
  return apart_from(*axis) ? of_.operands[0] : kMixed;
}

Samples SampleRules::from_an_axis() const {
  const auto axis = attribute_axis("axis", -1);
  return axis && others_are_none(0) && of_.operands[0].is_rows() && of_.operands[0].axis < *axis ? of_.operands[0]
                                                                                                 : kMixed;
}

Samples SampleRules::summed_up_to() const {
  const Shape* from = of_.shape(0);
  const std::vector<Dim> given = of_.elements(1);
  if (!from || given.size() != 1) return kMixed;
  const auto axis = axis_of(given[0], from->size());
  return axis && others_are_none(0) && apart_from(*axis) ? of_.operands[0] : kMixed;
}

Samples SampleRules::skip_norm() const {
  for (size_t i = 2; i < of_.operands.size(); ++i)
    if (!of_.operands[i].is_none()) return kMixed;
  if (!of_.result_shape(output_) || !of_.shape(0)) return kMixed;
  const Samples made = each();
  return made.is_rows() && made.axis + 1 < of_.shape(0)->size() ? made : kMixed;
}

Samples SampleRules::matmul(bool turns_first, bool turns_second) const {
  const Shape *a = of_.shape(0), *b = of_.shape(1);
  if (!a || !b || a->empty() || b->empty() || !no_samples_from(2)) return kMixed;
  const Samples &left = of_.operands[0], &right = of_.operands[1];
  const size_t rank = std::max(a->size(), b->size());
  std::optional<Samples> made;
  if (left.is_rows()) {
    const size_t row = a->size() >= 2 ? a->size() - (turns_first ? 1 : 2) : a->size();
    if (left.axis + 2 < a->size()) {
      made = rows(left.axis + rank - a->size(), left.inner);
    } else if (left.axis != row || !right.is_none()) {
      return kMixed;
    } else {
      made = rows(rank - 2, left.inner);
    }
  }
  if (right.is_rows()) {
    const size_t column = b->size() >= 2 ? b->size() - (turns_second ? 2 : 1) : b->size();
    Samples here;
    if (right.axis + 2 < b->size()) {
      here = rows(right.axis + rank - b->size(), right.inner);
    } else if (right.axis != column || !left.is_none()) {
      return kMixed;
    } else {
      here = rows(a->size() >= 2 ? rank - 1 : rank - 2, right.inner);
    }
    if (made && !is_alike(*made, here)) return kMixed;
    made = here;
  }
  // A row of one axis leaves none behind.
  return made && left.kind != Kind::kCount && right.kind != Kind::kCount ? *made : kMixed;
}

Samples SampleRules::fused_matmul() const {
  if (of_.node.attribute_int("transBatchA", 0) != 0 || of_.node.attribute_int("transBatchB", 0) != 0) return kMixed;
  return matmul(of_.node.attribute_int("transA", 0) != 0, of_.node.attribute_int("transB", 0) != 0);
}

Samples SampleRules::gemm() const {
  const Samples &left = of_.operands[0], &right = of_.operands[1];
  const size_t row = of_.node.attribute_int("transA", 0) != 0 ? 1 : 0,
               column = of_.node.attribute_int("transB", 0) != 0 ? 0 : 1;
  Samples made = kMixed;
  if (left.is_rows() && right.is_none() && left.axis == row) made = rows(0, left.inner);
  if (right.is_rows() && left.is_none() && right.axis == column) made = rows(1, right.inner);
  if (!made.is_rows() || !of_.has(2) || of_.operands[2].is_none()) return made;
  if (!of_.operands[2].is_rows() || !of_.shape(2) || of_.shape(2)->size() > 2) return kMixed;
  return is_alike(made, rows(of_.operands[2].axis + 2 - of_.shape(2)->size(), of_.operands[2].inner)) ? made : kMixed;
}

Samples SampleRules::matmul_by_weights() const {
  const Shape* a = of_.shape(0);
  return a && others_are_none(0) && apart_from(a->size() - 1) ? of_.operands[0] : kMixed;
}

Samples SampleRules::einsum() const {
  std::string text(of_.node.attribute_string("equation", ""));
  std::erase(text, ' ');
  const size_t arrow = text.find("->");
  if (arrow == std::string::npos || text.find('.') != std::string::npos) return kMixed;
  const std::string result = text.substr(arrow + 2);
  std::optional<Samples> made;
  size_t begin = 0;
  for (size_t i = 0; i < of_.operands.size(); ++i) {
    const size_t end = std::min(text.find(',', begin), arrow);
    const std::string letters = text.substr(begin, end - begin);
    begin = end + 1;
    if (of_.operands[i].is_none()) continue;
    if (!of_.operands[i].is_rows() || of_.operands[i].axis >= letters.size()) return kMixed;
    const char letter = letters[of_.operands[i].axis];
    const size_t at = result.find(letter);
    if (at == std::string::npos || std::ranges::count(letters, letter) != 1 || std::ranges::count(result, letter) != 1)
      return kMixed;
    const Samples here = rows(at, of_.operands[i].inner);
    if (made && !is_alike(*made, here)) return kMixed;
    made = here;
  }
  return made.value_or(kMixed);
}

Samples SampleRules::recurrent() const {
  if (of_.node.attribute_int("layout", 0) != 0) return kMixed;
  for (size_t i = 0; i < of_.operands.size(); ++i) {
    const Samples& operand = of_.operands[i];
    if (operand.is_none()) continue;
    const bool is_state = i == 0 || i == 5 || i == 6;
    if (!operand.is_rows() || operand.axis != (i == 4 ? 0U : 1U) || !operand.inner.is_constant(1) ||
        (!is_state && i != 4))
      return kMixed;
  }
  return rows(output_ == 0 ? 2 : 1);
}

Samples SampleRules::one_hot() const {
  const Shape* indices = of_.shape(0);
  if (!indices || !of_.operands[0].is_rows() || !no_samples_from(1)) return kMixed;
  const auto axis = axis_of(of_.node.attribute_int("axis", -1), indices->size() + 1);
  if (!axis) return kMixed;
  return rows(of_.operands[0].axis + (of_.operands[0].axis >= *axis ? 1 : 0), of_.operands[0].inner);
}

Samples SampleRules::triangle() const {
  const Shape* shape = of_.shape(0);
  return shape && others_are_none(0) && of_.operands[0].is_rows() && of_.operands[0].axis + 2 < shape->size()
             ? of_.operands[0]
             : kMixed;
}

Samples SampleRules::scaled() const {
  const Shape* shape = of_.shape(0);
  if (!shape || !of_.operands[0].is_rows() || of_.node.attribute_int("block_size", 0) != 0) return kMixed;
  for (size_t i = 1; i < of_.operands.size(); ++i) {
    if (of_.operands[i].is_none()) continue;
    const auto axis = attribute_axis("axis", 1);
    const bool is_own = of_.operands[i].is_rows() && axis && *axis == of_.operands[0].axis && of_.shape(i) &&
                        of_.shape(i)->size() == 1 && dim::same(of_.operands[i].inner, of_.operands[0].inner);
    if (!is_own) return kMixed;
  }
  return of_.operands[0];
}

Samples SampleRules::counted() const {
  const Shape* shape = of_.result_shape(output_);
  const ir::Value* value = of_.node.output(static_cast<int>(output_));
  if (!shape || !value || std::ranges::any_of(*shape, [&](Dim d) { return mentions(d, of_.batch); })) return kMixed;
  const auto type = of_.facts.fact(value).dtype;
  return ir::is_integer(type) || type == ir::DataType::kBool ? Samples{.kind = Kind::kCount} : kMixed;
}

bool SampleRules::is_alike(const Samples& a, const Samples& b) {
  return a.kind == b.kind && a.axis == b.axis && dim::same(a.inner, b.inner);
}

std::optional<size_t> SampleRules::axis_of(Dim axis, size_t rank) {
  auto at = axis.constant();
  if (!at) return std::nullopt;
  if (*at < 0) *at += static_cast<int64_t>(rank);
  if (*at < 0 || *at >= static_cast<int64_t>(rank)) return std::nullopt;
  return static_cast<size_t>(*at);
}

std::optional<size_t> SampleRules::attribute_axis(std::string_view name, int64_t otherwise) const {
  if (!of_.shape(0)) return std::nullopt;
  return axis_of(of_.node.attribute_int(name, otherwise), of_.shape(0)->size());
}

bool SampleRules::no_samples_from(size_t first) const {
  for (size_t i = first; i < of_.operands.size(); ++i)
    if (!of_.operands[i].is_none()) return false;
  return true;
}

bool SampleRules::others_are_none(size_t but) const {
  for (size_t i = 0; i < of_.operands.size(); ++i)
    if (i != but && !of_.operands[i].is_none()) return false;
  return true;
}

Samples SampleRules::without(std::vector<int64_t> axes, size_t rank) const {
  size_t before = 0;
  const size_t own = of_.operands[0].axis;
  for (int64_t& axis : axes) {
    const auto at = axis_of(axis, rank);
    if (!at || *at == own) return kMixed;
    axis = static_cast<int64_t>(*at);
  }
  std::ranges::sort(axes);
  axes.erase(std::ranges::unique(axes).begin(), axes.end());
  if (of_.node.attribute_int("keepdims", 1) == 0)
    before = static_cast<size_t>(
        std::ranges::count_if(axes, [&](int64_t axis) { return axis < static_cast<int64_t>(own); }));
  return rows(own - before, of_.operands[0].inner);
}

namespace {

// Beside those of laws.h: no attribute of theirs tells one element from another.
const std::unordered_set<std::string_view> kOfEachElementToo = {"BitShift", "Cast",   "CastLike", "Celu", "Clip",
                                                                "Dropout",  "Gelu",   "Identity", "Mean", "Mish",
                                                                "Relu",     "Shrink", "Sum",      "Swish"};
const std::unordered_set<std::string_view> kOfEachElementTooHere = {"BiasGelu", "FastGelu", "Gelu",
                                                                    "QuickGelu"};  // com.microsoft

// Rows of the first axis of the first operand, each by itself, by weights that are the same for all.
const std::unordered_set<std::string_view> kOfFirstRows = {"AveragePool",
                                                           "BatchNormalization",
                                                           "Conv",
                                                           "ConvInteger",
                                                           "ConvTranspose",
                                                           "DepthToSpace",
                                                           "GlobalAveragePool",
                                                           "GlobalLpPool",
                                                           "GlobalMaxPool",
                                                           "GroupNormalization",
                                                           "InstanceNormalization",
                                                           "LRN",
                                                           "LpPool",
                                                           "MaxPool",
                                                           "QLinearConv",
                                                           "SpaceToDepth"};
// The same of all operands that hold samples.
const std::unordered_set<std::string_view> kOfAllFirstRows = {"Attention", "GridSample", "RotaryEmbedding"};
const std::unordered_set<std::string_view> kOfAllFirstRowsHere = {  // com.microsoft
    "FusedConv", "GroupQueryAttention", "MultiHeadAttention", "RotaryEmbedding"};

// Along an axis that an attribute names, with what it is where it is left out.
const std::map<std::string_view, int64_t> kAlongAnAxis = {{"ArgMax", 0},      {"ArgMin", 0},           {"Hardmax", -1},
                                                          {"LogSoftmax", -1}, {"LpNormalization", -1}, {"Softmax", -1},
                                                          {"TopK", -1}};
// From an axis on to the last.
const std::unordered_set<std::string_view> kFromAnAxis = {"LayerNormalization", "RMSNormalization",
                                                          "SimplifiedLayerNormalization"};

using Rule = std::function<Samples(const SampleRules&)>;

const std::unordered_map<std::string_view, Rule>& rules() {
  static const std::unordered_map<std::string_view, Rule> all = [] {
    std::unordered_map<std::string_view, Rule> made{
        {"Concat", [](const SampleRules& r) { return r.concat(); }},
        {"ConstantOfShape", [](const SampleRules& r) { return r.filled(); }},
        {"CumSum", [](const SampleRules& r) { return r.summed_up_to(); }},
        {"DequantizeLinear", [](const SampleRules& r) { return r.scaled(); }},
        {"Einsum", [](const SampleRules& r) { return r.einsum(); }},
        {"Expand", [](const SampleRules& r) { return r.expanded(); }},
        {"Flatten", [](const SampleRules& r) { return r.reshaped(); }},
        {"Gather", [](const SampleRules& r) { return r.gather(); }},
        {"GatherElements", [](const SampleRules& r) { return r.along_same_places(); }},
        {"GatherND", [](const SampleRules& r) { return r.gather_nd(); }},
        {"Gemm", [](const SampleRules& r) { return r.gemm(); }},
        {"GRU", [](const SampleRules& r) { return r.recurrent(); }},
        {"LSTM", [](const SampleRules& r) { return r.recurrent(); }},
        {"MatMul", [](const SampleRules& r) { return r.matmul(); }},
        {"MatMulInteger", [](const SampleRules& r) { return r.matmul(); }},
        {"OneHot", [](const SampleRules& r) { return r.one_hot(); }},
        {"Pad", [](const SampleRules& r) { return r.padded(); }},
        {"QuantizeLinear", [](const SampleRules& r) { return r.scaled(); }},
        {"RNN", [](const SampleRules& r) { return r.recurrent(); }},
        {"Reshape", [](const SampleRules& r) { return r.reshaped(); }},
        {"Resize", [](const SampleRules& r) { return r.resized(); }},
        {"ScatterElements", [](const SampleRules& r) { return r.along_same_places(); }},
        {"Slice", [](const SampleRules& r) { return r.slice(); }},
        {"Split", [](const SampleRules& r) { return r.split(); }},
        {"Squeeze", [](const SampleRules& r) { return r.reshaped(); }},
        {"Tile", [](const SampleRules& r) { return r.tiled(); }},
        {"Transpose", [](const SampleRules& r) { return r.transposed(); }},
        {"Trilu", [](const SampleRules& r) { return r.triangle(); }},
        {"Unsqueeze", [](const SampleRules& r) { return r.reshaped(); }},
    };
    for (const std::string_view op : kOfEachElementToo) made.emplace(op, [](const SampleRules& r) { return r.each(); });
    for (const std::string_view op : kOfFirstRows)
      made.emplace(op, [](const SampleRules& r) { return r.first_rows(); });
    for (const std::string_view op : kOfAllFirstRows)
      made.emplace(op, [](const SampleRules& r) { return r.all_first_rows(); });
    for (const std::string_view op : kFromAnAxis)
      made.emplace(op, [](const SampleRules& r) { return r.from_an_axis(); });
    for (const auto& [op, axis] : kAlongAnAxis)
      made.emplace(op, [axis](const SampleRules& r) { return r.along_an_axis(axis); });
    for (const std::string_view op : {"ReduceL1", "ReduceL2", "ReduceLogSum", "ReduceLogSumExp", "ReduceMax",
                                      "ReduceMean", "ReduceMin", "ReduceProd", "ReduceSum", "ReduceSumSquare"})
      made.emplace(op, [](const SampleRules& r) { return r.reduced(); });
    return made;
  }();
  return all;
}

// The same of com.microsoft.
const std::unordered_map<std::string_view, Rule>& rules_here() {
  static const std::unordered_map<std::string_view, Rule> all = [] {
    std::unordered_map<std::string_view, Rule> made{
        {"FusedGemm", [](const SampleRules& r) { return r.gemm(); }},
        {"FusedMatMul", [](const SampleRules& r) { return r.fused_matmul(); }},
        {"MatMulNBits", [](const SampleRules& r) { return r.matmul_by_weights(); }},
        {"SkipLayerNormalization", [](const SampleRules& r) { return r.skip_norm(); }},
        {"SkipSimplifiedLayerNormalization", [](const SampleRules& r) { return r.skip_norm(); }},
    };
    for (const std::string_view op : kOfEachElementTooHere)
      made.emplace(op, [](const SampleRules& r) { return r.each(); });
    for (const std::string_view op : kOfAllFirstRowsHere)
      made.emplace(op, [](const SampleRules& r) { return r.all_first_rows(); });
    return made;
  }();
  return all;
}

}  // namespace

Samples after(const NodeOfSamples& of, size_t output) {
  constexpr Samples kMixed{.kind = Kind::kMixed};
  const SampleRules rules_of(of, output);
  const std::string& op = of.node.op_type();
  const bool is_here = of.node.domain() == "com.microsoft";
  if (!is_here && !of.node.domain().empty()) return kMixed;
  const auto& known = is_here ? rules_here() : rules();
  if (!is_here && is_of_each_element(op)) {
    if (of.opset < 7) return kMixed;
    const Samples made = rules_of.each();
    if (made.is_rows()) return made;
  } else if (const auto rule = known.find(op); rule != known.end()) {
    const Samples made = rule->second(rules_of);
    if (made.kind != Kind::kMixed) return made;
  }
  const bool are_counts = std::ranges::none_of(of.operands, [](const Samples& operand) { return operand.is_rows(); });
  return are_counts ? rules_of.counted() : kMixed;
}

}  // namespace thaw::proving
