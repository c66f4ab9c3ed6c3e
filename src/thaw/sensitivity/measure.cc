#include "thaw/sensitivity/measure.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "thaw/confirm/cost_of_runs.h"
#include "thaw/core/error.h"
#include "thaw/infer/cost.h"
#include "thaw/infer/infer.h"
#include "thaw/ops/rule/arity.h"
#include "thaw/optimize/optimize.h"
#include "thaw/quant/candidates.h"
#include "thaw/quant/precisions.h"
#include "thaw/quant/samples/measured_model.h"
#include "thaw/run/session.h"
#include "thaw/sensitivity/attempt.h"
#include "thaw/sensitivity/batched_candidates.h"
#include "thaw/sensitivity/candidate_maker.h"
#include "thaw/sensitivity/checked_split.h"
#include "thaw/sensitivity/conversions.h"
#include "thaw/sensitivity/journal.h"
#include "thaw/sensitivity/measured_samples.h"
#include "thaw/sensitivity/open_samples.h"
#include "thaw/sensitivity/predict.h"
#include "thaw/sensitivity/room.h"
#include "thaw/sensitivity/run_key.h"
#include "thaw/sensitivity/units.h"
#include "thaw/sensitivity/whole_model.h"

namespace thaw::measuring {
namespace {

// Sections of about as many units as a layer of a transformer has.
constexpr size_t kUnitsOfSection = 6, kMostSections = 48;
// Of the samples, those that the fast mode uses: spread over all of them; more where the units are few, at so many runs.
constexpr size_t kFastSamples = 4, kFastRuns = 192;

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

// Floating-point operations of a run at the sizes of these inputs, as far as they and the operators are known. Sizes that are computed
// from what inputs hold are taken for 64.
double flops_of_run(const ir::Model& model, const Arrays& feeds) {
  std::vector<std::pair<std::string, int64_t>> sizes;
  for (const ir::Value* input : model.graph->inputs()) {
    const auto at = feeds.find(input->name());
    const auto& shape = input->type.shape;
    if (at == feeds.end() || !shape) continue;
    for (size_t axis = 0; axis < shape->size() && axis < at->second.dims.size(); ++axis)
      if (!(*shape)[axis].param.empty()) sizes.emplace_back((*shape)[axis].param, at->second.dims[axis]);
  }
  dim::Scope scope;
  const infer::Result facts = infer::infer(model, scope);
  const dim::Assignment at = infer::assumed_sizes(scope, sizes);
  return confirm::cost_of_runs(model, facts).at(at).flops;
}

// ONNX Runtime chooses for convolutions the layout that suits what stands around them, and each layout rounds otherwise: enough for a code
// of 8 bits to become the next one, on a sample of many. A model of both runs whole each time.
bool rounds_by_layout(const ir::Model& model, const PrecisionOptions& precision) {
  const auto is_convolution = [](const ir::Node* node) {
    return std::ranges::any_of(quantizing::weights_of(*node),
                               [](const ir::Value* weight) { return weight->constant()->dims.size() > 2; });
  };
  return quantizing::is_int8(precision.to) && std::ranges::any_of(model.graph->nodes(), is_convolution);
}

// The model with all units of a precision converted, cut so that one of them is taken back at the cost of what lies behind it: in about
// so many sections where their outputs are those of the whole model (`figures`, by sample) on every sample; else in one.
std::unique_ptr<Baseline> cut_converted(const ir::Model& converted, size_t sections, const MeasuredSamples& samples,
                                        const std::vector<ErrorFigures>& figures) {
  constexpr double kSame = 1e-7;
  const size_t count = samples.wanted().size();
  const auto keep = [&](Baseline& cut, size_t first) {
    std::vector<char> are_same(count, 1);
    samples.keep_in(cut, first, [&](size_t i) {
      const double whole = figures[i].noise, here = cut.own_figures(i, samples.wanted()[i]).noise;
      are_same[i] = std::abs(here - whole) <= kSame * whole;
    });
    return std::ranges::all_of(are_same, [](char same) { return same != 0; });
  };
  std::unique_ptr<Baseline> cut = split_with_check(converted, sections, count, samples.memory(), samples.feeds(0));
  if (keep(*cut, 1)) return cut;
  cut.reset();
  cut = std::make_unique<Baseline>(ir::clone(converted), 1, count, samples.memory());
  keep(*cut, 0);
  return cut;
}

class Run {
 public:
  Run(const ir::Model& model, const SensitivityOptions& options, const quantizing::OpenSamples& open,
      const std::vector<std::string>& parts)
      : options_(options),
        samples_(open_samples(options, open, model)),
        conversions_(model, options, samples_),
        memory_{options.max_memory},
        kept_(conversions_.base(), samples_, options.data.string(), memory_) {
    report_.model = model.path.string();
    report_.data = options.data.string();
    report_.preprocessing = options.preprocessing;
    report_.precisions = options.precisions;
    report_.metric = options.metric;
    report_.mode = options.mode;
    report_.group = options.group;
    report_.target = options.target;
    report_.backend = options.backend;
    report_.optimize = options.optimize;
    report_.seed = options.seed;
    report_.runtime = run::current_runtime();
    report_.model_key = model_key(model);
    report_.run_key = run_key(report_.model_key, model, samples_, options, report_.runtime);
    report_.excluded_nodes = conversions_.kept();
    for (size_t p = 0; p < options.precisions.size(); ++p)
      report_.computed_in_float32.push_back(conversions_.imitated(p));
    report_.weight_bytes = optimizing::weigh(*conversions_.base().graph).bytes;
    report_.units = group_units(conversions_.base(), conversions_.candidates(), options.group, parts);
    report_.parts = parts;
    report_.prompts = options.prompts;
  }

