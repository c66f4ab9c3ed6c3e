// The rewrites that are safe without a reference, and those that a reference confirms.
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
#include "thaw/report.h"
#include "thaw/verify.h"

namespace thaw {

struct FixOptions {
  bool sizes = true;         // rewrite frozen sizes
  bool chains = true;        // shorten shape chains
  bool declarations = true;  // mend declared names and shapes
  bool types = true;         // mend types that do not fit: by one Cast's `to` or one constant's type, else by Casts
  // The result is run beside the model: at its own sizes, and at others where there are free ones (docs/cli.md).
  bool check = true;
  FeedOptions feeds = {};  // for the check; the rest is drawn
};

struct FixReport {
  std::string model = {};  // the path that it was loaded from
  Files files = {};        // that were written
  AsWritten as_written = {};
  std::vector<Change> changed = {};
  // What a rule finds and no rewrite answers; with every error that `check` finds in the result, which is written all the same
  // where it is accepted: it is no worse than the model was.
  std::vector<Change> left = {};
  std::vector<RunCheck> checks = {};         // by sizes; empty where it was not checked
  std::vector<std::string> uncompared = {};  // what was not compared with the original, and why
  int default_weights = 0;                   // weights that are inputs too, which were taken as constants
  bool modified() const { return !changed.empty(); }
  // No run contradicts the result. A model that does not run itself is no reference: what is mended of it is accepted
  // without one, and `uncompared` says so.
  THAW_API bool accepted() const;
  // An error of `check` is left in the result: `thaw fix` then exits with 1, as where it is not accepted.
  THAW_API bool left_errors() const;
};

// Changes the model in place, and writes it where something was changed. A model that needs nothing is left as it is, byte for
// byte, and so is one whose result is not accepted. Declared names that are true stay.
THAW_API FixReport fix(Model& model, const FixOptions& options = {}, const Output& output = {});

THAW_API std::string to_json(const FixReport& report);
THAW_API std::string to_text(const FixReport& report, const TextOptions& how = {});
THAW_API std::string to_html(const FixReport& report);

// An input that is not in the traces: the exporter took it out or wrote its values into the graph.
struct AddedInput {
  std::string name;
  DataType type = DataType::kInt64;
  std::vector<int64_t> dims;
};

struct FixReferenceOptions {
  std::map<std::string, std::vector<int64_t>> at;  // the sizes of the export: values of an input or dims, by name
  std::vector<std::string> cases;                  // of the reference; empty: all
  std::vector<AddedInput> added;
  Tolerance tolerance;
  int most_tries = 200;  // choices that are run
  FixOptions fix;        // what is done besides, without a reference
};

// How the thawed model did in one case of the reference.
struct ReferenceCase {
  std::string name;   // empty where the file has one without a name
  std::string sizes;  // "num_patches=364, grid_thw[1]=14"
  bool agrees = false;
  double max_abs = 0;
  std::string reason;  // why it does not agree
};

struct FixReferenceReport {
  std::string model = {};  // the path that it was loaded from
  Files files = {};        // that were written
  AsWritten as_written = {};
  bool all_agree = false;                  // all cases do
  std::vector<Note> sizes, changed, left;  // of constants: what each stands for, or why it is left
  std::vector<ReferenceCase> cases;        // of the result; where nothing is confirmed, of the most likely choice
  std::vector<std::string> notes;          // cases left out, arrays not used, limits reached
  int tries = 0;                           // choices that were run
  bool modified() const { return !changed.empty(); }
  bool accepted() const { return all_agree && !as_written.is_refused(); }
};

// One static trace and a reference: which of the trace's integers are sizes, found by proposing and confirmed by running
// at the reference's sizes. `reference` is an .npz file (thaw/verify.h) of what the true model was fed and gave at other
// sizes. Changes the model, and writes it, where the result is accepted; else leaves it as it is.
THAW_API FixReferenceReport fix_with_reference(Model& model, const std::filesystem::path& reference,
                                               const FixReferenceOptions& options = {}, const Output& output = {});

THAW_API std::string to_json(const FixReferenceReport& report);
THAW_API std::string to_text(const FixReferenceReport& report, const TextOptions& how = {});
THAW_API std::string to_html(const FixReferenceReport& report);

}  // namespace thaw
