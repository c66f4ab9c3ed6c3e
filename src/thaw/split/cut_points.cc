#include "thaw/split/cut_points.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <unordered_set>

#include <fmt/format.h>

#include "thaw/core/error.h"
#include "thaw/infer/cost.h"

namespace thaw::splitting {
namespace {

constexpr size_t kMostSuggested = 12;
constexpr size_t kMostPassing = 16;  // tensors: what more pass is no cut point

class PositionFinder {
 public:
  PositionFinder(const ir::Model& model, dim::Scope& scope, const infer::Result& facts, const Passings& passings,
                 const NamedSizes& sizes)
      : model_(model), facts_(facts), passings_(passings), sizes_(infer::assumed_sizes(scope, sizes)) {}

  CutPositions run() {
    count_readers();
    for (const ir::Node* node : model_.graph->nodes()) {
      const std::vector<const ir::Value*> operands = operands_of(*node);
      if (!add_node(*node, operands)) continue;
      if (passing_.empty() || passing_.size() > kMostPassing) continue;
      CutPosition here = position();
      if (positions_.all.empty() || positions_.all.back().passing != here.passing)
        positions_.all.push_back(std::move(here));
    }
    positions_.weights = weights_;
    positions_.flops = flops_;
    // Behind the last node there is nothing to cut.
    return std::move(positions_);
  }

 private:
  void count_readers() {
    for (const ir::Node* node : model_.graph->nodes())
      if (passings_.is_work(*node))
        for (const ir::Value* operand : operands_of(*node)) ++readers_[operand];
  }

  bool add_node(const ir::Node& node, const std::vector<const ir::Value*>& operands) {
    if (!passings_.is_work(node)) return false;
    for (const ir::Value* operand : operands) {
      if (const ir::Tensor* weight = operand->constant(); weight && weighed_.insert(operand).second)
        weights_ += weight->num_bytes();
      const bool is_last = --readers_[operand] == 0;
      if (operand->is_input()) note_input(operand, is_last);
      if (is_last) passing_.erase(operand);
    }
    for (const ir::Value* output : node.outputs())
      if (output && passings_.of(output) == Passing::kTensor && readers_.contains(output))
        passing_.emplace(output, made_++);
    const dim::Dim each = infer::cost_with_graphs(node, model_, facts_).flops;
    if (const auto flops = dim::evaluate(each, sizes_)) flops_ += static_cast<double>(*flops);
    return true;
  }

  // An input that is read before and behind a cut point must be there twice.
  void note_input(const ir::Value* input, bool is_last) {
    const bool was_read = read_.contains(input);
    if (was_read == !is_last) return;
    const auto bytes = dim::evaluate(infer::bytes_of(facts_.fact(input)), sizes_);
    const double share = bytes ? static_cast<double>(*bytes) : 0;
    read_bytes_ += is_last ? -share : share;
    read_.insert(input);
  }

  CutPosition position() const {
    CutPosition position{.passing = {}, .bytes = 0, .weights_before = weights_, .flops_before = flops_};
    // any order: they are sorted by when they were made
    for (const auto& [value, made] : passing_) position.passing.push_back(value);
    std::ranges::sort(position.passing, {}, [&](const ir::Value* value) { return passing_.at(value); });
    for (const ir::Value* value : position.passing)
      position.bytes = position.bytes + infer::bytes_of(facts_.fact(value));
    const auto bytes = position.bytes.is_known() ? dim::evaluate(position.bytes, sizes_) : std::nullopt;
    position.estimated_bytes =
        bytes ? static_cast<double>(*bytes) + read_bytes_ : std::numeric_limits<double>::infinity();
    return position;
  }

