// What stands behind thaw/build.h: the parts of a family, built one by one and written together.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "thaw/build.h"
#include "thaw/ir/graph/model.h"
#include "thaw/model/checkpoint.h"
#include "thaw/ops/target/target.h"

namespace thaw::model {

// What is made of a model that is written and has not its name yet.
using TryStaged =
    std::function<LoadCheck(const ir::Model& model, const std::filesystem::path& path, ir::Staged& staged)>;

// What the target of a build says of a part before it is written.
using AskTarget = std::function<ops::TargetVerdict(const ir::Model&)>;

// Throws thaw::Error for a part that the family does not have, options that do not go together, and everything that is
// wrong with the checkpoint. Nothing is written before every part is built, and none where one is refused.
BuildReport build(Checkpoint checkpoint, const std::filesystem::path& folder, BuildOptions options,
                  const TryStaged& try_staged, const AskTarget& ask = nullptr);

}  // namespace thaw::model
