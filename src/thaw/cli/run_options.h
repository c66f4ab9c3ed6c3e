// Options that the verbs which run a model share: what is fed, and how ONNX Runtime runs.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "thaw/run/feeds.h"
#include "thaw/run/session.h"

namespace thaw::cli {

struct RunOptions {
  std::vector<std::string> input, values, value_ranges;
  uint64_t seed = 0;
  SessionOptions session;

  // What --values, --value-range, --seed and the named files of --input say; .npz files without a name go to
  // `archives`. `inputs` are the model's, which what is read is held against.
  FeedOptions feeds(std::vector<std::filesystem::path>& archives, const std::vector<run::InputSpec>& inputs = {}) const;
};

void add_run_options(CLI::App& app, RunOptions& options);

// An option that is given once or more and whose value is not cut at commas.
CLI::Option* add_texts(CLI::App& app, const std::string& name, std::vector<std::string>& texts, const std::string& type,
                       const std::string& help);

}  // namespace thaw::cli
