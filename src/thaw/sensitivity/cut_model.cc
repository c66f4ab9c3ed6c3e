#include "thaw/sensitivity/cut_model.h"

#include <algorithm>
#include <unordered_set>
#include <utility>

#include "thaw/core/error.h"
#include "thaw/infer/infer.h"
#include "thaw/split/cut_points.h"
#include "thaw/split/stages.h"

namespace thaw::measuring {
namespace {

using splitting::Cut;
using splitting::Stages;

// As many as there are places for.
std::vector<Cut> cuts_for(const splitting::Places& places, size_t sections) {
  for (; sections > 1; --sections) {
    if (sections > places.all.size() + 1) continue;
    try {
      return splitting::balanced_cuts(places, sections, SplitBalance::kFlops);
    } catch (const Error&) {
    }
  }
  return {};
}

class Cutter {
 public:
  explicit Cutter(const ir::Model& model) : model_(model), facts_(infer::infer(model, scope_)) {}

  // Without the cuts that something passes that is no tensor of a known type.
  Stages run(size_t sections) {
    const splitting::Passings passings(model_, facts_);
    std::vector<Cut> cuts = cuts_for(splitting::find_places(model_, scope_, facts_, passings, {}), sections);
    for (;;) {
      Stages stages(model_, passings, cuts);
      const std::set<int> bad = passed_by_others(stages);
      if (bad.empty()) return stages;
      std::vector<Cut> kept;
      for (size_t i = 0; i < cuts.size(); ++i)
        if (!bad.contains(static_cast<int>(i))) kept.push_back(std::move(cuts[i]));
      cuts = std::move(kept);
    }
  }

  // With its rank and the sizes that are numbers: of a value without them ONNX Runtime takes the Shape, and of a list the
  // length, for 0, and what reads that for wrong.
  ir::Type type_of(const ir::Value* value) const {
    const ops::Fact& fact = facts_.fact(value);
    if (!fact.has_rank()) return ir::Type::tensor(fact.dtype);
    std::vector<ir::DeclaredDim> dims;
    for (int axis = 0; axis < fact.rank(); ++axis) dims.push_back({fact.dim(axis).constant(), {}, {}});
    return ir::Type::tensor(fact.dtype, std::move(dims));
  }

 private:
  bool may_pass(const ir::Value* value) const {
    const ops::Fact& fact = facts_.fact(value);
    return fact.is_tensor() && fact.dtype != ir::DataType::kUndefined;
  }

  std::set<int> passed_by_others(const Stages& stages) const {
    std::set<int> bad;
    for (const ir::Node* node : model_.graph->nodes()) {
      const int reader = stages.of(node);
      for (const ir::Value* operand : splitting::operands_of(*node)) {
        const int maker = operand->producer() ? stages.of(operand->producer()) : -1;
        if (maker < 0 || reader <= maker || may_pass(operand)) continue;
        for (int cut = maker; cut < reader; ++cut) bad.insert(cut);
      }
    }
    return bad;
  }

