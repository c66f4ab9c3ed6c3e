// Verification at work. Internal to run/: the caller's side is verify.h.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "thaw/run/array.h"
#include "thaw/run/cases.h"
#include "thaw/run/verify.h"

namespace thaw::run {

class Timer {
 public:
  double seconds() const { return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count(); }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

// Positions of outputs that are padding: what a model gives there says nothing. Of a mask [batch, length] of ones and zeros:
// where it is not 0.
class Padding {
 public:
  // Throws thaw::Error for an array of another rank or of strings.
  explicit Padding(const Array& mask);

  // Whether an array begins with these two axes.
  bool covers(const Array& array) const;
  // Its rows that are no padding: [kept, …] of [batch, length, …].
  Array without(const Array& array) const;
  // An index into that, as one into the array.
  std::vector<int64_t> index_of(std::vector<int64_t> index) const;

 private:
  int64_t batch_, length_;
  std::vector<int64_t> kept_;  // batch * length + position
};

class Verifier {
 public:
  Verifier(const VerifyOptions& options, const VerifiedModel& model, const dim::Scope& scope);
  VerifyReport run();

 private:
  // Against a model (verify_model.cc).
  void run_against_model();
  void run_sweep(const Feeder& feeder);
  PointResult run_with_defaults(const Feeder& feeder, const Point& point, size_t round);
  void run_default_points(const Feeder& feeder);
  bool add_default_point(const Feeder& feeder, const Point& point);
  Point with_given_sizes(Point point) const;
  Point sizes_of_reference() const;
  PointResult run_case(const std::string& case_name, std::vector<CaseFile>& files);
  PointResult run_point(const Feeder& feeder, const Point& point);
  bool run_reference(const Arrays& feeds, const Arrays& actual, PointResult& result, Arrays& expected);

  // Against a file of inputs and outputs (verify_file.cc).
  void run_against_folder();
  void run_against_file(const std::filesystem::path& path, const std::string& label);
  const std::string& name_in_file(const std::string& name) const;
  static std::vector<std::string> reference_arrays(const CaseFile& reference);
  PointResult run_file_case(const std::string& case_name, CaseFile& reference, std::vector<CaseFile>& files);

  // Both.
  CaseFile::ChecksByName input_checks(const std::string& where) const;
  std::vector<std::string> model_outputs() const;
  void show_progress(size_t done, size_t total) const;
  void choose_outputs(const std::function<bool(const std::string&)>& in_reference,
                      const std::vector<std::string>& theirs);
  void open_inputs(std::vector<CaseFile>& files, std::vector<std::string>& cases) const;
  static void add_arrays(FeedOptions& feeds, Arrays arrays);
  Arrays make_feeds(const Feeder& feeder, const Point& point);
  bool run_model(const Arrays& feeds, PointResult& result, Arrays& actual);
  static void note_inputs(const Arrays& feeds, PointResult& result);
  Comparison compare_unmasked(const Array& actual, const Array& expected) const;
  void compare_outputs(const Arrays& actual, const Arrays& expected, bool all, PointResult& result);
  static std::string quoted_list(const std::vector<std::string>& names);  // "'a', 'b'"; "none"
  static void add_once(std::vector<std::string>& texts, std::string text);

  const VerifyOptions& options_;
  const VerifiedModel& model_;
  const std::vector<InputSpec>& inputs_;
  const dim::Scope& scope_;
  const SizeConditions conditions_;
  std::vector<dim::SpecGroup> sweep_;  // empty: sizes are chosen
  Session session_;
  std::optional<Reference> reference_;  // a model
  std::vector<std::string> input_names_, outputs_;
  std::optional<Padding> padding_;     // of what was fed last
  bool timed_out_ = false;             // at some size: no other is looked for
  size_t scale_ = 0;                   // where the last default sizes ran
  std::optional<PointResult> hollow_;  // one at which no output has elements, where no other was found
  std::string failure_;                // the last size that the reference does not run at, and why
  VerifyReport report_;

  struct Differing {
    Arrays feeds;
    PointResult point;
  };
  std::optional<Differing> differing_;  // the first point, where somebody asks
  void keep_differing(const Arrays& feeds, const PointResult& result);
  void find_first_differences();
};

}  // namespace thaw::run
