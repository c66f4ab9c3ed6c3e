// Forms that DirectML runs well: operators that it has kernels for, positions without Shape -> Range, which goes through the
// CPU, and convolutions over two axes, which its kernels are made for.
#include <vector>

#include "thaw/optimize/count_positions.h"
#include "thaw/optimize/directml_opset.h"
#include "thaw/optimize/tables.h"

namespace thaw::optimizing {
namespace {

// What DirectML has no kernel for, in the older operators that it stands for.
ir::Value* in_older_operators(const Site& s) {
  return ops::find_kernel(directml_operators(), s.node().op_type(), s.opset()) ? nullptr : s.in_older_operators();
}

ir::Value* expanded(const Site& s) {
  if (ops::find_kernel(directml_operators(), s.node().op_type(), s.opset()) || s.out().rank() < 1) return nullptr;
  const ir::Attribute* given = s.node().attribute("value");
  if (!given) return s.at().emit("Expand", {s.at().floats({1}, {0}), s.input(0)});
  const auto* tensor = given->as<std::shared_ptr<ir::Tensor>>();
  if (!tensor || (*tensor)->num_elements() != 1) return nullptr;
  ir::Tensor one = **tensor;
  one.name.clear();
  return s.at().emit("Expand", {s.at().writer().constant(std::move(one)), s.input(0)});
}

// A list of one number an axis, and one for an axis before it.
void add_axis(ops::Attributes& attributes, const ir::Node& node, std::string_view name, int64_t number) {
  const auto given = node.attribute_ints(name);
  if (given.empty()) return;
  std::vector<int64_t> list;
  const bool both_ends = given.size() == 2;
  for (const int64_t one : given) {
    list.push_back(number);
    list.push_back(one);
  }
  if (both_ends) list = {number, given[0], number, given[1]};
  attributes.push_back({std::string(name), std::move(list)});
}

ir::Value* over_two_axes(const Site& s) {
  if (s.in(0).rank() != 3 || s.in(1).rank() != 3) return nullptr;
  const ops::Emit& at = s.at();
  ops::Attributes attributes;
  for (const ir::Attribute& attribute : s.node().attributes())
    if (attribute.name == "auto_pad" || attribute.name == "group") attributes.push_back(attribute);
  for (const std::string_view name : {"kernel_shape", "strides", "dilations", "output_shape"})
    add_axis(attributes, s.node(), name, 1);
  for (const std::string_view name : {"pads", "output_padding"}) add_axis(attributes, s.node(), name, 0);
  std::vector<ir::Value*> inputs = {at.unsqueeze(s.input(0), {2}), at.unsqueeze(s.input(1), {2})};
  if (s.input(2)) inputs.push_back(s.input(2));
  return at.squeeze(at.emit("ConvTranspose", std::move(inputs), std::move(attributes)), {2});
}

const Simplification kDirectmlForms[] = {
    {"write in older operators",
     {"Attention", "Gelu", "GroupNormalization", "HardSwish", "Mish", "RMSNormalization", "RotaryEmbedding", "Swish"},
     in_older_operators},
    {"expand a constant", {"ConstantOfShape"}, expanded},
    {"count positions", {"Range"}, count_positions},
    {"convolve over two axes", {"ConvTranspose"}, over_two_axes},
};

}  // namespace

std::span<const Simplification> directml_forms() { return kDirectmlForms; }

}  // namespace thaw::optimizing
