#include "thaw/cli/check_feeds.h"

#include "thaw/cli/run_options.h"
#include "thaw/confirm/model_inputs.h"
#include "thaw/dim/expr/scope.h"
#include "thaw/run/input_text.h"
#include "thaw/run/npz.h"

namespace thaw::cli {

void add_check_feeds(CLI::App& app, CheckFeeds& feeds) {
  add_texts(app, "--input", feeds.input, "NAME=FILE",
            "an input for the check, from a .npy or .npz file; or FILE.npz, arrays by name");
  add_texts(app, "--values", feeds.values, "NAME=1,22,30",
            "the elements of a small input, for the check; the rest is drawn");
}

FeedOptions CheckFeeds::of(const ir::Model& model) const {
  FeedOptions feeds;
  run::add_values(values, feeds);
  if (input.empty()) return feeds;
  dim::Scope scope;
  const std::vector<run::InputSpec> inputs = confirm::model_inputs(model, scope);
  std::vector<std::filesystem::path> archives;
  run::add_input_files(input, feeds, archives, inputs);
  read_archives(archives, inputs, feeds);
  return feeds;
}

void read_archives(const std::vector<std::filesystem::path>& archives, const std::vector<run::InputSpec>& inputs,
                   FeedOptions& feeds) {
  for (const std::filesystem::path& path : archives) {
    run::NpzReader reader(path);
    for (const run::InputSpec& input : inputs) {
      if (!reader.contains(input.name)) continue;
      feeds.arrays.insert_or_assign(input.name, reader.read(input.name, run::shape_check(input, reader.path())));
    }
  }
}

}  // namespace thaw::cli
