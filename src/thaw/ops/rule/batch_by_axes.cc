// Batch rules that follow from an operator's axes.
#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include "thaw/ops/rule/axes.h"
#include "thaw/ops/rule/batch.h"
#include "thaw/ops/rule/registry.h"

namespace thaw::ops {
namespace {

constexpr int kMaskRank = 4;  // [batch, heads, queries, keys]

bool is_output_read(const ir::Node& node, int output) {
  const ir::Value* value = node.output(output);
  return value && value->is_used();
}

AxesMap map_of(BatchContext& n) {
  auto map = axes_of(n);
  if (!map) BatchContext::refuse("the ranks of its operands are not known, or not those that it takes");
  return std::move(*map);
}

// An operand's part in taking the samples.
enum class Part : uint8_t {
  kAbsent,
  kShared,  // the same for all samples
  kFirst,   // holds samples in axis 0
  kSecond,  // holds samples in axis 1
  kMask,    // up to four axes that broadcast to [batch, heads, queries, keys]
};

std::vector<int64_t> swapped_first(int rank) {
  if (rank < 2) BatchContext::refuse("the rank of what holds the samples in its second axis is not known");
  std::vector<int64_t> permutation(static_cast<size_t>(rank));
  std::iota(permutation.begin(), permutation.end(), 0);
  std::swap(permutation[0], permutation[1]);
  return permutation;
}

// [batch, 2, b, …] -> [2, batch * b, …]
ir::Value* flattened_second(BatchContext& n, int i) {
  ir::Value* x = n.transpose(n.leading(i), swapped_first(n.rank(i) + 1));
  return n.reshape(x, n.concat({n.list({0, -1}), n.slice(n.shape(x), 3)}, 0));
}

// [2, batch * b, …] -> [batch, 2, b, …]
ir::Value* unflattened_second(const BatchEmit& after, ir::Value* y, ir::Value* both, int rank) {
  ir::Value* unflattened = after.reshape(y, after.concat({after.list({0}), both, after.slice(after.shape(y), 2)}, 0));
  return after.transpose(unflattened, swapped_first(rank + 1));
}

// Operand i, leading and lined up to the right of `rank` axes of a sample, with its first axis as long as the batch of
// a sample: [batch, b, …]; merged to [batch * b, …].
ir::Value* flattened_to(BatchContext& n, int i, int rank, ir::Value* both) {
  if (rank < 1) BatchContext::refuse("the rank of what shares an axis with the samples is not known");
  ir::Value* ones = n.list(std::vector<int64_t>(static_cast<size_t>(rank - 1), 1));
  return n.flattened(n.emit("Expand", {n.aligned(i, rank), rank > 1 ? n.concat({both, ones}, 0) : both}));
}

// Of those that it has as outputs; a GRU's last state may be all.
int first_output(const BatchContext& n) {
  int first = 0;
  while (first + 1 < n.num_outputs() && !n.wants_output(first)) ++first;
  return first;
}

// An operator with a batch axis of its own.
class OwnBatch {
 public:
  OwnBatch(BatchContext& n, const AxesMap& map) : n_(n), link_(map.of_output(first_output(n), 0)) {
    if (!link_ || link_->kind != AxisKind::kPreserved || link_->inputs.empty())
      BatchContext::refuse("no axis of its operands keeps samples apart");
    for (int i = 0; i < n.num_inputs(); ++i) parts_.push_back(part_of(i));
  }

  void run() {
    check_operands();
    if (can_merge()) {
      run_merged();
    } else {
      run_flattened();
    }
  }

 private:
  Part part(int i) const { return parts_[static_cast<size_t>(i)]; }

  Part part_of(int i) const {
    if (!n_.original(i)) return Part::kAbsent;
    const auto axis = link_->axis_of_input(i);
    // One of fewer axes may begin with the batch: [batch, keys].
    if (role_of(n_.node(), i) == Role::kMask && (!axis || n_.rank(i) == kMaskRank)) return Part::kMask;
    if (!axis) return Part::kShared;
    if (*axis > 1) BatchContext::refuse(fmt::format("the batch of its operand {} stands in axis {}", i, *axis));
    return *axis == 0 ? Part::kFirst : Part::kSecond;
  }

  bool is_second(int output) const { return link_->axis_of_output(output) == 1; }

  // A mask that broadcasts over the batch as it is.
  bool is_shared_mask(int i) const {
    return !n_.is_batched(i) && (n_.rank(i) < kMaskRank || n_.input(i).dim(0).is_constant(1));
  }

