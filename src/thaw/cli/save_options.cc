#include "thaw/cli/save_options.h"

#include "thaw/cli/options.h"
#include "thaw/cli/run_options.h"
#include "thaw/core/error.h"

namespace thaw::cli {
namespace {

rewrite::SizeRenames parse_renames(const std::vector<std::string>& texts) {
  rewrite::SizeRenames renames;
  const auto trimmed = [](const std::string& text) {
    const size_t first = text.find_first_not_of(' ');
    return first == std::string::npos ? std::string() : text.substr(first, text.find_last_not_of(' ') - first + 1);
  };
  for (const std::string& text : texts) {
    for (size_t start = 0; start <= text.size();) {
      const size_t end = std::min(text.find(',', start), text.size());
      const std::string part = text.substr(start, end - start);
      const size_t equals = part.rfind('=');
      if (equals == std::string::npos || equals == 0)
        throw Error(ErrorCode::kInvalidArgument,
                    {.what = "'" + part + "' does not say what is to be called what",
                     .where = "--rename",
                     .expected = "SIZE=NAME, such as 'input.1_dim2=height' or 'input.1[2]=height'"});
      renames.emplace_back(trimmed(part.substr(0, equals)), trimmed(part.substr(equals + 1)));
      start = end + 1;
    }
  }
  rewrite::require_renames(renames);
  return renames;
}

}  // namespace

rewrite::SizeRenames SaveArguments::renames() const { return parse_renames(rename); }

void SaveArguments::require(const ir::Model& read, const std::filesystem::path& output) const {
  renames();
  ir::require_output(read, output);
  std::error_code failed;
  if (in_place || !std::filesystem::equivalent(read.path, output, failed) || failed) return;
  throw Error(ErrorCode::kInvalidArgument, {.what = "is the file that is read, which would be replaced",
                                            .where = output.string(),
                                            .expected = "another file",
                                            .next = "name another file, or say --in-place"});
}

void add_rename(CLI::App& app, std::vector<std::string>& texts) {
  add_texts(app, "--rename", texts, "SIZE=NAME",
            "other names for sizes of the result: 'input.1_dim2=height,input.1[3]=width'");
}

void add_save_options(CLI::App& app, SaveArguments& options) {
  add_rename(app, options.rename);
  app.add_flag("--in-place", options.in_place, "the file to write may be the one that is read");
}

}  // namespace thaw::cli
