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

// What cuts windows: its operator, their sides and strides.
using WindowCut = std::tuple<std::string, std::vector<int64_t>, std::vector<int64_t>>;

// That of the one node that reads what is padded.
std::optional<WindowCut> cut_after(const ir::Node& pad) {
  const ir::Value* padded = pad.output(0);
  if (ops::role_of(pad, kPadAmounts) != ops::Role::kPads || padded->uses().size() != 1) return std::nullopt;
  const ir::Node& reader = *padded->uses().front().node;
  const auto strides = reader.attribute_ints("strides");
  if (std::ranges::none_of(strides, [](int64_t stride) { return stride > 1; })) return std::nullopt;
  std::vector<int64_t> steps(strides.begin(), strides.end());
  return WindowCut{std::string(reader.op_type()), ops::window_kernel(reader), std::move(steps)};
}

// Which ends of the axes differ from trace to trace.
struct Ends {
  bool before = false, after = false;
};

Ends ends_that_differ(const Difference& difference) {
  Ends ends;
  const std::vector<int64_t> first = difference.tensors.front()->to_int64();
  for (const ir::Tensor* tensor : difference.tensors) {
    const std::vector<int64_t> pads = tensor->to_int64();
    for (size_t i = 0; i < std::min(first.size(), pads.size()); ++i)
      if (pads[i] != first[i]) (i < first.size() / 2 ? ends.before : ends.after) = true;
  }
  return ends;
}

}  // namespace

void note_steady_pads(Alignment& alignment) {
  std::map<WindowCut, Ends> cuts;
  std::unordered_set<const ir::Node*> known;
  for (const Difference& difference : alignment.differences) {
    if (difference.input != kPadAmounts) continue;
    known.insert(difference.node);
    const auto cut = cut_after(*difference.node);
    if (!cut) continue;
    const Ends here = ends_that_differ(difference);
    Ends& ends = cuts[*cut];
    ends = {ends.before || here.before, ends.after || here.after};
  }
  if (cuts.empty()) return;
  const auto& nodes = alignment.nodes;
  for (size_t i = 0; i < nodes.front().size(); ++i) {
    ir::Node* pad = nodes.front()[i];
    const auto cut = known.contains(pad) ? std::nullopt : cut_after(*pad);
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
    const auto cut = difference.input == kPadAmounts ? cut_after(*difference.node) : std::nullopt;
    const auto ends = cut ? cuts.find(*cut) : cuts.end();
    if (ends == cuts.end()) continue;
    difference.fills_before = ends->second.before;
    difference.fills_after = ends->second.after;
  }
}

}  // namespace thaw::lifting
