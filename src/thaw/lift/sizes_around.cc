#include "thaw/lift/sizes_around.h"

#include <algorithm>
#include <unordered_set>

#include "thaw/lift/align/slice.h"
#include "thaw/lift/other_cuts.h"
#include "thaw/lift/term/numbers.h"
#include "thaw/ops/rule/product_groups.h"
#include "thaw/ops/rule/registry.h"
#include "thaw/ops/rule/small_tensor.h"

namespace thaw::lifting {
namespace {

// Whether a node joins what two give, along an axis.
bool are_joined(const ir::Node& a, const ir::Node& b, size_t axis, size_t rank) {
  const auto reads_b = [&](const ir::Use& use) {
    return joins_along(*use.node, axis, rank) &&
           std::ranges::find(use.node->inputs(), b.output(0)) != use.node->inputs().end();
  };
  return std::ranges::any_of(a.output(0)->uses(), reads_b);
}

// Whether it interpolates.
bool resizes(const ir::Node& node) {
  const ops::Operator* op = ops::registry().find(node);
  return op && op->operands.find(ops::Role::kScales) >= 0;
}

}  // namespace

SizesAround::SizesAround(Lifting& lifting) : lifting_(lifting) {
  const auto& nodes = lifting.alignment.nodes;
  for (size_t i = 0; i < nodes[0].size(); ++i) positions_.emplace(nodes[0][i], i);
  for (const Trace& trace : lifting.traces) {
    scopes_.push_back(std::make_unique<dim::Scope>());
    facts_.push_back(infer::infer(*trace.model, *scopes_.back()));
  }
  for (size_t i = 0; i < nodes[0].size(); ++i) {
    const bool reshapes = ops::role_of(*nodes[0][i], 1) == ops::Role::kShape && keeps_elements(i);
    if (!reshapes && !resizes(*nodes[0][i])) continue;
    auto from = axes_of(i, Side::kOperand, 0), to = axes_of(i, Side::kResult, 0);
    if (from && to) (reshapes ? reshapes_ : resizes_)[{std::move(*from), std::move(*to)}].push_back(i);
  }
}

void SizesAround::tell(const Difference& difference, TableContext& context) const {
  context.around = {};
  const ops::Role role = ops::role_of(*difference.node, difference.input);
  context.around.meaning = role == ops::Role::kIndex  ? Meaning::kPlace
                           : role == ops::Role::kPads ? Meaning::kPadding
                                                      : Meaning::kSize;
  context.around.cuts = ops::role_of(*difference.node, difference.input) == ops::Role::kBounds;
  context.pads = ops::role_of(*difference.node, difference.input) == ops::Role::kPads;
  context.holds_sizes = ops::holds_size(ops::role_of(*difference.node, difference.input));
  context.around.fills_before = difference.fills_before;
  context.around.fills_after = difference.fills_after;
  context.taken = difference.taken;
  const auto place = positions_.find(difference.node);
  if (place == positions_.end()) return;
  for (int i = 0; i < static_cast<int>(difference.node->inputs().size()); ++i) {
    const ir::Value* other = i == difference.input ? nullptr : difference.node->input(i);
    if (other && (i == 0 || !other->constant())) add(context.around, place->second, i);
  }
  context.around.windows = windows_after(*difference.node);
  const ir::Value* made = difference.node->outputs().empty() ? nullptr : difference.node->output(0);
  for (const ir::Use& use : made ? made->uses() : std::span<const ir::Use>())
    for (const int64_t stride : use.node->attribute_ints("strides")) context.around.strides.insert(stride);
  if (context.around.cuts) {
    context.around.given_back = cut_back(difference);
    if (context.around.given_back.empty()) context.around.given_back = rolled_by(difference, context.around.axes);
    if (context.around.given_back.empty()) context.around.given_back = cut_from_middle(difference, place->second);
  }
  if (resizes(*difference.node) && ops::role_of(*difference.node, difference.input) == ops::Role::kShape) {
    context.around.pieces = pieces_after(place->second);
    context.around.given_back = resized_back(place->second);
  }
  if (ops::role_of(*difference.node, difference.input) == ops::Role::kShape && keeps_elements(place->second))
    if (const auto known = lifting_.tensor_shapes.find(difference.node->input(0));
        known != lifting_.tensor_shapes.end()) {
      context.around.elements = dim::product(known->second);
      context.around.made = axes_of(place->second, Side::kResult, 0).value_or(Axes());
      context.around.given_back = given_back(place->second, context.around.made, context.around.elements);
    }
}

SizesInTraces SizesAround::in_traces(std::span<const FittedTable> solved) const {
  std::unordered_set<const ir::Value*> frozen, grow;
  for (const Difference& difference : lifting_.alignment.differences) {
    frozen.insert(difference.value);
    if (grows(difference)) grow.insert(difference.value);
  }
  for (const FittedTable& table : solved)
    for (const Difference* reader : table.readers) {
      frozen.erase(reader->value);
      grow.erase(reader->value);
    }
  std::unordered_set<const ir::Node*> behind;
  // What is made of tables alone is as long as the first trace's are, which a Slice of it then would be cut to.
  std::unordered_set<const ir::Node*> of_tables;
  const auto is_of_tables = [&](const ir::Node& node) {
    bool any = false;
    for (int i = 0; i < static_cast<int>(node.inputs().size()); ++i) {
      const ir::Value* value = node.input(i);
      if (!value || ops::role_of(node, i) != ops::Role::kData) continue;
      const bool is_table = grow.contains(value) || (value->producer() && of_tables.contains(value->producer()));
      if (!is_table && (value->is_input() || !value->constant())) return false;
      any |= is_table;
    }
    return any;
  };
  for (const ir::Node* node : lifting_.alignment.nodes[0]) {
    bool is_frozen = false, reads_frozen = false, told = false;
    for (int i = 0; i < static_cast<int>(node->inputs().size()); ++i) {
      const ir::Value* value = node->input(i);
      const ops::Role role = ops::role_of(*node, i);
      is_frozen |= frozen.contains(value) && (ops::holds_size(role) || role == ops::Role::kScales);
      reads_frozen |= value && value->producer() && behind.contains(value->producer());
      // A shape that is written down, or was solved, says all sizes, unless it leaves one to what is there.
      if (role != ops::Role::kShape || !value || value->is_input() || !value->constant()) continue;
      told |= std::ranges::all_of(value->constant()->to_int64(), [](int64_t size) { return size > 0; });
    }
    if (is_frozen || (reads_frozen && !told)) behind.insert(node);
    if (!told && is_of_tables(*node)) of_tables.insert(node);
  }
  behind.merge(of_tables);
  return [this, behind = std::move(behind)](const ir::Node* node, int output,
                                            size_t axis) -> std::optional<std::vector<int64_t>> {
    if (behind.contains(node)) return std::vector<int64_t>();
    const auto place = positions_.find(node);
    if (place == positions_.end()) return std::nullopt;
    const auto axes = axes_of(place->second, Side::kResult, output);
    return axes && axis < axes->size() ? std::optional((*axes)[axis]) : std::nullopt;
  };
}

std::optional<SizesAround::Axes> SizesAround::axes_of(size_t place, Side side, int index) const {
  Axes axes;
  for (size_t k = 0; k < facts_.size(); ++k) {
    const ir::Node* node = lifting_.alignment.nodes[k][place];
    const ir::Value* value = side == Side::kOperand ? node->input(index) : node->output(index);
    const auto shape = ops::constant_shape(facts_[k].fact(value).shape);
    if (!shape || (k > 0 && shape->size() != axes.size())) return std::nullopt;
    axes.resize(shape->size());
    for (size_t axis = 0; axis < shape->size(); ++axis) axes[axis].push_back((*shape)[axis]);
  }
  return axes;
}

bool SizesAround::waits(const Difference& difference) const {
  const ir::Value* data = difference.node->input(0);
  return ops::role_of(*difference.node, difference.input) == ops::Role::kShape && data && !data->constant() &&
         !lifting_.tensor_shapes.contains(data);
}

ops::Shape SizesAround::given_back(size_t place, const Axes& made, dim::Dim elements) const {
  const auto data = axes_of(place, Side::kOperand, 0);
  const auto known = data ? reshapes_.find({made, *data}) : reshapes_.end();
  if (known == reshapes_.end() || !elements.is_symbolic()) return {};
  ops::Shape found;
  for (const size_t before : known->second) {
    if (before >= place) break;
    const auto shape = lifting_.tensor_shapes.find(lifting_.alignment.nodes[0][before]->input(0));
    if (shape == lifting_.tensor_shapes.end() || !dim::same(dim::product(shape->second), elements)) continue;
    const bool is_other = !found.empty() && !std::ranges::equal(found, shape->second, dim::same);
    if (is_other) return {};
    found = shape->second;
  }
  return found;
}

ops::Shape SizesAround::cut_back(const Difference& difference) const {
  const auto slice = written_slice(*difference.node);
  const BesideCut beside = slice && slice->begin == 0 ? beside_cut(*difference.node) : BesideCut();
  if (!beside.node || !positions_.contains(beside.node)) return {};
  const auto shape = lifting_.tensor_shapes.find(beside.node->input(beside.other));
  const auto axes = axes_of(positions_.at(beside.node), Side::kOperand, beside.other);
  if (shape == lifting_.tensor_shapes.end() || !axes || axes->size() != shape->second.size()) return {};
  const size_t axis = slice->axis_of(axes->size());
  if (axis >= axes->size() || all_equal((*axes)[axis]) || joins_along(*beside.node, axis, axes->size())) return {};
  for (size_t k = 0; k < difference.tensors.size(); ++k)
    if (difference.tensors[k]->num_elements() != 1 || difference.tensors[k]->to_int64().front() != (*axes)[axis][k])
      return {};
  return {shape->second[axis]};
}

ops::Shape SizesAround::rolled_by(const Difference& difference, std::span<const Variable> axes) const {
  const auto slice = written_slice(*difference.node);
  const size_t axis = slice ? slice->axis_of(axes.size()) : axes.size();
  if (axis >= axes.size() || !axes[axis].varies() || !axes[axis].symbol.is_symbolic()) return {};
  std::set<int64_t> behind;  // how far before the end of the axis
  for (size_t k = 0; k < difference.tensors.size(); ++k) {
    if (difference.tensors[k]->num_elements() != 1) return {};
    behind.insert(axes[axis].at[k] - difference.tensors[k]->to_int64().front());
  }
  if (behind.size() != 1 || *behind.begin() < 0) return {};
  const auto is_other_part = [&](const ir::Use& use) {
    const auto other = use.index == 0 ? written_slice(*use.node) : std::nullopt;
    if (!other || use.node == difference.node || other->axis_of(axes.size()) != axis) return false;
    const auto meet = [](const Slice& first, const Slice& next) { return first.begin == 0 && first.end == next.begin; };
    return (meet(*slice, *other) || meet(*other, *slice)) && are_joined(*difference.node, *use.node, axis, axes.size());
  };
  const bool is_rolled = std::ranges::any_of(difference.node->input(0)->uses(), is_other_part);
  return is_rolled ? ops::Shape{axes[axis].symbol - dim::Dim(*behind.begin())} : ops::Shape();
}

// A Slice, or one right before or behind it that cuts along another axis: what begins later along one axis is cut from the middle along others,
// too, which may have nothing to leave out before it in any trace.
bool SizesAround::cuts_from_middle(const ir::Node& slice) const {
  const auto begins_later = [&](const ir::Node* node) {
    const auto place = node ? positions_.find(node) : positions_.end();
    return place != positions_.end() && std::ranges::any_of(lifting_.alignment.nodes, [&](const auto& of_trace) {
             const auto here = written_slice(*of_trace[place->second]);
             return here && here->begin > 0;
           });
  };
  const std::span<const ir::Use> uses = slice.output(0)->uses();
  return begins_later(&slice) || begins_later(slice.input(0)->producer()) ||
         (uses.size() == 1 && uses.front().index == 0 && begins_later(uses.front().node));
}

std::optional<SizesAround::Middle> SizesAround::middle_of(size_t place) const {
  const auto& nodes = lifting_.alignment.nodes;
  const auto slice = written_slice(*nodes[0][place]);
  const BesideCut beside = slice && cuts_from_middle(*nodes[0][place]) ? beside_cut(*nodes[0][place]) : BesideCut();
  if (!beside.node || !positions_.contains(beside.node)) return std::nullopt;
  Around data;
  add(data, place, 0);
  const auto kept = axes_of(positions_.at(beside.node), Side::kOperand, beside.other);
  const auto of_kept = lifting_.tensor_shapes.find(beside.node->input(beside.other));
  const size_t axis = slice->axis_of(data.axes.size());
  if (axis >= data.axes.size() || data.axes[axis].symbol.is_unknown() || !kept || kept->size() != data.axes.size() ||
      of_kept == lifting_.tensor_shapes.end())
    return std::nullopt;
  Middle middle{.length = of_kept->second[axis], .begins = {}};
  bool is_down = true, is_up = true;
  for (size_t k = 0; k < nodes.size(); ++k) {
    const auto here = written_slice(*nodes[k][place]);
    const int64_t length = (*kept)[axis][k], away = data.axes[axis].at[k] - length;
    if (!here || here->length() != length || away < 0) return std::nullopt;
    is_down &= here->begin == away / 2;
    is_up &= here->begin == away - away / 2;
    middle.at.push_back(here->begin);
  }
  const dim::Dim away = data.axes[axis].symbol - middle.length;
  if (is_down) middle.begins.push_back(dim::floor_div(away, 2));
  if (is_up && !(is_down && dim::same(middle.begins.front(), dim::ceil_div(away, 2))))
    middle.begins.push_back(dim::ceil_div(away, 2));
  return middle;
}

ops::Shape SizesAround::cut_from_middle(const Difference& difference, size_t place) const {
  const auto middle = middle_of(place);
  if (!middle) return {};
  const bool is_steady = all_equal(middle->at);  // steady_middles
  if (!is_steady && middle->begins.size() != 1) return {};
  for (const ir::Tensor* tensor : difference.tensors)
    if (tensor->num_elements() != 1) return {};
  const dim::Dim begin = is_steady ? dim::Dim(middle->at.front()) : middle->begins.front();
  return {difference.tensors.front()->to_int64().front() == middle->at.front() ? begin : begin + middle->length};
}

std::vector<Undecided> SizesAround::steady_middles() const {
  std::vector<Undecided> out;
  for (size_t place = 0; place < lifting_.alignment.nodes[0].size(); ++place) {
    const auto middle = middle_of(place);
    if (!middle || !all_equal(middle->at)) continue;
    for (const dim::Dim begin : middle->begins)
      if (begin.is_symbolic()) out.push_back({dim::Dim(middle->at.front()), begin, {}});
  }
  return out;
}

ops::Shape SizesAround::resized_back(size_t place) const {
  const auto from = axes_of(place, Side::kOperand, 0), to = axes_of(place, Side::kResult, 0);
  const auto before = from && to ? resizes_.find({*to, *from}) : resizes_.end();
  const auto& shapes = lifting_.tensor_shapes;
  const auto data = shapes.find(lifting_.alignment.nodes[0][place]->input(0));
  if (before == resizes_.end() || data == shapes.end()) return {};
  ops::Shape found;
  for (const size_t other : before->second) {
    if (other >= place) break;
    const ir::Node* node = lifting_.alignment.nodes[0][other];
    const auto taken = shapes.find(node->input(0)), made = shapes.find(node->output(0));
    if (taken == shapes.end() || made == shapes.end()) continue;
    if (!std::ranges::equal(made->second, data->second, dim::same)) continue;
    if (!found.empty() && !std::ranges::equal(found, taken->second, dim::same)) return {};
    found = taken->second;
  }
  return found;
}

int64_t SizesAround::piece_of(size_t place, size_t axis) const {
  const auto in = axes_of(place, Side::kOperand, 0), out = axes_of(place, Side::kResult, 0);
  if (!in || !out) return 0;
  const std::vector<ops::AxisGroup> groups = ops::leading_groups(*in, *out);
  const auto of_axis = std::ranges::find_if(groups, [&](const ops::AxisGroup& group) { return axis < group.in_end; });
  if (of_axis == groups.end()) return 0;
  const auto& [in_begin, in_end, out_begin, out_end] = *of_axis;
  const bool cuts = axis + 1 == in_end && out_end - out_begin > 1 && all_equal((*out)[out_end - 1]);
  return cuts ? (*out)[out_end - 1].front() : 0;
}

int64_t SizesAround::pieces_after(size_t place, size_t axis) const {
  constexpr int kFarthest = 12;
  const auto axes = axes_of(place, Side::kResult, 0);
  if (!axes || axis >= axes->size()) return 0;
  std::set<int64_t> pieces;
  std::vector<const ir::Node*> here{lifting_.alignment.nodes[0][place]};
  for (int far = 0; far < kFarthest && !here.empty(); ++far) {
    std::vector<const ir::Node*> next;
    for (const ir::Node* each : here) {
      for (const ir::Use& use : each->output(0)->uses()) {
        const auto reader = positions_.find(use.node);
        if (reader == positions_.end()) continue;
        if (use.index == 0 && ops::role_of(*use.node, 1) == ops::Role::kShape && keeps_elements(reader->second)) {
          if (const int64_t piece = piece_of(reader->second, axis); piece > 1) pieces.insert(piece);
          continue;
        }
        // What leaves the axis as long is passed over.
        const auto made = axes_of(reader->second, Side::kResult, 0);
        const bool keeps = made && made->size() == axes->size() && (*made)[axis] == (*axes)[axis];
        if (keeps && std::ranges::find(next, use.node) == next.end()) next.push_back(use.node);
      }
    }
    if (!pieces.empty()) break;
    here = std::move(next);
  }
  return pieces.size() == 1 ? *pieces.begin() : 0;
}

std::vector<int64_t> SizesAround::pieces_after(size_t place) const {
  std::vector<int64_t> pieces;
  if (const auto axes = axes_of(place, Side::kResult, 0))
    for (size_t axis = 0; axis < axes->size(); ++axis) pieces.push_back(pieces_after(place, axis));
  return pieces;
}

JoinedSizes SizesAround::joined_sizes() const {
  constexpr size_t kMostPieces = 16;
  JoinedSizes joined;
  for (size_t place = 0; place < lifting_.alignment.nodes[0].size(); ++place) {
    const ir::Node* node = lifting_.alignment.nodes[0][place];
    const ops::Operator* op = ops::registry().find(*node);
    const size_t count = node->inputs().size();
    if (!op || !op->moves_elements() || count < 2 || count > kMostPieces) continue;
    const auto whole = axes_of(place, Side::kResult, 0);
    std::vector<Axes> parts;
    for (size_t i = 0; i < count && whole; ++i)
      if (auto part = axes_of(place, Side::kOperand, static_cast<int>(i)); part && part->size() == whole->size())
        parts.push_back(std::move(*part));
    if (!whole || parts.size() != count) continue;
    for (size_t axis = 0; axis < whole->size(); ++axis) {
      std::vector<std::vector<int64_t>> pieces;
      std::vector<int64_t> sum(facts_.size(), 0);
      for (Axes& part : parts) {
        for (size_t k = 0; k < sum.size(); ++k) sum[k] += part[axis][k];
        pieces.push_back(std::move(part[axis]));
      }
      if (sum == (*whole)[axis] && !all_equal(sum)) joined.emplace(std::move(sum), std::move(pieces));
    }
  }
  return joined;
}

bool SizesAround::keeps_elements(size_t place) const {
  for (size_t k = 0; k < facts_.size(); ++k) {
    const ir::Node* node = lifting_.alignment.nodes[k][place];
    const dim::Dim in = facts_[k].fact(node->input(0)).num_elements();
    if (!in.is_constant() || !dim::same(in, facts_[k].fact(node->output(0)).num_elements())) return false;
  }
  return true;
}

std::vector<int64_t> SizesAround::windows_after(const ir::Node& node) const {
  constexpr int kFarthest = 8;
  const std::set<size_t> evened = evened_axes(node);
  std::set<int64_t> windows;
  std::vector<const ir::Node*> here{&node};
  for (int far = 0; far < kFarthest && !here.empty() && windows.empty(); ++far) {
    std::vector<const ir::Node*> next;
    for (const ir::Node* each : here) {
      for (const ir::Use& use : each->output(0)->uses()) {
        for (const int64_t stride : use.node->attribute_ints("strides")) windows.insert(stride);
        note_steps(*use.node, windows);
        if (ops::role_of(*use.node, 1) == ops::Role::kShape)
          note_steady_sizes(*use.node, far == 0 ? evened : std::set<size_t>(), windows);
        const ops::Operator* op = ops::registry().find(*use.node);
        if (op && op->moves_elements() && use.node->output(0)) next.push_back(use.node);
      }
    }
    windows.erase(windows.begin(), windows.upper_bound(1));
    here = std::move(next);
  }
  return {windows.begin(), windows.end()};
}

void SizesAround::note_steps(const ir::Node& node, std::set<int64_t>& windows) {
  for (int i = 1; i < static_cast<int>(node.inputs().size()); ++i) {
    const ir::Value* steps = ops::role_of(node, i) == ops::Role::kSteps ? node.input(i) : nullptr;
    if (steps && steps->constant() && !steps->is_input())
      for (const int64_t step : steps->constant()->to_int64()) windows.insert(step);
  }
}

std::set<size_t> SizesAround::evened_axes(const ir::Node& node) const {
  std::set<size_t> evened;
  const auto place = positions_.find(&node);
  if (place == positions_.end()) return evened;
  const auto in = axes_of(place->second, Side::kOperand, 0), out = axes_of(place->second, Side::kResult, 0);
  for (size_t axis = 0; in && out && in->size() == out->size() && axis < out->size(); ++axis)
    if (all_equal((*out)[axis]) && !all_equal((*in)[axis])) evened.insert(axis);
  return evened;
}

void SizesAround::note_steady_sizes(const ir::Node& node, const std::set<size_t>& evened,
                                    std::set<int64_t>& windows) const {
  const auto place = positions_.find(&node);
  if (place == positions_.end()) return;
  const auto in = axes_of(place->second, Side::kOperand, 0), out = axes_of(place->second, Side::kResult, 0);
  if (!out) return;
  const auto note = [&](size_t begin, size_t end) {
    for (size_t axis = begin; axis < end; ++axis)
      if (all_equal((*out)[axis])) windows.insert((*out)[axis].front());
  };
  // Axes that are made of such as are the same in every trace say nothing of how others are cut.
  size_t told = 0;
  for (const ops::AxisGroup& group : in ? ops::leading_groups(*in, *out) : std::vector<ops::AxisGroup>()) {
    bool varies = false;
    for (size_t axis = group.in_begin; axis < group.in_end; ++axis)
      varies |= evened.contains(axis) || !all_equal((*in)[axis]);
    if (varies) note(group.out_begin, group.out_end);
    told = group.out_end;
  }
  note(told, out->size());
}

void SizesAround::add(Around& around, size_t place, int input) const {
  auto axes = axes_of(place, Side::kOperand, input);
  if (!axes) return;
  // What inference says of this tensor itself: another may measure as much in every trace and be rounded otherwise.
  const auto shape = lifting_.tensor_shapes.find(lifting_.alignment.nodes[0][place]->input(input));
  const bool is_known = shape != lifting_.tensor_shapes.end() && shape->second.size() == axes->size();
  if (input == 0) around.has_own_axes = is_known;
  for (size_t axis = 0; axis < axes->size(); ++axis) {
    Variable size;
    size.at = std::move((*axes)[axis]);
    const auto same = [&](const Variable& other) { return other.at == size.at; };
    if (is_known && shape->second[axis].is_symbolic()) {
      size.symbol = shape->second[axis];
    } else if (!size.varies()) {
      size.symbol = dim::Dim(size.at.front());
    } else if (const auto own = std::ranges::find_if(lifting_.variables, same); own != lifting_.variables.end()) {
      size = *own;
    } else if (const auto known = lifting_.tensor_sizes.find(size.at); known != lifting_.tensor_sizes.end()) {
      size.symbol = known->second.dim;
    } else if (const auto sure = lifting_.solver->solve_surely(size.at)) {
      size.symbol = *sure;
    }
    const bool is_new = size.varies() && size.symbol.is_symbolic() && std::ranges::none_of(around.sizes, same);
    if (is_new) around.sizes.push_back(size);
    if (input == 0) around.axes.push_back(std::move(size));
  }
}

}  // namespace thaw::lifting
