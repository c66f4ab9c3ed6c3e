#include "thaw/cli/report_file.h"

#include <filesystem>

#include "thaw/core/atomic_file.h"
#include "thaw/core/error.h"
#include "thaw/verbs/output.h"

namespace thaw::cli {
void add_report(Options& options, std::string& path) {
  options.heading("Report");
  options.value("--report", path, "FILE", "write a report: a page (.html) or JSON (.json)");
  options.writes({"--report"});
}

ReportFile::ReportFile(const std::string& path, const std::vector<std::string>& others) : path_(path) {
  if (path.empty()) return;
  const std::string ending = std::filesystem::path(path).extension().string();
  if (ending != ".html" && ending != ".htm" && ending != ".json") {
    throw Error(ErrorCode::kInvalidArgument, {.what = "the ending does not tell what to write",
                                              .where = path,
                                              .expected = "a file that ends in .html or .json",
                                              .next = "name it so with --report"});
  }
  require_other({others.begin(), others.end()});
  is_page_ = ending != ".json";
  const AtomicFile probe(path);
}

void ReportFile::require_other(const std::vector<std::filesystem::path>& others) const {
  verbs::require_other_file(path_, others);
}

void ReportFile::publish(const std::string& text) const { write_whole(path_, text); }

}  // namespace thaw::cli
