#include "thaw/sensitivity.h"

#include <filesystem>
#include <fstream>
#include <iterator>

#include "thaw/api/access.h"
#include "thaw/core/atomic_file.h"
#include "thaw/core/error.h"
#include "thaw/quant/plan_file.h"
#include "thaw/report/sensitivity_page.h"
#include "thaw/sensitivity/measure.h"
#include "thaw/sensitivity/plan.h"
#include "thaw/sensitivity/report_file.h"

namespace thaw {
SensitivityReport sensitivity(const Model& model, const SensitivityOptions& options) {
  return measuring::measure(ModelAccess::of(model), options);
}

SensitivityReport merge(const std::vector<SensitivityReport>& shards) { return measuring::merge(shards); }

MixedPlan plan(const SensitivityReport& report, const PlanOptions& options) { return measuring::plan(report, options); }

std::string plan_json(const SensitivityReport& report, const MixedPlan& plan) {
  return quantizing::plan_text(measuring::convert_options(report, plan));
}

MeasuredPlan measure(const Model& model, const SensitivityReport& report, const MixedPlan& plan,
                     const std::filesystem::path& data) {
  return measuring::measure_plan(ModelAccess::of(model), report, plan, data);
}

void write_report(const SensitivityReport& report, const std::filesystem::path& folder, const MixedPlan* plan,
                  const MeasuredPlan* measured) {
  make_folder(folder);
  write_whole(folder / "errors.csv", measuring::report_csv(report));
  write_whole(folder / "report.html", report::sensitivity_page(report, plan, measured));
  write_whole(folder / "report.json", measuring::report_json(report));
}

SensitivityReport read_report(const std::filesystem::path& folder) {
  const std::filesystem::path path = std::filesystem::is_directory(folder) ? folder / "report.json" : folder;
  std::ifstream file(path, std::ios::binary);
  if (!file)
    throw Error(
        ErrorCode::kCannotRead,
        {.what = "there is no report", .where = path.string(), .expected = "a folder that `thaw sensitivity` wrote"});
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  return measuring::parse_report(text, path.string());
}

}  // namespace thaw
