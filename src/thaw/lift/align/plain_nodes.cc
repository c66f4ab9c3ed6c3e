#include "thaw/lift/align/plain_nodes.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "thaw/lift/align/constant_operand.h"
#include "thaw/lift/align/same_node.h"
#include "thaw/ops/rule/registry.h"

namespace thaw::lifting {
namespace {

constexpr int64_t kOpsetOfPads = 11;  // from here on a Pad's amounts are an operand

void drop_idle_attributes(ir::Node& node) {
  constexpr std::string_view kAllowZero = "allowzero";
  if (!node.attribute(kAllowZero) || ops::role_of(node, 1) != ops::Role::kShape) return;
  const ir::Tensor* target = node.input(1) ? node.input(1)->constant() : nullptr;
  if (target && !node.input(1)->is_input() && std::ranges::count(target->to_int64(), 0) == 0)
    node.remove_attribute(kAllowZero);
}

using Pads = std::vector<int64_t>;  // of a Conv: before each axis of the image, then after each

bool is_conv(const ir::Node& node) { return node.op_type() == "Conv" && node.domain().empty(); }

Pads pads_of(const ir::Node& node) {
  const auto pads = node.attribute_ints("pads");
  if (!pads.empty()) return {pads.begin(), pads.end()};
  const ir::Tensor* kernel = constant_operand(node, 1);
  return Pads(kernel && kernel->dims.size() > 2 ? 2 * (kernel->dims.size() - 2) : 0, 0);
}

// What both ends of each axis have.
Pads of_both_ends(Pads pads) {
  const size_t axes = pads.size() / 2;
  for (size_t i = 0; i < axes; ++i) pads[i] = pads[axes + i] = std::min(pads[i], pads[axes + i]);
  return pads;
}

// What all axes have that are cut alike: sizes that are odd along one of them in every trace pad it alike, as they happen to.
Pads of_axes_alike(Pads pads, const ir::Node& node) {
  const size_t axes = pads.size() / 2;
  const ir::Tensor* kernel = constant_operand(node, 1);
  if (!kernel || kernel->dims.size() != axes + 2) return pads;
  const auto strides = node.attribute_ints("strides"), dilations = node.attribute_ints("dilations");
  const auto side = [](const auto& of, size_t i) { return i < of.size() ? of[i] : 1; };
  const auto alike = [&](size_t a, size_t b) {
    return kernel->dims[2 + a] == kernel->dims[2 + b] && side(strides, a) == side(strides, b) &&
           side(dilations, a) == side(dilations, b);
  };
  const Pads own = pads;
  for (size_t i = 0; i < axes; ++i)
    for (size_t k = 0; k < axes; ++k)
      if (alike(i, k)) pads[i] = pads[axes + i] = std::min(pads[i], own[k]);
  return pads;
}

// `both` stays in the Conv, the rest is a Pad before it; zeros are not written.
void part_from_pads(ir::Node& node, const Pads& both, ir::Graph& graph) {
  const Pads pads = pads_of(node);
  const size_t axes = pads.size() / 2;
  Pads rest(pads.size() + 4, 0);
  for (size_t i = 0; i < axes; ++i) {
    rest[2 + i] = pads[i] - both[i];
    rest[4 + axes + i] = pads[axes + i] - both[axes + i];
  }
  if (std::ranges::any_of(pads, [](int64_t pad) { return pad < 0; })) return;
  if (both != pads) {
    ir::Value* amounts = graph.add_initializer(ir::Tensor::from_int64(
        graph.unique_name(node.output(0)->name() + "_pads"), {static_cast<int64_t>(rest.size())}, rest));
    ir::Value* padded = graph.add_value(graph.unique_name(node.output(0)->name() + "_padded"));
    graph.add_node("Pad", "", {node.input(0), amounts}, {padded}, node.name + "_pad", &node);
    node.set_input(0, padded);
  }
  if (std::ranges::all_of(both, [](int64_t pad) { return pad == 0; })) {
    node.remove_attribute("pads");
    return;
  }
  ir::Attribute changed = *node.attribute("pads");
  changed.value = both;
  node.set_attribute(std::move(changed));
}

const ir::Tensor* amounts_of(const ir::Node& node) {
  const ir::Value* amounts = node.input(1);
  if (ops::role_of(node, 1) != ops::Role::kPads || !amounts || amounts->is_input()) return nullptr;
  return amounts->constant();
}

bool pads_with_same(const ir::Node& a, const ir::Node& b) {
  const auto value = [](const ir::Node& node) { return node.input(2) ? node.input(2)->constant() : nullptr; };
  if (a.input(3) || b.input(3) || (a.input(2) == nullptr) != (b.input(2) == nullptr)) return false;
  if (a.attribute_string("mode", "constant") != "constant" || b.attribute_string("mode", "constant") != "constant")
    return false;
  return !a.input(2) || (value(a) && value(b) && same_tensor(*value(a), *value(b)));
}

// A Pad of what a Pad gives, which is read by nothing else, pads for both.
void join_pads(ir::Node& node, ir::Graph& graph) {
  ir::Value* data = node.input(0);
  const ir::Tensor* more = amounts_of(node);
  ir::Node* first = data ? data->producer() : nullptr;
  if (!more || !first || data->uses().size() != 1 || data->is_output()) return;
  const ir::Tensor* some = amounts_of(*first);
  if (!some || some->dims != more->dims || !pads_with_same(*first, node)) return;
  std::vector<int64_t> sum = some->to_int64();
  const std::vector<int64_t> rest = more->to_int64();
  const auto negative = [](int64_t pad) { return pad < 0; };
  if (std::ranges::any_of(sum, negative) || std::ranges::any_of(rest, negative)) return;
  for (size_t i = 0; i < sum.size(); ++i) sum[i] += rest[i];
  node.set_input(
      1, graph.add_initializer(ir::Tensor::from_int64(graph.unique_name(node.input(1)->name()), some->dims, sum)));
  node.set_input(0, first->input(0));
  graph.remove_node(first);
}

// The Pad of zeros that a Conv alone reads, and what both do at the ends of each axis of the image; nullopt where there is none.
std::optional<Pads> pads_with_pad_before(const ir::Node& conv) {
  const ir::Node* pad = conv.input(0) ? conv.input(0)->producer() : nullptr;
  if (conv.attribute_string("auto_pad", "NOTSET") != "NOTSET") return std::nullopt;
  const ir::Tensor* amounts = pad ? amounts_of(*pad) : nullptr;
  if (!amounts || pad->output(0)->uses().size() != 1 || pad->output(0)->is_output() || pad->input(3) ||
      pad->attribute_string("mode", "constant") != "constant")
    return std::nullopt;
  const ir::Tensor* value = pad->input(2) ? constant_operand(*pad, 2) : nullptr;
  if (pad->input(2) && (!value || value->num_elements() != 1 || value->to_double().front() != 0)) return std::nullopt;
  Pads sum = pads_of(conv);
  const auto axes = static_cast<int64_t>(sum.size() / 2);
  if (amounts->num_elements() != 2 * (axes + 2)) return std::nullopt;
  const std::vector<int64_t> more = amounts->to_int64();
  for (int64_t i = 0; i < 2 * (axes + 2); ++i) {
    const int64_t axis = i % (axes + 2) - 2, amount = more[static_cast<size_t>(i)];
    if (amount < 0 || (axis < 0 && amount != 0)) return std::nullopt;
    if (axis >= 0) sum[static_cast<size_t>(axis + (i < axes + 2 ? 0 : axes))] += amount;
  }
  return sum;
}

// The Conv pads for the Pad before it too.
void take_pad_before(ir::Node& conv, const Pads& sum, ir::Graph& graph) {
  ir::Node* pad = conv.input(0)->producer();
  conv.set_input(0, pad->input(0));
  graph.remove_node(pad);
  conv.set_attribute({.name = "pads", .value = sum});
}

std::vector<ir::Node*> convs_of(const ir::Graph& graph) {
  std::vector<ir::Node*> convs;
  for (ir::Node* node : graph.nodes())
    if (is_conv(*node)) convs.push_back(node);
  return convs;
}

void take_pad_before_each(const std::vector<std::vector<ir::Node*>>& convs, size_t place, std::vector<Trace>& traces) {
  std::vector<Pads> sums;
  for (const auto& nodes : convs) {
    auto sum = pads_with_pad_before(*nodes[place]);
    if (!sum || (!sums.empty() && sum->size() != sums.front().size())) return;
    sums.push_back(std::move(*sum));
  }
  const auto has_part = [](const Pads& pads) { return std::ranges::all_of(pads, [](int64_t pad) { return pad > 0; }); };
  if (std::ranges::all_of(sums, [&](const Pads& sum) { return sum == sums.front(); }) ||
      !std::ranges::all_of(sums, has_part))
    return;
  for (size_t k = 0; k < traces.size(); ++k) take_pad_before(*convs[k][place], sums[k], *traces[k].model->graph);
}

// Those of each trace, place by place; nothing where they have not as many, or an opset is too old.
std::vector<std::vector<ir::Node*>> convs_of_all(const std::vector<Trace>& traces) {
  std::vector<std::vector<ir::Node*>> convs;
  for (const Trace& trace : traces) {
    convs.push_back(convs_of(*trace.model->graph));
    if (convs.back().size() != convs.front().size() || trace.model->opset("").value_or(0) < kOpsetOfPads)
      return std::vector<std::vector<ir::Node*>>(1);
  }
  return convs;
}

}  // namespace

void take_pads_before(std::vector<Trace>& traces) {
  const auto convs = convs_of_all(traces);
  for (size_t i = 0; i < convs.front().size(); ++i) take_pad_before_each(convs, i, traces);
}

void part_pads_alike(std::vector<Trace>& traces) {
  const auto convs = convs_of_all(traces);
  for (size_t i = 0; i < convs.front().size(); ++i) {
    Pads common = of_both_ends(pads_of(*convs.front()[i]));
    bool differs = false, alike = true;
    for (const auto& nodes : convs) {
      const Pads pads = pads_of(*nodes[i]), both = of_both_ends(pads);
      differs |= pads != pads_of(*convs.front()[i]);
      alike &= pads.size() == common.size();
      for (size_t axis = 0; axis < common.size() && alike; ++axis) common[axis] = std::min(common[axis], both[axis]);
    }
    if (differs && alike) common = of_axes_alike(std::move(common), *convs.front()[i]);
    for (size_t k = 0; k < traces.size() && differs && alike; ++k)
      part_from_pads(*convs[k][i], common, *traces[k].model->graph);
  }
}

void write_plainly(ir::Model& model) {
  ir::Graph& graph = *model.graph;
  for (ir::Node* node : graph.nodes()) {
    drop_idle_attributes(*node);
    if (model.opset("").value_or(0) >= kOpsetOfPads && is_conv(*node) && node->attribute("pads"))
      part_from_pads(*node, of_both_ends(pads_of(*node)), graph);
    join_pads(*node, graph);
  }
}

}  // namespace thaw::lifting
