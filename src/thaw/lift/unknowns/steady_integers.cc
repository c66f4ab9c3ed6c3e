#include "thaw/lift/unknowns/steady_integers.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <optional>
#include <queue>
#include <unordered_map>
#include <unordered_set>

#include "thaw/dim/text/text.h"
#include "thaw/lift/align/constant_operand.h"
#include "thaw/lift/align/same_node.h"
#include "thaw/lift/align/steady_pads.h"
#include "thaw/ops/rule/product_groups.h"
#include "thaw/ops/rule/registry.h"

namespace thaw::lifting {
namespace {

constexpr size_t kMostIntegers = 24;  // looked at
constexpr size_t kMostNodes = 400;    // on the way to them
constexpr int64_t kMostElements = 16, kLargestWindow = 64, kLargestSize = int64_t{1} << 31;

class Finder {
 public:
  Finder(const Alignment& alignment, const TensorShapes& shapes, const WindowsOfPads& windows,
         std::span<const Variable> variables)
      : alignment_(alignment), shapes_(shapes), windows_(windows), variables_(variables) {
    for (size_t i = 0; i < alignment.nodes.front().size(); ++i) places_.emplace(alignment.nodes.front()[i], i);
    for (const Difference& difference : alignment.differences) {
      differing_[{difference.node, difference.input}] = &difference;
      if (ops::role_of(*difference.node, difference.input) != ops::Role::kPads) continue;
      const DifferingEnds ends = differing_ends(difference);
      ends_of_pads_ = {ends_of_pads_.before || ends.before, ends_of_pads_.after || ends.after};
    }
  }

  std::vector<Unknown> run(const ir::Node& contradicted) {
    // What is behind it needs its own integers as the others become.
    walk(contradicted, [](const ir::Node& node, const Visit& visit) {
      for (const ir::Value* input : node.inputs())
        if (input && input->producer()) visit(*input->producer());
    });
    walk(contradicted, [](const ir::Node& node, const Visit& visit) {
      for (const ir::Value* output : node.outputs())
        for (const ir::Use& use : output ? output->uses() : std::span<const ir::Use>()) visit(*use.node);
    });
    if (found_.size() > kMostIntegers) found_.resize(kMostIntegers);
    return std::move(found_);
  }

 private:
  using Visit = std::function<void(const ir::Node&)>;

  // From a node on, the nearest first. visit_next: visits those that are one step on.
  void walk(const ir::Node& from, const std::function<void(const ir::Node&, const Visit&)>& visit_next) {
    std::queue<const ir::Node*> next;
    std::unordered_set<const ir::Node*> seen{&from};
    const Visit visit = [&](const ir::Node& node) {
      if (seen.size() < kMostNodes && seen.insert(&node).second) next.push(&node);
    };
    for (next.push(&from); !next.empty() && found_.size() < kMostIntegers; next.pop()) {
      const ir::Node& node = *next.front();
      if (places_.contains(&node))
        for (int i = 0; i < static_cast<int>(node.inputs().size()); ++i) add(node, i);
      visit_next(node, visit);
    }
  }

  using Tensors = std::vector<const ir::Tensor*>;  // by trace

  // The integers of an operand in every trace, of one length; empty where it has none.
  Tensors tensors_of(const ir::Node& node, int input) const {
    const ops::Role role = ops::role_of(node, input);
    if (!ops::holds_size(role) || role == ops::Role::kScales) return {};
    Tensors tensors;
    const auto differing = differing_.find({&node, input});
    if (differing != differing_.end()) {
      tensors = differing->second->tensors;
    } else {
      for (const auto& nodes : alignment_.nodes) {
        const ir::Tensor* tensor = constant_operand(*nodes[places_.at(&node)], input);
        if (!tensor) return {};
        tensors.push_back(tensor);
      }
    }
    const ir::Tensor& first = *tensors.front();
    const auto is_like = [&](const ir::Tensor* each) {
      return each->dims == first.dims && each->data_type == first.data_type;
    };
    const bool is_list =
        ir::is_integer(first.data_type) && first.dims.size() <= 1 && first.num_elements() <= kMostElements;
    return is_list && std::ranges::all_of(tensors, is_like) ? tensors : Tensors();
  }

