// What is wrong with a model's sizes, types and declarations, where it comes from and what mends it.
//
//   thaw::CheckReport report = thaw::check(model, {.dims = "batch=1..32,height=64..1024:32"});
//   for (const thaw::Finding& finding : report.findings) …
//
// docs/rules.md has a page of each rule. No weights are read, and the model is not changed.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "thaw/export.h"
#include "thaw/finding.h"
#include "thaw/model.h"
#include "thaw/run.h"

namespace thaw {

struct CheckOptions {
  // Codes, or what they begin with ("THAW03"). Where both name a rule the longer one counts, and of equals `ignore`.
  std::vector<std::string> only;    // of the rules to go by; empty: all
  std::vector<std::string> ignore;  // to leave out
  // Sizes to prove the model over, as in `thaw check --dims`: "n=1..8,h=64..1024:32", names as `thaw inspect` prints
  // them, "<input>_dim<axis>" also for a dim that is declared as a number. Empty: no proof is asked for.
  std::string dims = {};
  // What the model is to run on: "ort", "directml", … (docs/targets.md). Empty: the rules of targets have nothing to
  // say.
  std::string target = {};
  // With dims: the model is run at the sizes that the proof says break it, and what came of it is said.
  bool run = false;
  FeedOptions feeds = {};  // for those runs
};

struct RuleInfo {
  std::string_view code, title;
  Severity severity;
  std::string_view page;  // what docs/rules.md says of it, as Markdown, without its heading
};

// All rules, by code.
THAW_API std::vector<RuleInfo> rules();

// What a proof over sizes covered: statements that nodes make about sizes.
struct SizeProof {
  size_t statements = 0, proven = 0, broken = 0, open = 0;
};

struct CheckReport {
  std::vector<Finding> findings;  // by rule, and then in the order of the nodes
  SizeProof proof;

  // Whether there is an error or a warning; notes alone do not fail.
  THAW_API bool failed() const;
};

// Throws thaw::Error (kInvalidArgument) for an unknown code, size name or target.
THAW_API CheckReport check(const Model& model, const CheckOptions& options = {});

// {"model", "findings": […], "counts": {"errors", "warnings", "notes"}}, as `thaw check --format json`; a SARIF 2.1.0
// log for code-scanning tools. `model` is the path to name in it.
THAW_API std::string findings_json(const std::string& model, const std::vector<Finding>& findings);
THAW_API std::string findings_sarif(const std::string& model, const std::vector<Finding>& findings);

}  // namespace thaw
