#include "thaw/sensitivity/cut_model.h"

#include <algorithm>
#include <unordered_set>
#include <utility>

#include "thaw/core/error.h"
#include "thaw/dim/text/text.h"
#include "thaw/infer/infer.h"
#include "thaw/quant/samples/measured_model.h"
#include "thaw/run/array.h"
#include "thaw/sensitivity/rows_of_section.h"
#include "thaw/split/cut_points.h"
#include "thaw/split/stages.h"

namespace thaw::measuring {
namespace {

using splitting::Cut;
using splitting::Stages;

constexpr uint64_t kMostBytesOfBatch = uint64_t{1} << 18;  // bytes: a larger batch runs no faster than its parts

// As many as there are cut points for.
std::vector<Cut> cuts_for(const splitting::CutPositions& positions, size_t sections) {
  for (; sections > 1; --sections) {
    if (sections > positions.all.size() + 1) continue;
    try {
      return splitting::balanced_cuts(positions, sections, SplitBalance::kFlops);
    } catch (const Error&) {
    }
  }
  return {};
}

class Cutter {
 public:
  explicit Cutter(const ir::Model& model)
      : model_(model), facts_(infer::infer(model, scope_)), passings_(model, facts_) {}

  std::vector<Cut> cuts(size_t sections) {
    splitting::CutPositions positions = splitting::find_cut_positions(model_, scope_, facts_, passings_, {});
    std::erase_if(positions.all, [&](const splitting::CutPosition& position) {
      return std::ranges::any_of(position.passing, [&](const ir::Value* value) { return is_inside_kernel(value); });
    });
    return cuts_for(positions, sections);
  }

