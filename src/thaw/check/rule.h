// What a rule is, and what it may look at. Internal to check/.
#pragma once

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "thaw/check/check.h"
#include "thaw/check/size_ranges.h"
#include "thaw/check/target_view.h"
#include "thaw/frozen/frozen.h"
#include "thaw/infer/infer.h"
#include "thaw/ir/graph/location.h"

namespace thaw::checking {

// A statement about sizes with sizes that break it, and one that could be neither proven nor broken.
struct BrokenStatement {
  const ops::Obligation* obligation;
  dim::Assignment sizes;  // that break it
  NamedSizes at;          // the same by name
  NamedSizes rows;        // elements of inputs that make them, where sums over rows are among them
};
struct OpenStatement {
  const ops::Obligation* obligation;
  std::string reason;
};
struct SizeProofs {
  SizeProof summary;
  std::vector<BrokenStatement> broken;            // smallest sizes first
  std::vector<const infer::Problem*> impossible;  // nodes that cannot run at any of the sizes, counted among the broken
  std::vector<OpenStatement> open;
  std::vector<const ops::Obligation*> conditions;  // on what inputs hold
  // What is only specified and does not hold; not counted in the summary.
  std::vector<BrokenStatement> unspecified;
  dim::Assignment others;  // sizes that inputs can have, for those that a statement says nothing of
};
// Proves every obligation of the result (prove_sizes.cc).
SizeProofs prove_sizes(const SizeRanges& ranges);
// Whether a statement about numbers asks something of those that an input holds, for which no range was given (input_conditions.cc).
bool is_condition_on_inputs(const ops::Obligation& obligation);
// The integer input that numbers of which nothing is known are made of, by it and by sizes alone; null for other statements.
const ir::Value* input_behind(const ops::Obligation& obligation);
// "the numbers in 'x'": what an open statement about numbers knows too little of.
std::string numbers_of(const ops::Obligation& obligation);
// "a <= b".
std::string statement_text(const ops::Obligation& obligation);

// What the rules share, worked out when first asked for.
class Evidence {
 public:
  Evidence(const ir::Model& model, const CheckOptions& options);
  ~Evidence();

  const ir::Model& model() const { return model_; }
  // What --target names; null where nothing is.
  const ops::Target* target() const { return target_; }
  // From here on the model is looked at for this target.
  void aim_at(const ops::Target& target);
  // The sizes to prove the model over; empty where no proof is asked for.
  const dim::SpecGroup& dims() const { return dims_; }
  bool has_profiles() const { return has_profiles_; }  // they are asked for, so each free size has a range

  // Inference with the declared inputs.
  const infer::Result& inferred();
  const dim::Scope& scope() const { return scope_; }  // of that
  // Sizes that satisfy what the nodes demand, as far as some could be found: to tell whether two expressions can
  // differ.
  const std::vector<dim::Assignment>& witnesses();
  // Whether a and b differ at some sizes that the model runs at. "No" and "not known" are both false.
  bool can_differ(dim::Dim a, dim::Dim b);

  // The analysis of frozen sizes, in a scope of its own.
  const frozen::FrozenAnalysis& frozen();
  dim::Scope& frozen_scope() { return frozen_scope_; }
  // Whether a site speaks only of axes of inputs that a weight fixes at their one size, as features and channels are: what else
  // holds that size is right to. The weight itself says nothing new where the inputs are declared as numbers.
  bool is_of_architecture(const frozen::FrozenSite& site);
  // Whether an expression is the size of one axis, not one computed of it.
  bool is_one_size(dim::Dim size) const { return size.is_symbolic() && frozen_scope_.symbol_id(size) >= 0; }
  // Whether a node is computed from an input: one of the first 64, else "yes".
  bool reads(const ir::Node& node, const ir::Value& input);
  // The value whose axis a data-dependent symbol of that analysis names; null where there is none.
  const ir::Value* value_behind(int symbol);

  // Inference over the ranges of CheckOptions::dims, which must not be empty.
  SizeRanges& size_ranges();
  const SizeProofs& size_proofs();

