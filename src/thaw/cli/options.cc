#include "thaw/cli/options.h"

#include "thaw/cli/size_option.h"
#include "thaw/core/error.h"
#include "thaw/dim/text/range_spec.h"

namespace thaw::cli {

CLI::Option* add_model(CLI::App& app, std::string& path, const std::string& name, const std::string& help) {
  return app.add_option(name, path, help)->required()->type_name("FILE");
}

void add_format(CLI::App& app, Format& format, bool sarif) {
  std::vector<std::pair<std::string_view, Format>> formats = {{"text", Format::kText}, {"json", Format::kJson}};
  if (sarif) formats.emplace_back("sarif", Format::kSarif);
  add_choice(app, "--format", format, std::move(formats), "how to print (text)");
}

void add_external(CLI::App& app, ExternalPolicy& external) {
  add_choice<ExternalPolicy>(
      app, "--external", external,
      {{"keep", ExternalPolicy::kKeep}, {"single", ExternalPolicy::kSingle}, {"inline", ExternalPolicy::kInline}},
      "where weights outside the model file go: as they are, into one data file, or inside");
}

void add_max_growth(CLI::App& app, uint64_t& bytes) {
  add_size(
      app, "--max-growth", [&bytes](uint64_t given) { bytes = given; }, "BYTES",
      "bytes that folded constants may add to the file (0)");
}

CLI::Option* add_list(CLI::App& app, const std::string& name, std::vector<std::string>& list, const std::string& type,
                      const std::string& help) {
  return app.add_option(name, list, help)->type_name(type)->delimiter(',')->allow_extra_args(false);
}

std::vector<std::pair<std::string, int64_t>> parse_sizes(const std::string& text, const std::string& option) {
  std::vector<std::pair<std::string, int64_t>> sizes;
  if (text.empty()) return sizes;
  const std::vector<dim::SpecGroup> groups = dim::parse_range_spec(text);
  for (const dim::SpecEntry& entry : groups.front()) {
    if (groups.size() > 1 || entry.ranges.size() != 1 || !entry.ranges.front().is_single()) {
      throw Error(ErrorCode::kInvalidArgument, {.what = "'" + entry.name + "' is given more than one value",
                                                .where = option,
                                                .expected = "one number for each size, such as h=640,w=480",
                                                .next = {}});
    }
    sizes.emplace_back(entry.name, entry.ranges.front().first);
  }
  return sizes;
}

}  // namespace thaw::cli
