// What is wrong with a model's sizes, types and declarations, where it comes from and what mends it.
//
//   thaw::CheckReport report = thaw::check(model, {.dims = "batch=1..32,height=64..1024:32"});
//   for (const thaw::Finding& finding : report.findings) …
//
// docs/rules.md has a page of each rule. No weights are read, and the model is not changed.
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

namespace thaw {

// Rules by their codes, or by what those begin with ("THAW03"). Where both name a rule the longer one counts, and of equals
// `ignore`.
struct RuleChoice {
  std::vector<std::string> only;    // the rules to go by; empty: all
  std::vector<std::string> ignore;  // to leave out
};

struct CheckOptions {
  // Codes, or what they begin with ("THAW03"). Where both name a rule the longer one counts, and of equals `ignore`.
  std::vector<std::string> only;    // of the rules to go by; empty: all
  std::vector<std::string> ignore;  // to leave out
  // Sizes to prove the model over, as in `thaw check --sizes`: "n=1..8,h=64..1024:32", names as `thaw inspect` prints
  // them, "<input>_dim<axis>" also for a dim that is declared as a number. Empty: no proof is asked for.
  std::string dims = {};
  // What the model is to run on: "ort", "directml", … (docs/targets.md). Empty: the rules of targets have nothing to
  // say.
  std::string target = {};
  // With dims: the model is run at the sizes that the proof says break it, and what came of it is said.
  bool run = false;
  FeedOptions feeds = {};  // for those runs
  bool modules = false;    // the nodes are summed up by module, for to_html()
  // Of the rules above those whose findings count; what the others find goes to CheckReport::turned_off.
  RuleChoice counting = {};
};

struct RuleInfo {
  std::string_view code, title;
  Severity severity;
  std::string_view page;  // what docs/rules.md says of it, as Markdown, without its heading
};

// All rules, by code.
THAW_API std::vector<RuleInfo> rules();

// What a proof over sizes covered: statements that nodes make about sizes, and about numbers that name places or sizes.
struct SizeProof {
  size_t statements = 0, proven = 0, broken = 0, open = 0;
  size_t open_numbers =
      0;  // of the open ones, those about numbers that the graph makes: an index, a divisor; the others are about sizes
  size_t conditions = 0;  // on what an input holds, token ids below the rows of their table: true or not by what is fed
  // What the model states of its inputs (docs/metadata.md), which the proof takes as true: "num_patches=h*w".
  std::vector<std::string> assumed = {};
};

// Nodes whose names begin alike, by slashes or dots.
struct ModuleSummary {
  std::string name;
  size_t nodes = 0;
  std::string comes_out;  // its last output and the sizes of that, in what `thaw inspect` prints
  size_t marked = 0;      // nodes with findings
  std::vector<std::string> findings;
};

struct CheckReport {
  std::string model;                     // the path that it was loaded from
  std::vector<Finding> findings;         // by rule, and then in the order of the nodes
  std::vector<Finding> turned_off = {};  // by CheckOptions::counting: they count for nothing
  bool is_proven = false;                // sizes were given: `proof` says what of them was shown
  SizeProof proof;
  std::vector<ModuleSummary> modules;  // in the order in which they first run, the first thousand
  size_t more_modules = 0;             // those that are left out
  int default_weights = 0;             // weights that are inputs too, which were taken as constants

  // No error and no warning; notes alone do not count.
  THAW_API bool accepted() const;
};

// Throws thaw::Error (kInvalidArgument) for an unknown code, size name or target.
THAW_API CheckReport check(const Model& model, const CheckOptions& options = {});

THAW_API std::string to_json(const CheckReport& report);
THAW_API std::string to_text(const CheckReport& report, const TextOptions& how = {});
THAW_API std::string to_html(const CheckReport& report);
// A SARIF 2.1.0 log, for code-scanning tools; and lines that GitHub's actions show beside a change (`::error file=…`).
THAW_API std::string to_sarif(const CheckReport& report);
THAW_API std::string to_github(const CheckReport& report);

// What a file of settings asked for: every report tells it, so that nothing is turned off without a word.
struct CheckSettings {
  std::string file;                          // empty: none
  std::vector<std::string> obeyed = {};      // as they stand there: ignore = ["THAW004"]
  std::vector<std::string> not_obeyed = {};  // a clause each: what is not, why, and what to do
};

// One of several models, and what came of it.
struct CheckedFile {
  CheckReport report;               // of one that could not be checked: its path alone
  std::optional<Error> error = {};  // why it could not
  bool is_accepted_anyway = false;  // whoever called does not mind findings
  CheckSettings settings = {};      // of the call: the same for each of several

  bool accepted() const { return !error && (is_accepted_anyway || report.accepted()); }
};

// The same of several at once.
THAW_API std::string to_json(std::span<const CheckedFile> files);
THAW_API std::string to_text(std::span<const CheckedFile> files, const TextOptions& how = {});
THAW_API std::string to_html(std::span<const CheckedFile> files);
THAW_API std::string to_sarif(std::span<const CheckedFile> files);
THAW_API std::string to_github(std::span<const CheckedFile> files);

// The rules as JSON, and as a table; one rule as JSON, and as a page of text.
THAW_API std::string to_json(std::span<const RuleInfo> rules);
THAW_API std::string to_text(std::span<const RuleInfo> rules, const TextOptions& how = {});
THAW_API std::string to_json(const RuleInfo& rule);
THAW_API std::string to_text(const RuleInfo& rule, const TextOptions& how = {});

}  // namespace thaw
