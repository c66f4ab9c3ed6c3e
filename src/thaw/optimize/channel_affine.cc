#include "thaw/optimize/channel_affine.h"

#include <algorithm>
#include <cmath>

#include "thaw/optimize/norm_parameters.h"
#include "thaw/optimize/site.h"

namespace thaw::optimizing {
namespace {

constexpr AxisRange kChannelAxis{1, 1};

// A constant as one number for each channel; one of more numbers than that is another thing.
std::optional<std::vector<double>> per_channel(const ir::Value* value, const ir::Value& output, int64_t channels,
                                               const infer::Inference& facts, Affine& affine) {
  const ir::Tensor* tensor = constant_of(value);
  const ops::Fact &fact = facts.fact(value), &data = facts.fact(&output);
  if (!tensor || tensor->data_type != data.dtype) return std::nullopt;
  if (own_constant(value)) affine.bytes += tensor->num_bytes();
  const bool is_single = tensor->num_elements() == 1 && fact.rank() <= data.rank();
  if (!is_single && (tensor->num_elements() != channels || !lies_along(fact, data, kChannelAxis))) return std::nullopt;
  std::vector<double> numbers = tensor->to_double();
  if (is_single) numbers.resize(static_cast<size_t>(channels), numbers.front());
  return numbers;
}

std::optional<Affine> affine_of_norm(const ir::Node& norm, const ir::Value& output, Affine affine) {
  const auto outputs = norm.outputs();
  if (norm.input(0) != &output || norm.attribute_int("training_mode", 0) != 0 ||
      norm.attribute_int("spatial", 1) != 1 ||
      std::any_of(outputs.begin() + 1, outputs.end(), [](const ir::Value* v) { return v && v->is_used(); }))
    return std::nullopt;
  std::vector<std::vector<double>> parameters;
  for (int i = 1; i < 5; ++i) {
    const ir::Tensor* tensor = constant_of(norm.input(i));
    if (!tensor || tensor->num_elements() != static_cast<int64_t>(affine.scale.size()) ||
        !ir::is_floating(tensor->data_type))
      return std::nullopt;
    if (own_constant(norm.input(i))) affine.bytes += tensor->num_bytes();
    parameters.push_back(tensor->to_double());
  }
  const float epsilon = norm.attribute_float("epsilon", 1e-5F);
  for (size_t i = 0; i < affine.scale.size(); ++i) {
    const auto number = [&](size_t which) { return static_cast<float>(parameters[which][i]); };
    affine.scale[i] = number(0) / std::sqrt(number(3) + epsilon);
    affine.shift[i] = number(1);
    affine.centre[i] = number(2);
  }
  affine.shifts = true;
  return affine;
}

}  // namespace

std::optional<Affine> affine_of(const ir::Node& reader, const ir::Value& output, int64_t channels,
                                const infer::Inference& facts) {
  const auto is = [&](std::string_view op) { return reader.domain().empty() && reader.op_type() == op; };
  const auto count = static_cast<size_t>(channels);
  Affine affine{std::vector(count, 0.0F), std::vector(count, 1.0F), std::vector(count, 0.0F)};
  if (is("BatchNormalization")) return affine_of_norm(reader, output, std::move(affine));
  const bool multiplies = is("Mul"), divides = is("Div"), adds = is("Add"), subtracts = is("Sub");
  if (!multiplies && !divides && !adds && !subtracts) return std::nullopt;
  const int position = reader.input(0) == &output ? 1 : 0;
  if ((divides || subtracts) && position == 0) return std::nullopt;
  const auto numbers = per_channel(reader.input(position), output, channels, facts, affine);
  if (!numbers) return std::nullopt;
  for (size_t i = 0; i < numbers->size(); ++i) {
    const auto number = static_cast<float>((*numbers)[i]);
    if (multiplies || divides) affine.scale[i] = divides ? 1 / number : number;
    if (adds || subtracts) affine.shift[i] = subtracts ? -number : number;
  }
  affine.shifts = adds || subtracts;
  return affine;
}

const ir::Tensor* own_constant(const ir::Value* value) {
  return value && value->initializer() && !value->is_input() && is_read_once(*value) ? value->initializer() : nullptr;
}

bool is_narrow_float(ir::DataType type) {
  return type == ir::DataType::kFloat || type == ir::DataType::kFloat16 || type == ir::DataType::kBfloat16;
}

}  // namespace thaw::optimizing
