// A model cut into sections that follow each other, and what passes from one to the next on each sample.
//
// A section runs in a session of its own, over what earlier ones made: what a change of the first sections does to the last
// ones is measured by running these alone.
#pragma once

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "thaw/ir/graph/model.h"
#include "thaw/run/session.h"
#include "thaw/sensitivity/kept_arrays.h"
#include "thaw/sensitivity/part_model.h"
#include "thaw/sensitivity/value_numbers.h"

namespace thaw::measuring {

struct Section {
  std::vector<std::string> inputs;           // of the model, or from earlier sections
  std::vector<std::string> outputs;          // that later ones read, or the model's
  std::vector<std::set<std::string>> needs;  // of each output: the inputs that it depends on
};

class CutModel {
 public:
  // In about so many sections, at narrow places.
  CutModel(std::unique_ptr<ir::Model> model, size_t sections, KeptArrays::Memory& memory);

  const ir::Model& model() const { return *model_; }
  const ValueNumbers& numbers() const { return *numbers_; }
  const std::vector<Section>& sections() const { return sections_; }
  // Element types of all that passes from one section to another.
  const FedValues& passing() const { return passing_; }
  // Of a node of the main graph; none where it computes with constants alone: each section has its own.
  std::optional<size_t> section_of(const ir::Node* node) const;

  // Runs all of it on a sample and keeps what passes. Throws what the runtime refuses.
  void keep(size_t sample, const Arrays& feeds);
  const KeptArrays& kept() const { return kept_; }

  // What becomes of values that differ from what was kept: runs the sections from `first` to before `last` as far as they
  // depend on them, and adds what they make to `changed`.
  void run(size_t sample, size_t first, size_t last, Arrays& changed);

  // Ends the sessions; the next run starts them anew.
  void release() { sessions_.clear(); }

 private:
  void find_sections(size_t wanted);
  void add_section(size_t index);
  run::Session& session(size_t index);

  std::unique_ptr<ir::Model> model_;
  std::unique_ptr<ValueNumbers> numbers_;
  std::vector<Section> sections_;
  FedValues passing_;
  std::unordered_map<const ir::Node*, size_t> section_of_;
  std::vector<std::optional<run::Session>> sessions_;
  KeptArrays kept_;
};

}  // namespace thaw::measuring
