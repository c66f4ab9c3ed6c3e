// Sequences that a tensor is split into, of which single parts are taken.
#include <algorithm>
#include <optional>

#include "thaw/optimize/passes.h"
#include "thaw/rewrite/patch.h"
#include "thaw/rewrite/splice.h"

namespace thaw::optimizing {
namespace {

constexpr int64_t kMostParts = 1024;  // of one Split

using Sizes = std::vector<int64_t>;

struct Split {
  ir::Node* node = nullptr;
  int64_t axis = 0;             // from the front
  std::optional<Sizes> given;   // of all parts, as the file lists them
  std::optional<int64_t> each;  // of each part but perhaps the last
  bool drops_axis = false;      // parts of 1, without their axis
  std::vector<ir::Node*> readers;
};

// The position that a reader takes, counted from either end; nullopt where it is computed.
std::optional<int64_t> position_of(const ir::Node& reader) {
  const ir::Tensor* position = constant_of(reader.input(1));
  if (!position || position->num_elements() != 1 || !ir::is_integer(position->data_type)) return std::nullopt;
  return position->to_int64().front();
}

std::optional<Split> split_at(ir::Node& node, const infer::Inference& facts, const Constants& frozen) {
  ir::Value* sequence = node.output(0);
  if (!node.input(0) || !sequence || sequence->is_output() || sequence->uses().empty() ||
      !sequence->graph()->returned_by(sequence).empty())
    return std::nullopt;
  Split split{.node = &node};
  const int rank = facts.fact(node.input(0)).rank();
  const int64_t axis = node.attribute_int("axis", 0);
  if (axis < -rank || axis >= rank) return std::nullopt;
  split.axis = axis < 0 ? axis + rank : axis;
  if (const ir::Value* parts = node.input(1)) {
    const ir::Tensor* tensor = constant_of(parts);
    if (!tensor || frozen.contains(parts) || tensor->num_elements() > kMostParts) return std::nullopt;
    const Sizes sizes = tensor->to_int64();
    if (std::ranges::any_of(sizes, [](int64_t size) { return size < 0; })) return std::nullopt;
    if (!tensor->dims.empty()) {
      split.given = sizes;
    } else if (sizes.front() > 0) {
      split.each = sizes.front();
    } else {
      return std::nullopt;
    }
  } else {
    split.each = 1;
    split.drops_axis = node.attribute_int("keepdims", 1) == 0;
  }
  for (const ir::Use& use : sequence->uses()) {
    if (use.node->op_type() != "SequenceAt" || !use.node->domain().empty() || use.node->graph() != node.graph())
      return std::nullopt;
    split.readers.push_back(use.node);
  }
  return split;
}

// The sizes of all parts; nullopt where the file does not tell how many there are.
std::optional<Sizes> sizes_of(const Split& split, const infer::Inference& facts, bool has_frozen) {
  if (split.given) return split.given;
  const auto size = facts.fact(split.node->input(0)).dim(static_cast<int>(split.axis)).constant();
  if (has_frozen || !size || *size > kMostParts * *split.each) return std::nullopt;
  Sizes sizes;
  for (int64_t left = *size; left > 0; left -= *split.each) sizes.push_back(std::min(left, *split.each));
  return sizes;
}

// What each reader takes; empty where one cannot be written.
class Parts {
 public:
  Parts(const Split& split, const infer::Inference& facts, bool has_frozen, rewrite::Emitter& emitter)
      : split_(split), facts_(facts), emitter_(emitter), sizes_(sizes_of(split, facts, has_frozen)) {}

  std::vector<ir::Value*> write() {
    std::vector<ir::Value*> parts;
    if (!split_.drops_axis && sizes_ && split_.readers.size() > 1) return split_at_once();
    for (ir::Node* reader : split_.readers) {
      emitter_.set_origin(rewrite::name_of(*reader));
      ir::Value* part = split_.drops_axis ? gathered(reader) : sliced(reader);
      if (!part) return {};
      parts.push_back(part);
    }
    return parts;
  }