  // Of the node's data; nullptr where they are not known.
  const ops::Shape* sizes_of_data(const ir::Node& node) const {
    const auto known = shapes_.find(node.input(0));
    return known == shapes_.end() ? nullptr : &known->second;
  }

  void add(const ir::Node& node, int input) {
    const Tensors tensors = tensors_of(node, input);
    if (tensors.empty() || seen_.contains({&node, input}) || node.outputs().empty() || !node.output(0)) return;
    std::vector<std::vector<int64_t>> lists;
    for (const ir::Tensor* tensor : tensors) lists.push_back(tensor->to_int64());
    const bool pads = ops::role_of(node, input) == ops::Role::kPads;
    const ops::Shape* data = sizes_of_data(node);
    // What is as large in every trace, as a list of sizes, is cut alike.
    if (!data || std::ranges::none_of(*data, &dim::Dim::is_symbolic)) return;
    const std::set<size_t> kept =
        ops::role_of(node, input) == ops::Role::kShape ? axes_kept(*data, lists) : std::set<size_t>();
    std::optional<std::vector<const ir::Node*>> alike;
    for (size_t element = 0; element < lists.front().size(); ++element) {
      if (kept.contains(element)) continue;
      const int64_t at = lists.front()[element];
      // Below 1 a number means something else, but for amounts: the rest, as long as before, from the end.
      const int64_t least = pads ? 0 : 1;
      if (at < least + (pads ? 0 : 1) || at > kLargestSize) continue;
      if (std::ranges::any_of(lists, [&](const std::vector<int64_t>& list) { return list[element] != at; })) continue;
      Unknown unknown{.wanted = std::vector<int64_t>(lists.size(), at), .places = {{{}, dim::Dim(at)}}, .least = least};
      if (pads) {
        if (lists.front().size() != 2 * data->size()) continue;
        if (!may_fill(node, input, element < data->size())) continue;
        const dim::Dim axis = (*data)[element % data->size()];
        if (!axis.is_symbolic()) continue;
        unknown.others = up_to_windows(axis, at, node);
      }
      if (!alike) alike = nodes_alike(node, input, tensors);
      for (const ir::Node* each : *alike) unknown.stands_at.push_back({each->output(0)->name(), input, element});
      found_.push_back(std::move(unknown));
    }
  }

  // Whether a Pad may fill an end of its axes: one that another of its axes shows it to fill, or else other Pads; any where none shows it.
  bool may_fill(const ir::Node& pad, int input, bool is_before) const {
    const auto own = differing_.find({&pad, input});
    DifferingEnds ends = own == differing_.end() ? DifferingEnds() : differing_ends(*own->second);
    if (!ends.before && !ends.after) ends = ends_of_pads_;
    return (!ends.before && !ends.after) || (is_before ? ends.before : ends.after);
  }

  // Of a shape: what is made of axes that are constants of the model. lists: the shape in each trace.
  std::set<size_t> axes_kept(const ops::Shape& data, const std::vector<std::vector<int64_t>>& lists) const {
    std::vector<std::vector<int64_t>> in, out(lists.front().size());
    for (const dim::Dim axis : data) {
      in.push_back(axis.is_constant() ? std::vector<int64_t>(lists.size(), *axis.constant())
                                      : in_traces(axis, variables_));
      if (in.back().empty()) return {};
    }
    for (const std::vector<int64_t>& list : lists)
      for (size_t axis = 0; axis < list.size(); ++axis) out[axis].push_back(list[axis]);
    std::set<size_t> kept;
    for (const ops::AxisGroup& group : ops::leading_groups(in, out)) {
      const auto made_of = std::span(data).subspan(group.in_begin, group.in_end - group.in_begin);
      if (!std::ranges::all_of(made_of, [](dim::Dim axis) { return axis.is_constant(); })) continue;
      for (size_t axis = group.out_begin; axis < group.out_end; ++axis) kept.insert(axis);
    }
    return kept;
  }

