#include "thaw/lift/untold/no_ops.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "thaw/ir/wire/node_metadata.h"
#include "thaw/lift/align/constant_operand.h"
#include "thaw/lift/align/steady_pads.h"
#include "thaw/ops/rule/registry.h"

namespace thaw::lifting {
namespace {

constexpr int kStarts = 1, kEnds = 2, kAxes = 3, kSteps = 4;  // operands of a Slice

class NoOps {
 public:
  explicit NoOps(const Lifting& lifting) : lifting_(lifting), inputs_(input_shapes(lifting)) {
    for (const FittedTable& table : lifting_.tables)
      for (const Difference* reader : table.readers) {
        if (reader->input == kPadAmounts) solved_[reader->node] = &table.fit.sizes;
        if (reader->input == kEnds && ops::role_of(*reader->node, kEnds) == ops::Role::kBounds)
          look_at_slice(*reader->node, table.fit.sizes);
      }
    const auto& nodes = lifting_.alignment.nodes;
    std::vector<size_t> pads;
    for (size_t i = 0; i < nodes.front().size(); ++i)
      if (ops::role_of(*nodes.front()[i], kPadAmounts) == ops::Role::kPads) pads.push_back(i);
    const bool are_same = all_pad_as_same(pads);
    for (const size_t i : pads)
      if (!are_same || !has_one_step(*nodes.front()[i])) look_at_pad(i);
  }
  AtNoOps take() { return {std::move(sizes_), std::move(given_back_)}; }

 private:
  const ops::Shape* data_of(const ir::Node& node) const {
    if (node.inputs().empty()) return nullptr;
    const auto known = lifting_.tensor_shapes.find(node.input(0));
    if (known != lifting_.tensor_shapes.end()) return &known->second;
    const auto given = inputs_.find(node.input(0));
    return given == inputs_.end() ? nullptr : &given->second;
  }

  // What a Pad adds: as it was solved, else as all traces have it. Empty where they do not.
  ops::Shape amounts_of(size_t place) const {
    const auto solved = solved_.find(lifting_.alignment.nodes.front()[place]);
    if (solved != solved_.end()) return *solved->second;
    std::optional<std::vector<int64_t>> all;
    for (const auto& trace : lifting_.alignment.nodes) {
      const auto amounts = constant_integers(*trace[place], kPadAmounts);
      if (!amounts || (all && *all != *amounts)) return {};
      all = amounts;
    }
    return {all->begin(), all->end()};
  }

  // Whether a Pad adds what whole windows of its reader miss, as TensorFlow's "same" does, in every trace. Sets `differs` where that is not
  // the same in all.
  bool pads_as_same(size_t place, bool& differs) const {
    const auto& traces = lifting_.alignment.nodes;
    const auto cut = window_cut_after(*traces.front()[place]);
    const ops::Shape* data = data_of(*traces.front()[place]);
    if (!cut || !data) return false;
    const auto& [op, kernel, strides] = *cut;
    constexpr size_t kFirstSide = 2;  // behind batch and channels
    if (data->size() != kernel.size() + kFirstSide || strides.size() != kernel.size()) return false;
    std::vector<std::vector<int64_t>> amounts;
    for (const auto& nodes : traces) {
      auto each = constant_integers(*nodes[place], kPadAmounts);
      if (!each || each->size() != 2 * data->size()) return false;
      amounts.push_back(std::move(*each));
    }
    for (size_t i = 0; i < kernel.size(); ++i) {
      const size_t axis = i + kFirstSide;
      const std::vector<int64_t> sizes = in_traces((*data)[axis], lifting_.variables);
      if (sizes.size() != traces.size() || strides[i] <= 0) return false;
      for (size_t k = 0; k < traces.size(); ++k) {
        if (sizes[k] <= 0) return false;
        const int64_t windows = (sizes[k] - 1) / strides[i] + 1;
        const int64_t missing = std::max<int64_t>((windows - 1) * strides[i] + kernel[i] - sizes[k], 0);
        const int64_t before = amounts[k][axis], after = amounts[k][axis + data->size()];
        if (before != missing / 2 || after != missing - before) return false;
      }
    }
    differs = differs || std::ranges::any_of(amounts, [&](const auto& each) { return each != amounts.front(); });
    return true;
  }

  // Whether windows of one step read the Pad: what is missing to them is the same at any size.
  static bool has_one_step(const ir::Node& pad) {
    const auto cut = window_cut_after(pad);
    return cut && std::ranges::all_of(std::get<2>(*cut), [](int64_t stride) { return stride == 1; });
  }

  // Whether that of the model's Pads before windows is what they all do, as some show by what differs.
  bool all_pad_as_same(const std::vector<size_t>& pads) const {
    bool differs = false;
    for (const size_t place : pads)
      if (window_cut_after(*lifting_.alignment.nodes.front()[place]) && !pads_as_same(place, differs)) return false;
    return differs;
  }

