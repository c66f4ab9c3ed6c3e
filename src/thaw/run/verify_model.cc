// Against another model: at the sizes of a sweep, of stored inputs, or at some that the reference runs at.
#include <algorithm>

#include "thaw/core/error.h"
#include "thaw/ir/graph/model.h"
#include "thaw/run/chosen_sizes.h"
#include "thaw/run/verifier.h"

namespace thaw::run {
namespace {

constexpr size_t kDefaultPoints = 3;

bool has_elements(const PointResult& result) {
  return std::ranges::any_of(result.outputs, [](const OutputResult& output) { return output.comparison.elements > 0; });
}

}  // namespace

void Verifier::run_against_model() {
  reference_.emplace(*model_.reference, inputs_, options_.how, model_.open);
  choose_outputs([&](const std::string& name) { return reference_->has_output(name); }, reference_->output_names());
  std::vector<CaseFile> files;
  std::vector<std::string> cases;
  open_inputs(files, cases);
  if (!cases.empty()) {
    if (!sweep_.empty()) {
      throw Error(ErrorCode::kInvalidArgument, {.what = "both a sweep and inputs of several cases are given",
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
    for (CaseFile& file : files) add_arrays(feeds, file.read("", input_names_, input_checks(file.path())));
    const Feeder feeder(inputs_, scope_, std::move(feeds));
    if (sweep_.empty()) {
      run_default_points(feeder);
    } else {
      run_sweep(feeder);
    }
  }
  for (const std::string& note : reference_->notes()) add_once(report_.notes, note);
  find_first_differences();
}

void Verifier::run_sweep(const Feeder& feeder) {
  const std::vector<Point> points = choose_points(sweep_, options_.points);
  for (size_t i = 0; i < points.size(); ++i) {
    show_progress(i, points.size());
    report_.points.push_back(run_with_defaults(feeder, with_given_sizes(feeder.canonical(points[i])), i));
  }
  show_progress(points.size(), points.size());
}

// The sizes that hold everywhere, and those of a point.
Point Verifier::with_given_sizes(Point point) const {
  for (const auto& [name, size] : options_.sizes) {
    if (point.find(name) != nullptr) {
      throw Error(
          ErrorCode::kInvalidArgument,
          {.what = "'" + name + "' is both swept and given one size", .where = "sizes", .expected = "one of the two"});
    }
    point.sizes.emplace_back(name, size);
  }
  return point;
}

// A point that may leave symbols free: the first choice at which the reference runs. What it cannot run says nothing.
PointResult Verifier::run_with_defaults(const Feeder& feeder, const Point& point, size_t round) {
  ChosenSizes choice(feeder, scope_, conditions_, model_.cost, point, round);
  if (!choice.has_choice()) return run_point(feeder, choice.with({}).value_or(point));
  choice.begin_with(scale_);
  std::optional<PointResult> first;
  while (!timed_out_ || !first) {
    const auto whole = choice.next();
    if (!whole) break;
    PointResult result = run_point(feeder, *whole);
    const bool runs = result.status != VerifyStatus::kReferenceFails;
    choice.tell(runs);
    if (!runs && first) continue;
    first = std::move(result);
    if (!runs) continue;
    scale_ = choice.scale();
    break;
  }
  return first ? std::move(*first) : run_point(feeder, point);
}

// The sizes that the reference declares as numbers where the model has symbols: a model that was freed and the one that
// it was made of have those in common.
Point Verifier::sizes_of_reference() const {
  const std::unique_ptr<ir::Model> reference = model_.reference->read();
  Point point;
  for (const InputSpec& input : inputs_) {
    const ir::Value* declared = reference->graph->find(reference_->name_of(input.name));
    if (!input.dims || declared == nullptr || !declared->type.shape) continue;
    for (size_t axis = 0; axis < std::min(input.dims->size(), declared->type.shape->size()); ++axis) {
      const int id = scope_.symbol_id((*input.dims)[axis]);
      const std::optional<int64_t> size = (*declared->type.shape)[axis].value;
      if (id < 0 || size.value_or(-1) < 1) continue;
      const std::string& name = scope_.symbols()[static_cast<size_t>(id)].name;
      if (point.find(name) == nullptr) point.sizes.emplace_back(name, *size);
    }
  }
  return point;
}

// True where the reference runs there, and its outputs have elements.
bool Verifier::add_default_point(const Feeder& feeder, const Point& point) {
  show_progress(report_.points.size(), kDefaultPoints);
  PointResult result = run_point(feeder, point);
  if (result.status == VerifyStatus::kReferenceFails) {
    failure_ = describe(point) + ": " + result.message;
    return false;
  }
  const bool says_something = result.status != VerifyStatus::kAgrees || has_elements(result);
  if (says_something)
    report_.points.push_back(std::move(result));
  else if (!hollow_)
    hollow_ = std::move(result);
  return says_something;
}

void Verifier::run_default_points(const Feeder& feeder) {
  ChosenSizes choice(feeder, scope_, conditions_, model_.cost, with_given_sizes({}));
  if (!choice.has_choice()) {
    report_.points.push_back(run_point(feeder, choice.with({}).value_or(with_given_sizes({}))));
    return;
  }
  if (const Point own = options_.how.per_sample ? Point() : sizes_of_reference(); !own.sizes.empty())
    if (const auto point = choice.with(own)) add_default_point(feeder, *point);
  while (!timed_out_ && report_.points.size() < kDefaultPoints) {
    const auto point = choice.next();
    if (!point) break;
    const bool is_new = std::ranges::find(report_.points, point->sizes, &PointResult::sizes) == report_.points.end();
    if (is_new) choice.tell(add_default_point(feeder, *point));
  }
  if (report_.points.empty() && !timed_out_ && model_.frozen_sizes)
    if (const auto point = choice.with({model_.frozen_sizes()})) add_default_point(feeder, *point);
  if (report_.points.empty() && hollow_) {
    hollow_->status = VerifyStatus::kReferenceFails;
    hollow_->message = "no output has elements at the sizes that were tried, so that nothing was compared";
    report_.points.push_back(std::move(*hollow_));
  }
  if (report_.points.empty() && failure_.empty()) failure_ = choice.too_large();
  if (report_.points.empty()) {
    throw Error(ErrorCode::kRuntimeFailed,
                {.what = "no size was found at which the reference runs; the last was " + failure_,
                 .where = options_.reference.string(),
                 .expected = "sizes that the reference takes",
                 .next = "give some with --sizes, and values such as --values 'grid_thw=1,8,12'"});
  }
}

PointResult Verifier::run_case(const std::string& case_name, std::vector<CaseFile>& files) {
  FeedOptions feeds = options_.feeds;
  for (CaseFile& file : files) add_arrays(feeds, file.read(case_name, input_names_, input_checks(file.path())));
  const Feeder feeder(inputs_, scope_, std::move(feeds));
  PointResult result = run_with_defaults(feeder, with_given_sizes({}), 0);
  result.case_name = case_name;
  if (differing_ && differing_->point.case_name.empty()) differing_->point.case_name = case_name;
  return result;
}

PointResult Verifier::run_point(const Feeder& feeder, const Point& point) {
  PointResult result;
  result.sizes = point.sizes;
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
  keep_differing(feeds, result);
  return result;
}

void Verifier::keep_differing(const Arrays& feeds, const PointResult& result) {
  if (model_.first_differences && !differing_ && result.status == VerifyStatus::kDiffers)
    differing_ = {.feeds = feeds, .point = result};
}

void Verifier::find_first_differences() {
  if (!differing_) return;
  std::vector<std::string> outputs;
  for (const OutputResult& output : differing_->point.outputs)
    if (!output.comparison.agrees) outputs.push_back(output.name);
  report_.where = model_.first_differences(differing_->feeds, outputs);
  report_.where->sizes = differing_->point.sizes;
  report_.where->case_name = differing_->point.case_name;
}

bool Verifier::run_reference(const Arrays& feeds, const Arrays& actual, PointResult& result, Arrays& expected) {
  const Timer timer;
  try {
    expected = reference_->run(feeds, outputs_, actual);
  } catch (const Error& error) {
    timed_out_ |= dynamic_cast<const RunTimedOut*>(&error) != nullptr;
    result.status = VerifyStatus::kReferenceFails;
    result.message = error.what();
    note_inputs(feeds, result);
    return false;
  }
  result.reference_seconds = timer.seconds();
  return true;
}

}  // namespace thaw::run