  SensitivityReport go() {
    const bool is_fast = options_.mode == SensitivityMode::kFast && !is_cheap();
    total_ = steps(is_fast);
    require_room_for_all();
    const std::unique_ptr<Baseline> base =
        kept_.keep(sections(), is_fast ? samples_of_fast() : samples_.size(), options_.outputs);
    report_.outputs = kept_.outputs();
    // Not before: a call that is refused leaves no file.
    journal_.emplace(options_.journal, report_.run_key, options_.resume);
    const size_t precisions = options_.precisions.size();
    report_.uniform_errors.resize(precisions);
    report_.uniform_bytes_saved.resize(precisions);
    for (size_t unit = options_.shard; unit < report_.units.size(); unit += options_.shards)
      for (size_t p = 0; p < precisions; ++p) report_.errors.push_back({.unit = unit, .precision = p});
    for (size_t p = 0; p < precisions; ++p) {
      // First, so that all that is measured of tensors is measured together.
      Converted all = conversions_.all(p);
      if (is_fast) {
        predict_units(*base, p, *all.model);
      } else {
        measure_in(*base, p);
      }
      measure_all(*base, p, std::move(all));
    }
    journal_->flush();
    report_.samples = kept_.names();
    for (const UnitError& error : report_.errors) {
      report_.measured += error.status == UnitStatus::kMeasured;
      report_.predicted += error.status == UnitStatus::kPredicted;
      report_.failed += error.status == UnitStatus::kFailed;
    }
    return std::move(report_);
  }

 private:
  using Done = std::function<void(UnitError& error, std::vector<ErrorFigures> figures)>;
  using Make = std::function<std::unique_ptr<Candidate>(UnitError& error)>;

  size_t sections() const {
    return std::clamp<size_t>(report_.units.size() / kUnitsOfSection, std::min<size_t>(4, report_.units.size()),
                              kMostSections);
  }

  // Of each unit half the model runs, on average, on each sample.
  bool is_cheap() const {
    if (options_.exact_below <= 0) return false;
    const Arrays feeds = samples_.read(0, quantizing::inputs_to_feed(conversions_.base()));
    return flops_of_run(conversions_.base(), feeds) / 2 * static_cast<double>(samples_.size()) < options_.exact_below;
  }

  size_t samples_of_fast() const {
    const size_t few = std::max(kFastSamples, kFastRuns / std::max<size_t>(1, report_.units.size()));
    return std::min(few, samples_.size());
  }

  uint64_t steps(bool is_fast) const {
    const uint64_t units = (report_.units.size() + options_.shards - 1) / options_.shards;
    return units * options_.precisions.size() * (!is_fast && wants_out() ? 2 : 1);
  }

