// Checking a model: every rule looks at it and says what it finds.
//
// A rule is a file in this folder: a code that never changes, a title, what it looks for (docs/rules.md has a page of
// each). Rules read what inference knows (Evidence); none reads weights, none changes the model.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "thaw/core/finding.h"
#include "thaw/dim/text/range_spec.h"
#include "thaw/ir/graph/model.h"
#include "thaw/ops/target/target.h"

namespace thaw::check {

struct Options {
  std::vector<std::string> only;    // codes to run; empty: all
  std::vector<std::string> ignore;  // codes to leave out
  // Sizes to prove the model over: names as `thaw inspect` prints them, "<input>_dim<axis>" also for a dim that is
  // declared as a number. Empty: no proof is asked for.
  dim::SpecGroup dims;
  // What the model is to run on (ops::find_target); null: the rules of targets have nothing to say.
  const ops::Target* target = nullptr;
};

struct RuleInfo {
  std::string_view code, title;
  Severity severity;
};

// All rules, by code.
std::vector<RuleInfo> rules();

// Findings, by rule and then in node order. Throws thaw::Error for an unknown code or size name.
std::vector<Finding> check(const ir::Model& model, const Options& options = {});

// What a proof over sizes covered, for the summary line.
struct SizeProof {
  size_t statements = 0, proven = 0, broken = 0, open = 0;
};
struct Report {
  std::vector<Finding> findings;
  SizeProof proof;
};
Report check_with_proof(const ir::Model& model, const Options& options);

}  // namespace thaw::check
