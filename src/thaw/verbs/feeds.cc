#include "thaw/verbs/feeds.h"

#include <fmt/format.h>

#include "thaw/confirm/model_inputs.h"
#include "thaw/core/error.h"
#include "thaw/dim/expr/scope.h"
#include "thaw/run/cases.h"
#include "thaw/run/input_text.h"
#include "thaw/run/npz.h"

namespace thaw::verbs {
namespace {

[[noreturn]] void refuse_second(const std::string& input, const std::string& file) {
  throw Error(ErrorCode::kInvalidArgument, {.what = fmt::format("input '{}' has an array already", input),
                                            .where = file,
                                            .expected = "one array for each input",
                                            .next = "leave one of them out"});
}

}  // namespace

FeedOptions with_files(const FeedOptions& feeds, const ir::Model& model) {
  if (feeds.files.empty() && feeds.arrays.empty()) return feeds;
  dim::Scope scope;
  return with_files(feeds, confirm::model_inputs(model, scope));
}

void require_shapes(const FeedOptions& feeds, const std::vector<run::InputSpec>& inputs) {
  for (const run::InputSpec& input : inputs) {
    const auto given = feeds.arrays.find(input.name);
    if (given == feeds.arrays.end()) continue;
    if (const run::NpyCheck check = run::shape_check(input, "what the model is fed"))
      check({given->second.dtype, given->second.dims});
  }
}

FeedOptions with_files(const FeedOptions& feeds, const std::vector<run::InputSpec>& inputs) {
  require_shapes(feeds, inputs);
  FeedOptions read = feeds;
  read.files.clear();
  std::vector<std::filesystem::path> archives;
  run::add_input_files(feeds.files, read, archives, inputs);
  for (const std::filesystem::path& path : archives) {
    run::NpzReader reader(path);
    for (const run::InputSpec& input : inputs) {
      if (!reader.contains(input.name)) continue;
      if (read.arrays.contains(input.name)) refuse_second(input.name, reader.path());
      read.arrays.emplace(input.name, reader.read(input.name, run::shape_check(input, reader.path())));
    }
  }
  return read;
}

void require_none_of(const FeedOptions& feeds, const std::vector<std::filesystem::path>& cases,
                     const std::vector<run::InputSpec>& inputs) {
  if (feeds.arrays.empty()) return;
  std::vector<std::string> names;
  for (const run::InputSpec& input : inputs) names.push_back(input.name);
  for (const std::filesystem::path& path : cases) {
    const run::CaseFile file(path, names);
    for (const auto& [one, arrays] : file.grouped().cases)
      for (const auto& [input, array] : arrays)
        if (feeds.arrays.contains(input)) refuse_second(input, file.path());
  }
}

}  // namespace thaw::verbs
