#include "thaw/cli/options.h"

namespace thaw::cli {

CLI::Option* add_model(CLI::App& app, std::string& path, const std::string& name, const std::string& help) {
  return app.add_option(name, path, help)->required()->type_name("FILE");
}

void add_format(CLI::App& app, Format& format, bool sarif) {
  std::vector<std::pair<std::string_view, Format>> formats = {{"text", Format::kText}, {"json", Format::kJson}};
  if (sarif) formats.emplace_back("sarif", Format::kSarif);
  add_choice(app, "--format", format, std::move(formats), "how to print (text)");
}

CLI::Option* add_list(CLI::App& app, const std::string& name, std::vector<std::string>& list, const std::string& type,
                      const std::string& help) {
  return app.add_option(name, list, help)->type_name(type)->delimiter(',')->allow_extra_args(false);
}

}  // namespace thaw::cli
