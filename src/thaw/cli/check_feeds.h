// What the check of a result is fed, for verbs that run what they made beside what it was made of.
#pragma once

#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "thaw/ir/graph/model.h"
#include "thaw/run.h"
#include "thaw/run/feeds.h"

namespace thaw::cli {

struct CheckFeeds {
  std::vector<std::string> input, values;

  // Arrays are held against the inputs of `model` before they are read.
  FeedOptions of(const ir::Model& model) const;
};

// --input and --values.
void add_check_feeds(CLI::App& app, CheckFeeds& feeds);

// What .npz files hold of the inputs; what stands in `feeds` already is replaced.
void read_archives(const std::vector<std::filesystem::path>& archives, const std::vector<run::InputSpec>& inputs,
                   FeedOptions& feeds);

}  // namespace thaw::cli
