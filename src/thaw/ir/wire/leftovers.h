// Data that nothing needs any more: of models that were replaced, and what killed calls left.
#pragma once

#include <filesystem>

namespace thaw::ir {

// Whether a model file beside that data file refers to it, or cannot be read: who knows then.
bool is_in_use(const std::filesystem::path& data);

// core's clear_leftovers, of data too.
void clear_leftovers(const std::filesystem::path& folder);

}  // namespace thaw::ir
