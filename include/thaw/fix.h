// Makes static exports dynamic: rewrites that are safe without a reference, and rewrites that a reference confirms.
//
//   thaw::FixReport report = thaw::fix(model);
//   if (report.modified() && report.accepted()) model.save("fixed.onnx");
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "thaw/array.h"
#include "thaw/export.h"
#include "thaw/finding.h"
#include "thaw/model.h"
#include "thaw/proof.h"
#include "thaw/report.h"
#include "thaw/verify.h"

namespace thaw {

struct FixOptions {
  bool sizes = true;         // rewrite frozen sizes
  bool chains = true;        // simplify shape computations
  bool declarations = true;  // fix declared names and shapes
  bool types = true;         // fix type mismatches: by `to` of a Cast or the type of a constant, else by new Casts
  // Compare the result with the original: at its own sizes, and at others where it has dynamic ones (docs/guide/fix.md).
  bool check = true;
  FeedOptions feeds = {};  // inputs for the check; the rest is random
};

struct FixReport {
  std::string model = {};  // path of the original
  Files files = {};        // files that were written
  LoadCheck load_check = {};
  std::vector<Change> changed = {};
  // What was found and not changed, and every error that `check` finds in the result. An accepted result is written with these, as it
  // is no worse than the original.
  std::vector<Change> remaining = {};
  std::vector<RunCheck> checks = {};           // one for each choice of sizes
  std::vector<std::string> not_compared = {};  // what could not be compared, and why
  Proof proof = {};                            // of a result whose checks agree
  int overridable_initializers = 0;            // initializers that are inputs too, taken as constants
  bool modified() const { return !changed.empty(); }
  // No check differs. An original that does not run is no reference: its fixes are accepted without one, and `not_compared` says so.
  THAW_API bool accepted() const;
  // `check` finds an error in the result. `thaw fix` then exits with 1.
  THAW_API bool has_remaining_errors() const;
};

// Changes the model in place, and writes it where something was changed and the result is accepted. Else the model stays unchanged,
// byte for byte. Declared names that are right stay.
THAW_API FixReport fix(Model& model, const FixOptions& options = {}, const Output& output = {});

THAW_API std::string to_json(const FixReport& report);
THAW_API std::string to_text(const FixReport& report, const TextOptions& how = {});
THAW_API std::string to_html(const FixReport& report);

// An input that is not in the traces, as the exporter removed it or wrote its values into the graph.
struct AddedInput {
  std::string name;
  DataType type = DataType::kInt64;
  std::vector<int64_t> dims;
};

struct FixReferenceOptions {
  std::map<std::string, std::vector<int64_t>> at;  // sizes of the export: elements of an input or dims, by name
  std::vector<std::string> cases;                  // of the reference, by name; empty: all
  std::vector<AddedInput> added;
  Tolerance tolerance;
  int most_tries = 200;  // candidates that are run at most
  FixOptions fix;        // other fixes
};

// The result in one case of the reference.
struct ReferenceCase {
  std::string name;   // empty for the only case of a file
  std::string sizes;  // "num_patches=364, grid_thw[1]=14"
  bool agrees = false;
  double max_abs_diff = 0;
  std::string reason;  // empty where it agrees
};

struct FixReferenceReport {
  std::string model = {};  // path of the original
  Files files = {};        // files that were written
  LoadCheck load_check = {};
  bool all_agree = false;                         // in all cases
  std::vector<Note> symbols, changed, remaining;  // symbols; constants that were replaced; constants that were not
  std::vector<ReferenceCase> cases;               // of the result, or of the likeliest candidate
  std::vector<std::string> notes;                 // cases that were skipped, arrays that were not used, limits
  int tries = 0;                                  // candidates that were run
  bool modified() const { return !changed.empty(); }
  bool accepted() const { return all_agree && !load_check.has_failed(); }
};

// Finds which integers of one static trace are sizes, and confirms them by running at the reference's sizes. `reference` is an .npz
// file (thaw/verify.h) of inputs and outputs of the true model at other sizes. Changes the model and writes it where the result is
// accepted; else the model stays unchanged.
THAW_API FixReferenceReport fix_with_reference(Model& model, const std::filesystem::path& reference,
                                               const FixReferenceOptions& options = {}, const Output& output = {});

THAW_API std::string to_json(const FixReferenceReport& report);
THAW_API std::string to_text(const FixReferenceReport& report, const TextOptions& how = {});
THAW_API std::string to_html(const FixReferenceReport& report);

}  // namespace thaw
