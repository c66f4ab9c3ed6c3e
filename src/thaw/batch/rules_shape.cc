// Batch rules of operators that move elements or look at shapes.
#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include "thaw/batch/node_batch.h"

namespace thaw::batch {
namespace {

void require_same_for_all(NodeBatch& n, int i, const char* what) {
  if (n.is_batched(i))
    NodeBatch::refuse(fmt::format("its {} differs from sample to sample, so that results differ in size", what));
}

// Axes given as an attribute (older opsets) or as operand i; nullopt where none are given.
std::optional<std::vector<int64_t>> axes_of(NodeBatch& n, int operand) {
  const auto attribute = n.node().attribute_ints("axes");
  if (!attribute.empty()) return std::vector<int64_t>(attribute.begin(), attribute.end());
  if (!n.original(operand)) return std::nullopt;
  const auto constant = n.constant_ints(operand);
  if (!constant) NodeBatch::refuse("its axes are not constant");
  return constant;
}

// Axes that only running tells: counted with the batch before them then. False where they are known.
bool keep_on_computed_axes(NodeBatch& n, int operand) {
  if (!n.original(operand) || n.constant_ints(operand)) return false;
  require_same_for_all(n, operand, "list of axes");
  n.set_operand(0, n.leading(0));
  n.set_operand(operand, n.shifted_axes(operand));
  n.note_change();
  n.keep(Form::kLeading);
  return true;
}

// The shape of one sample: int64 [rank].
ir::Value* sample_shape(NodeBatch& n, int i) {
  if (!n.is_merged(i)) return n.slice(n.shape(n.leading(i)), 1);
  if (n.rank(i) == 1) return n.ints({1});
  return n.concat({n.ints({1}), n.slice(n.shape(n.merged(i)), 1)}, 0);
}

}  // namespace

void batch_reshape(NodeBatch& n, const ops::Batching&) {
  ir::Node& node = n.node();
  if (n.opset() < 5) NodeBatch::refuse("its shape is an attribute");
  require_same_for_all(n, 1, "shape");
  const bool keeps_zeros = node.attribute_int("allowzero", 0) != 0;
  const auto constant = n.constant_ints(1);
  n.note_change();
  // The sample's first axis is 1 before and after: it holds the batch, copied by a 0.
  if (n.is_merged(0) && NodeBatch::starts_with_one(n.output_fact(0)) && !keeps_zeros) {
    n.set_operand(0, n.merged(0));
    if (constant) {
      std::vector<int64_t> target = *constant;
      target[0] = 0;
      n.set_operand(1, n.ints(target));
    } else {
      n.set_operand(1,
                    n.output_fact(0).rank() == 1 ? n.ints({0}) : n.concat({n.ints({0}), n.slice(n.original(1), 1)}, 0));
    }
    return n.keep(Form::kMerged);
  }
  // A 0 in the target copies the axis at its place, which moves with it.
  ir::Value* first = keeps_zeros ? n.batch_size() : n.ints({0});
  ir::Value* target = nullptr;
  if (constant && !keeps_zeros) {
    std::vector<int64_t> longer{0};
    longer.insert(longer.end(), constant->begin(), constant->end());
    target = n.ints(longer);
  } else {
    target = n.concat({first, n.original(1)}, 0);
  }
  n.set_operand(0, n.leading(0));
  n.set_operand(1, target);
  n.keep(Form::kLeading);
}

void batch_flatten(NodeBatch& n, const ops::Batching&) {
  const int rank = n.rank(0);
  const int64_t axis = n.positive_axis(n.node().attribute_int("axis", 1), rank);
  if (n.is_merged(0) && axis == 1) {
    return n.keep_on(Form::kMerged);
  }
  ir::Value* target = nullptr;
  if (axis == 0) {
    target = n.ints({0, 1, -1});
  } else if (axis == rank) {
    target = n.ints({0, -1, 1});
  } else {
    ir::Value* rows = n.emit("ReduceProd", {n.slice(n.shape(n.leading(0)), 1, axis + 1)}, {{"keepdims", int64_t{1}}});
    target = n.concat({n.ints({0}), rows, n.ints({-1})}, 0);
  }
  n.become(0, n.emit("Reshape", {n.leading(0), target}), Form::kLeading);
}

void batch_squeeze(NodeBatch& n, const ops::Batching&) {
  if (keep_on_computed_axes(n, 1)) return;
  const int rank = n.rank(0);
  std::vector<int64_t> axes;
  if (const auto given = axes_of(n, 1)) {
    for (const int64_t axis : *given) axes.push_back(n.positive_axis(axis, rank));
  } else {
    for (int axis = 0; axis < rank; ++axis) {
      const dim::Dim size = n.fact(0).dim(axis);
      if (!size.is_constant()) NodeBatch::refuse("which axes it removes depends on their sizes");
      if (size.is_constant(1)) axes.push_back(axis);
    }
  }
  const bool first = std::find(axes.begin(), axes.end(), 0) != axes.end();
  if (n.is_merged(0)) {
    // Without its first axis of 1, a sample's batch is a leading one.
    axes.erase(std::remove(axes.begin(), axes.end(), 0), axes.end());
    return n.become(0, n.squeeze(n.merged(0), axes), first ? Form::kLeading : Form::kMerged);
  }
  for (int64_t& axis : axes) ++axis;
  n.become(0, n.squeeze(n.leading(0), axes), Form::kLeading);
}

void batch_unsqueeze(NodeBatch& n, const ops::Batching&) {
  if (keep_on_computed_axes(n, 1)) return;
  const auto given = axes_of(n, 1);
  if (!given) NodeBatch::refuse("its axes are not given");
  const int rank = n.rank(0) + static_cast<int>(given->size());
  std::vector<int64_t> axes;
  for (const int64_t axis : *given) axes.push_back(n.positive_axis(axis, rank));
  const auto first = std::find(axes.begin(), axes.end(), 0);
  const bool new_first = first != axes.end();
  if (n.is_merged(0) && !new_first) return n.become(0, n.unsqueeze(n.merged(0), axes), Form::kMerged);
  if (!n.is_merged(0) && new_first) {
    // The new first axis of 1 is where the leading batch already is.
    axes.erase(first);
    return n.become(0, n.unsqueeze(n.leading(0), axes), Form::kMerged);
  }
  for (int64_t& axis : axes) ++axis;
  n.become(0, n.unsqueeze(n.leading(0), axes), Form::kLeading);
}

void batch_transpose(NodeBatch& n, const ops::Batching&) {
  std::vector<int64_t> permutation(n.node().attribute_ints("perm").begin(), n.node().attribute_ints("perm").end());
  if (permutation.empty()) {
    permutation.resize(static_cast<size_t>(n.rank(0)));
    std::iota(permutation.rbegin(), permutation.rend(), 0);
  }
  if (n.is_merged(0) && permutation.front() == 0) {
    return n.keep_on(Form::kMerged);
  }
  for (int64_t& axis : permutation) ++axis;
  permutation.insert(permutation.begin(), 0);
  n.set_operand(0, n.leading(0));
  n.node().set_attribute({"perm", permutation});
  n.note_change();
  n.keep(Form::kLeading);
}

void batch_expand(NodeBatch& n, const ops::Batching&) {
  require_same_for_all(n, 1, "shape");
  const int rank = n.rank(0);
  const auto length = n.rank(1) == 1 ? n.fact(1).dim(0).constant() : std::nullopt;
  if (!length) NodeBatch::refuse("the length of its shape is not known");
  if (n.is_merged(0) && *length <= rank && NodeBatch::starts_with_one(n.output_fact(0))) {
    return n.keep_on(Form::kMerged);
  }
  ir::Value* x = n.leading(0);
  ir::Value* target = n.original(1);
  if (*length > rank) {
    std::vector<int64_t> axes(static_cast<size_t>(*length - rank));
    std::iota(axes.begin(), axes.end(), 1);
    x = n.unsqueeze(x, axes);
  }
  if (*length >= rank) target = n.concat({n.ints({1}), target}, 0);
  n.set_operand(0, x);
  n.set_operand(1, target);
  n.note_change();
  n.keep(Form::kLeading);
}

void batch_tile(NodeBatch& n, const ops::Batching&) {
  require_same_for_all(n, 1, "number of repetitions");
  if (n.is_merged(0) && NodeBatch::starts_with_one(n.output_fact(0))) {
    return n.keep_on(Form::kMerged);
  }
  ir::Value* repeats = n.concat({n.ints({1}), n.original(1)}, 0);
  n.set_operand(0, n.leading(0));
  n.set_operand(1, repeats);
  n.note_change();
  n.keep(Form::kLeading);
}

void batch_slice(NodeBatch& n, const ops::Batching&) {
  for (int i = 1; i < n.num_inputs(); ++i) require_same_for_all(n, i, "range");
  const bool by_attributes = n.opset() < 10;
  if (!by_attributes && keep_on_computed_axes(n, 3)) return;
  std::vector<int64_t> axes;
  if (const auto given = axes_of(n, 3)) {
    axes = *given;
  } else {
    const auto count = by_attributes           ? static_cast<int64_t>(n.node().attribute_ints("starts").size())
                       : n.fact(1).rank() == 1 ? n.fact(1).dim(0).constant()
                                               : std::nullopt;
    if (!count) NodeBatch::refuse("how many axes it cuts is not known");
    axes.resize(static_cast<size_t>(*count));
    std::iota(axes.begin(), axes.end(), 0);
  }
  const int rank = n.rank(0);
  const bool first = std::any_of(axes.begin(), axes.end(), [&](int64_t a) { return n.positive_axis(a, rank) == 0; });
  if (n.is_merged(0) && !first) {
    return n.keep_on(Form::kMerged);
  }
  for (int64_t& axis : axes) axis = n.positive_axis(axis, rank) + 1;
  n.set_operand(0, n.leading(0));
  if (by_attributes) {
    n.node().set_attribute({"axes", axes});
  } else {
    n.set_operand(3, n.ints(axes));
  }
  n.note_change();
  n.keep(Form::kLeading);
}

void batch_center_crop_pad(NodeBatch& n, const ops::Batching&) {
  require_same_for_all(n, 1, "size");
  const int rank = n.rank(0);
  const auto given = n.node().attribute_ints("axes");
  std::vector<int64_t> axes(given.begin(), given.end());
  if (axes.empty()) {
    axes.resize(static_cast<size_t>(rank));
    std::iota(axes.begin(), axes.end(), 0);
  }
  n.set_operand(0, n.leading(0));
  n.node().set_attribute({"axes", NodeBatch::shifted(axes)});
  n.note_change();
  n.keep(Form::kLeading);
}

void batch_pad(NodeBatch& n, const ops::Batching&) {
  for (int i = 1; i < n.num_inputs(); ++i) require_same_for_all(n, i, "amount of padding");
  if (n.is_merged(0) && NodeBatch::starts_with_one(n.output_fact(0))) {
    return n.keep_on(Form::kMerged);
  }
  const int64_t rank = n.rank(0);
  const auto axes = n.original(3) ? n.constant_ints(3) : std::nullopt;
  if (n.original(3) && !axes) NodeBatch::refuse("its axes are not constant");
  n.note_change();
  if (n.opset() < 11) {
    const auto pads = n.node().attribute_ints("pads");
    std::vector<int64_t> longer{0};
    longer.insert(longer.end(), pads.begin(), pads.begin() + rank);
    longer.push_back(0);
    longer.insert(longer.end(), pads.begin() + rank, pads.end());
    n.set_operand(0, n.leading(0));
    n.node().set_attribute({"pads", longer});
    return n.keep(Form::kLeading);
  }
  if (axes) {
    std::vector<int64_t> moved;
    for (const int64_t axis : *axes) moved.push_back(n.positive_axis(axis, static_cast<int>(rank)) + 1);
    n.set_operand(0, n.leading(0));
    n.set_operand(3, n.ints(moved));
    return n.keep(Form::kLeading);
  }
  ir::Value *zero = n.ints({0}), *pads = n.original(1);
  ir::Value* longer = n.concat({zero, n.slice(pads, 0, rank), zero, n.slice(pads, rank)}, 0);
  n.set_operand(0, n.leading(0));
  n.set_operand(1, longer);
  n.keep(Form::kLeading);
}

void batch_shape(NodeBatch& n, const ops::Batching&) {
  const int64_t rank = n.rank(0);
  const auto bound = [&](std::string_view name, int64_t otherwise) {
    int64_t at = n.node().attribute_int(name, otherwise);
    if (at < 0) at += rank;
    return std::clamp<int64_t>(at, 0, rank);
  };
  const int64_t begin = bound("start", 0), end = bound("end", rank);
  if (rank == 0) return n.become_plain(0, n.slice(n.ints({0}), 0, 0));
  ir::Value* shape = sample_shape(n, 0);
  n.become_plain(0, begin == 0 && end == rank ? shape : n.slice(shape, begin, end));
}

void batch_size_of(NodeBatch& n, const ops::Batching&) {
  ir::Value* all = n.emit("Size", {n.leading(0)});
  n.become_plain(0, n.emit("Div", {all, n.squeeze(n.batch_size(), {0})}));
}

void batch_like(NodeBatch& n, const ops::Batching&) {
  // Any sample will do for its shape.
  n.set_operand(0, n.emit("Gather", {n.leading(0), n.integer(0)}, {{"axis", int64_t{0}}}));
  n.note_change();
}

}  // namespace thaw::batch