  void check_operands() {
    const auto first = n_.rank(0) > 0 ? n_.input(0).dim(0).constant() : std::nullopt;
    for (int i = 0; i < n_.num_inputs(); ++i) {
      if (part(i) == Part::kShared && n_.is_batched(i))
        BatchContext::refuse(fmt::format("its operand {} differs from sample to sample", i));
      // A list of lengths and offsets of all sequences, as attention takes it too.
      const bool is_list = part(i) == Part::kFirst && n_.rank(i) == 1 && first &&
                           n_.input(i).dim(0).constant().value_or(*first) != *first;
      if (is_list) BatchContext::refuse(fmt::format("its operand {} counts the sequences of a batch together", i));
    }
  }

  bool has_samples(int i) const { return part(i) == Part::kFirst || part(i) == Part::kSecond; }
  // Where a sample has a batch of its own, 1 broadcasts to it.
  bool is_one(int i) const { return n_.rank(i) > 0 && n_.input(i).dim(*link_->axis_of_input(i)).is_constant(1); }

  bool can_merge() const {
    for (int i = 0; i < n_.num_inputs(); ++i)
      if (has_samples(i) && !is_one(i)) return false;
    return true;
  }

  // The number of samples, and the batch of each: [batch, b].
  ir::Value* own_batch() {
    int i = 0;
    while (!has_samples(i) || is_one(i)) ++i;
    ir::Value* sizes = n_.shape(n_.leading(i));
    if (part(i) == Part::kFirst) return n_.slice(sizes, 0, 2);
    return n_.concat({n_.slice(sizes, 0, 1), n_.slice(sizes, 2, 3)}, 0);
  }

  void run_merged() {
    ir::Node& node = n_.node();
    for (int i = 0; i < n_.num_inputs(); ++i) {
      if (part(i) == Part::kFirst) n_.set_operand(i, n_.merged(i));
      if (part(i) == Part::kSecond) n_.set_operand(i, flattened_second(n_, i));
      if (part(i) == Part::kMask && !is_shared_mask(i))
        n_.set_operand(i, n_.rank(i) == kMaskRank ? n_.merged(i) : n_.aligned(i, kMaskRank - 1));
    }
    n_.keep(Form::kMerged);
    const BatchEmit after = n_.after();
    for (int i = 0; i < n_.num_outputs(); ++i) {
      if (!is_second(i) || !is_output_read(node, i)) continue;
      ir::Value* both = after.concat({after.batch_size(), after.list({1})}, 0);
      n_.become(i, unflattened_second(after, node.output(i), both, n_.output(i).rank()), Form::kLeading);
    }
  }

  // A sample is a batch itself: both batches become one, and part again.
  void run_flattened() {
    ir::Node& node = n_.node();
    ir::Value* both = own_batch();
    for (int i = 0; i < n_.num_inputs(); ++i) {
      if (part(i) == Part::kFirst)
        n_.set_operand(i, is_one(i) ? flattened_to(n_, i, n_.rank(i), both) : n_.flattened(n_.leading(i)));
      if (part(i) == Part::kSecond) n_.set_operand(i, flattened_second(n_, i));
      if (part(i) == Part::kMask && !is_shared_mask(i)) n_.set_operand(i, flattened_to(n_, i, kMaskRank, both));
    }
    const BatchEmit after = n_.after();
    for (int i = 0; i < n_.num_outputs(); ++i) {
      ir::Value* y = node.output(i);
      if (!y || (i > 0 && !y->is_used())) continue;
      n_.become(i, is_second(i) ? unflattened_second(after, y, both, n_.output(i).rank()) : after.unflattened(y, both),
                Form::kLeading);
    }
  }

