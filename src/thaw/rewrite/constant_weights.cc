#include "thaw/rewrite/constant_weights.h"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

namespace thaw::rewrite {
namespace {

constexpr int64_t kFirstOfDefaults = 4;  // IR version

}  // namespace

int count_replaceable(const ir::Model& model) {
  if (model.ir_version < kFirstOfDefaults) return 0;
  return static_cast<int>(std::ranges::count_if(model.graph->inputs(), [](ir::Value* v) { return v->constant(); }));
}

std::string told_replaceable(int count) {
  const std::string_view are = count == 1 ? "weight is an input too, which a caller may replace, and stays as it is"
                                          : "weights are inputs too, which a caller may replace, and stay as they are";
  return fmt::format("{} {}; --constant-weights makes constants of them", count, are);
}

int make_weights_constants(ir::Model& model) {
  if (model.ir_version <= 0) return 0;
  int count = 0;
  const std::vector<ir::Value*> inputs = model.graph->inputs();
  for (ir::Value* input : inputs) {
    if (!input->constant()) continue;
    model.graph->remove_input(input);
    ++count;
  }
  model.ir_version = std::max(model.ir_version, kFirstOfDefaults);
  return count;
}

}  // namespace thaw::rewrite
