#include "thaw/sensitivity/candidate.h"

#include <algorithm>
#include <unordered_set>

#include "thaw/sensitivity/node_key.h"
#include "thaw/split/stages.h"

namespace thaw::measuring {
namespace {

using NumberOf = std::function<int(const ir::Value*)>;

// A node by what it is called that it reads and makes. What comes from constants alone belongs to no section, and so must be
// the same in itself.
std::string named_key(const ir::Node& node, const std::unordered_set<const ir::Value*>& constant,
                      const NumberOf& number_of) {
  std::string key;
  append_node(key, node, [&](std::string& to, const ir::Value& value) {
    if (constant.contains(&value) || (value.constant() && !value.is_input())) {
      const int number = number_of(&value);
      to.append(reinterpret_cast<const char*>(&number), sizeof(number));
      // What the base does not have is equal to nothing.
      if (number == ValueNumbers::kOther) to.append("new ").append(value.name());
    } else {
      to.append(value.name()).push_back('\0');
    }
  });
  for (const ir::Value* output : node.outputs()) key.append(output ? output->name() : "").push_back('\0');
  return key;
}

std::unordered_set<const ir::Value*> from_constants(const ir::Graph& graph) {
  std::unordered_set<const ir::Value*> found;
  for (const ir::Value* value : graph.initializers())
    if (!value->is_input()) found.insert(value);
  for (const ir::Node* node : graph.nodes()) {
    const std::vector<const ir::Value*> operands = splitting::operands_of(*node);
    if (!std::ranges::all_of(operands, [&](const ir::Value* operand) { return found.contains(operand); })) continue;
    for (const ir::Value* output : node->outputs())
      if (output) found.insert(output);
  }
  return found;
}

}  // namespace

Candidate::Candidate(const CutModel& base, const ir::Model& model) : base_(base) {
  const ValueNumbers::Numbers numbers = base.numbers().of(model);
  const NumberOf number_here = [&](const ir::Value* value) {
    const auto at = numbers.find(value);
    return at == numbers.end() ? ValueNumbers::kOther : at->second;
  };
  std::unordered_set<std::string> here;
  const std::unordered_set<const ir::Value*> constant_here = from_constants(*model.graph);
  for (const ir::Node* node : model.graph->nodes()) here.insert(named_key(*node, constant_here, number_here));
  const std::unordered_set<const ir::Value*> constant_there = from_constants(*base.model().graph);
  for (const ir::Node* node : base.model().graph->nodes()) {
    const std::optional<size_t> section = base.section_of(node);
    if (!section || *section < tail_) continue;
    const std::string key =
        named_key(*node, constant_there, [&](const ir::Value* value) { return base.numbers().of(value); });
    if (!here.contains(key)) tail_ = *section + 1;
  }
  const auto is_same = [&](const std::string& name) {
    const ir::Value *now = model.graph->find(name), *before = base.model().graph->find(name);
    return now && before && number_here(now) != ValueNumbers::kOther && number_here(now) == base.numbers().of(before);
  };
  rewrite::BoundaryValues fed;
  for (const auto& [name, type] : base.passing())
    if (is_same(name)) fed.emplace(name, type);
  for (size_t i = 0; i < tail_; ++i)
    for (const std::string& output : base.sections()[i].outputs) {
      if (is_same(output)) continue;
      const ir::Value* value = base.model().graph->find(output);
      const bool is_read_behind = std::ranges::any_of(
          base.sections().begin() + static_cast<ptrdiff_t>(tail_), base.sections().end(),
          [&](const Section& section) { return std::ranges::find(section.inputs, output) != section.inputs.end(); });
      if (is_read_behind || value->is_output()) outputs_.push_back(output);
    }
  if (!outputs_.empty()) part_ = rewrite::submodel_of(model, fed, outputs_);
}

void Candidate::open() {
  if (!session_ && is_changed()) session_.emplace(*part_, base_.session_options());
}

Arrays Candidate::feeds(size_t sample) {
  open();
  Arrays fed;
  for (const Port& port : session_->inputs())
    if (base_.kept().has(sample, port.name)) fed.emplace(port.name, base_.kept().get(sample, port.name));
  return fed;
}

run::Values Candidate::run(size_t sample) {
  if (!is_changed()) return {};
  std::vector<std::string> here, staying;
  for (const std::string& output : outputs_) (base_.stays(sample, output) ? staying : here).push_back(output);
  const Arrays fed = feeds(sample);
  return session_->run(fed, {}, here, staying);
}

Arrays Candidate::run_here(size_t sample) {
  if (!is_changed()) return {};
  const Arrays fed = feeds(sample);
  return session_->run(fed, outputs_);
}

}  // namespace thaw::measuring
