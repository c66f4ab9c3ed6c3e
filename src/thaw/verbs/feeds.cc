#include "thaw/verbs/feeds.h"

#include "thaw/confirm/model_inputs.h"
#include "thaw/dim/expr/scope.h"
#include "thaw/run/input_text.h"
#include "thaw/run/npz.h"

namespace thaw::verbs {

FeedOptions with_files(const FeedOptions& feeds, const ir::Model& model) {
  if (feeds.files.empty()) return feeds;
  dim::Scope scope;
  return with_files(feeds, confirm::model_inputs(model, scope));
}

FeedOptions with_files(const FeedOptions& feeds, const std::vector<run::InputSpec>& inputs) {
  FeedOptions read = feeds;
  read.files.clear();
  std::vector<std::filesystem::path> archives;
  run::add_input_files(feeds.files, read, archives, inputs);
  for (const std::filesystem::path& path : archives) {
    run::NpzReader reader(path);
    for (const run::InputSpec& input : inputs) {
      if (!reader.contains(input.name)) continue;
      read.arrays.insert_or_assign(input.name, reader.read(input.name, run::shape_check(input, reader.path())));
    }
  }
  return read;
}

}  // namespace thaw::verbs
