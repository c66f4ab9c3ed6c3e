// --report FILE: what a verb did, as a page for people (.html) or as the JSON that --format json prints (.json).
//
// Whether the file can be written is tried before the work begins, so that a folder that is not there is said at once.
// The file appears whole or not at all.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "thaw/cli/options.h"

namespace thaw::cli {

void add_report(Options& options, std::string& path);

class ReportFile {
 public:
  // An empty path: no report. Throws thaw::Error for another ending, for a path that is one of `others` (what the verb
  // reads and writes), and where the file cannot be written.
  ReportFile(const std::string& path, const std::vector<std::string>& others);

  // Throws when the report would replace one of these files: the data of a model, which only the model names.
  void require_other(const std::vector<std::filesystem::path>& others) const;

  bool is_page() const { return is_page_; }
  bool is_wanted() const { return !path_.empty(); }

  // Writes to_html() or to_json() of a report, as the ending asks for.
  template <typename Report>
  void write(const Report& report) const {
    write_one([&] { return to_html(report); }, [&] { return to_json(report); });
  }
  // The same where a report takes more than itself.
  template <typename Html, typename Json>
  void write_one(const Html& html, const Json& json) const {
    if (is_wanted()) publish(is_page_ ? html() : json());
  }

 private:
  void publish(const std::string& text) const;

  std::string path_;
  bool is_page_ = false;
};

}  // namespace thaw::cli
