// Options that several verbs have, declared the same way by each: same name, same help, same completion.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "thaw/cli/options.h"
#include "thaw/cli/output.h"
#include "thaw/convert.h"
#include "thaw/fix.h"
#include "thaw/inputs.h"
#include "thaw/model.h"
#include "thaw/run.h"

namespace thaw::cli {

// --format text|json; and sarif and github for verbs with findings.
void add_format(Options& options, Format& format, bool with_findings = false);

// A model file, as a required argument.
void add_model(Options& options, std::string& path, const std::string& name = "MODEL",
               const std::string& help = "the ONNX file");

// What the verbs that write a model share.
struct OutputArguments {
  std::string path;
  std::vector<std::string> rename;
  bool in_place = false, dry_run = false;
  ExternalPolicy external = ExternalPolicy::kKeep;

  // Throws thaw::Error for names that are not of the form.
  Output output() const;
  // Throws thaw::Error where there is neither a path nor --dry-run.
  void require_path(const std::string& verb) const;
};
void add_external(Options& options, OutputArguments& output);
void add_rename(Options& options, OutputArguments& output);
void add_rename_and_in_place(Options& options, OutputArguments& output);

// --max-growth BYTES, of verbs that fold constants.
void add_max_growth(Options& options, uint64_t& bytes);

// What a model is fed: --values alone; with --input; and as `run` and `verify` have it, with how it is run.
struct FeedArguments {
  std::vector<std::string> files, values, value_ranges;
  uint64_t seed = 0;

  FeedOptions feeds() const;
};
void add_values(Options& options, FeedArguments& feeds,
                const std::string& help = "the elements of a small input, for the check; the rest is drawn");
void add_check_feeds(Options& options, FeedArguments& feeds);
void add_run_options(Options& options, FeedArguments& feeds, SessionOptions& session);

// How images and recordings become what a model is fed: --for, --size, --resize, --mean, …
void add_feed_words(Options& options);
std::vector<std::string> given_feed_words(const Options& options);  // "--resize=height:48"
// --fps, which is of clips alone.
void add_frame_rate(Options& options, std::optional<double>& rate);

// Of verbs that put weights into blocks of few bits. `with_samples`: the verb takes samples, which some methods need; `usual`: for
// the help, the method where none is named.
void add_blocks(Options& options, BlockOptions& blocks, bool with_samples, std::string_view usual = "search");
// How INT8 is quantized.
void add_int8(Options& options, Int8Options& int8);
// Throws thaw::Error for an option that says nothing of what a model is converted to.
void require_fitting(const Options& options, const PrecisionOptions& precision);
// "int4": the words of --to, and what each means.
const std::vector<std::pair<std::string_view, NumberFormat>>& number_formats();
// --target portable|ort|directml, of operators.
template <typename T>
void add_target(Options& options, T& target, const std::string& help) {
  options.choice<T>(
      "--target", target,
      {{"portable", OptimizeTarget::kPortable}, {"ort", OptimizeTarget::kOrt}, {"directml", OptimizeTarget::kDirectml}},
      help);
}

// What a call may spend on a model (thaw/limits.h), from when the options are parsed. Without --timeout where no model runs, and without
// --no-sandbox where none is even loaded.
enum class Runs : uint8_t { kModels, kLoadsResult, kNothing };
void add_limits(Options& options, Runs runs = Runs::kModels);

}  // namespace thaw::cli