  // The whole converted model lies on the disk while it runs where --max-memory leaves no room for copies of weights.
  void require_room_for_all() const {
    const ir::Model& base = conversions_.base();
    if (quantizing::session_options(base, 1).copied_weights) return;
    const std::filesystem::path folder = std::filesystem::temp_directory_path();
    for (const PrecisionOptions& precision : options_.precisions) {
      const LeastBytes bytes = converted_bytes_at_least(base, conversions_.candidates(), precision);
      if (bytes.converted > WholeModel::kSmall) require_room(bytes.all, folder, base.path.string());
    }
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

  // Takes from the journal what stands there.
  bool is_known(UnitError& error) const {
    const UnitError* known = journal_->find(error.unit, error.precision);
    if (!known || (known->in.empty() && known->why.empty()) || known->in.size() > samples_.size()) return false;
    std::vector<ErrorFigures> out = std::move(error.out);
    error = *known;
    if (error.out.empty()) error.out = std::move(out);
    return true;
  }

  // Those that are not known already, on all samples; done() with none of what cannot be measured.
  void measure_each(Baseline& base, size_t precision, const std::function<bool(UnitError& error)>& is_known,
                    const Make& make, const Done& done) {
    BatchedCandidates batched(base, kept_.wanted(), done);
    for (UnitError* error : errors_of(precision)) {
      if (is_known(*error)) {
        advance();
        continue;
      }
      std::unique_ptr<Candidate> candidate;
      attempt(*error, [&] { candidate = make(*error); });
      if (candidate) {
        batched.add(*error, std::move(candidate));
      } else {
        done(*error, {});
      }
    }
    batched.finish();
  }

  void measure_in(Baseline& base, size_t precision) {
    CandidateMaker maker(base.cut(), conversions_, report_.units);
    const auto done = [this](UnitError& error, std::vector<ErrorFigures> figures) {
      if (!figures.empty()) {
        error.in = std::move(figures);
        error.status = UnitStatus::kMeasured;
      }
      journal_->add(error, Journal::Part::kIn);
      advance();
    };
    measure_each(
        base, precision, [this](UnitError& error) { return is_known(error); },
        [&](UnitError& error) { return maker.make(error); }, done);
  }

  void measure_out(Baseline& converted, size_t precision) {
    const auto done = [this](UnitError& error, std::vector<ErrorFigures> figures) {
      error.out = std::move(figures);
      journal_->add(error, Journal::Part::kOut);
      advance();
    };
    const auto make = [&](const UnitError& error) {
      const Converted but_one = conversions_.all_but(report_.units[error.unit], precision);
      return std::make_unique<Candidate>(converted.cut(), *but_one.model);
    };
    measure_each(
        converted, precision,
        [](const UnitError& error) { return error.status != UnitStatus::kMeasured || !error.out.empty(); }, make, done);
  }

  void predict_units(Baseline& base, size_t precision, const ir::Model& all) {
    const std::vector<UnitError*> errors = errors_of(precision);
    const auto step = [this] { advance(); };
    CandidateMaker maker(base.cut(), conversions_, report_.units);
    const Confirming with{base, maker, kept_.wanted(), options_.metric};
    if (predict(with, errors, step)) return;
    total_ += errors.size();
    kept_.keep_others(base);
    report_.uniform_errors[precision] = figures_of_all(base, all);
    estimate_by_samples(with, report_.uniform_errors[precision], errors, step);
  }

  // As one model, as it would be used.
  std::vector<ErrorFigures> figures_of_all(const Baseline& base, const ir::Model& all) const {
    WholeModel whole(all, report_.outputs, base.session_options());
    const Wanted& wanted = kept_.wanted();
    std::vector<ErrorFigures> figures(wanted.size());
    base.slots().each(figures.size(), [&](size_t i) { figures[i] = base.figures(whole, i, wanted[i]); });
    return figures;
  }

  // The model with all converted: what all together cost, and where each is taken back.
  void measure_all(Baseline& base, size_t precision, Converted all) {
    report_.uniform_bytes_saved[precision] = all.bytes;
    std::vector<UnitError*> errors = errors_of(precision);
    const bool all_known = std::ranges::all_of(
        errors, [&](UnitError* error) { return error->status == UnitStatus::kFailed || !error->out.empty(); });
    if (report_.uniform_errors[precision].empty()) report_.uniform_errors[precision] = figures_of_all(base, *all.model);
    if (!wants_out() || all_known) return;
    const bool is_whole = rounds_by_layout(conversions_.base(), options_.precisions[precision]);
    const std::unique_ptr<Baseline> converted =
        cut_converted(*all.model, is_whole ? 1 : base.sections(), kept_, report_.uniform_errors[precision]);
    measure_out(*converted, precision);
  }

  const SensitivityOptions& options_;
  const quantizing::Samples samples_;
  const Conversions conversions_;
  CachedArrays::Memory memory_;
  MeasuredSamples kept_;
  SensitivityReport report_;
  std::optional<Journal> journal_;
  uint64_t done_ = 0, total_ = 0;
};

}  // namespace

SensitivityReport measure(const ir::Model& model, const SensitivityOptions& options,
                          const quantizing::OpenSamples& open, const std::vector<std::string>& parts) {
  require_options(options);
  ops::require_arity(model);
  return Run(model, options, open, parts).go();
}

}  // namespace thaw::measuring
