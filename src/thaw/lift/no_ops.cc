#include "thaw/lift/no_ops.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <set>
#include <utility>

#include "thaw/ir/wire/node_metadata.h"
#include "thaw/lift/align/constant_operand.h"
#include "thaw/lift/align/steady_pads.h"
#include "thaw/ops/rule/registry.h"

namespace thaw::lifting {
namespace {

constexpr int kStarts = 1, kEnds = 2, kAxes = 3, kSteps = 4;  // operands of a Slice

class NoOps {
 public:
  explicit NoOps(const Lifting& lifting) : lifting_(lifting) {}

  std::vector<dim::Dim> run() {
    for (const FittedTable& table : lifting_.tables)
      for (const Difference* reader : table.readers) {
        solved_.insert({reader->node, reader->input});
        if (reader->input == kEnds && ops::role_of(*reader->node, kEnds) == ops::Role::kBounds)
          look_at_slice(*reader->node, table.fit.sizes);
      }
    const auto& nodes = lifting_.alignment.nodes;
    for (size_t i = 0; i < nodes.front().size(); ++i)
      if (ops::role_of(*nodes.front()[i], kPadAmounts) == ops::Role::kPads) look_at_pad(i);
    return std::move(sizes_);
  }

 private:
  const ops::Shape* data_of(const ir::Node& node) const {
    const auto known =
        node.inputs().empty() ? lifting_.tensor_shapes.end() : lifting_.tensor_shapes.find(node.input(0));
    return known == lifting_.tensor_shapes.end() ? nullptr : &known->second;
  }

  void look_at_pad(size_t place) {
    const ir::Node& pad = *lifting_.alignment.nodes.front()[place];
    const ops::Shape* data = data_of(pad);
    if (!data || solved_.contains({&pad, kPadAmounts})) return;
    for (const auto& trace : lifting_.alignment.nodes) {
      const auto amounts = constant_integers(*trace[place], kPadAmounts);
      if (!amounts || std::ranges::any_of(*amounts, [](int64_t n) { return n != 0; })) return;
    }
    for (const dim::Dim size : *data) add(size);
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
      if (dim::same(size, ends[k])) add(size);
    }
  }

  void add(dim::Dim size) {
    if (size.is_symbolic() && std::ranges::none_of(sizes_, [&](dim::Dim known) { return dim::same(known, size); }))
      sizes_.push_back(size);
  }

  const Lifting& lifting_;
  std::set<std::pair<const ir::Node*, int>> solved_;
  std::vector<dim::Dim> sizes_;
};

}  // namespace

bool keeps_no_ops(const ir::Model& trace) {
  // Both exporters of torch.onnx.export bear the name; that of torch.export notes at each node which module it is of.
  return trace.producer_name == "pytorch" && std::ranges::all_of(trace.graph->nodes(), [](const ir::Node* node) {
           return ir::metadata_of(*node, "pkg.torch.onnx.class_hierarchy").empty();
         });
}

std::vector<dim::Dim> sizes_at_no_ops(const Lifting& lifting) { return NoOps(lifting).run(); }

}  // namespace thaw::lifting
