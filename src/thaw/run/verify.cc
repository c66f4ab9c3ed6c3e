#include "thaw/run/verify.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <set>

#include "thaw/core/error.h"
#include "thaw/run/cases.h"

namespace thaw::run {
namespace {

constexpr size_t kDefaultPoints = 3;
constexpr size_t kRounds = 5;                            // sizes tried at one scale
constexpr uint64_t kMaxChosenBytes = uint64_t{1} << 26;  // of the inputs at sizes that nobody asked for

class Timer {
 public:
  double seconds() const { return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count(); }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

std::string join(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "'" : ", '") + name + "'";
  return text.empty() ? "none" : text;
}

void add_once(std::vector<std::string>& texts, std::string text) {
  if (std::find(texts.begin(), texts.end(), text) == texts.end()) texts.push_back(std::move(text));
}

class Verifier {
 public:
  Verifier(const VerifyOptions& options, const std::vector<InputSpec>& inputs, const dim::Scope& scope)
      : options_(options), inputs_(inputs), scope_(scope), session_(options.model, options.how.session) {
    for (const InputSpec& input : inputs) input_names_.push_back(input.name);
    for (const std::string& name : options.outputs) {
      if (session_.find_output(name) == nullptr) {
        throw Error({.what = "has no output '" + name + "'",
                     .where = options.model.string(),
                     .expected = "one of " + join(model_outputs())});
      }
    }
  }

  VerifyReport run() {
    if (options_.reference.extension() == ".npz") {
      run_against_file();
    } else {
      run_against_model();
    }
    for (std::string& warning : session_.take_warnings()) add_once(report_.warnings, std::move(warning));
    return std::move(report_);
  }

 private:
  std::vector<std::string> model_outputs() const {
    std::vector<std::string> names;
    for (const Port& port : session_.outputs()) names.push_back(port.name);
    return names;
  }

  void show_progress(size_t done, size_t total) const {
    if (options_.progress) options_.progress(done, total);
  }

  // ---- against a model

  void run_against_model() {
    reference_.emplace(options_.reference, inputs_, options_.how);
    choose_outputs([&](const std::string& name) { return reference_->has_output(name); }, reference_->output_names());
    std::vector<CaseFile> files;
    std::vector<std::string> cases;
    open_inputs(files, cases);
    if (!cases.empty()) {
      if (!options_.sweep.empty()) {
        throw Error({.what = "both a sweep and inputs of several cases are given",
                     .where = options_.input_files.front().string(),
                     .expected = "one of the two"});
      }
      for (size_t i = 0; i < cases.size(); ++i) {
        show_progress(i, cases.size());
        PointResult result = run_case(cases[i], files);
        report_.points.push_back(std::move(result));
      }
    } else {
      FeedOptions feeds = options_.feeds;
      for (CaseFile& file : files) add_arrays(feeds, file.read("", input_names_));
      const Feeder feeder(inputs_, scope_, std::move(feeds));
      if (options_.sweep.empty()) {
        run_default_points(feeder);
      } else {
        run_sweep(feeder);
      }
    }
    for (const std::string& note : reference_->notes()) add_once(report_.notes, note);
  }

  void run_sweep(const Feeder& feeder) {
    const std::vector<Point> points = choose_points(options_.sweep, options_.points);
    for (size_t i = 0; i < points.size(); ++i) {
      show_progress(i, points.size());
      const std::vector<FreeSymbol> free = feeder.free_symbols(points[i]);
      if (free.empty()) {
        report_.points.push_back(run_point(feeder, points[i]));
      } else {
        report_.points.push_back(run_with_defaults(feeder, points[i], free, i));
      }
    }
    show_progress(points.size(), points.size());
  }

  // A point that leaves symbols free: the first scale at which the reference runs. What it cannot run says nothing.
  PointResult run_with_defaults(const Feeder& feeder, const Point& point, const std::vector<FreeSymbol>& free,
                                size_t round) {
    std::optional<PointResult> first;
    const std::span<const Scale> scales = default_scales();
    for (size_t i = 0; i < scales.size(); ++i) {
      const size_t at = (scale_ + i) % scales.size();
      Point whole = point;
      add_default_sizes(whole, free, round, scales[at]);
      if (first && feeder.drawn_bytes(whole) > kMaxChosenBytes) continue;
      PointResult result = run_point(feeder, whole);
      if (result.status != Status::kReferenceFails) {
        scale_ = at;
        return result;
      }
      if (!first) first = std::move(result);
    }
    return *first;
  }

