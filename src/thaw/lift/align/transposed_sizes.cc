#include "thaw/lift/align/transposed_sizes.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "thaw/lift/align/trace_facts.h"
#include "thaw/ops/onnx/padded_windows.h"
#include "thaw/ops/rule/small_tensor.h"
#include "thaw/rewrite/emitter.h"
#include "thaw/rewrite/replace.h"

namespace thaw::lifting {
namespace {

constexpr std::string_view kPads = "pads", kAdded = "output_padding";

std::vector<ir::Node*> transposed_of(const ir::Model& model) {
  std::vector<ir::Node*> nodes;
  for (ir::Node* node : model.graph->nodes())
    if (node->op_type() == "ConvTranspose" && node->domain().empty()) nodes.push_back(node);
  return nodes;
}

// The sizes that it makes along its spatial axes; nullopt where something else than these attributes decides about them.
std::optional<std::vector<int64_t>> made_by(const ir::Node& node, const infer::Result& facts) {
  const auto made = ops::constant_shape(facts.fact(node.output(0)).shape);
  if (!made || made->size() < 3 || node.attribute("output_shape")) return std::nullopt;
  if (node.attribute_string("auto_pad", "NOTSET") != "NOTSET") return std::nullopt;
  const size_t axes = made->size() - 2;
  for (const auto& [name, count] : {std::pair(kPads, 2 * axes), {kAdded, axes}, {"strides", axes}, {"dilations", axes}})
    if (const size_t given = node.attribute_ints(name).size(); given != 0 && given != count) return std::nullopt;
  return std::vector<int64_t>(made->begin() + 2, made->end());
}

// In its place one that adds as many as it may, where it is to add otherwise than others, and that cuts none off, where it is to cut
// otherwise; and a Slice to the sizes that it makes.
void cut_after(ir::Node& node, const std::vector<int64_t>& made, bool adds, bool cuts, ir::Model& model) {
  const size_t axes = made.size();
  std::vector<int64_t> begins(axes), ends = made, places(axes);
  std::iota(places.begin(), places.end(), 2);
  ops::Attributes attributes;
  for (const ir::Attribute& attribute : node.attributes())
    if (!(adds && attribute.name == kAdded) && !(cuts && attribute.name == kPads)) attributes.push_back(attribute);
  if (adds) {
    const auto strides = ops::numbers_or(node, "strides", axes, 1),
               dilations = ops::numbers_or(node, "dilations", axes, 1);
    std::vector<int64_t> most;
    for (size_t i = 0; i < axes; ++i) most.push_back(std::max(strides[i], dilations[i]) - 1);
    attributes.push_back({.name = std::string(kAdded), .value = std::move(most)});
  }
  if (cuts) {
    const std::vector<int64_t> pads = ops::numbers_or(node, kPads, 2 * axes, 0);
    begins.assign(pads.begin(), pads.begin() + static_cast<std::ptrdiff_t>(axes));
    for (size_t i = 0; i < axes; ++i) ends[i] += begins[i];
  }
  rewrite::Emitter emitter(model, "cut");
  emitter.set_origin(node.name);
  const ops::Emit at = emitter.before(&node);
  const std::string name = node.name;
  ir::Value* whole = at.emit(node.op_type(), {node.inputs().begin(), node.inputs().end()}, std::move(attributes));
  ir::Value* cut = at.emit("Slice", {whole, at.own_list("begins", begins), at.own_list("ends", ends), at.list(places)});
  rewrite::replace_value(*node.output(0), *cut);
  model.graph->remove_node(&node);
  whole->producer()->name = name;
}

}  // namespace

void cut_transposed_alike(std::vector<Trace>& traces) {
  std::vector<std::vector<ir::Node*>> nodes;
  for (const Trace& trace : traces) nodes.push_back(transposed_of(*trace.model));
  const size_t count = nodes.front().size();
  if (!std::ranges::all_of(nodes, [&](const auto& each) { return each.size() == count; })) return;
  const auto differ = [&](size_t i, std::string_view name) {
    return std::ranges::any_of(nodes, [&](const auto& each) {
      return !std::ranges::equal(each[i]->attribute_ints(name), nodes.front()[i]->attribute_ints(name));
    });
  };
  TraceFacts facts(traces);
  for (size_t i = 0; i < count; ++i) {
    const bool adds = differ(i, kAdded), cuts = differ(i, kPads);
    if (!adds && !cuts) continue;
    std::vector<std::vector<int64_t>> made;
    for (size_t k = 0; k < traces.size(); ++k)
      if (auto sizes = made_by(*nodes[k][i], facts.of(k))) made.push_back(std::move(*sizes));
    if (made.size() != traces.size()) continue;
    for (size_t k = 0; k < traces.size(); ++k) cut_after(*nodes[k][i], made[k], adds, cuts, *traces[k].model);
  }
}

}  // namespace thaw::lifting