  // Without the cuts that something passes that is no tensor of a known type.
  Stages run(std::vector<Cut> cuts) {
    for (;;) {
      Stages stages(model_, passings_, cuts);
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

  // The same with names: sizes that are equal have the same one.
  ir::Type named_type_of(const ir::Value* value) {
    ir::Type type = type_of(value);
    for (size_t axis = 0; type.shape && axis < type.shape->size(); ++axis)
      if (const dim::Dim size = facts_.fact(value).dim(static_cast<int>(axis)); size.is_symbolic())
        (*type.shape)[axis].param =
            "size_" + std::to_string(names_.emplace(dim::to_string(size), names_.size()).first->second);
    return type;
  }

 private:
  bool is_codes(const ir::Value* value) const {
    using enum ir::DataType;
    const ops::Fact& fact = facts_.fact(value);
    return fact.is_tensor() && ir::is_integer(fact.dtype) && (ir::bits_of(fact.dtype) <= 8 || fact.dtype == kInt32);
  }

  bool makes_codes(const ir::Node& node) const {
    return std::ranges::any_of(node.outputs(), [&](const ir::Value* value) { return value && is_codes(value); });
  }

  // ONNX Runtime computes a node with what makes codes of its result and numbers of the codes that it reads: what passes there is
  // codes of 8 bits, or numbers that are read as such too.
  bool is_inside_kernel(const ir::Value* value) const {
    const ir::Node* maker = value->producer();
    const bool are_sums = facts_.fact(value).dtype == ir::DataType::kInt32;
    if (!maker || (is_codes(value) && !are_sums)) return false;
    if (makes_codes(*maker)) return true;
    const std::vector<const ir::Value*> operands = splitting::operands_of(*maker);
    if (std::ranges::any_of(operands, [&](const ir::Value* operand) {
          return passings_.of(operand) != splitting::Passing::kConstant && is_codes(operand);
        }))
      return true;
    return value->is_used() && !value->is_output() &&
           std::ranges::all_of(value->uses(), [&](const ir::Use& use) { return makes_codes(*use.node); });
  }

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
  splitting::Passings passings_;
  std::map<std::string, size_t> names_;  // by size, as it is printed
};

void add_once(std::vector<std::string>& names, const std::string& name) {
  if (std::ranges::find(names, name) == names.end()) names.push_back(name);
}

}  // namespace

CutModel::CutModel(std::unique_ptr<ir::Model> model, size_t sections, int threads, CachedArrays::Memory& memory,
                   const std::optional<std::set<size_t>>& cuts)
    : model_(std::move(model)),
      numbers_(std::make_unique<ValueNumbers>(*model_)),
      session_options_(quantizing::session_options(*model_, threads)),
      kept_(memory) {
  ir::begin_own_run(*model_);
  find_sections(sections, cuts);
  sessions_.resize(sections_.size());
  rows_.resize(sections_.size());
}

void CutModel::find_sections(size_t wanted, const std::optional<std::set<size_t>>& chosen) {
  Cutter cutter(*model_);
  std::vector<Cut> cuts = cutter.cuts(wanted);
  cuts_ = cuts.size();
  if (chosen) {
    std::vector<Cut> some;
    for (const size_t i : *chosen)
      if (i < cuts.size()) some.push_back(std::move(cuts[i]));
    cuts = std::move(some);
  }
  const Stages stages = cutter.run(std::move(cuts));
  sections_.resize(static_cast<size_t>(stages.count()));
  for (const ir::Value* input : model_->graph->inputs()) {
    const ir::Type& type = named_[input->name()] = cutter.named_type_of(input);
    if (type.shape && !type.shape->empty() && !type.shape->front().param.empty())
      add_once(batch_axes_, type.shape->front().param);
  }
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
      named_[operand->name()] = cutter.named_type_of(operand);
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

std::unique_ptr<ir::Model> CutModel::part(size_t index) const {
  rewrite::BoundaryValues fed;
  for (const std::string& input : sections_[index].inputs)
    if (const auto at = passing_.find(input); at != passing_.end()) fed.insert(*at);
  return rewrite::submodel_of(*model_, fed, sections_[index].outputs);
}

run::Session& CutModel::session(size_t index) {
  const std::lock_guard lock(mutex_);
  if (!sessions_[index]) {
    const std::unique_ptr<ir::Model> section = part(index);
    sessions_[index].emplace(*section, session_options_);
    for (const std::string& axis : batch_axes_) {
      rows_[index] = rows_of_section(*section, named_, axis);
      if (rows_[index]) break;
    }
  }
  return *sessions_[index];
}

void CutModel::keep(size_t sample, const Arrays& feeds) {
  {
    const std::lock_guard lock(mutex_);
    is_alike_.try_emplace(sample);
  }
  for (const auto& [name, array] : feeds) kept_.put(sample, name, array);
  for (size_t i = 0; i < sections_.size(); ++i) {
    if (sections_[i].outputs.empty()) continue;
    Arrays fed;
    for (const std::string& input : sections_[i].inputs)
      if (kept_.has(sample, input)) fed.emplace(input, kept_.get(sample, input));
    for (auto& [name, array] : session(i).run(fed)) kept_.put(sample, name, std::move(array));
  }
}

bool CutModel::stays(size_t sample, const std::string& name) const {
  return passing_.contains(name) && !model_->graph->find(name)->is_output() &&
         kept_.bytes(sample, name) > kMostBytesOfBatch / 2;
}

std::vector<std::string> CutModel::outputs_behind(size_t index, const run::Values& changed) const {
  const Section& section = sections_[index];
  std::vector<std::string> wanted;
  for (size_t k = 0; k < section.outputs.size(); ++k)
    if (std::ranges::any_of(section.needs[k], [&](const std::string& need) { return changed.contains(need); }))
      wanted.push_back(section.outputs[k]);
  return wanted;
}

void CutModel::run_section(size_t sample, size_t index, const std::vector<std::string>& wanted, run::Values& changed,
                           bool may_stay) {
  Arrays fed;
  run::HeldArrays held;
  for (const std::string& input : sections_[index].inputs) {
    if (const auto there = changed.held.find(input); there != changed.held.end()) {
      held.insert(*there);
    } else if (const auto at = changed.arrays.find(input); at != changed.arrays.end()) {
      fed.emplace(input, at->second);
    } else if (kept_.has(sample, input)) {
      fed.emplace(input, kept_.get(sample, input));
    }
  }
  std::vector<std::string> here, staying;
  for (const std::string& output : wanted) (may_stay && stays(sample, output) ? staying : here).push_back(output);
  run::Values made = session(index).run(fed, held, here, staying);
  for (auto& [name, array] : made.arrays) changed.arrays.insert_or_assign(name, std::move(array));
  for (auto& [name, array] : made.held) changed.held.insert_or_assign(name, std::move(array));
}

void CutModel::run(size_t sample, size_t first, size_t last, run::Values& changed) {
  for (size_t i = first; i < last; ++i)
    if (const std::vector<std::string> wanted = outputs_behind(i, changed); !wanted.empty())
      run_section(sample, i, wanted, changed);
}

void CutModel::run_together(size_t sample, size_t first, size_t last, std::vector<run::Values>& changed) {
  for (size_t i = first; i < last; ++i) {
    const std::vector<std::string> wanted = outputs_behind(i, changed.front());
    if (wanted.empty()) continue;
    session(i);
    std::vector<Arrays> together;
    size_t alone = 0;  // how many have run by themselves
    if (can_ride(sample, i, wanted, changed)) {
      together = run_batch(sample, i, wanted, changed);
      const auto [is_alike, is_new] = is_alike_.at(sample).try_emplace(i, false);
      if (is_new && !together.empty()) {
        run_section(sample, i, wanted, changed[alone++], /*may_stay=*/false);
        is_alike->second = std::ranges::all_of(together.front(), [&](const auto& made) {
          const Array& other = changed.front().arrays.at(made.first);
          return made.second.dims == other.dims && made.second.bytes == other.bytes;
        });
      }
      if (!is_alike->second) together.clear();
    }
    for (size_t k = alone; k < changed.size(); ++k) {
      if (together.empty()) {
        run_section(sample, i, wanted, changed[k]);
      } else {
        for (auto& [name, array] : together[k]) changed[k].arrays.insert_or_assign(name, std::move(array));
      }
    }
  }
}

bool CutModel::can_ride(size_t sample, size_t index, const std::vector<std::string>& wanted,
                        const std::vector<run::Values>& changed) const {
  if (changed.size() < 2 || !rows_[index]) return false;
  const std::map<size_t, bool>& alike = is_alike_.at(sample);
  if (const auto known = alike.find(index); known != alike.end() && !known->second) return false;
  const auto has_rows = [&](const std::string& name) { return rows_[index]->contains(name); };
  if (!std::ranges::all_of(wanted, has_rows)) return false;
  uint64_t bytes = 0;
  for (const std::string& input : sections_[index].inputs) {
    if (changed.front().held.contains(input)) return false;
    const auto at = changed.front().arrays.find(input);
    if (at == changed.front().arrays.end()) continue;
    if (!has_rows(input)) return false;
    bytes += at->second.bytes.size() * changed.size();
  }
  return bytes <= kMostBytesOfBatch;
}

std::vector<Arrays> CutModel::run_batch(size_t sample, size_t index, const std::vector<std::string>& wanted,
                                        const std::vector<run::Values>& changed) {
  Arrays fed;
  for (const std::string& input : sections_[index].inputs) {
    const bool is_changed = changed.front().contains(input);
    if (!is_changed && !kept_.has(sample, input)) continue;
    if (!is_changed && !rows_[index]->contains(input)) {
      fed.emplace(input, kept_.get(sample, input));
      continue;
    }
    std::vector<Array> parts;
    for (const run::Values& one : changed)
      parts.push_back(is_changed ? one.arrays.at(input) : kept_.get(sample, input));
    fed.emplace(input, run::concat_rows(parts));
  }
  const auto count = static_cast<int64_t>(changed.size());
  std::vector<Arrays> apart(changed.size());
  Arrays made;
  try {
    made = session(index).run(fed, wanted);
  } catch (const Error&) {
    return {};  // alone each says what is wrong, if anything is
  }
  for (const auto& [name, array] : made) {
    if (array.dims.empty() || array.dims.front() % count != 0) return {};
    const int64_t rows = array.dims.front() / count;
    for (int64_t k = 0; k < count; ++k)
      apart[static_cast<size_t>(k)].emplace(name, run::rows(array, k * rows, (k + 1) * rows));
  }
  return apart;
}

}  // namespace thaw::measuring
