#include "thaw/split/named_tensor.h"

#include <algorithm>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "thaw/core/error.h"
#include "thaw/core/suggest.h"

namespace thaw::splitting {
namespace {

std::vector<const ir::Value*> outputs_of(const ir::Node& node) {
  std::vector<const ir::Value*> outputs;
  for (const ir::Value* output : node.outputs())
    if (output) outputs.push_back(output);
  return outputs;
}

}  // namespace

const ir::Value* named_tensor(const ir::Model& model, const std::string& name, std::string_view next) {
  if (const ir::Value* value = model.graph->find(name)) return value;
  std::vector<std::string_view> known;
  for (const ir::Node* node : model.graph->nodes()) {
    const std::vector<const ir::Value*> outputs = outputs_of(*node);
    const bool is_named = !name.empty() && node->name == name;
    if (is_named && outputs.size() == 1) return outputs.front();
    if (is_named && outputs.size() > 1) {
      std::vector<std::string> names;
      for (const ir::Value* output : outputs) names.push_back("'" + output->name() + "'");
      throw Error(ErrorCode::kInvalidArgument, {.what = fmt::format("'{}' is a node of several outputs", name),
                                                .where = model.path.string(),
                                                .expected = fmt::format("one of {}", fmt::join(names, ", ")),
                                                .next = "name the tensor"});
    }
    known.push_back(node->name);
    for (const ir::Value* output : outputs) known.push_back(output->name());
  }
  throw Error(ErrorCode::kInvalidArgument,
              {.what = fmt::format("'{}' is no tensor of the main graph{}", name, did_you_mean(name, known)),
               .where = model.path.string(),
               .expected = "a tensor that a node of the main graph makes from the inputs, or such a node",
               .next = std::string(next)});
}

}  // namespace thaw::splitting
