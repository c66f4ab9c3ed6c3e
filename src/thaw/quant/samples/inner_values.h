// What graphs inside If, Loop and Scan compute, brought out of them: each node around a value gets one more output.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "thaw/ir/graph/model.h"

namespace thaw::quantizing {

class MeasuredModel;

// A value by where it stands, which a copy of its model tells too.
struct ValueLocation {
  size_t graph = 0;  // its number among rewrite::all_graphs: 0 is the main graph
  std::string name;
  auto operator<=>(const ValueLocation&) const = default;
};

class ValueLocations {
 public:
  explicit ValueLocations(const ir::Model& model);
  ValueLocation of(const ir::Value& value) const { return {number_of(*value.graph()), value.name()}; }
  size_t number_of(const ir::Graph& graph) const { return numbers_.at(&graph); }

 private:
  std::unordered_map<const ir::Graph*, size_t> numbers_;
};

// Whether its values can be brought out; whether it may run more than once in a run of the model.
bool can_be_measured(const ir::Graph& graph);
bool may_run_often(const ir::Graph& graph);

// What the numbers of several runs of a graph become: one. 0 stands beside them, and for a graph that does not run. Without a
// reduction (kNone of a vector, kRows of a matrix), a graph that does not run yields one without elements, and must not run often.
enum class OfRuns : uint8_t { kNone, kRows, kLeast, kMost, kSum };

struct InnerValue {
  ir::Value* value = nullptr;  // float32: one number, or, without a reduction, a vector or a matrix
  OfRuns reduction = OfRuns::kNone;
};

// The same as values of the main graph; those that are its own stay as they are. Linear in values and outputs.
std::vector<ir::Value*> brought_out(MeasuredModel& model, const std::vector<InnerValue>& values);

}  // namespace thaw::quantizing