  void run_default_points(const Feeder& feeder) {
    const std::vector<FreeSymbol> free = feeder.free_symbols({});
    if (free.empty()) {
      report_.points.push_back(run_point(feeder, {}));
      return;
    }
    std::string failure;
    for (const Scale& scale : default_scales()) {
      for (size_t round = 0; round < kRounds && report_.points.size() < kDefaultPoints; ++round) {
        Point point;
        add_default_sizes(point, free, round, scale);
        if (feeder.drawn_bytes(point) > kMaxChosenBytes) continue;
        show_progress(report_.points.size(), kDefaultPoints);
        PointResult result = run_point(feeder, point);
        if (result.status != Status::kReferenceFails) {
          report_.points.push_back(std::move(result));
        } else {
          failure = describe(point) + ": " + result.message;
          if (round == 1 && report_.points.empty()) break;  // two sizes of this scale failed
        }
      }
      if (report_.points.size() == kDefaultPoints) return;
    }
    if (report_.points.empty()) {
      throw Error({.what = "no size was found at which the reference runs; the last was " + failure,
                   .where = options_.reference.string(),
                   .expected = "sizes that the reference takes",
                   .next = "give some with --sweep, and values such as --values 'grid_thw=1,8,12'"});
    }
  }

  // ---- against a file

  void run_against_file() {
    if (options_.how.per_sample || !options_.sweep.empty()) {
      throw Error({.what = "a reference file has its own sizes",
                   .where = options_.reference.string(),
                   .expected = "neither --sweep nor --per-sample"});
    }
    std::vector<std::string> outputs;
    std::vector<std::string> names;  // as they stand in the file
    for (const std::string& name : model_outputs()) names.push_back(name_in_file(name));
    for (const std::string& name : input_names_) names.push_back(name_in_file(name));
    CaseFile reference(options_.reference, names);
    std::set<std::string> present;
    CaseNames with_outputs;
    for (const auto& [case_name, arrays] : reference.grouped().cases) {
      for (const std::string& name : model_outputs()) {
        if (!arrays.contains(name_in_file(name))) continue;
        present.insert(name);
        with_outputs[case_name] = arrays;
      }
    }
    choose_outputs([&](const std::string& name) { return present.contains(name); }, reference_arrays(reference));
    if (!reference.grouped().unused.empty()) {
      add_once(report_.notes, "arrays of the reference that are no input or output of the model were not used: " +
                                  join(reference.grouped().unused));
    }
    std::vector<CaseFile> files;
    std::vector<std::string> input_cases;
    open_inputs(files, input_cases);
    std::vector<std::string> cases = case_order(with_outputs);
    if (cases.empty()) cases.emplace_back();
    for (size_t i = 0; i < cases.size(); ++i) {
      show_progress(i, cases.size());
      report_.points.push_back(run_file_case(cases[i], reference, files));
    }
    show_progress(cases.size(), cases.size());
  }

  const std::string& name_in_file(const std::string& name) const {
    const auto mapped = options_.how.names.find(name);
    return mapped == options_.how.names.end() ? name : mapped->second;
  }

  static std::vector<std::string> reference_arrays(const CaseFile& reference) {
    std::vector<std::string> names;
    for (const auto& [case_name, arrays] : reference.grouped().cases) {
      for (const auto& [name, array] : arrays) names.push_back(array);
    }
    for (const std::string& name : reference.grouped().unused) names.push_back(name);
    return names;
  }

