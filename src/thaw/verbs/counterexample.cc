#include "thaw/verbs/counterexample.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "thaw/core/error.h"
#include "thaw/core/shell_word.h"

namespace thaw::verbs {
namespace {

constexpr int64_t kSmallSizes[] = {1, 2, 3, 4, 5, 6, 7, 8, 12, 16};
constexpr size_t kMostNames = 8;  // whose sizes are made smaller

bool is_all_drawn(const VerifyOptions& options) {
  return options.input_files.empty() && options.feeds.arrays.empty() && options.feeds.values.empty() &&
         options.feeds.ranges.empty() && options.feeds.files.empty();
}

const PointResult* first_that_differs(const VerifyReport& report) {
  const auto found = std::ranges::find(report.points, VerifyStatus::kDiffers, &PointResult::status);
  return found == report.points.end() || !found->case_name.empty() ? nullptr : &*found;
}

// "n=1,m=2".
std::string spec_of(const NamedSizes& sizes) {
  std::string spec;
  for (const auto& [name, size] : sizes) spec += fmt::format("{}{}={}", spec.empty() ? "" : ",", name, size);
  return spec;
}

// Smaller sizes of one name, ascending, beside those of the others; empty where there are none.
std::string smaller_sizes_of(size_t which, const NamedSizes& sizes) {
  std::string values;
  for (const int64_t size : kSmallSizes)
    if (size < sizes[which].second) values += fmt::format("{}{}", values.empty() ? "" : "|", size);
  if (values.empty()) return {};
  NamedSizes others = sizes;
  others.erase(others.begin() + static_cast<ptrdiff_t>(which));
  const std::string rest = spec_of(others);
  return fmt::format("{}={}{}{}", sizes[which].first, values, rest.empty() ? "" : ",", rest);
}

std::string command_of(const VerifyOptions& options, const NamedSizes& sizes) {
  std::string command = fmt::format("thaw verify {} --against {}", shell_path(options.model.string()),
                                    shell_path(options.reference.string()));
  if (!sizes.empty()) command += " --sizes " + shell_word(spec_of(sizes));
  if (options.feeds.seed != 0) command += fmt::format(" --seed {}", options.feeds.seed);
  for (const auto& [option, value] : {std::pair("--atol", options.tolerance.absolute),
                                      {"--rtol", options.tolerance.relative},
                                      {"--cosine", options.tolerance.cosine}})
    if (value) command += fmt::format(" {} {}", option, *value);
  for (const std::string& output : options.outputs) command += " --outputs " + shell_word(output);
  return command;
}

}  // namespace

std::optional<Counterexample> find_counterexample(const VerifyOptions& options, const VerifyReport& report,
                                                  const RunBoth& run) {
  const PointResult* seen = first_that_differs(report);
  if (!seen || !is_all_drawn(options)) return std::nullopt;
  NamedSizes sizes = seen->sizes;
  const auto run_at = [&](const std::string& sweep) {
    VerifyOptions again = options;
    again.sweep = sweep;
    again.sizes.clear();
    again.progress = {};
    return run(again);
  };
  for (size_t i = 0; i < std::min(sizes.size(), kMostNames); ++i) {
    const std::string sweep = smaller_sizes_of(i, sizes);
    if (sweep.empty()) continue;
    try {
      const VerifyReport smaller = run_at(sweep);
      if (const PointResult* point = first_that_differs(smaller))
        sizes[i].second = std::ranges::find(point->sizes, sizes[i].first, &NamedSizes::value_type::first)->second;
    } catch (const Error& error) {  // the models run at none of these
      if (error.code() != ErrorCode::kInvalidArgument && error.code() != ErrorCode::kRuntimeFailed) throw;
    }
  }
  const VerifyReport replayed = run_at(spec_of(sizes));
  const PointResult* point = first_that_differs(replayed);
  if (!point) return std::nullopt;
  Counterexample found{.sizes = sizes, .output = {}, .max_abs_diff = -1, .command = {}};
  for (const OutputResult& output : point->outputs) {
    const Comparison& figures = output.comparison;
    const double difference =
        figures.comparable && figures.not_finite == 0 ? figures.max_abs_diff : std::numeric_limits<double>::infinity();
    if (figures.agrees || difference <= found.max_abs_diff) continue;
    found.output = output.name;
    found.max_abs_diff = difference;
  }
  found.command = command_of(options, sizes);
  return found;
}

}  // namespace thaw::verbs