  const ir::Model& model_;
  const infer::Result& facts_;
  const Passings& passings_;
  const dim::Assignment sizes_;
  std::unordered_map<const ir::Value*, int> readers_;  // nodes that are still to come
  std::unordered_set<const ir::Value*> weighed_;
  std::unordered_map<const ir::Value*, size_t> passing_;  // with when it was made
  size_t made_ = 0;
  std::unordered_set<const ir::Value*> read_;  // inputs
  double read_bytes_ = 0;                      // of those that are read again
  uint64_t weights_ = 0;
  double flops_ = 0;
  CutPositions positions_;
};

double share_before(const CutPositions& positions, const CutPosition& position, SplitBalance balance) {
  if (balance == SplitBalance::kFlops) return positions.flops > 0 ? position.flops_before / positions.flops : 0;
  return positions.weights > 0 ? static_cast<double>(position.weights_before) / static_cast<double>(positions.weights)
                               : 0;
}

bool is_narrower(const CutPosition& a, const CutPosition& b) {
  return std::pair(a.estimated_bytes, a.passing.size()) < std::pair(b.estimated_bytes, b.passing.size());
}

}  // namespace

CutPositions find_cut_positions(const ir::Model& model, dim::Scope& scope, const infer::Result& facts,
                                const Passings& passings, const NamedSizes& sizes) {
  return PositionFinder(model, scope, facts, passings, sizes).run();
}

std::vector<Cut> balanced_cuts(const CutPositions& positions, size_t parts, SplitBalance balance) {
  std::vector<Cut> cuts;
  const double even = 1 / static_cast<double>(parts);
  size_t first = 0;
  for (size_t part = 1; part < parts; ++part) {
    // Within a fifth of a part's share, the narrowest; of those that are as narrow, the nearest.
    const double wanted = even * static_cast<double>(part), slack = even / 5;
    const CutPosition* best = nullptr;
    const auto distance = [&](const CutPosition& position) {
      return std::abs(share_before(positions, position, balance) - wanted);
    };
    const auto is_better = [&](const CutPosition& a, const CutPosition& b) {
      const bool a_near = distance(a) <= slack, b_near = distance(b) <= slack;
      if (a_near != b_near) return a_near;
      if (!a_near) return distance(a) < distance(b);
      if (a.estimated_bytes != b.estimated_bytes || a.passing.size() != b.passing.size()) return is_narrower(a, b);
      return distance(a) < distance(b);
    };
    size_t chosen = first;
    for (size_t i = first; i < positions.all.size(); ++i) {
      if (best && !is_better(positions.all[i], *best)) continue;
      best = &positions.all[i];
      chosen = i;
    }
    if (!best)
      throw Error(ErrorCode::kInvalidArgument,
                  {.what = parts == 2 ? "no cut point was found"
                                      : fmt::format("fewer than {} cut points were found", parts - 1),
                   .where = "split",
                   .expected = "nodes in sequence, with tensors between them to cut at",
                   .next = parts == 2 ? "leave the model whole" : "ask for fewer parts"});
    cuts.push_back(best->passing);
    first = chosen + 1;
  }
  return cuts;
}

std::vector<const CutPosition*> narrow_cut_positions(const CutPositions& positions) {
  std::vector<const CutPosition*> narrow;
  const size_t buckets = std::min(kMostSuggested, positions.all.size());
  const bool by_weights = positions.weights > 0;
  size_t at = 0;
  for (size_t bucket = 1; bucket <= buckets; ++bucket) {
    const double end = static_cast<double>(bucket) / static_cast<double>(buckets);
    const CutPosition* best = nullptr;
    for (; at < positions.all.size(); ++at) {
      const CutPosition& position = positions.all[at];
      const double share = by_weights ? share_before(positions, position, SplitBalance::kBytes)
                                      : static_cast<double>(at + 1) / static_cast<double>(positions.all.size());
      if (share > end) break;
      if (by_weights && position.weights_before == positions.weights) continue;  // little is left behind it
      if (!best || is_narrower(position, *best)) best = &position;
    }
    if (best) narrow.push_back(best);
  }
  // What has a narrower one next to it is no cut point.
  std::vector<const CutPosition*> narrowest;
  for (size_t i = 0; i < narrow.size(); ++i) {
    const auto is_wider_than = [&](size_t other) {
      return other < narrow.size() && narrow[other]->estimated_bytes < narrow[i]->estimated_bytes;
    };
    if (!is_wider_than(i - 1) && !is_wider_than(i + 1)) narrowest.push_back(narrow[i]);
  }
  return narrowest;
}

}  // namespace thaw::splitting
