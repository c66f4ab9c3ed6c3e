#include "thaw/sensitivity/measure.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "thaw/core/error.h"
#include "thaw/ops/rule/arity.h"
#include "thaw/optimize/optimize.h"
#include "thaw/quant/candidates.h"
#include "thaw/quant/precisions.h"
#include "thaw/sensitivity/attempt.h"
#include "thaw/sensitivity/baseline.h"
#include "thaw/sensitivity/conversions.h"
#include "thaw/sensitivity/figures.h"
#include "thaw/sensitivity/flops_of_run.h"
#include "thaw/sensitivity/journal.h"
#include "thaw/sensitivity/plan.h"
#include "thaw/sensitivity/predict.h"
#include "thaw/sensitivity/riders.h"
#include "thaw/sensitivity/run_key.h"
#include "thaw/sensitivity/sound_cut.h"
#include "thaw/sensitivity/units.h"

namespace thaw::measuring {
namespace {

// Sections of about as many units as a layer of a transformer has.
constexpr size_t kUnitsOfSection = 6, kMostSections = 48;
// Of the samples, those that the fast mode uses: spread over all of them; more where the units are few, at so many runs.
constexpr size_t kFastSamples = 4, kFastRuns = 192;

bool changes_values(const PrecisionOptions& precision) {
  return precision.int8.smooth > 0 || precision.int8.equalize || precision.int8.correct_bias;
}

// What is measured of one model's tensors holds for its next conversion, where none of the conversions changes them first.
quantizing::Samples open_samples(const SensitivityOptions& options, const quantizing::OpenSamples& open) {
  if (options.data.empty())
    throw Error(ErrorCode::kInvalidArgument, {.what = "there are no samples to measure on",
                                              .where = "sensitivity",
                                              .expected = "--data, an .npz file of inputs or a folder of them"});
  quantizing::Samples samples = open ? open(options.data) : quantizing::Samples(options.data);
  if (std::ranges::none_of(options.precisions, changes_values)) samples.remember();
  return samples;
}

void require_options(const SensitivityOptions& options) {
  const auto refuse = [](std::string what, std::string expected) {
    throw Error(ErrorCode::kInvalidArgument,
                {.what = std::move(what), .where = "sensitivity", .expected = std::move(expected)});
  };
  if (options.precisions.empty()) refuse("there is nothing to convert to", "one precision or more");
  for (const PrecisionOptions& precision : options.precisions)
    if (precision.to == NumberFormat::kKeep) refuse("'keep' is no precision to convert to", "int8, int4, f16, …");
  if (options.shards == 0 || options.shard >= options.shards)
    refuse(fmt::format("there is no shard {} of {}", options.shard, options.shards),
           "a number from 0 to one less than there are");
}

class Run {
 public:
  Run(const ir::Model& model, const SensitivityOptions& options, const quantizing::OpenSamples& open)
      : options_(options),
        samples_(open_samples(options, open)),
        conversions_(model, options, samples_),
        memory_{options.max_memory} {
    report_.model = model.path.string();
    report_.data = options.data.string();
    report_.fed = options.fed;
    report_.precisions = options.precisions;
    report_.metric = options.metric;
    report_.mode = options.mode;
    report_.group = options.group;
    report_.target = options.target;
    report_.optimize = options.optimize;
    report_.seed = options.seed;
    report_.model_key = model_key(model);
    report_.key = run_key(report_.model_key, model, samples_, options);
    report_.kept = conversions_.kept();
    report_.weights = optimizing::weigh(*conversions_.base().graph).bytes;
    report_.units = group_units(conversions_.base(), conversions_.candidates(), options.group);
  }

  SensitivityReport go() {
    journal_.emplace(options_.journal, report_.key, options_.resume);
    const bool is_fast = is_fast_ = options_.mode == SensitivityMode::kFast && !is_cheap();
    total_ = steps(is_fast);
    const std::unique_ptr<Baseline> kept = keep_samples();
    Baseline& base = *kept;
    const size_t precisions = options_.precisions.size();
    report_.all_in.resize(precisions);
    report_.all_bytes.resize(precisions);
    for (size_t unit = options_.shard; unit < report_.units.size(); unit += options_.shards)
      for (size_t p = 0; p < precisions; ++p) report_.errors.push_back({.unit = unit, .precision = p});
    for (size_t p = 0; p < precisions; ++p) {
      // First, so that all that is measured of tensors is measured together.
      Converted all = conversions_.all(p);
      if (is_fast) {
        predict_units(base, p, *all.model);
      } else {
        measure_in(base, p);
      }
      measure_all(base, p, std::move(all));
    }
    for (const UnitError& error : report_.errors) {
      report_.measured += error.status == UnitStatus::kMeasured;
      report_.predicted += error.status == UnitStatus::kPredicted;
      report_.failed += error.status == UnitStatus::kFailed;
    }
    return std::move(report_);
  }

