#include "thaw/cli/shared_options.h"

#include <algorithm>
#include <array>
#include <memory>
#include <span>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "thaw/core/error.h"
#include "thaw/core/memory.h"
#include "thaw/defaults.h"
#include "thaw/limits.h"
#include "thaw/targets.h"
#include "thaw/verbs/samples.h"
#include "thaw/verbs/texts.h"

namespace thaw::cli {

void add_format(Options& options, Format& format, bool with_findings) {
  options.heading("Report");
  std::vector<std::pair<std::string_view, Format>> formats = {{"text", Format::kText}, {"json", Format::kJson}};
  if (with_findings)
    formats.insert(formats.end(),
                   {{"sarif", Format::kSarif}, {"github", Format::kGithub}, {"gitlab", Format::kGitlab}});
  options.choice<Format>("--format", format, std::move(formats), "what to print (text)");
}

void add_model(Options& options, std::string& path, const std::string& name, const std::string& help) {
  options.argument(name, path, "FILE", help);
}

void add_all(Options& options, bool& all, const std::string& help) {
  options.heading("Report");
  options.flag("--all", all, help);
}

std::string default_path(const std::string& input, std::string_view ending, std::string_view next) {
  // "report/" and "report" are the same folder.
  std::filesystem::path given = std::filesystem::path(input).lexically_normal();
  if (given.filename().empty()) given = given.parent_path();
  std::error_code failed;
  if (given.filename().empty() || given.filename() == "." || given.filename() == "..")
    given = std::filesystem::canonical(given, failed);
  const bool is_folder = std::filesystem::is_directory(given, failed);
  const std::string name = is_folder ? given.filename().string() : given.stem().string();
  const std::filesystem::path path = given.parent_path() / fmt::format("{}.{}", name, ending);
  // A folder without files is what a call leaves that found nothing to write.
  const bool is_there = std::filesystem::exists(std::filesystem::symlink_status(path, failed)) &&
                        !(std::filesystem::is_directory(path, failed) && std::filesystem::is_empty(path, failed));
  if (is_there)
    throw Error(ErrorCode::kInvalidArgument, {.what = "is there already, and no -o says to replace it",
                                              .where = path.string(),
                                              .expected = "a new file where the name is chosen",
                                              .next = std::string(next)});
  return path.string();
}

OutputArguments OutputArguments::beside(const std::string& input, std::string_view ending) const {
  OutputArguments settled = *this;
  if (!path.empty() || dry_run) return settled;
  settled.path =
      in_place ? input : default_path(input, ending, "name the file with -o, or replace the input with --in-place");
  return settled;
}

Output OutputArguments::output() const {
  return {.path = dry_run ? std::string() : path,
          .save = {.external = external},
          .rename = verbs::parse_renames(rename),
          .in_place = in_place};
}

void add_output(Options& options, std::string& path, std::string_view ending, const std::string& what) {
  options.heading("Output");
  const std::string help = what == "FOLDER" ? "the folder to write" : "the file to write";
  options.value("-o,--output", path, what, fmt::format("{} (NAME.{} beside the input)", help, ending));
  options.writes({"--output"});
}

void add_dry_run(Options& options, bool& dry_run) { options.flag("--dry-run", dry_run, "do all but write"); }

void add_in_place(Options& options, OutputArguments& output) {
  options.flag("--in-place", output.in_place, "replace the input");
  options.writes({"--in-place"});
}

void add_external(Options& options, OutputArguments& output) {
  options.choice<ExternalPolicy>(
      "--external", output.external,
      {{"keep", ExternalPolicy::kKeep}, {"single", ExternalPolicy::kSingle}, {"inline", ExternalPolicy::kInline}},
      "external data: unchanged, in one file, or inside the model (keep)");
}

void add_rename(Options& options, OutputArguments& output) {
  options.texts("--rename", output.rename, "SIZE=NAME",
                "rename sizes of the result: 'input_dim2=height,input[3]=width'");
}

void add_model_output(Options& options, OutputArguments& output, std::string_view ending) {
  add_output(options, output.path, ending);
  add_in_place(options, output);
  add_dry_run(options, output.dry_run);
  add_external(options, output);
  add_rename(options, output);
}

void add_max_growth(Options& options, uint64_t& bytes) {
  options.size(
      "--max-growth", [&bytes](uint64_t given) { bytes = given; }, "BYTES",
      "bytes that folded constants may add to the file (0)");
}

FeedOptions FeedArguments::feeds() const {
  FeedOptions feeds;
  feeds.seed = seed;
  feeds.files = files;
  verbs::add_values(values, feeds);
  verbs::add_value_ranges(value_ranges, feeds);
  return feeds;
}

void add_input(Options& options, FeedArguments& feeds, const std::string& help) {
  options.texts("--input", feeds.files, "NAME=FILE", help);
}

void add_values(Options& options, FeedArguments& feeds, const std::string& help) {
  options.texts("--values", feeds.values, "NAME=1,22,30", help);
}

void add_check(Options& options, bool& no_check, FeedArguments& feeds) {
  options.heading("Check");
  options.flag("--no-check", no_check, "do not compare the result with the original");
  add_input(options, feeds);
  add_values(options, feeds, "the elements of a small input; what is not given is drawn");
}

void add_feeds(Options& options, FeedArguments& feeds) {
  add_input(options, feeds);
  add_values(options, feeds);
  options.texts("--value-range", feeds.value_ranges, "NAME=LO..HI", "draw an input's elements from this range");
  options.value("--seed", feeds.seed, "N", "the seed of drawn inputs (0)");
}

void add_session(Options& options, SessionOptions& session) {
  options.heading("ONNX Runtime");
  options.value("--threads", session.threads, "N", "threads within an operator (one for each core)", Bounds{0, 1024});
  options.choice<Optimization>("--optimization", session.optimization,
                               {{"all", Optimization::kAll},
                                {"extended", Optimization::kExtended},
                                {"basic", Optimization::kBasic},
                                {"none", Optimization::kNone}},
                               "its graph optimizations (all)");
}

std::vector<std::filesystem::path> MediaArguments::paths() const {
  std::vector<std::filesystem::path> all(files.begin(), files.end());
  all.insert(all.end(), images.begin(), images.end());
  all.insert(all.end(), recordings.begin(), recordings.end());
  return all;
}

std::vector<std::vector<std::filesystem::path>> MediaArguments::clip_paths() const {
  std::vector<std::vector<std::filesystem::path>> all;
  for (const std::vector<std::string>& clip : clips) all.emplace_back(clip.begin(), clip.end());
  return all;
}

InputsOptions MediaArguments::how(const Options& options) const {
  InputsOptions how = verbs::parse_preprocessing(given_preprocessing(options));
  how.clips = clip_paths();
  how.frame_rate = frame_rate;
  how.whole_images = whole_images;
  how.text = text;
  if (!tokens.empty()) how.tokens = verbs::parse_tokens(tokens);
  return how;
}

void add_media(Options& options, MediaArguments& media) {
  options.list("--image", media.images, "FILE", "images, in their order");
  options.list("--audio", media.recordings, "FILE", "recordings, in their order");
  options.groups("--frames", media.clips, "FILE", "Qwen: the frames of a clip, in their order; once for each clip");
  options.value("--fps", media.frame_rate, "N", "with --frames: frames per second", Bounds{1e-9, 1e9});
  options.value("--text", media.text, "TEXT", "the prompt as the chat template writes it, for token ids");
}

void add_whole_images(Options& options, MediaArguments& media) {
  options.choice<bool>("--as", media.whole_images, {{"patches", false}, {"image", true}},
                       "Qwen: patches and their grid, or whole images of one size (patches)");
}

void feed_media(const MediaArguments& media, const Options& options, const std::string& model, FeedOptions& feeds) {
  const std::vector<std::string> words = given_preprocessing(options);
  if (!media.any()) {
    if (words.empty() && !media.whole_images) return;
    throw Error(ErrorCode::kInvalidArgument,
                {.what = "there is no image or recording to preprocess",
                 .where = words.empty() ? "--as image" : words.front().substr(0, words.front().find('=')),
                 .expected = "files behind the model, such as `thaw run MODEL photo.jpg`",
                 .next = "name them, or leave the option out"});
  }
  for (const std::string& file : media.files)
    if (file.ends_with(".npz") || file.ends_with(".npy"))
      throw Error(ErrorCode::kInvalidArgument, {.what = "holds arrays, and is no image or recording",
                                                .where = file,
                                                .expected = "images or recordings behind the model",
                                                .next = fmt::format("give it with --input {}", file)});
  InputsOptions how = media.how(options);
  if (how.preset.empty()) how.image_model.model = model;
  PreparedInputs made = inputs(media.paths(), how);
  for (const Port& input : Model::load(model).inputs())
    if (auto array = made.arrays.extract(input.name)) feeds.arrays.insert(std::move(array));
  if (!feeds.arrays.empty()) return;
  std::vector<std::string> names;
  for (const auto& [name, array] : made.arrays) names.push_back(name);
  throw Error(ErrorCode::kInvalidArgument, {.what = fmt::format("has no input called {}", fmt::join(names, " or ")),
                                            .where = model,
                                            .expected = "an input for what is made of the files",
                                            .next = "`thaw inspect` lists its inputs; see --for and --image-input"});
}

std::string checkpoint_of_folder(const Options& options) {
  for (const std::string& word : given_preprocessing(options))
    if (!word.starts_with("--for="))
      throw Error(ErrorCode::kInvalidArgument, {.what = "a folder's own settings say how its images are preprocessed",
                                                .where = word.substr(0, word.find('=')),
                                                .expected = "--for alone, or one ONNX file in place of the folder",
                                                .next = "leave it out"});
  const std::vector<std::string> given = options.words("--for");
  return given.empty() ? std::string() : given.back();
}

namespace {

// A folder stands for its files, in the order of their names.
std::vector<std::filesystem::path> files_at(const std::vector<std::string>& paths) {
  std::vector<std::filesystem::path> files;
  for (const std::string& path : paths) {
    std::error_code failed;
    if (!std::filesystem::is_directory(path, failed)) {
      files.emplace_back(path);
      continue;
    }
    std::vector<std::filesystem::path> inside;
    for (const auto& entry : std::filesystem::directory_iterator(path))
      if (entry.is_regular_file()) inside.push_back(entry.path());
    std::ranges::sort(inside);
    files.insert(files.end(), inside.begin(), inside.end());
  }
  return files;
}

}  // namespace

PromptOptions PromptArguments::prompt_options(const Options& options) const {
  if ((!images.empty() || !clips.empty()) && !recordings.empty())
    throw Error(ErrorCode::kInvalidArgument, {.what = "images and recordings are given together",
                                              .where = "--image, --frames, --audio",
                                              .expected = "--image and --frames, or --audio: a folder has one tower"});
  PromptOptions made{.checkpoint = checkpoint_of_folder(options),
                     .files = files_at(images.empty() ? recordings : images),
                     .files_per_prompt = files_per_prompt,
                     .frame_rate = frame_rate,
                     .prompts = prompts,
                     .answer_tokens = answer_tokens};
  for (const std::vector<std::string>& clip : clips) made.clips.push_back(files_at(clip));
  for (const std::string& one : tokens) made.tokens.push_back(verbs::parse_tokens(one));
  return made;
}

void add_prompts(Options& options, PromptArguments& prompts, const std::string& what) {
  options.heading("Prompts of a built folder");
  options.texts("--prompt", prompts.prompts, "WORDS", "what a user says, for the chat template; once for each sample");
  options.texts("--tokens", prompts.tokens, "1,22,333",
                "instead: the whole prompt as token ids, a placeholder for each file");
  options.list("--image", prompts.images, "FILE",
               "the images of the prompts, or a folder of them; those of one prompt go with all");
  options.list("--audio", prompts.recordings, "FILE",
               "the recordings of the prompts, or a folder of them; those of one prompt go with all");
  options.value("--files-per-prompt", prompts.files_per_prompt, "N", "so many of these in a row for each prompt (1)",
                Bounds{1, 1e9});
  options.groups(
      "--frames", prompts.clips, "FILE",
      "Qwen: the frames of a prompt's clip, in their order, or a folder of them; once for each prompt or for all");
  options.value("--fps", prompts.frame_rate, "N", "with --frames: frames per second", Bounds{1e-9, 1e9});
  options.value("--max-new-tokens", prompts.answer_tokens, "N",
                fmt::format("{} at most this many tokens of each answer ({})", what, prompts.answer_tokens),
                Bounds{1, 1e9});
}

void add_preprocessing(Options& options) {
  options.heading("Image preprocessing");
  // What they mean is asked for when all are given; here a wrong value is found.
  const auto tried = std::make_shared<InputsOptions>();
  for (const verbs::PreprocessingWord& word : verbs::preprocessing_words()) {
    const std::string name(word.name), help(word.help);
    if (word.type.empty())
      options.flag_call(name, [] {}, help);
    else
      options.text(
          name, [tried, &word](const std::string& text) { word.set(*tried, text); }, std::string(word.type), help);
  }
}

void rename_preprocessing(Options& options) {
  options.renamed("--size", "--image-size");
  // NAME=FILE and FILE.npz are arrays.
  options.renamed("--input", "--image-input", [](std::string_view value) {
    return value.find('=') == std::string_view::npos && !value.ends_with(".npz") && !value.ends_with(".npy");
  });
}

std::vector<std::string> given_preprocessing(const Options& options) {
  std::vector<std::string> given;
  for (const verbs::PreprocessingWord& word : verbs::preprocessing_words()) {
    if (!options.given(word.name)) continue;
    given.push_back(word.type.empty() ? std::string(word.name)
                                      : fmt::format("{}={}", word.name, fmt::join(options.words(word.name), ",")));
  }
  return given;
}

void add_blocks(Options& options, BlockOptions& blocks, bool with_samples, std::string_view usual) {
  std::vector<std::pair<std::string_view, BlockMethod>> methods = {
      {"rtn", BlockMethod::kRtn}, {"search", BlockMethod::kSearch}, {"hqq", BlockMethod::kHqq}};
  if (with_samples) {
    methods.emplace_back("gptq", BlockMethod::kGptq);
    methods.emplace_back("awq", BlockMethod::kAwq);
  }
  options.heading("Block-wise weights");
  const std::string help = fmt::format("how the scales of blocks are chosen ({})", usual);
  options.choice<BlockMethod>("--method", blocks.method, std::move(methods), help);
  options.value("--block", blocks.block, "N", "weights that share a scale: 16, 32, 64, 128 or 256 (32)",
                Bounds{1, 1024});
  options.flag("--symmetric", blocks.symmetric, "no zero points");
  options.flag("--real-zeros", blocks.real_zeros,
               "zero points in the scales' type, which MatMulNBits takes with 2, 3 and 4 bits");
  options.value("--accuracy-level", blocks.accuracy_level, "0|1|2|3|4",
                "of MatMulNBits: 0 the kernel's choice, 1 f32, 2 f16, 3 bf16, 4 INT8 activations (0)", Bounds{0, 4});
}

void add_int8(Options& options, Int8Options& int8) {
  options.heading("INT8");
  options.flag("--dynamic", int8.dynamic, "quantize activations at each run, without --data");
  options.choice<RangeMethod>("--range", int8.range,
                              {{"minmax", RangeMethod::kMinMax},
                               {"percentile", RangeMethod::kPercentile},
                               {"entropy", RangeMethod::kEntropy},
                               {"mse", RangeMethod::kMse}},
                              "how the ranges of activations are chosen from the samples (minmax)");
  options.value("--percentile", int8.percentile, "PERCENT",
                "of --range percentile: the share of values within the range (99.999)", Bounds{50, 100});
  options.flag_off("--per-tensor", int8.per_channel, "one scale for each weight, not for each channel");
  options.flag("--symmetric-activations", int8.symmetric_activations, "no zero points of activations");
  options.flag_off("--signed-activations", int8.unsigned_activations, "int8 activations, not uint8");
  options.flag_off("--asymmetric-weights", int8.symmetric_weights, "zero points of weights");
  options.flag("--unsigned-weights", int8.unsigned_weights, "uint8 weights, not int8");
  options.flag("--reduced-range", int8.reduced_range, "7-bit weights, for processors without VNNI");
  options.value("--smooth", int8.smooth, "ALPHA",
                "SmoothQuant's alpha: move scales from activations to weights (0: off)", Bounds{0, 1});
  options.flag("--equalize", int8.equalize, "cross-layer equalization of convolutions that follow each other");
  options.flag("--activation-products", int8.activation_products,
               "quantize products of two activations too, as in attention; with --data");
  options.flag("--correct-bias", int8.correct_bias,
               "correct biases for the shift of the mean that rounding the weights makes");
}

const std::vector<std::pair<std::string_view, NumberFormat>>& number_formats() {
  using enum NumberFormat;
  static const std::vector<std::pair<std::string_view, NumberFormat>> kFormats = {
      {"f16", kFloat16}, {"bf16", kBfloat16},         {"int8", kInt8}, {"int4", kInt4}, {"int3", kInt3},
      {"int2", kInt2},   {"int8-blocks", kInt8Blocks}};
  return kFormats;
}

namespace {

constexpr std::array<std::string_view, 6> kOfBlocks = {"--method",     "--block",          "--symmetric",
                                                       "--real-zeros", "--accuracy-level", "--form"};
constexpr std::array<std::string_view, 5> kOfInt8 = {"--dynamic", "--per-tensor", "--asymmetric-weights",
                                                     "--unsigned-weights", "--reduced-range"};
constexpr std::array<std::string_view, 8> kOfRanges = {
    "--range",  "--percentile", "--symmetric-activations", "--signed-activations",
    "--smooth", "--equalize",   "--activation-products",   "--correct-bias"};
constexpr std::array<std::string_view, 1> kOfHalf = {"--io"};

void refuse_given(const Options& options, std::span<const std::string_view> names, std::string_view what,
                  std::string_view of) {
  const auto at = std::ranges::find_if(names, [&](std::string_view name) { return options.given(name); });
  if (at == names.end()) return;
  throw Error(ErrorCode::kInvalidArgument, {.what = fmt::format("{} does not apply to {}", *at, what),
                                            .where = std::string(*at),
                                            .expected = std::string(of),
                                            .next = "leave it out"});
}

}  // namespace

void require_fitting(const Options& options, const PrecisionOptions& precision) {
  using enum NumberFormat;
  const NumberFormat to = precision.to;
  if (to == kKeep) return;
  const auto word = std::ranges::find(number_formats(), to, &std::pair<std::string_view, NumberFormat>::second);
  const std::string what = fmt::format("--to {}", word->first);
  const bool is_half = to == kFloat16 || to == kBfloat16, is_int8 = to == kInt8;
  if (is_half || is_int8) refuse_given(options, kOfBlocks, what, "it with --to int4, int3, int2 or int8-blocks");
  if (!is_half) refuse_given(options, kOfHalf, what, "it with --to f16 or bf16");
  if (!is_int8) refuse_given(options, kOfInt8, what, "it with --to int8");
  if (!is_int8) refuse_given(options, kOfRanges, what, "it with --to int8 and --data");
  if (is_int8 && precision.int8.dynamic)
    refuse_given(options, kOfRanges, "--dynamic, which measures activations at each run",
                 "it with --to int8 and --data");
}

void add_targets(Options& options, std::string& target, const std::string& help) {
  static const std::vector<std::string> kTargets = target_names();
  std::vector<std::pair<std::string_view, std::string>> targets;
  for (const std::string& name : kTargets) targets.emplace_back(name, name);
  options.choice<std::string>("--target", target, std::move(targets), help);
}

void fit(const Options& options, PrecisionOptions& precision, const std::string& target) {
  const PrecisionOptions fitting = default_precision(precision, target);
  if (!options.given("--form")) precision.blocks.form = fitting.blocks.form;
  precision.blocks.symmetric = fitting.blocks.symmetric;
  precision.int8.unsigned_activations = fitting.int8.unsigned_activations;
  precision.int8.symmetric_activations = fitting.int8.symmetric_activations;
}

void add_providers(Options& options, const std::string& name, std::vector<Provider>& providers,
                   const std::string& help) {
  options.each(
      name, [&providers](const std::string& text) { providers.push_back(verbs::parse_provider(text)); },
      "NAME:OPTION=VALUE,…", help);
}

namespace {

// Which ONNX Runtime, and what of it.
struct RuntimeArguments {
  std::string onnxruntime;
  std::vector<Provider> providers;

