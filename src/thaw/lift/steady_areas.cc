#include "thaw/lift/steady_areas.h"

#include <algorithm>
#include <cstdint>
#include <string>

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

}  // namespace

std::vector<Note> steady_areas(const std::vector<Trace>& traces) {
  constexpr int64_t kLargest = int64_t{1} << 31;
  std::vector<Note> notes;
  for (const ir::Value* input : traces.front().model->graph->inputs()) {
    if (input->initializer()) continue;
    const std::vector<std::vector<int64_t>> sizes = sizes_of(input->name(), traces);
    for (size_t other = 1; !sizes.empty() && other < sizes.front().size(); ++other)
      for (size_t axis = 0; axis < other; ++axis) {
        const auto product = [&](const std::vector<int64_t>& of) {
          const bool are_sizes = of[axis] > 0 && of[other] > 0 && of[axis] < kLargest && of[other] < kLargest;
          return are_sizes ? of[axis] * of[other] : 0;
        };
        const bool varies =
            std::ranges::any_of(sizes, [&](const auto& each) { return each[axis] != sizes.front()[axis]; });
        const bool is_steady = std::ranges::all_of(
            sizes, [&](const auto& each) { return product(each) > 0 && product(each) == product(sizes.front()); });
        if (!varies || !is_steady) continue;
        std::vector<std::string> texts;
        for (const auto& each : sizes) texts.push_back(fmt::format("{} x {}", each[axis], each[other]));
        notes.push_back({.where = input->name(),
                         .message = fmt::format("it is {}: of one area in every trace, so no number of cells varies; "
                                                "add a trace of another area",
                                                fmt::join(texts, ", ")),
                         .at = {}});
      }
  }
  return notes;
}

}  // namespace thaw::lifting
