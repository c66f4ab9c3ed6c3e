#include "thaw/lift/untold/steady_areas.h"

#include <cstdint>
#include <map>
#include <numeric>
#include <string>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace thaw::lifting {
namespace {

// The sizes of an input that are numbers, by trace and axis; none where a trace declares another rank.
std::vector<std::vector<int64_t>> sizes_of(const std::string& name, const std::vector<Trace>& traces) {
  std::vector<std::vector<int64_t>> sizes;
  for (const Trace& trace : traces) {
    const ir::Value* input = trace.model->graph->find(name);
    if (!input || !input->type.shape) return {};
    std::vector<int64_t>& own = sizes.emplace_back();
    for (const ir::DeclaredDim& dim : *input->type.shape) own.push_back(dim.value.value_or(0));
    if (own.size() != sizes.front().size()) return {};
  }
  return sizes;
}

// An axis's size in each trace over that in the first, reduced: two axes have one area in all traces where the growth of one is the inverse of the
// other's. Empty where it does not vary or is not known.
using Growth = std::vector<std::pair<int64_t, int64_t>>;

Growth growth_of(const std::vector<std::vector<int64_t>>& sizes, size_t axis) {
  Growth growth;
  bool varies = false;
  for (const auto& each : sizes) {
    if (each[axis] <= 0 || sizes.front()[axis] <= 0) return {};
    const int64_t common = std::gcd(each[axis], sizes.front()[axis]);
    growth.emplace_back(each[axis] / common, sizes.front()[axis] / common);
    varies |= each[axis] != sizes.front()[axis];
  }
  return varies ? growth : Growth{};
}

Growth inverse(Growth growth) {
  for (auto& [over, under] : growth) std::swap(over, under);
  return growth;
}

}  // namespace

std::vector<Note> steady_areas(const std::vector<Trace>& traces) {
  std::vector<Note> notes;
  for (const ir::Value* input : traces.front().model->graph->inputs()) {
    if (input->initializer()) continue;
    const std::vector<std::vector<int64_t>> sizes = sizes_of(input->name(), traces);
    // The first axis of each growth: a model may declare as many axes as its file has bytes, so that not each pair of them is met.
    std::map<Growth, size_t> first;
    for (size_t axis = 0; !sizes.empty() && axis < sizes.front().size(); ++axis) {
      const Growth growth = growth_of(sizes, axis);
      if (growth.empty()) continue;
      if (const auto other = first.find(inverse(growth)); other != first.end()) {
        std::vector<std::string> texts;
        for (const auto& each : sizes) texts.push_back(fmt::format("{} x {}", each[other->second], each[axis]));
        notes.push_back({.where = input->name(),
                         .message = fmt::format("it is {}: of one area in every trace, so no number of cells varies; "
                                                "add a trace of another area",
                                                fmt::join(texts, ", ")),
                         .at = {}});
      }
      first.emplace(growth, axis);
    }
  }
  return notes;
}

}  // namespace thaw::lifting