 private:
  size_t sections() const {
    return std::clamp<size_t>(report_.units.size() / kUnitsOfSection, std::min<size_t>(4, report_.units.size()),
                              kMostSections);
  }

  // Of each unit half the model runs, on average, on each sample.
  bool is_cheap() const {
    if (options_.exact_below <= 0) return false;
    const double flops = flops_of_run(conversions_.base(), feeds(0)) / 2 * static_cast<double>(samples_.size());
    return flops < options_.exact_below;
  }

  uint64_t steps(bool is_fast) const {
    const uint64_t units = (report_.units.size() + options_.shards - 1) / options_.shards;
    return units * options_.precisions.size() * (!is_fast && wants_out() ? 2 : 1);
  }

  bool wants_out() const { return options_.one_out && options_.mode == SensitivityMode::kExact; }

  void advance() {
    ++done_;
    if (options_.progress) options_.progress(std::min(done_, total_), total_);
  }

  std::vector<UnitError*> errors_of(size_t precision) {
    std::vector<UnitError*> errors;
    for (UnitError& error : report_.errors)
      if (error.precision == precision) errors.push_back(&error);
    return errors;
  }

  // All samples, or some of them spread over all.
  size_t samples_to_keep() const {
    const size_t few = std::max(kFastSamples, kFastRuns / std::max<size_t>(1, report_.units.size()));
    return is_fast_ ? std::min(few, samples_.size()) : samples_.size();
  }

  std::unique_ptr<Baseline> keep_samples() {
    const size_t count = samples_to_keep();
    std::vector<size_t> chosen;
    for (size_t i = 0; i < count; ++i) chosen.push_back(i * samples_.size() / count);
    std::unique_ptr<Baseline> base =
        cut_soundly(conversions_.base(), sections(), count, memory_, feeds(chosen.front()));
    choose_outputs(*base);
    chosen_.push_back(chosen.front());
    wanted_.push_back(outputs_of(*base, 0));
    report_.samples.push_back(samples_.name(chosen.front()));
    keep(*base, {chosen.begin() + 1, chosen.end()});
    return base;
  }

  Arrays feeds(size_t sample) const { return samples_.read(sample, quantizing::inputs_to_feed(conversions_.base())); }

  void keep_other_samples(Baseline& base) {
    std::vector<size_t> others;
    for (size_t i = 0; i < samples_.size(); ++i)
      if (std::ranges::find(chosen_, i) == chosen_.end()) others.push_back(i);
    keep(base, others);
  }

  void keep(Baseline& base, const std::vector<size_t>& chosen) {
    const size_t first = chosen_.size();
    for (const size_t sample : chosen) report_.samples.push_back(samples_.name(sample));
    chosen_.insert(chosen_.end(), chosen.begin(), chosen.end());
    wanted_.resize(chosen_.size());
    keep_in(base, first, [&](size_t i) { wanted_[i] = outputs_of(base, i); });
  }

  // What is compared on a sample.
  Arrays outputs_of(const Baseline& base, size_t sample) const {
    Arrays outputs = base.outputs(sample, report_.outputs);
    if (std::ranges::all_of(outputs, [](const auto& named) { return named.second.num_elements() == 0; }))
      throw Error(ErrorCode::kInvalidArgument,
                  {.what = fmt::format("the outputs have no element on sample '{}': there is nothing to compare",
                                       samples_.name(chosen_[sample])),
                   .where = report_.data,
                   .expected = "samples that have something in them",
                   .next = "leave that one out"});
    return outputs;
  }

  // Those that were chosen, from the first on; then(i) once the i-th is kept. One is read at a time.
  void keep_in(Baseline& model, size_t first, const std::function<void(size_t)>& then) {
    std::mutex reading;
    const auto read = [&](size_t i) {
      const std::lock_guard lock(reading);
      return feeds(chosen_[i]);
    };
    model.lanes().each(chosen_.size() - first, [&](size_t place) {
      const size_t i = first + place;
      model.keep(i, read(i));
      then(i);
    });
  }