  void use() const {
    if (!onnxruntime.empty()) set_onnxruntime(onnxruntime);
    set_providers(providers);
  }
};

void add_runtime(Options& options, Runs runs, RuntimeArguments& given) {
  options.heading("ONNX Runtime");
  if (runs == Runs::kModels)
    add_providers(options, "--provider", given.providers,
                  "run models with this execution provider, such as cuda or openvino; several in their order (cpu)");
  options.value("--onnxruntime", given.onnxruntime, "PATH",
                "the library of ONNX Runtime, or a folder that holds it (the environment's)");
}

}  // namespace

void add_limits(Options& options, Runs runs) {
  const auto runtime = std::make_shared<RuntimeArguments>();
  if (runs != Runs::kNothing) add_runtime(options, runs, *runtime);
  const auto limits = std::make_shared<Limits>();
  options.heading("Limits");
  // Long enough for what is worth waiting for, and an end to what never ends: how long many runs take nobody can tell.
  limits->run_timeout = 600;
  if (runs == Runs::kModels || runs == Runs::kTokenizer)
    options.value("--timeout", limits->timeout, "SECONDS",
                  "end the call after this long; 0: never (600 for each load and each run)", Bounds{0, 1e9});
  if (runs != Runs::kNothing)
    options.flag_off("--no-sandbox", limits->sandbox, "run ONNX Runtime's process without the sandbox");
  options.size(
      "--max-memory", [limits](uint64_t bytes) { limits->max_memory = bytes; }, "SIZE",
      "the memory that Thaw and ONNX Runtime may take, such as 4G (all)");
  options.value("--max-visits", limits->max_visits, "N",
                "nodes that shape inference may visit (1,000,000, and 500 for each node)");
  options.when_parsed([limits, runtime, &options] {
    if (options.given("--timeout")) limits->run_timeout = 0;
    set_limits(*limits);
    if (limits->max_memory > 0) bound_memory(limits->max_memory);
    runtime->use();  // within the limits
  });
}

}  // namespace thaw::cli