  PointResult run_file_case(const std::string& case_name, CaseFile& reference, std::vector<CaseFile>& files) {
    FeedOptions feeds = options_.feeds;
    for (CaseFile& file : files) add_arrays(feeds, file.read(case_name, input_names_));
    std::vector<std::string> names;
    for (const std::string& name : input_names_) names.push_back(name_in_file(name));
    const Arrays given = reference.read(case_name, names);
    for (const std::string& name : input_names_) {
      if (const auto found = given.find(name_in_file(name)); found != given.end()) {
        feeds.arrays.insert_or_assign(name, found->second);
      }
    }
    for (const InputSpec& input : inputs_) {
      const bool fed = feeds.arrays.contains(input.name) || feeds.values.contains(input.name) || input.has_default;
      if (fed) continue;
      throw Error({.what = "has no array for the input '" + input.name + "'" +
                           (case_name.empty() ? "" : " in case " + case_name),
                   .where = options_.reference.string(),
                   .expected = "'" + input.name + "', '" + input.name + "_<i>' or '<case>/" + input.name + "'",
                   .next = "give it with --input"});
    }
    const Feeder feeder(inputs_, scope_, std::move(feeds));
    const Arrays fed = make_feeds(feeder, {});
    PointResult result;
    result.case_name = case_name;
    Arrays actual;
    if (!run_model(fed, result, actual)) return result;
    std::vector<std::string> output_names;
    for (const std::string& name : outputs_) output_names.push_back(name_in_file(name));
    Arrays stored = reference.read(case_name, output_names);
    Arrays expected;
    for (const std::string& name : outputs_) {
      if (auto found = stored.find(name_in_file(name)); found != stored.end())
        expected.emplace(name, std::move(found->second));
    }
    compare_outputs(actual, expected, /*all=*/false, result);
    return result;
  }

  // ---- both

  void choose_outputs(const std::function<bool(const std::string&)>& in_reference,
                      const std::vector<std::string>& theirs) {
    std::vector<std::string> missing;
    for (const std::string& name : options_.outputs.empty() ? model_outputs() : options_.outputs) {
      (in_reference(name) ? outputs_ : missing).push_back(name);
    }
    if (outputs_.empty() || (!options_.outputs.empty() && !missing.empty())) {
      throw Error({.what = "has none of the outputs " + join(missing),
                   .where = options_.reference.string(),
                   .expected = "the model's names; it has " + join(theirs),
                   .next = "say which is which with --map MODEL_NAME=REFERENCE_NAME"});
    }
    if (!missing.empty())
      add_once(report_.notes, "outputs that the reference lacks were not compared: " + join(missing));
  }

  void open_inputs(std::vector<CaseFile>& files, std::vector<std::string>& cases) const {
    CaseNames all;
    for (const std::filesystem::path& path : options_.input_files) {
      const CaseFile& file = files.emplace_back(path, input_names_);
      if (file.grouped().cases.empty()) {
        throw Error({.what = "has no array that is an input of the model",
                     .where = path.string(),
                     .expected = "arrays called " + join(input_names_)});
      }
      all.insert(file.grouped().cases.begin(), file.grouped().cases.end());
    }
    cases = case_order(all);
  }

  static void add_arrays(FeedOptions& feeds, Arrays arrays) {
    for (auto& [name, array] : arrays) feeds.arrays.insert_or_assign(name, std::move(array));
  }

  PointResult run_case(const std::string& case_name, std::vector<CaseFile>& files) {
    FeedOptions feeds = options_.feeds;
    for (CaseFile& file : files) add_arrays(feeds, file.read(case_name, input_names_));
    const Feeder feeder(inputs_, scope_, std::move(feeds));
    const std::vector<FreeSymbol> free = feeder.free_symbols({});
    PointResult result = free.empty() ? run_point(feeder, {}) : run_with_defaults(feeder, {}, free, 0);
    result.case_name = case_name;
    return result;
  }

  PointResult run_point(const Feeder& feeder, const Point& point) {
    PointResult result;
    result.point = point;
    const Arrays feeds = make_feeds(feeder, point);
    // With default sizes the reference decides whether a size counts, so it goes first where it can.
    Arrays actual, expected;
    if (!options_.how.per_sample && !run_reference(feeds, {}, result, expected)) return result;
    if (!run_model(feeds, result, actual)) {
      // Where the reference fails too, the size says nothing of the model.
      if (options_.how.per_sample) run_reference(feeds, {}, result, expected);
      return result;
    }
    if (options_.how.per_sample && !run_reference(feeds, actual, result, expected)) return result;
    compare_outputs(actual, expected, /*all=*/true, result);
    return result;
  }

