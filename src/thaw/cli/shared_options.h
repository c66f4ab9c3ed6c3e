// Options that several verbs have, declared the same way by each: same name, same help, same completion.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "thaw/cli/options.h"
#include "thaw/cli/output.h"
#include "thaw/convert.h"
#include "thaw/fix.h"
#include "thaw/generate.h"
#include "thaw/inputs.h"
#include "thaw/model.h"
#include "thaw/run.h"

namespace thaw::cli {

// --format text|json; and sarif, github and gitlab for verbs with findings.
void add_format(Options& options, Format& format, bool with_findings = false);

// A model file, as a required argument.
void add_model(Options& options, std::string& path, const std::string& name = "MODEL",
               const std::string& help = "the ONNX file");

// --all.
void add_all(Options& options, bool& all, const std::string& help);

// What the verbs that write a model share.
struct OutputArguments {
  std::string path;
  std::vector<std::string> rename;
  bool in_place = false, dry_run = false;
  ExternalPolicy external = ExternalPolicy::kKeep;

  // With the path where none is given: of --in-place the input, else NAME.ENDING beside it. Throws thaw::Error where something is
  // there already.
  OutputArguments beside(const std::string& input, std::string_view ending) const;
  // Throws thaw::Error for names that are not of the form.
  Output output() const;
};
// NAME.ENDING beside a file or folder, which must not be there yet. Throws thaw::Error where it is; `next` says what to do then.
std::string default_path(const std::string& input, std::string_view ending,
                         std::string_view next = "name another with -o");

// -o, with what it is by default ("fixed.onnx"); and what most verbs have besides.
void add_output(Options& options, std::string& path, std::string_view ending, const std::string& what = "FILE");
void add_dry_run(Options& options, bool& dry_run);
void add_in_place(Options& options, OutputArguments& output);
void add_external(Options& options, OutputArguments& output);
void add_rename(Options& options, OutputArguments& output);
// All of these, in the order of --help.
void add_model_output(Options& options, OutputArguments& output, std::string_view ending);

// --max-growth BYTES, of verbs that fold constants.
void add_max_growth(Options& options, uint64_t& bytes);

// What a model is fed.
struct FeedArguments {
  std::vector<std::string> files, values, value_ranges;
  uint64_t seed = 0;

  FeedOptions feeds() const;
};
void add_input(
    Options& options, FeedArguments& feeds,
    const std::string& help = "an array of an input: a .npy or .npz file; or FILE.npz, arrays by input name");
void add_values(Options& options, FeedArguments& feeds,
                const std::string& help = "the elements of a small input, row by row");
// --no-check, and what the check feeds.
void add_check(Options& options, bool& no_check, FeedArguments& feeds);
// How `run` and `verify` feed a model and run it.
void add_feeds(Options& options, FeedArguments& feeds);
void add_session(Options& options, SessionOptions& session);

// Images, clips and recordings, of which `inputs`, `run` and `verify` make what a model is fed.
struct MediaArguments {
  std::vector<std::string> files, images, recordings;
  std::vector<std::vector<std::string>> clips;
  std::optional<double> frame_rate;
  std::optional<std::string> text;
  std::string tokens;
  bool whole_images = false;

  bool any() const {
    return !files.empty() || !images.empty() || !recordings.empty() || !clips.empty() || frame_rate || text ||
           !tokens.empty();
  }
  std::vector<std::filesystem::path> paths() const;
  std::vector<std::vector<std::filesystem::path>> clip_paths() const;
  // How they become arrays, with the options of add_preprocessing().
  InputsOptions how(const Options& options) const;
};
void add_media(Options& options, MediaArguments& media);
void add_whole_images(Options& options, MediaArguments& media);
// What `thaw inputs` makes of them for this model becomes what it is fed: the arrays that it has inputs for. Throws thaw::Error where it
// has none of them, and for preprocessing of nothing.
void feed_media(const MediaArguments& media, const Options& options, const std::string& model, FeedOptions& feeds);

// Prompts that the models of a folder are measured on.
struct PromptArguments {
  std::vector<std::string> images, recordings, prompts, tokens;
  std::vector<std::vector<std::string>> clips;
  std::optional<double> frame_rate;
  int64_t files_per_prompt = 1;
  int64_t answer_tokens = PromptOptions{}.answer_tokens;

  bool any() const {
    return !images.empty() || !recordings.empty() || !clips.empty() || !prompts.empty() || !tokens.empty();
  }
  // With the checkpoint of --for. A folder of images, recordings or frames stands for its files, in the order of their names. Throws
  // thaw::Error for other preprocessing, which a folder's own settings say, and for images with recordings.
  PromptOptions prompt_options(const Options& options) const;
};
// `what`: what is done at the tokens of an answer, for the help.
void add_prompts(Options& options, PromptArguments& prompts, const std::string& what = "compare");

// How images and recordings become what a model is fed: --for, --resize, --mean, …
void add_preprocessing(Options& options);
std::vector<std::string> given_preprocessing(const Options& options);  // "--resize=height:48"
// Of a folder of models: what --for names. Its own settings say the rest, so that nothing else may be given.
std::string checkpoint_of_folder(const Options& options);
// Their former names, in the verbs that had them.
void rename_preprocessing(Options& options);

// Of verbs that put weights into blocks of few bits. `with_samples`: the verb takes samples, which some methods need; `usual`: for
// the help, the method where none is named.
void add_blocks(Options& options, BlockOptions& blocks, bool with_samples, std::string_view usual = "search");
// How INT8 is quantized.
void add_int8(Options& options, Int8Options& int8);
// Throws thaw::Error for an option that says nothing of what a model is converted to.
void require_fitting(const Options& options, const PrecisionOptions& precision);
// "int4": the words of --to, and what each means.
const std::vector<std::pair<std::string_view, NumberFormat>>& number_formats();
// --target, one of all that `check` knows.
void add_targets(Options& options, std::string& target, const std::string& help);
// What of the precision no option says becomes what the target takes; empty: none was asked for.
void fit(const Options& options, PrecisionOptions& precision, const std::string& target);

// --provider, which is given once for each, and reads them into `providers`.
void add_providers(Options& options, const std::string& name, std::vector<Provider>& providers,
                   const std::string& help);

// What a call may spend on a model (thaw/limits.h), and what runs it, from when the options are parsed. Without --provider where ONNX
// Runtime only makes token ids, without --timeout where no model runs, and without --no-sandbox where none is even loaded.
enum class Runs : uint8_t { kModels, kTokenizer, kLoadsResult, kNothing };
void add_limits(Options& options, Runs runs = Runs::kModels);

}  // namespace thaw::cli
