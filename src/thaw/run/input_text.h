// What the user says of a model's inputs on the command line: files, values, ranges, names.
#pragma once

#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "thaw/run/feeds.h"

namespace thaw::run {

// Each text is NAME=FILE.npy, NAME=FILE.npz (its array NAME, or its only one) or FILE.npz (put into `archives`). Data are
// read of arrays only that fit the model's `inputs`.
void add_input_files(std::span<const std::string> texts, FeedOptions& feeds,
                     std::vector<std::filesystem::path>& archives, const std::vector<InputSpec>& inputs);

// Each text is "NAME=1,22,30", or "NAME[1]=22" for one element; several in one text are separated by ';' or ','.
void add_values(std::span<const std::string> texts, FeedOptions& feeds);

// Each text is "NAME=0..511" or "NAME=-1..1"; several in one text are separated by ';' or ','.
void add_value_ranges(std::span<const std::string> texts, FeedOptions& feeds);

// Each text is "A=B": what is called A in the model is called B in the reference.
std::map<std::string, std::string> parse_names(std::span<const std::string> texts);

}  // namespace thaw::run
