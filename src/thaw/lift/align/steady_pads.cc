#include "thaw/lift/align/steady_pads.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "thaw/lift/align/constant_operand.h"
#include "thaw/lift/align/same_node.h"
#include "thaw/ops/onnx/padded_windows.h"
#include "thaw/ops/rule/registry.h"

namespace thaw::lifting {
namespace {

// What fills whole windows: those of one step never lack anything.
std::optional<WindowCut> long_cut_after(const ir::Node& pad) {
  auto cut = window_cut_after(pad);
  if (!cut) return std::nullopt;
  const std::vector<int64_t>& strides = std::get<2>(*cut);
  return std::ranges::any_of(strides, [](int64_t stride) { return stride > 1; }) ? cut : std::nullopt;
}

}  // namespace

std::optional<WindowCut> window_cut_after(const ir::Node& pad) {
  const ir::Value* padded = pad.output(0);
  if (ops::role_of(pad, kPadAmounts) != ops::Role::kPads || padded->uses().size() != 1) return std::nullopt;
  const ir::Node& reader = *padded->uses().front().node;
  const std::vector<int64_t> kernel = ops::window_kernel(reader);
  if (kernel.empty()) return std::nullopt;
  return WindowCut{std::string(reader.op_type()), kernel, ops::numbers_or(reader, "strides", kernel.size(), 1)};
}

DifferingEnds differing_ends(const Difference& pads) {
  DifferingEnds ends;
  const std::vector<int64_t> first = pads.tensors.front()->to_int64();
  for (const ir::Tensor* tensor : pads.tensors) {
    const std::vector<int64_t> amounts = tensor->to_int64();
    for (size_t i = 0; i < std::min(first.size(), amounts.size()); ++i)
      if (amounts[i] != first[i]) (i < first.size() / 2 ? ends.before : ends.after) = true;
  }
  return ends;
}

void note_steady_pads(Alignment& alignment) {
  std::map<WindowCut, DifferingEnds> cuts;
  std::unordered_set<const ir::Node*> known;
  for (const Difference& difference : alignment.differences) {
    if (difference.input != kPadAmounts) continue;
    known.insert(difference.node);
    const auto cut = long_cut_after(*difference.node);
    if (!cut) continue;
    const DifferingEnds here = differing_ends(difference);
    DifferingEnds& ends = cuts[*cut];
    ends = {ends.before || here.before, ends.after || here.after};
  }
  if (cuts.empty()) return;
  const auto& nodes = alignment.nodes;
  for (size_t i = 0; i < nodes.front().size(); ++i) {
    ir::Node* pad = nodes.front()[i];
    const auto cut = known.contains(pad) ? std::nullopt : long_cut_after(*pad);
    const ir::Tensor* amounts = cut && cuts.contains(*cut) ? constant_operand(*pad, kPadAmounts) : nullptr;
    if (!amounts) continue;
    Difference steady{.node = pad, .input = kPadAmounts, .value = pad->input(kPadAmounts)};
    for (const auto& trace : nodes) {
      const ir::Tensor* there = constant_operand(*trace[i], kPadAmounts);
      if (there && same_tensor(*there, *amounts)) steady.tensors.push_back(there);
    }
    if (steady.tensors.size() == nodes.size()) alignment.differences.push_back(std::move(steady));
  }
  // Those behind such a Pad are solved by what it leaves of its data.
  sort_by_nodes(alignment);
  for (Difference& difference : alignment.differences) {
    const auto cut = difference.input == kPadAmounts ? long_cut_after(*difference.node) : std::nullopt;
    const auto ends = cut ? cuts.find(*cut) : cuts.end();
    if (ends == cuts.end()) continue;
    difference.fills_before = ends->second.before;
    difference.fills_after = ends->second.after;
  }
}

}  // namespace thaw::lifting
