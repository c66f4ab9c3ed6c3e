// Against another model: at the sizes of a sweep, of stored inputs, or at some that the reference runs at.
#include <algorithm>

#include "thaw/core/error.h"
#include "thaw/ir/graph/model.h"
#include "thaw/run/verifier.h"

namespace thaw::run {
namespace {

constexpr size_t kDefaultPoints = 3;
constexpr size_t kRounds = 5;                            // sizes tried at one scale
constexpr uint64_t kMaxChosenBytes = uint64_t{1} << 26;  // of the inputs at sizes that nobody asked for

}  // namespace

void Verifier::run_against_model() {
  reference_.emplace(options_.reference, inputs_, options_.how);
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
}

void Verifier::run_sweep(const Feeder& feeder) {
  const std::vector<Point> points = choose_points(sweep_, options_.points);
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
PointResult Verifier::run_with_defaults(const Feeder& feeder, const Point& point, const std::vector<FreeSymbol>& free,
                                        size_t round) {
  std::optional<PointResult> first;
  const std::span<const Scale> scales = default_scales();
  for (size_t i = 0; i < scales.size(); ++i) {
    const size_t at = (scale_ + i) % scales.size();
    Point whole = point;
    add_default_sizes(whole, free, round, scales[at]);
    if (first && feeder.drawn_bytes(whole) > kMaxChosenBytes) continue;
    PointResult result = run_point(feeder, whole);
    if (result.status != VerifyStatus::kReferenceFails) {
      scale_ = at;
      return result;
    }
    if (!first) first = std::move(result);
    if (timed_out_) break;
  }
  return *first;
}

// The sizes that the reference declares as numbers where the model has symbols: a model that was freed and the one that
// it was made of have those in common.
Point Verifier::sizes_of_reference() const {
  const std::unique_ptr<ir::Model> reference = ir::load(options_.reference);
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

void Verifier::run_default_points(const Feeder& feeder) {
  const std::vector<FreeSymbol> free = feeder.free_symbols({});
  if (free.empty()) {
    report_.points.push_back(run_point(feeder, {}));
    return;
  }
  std::string failure;
  if (const Point own = options_.how.per_sample ? Point() : sizes_of_reference(); !own.sizes.empty()) {
    const std::vector<FreeSymbol> rest = feeder.free_symbols(own);
    PointResult result = rest.empty() ? run_point(feeder, own) : run_with_defaults(feeder, own, rest, 0);
    if (result.status != VerifyStatus::kReferenceFails) {
      report_.points.push_back(std::move(result));
    } else {
      failure = describe(own) + ": " + result.message;
    }
  }
  for (const Scale& scale : default_scales()) {
    for (size_t round = 0; round < kRounds && report_.points.size() < kDefaultPoints; ++round) {
      Point point;
      add_default_sizes(point, free, round, scale);
      if (timed_out_ || feeder.drawn_bytes(point) > kMaxChosenBytes) continue;
      show_progress(report_.points.size(), kDefaultPoints);
      PointResult result = run_point(feeder, point);
      if (result.status != VerifyStatus::kReferenceFails) {
        report_.points.push_back(std::move(result));
      } else {
        failure = describe(point) + ": " + result.message;
        if (round == 1 && report_.points.empty()) break;  // two sizes of this scale failed
      }
    }
    if (report_.points.size() == kDefaultPoints) return;
  }
  if (report_.points.empty()) {
    throw Error(ErrorCode::kRuntimeFailed,
                {.what = "no size was found at which the reference runs; the last was " + failure,
                 .where = options_.reference.string(),
                 .expected = "sizes that the reference takes",
                 .next = "give some with --sweep, and values such as --values 'grid_thw=1,8,12'"});
  }
}

PointResult Verifier::run_case(const std::string& case_name, std::vector<CaseFile>& files) {
  FeedOptions feeds = options_.feeds;
  for (CaseFile& file : files) add_arrays(feeds, file.read(case_name, input_names_, input_checks(file.path())));
  const Feeder feeder(inputs_, scope_, std::move(feeds));
  const std::vector<FreeSymbol> free = feeder.free_symbols({});
  PointResult result = free.empty() ? run_point(feeder, {}) : run_with_defaults(feeder, {}, free, 0);
  result.case_name = case_name;
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
  return result;
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
