// A model cut into sections that follow each other, and what passes from one to the next on each sample.
//
// A section runs in a session of its own, over what earlier ones made: what a change of the first sections does to the last
// ones is measured by running these alone.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "thaw/ir/graph/model.h"
#include "thaw/rewrite/submodel.h"
#include "thaw/run/session.h"
#include "thaw/sensitivity/cached_arrays.h"
#include "thaw/sensitivity/value_numbers.h"

namespace thaw::measuring {

struct Section {
  std::vector<std::string> inputs;           // of the model, or from earlier sections
  std::vector<std::string> outputs;          // that later ones read, or the model's
  std::vector<std::set<std::string>> needs;  // of each output: the inputs that it depends on
};

class CutModel {
 public:
  // In about so many sections, cut where few bytes pass; threads: of each session. `cuts`: indices of the cut points in use, in
  // their order; none: all.
  CutModel(std::unique_ptr<ir::Model> model, size_t sections, int threads, CachedArrays::Memory& memory,
           const std::optional<std::set<size_t>>& cuts = {});

  const ir::Model& model() const { return *model_; }
  const ValueNumbers& numbers() const { return *numbers_; }
  size_t cuts() const { return cuts_; }  // cut points, in use or not
  const std::vector<Section>& sections() const { return sections_; }
  // Element types of all that passes from one section to another.
  const rewrite::BoundaryValues& passing() const { return passing_; }
  // Of a node of the main graph; none where it computes with constants alone: each section has its own.
  std::optional<size_t> section_of(const ir::Node* node) const;

  // A section as a model.
  std::unique_ptr<ir::Model> part(size_t index) const;

  // Of its sections, and of what is made of them.
  const SessionOptions& session_options() const { return session_options_; }

  // Runs all of it on a sample and keeps what passes. Throws what the runtime refuses. This, and what follows, may be called for
  // different samples from several threads.
  void keep(size_t sample, const Arrays& feeds);
  const CachedArrays& kept() const { return kept_; }

  // Whether what becomes of a value that passes stays where it is computed: where it is too large for a batch (run_together).
  bool stays(size_t sample, const std::string& name) const;

  // What becomes of values that differ from what was kept: runs the sections from `first` to before `last` as far as they
  // depend on them, and adds what they make to `changed`.
  void run(size_t sample, size_t first, size_t last, run::Values& changed);

  // The same for several models at once, where the same values differ: where a section is shown to treat rows of the
  // samples' axis apart (rows_of_section.h), theirs go through it one after the other in one batch. That is done for a
  // section and a sample once the first of them has come out of the batch bit by bit as it comes out alone.
  void run_together(size_t sample, size_t first, size_t last, std::vector<run::Values>& changed);

 private:
  void find_sections(size_t wanted, const std::optional<std::set<size_t>>& cuts);
  void add_section(size_t index);
  run::Session& session(size_t index);
  std::vector<std::string> outputs_behind(size_t section, const run::Values& changed) const;
  void run_section(size_t sample, size_t index, const std::vector<std::string>& wanted, run::Values& changed,
                   bool may_stay = true);
  bool can_ride(size_t sample, size_t index, const std::vector<std::string>& wanted,
                const std::vector<run::Values>& changed) const;
  // Those of each, of one run; empty where they do not come apart.
  std::vector<Arrays> run_batch(size_t sample, size_t index, const std::vector<std::string>& wanted,
                                const std::vector<run::Values>& changed);

  std::unique_ptr<ir::Model> model_;
  std::unique_ptr<ValueNumbers> numbers_;
  size_t cuts_ = 0;
  std::vector<Section> sections_;
  rewrite::BoundaryValues passing_;
  std::unordered_map<const ir::Node*, size_t> section_of_;
  rewrite::BoundaryValues named_;                      // what passes and the model's inputs, equal sizes by one name
  std::vector<std::string> batch_axes_;                // names of what may be the samples' axis
  std::vector<std::optional<run::Session>> sessions_;  // by section, as are those below
  std::vector<std::optional<std::set<std::string>>> rows_;  // of a section that runs: what has the samples' axis first
  std::map<size_t, std::map<size_t, bool>> is_alike_;       // by sample that was kept and section: in a batch as alone
  std::mutex mutex_;                                        // while sessions are made, and samples are added
  const SessionOptions session_options_;
  CachedArrays kept_;
};

}  // namespace thaw::measuring
