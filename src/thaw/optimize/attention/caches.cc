#include "thaw/optimize/attention/caches.h"

#include <algorithm>
#include <unordered_set>
#include <vector>

#include "thaw/optimize/site.h"
#include "thaw/rewrite/replace.h"

namespace thaw::optimizing {
namespace {

constexpr int64_t kPositions = 2;  // the axis that grows
constexpr int kMostReaders = 8;    // nodes in a row that a rewrite wrote in vain

std::optional<CachedPart> cached(const Shaped& all, const FoundHeads& heads, const infer::Inference& facts) {
  const ir::Node* concat = producer_of(all.value, "Concat");
  if (!concat || concat->inputs().size() != 2 || all.rank() != 4) return std::nullopt;
  const int64_t axis = concat->attribute_int("axis", 0);
  const auto past = shaped(concat->input(0), facts), now = shaped(concat->input(1), facts);
  if ((axis != kPositions && axis != kPositions - all.rank()) || !past || !now || past->rank() != 4 || now->rank() != 4)
    return std::nullopt;
  const auto has_sizes = [&](const Shaped& part) {
    return dim::same(part.dim(0), heads.batch()) && part.dim(1).is_constant(heads.kv_heads) &&
           part.dim(3).is_constant(heads.width) && part.dtype == heads.query.dtype;
  };
  if (!has_sizes(*past) || !has_sizes(*now)) return std::nullopt;
  return CachedPart{*past, *now, all.value};
}

bool is_unread(const ir::Node& node) {
  return std::ranges::none_of(node.outputs(), [](const ir::Value* value) { return value && value->is_used(); });
}

// Goes on along what may be unread only: a value that something else reads is looked at once.
void remove_unread_readers(ir::Value& value, int depth) {
  if (depth == 0) return;
  std::vector<ir::Node*> readers;
  for (const ir::Use& use : value.uses())
    if (std::ranges::find(readers, use.node) == readers.end()) readers.push_back(use.node);
  for (ir::Node* reader : readers) {
    if (reader->graph() != value.graph()) continue;
    if (reader->outputs().size() == 1 && reader->output(0)->uses().size() == 1)
      remove_unread_readers(*reader->output(0), depth - 1);
    if (is_unread(*reader)) reader->graph()->remove_node(reader);
  }
}

}  // namespace

std::optional<FoundCache> find_cache(const FoundHeads& heads, const infer::Inference& facts, std::string& why) {
  if (heads.query.rank() != 4) return std::nullopt;
  const auto key = cached(heads.key, heads, facts), value = cached(heads.value, heads, facts);
  if (!key || !value) return std::nullopt;
  // Kernels count the past by the keys, and the new ones by the queries.
  if (!dim::same(key->past.dim(2), value->past.dim(2)) || !dim::same(key->now.dim(2), value->now.dim(2)) ||
      !dim::same(key->now.dim(2), heads.queries())) {
    why = "there are not known to be as many new keys and values as queries";
    return std::nullopt;
  }
  if (key->all == value->all) {
    why = "keys and values are one";
    return std::nullopt;
  }
  return FoundCache{*key, *value};
}

void remove_what_gave(ir::Value& unread) {
  const ir::Graph* graph = unread.graph();
  std::vector<ir::Node*> nodes{unread.producer()};
  std::unordered_set<const ir::Node*> gone;
  while (!nodes.empty()) {
    ir::Node* node = nodes.back();
    nodes.pop_back();
    if (!node || node->graph() != graph || gone.contains(node) || !is_unread(*node)) continue;
    const std::vector<ir::Value*> operands(node->inputs().begin(), node->inputs().end());
    node->graph()->remove_node(node);
    gone.insert(node);
    for (const ir::Value* operand : operands)
      if (operand && !operand->is_used()) nodes.push_back(operand->producer());
  }
}

bool may_come_from(const ir::Node& attention, ir::Value& all, const ir::Value& present) {
  remove_unread_readers(all, kMostReaders);
  const bool are_after = std::ranges::all_of(all.uses(), [&](const ir::Use& use) {
    return use.node->graph() == attention.graph() &&
           ir::Graph::position_of(use.node) > ir::Graph::position_of(&attention);
  });
  return are_after && all.graph() == attention.graph() && rewrite::can_replace(all, present);
}

}  // namespace thaw::optimizing
