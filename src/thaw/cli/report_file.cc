#include "thaw/cli/report_file.h"

#include <filesystem>

#include "thaw/core/atomic_file.h"
#include "thaw/core/error.h"

namespace thaw::cli {
namespace {

bool same_file(const std::filesystem::path& a, const std::filesystem::path& b) {
  std::error_code none;  // a path that is not there yet is no other's
  return a.lexically_normal() == b.lexically_normal() || std::filesystem::equivalent(a, b, none);
}

}  // namespace

void add_report(CLI::App& app, std::string& path) {
  app.add_option("--report", path, "write a report too: a page (.html) or JSON (.json)")->type_name("FILE");
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
  for (const std::filesystem::path& other : others) {
    if (path_.empty() || other.empty() || !same_file(path_, other)) continue;
    throw Error(ErrorCode::kInvalidArgument,
                {.what = "the report would replace a file that the command reads or writes",
                 .where = path_,
                 .expected = "a file of its own",
                 .next = "choose another path with --report"});
  }
}

void ReportFile::publish(const std::string& text) const { write_whole(path_, text); }

}  // namespace thaw::cli
