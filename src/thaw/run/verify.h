// Running a model and its reference on the same feeds at several sizes, and comparing every output.
//
// "It runs" proves nothing: a size counts when the numbers agree. The reference is another model, or a .npz file that
// holds inputs and what they should give (the layout is in run/cases.h).
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "thaw/dim/text/range_spec.h"
#include "thaw/run/compare.h"
#include "thaw/run/feeds.h"
#include "thaw/run/model_source.h"
#include "thaw/run/reference.h"
#include "thaw/run/run_cost.h"
#include "thaw/run/session.h"
#include "thaw/run/size_conditions.h"
#include "thaw/run/sweep.h"
#include "thaw/verify.h"

namespace thaw::run {

using thaw::DifferenceSearch;
using thaw::OutputResult;
using thaw::PointResult;
using thaw::VerifyOptions;
using thaw::VerifyReport;
using thaw::VerifyStatus;

// What is known of the model under test, and where it and its reference are.
struct VerifiedModel {
  ModelSource source;
  std::optional<ModelSource> reference;   // nullopt: VerifyOptions::reference holds inputs and outputs
  std::vector<InputSpec> inputs;          // with dims in the scope
  std::vector<SizeCondition> conditions;  // what it demands of its sizes
  RunCost cost;                           // of it and its reference
  // The sizes that constants in it were frozen at, asked for where no others were found.
  std::function<NamedSizes()> frozen_sizes;
  // VerifyOptions::where: what is asked with the feeds of the first point that differs.
  std::function<DifferenceSearch(const Arrays& feeds, const std::vector<std::string>& outputs)> first_differences;
  OpenSession open;  // of it and of a model that is its reference; empty: they run as they are
};

// Throws thaw::Error when the call or a file is wrong; a model or reference that does not run at a size is in the report.
VerifyReport verify(const VerifyOptions& options, const VerifiedModel& model, const dim::Scope& scope);

}  // namespace thaw::run
