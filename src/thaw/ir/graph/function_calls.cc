#include "thaw/ir/graph/function_calls.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "thaw/core/error.h"

namespace thaw::ir {
namespace {

std::string key_of(const std::string& domain, const std::string& name, const std::string& overload) {
  return fmt::format("{}\n{}\n{}", domain, name, overload);
}

// The functions that a body's nodes call, those of its subgraphs included.
std::vector<size_t> calls_of(const Graph& body, const std::unordered_map<std::string, size_t>& functions) {
  std::vector<size_t> called;
  std::vector<const Graph*> graphs = {&body};
  while (!graphs.empty()) {
    const Graph& graph = *graphs.back();
    graphs.pop_back();
    for (const Node* node : graph.nodes()) {
      const auto found = functions.find(key_of(node->domain(), node->op_type(), node->overload()));
      if (found != functions.end()) called.push_back(found->second);
      for (const Graph* subgraph : node->subgraphs()) graphs.push_back(subgraph);
    }
  }
  return called;
}

}  // namespace

void refuse_recursion(const Model& model) {
  std::unordered_map<std::string, size_t> index;
  for (size_t i = 0; i < model.functions.size(); ++i) {
    const Function& function = *model.functions[i];
    index.emplace(key_of(function.domain, function.name, function.overload), i);
  }
  std::vector<std::vector<size_t>> calls;
  for (const auto& function : model.functions) calls.push_back(calls_of(*function->body, index));

  enum class State : uint8_t { kNew, kOpen, kDone };
  std::vector<State> states(calls.size(), State::kNew);
  for (size_t start = 0; start < calls.size(); ++start) {
    if (states[start] != State::kNew) continue;
    std::vector<std::pair<size_t, size_t>> path = {{start, 0}};  // function, how many of its calls were followed
    states[start] = State::kOpen;
    while (!path.empty()) {
      auto& [function, next] = path.back();
      if (next == calls[function].size()) {
        states[function] = State::kDone;
        path.pop_back();
        continue;
      }
      const size_t callee = calls[function][next++];
      if (states[callee] == State::kOpen) {
        throw Error(ErrorCode::kInvalidFile,
                    {.what = fmt::format("the function '{}' of domain '{}' calls itself", model.functions[callee]->name,
                                         model.functions[callee]->domain),
                     .expected = "functions without recursion",
                     .next = "export the model again"});
      }
      if (states[callee] == State::kNew) {
        states[callee] = State::kOpen;
        path.emplace_back(callee, 0);
      }
    }
  }
}

}  // namespace thaw::ir