  const ir::Model& model_;
  dim::Scope scope_;
  infer::Result facts_;
};

void add_once(std::vector<std::string>& names, const std::string& name) {
  if (std::ranges::find(names, name) == names.end()) names.push_back(name);
}

}  // namespace

CutModel::CutModel(std::unique_ptr<ir::Model> model, size_t sections, KeptArrays::Memory& memory)
    : model_(std::move(model)), numbers_(std::make_unique<ValueNumbers>(*model_)), kept_(memory) {
  find_sections(sections);
}

void CutModel::find_sections(size_t wanted) {
  Cutter cutter(*model_);
  const Stages stages = cutter.run(wanted);
  sections_.resize(static_cast<size_t>(stages.count()));
  sessions_.resize(sections_.size());
  for (const ir::Node* node : model_->graph->nodes()) {
    const int stage = stages.of(node);
    if (stage < 0) continue;
    const auto here = static_cast<size_t>(stage);
    section_of_[node] = here;
    for (const ir::Value* operand : splitting::operands_of(*node)) {
      if (operand->is_input()) {
        add_once(sections_[here].inputs, operand->name());
        continue;
      }
      const auto maker = operand->producer() ? section_of_.find(operand->producer()) : section_of_.end();
      if (maker == section_of_.end() || maker->second == here) continue;
      add_once(sections_[here].inputs, operand->name());
      add_once(sections_[maker->second].outputs, operand->name());
      passing_[operand->name()] = cutter.type_of(operand);
    }
  }
  for (const ir::Value* output : model_->graph->outputs()) {
    const auto maker = output->producer() ? section_of_.find(output->producer()) : section_of_.end();
    if (maker == section_of_.end()) continue;
    add_once(sections_[maker->second].outputs, output->name());
  }
  for (size_t i = 0; i < sections_.size(); ++i) add_section(i);
}

// What each output depends on.
void CutModel::add_section(size_t index) {
  Section& section = sections_[index];
  const std::unordered_set<std::string> inputs(section.inputs.begin(), section.inputs.end());
  for (const std::string& output : section.outputs) {
    std::set<std::string>& needs = section.needs.emplace_back();
    std::unordered_set<const ir::Value*> met;
    std::vector<const ir::Value*> open{model_->graph->find(output)};
    while (!open.empty()) {
      const ir::Value* value = open.back();
      open.pop_back();
      if (!met.insert(value).second) continue;
      const auto maker = value->producer() ? section_of_.find(value->producer()) : section_of_.end();
      if (inputs.contains(value->name()) && (maker == section_of_.end() || maker->second != index)) {
        needs.insert(value->name());
      } else if (maker != section_of_.end()) {
        for (const ir::Value* operand : splitting::operands_of(*value->producer())) open.push_back(operand);
      }
    }
  }
}

std::optional<size_t> CutModel::section_of(const ir::Node* node) const {
  const auto at = section_of_.find(node);
  return at == section_of_.end() ? std::nullopt : std::optional(at->second);
}

run::Session& CutModel::session(size_t index) {
  if (sessions_.size() < sections_.size()) sessions_.resize(sections_.size());
  if (!sessions_[index]) {
    FedValues fed;
    for (const std::string& input : sections_[index].inputs)
      if (const auto at = passing_.find(input); at != passing_.end()) fed.insert(*at);
    sessions_[index].emplace(*part_of(*model_, fed, sections_[index].outputs), SessionOptions{.spinning = false});
  }
  return *sessions_[index];
}

void CutModel::keep(size_t sample, const Arrays& feeds) {
  for (const auto& [name, array] : feeds) kept_.put(sample, name, array);
  for (size_t i = 0; i < sections_.size(); ++i) {
    if (sections_[i].outputs.empty()) continue;
    Arrays fed;
    for (const std::string& input : sections_[i].inputs)
      if (kept_.has(sample, input)) fed.emplace(input, kept_.get(sample, input));
    for (auto& [name, array] : session(i).run(fed)) kept_.put(sample, name, std::move(array));
  }
}

void CutModel::run(size_t sample, size_t first, size_t last, Arrays& changed) {
  for (size_t i = first; i < last; ++i) {
    const Section& section = sections_[i];
    std::vector<std::string> wanted;
    for (size_t k = 0; k < section.outputs.size(); ++k)
      if (std::ranges::any_of(section.needs[k], [&](const std::string& need) { return changed.contains(need); }))
        wanted.push_back(section.outputs[k]);
    if (wanted.empty()) continue;
    Arrays fed;
    for (const std::string& input : section.inputs) {
      if (const auto at = changed.find(input); at != changed.end()) {
        fed.emplace(input, at->second);
      } else if (kept_.has(sample, input)) {
        fed.emplace(input, kept_.get(sample, input));
      }
    }
    for (auto& [name, array] : session(i).run(fed, wanted)) changed.insert_or_assign(name, std::move(array));
  }
}

}  // namespace thaw::measuring
