#include "thaw/cli/run_options.h"

#include "thaw/cli/options.h"
#include "thaw/run/input_text.h"

namespace thaw::cli {

CLI::Option* add_texts(CLI::App& app, const std::string& name, std::vector<std::string>& texts, const std::string& type,
                       const std::string& help) {
  return app.add_option(name, texts, help)->type_name(type)->allow_extra_args(false);
}

void add_run_options(CLI::App& app, RunOptions& options) {
  add_texts(app, "--input", options.input, "NAME=FILE",
            "an input from a .npy or .npz file; or FILE.npz, arrays by name");
  add_texts(app, "--values", options.values, "NAME=1,22,30", "the elements of a small input, row by row");
  add_texts(app, "--value-range", options.value_ranges, "NAME=LO..HI", "draw an input's elements from this range");
  app.add_option("--seed", options.seed, "of what is drawn for inputs that are not given (0)")->type_name("N");
  app.add_option("--threads", options.session.threads, "threads inside an operator (one a core)")
      ->type_name("N")
      ->check(CLI::NonNegativeNumber);
  add_choice<Optimization>(app, "--optimization", options.session.optimization,
                           {{"all", Optimization::kAll},
                            {"extended", Optimization::kExtended},
                            {"basic", Optimization::kBasic},
                            {"none", Optimization::kNone}},
                           "how far ONNX Runtime rewrites the graph (all)");
}

FeedOptions RunOptions::feeds(std::vector<std::filesystem::path>& archives,
                              const std::vector<run::InputSpec>& inputs) const {
  FeedOptions options;
  options.seed = seed;
  run::add_input_files(input, options, archives, inputs);
  run::add_values(values, options);
  run::add_value_ranges(value_ranges, options);
  return options;
}

}  // namespace thaw::cli
