// A copy of a trace whose questionable integers are inputs: any choice of expressions is tried by feeding numbers, in
// one session, without building the model again.
//
// The same copy tells inference what the integers must obey: with a symbol for each, its obligations are equations
// between the integers and the sizes of the inputs.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "thaw/infer/infer.h"
#include "thaw/lift/align/traces.h"
#include "thaw/lift/onetrace/constants.h"
#include "thaw/lift/onetrace/sizes.h"
#include "thaw/lift/solve/propose.h"
#include "thaw/run/compare.h"
#include "thaw/run/session.h"

namespace thaw::lifting::onetrace {

// An element of a constant that may be something else than itself.
struct Unknown {
  size_t constant = 0, element = 0;
  std::vector<lifting::Proposal> proposals;  // the cheapest first; at: the export, then each case
  dim::Dim symbol;                           // stands for it in inference
};

// By unknown: which of its proposals.
using Choice = std::vector<size_t>;

// What running one case came to.
struct CaseResult {
  bool agrees = false;
  double max_abs_diff = 0;
  std::string reason;                      // why it does not agree
  std::string failed_node;                 // where it does not run, if that is known
  std::vector<std::string> wrong_outputs;  // where it runs
};

ReferenceCase reported(std::string name, std::string sizes, CaseResult result);

// Gives the model the inputs that it lacks, opens the dims that the cases differ in and forgets the declared shapes of
// inner tensors: what a trace needs to run at other sizes at all.
void open_model(ir::Model& model, const Sizes& sizes, std::span<const AddedInput> added, const dim::Scope& scope);

// `model` agrees with a case where every output that the case holds does.
CaseResult compare_case(run::Session& session, const Arrays& feeds, const Arrays& expected, const Tolerance& tolerance);

class Probe {
 public:
  // `model` has been opened. Its unknown integers become inputs of the copy.
  Probe(const ir::Model& model, const std::vector<Constant>& constants, std::vector<Unknown>& unknowns,
        dim::Scope& scope, const Sizes& sizes);

  // Facts and obligations with a symbol for each unknown.
  const infer::Result& facts() const { return facts_; }
  const ir::Model& model() const { return *model_; }

  CaseResult run(const Choice& choice, size_t case_index, const Tolerance& tolerance);
  // The unknowns that a failure depends on: whatever else is chosen, with these as they are it fails. nullopt: not
  // known.
  std::optional<std::vector<size_t>> find_unknowns_behind(const CaseResult& failure);

 private:
  void replace(const ir::Model& original, const std::vector<Constant>& constants);
  std::optional<std::vector<size_t>> find_unknowns_behind(const ir::Value* value) const;
  std::optional<std::vector<size_t>> find_unknowns_behind(const ir::Node* node) const;
  void infer_with_symbols(const std::vector<Constant>& constants, dim::Scope& scope);

  std::vector<Unknown>& unknowns_;
  const std::vector<Constant>& constants_;
  const Sizes& sizes_;
  std::unique_ptr<ir::Model> model_;
  std::vector<ir::Value*> inputs_;  // by constant; null where nothing in it is unknown
  infer::Result facts_;
  std::optional<run::Session> session_;
  std::string refusal_;                                                        // why there is no session
  std::unordered_map<std::string, std::optional<std::vector<size_t>>> known_;  // by node or output
};

}  // namespace thaw::lifting::onetrace