  void choose_outputs(const Baseline& base) {
    std::vector<std::string> names;
    for (const ir::Value* output : conversions_.base().graph->outputs()) names.push_back(output->name());
    for (const std::string& name : options_.outputs)
      if (std::ranges::find(names, name) == names.end())
        throw Error(ErrorCode::kInvalidArgument, {.what = fmt::format("the model has no output '{}'", name),
                                                  .where = "sensitivity",
                                                  .expected = fmt::format("one of {}", fmt::join(names, ", "))});
    for (const auto& [name, array] : base.outputs(0, options_.outputs.empty() ? names : options_.outputs))
      if (ir::is_floating(array.dtype)) report_.outputs.push_back(name);
    if (report_.outputs.empty())
      throw Error(ErrorCode::kInvalidArgument, {.what = "there is no output of floats to compare",
                                                .where = report_.model,
                                                .expected = "one that depends on the inputs"});
  }

  // Takes from the journal what stands there.
  bool is_known(UnitError& error) const {
    const UnitError* known = journal_->find(error.unit, error.precision);
    if (!known || (known->in.empty() && known->why.empty())) return false;
    std::vector<ErrorFigures> out = std::move(error.out);
    error = *known;
    if (error.out.empty()) error.out = std::move(out);
    return true;
  }

  void measure_in(Baseline& base, size_t precision) {
    const auto done = [this](UnitError& error, std::vector<ErrorFigures> figures) {
      if (!figures.empty()) {
        error.in = std::move(figures);
        error.status = UnitStatus::kMeasured;
      }
      journal_->add(error, Journal::Part::kIn);
      advance();
    };
    Riders riders(base, wanted_, done);
    for (UnitError* error : errors_of(precision)) {
      if (is_known(*error)) {
        advance();
        continue;
      }
      std::unique_ptr<Candidate> candidate;
      attempt(*error, [&] {
        const Converted converted = conversions_.only(report_.units[error->unit], precision);
        error->bytes = converted.bytes;
        error->why = converted.why;
        if (converted.why.empty()) candidate = std::make_unique<Candidate>(base.cut(), *converted.model);
      });
      if (candidate) {
        riders.add(*error, std::move(candidate));
      } else {
        done(*error, {});
      }
    }
    riders.finish();
  }

  void predict_units(Baseline& base, size_t precision, const ir::Model& all) {
    const std::vector<UnitError*> errors = errors_of(precision);
    const auto step = [this] { advance(); };
    if (predict(base, conversions_, report_.units, wanted_, options_.metric, errors, step)) return;
    total_ += errors.size();
    keep_other_samples(base);
    report_.all_in[precision] = figures_of_all(base, all);
    estimate_by_samples({base, conversions_, report_.units, wanted_, options_.metric}, report_.all_in[precision],
                        errors, step);
  }

  // As one model, as it would be used.
  std::vector<ErrorFigures> figures_of_all(const Baseline& base, const ir::Model& all) const {
    WholeModel whole(all, report_.outputs, base.lanes().threads());
    std::vector<ErrorFigures> figures(wanted_.size());
    base.lanes().each(figures.size(), [&](size_t i) { figures[i] = base.figures(whole, i, wanted_[i]); });
    return figures;
  }

  // The model with all converted: what all together cost, and where each is taken back.
  void measure_all(Baseline& base, size_t precision, Converted all) {
    report_.all_bytes[precision] = all.bytes;
    std::vector<UnitError*> errors = errors_of(precision);
    const bool all_known = std::ranges::all_of(
        errors, [&](UnitError* error) { return error->status == UnitStatus::kFailed || !error->out.empty(); });
    if (report_.all_in[precision].empty()) report_.all_in[precision] = figures_of_all(base, *all.model);
    if (wants_out() && !all_known) measure_out(*cut_converted(*all.model, base.sections(), precision), precision);
  }

  // ONNX Runtime gives convolutions the layout that suits what stands around them, and each layout rounds otherwise: enough for a code
  // of 8 bits to become the next one, on a sample of many. A model of both runs whole each time.
  bool rounds_by_layout(size_t precision) const {
    const auto is_convolution = [](const ir::Node* node) {
      return std::ranges::any_of(quantizing::weights_of(*node),
                                 [](const ir::Value* weight) { return weight->constant()->dims.size() > 2; });
    };
    return quantizing::is_int8(options_.precisions[precision].to) &&
           std::ranges::any_of(conversions_.base().graph->nodes(), is_convolution);
  }