  // Those that read the same numbers at the same place, and data of the same sizes.
  std::vector<const ir::Node*> nodes_alike(const ir::Node& node, int input, const Tensors& tensors) {
    std::vector<const ir::Node*> alike;
    const ops::Shape* own = sizes_of_data(node);
    for (const ir::Node* other : alignment_.nodes.front()) {
      bool is_it = other == &node;
      if (!is_it && own && !other->outputs().empty() && other->output(0) && other->op_type() == node.op_type() &&
          other->domain() == node.domain() && other->inputs().size() == node.inputs().size()) {
        const ops::Shape* sizes = sizes_of_data(*other);
        const Tensors there = sizes ? tensors_of(*other, input) : Tensors();
        is_it = sizes && std::ranges::equal(*own, *sizes, dim::same) &&
                std::ranges::equal(tensors, there, [](const auto* a, const auto* b) { return same_tensor(*a, *b); });
      }
      if (!is_it) continue;
      alike.push_back(other);
      seen_.insert({other, input});
    }
    return alike;
  }

  // What fills an axis up to whole windows, of each length that gives the amount in all traces: of those of its readers, else of any.
  std::vector<dim::Dim> up_to_windows(dim::Dim axis, int64_t amount, const ir::Node& pad) const {
    std::vector<dim::Dim> all, of_readers;
    const auto known = windows_.find(&pad);
    int64_t common = 0;
    for (const int64_t size : in_traces(axis, variables_)) common = std::gcd(common, size + amount);
    for (int64_t window = std::max<int64_t>(2, amount + 1); window <= std::min(common, kLargestWindow); ++window)
      if (common % window == 0) {
        all.push_back(dim::ceil_div(axis, window) * dim::Dim(window) - axis);
        if (known != windows_.end() && std::ranges::count(known->second, window) > 0) of_readers.push_back(all.back());
      }
    return of_readers.empty() ? all : of_readers;
  }

  const Alignment& alignment_;
  const TensorShapes& shapes_;
  const WindowsOfPads& windows_;
  std::span<const Variable> variables_;
  std::unordered_map<const ir::Node*, size_t> places_;
  std::map<std::pair<const ir::Node*, int>, const Difference*> differing_;
  DifferingEnds ends_of_pads_;
  std::set<std::pair<const ir::Node*, int>> seen_;
  std::vector<Unknown> found_;
};

}  // namespace

std::vector<Unknown> steady_integers(const ir::Node& contradicted, const Alignment& alignment,
                                     const TensorShapes& shapes, const WindowsOfPads& windows,
                                     std::span<const Variable> variables) {
  return Finder(alignment, shapes, windows, variables).run(contradicted);
}

void note_taken(Alignment& alignment, const std::map<IntegerPlace, ChoiceAtPlace>& choices, dim::Scope& scope) {
  if (choices.empty()) return;
  const auto& nodes = alignment.nodes;
  std::unordered_map<std::string_view, size_t> places;  // by what a node's first output is called
  for (size_t i = 0; i < nodes.front().size(); ++i)
    if (!nodes.front()[i]->outputs().empty() && nodes.front()[i]->output(0))
      places.emplace(nodes.front()[i]->output(0)->name(), i);
  for (const auto& [place, choice] : choices) {
    const auto size = dim::try_parse(choice.taken, scope);
    const auto at = places.find(place.node);
    if (!size || at == places.end()) continue;
    ir::Node* node = nodes.front()[at->second];
    const auto is_it = [&](const Difference& d) { return d.node == node && d.input == place.input; };
    auto difference = std::ranges::find_if(alignment.differences, is_it);
    if (difference == alignment.differences.end()) {
      Difference steady{.node = node, .input = place.input, .value = node->input(place.input)};
      for (const auto& trace : nodes) steady.tensors.push_back(constant_operand(*trace[at->second], place.input));
      difference = alignment.differences.insert(alignment.differences.end(), std::move(steady));
    }
    difference->taken[place.element] = *size;
  }
  sort_by_nodes(alignment);
}

}  // namespace thaw::lifting