  // Amounts that are the same in every trace: none at all, or more behind an axis than before it, as what is missing to whole windows.
  void look_at_pad(size_t place) {
    const ir::Node& pad = *lifting_.alignment.nodes.front()[place];
    const ops::Shape* data = data_of(pad);
    const ops::Shape amounts = amounts_of(place);
    if (!data || amounts.size() != 2 * data->size()) return;
    const bool does_nothing = std::ranges::all_of(amounts, [](dim::Dim amount) { return amount.is_constant(0); });
    bool fills = false;
    for (size_t axis = 0; axis < data->size(); ++axis) fills |= is_filled(amounts, axis);
    for (size_t axis = 0; axis < data->size(); ++axis) {
      const dim::Dim size = (*data)[axis], added = amounts[axis] + amounts[axis + data->size()];
      if (does_nothing) {
        if (size.is_symbolic()) add(size, divisor_of(size));
      } else if (fills && added.is_constant() && (added.is_constant(0) || is_filled(amounts, axis))) {
        add_filled(pad, size + added, *added.constant());
        add_given_back(size, added);
      }
    }
  }

  static bool is_filled(const ops::Shape& amounts, size_t axis) {
    const dim::Dim before = amounts[axis], after = amounts[axis + amounts.size() / 2];
    return before.is_constant() && after.is_constant() ? *before.constant() < *after.constant()
                                                       : !dim::same(before, after);
  }

  void add_given_back(dim::Dim cut, dim::Dim added) {
    if (!cut.is_symbolic() || added.is_constant(0)) return;
    const dim::Dim made = cut + added;
    const std::vector<int64_t> at = in_traces(made, lifting_.variables);
    const auto side = std::ranges::find(lifting_.variables, at, &Variable::at);
    const auto tensor = lifting_.tensor_sizes.find(at);
    dim::Dim other;
    if (tensor != lifting_.tensor_sizes.end()) other = tensor->second.dim;
    if (side != lifting_.variables.end()) other = side->symbol;
    if (other.is_symbolic() && !dim::same(other, made)) given_back_.push_back({other, made, ""});
  }

  // Where what a Pad makes is whole windows in every trace, to which less than one is added: of those that its readers cut, if they cut any.
  void add_filled(const ir::Node& pad, dim::Dim size, int64_t added) {
    if (!size.is_symbolic()) return;
    const int64_t divisor = divisor_of(size);
    const auto told = lifting_.windows_of_pads.find(&pad);
    int64_t windows = 1;
    if (told != lifting_.windows_of_pads.end() && !told->second.empty()) {
      for (const int64_t window : told->second)
        if (window > added && divisor % window == 0) windows = std::lcm(windows, window);
    } else if (divisor > added) {
      windows = divisor;
    }
    if (windows > 1) add(size, windows);
  }

  void look_at_slice(const ir::Node& slice, const ops::Shape& ends) {
    const ops::Shape* data = data_of(slice);
    const auto starts = constant_integers(slice, kStarts), steps = constant_integers(slice, kSteps);
    if (!data || !starts || starts->size() != ends.size() || (slice.input(kSteps) && !steps)) return;
    std::optional<std::vector<int64_t>> axes = constant_integers(slice, kAxes);
    if (!axes && !slice.input(kAxes)) {
      axes.emplace(ends.size());
      std::iota(axes->begin(), axes->end(), 0);
    }
    if (!axes || axes->size() != ends.size()) return;
    for (size_t k = 0; k < ends.size(); ++k) {
      const int64_t axis = (*axes)[k] < 0 ? (*axes)[k] + std::ssize(*data) : (*axes)[k];
      const bool is_whole = (*starts)[k] == 0 && (!steps || (steps->size() > k && (*steps)[k] == 1));
      if (axis < 0 || axis >= std::ssize(*data) || !is_whole) continue;
      const dim::Dim size = (*data)[static_cast<size_t>(axis)];
      if (size.is_symbolic() && dim::same(size, ends[k])) add(size, divisor_of(size));
    }
  }

  int64_t divisor_of(dim::Dim size) const { return common_divisor(in_traces(size, lifting_.variables)); }

  void add(dim::Dim size, int64_t divisor) {
    const auto known = std::ranges::find_if(sizes_, [&](const WholeSize& each) { return dim::same(each.size, size); });
    if (known == sizes_.end())
      sizes_.push_back({size, divisor});
    else
      known->divisor = std::lcm(known->divisor, divisor);
  }

  const Lifting& lifting_;
  std::unordered_map<const ir::Value*, ops::Shape> inputs_;
  std::unordered_map<const ir::Node*, const ops::Shape*> solved_;  // amounts of Pads
  std::vector<WholeSize> sizes_;
  std::vector<Undecided> given_back_;
};

}  // namespace

bool keeps_no_ops(const ir::Model& trace) {
  // Both exporters of torch.onnx.export bear the name; that of torch.export notes at each node which module it is of.
  return trace.producer_name == "pytorch" && std::ranges::all_of(trace.graph->nodes(), [](const ir::Node* node) {
           return ir::metadata_of(*node, "pkg.torch.onnx.class_hierarchy").empty();
         });
}

AtNoOps at_no_ops(const Lifting& lifting) { return NoOps(lifting).take(); }

}  // namespace thaw::lifting