 private:
  std::vector<ir::Value*> split_at_once() {
    const auto count = static_cast<int64_t>(sizes_->size());
    Sizes positions;
    for (const ir::Node* reader : split_.readers) {
      const auto position = position_of(*reader);
      if (!position || *position < -count || *position >= count) return {};
      positions.push_back(*position < 0 ? *position + count : *position);
    }
    const ops::Emit at = emitter_.before(split_.node);
    const std::vector<ir::Value*> all = rewrite::emit_node(at, {.op = "Split",
                                                                .inputs = {split_.node->input(0), at.list(*sizes_)},
                                                                .attributes = {{"axis", split_.axis}},
                                                                .outputs = std::vector<bool>(sizes_->size(), true)});
    std::vector<ir::Value*> parts;
    for (const int64_t position : positions) parts.push_back(all[static_cast<size_t>(position)]);
    return parts;
  }

  ir::Value* gathered(ir::Node* reader) {
    if (facts_.fact(reader->input(1)).rank() != 0) return nullptr;
    return emitter_.before(reader).emit("Gather", {split_.node->input(0), reader->input(1)}, {{"axis", split_.axis}});
  }

  ir::Value* sliced(ir::Node* reader) {
    auto position = position_of(*reader);
    if (!position) return nullptr;
    if (sizes_) {
      const auto count = static_cast<int64_t>(sizes_->size());
      if (*position < -count || *position >= count) return nullptr;
      if (*position < 0) *position += count;
      int64_t begin = 0;
      for (int64_t i = 0; i < *position; ++i) begin += (*sizes_)[static_cast<size_t>(i)];
      return cut(reader, begin, begin + (*sizes_)[static_cast<size_t>(*position)]);
    }
    constexpr int64_t kFar = int64_t{1} << 30;  // products stay within int64
    if (*position > kFar || *position < -kFar || *split_.each > kFar) return nullptr;
    if (*position >= 0) return cut(reader, *position * *split_.each, (*position + 1) * *split_.each);
    if (*split_.each != 1) return nullptr;  // the last may be smaller
    return cut(reader, *position, *position == -1 ? INT64_MAX : *position + 1);
  }

  ir::Value* cut(ir::Node* reader, int64_t begin, int64_t end) {
    return emitter_.before(reader).slice(split_.node->input(0), begin, end, split_.axis);
  }

  const Split& split_;
  const infer::Inference& facts_;
  rewrite::Emitter& emitter_;
  std::optional<Sizes> sizes_;
};

bool rewrite_split(ir::Model& model, const Split& split, const infer::Inference& facts, bool has_frozen,
                   rewrite::Changes& changes) {
  ir::Transaction edit(model);
  rewrite::Emitter emitter(model, {});
  emitter.set_origin(rewrite::name_of(*split.node));
  const std::vector<ir::Value*> parts = Parts(split, facts, has_frozen, emitter).write();
  if (parts.empty()) return false;
  changes.made.push_back({.kind = "read parts directly",
                          .location = split.node->describe(),
                          .replaced = {{"SplitToSequence", parts.front()->producer()->op_type()}}});
  for (size_t i = 0; i < parts.size(); ++i) {
    ir::Node* reader = split.readers[i];
    if (rewrite::can_replace(*reader->output(0), *parts[i])) {
      rewrite::replace_value(*reader->output(0), *parts[i]);
      reader->graph()->remove_node(reader);
    } else {
      rewrite::replace_node(reader, {parts[i]});
    }
  }
  split.node->graph()->remove_node(split.node);
  edit.keep();
  return true;
}

void collect_splits(const ir::Graph& graph, const infer::Inference& facts, const Constants& frozen,
                    std::vector<Split>& found) {
  for (ir::Node* node : graph.nodes()) {
    for (const ir::Graph* inner : node->subgraphs()) collect_splits(*inner, facts, frozen, found);
    if (node->op_type() != "SplitToSequence" || !node->domain().empty()) continue;
    if (auto split = split_at(*node, facts, frozen)) found.push_back(std::move(*split));
  }
}

}  // namespace

int split_sequences(Context& context) {
  const infer::Inference& facts = context.facts();
  const Constants& frozen = context.frozen();
  std::vector<Split> splits;
  collect_splits(*context.model.graph, facts, frozen, splits);
  if (splits.empty()) return 0;
  return rewrite::edit_as_one(context, [&] {
    return static_cast<int>(std::ranges::count_if(splits, [&](const Split& split) {
      return rewrite_split(context.model, split, facts, !frozen.empty(), context.changes);
    }));
  });
}

}  // namespace thaw::optimizing