  bool run_reference(const Arrays& feeds, const Arrays& actual, PointResult& result, Arrays& expected) {
    const Timer timer;
    try {
      expected = reference_->run(feeds, outputs_, actual);
    } catch (const Error& error) {
      result.status = Status::kReferenceFails;
      result.message = error.what();
      note_inputs(feeds, result);
      return false;
    }
    result.reference_seconds = timer.seconds();
    return true;
  }

  static void note_inputs(const Arrays& feeds, PointResult& result) {
    result.inputs.clear();
    for (const auto& [name, array] : feeds) result.inputs.emplace_back(name, describe(array));
  }

  // Feeds in the types that the model takes. What the user gave in another type is an error of the call, not of a size.
  Arrays make_feeds(const Feeder& feeder, const Point& point) const {
    Arrays feeds = feeder.make(point);
    for (auto& [name, array] : feeds) {
      const Port* port = session_.find_input(name);
      if (port == nullptr || port->dtype == array.dtype) continue;
      if (!options_.how.cast) {
        throw Error({.what = "input '" + name + "' is given " + describe(array),
                     .where = options_.model.string(),
                     .expected = std::string(ir::name_of(port->dtype)),
                     .next = "pass --cast to convert it"});
      }
      array = cast(array, port->dtype);
    }
    if (options_.how.cast && reference_) reference_->equalize(feeds);
    return feeds;
  }

  bool run_model(const Arrays& feeds, PointResult& result, Arrays& actual) {
    note_inputs(feeds, result);
    const Timer timer;
    try {
      actual = session_.run(feeds, outputs_);
    } catch (const Error& error) {
      result.status = Status::kModelFails;
      result.message = error.what();
      return false;
    }
    result.model_seconds = timer.seconds();
    return true;
  }

  // `all`: what the reference lacks is a failure, not left out.
  void compare_outputs(const Arrays& actual, const Arrays& expected, bool all, PointResult& result) {
    std::set<std::string> keys;
    for (const auto& [key, array] : expected) keys.insert(key);
    if (all) {
      for (const auto& [key, array] : actual) keys.insert(key);
    }
    const auto rank_of = [&](const std::string& key) {
      const auto at = std::find_if(outputs_.begin(), outputs_.end(),
                                   [&](const std::string& name) { return key == name || key.starts_with(name + "["); });
      return at - outputs_.begin();
    };
    std::vector<std::string> ordered(keys.begin(), keys.end());
    std::ranges::stable_sort(ordered, {}, rank_of);
    for (const std::string& key : ordered) {
      OutputResult output;
      output.name = key;
      const auto ours = actual.find(key), theirs = expected.find(key);
      if (ours != actual.end()) output.actual = describe(ours->second);
      if (theirs != expected.end()) output.expected = describe(theirs->second);
      if (ours == actual.end() || theirs == expected.end()) {
        output.comparison.reason = ours == actual.end() ? "the model did not give it" : "the reference did not give it";
      } else {
        output.comparison = compare(ours->second, theirs->second, options_.tolerance, options_.how.cast);
      }
      if (!output.comparison.passed) result.status = Status::kDiffers;
      result.outputs.push_back(std::move(output));
    }
    if (result.outputs.empty()) {
      result.status = Status::kReferenceFails;
      result.message = "the reference has no output for this case";
    }
  }

  const VerifyOptions& options_;
  const std::vector<InputSpec>& inputs_;
  const dim::Scope& scope_;
  Session session_;
  std::optional<Reference> reference_;
  std::vector<std::string> input_names_, outputs_;
  size_t scale_ = 0;
  VerifyReport report_;
};

}  // namespace

bool VerifyReport::passed() const {
  return !points.empty() && std::all_of(points.begin(), points.end(),
                                        [](const PointResult& point) { return point.status == Status::kAgrees; });
}

VerifyReport verify(const VerifyOptions& options, const std::vector<InputSpec>& inputs, const dim::Scope& scope) {
  return Verifier(options, inputs, scope).run();
}

}  // namespace thaw::run