  // In sections, where they give what it gives whole, on every sample.
  std::unique_ptr<Baseline> cut_converted(const ir::Model& model, size_t sections, size_t precision) {
    constexpr double kSame = 1e-7;
    if (rounds_by_layout(precision)) sections = 1;
    const auto keep = [&](Baseline& converted, size_t first) {
      std::vector<char> are_same(wanted_.size(), 1);
      keep_in(converted, first, [&](size_t i) {
        const double whole = report_.all_in[precision][i].noise, here = converted.own_figures(i, wanted_[i]).noise;
        are_same[i] = std::abs(here - whole) <= kSame * whole;
      });
      return std::ranges::all_of(are_same, [](char same) { return same != 0; });
    };
    std::unique_ptr<Baseline> converted = cut_soundly(model, sections, wanted_.size(), memory_, feeds(chosen_.front()));
    if (keep(*converted, 1)) return converted;
    converted.reset();
    converted = std::make_unique<Baseline>(ir::clone(model), 1, wanted_.size(), memory_);
    keep(*converted, 0);
    return converted;
  }

  void measure_out(Baseline& converted, size_t precision) {
    const auto done = [this](UnitError& error, std::vector<ErrorFigures> figures) {
      error.out = std::move(figures);
      journal_->add(error, Journal::Part::kOut);
      advance();
    };
    Riders riders(converted, wanted_, done);
    for (UnitError* error : errors_of(precision)) {
      if (error->status != UnitStatus::kMeasured || !error->out.empty()) {
        advance();
        continue;
      }
      std::unique_ptr<Candidate> candidate;
      attempt(*error, [&] {
        const Converted but_one = conversions_.all_but(report_.units[error->unit], precision);
        candidate = std::make_unique<Candidate>(converted.cut(), *but_one.model);
      });
      if (candidate) {
        riders.add(*error, std::move(candidate));
      } else {
        done(*error, {});
      }
    }
    riders.finish();
  }

  const SensitivityOptions& options_;
  const quantizing::Samples samples_;
  const Conversions conversions_;
  KeptArrays::Memory memory_;
  SensitivityReport report_;
  std::optional<Journal> journal_;
  std::vector<size_t> chosen_;
  Wanted wanted_;
  uint64_t done_ = 0, total_ = 0;
  bool is_fast_ = false;
};

}  // namespace

SensitivityReport measure(const ir::Model& model, const SensitivityOptions& options,
                          const quantizing::OpenSamples& open) {
  require_options(options);
  ops::require_arity(model);
  return Run(model, options, open).go();
}

MeasuredPlan measure_plan(const ir::Model& model, const SensitivityReport& report, const MixedPlan& plan,
                          const std::filesystem::path& data, const quantizing::OpenSamples& open) {
  const SensitivityOptions options{
      .precisions = report.precisions, .data = report.data, .target = report.target, .optimize = report.optimize};
  if (!report.model_key.empty() && model_key(model) != report.model_key)
    throw Error(ErrorCode::kInvalidArgument,
                {.what = "this is not the model that was measured: its nodes or its weights are others",
                 .where = model.path.string(),
                 .expected = "the very model of the report",
                 .next = "measure it anew with `thaw sensitivity`, or name the model that was measured with --model"});
  const quantizing::Samples samples = open_samples(options, open);
  const Conversions conversions(model, options, samples);
  const Converted converted = conversions.planned(convert_options(report, plan));
  MeasuredPlan measured{.bytes = optimizing::weigh(*converted.model->graph).bytes};
  KeptArrays::Memory memory{options.max_memory};
  Baseline base(ir::clone(conversions.base()), 1, 1, memory);
  Candidate candidate(base.cut(), *converted.model);
  const std::vector<std::string> inputs = quantizing::inputs_to_feed(conversions.base());
  const quantizing::Samples judges = data.empty() ? samples : open ? open(data) : quantizing::Samples(data);
  for (size_t i = 0; i < judges.size(); ++i) {
    base.keep(i, judges.read(i, inputs));
    measured.figures.push_back(base.figures(candidate, i, base.outputs(i, report.outputs)));
  }
  return measured;
}

}  // namespace thaw::measuring
