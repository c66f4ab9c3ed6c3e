#include "thaw/lift/align/folded_pads.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "thaw/lift/align/constant_operand.h"
#include "thaw/lift/align/trace_facts.h"
#include "thaw/ops/onnx/padded_windows.h"
#include "thaw/ops/rule/registry.h"
#include "thaw/rewrite/emitter.h"

namespace thaw::lifting {
namespace {

using ops::PaddedWindows;
using Pads = std::vector<int64_t>;  // before each spatial axis, then after each

// What both ends of each axis have.
Pads of_both_ends(Pads pads) {
  const size_t axes = pads.size() / 2;
  for (size_t i = 0; i < axes; ++i) pads[i] = pads[axes + i] = std::min(pads[i], pads[axes + i]);
  return pads;
}

// What all axes have that are cut alike: sizes that are odd along one of them in every trace pad it alike, as they happen to.
Pads of_axes_alike(Pads pads, const PaddedWindows& windows) {
  const size_t axes = pads.size() / 2;
  const auto cut = [&](size_t i) { return std::tuple(windows.kernel[i], windows.strides[i], windows.dilations[i]); };
  const Pads own = pads;
  for (size_t i = 0; i < axes; ++i)
    for (size_t k = 0; k < axes; ++k)
      if (cut(i) == cut(k)) pads[i] = pads[axes + i] = std::min(pads[i], own[k]);
  return pads;
}

// `kept` stays in the node, the rest is a Pad before it; zeros are not written.
void part_from_pads(ir::Node& node, const PaddedWindows& windows, const Pads& kept, ir::Model& model,
                    ir::DataType type) {
  const auto axes = static_cast<std::ptrdiff_t>(windows.kernel.size());
  if (kept != windows.pads) {
    Pads rest;
    for (size_t i = 0; i < kept.size(); ++i) rest.push_back(windows.pads[i] - kept[i]);
    rest.insert(rest.begin() + axes, {0, 0});
    rest.insert(rest.begin(), {0, 0});
    rewrite::Emitter emitter(model, "unfolded");
    const ops::Emit at = emitter.before(&node);
    std::vector<ir::Value*> operands{node.input(0), at.own_list(node.output(0)->name() + "_pads", rest)};
    if (windows.fill != 0) operands.push_back(at.scalar(windows.fill, type));
    ir::Value* padded = at.emit("Pad", std::move(operands));
    padded->producer()->name = node.name + "_pad";
    node.set_input(0, padded);
  }
  node.remove_attribute("pads");
  if (std::ranges::any_of(kept, [](int64_t pad) { return pad != 0; }))
    node.set_attribute({.name = "pads", .value = kept});
}

// The Pad that the node alone reads, and what both do at the ends of each spatial axis; nullopt where there is none of what windows are
// filled with.
std::optional<Pads> pads_with_pad_before(const ir::Node& node, const PaddedWindows& windows) {
  const ir::Node* pad = node.input(0) ? node.input(0)->producer() : nullptr;
  const auto amounts = pad && ops::role_of(*pad, 1) == ops::Role::kPads ? constant_integers(*pad, 1) : std::nullopt;
  if (!amounts || pad->output(0)->uses().size() != 1 || pad->output(0)->is_output() || pad->input(3) ||
      pad->attribute_string("mode", "constant") != "constant")
    return std::nullopt;
  const ir::Tensor* value = pad->input(2) ? constant_operand(*pad, 2) : nullptr;
  if (pad->input(2) && (!value || value->num_elements() != 1)) return std::nullopt;
  if ((value ? value->to_double().front() : 0) != windows.fill) return std::nullopt;
  Pads sum = windows.pads;
  const auto axes = static_cast<int64_t>(windows.kernel.size());
  if (std::ssize(*amounts) != 2 * (axes + 2)) return std::nullopt;
  for (int64_t i = 0; i < 2 * (axes + 2); ++i) {
    const int64_t axis = i % (axes + 2) - 2, amount = (*amounts)[static_cast<size_t>(i)];
    if (amount < 0 || (axis < 0 && amount != 0)) return std::nullopt;
    if (axis >= 0) sum[static_cast<size_t>(axis + (i < axes + 2 ? 0 : axes))] += amount;
  }
  return sum;
}

void take_pad_before(ir::Node& node, const Pads& sum, ir::Graph& graph) {
  ir::Node* pad = node.input(0)->producer();
  node.set_input(0, pad->input(0));
  graph.remove_node(pad);
  node.set_attribute({.name = "pads", .value = sum});
}

struct WindowNode {
  ir::Node* node;
  PaddedWindows windows;
};

// Those of each trace, place by place; nothing where they have not as many.
std::vector<std::vector<WindowNode>> windows_of_all(const std::vector<Trace>& traces) {
  std::vector<std::vector<WindowNode>> all;
  for (const Trace& trace : traces) {
    std::vector<WindowNode>& nodes = all.emplace_back();
    for (ir::Node* node : trace.model->graph->nodes())
      if (auto windows = ops::padded_windows(*node)) nodes.push_back({node, std::move(*windows)});
    if (nodes.size() != all.front().size()) return std::vector<std::vector<WindowNode>>(1);
  }
  return all;
}

// Windows of a kind pad alike: by what their sizes lack to whole strides, or always as much.
using WindowKind = std::tuple<std::string_view, std::vector<int64_t>, std::vector<int64_t>, std::vector<int64_t>>;

WindowKind kind_of(const WindowNode& each) {
  return {each.node->op_type(), each.windows.kernel, each.windows.strides, each.windows.dilations};
}

Pads least_of(Pads a, const Pads& b) {
  for (size_t i = 0; i < a.size(); ++i) a[i] = std::min(a[i], b[i]);
  return a;
}

// Whether they may be the same node.
bool are_alike(const std::vector<std::vector<WindowNode>>& all, size_t place) {
  const WindowNode& first = all.front()[place];
  return std::ranges::all_of(all, [&](const auto& nodes) {
    return nodes[place].node->op_type() == first.node->op_type() && nodes[place].windows.kernel == first.windows.kernel;
  });
}

void take_pad_before_each(const std::vector<std::vector<WindowNode>>& all, size_t place, std::vector<Trace>& traces) {
  std::vector<Pads> sums;
  for (const auto& nodes : all) {
    auto sum = pads_with_pad_before(*nodes[place].node, nodes[place].windows);
    if (!sum) return;
    sums.push_back(std::move(*sum));
  }
  const auto has_part = [](const Pads& pads) { return std::ranges::all_of(pads, [](int64_t pad) { return pad > 0; }); };
  if (std::ranges::all_of(sums, [&](const Pads& sum) { return sum == sums.front(); }) ||
      !std::ranges::all_of(sums, has_part))
    return;
  for (size_t k = 0; k < traces.size(); ++k) take_pad_before(*all[k][place].node, sums[k], *traces[k].model->graph);
}

}  // namespace

void take_pads_before(std::vector<Trace>& traces) {
  const auto all = windows_of_all(traces);
  for (size_t i = 0; i < all.front().size(); ++i)
    if (are_alike(all, i)) take_pad_before_each(all, i, traces);
}

void part_pads_alike(std::vector<Trace>& traces) {
  const auto all = windows_of_all(traces);
  TraceFacts facts(traces);
  // What is kept of each that is padded otherwise in another trace, and of others of its kind, the least of these.
  std::map<size_t, Pads> kept;
  std::map<WindowKind, Pads> kept_of_kind;
  for (size_t i = 0; i < all.front().size(); ++i) {
    const WindowNode& first = all.front()[i];
    const auto pads_alike = [&](const auto& nodes) { return nodes[i].windows.pads == first.windows.pads; };
    if (!are_alike(all, i) || std::ranges::all_of(all, pads_alike)) continue;
    Pads least = of_both_ends(first.windows.pads);
    for (const auto& nodes : all) least = least_of(std::move(least), of_both_ends(nodes[i].windows.pads));
    kept[i] = of_axes_alike(std::move(least), first.windows);
    const auto [of_kind, is_new] = kept_of_kind.emplace(kind_of(first), kept[i]);
    if (!is_new) of_kind->second = least_of(std::move(of_kind->second), kept[i]);
  }
  for (size_t i = 0; i < all.front().size(); ++i) {
    const WindowNode& first = all.front()[i];
    const auto of_kind = kept_of_kind.find(kind_of(first));
    if (of_kind == kept_of_kind.end() || !are_alike(all, i)) continue;
    const auto own = kept.find(i);
    const Pads stays = own != kept.end() ? own->second : least_of(of_both_ends(first.windows.pads), of_kind->second);
    // Of the number that is padded with, where it is not 0.
    std::vector<ir::DataType> types(traces.size(), ir::DataType::kFloat);
    for (size_t k = 0; k < traces.size() && first.windows.fill != 0; ++k)
      types[k] = facts.of(k).fact(all[k][i].node->input(0)).dtype;
    if (!std::ranges::all_of(types, ir::is_floating)) continue;
    for (size_t k = 0; k < traces.size(); ++k)
      part_from_pads(*all[k][i].node, all[k][i].windows, stays, *traces[k].model, types[k]);
  }
}

void part_uneven_pads(ir::Node& node, ir::Model& model) {
  const auto windows = ops::padded_windows(node);
  if (!windows || windows->fill != 0) return;
  const Pads both = of_both_ends(windows->pads);
  if (both != windows->pads) part_from_pads(node, *windows, both, model, ir::DataType::kUndefined);
}

}  // namespace thaw::lifting