  BatchContext& n_;
  const AxisLink* link_;
  std::vector<Part> parts_;
};

// Whether all operands that begin with any number of axes line up at the first of them, with the batch there.
bool line_up_merged(BatchContext& n, const AxesMap& map, int leading) {
  bool any = false;
  for (int i = 0; i < n.num_inputs(); ++i) {
    if (!n.original(i) || !map.takes_leading(i)) continue;
    any |= n.is_merged(i);
    const bool is_full = map.leading_of(i) == leading;
    if (n.is_batched(i) ? !is_full || !n.can_merge(i) : is_full && !n.can_merge(i)) return false;
  }
  return any && leading > 0;
}

int most_leading(const AxesMap& map) { return map.leading.empty() ? 0 : std::ranges::max(map.leading); }

void refuse_own_parameters(BatchContext& n, const AxesMap& map) {
  for (int i = 0; i < n.num_inputs(); ++i)
    if (n.is_batched(i) && !map.takes_leading(i))
      BatchContext::refuse(fmt::format("its operand {} differs from sample to sample", i));
}

// Operands begin with any number of axes, which kernels need to be the same for all: one more is put before them.
void put_batch_before(BatchContext& n, const AxesMap& map, int most) {
  refuse_own_parameters(n, map);
  const int leading = most_leading(map);
  const bool merges = line_up_merged(n, map, leading);
  const auto rank_of = [&](int i) { return n.rank(i) + leading - map.leading_of(i); };
  const auto takes_samples = [&](int i) {
    return n.original(i) && map.takes_leading(i) && (n.is_batched(i) || i == 0 || map.leading_of(i) == leading);
  };
  if (merges || rank_of(0) < most) {
    for (int i = 0; i < n.num_inputs(); ++i) {
      if (!takes_samples(i)) continue;
      if (!merges && rank_of(i) > n.rank(i)) n.note_change();
      n.set_operand(i, merges ? n.merged(i) : n.aligned(i, rank_of(i)));
    }
    return n.keep(merges ? Form::kMerged : Form::kLeading);
  }
  ir::Value* both = n.slice(n.shape(n.leading(n.is_batched(0) || !n.original(1) ? 0 : 1)), 0, 2);
  for (int i = 0; i < n.num_inputs(); ++i)
    if (takes_samples(i)) n.set_operand(i, flattened_to(n, i, rank_of(i), both));
  const BatchEmit after = n.after();
  for (int i = 0; i < n.num_outputs(); ++i)
    if (is_output_read(n.node(), i)) n.become(i, after.unflattened(n.node().output(i), both), Form::kLeading);
}

}  // namespace

void batch_elementwise(BatchContext& n) {
  const AxesMap map = map_of(n);
  refuse_own_parameters(n, map);
  const int leading = most_leading(map);
  const bool merged = line_up_merged(n, map, leading);
  for (int i = 0; i < n.num_inputs(); ++i) {
    if (!n.is_batched(i)) continue;
    // One that the operator does not have at this opset: inference says nothing of it.
    if (n.output(0).has_rank() && n.rank(i) > n.output(0).rank())
      BatchContext::refuse(fmt::format("its operand {} has more axes than its result", i));
    const int rank = n.rank(i) + leading - map.leading_of(i);
    if (!merged && rank > n.rank(i)) n.note_change();
    n.set_operand(i, merged ? n.merged(i) : n.aligned(i, rank));
  }
  n.keep(merged ? Form::kMerged : Form::kLeading);
}

void batch_by_axes(BatchContext& n) {
  const AxesMap map = map_of(n);
  const Operator* op = registry().find(n.node());
  const bool takes_leading = map.takes_leading(0) || (!n.original(0) && map.takes_leading(1));
  if (takes_leading) return put_batch_before(n, map, op ? op->axes.most : INT32_MAX);
  OwnBatch(n, map).run();
}

void batch_shifting_axes(BatchContext& n) {
  n.require_alone();
  const AxesMap map = map_of(n);
  const AxisLink* first = map.of_input(0, 0);
  bool stays = n.is_merged(0) && first && first->kind == AxisKind::kPreserved;
  for (int i = 0; stays && i < n.num_outputs(); ++i) stays = !n.wants_output(i) || first->axis_of_output(i) == 0;
  if (stays) return n.keep_on(Form::kMerged);
  if (n.rank(0) == 0) BatchContext::refuse("its operand has no axis");
  const Operator& op = *registry().find(n.node());
  std::vector<std::pair<int, ir::Value*>> moved;
  for (int i = 1; i < n.num_inputs(); ++i)
    if (n.original(i) && op.operands[i] == Role::kAxes) moved.emplace_back(i, n.shifted_axes(i));
  n.set_operand(0, n.leading(0));
  for (const auto& [i, axes] : moved) {
    n.set_operand(i, axes);
    n.note_change();
  }
  for (const AttributeRole& role : op.attributes) {
    if (role.role != Role::kAxes || n.opset() < role.first || n.opset() > role.last) continue;
    const std::string name(role.name);
    if (const auto list = n.attr_ints(name)) {
      n.set_attribute({name, BatchContext::shifted(*list)});
      n.note_change();
    } else if (const auto axis = n.attr_int(name).value_or(role.otherwise);
               axis != AttributeRole::kRequired && axis >= 0) {
      n.set_attribute({name, BatchContext::shifted(axis)});
      n.note_change();
    }
  }
  n.keep(Form::kLeading);
}

}  // namespace thaw::ops
