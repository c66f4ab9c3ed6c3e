// Finds errors in a model's sizes, types and declarations, their cause, and the fix.
//
//   thaw::CheckReport report = thaw::check(model, {.sizes = "batch=1..32,height=64..1024:32"});
//   for (const thaw::Finding& finding : report.findings) …
//
// docs/rules.md describes each rule. No weights are read, and the model is not changed.
#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "thaw/error.h"
#include "thaw/export.h"
#include "thaw/finding.h"
#include "thaw/model.h"
#include "thaw/report.h"
#include "thaw/run.h"
#include "thaw/targets.h"

namespace thaw {

// Rules by code ("THAW003") or by prefix of codes ("THAW03"). Where both lists match a rule the longer entry wins; of equals
// `ignore`.
struct RuleChoice {
  std::vector<std::string> only;    // rules that apply; empty: all
  std::vector<std::string> ignore;  // rules that do not
};

struct CheckOptions {
  // As in RuleChoice.
  std::vector<std::string> only;    // rules that apply; empty: all
  std::vector<std::string> ignore;  // rules that do not
  // Ranges of sizes to prove the model over: "n=1..8,h=64..1024:32" (docs/dims.md). Names are those that `thaw inspect` prints,
  // or "<input>_dim<axis>". Empty: no proof.
  std::string sizes = {};
  // The target: "ort", "directml", … (docs/targets.md). Empty: the rules of targets do not apply. "all": how far each supports the
  // model, and no findings of theirs.
  std::string target = {};
  // With sizes: the best size in each range, for profiles of the inputs. Empty: no profiles.
  NamedSizes opt = {};
  // With sizes: runs the model at the sizes that the proof finds to fail, and adds the outcome to the finding.
  bool run = false;
  FeedOptions feeds = {};  // for those runs
  bool modules = false;    // summarize nodes by module, for to_html()
  // Rules whose findings count; findings of the others go to CheckReport::suppressed.
  RuleChoice counting = {};
};

struct RuleInfo {
  std::string_view code, title;
  Severity severity;
  std::string_view page;  // its section of docs/rules.md, as Markdown, without the heading
};

// All rules, sorted by code.
THAW_API std::vector<RuleInfo> rules();

// The result of a proof over sizes: counts of proof obligations, the conditions on sizes and indices that nodes must satisfy.
struct SizeProof {
  size_t obligations = 0, proven = 0, refuted = 0, unknown = 0;
  size_t unknown_values = 0;    // of `unknown`: about values that the graph computes, such as an index or a divisor
  size_t input_conditions = 0;  // about elements of inputs, such as token ids below the rows of a table
  // Relations that the model's metadata states (docs/metadata.md), taken as true: "num_patches=h*w".
  std::vector<std::string> assumptions = {};
};

// Nodes of one module, by the prefix of their names up to a slash or dot.
struct ModuleSummary {
  std::string name;
  size_t nodes = 0;
  std::string output;  // its last output with dims, as `thaw inspect` prints it
  size_t nodes_with_findings = 0;
  std::vector<std::string> findings;
};

struct CheckReport {
  std::string model;                     // the path that it was loaded from
  std::vector<Finding> findings;         // by rule, then in node order
  std::vector<Finding> suppressed = {};  // of rules that CheckOptions::counting excludes
  bool is_proven = false;                // ranges were given, and `proof` is set
  SizeProof proof;
  std::vector<ModuleSummary> modules;  // in execution order, the first 1000
  size_t more_modules = 0;             // the others
  int overridable_initializers = 0;    // initializers that are inputs too, taken as constants
  // Of the target that was named, or of all; empty where none was.
  std::vector<TargetSupport> targets = {};
  std::vector<ShapeProfile> profiles = {};  // with CheckOptions::opt, of each input that has free sizes

  // There is no error and no warning.
  THAW_API bool accepted() const;
};

// Throws thaw::Error (kInvalidArgument) for an unknown code, size or target.
THAW_API CheckReport check(const Model& model, const CheckOptions& options = {});

THAW_API std::string to_json(const CheckReport& report);
THAW_API std::string to_text(const CheckReport& report, const TextOptions& how = {});
THAW_API std::string to_html(const CheckReport& report);
// A SARIF 2.1.0 log; GitHub Actions annotations (`::error file=…`); and a GitLab Code Quality report.
THAW_API std::string to_sarif(const CheckReport& report);
THAW_API std::string to_github(const CheckReport& report);
THAW_API std::string to_gitlab(const CheckReport& report);

// Settings from a file. Every report states them, so that no finding is suppressed silently.
struct CheckSettings {
  std::string file;                       // empty: none
  std::vector<std::string> applied = {};  // as written there: ignore = ["THAW004"]
  std::vector<std::string> ignored = {};  // a clause each: the setting, why, and what to do
};

// The result for one of several models.
struct CheckedFile {
  CheckReport report;               // only `model` is set where there is an error
  std::optional<Error> error = {};  // why it could not be checked
  bool is_accepted_anyway = false;  // as `--exit-zero` has it
  CheckSettings settings = {};      // the same for all files of a call

  bool accepted() const { return !error && (is_accepted_anyway || report.accepted()); }
};

// Reports for several models.
THAW_API std::string to_json(std::span<const CheckedFile> files);
THAW_API std::string to_text(std::span<const CheckedFile> files, const TextOptions& how = {});
THAW_API std::string to_html(std::span<const CheckedFile> files);
THAW_API std::string to_sarif(std::span<const CheckedFile> files);
THAW_API std::string to_github(std::span<const CheckedFile> files);
THAW_API std::string to_gitlab(std::span<const CheckedFile> files);

// The rules as JSON, and as a table; one rule as JSON, and as a page of text.
THAW_API std::string to_json(std::span<const RuleInfo> rules);
THAW_API std::string to_text(std::span<const RuleInfo> rules, const TextOptions& how = {});
THAW_API std::string to_json(const RuleInfo& rule);
THAW_API std::string to_text(const RuleInfo& rule, const TextOptions& how = {});

}  // namespace thaw
