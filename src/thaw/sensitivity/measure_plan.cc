#include "thaw/optimize/optimize.h"
#include "thaw/run/session.h"
#include "thaw/sensitivity/baseline.h"
#include "thaw/sensitivity/conversions.h"
#include "thaw/sensitivity/measure.h"
#include "thaw/sensitivity/open_samples.h"
#include "thaw/sensitivity/plan.h"
#include "thaw/sensitivity/run_key.h"

namespace thaw::measuring {

MeasuredPlan measure_plan(const ir::Model& model, const SensitivityReport& report, const MixedPlan& plan,
                          const std::filesystem::path& data, const quantizing::OpenSamples& open) {
  const SensitivityOptions options{.precisions = report.precisions,
                                   .data = report.data,
                                   .prompts = report.prompts,
                                   .target = report.target,
                                   .backend = report.backend,
                                   .optimize = report.optimize};
  require_measured(model, report);
  const quantizing::Samples samples = open_samples(options, open, model);
  const Conversions conversions(model, options, samples);
  const Converted converted = conversions.planned(convert_options(report, plan));
  MeasuredPlan measured{.bytes = optimizing::weigh(*converted.model->graph).bytes, .figures = {}};
  CachedArrays::Memory memory{options.max_memory};
  Baseline base(ir::clone(conversions.base()), 1, 1, memory);
  Candidate candidate(base.cut(), *converted.model);
  const std::vector<std::string> inputs = quantizing::inputs_to_feed(conversions.base());
  const quantizing::Samples judges = data.empty() ? samples : open ? open(data) : quantizing::Samples(data, model);
  for (size_t i = 0; i < judges.size(); ++i) {
    base.keep(i, judges.read(i, inputs));
    measured.figures.push_back(base.figures(candidate, i, base.outputs(i, report.outputs)));
  }
  measured.runtime = run::last_runtime();
  return measured;
}

}  // namespace thaw::measuring