  // The model as CheckOptions::target sees it; null where there is no target.
  const TargetView* target_view();
  // What the target says of one of the view's nodes.
  const std::vector<struct TargetFault>& target_faults(const TargetNode& at);

 private:
  const ir::Model& model_;
  dim::SpecGroup dims_;
  bool has_profiles_ = false;
  const ops::Target* target_ = nullptr;
  dim::Scope scope_, frozen_scope_;
  std::optional<infer::Result> inferred_;
  std::optional<frozen::FrozenAnalysis> frozen_;
  std::optional<std::set<int>> architecture_;  // symbols
  std::optional<std::unordered_map<int, const ir::Value*>> values_behind_;
  std::optional<std::unordered_map<const ir::Value*, uint64_t>> read_from_;  // a bit for each of the first inputs
  std::optional<std::vector<dim::Assignment>> witnesses_;
  std::unique_ptr<SizeRanges> size_ranges_;
  std::optional<SizeProofs> size_proofs_;
  std::unique_ptr<TargetView> target_view_;
  std::unordered_map<const ir::Node*, std::vector<TargetFault>> target_faults_;
};

class Findings {
 public:
  explicit Findings(const struct Rule& rule) : rule_(rule) {}
  std::string_view code() const;  // of the rule
  // A finding of the rule, with its code, title and severity filled in.
  Finding& add(std::string message, Location where = {});
  std::vector<Finding> take() { return std::move(list_); }

 private:
  const Rule& rule_;
  std::vector<Finding> list_;
};

struct Rule {
  std::string_view code;
  std::string_view title;
  Severity severity;
  void (*look)(Evidence&, Findings&);
};

// One function a file; rules.cc lists them.
void look_for_invalid_nodes(Evidence&, Findings&);
void look_for_unknown_operators(Evidence&, Findings&);
void look_for_spent_budget(Evidence&, Findings&);
void look_for_name_clashes(Evidence&, Findings&);
void look_for_meaningless_dims(Evidence&, Findings&);
void look_for_stale_declarations(Evidence&, Findings&);
void look_for_repeated_names(Evidence&, Findings&);
void look_for_frozen_shapes(Evidence&, Findings&);
void look_for_frozen_splits(Evidence&, Findings&);
void look_for_frozen_slices(Evidence&, Findings&);
void look_for_frozen_tables(Evidence&, Findings&);
void look_for_frozen_indices(Evidence&, Findings&);
void look_for_fixing_weights(Evidence&, Findings&);
void look_for_hidden_sizes(Evidence&, Findings&);
void look_for_permuted_sizes(Evidence&, Findings&);
void look_for_pinned_sizes(Evidence&, Findings&);
void look_for_merged_batch(Evidence&, Findings&);
void look_for_float_ranges(Evidence&, Findings&);
void look_for_mixed_types(Evidence&, Findings&);
void report_target_faults(Evidence&, Findings&);
void look_for_unsupported_opsets(Evidence&, Findings&);
void look_for_control_flow(Evidence&, Findings&);
void look_for_shape_chains(Evidence&, Findings&);
void look_for_unknown_ranks(Evidence&, Findings&);
void look_for_free_sizes(Evidence&, Findings&);
void look_for_breaking_sizes(Evidence&, Findings&);
void look_for_unproven_sizes(Evidence&, Findings&);
void look_for_unspecified_sizes(Evidence&, Findings&);
void look_for_conditions_on_inputs(Evidence&, Findings&);

// What docs/rules.md says of a rule (rule_pages.cc).
std::string_view page_of(std::string_view code);

// "'conv1' (Conv)" or "Conv -> 'out'" for messages.
std::string name_of(const ir::Node& node);
// "[n, 3, h, w]".
std::string text_of(const std::optional<ops::Shape>& shape);
// "h=32, w=64", by symbol.
NamedSizes by_name(const dim::Assignment& sizes, const dim::Scope& scope);
std::string text_of(const NamedSizes& sizes);

}  // namespace thaw::checking
