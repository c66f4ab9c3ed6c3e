#include "thaw/sensitivity/folder.h"

#include <utility>

#include "thaw/generate/built_folder.h"
#include "thaw/generate/prompt_samples.h"
#include "thaw/ops/rule/arity.h"
#include "thaw/sensitivity/conversions.h"

namespace thaw::measuring {

OpenedFolder open_folder(const std::filesystem::path& folder, const PromptOptions& prompts, const FolderOptions& how) {
  const generating::BuiltFolder built = generating::open_built(folder, prompts.checkpoint);
  const std::vector<generating::Part> parts = generating::parts_of(built, prompts.has_media());
  OpenedFolder opened;
  std::vector<std::unique_ptr<ir::Model>> models;
  for (const generating::Part& part : parts) {
    const auto loaded = ir::load(part.path);
    ir::begin_run(*loaded);
    ops::require_arity(*loaded);
    // As every node is kept, nothing is measured yet.
    models.push_back(made_ready(*loaded, how.precisions, how.target, how.backend, how.optimize,
                                quantizing::Samples(std::vector<Arrays>())));
    opened.parts.push_back(part.name);
  }
  opened.model = generating::joined_parts(parts, models);
  opened.model->path = folder / "";
  return opened;
}

quantizing::Samples open_prompts(const std::filesystem::path& folder, const PromptOptions& prompts) {
  return quantizing::Samples(
      std::make_shared<generating::PromptSamples>(generating::open_built(folder, prompts.checkpoint), prompts));
}

}  // namespace thaw::measuring
