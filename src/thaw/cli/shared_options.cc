#include "thaw/cli/shared_options.h"

#include <algorithm>
#include <array>
#include <memory>
#include <span>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "thaw/core/error.h"
#include "thaw/core/memory.h"
#include "thaw/limits.h"
#include "thaw/verbs/samples.h"
#include "thaw/verbs/texts.h"

namespace thaw::cli {

void add_format(Options& options, Format& format, bool with_findings) {
  std::vector<std::pair<std::string_view, Format>> formats = {{"text", Format::kText}, {"json", Format::kJson}};
  if (with_findings) formats.insert(formats.end(), {{"sarif", Format::kSarif}, {"github", Format::kGithub}});
  options.choice<Format>("--format", format, std::move(formats), "how to print (text)");
}

void add_model(Options& options, std::string& path, const std::string& name, const std::string& help) {
  options.argument(name, path, "FILE", help);
}

Output OutputArguments::output() const {
  return {.path = dry_run ? std::string() : path,
          .save = {.external = external},
          .rename = verbs::parse_renames(rename),
          .in_place = in_place};
}

void add_external(Options& options, OutputArguments& output) {
  options.choice<ExternalPolicy>(
      "--external", output.external,
      {{"keep", ExternalPolicy::kKeep}, {"single", ExternalPolicy::kSingle}, {"inline", ExternalPolicy::kInline}},
      "where weights outside the model file go: as they are, into one data file, or inside");
}

void OutputArguments::require_path(const std::string& verb) const {
  if (!path.empty() || dry_run) return;
  throw Error(ErrorCode::kInvalidArgument,
              {"no file to write to is given", verb, "-o OUT, or --dry-run", "name the file to write"});
}

void add_rename(Options& options, OutputArguments& output) {
  options.texts("--rename", output.rename, "SIZE=NAME",
                "other names for sizes of the result: 'input.1_dim2=height,input.1[3]=width'");
}

void add_rename_and_in_place(Options& options, OutputArguments& output) {
  add_rename(options, output);
  options.flag("--in-place", output.in_place, "the file to write may be the one that is read");
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

void add_values(Options& options, FeedArguments& feeds, const std::string& help) {
  options.texts("--values", feeds.values, "NAME=1,22,30", help);
}

void add_check_feeds(Options& options, FeedArguments& feeds) {
  options.texts("--input", feeds.files, "NAME=FILE",
                "an input for the check, from a .npy or .npz file; or FILE.npz, arrays by name");
  add_values(options, feeds);
}

void add_run_options(Options& options, FeedArguments& feeds, SessionOptions& session) {
  options.texts("--input", feeds.files, "NAME=FILE", "an input from a .npy or .npz file; or FILE.npz, arrays by name");
  add_values(options, feeds, "the elements of a small input, row by row");
  options.texts("--value-range", feeds.value_ranges, "NAME=LO..HI", "draw an input's elements from this range");
  options.value("--seed", feeds.seed, "N", "of what is drawn for inputs that are not given (0)");
  options.value("--threads", session.threads, "N", "threads inside an operator (one a core)", Bounds{0, 1024});
  options.choice<Optimization>("--optimization", session.optimization,
                               {{"all", Optimization::kAll},
                                {"extended", Optimization::kExtended},
                                {"basic", Optimization::kBasic},
                                {"none", Optimization::kNone}},
                               "how far ONNX Runtime rewrites the graph (all)");
}

void add_feed_words(Options& options) {
  // What they mean is asked for when all are given; here a wrong value is found.
  const auto tried = std::make_shared<InputsOptions>();
  for (const verbs::FeedWord& word : verbs::feed_words()) {
    const std::string name(word.name), help(word.help);
    if (word.type.empty())
      options.flag_call(name, [] {}, help);
    else
      options.text(
          name, [tried, &word](const std::string& text) { word.set(*tried, text); }, std::string(word.type), help);
  }
}

std::vector<std::string> given_feed_words(const Options& options) {
  std::vector<std::string> given;
  for (const verbs::FeedWord& word : verbs::feed_words()) {
    if (!options.given(word.name)) continue;
    given.push_back(word.type.empty() ? std::string(word.name)
                                      : fmt::format("{}={}", word.name, fmt::join(options.words(word.name), ",")));
  }
  return given;
}

void add_frame_rate(Options& options, std::optional<double>& rate) {
  options.value("--fps", rate, "N", "of --frames: frames a second, where a prompt or its positions tell the time",
                Bounds{1e-9, 1e9});
}

void add_blocks(Options& options, BlockOptions& blocks, bool with_samples, std::string_view usual) {
  std::vector<std::pair<std::string_view, BlockMethod>> methods = {
      {"rtn", BlockMethod::kRtn}, {"search", BlockMethod::kSearch}, {"hqq", BlockMethod::kHqq}};
  if (with_samples) {
    methods.emplace_back("gptq", BlockMethod::kGptq);
    methods.emplace_back("awq", BlockMethod::kAwq);
  }
  const std::string help = fmt::format("how the scales of blocks are chosen ({})", usual);
  options.choice<BlockMethod>("--method", blocks.method, std::move(methods), help);
  options.value("--block", blocks.block, "N", "weights that share a scale: 16, 32, 64, 128 or 256 (32)",
                Bounds{1, 1024});
  options.flag("--symmetric", blocks.symmetric, "blocks without zero points");
  options.flag("--real-zeros", blocks.real_zeros,
               "zero points of the scales' type, which MatMulNBits takes of 2, 3 and 4 bits");
  options.value("--accuracy-level", blocks.accuracy_level, "0|1|2|3|4",
                "MatMulNBits': 0 as the kernel likes, 1 f32, 2 f16, 3 bf16, 4 INT8 activations (0)", Bounds{0, 4});
}

void add_int8(Options& options, Int8Options& int8) {
  options.flag("--dynamic", int8.dynamic, "int8 that measures activations at each run; else --data is needed");
  options.choice<RangeMethod>("--range", int8.range,
                              {{"minmax", RangeMethod::kMinMax},
                               {"percentile", RangeMethod::kPercentile},
                               {"entropy", RangeMethod::kEntropy},
                               {"mse", RangeMethod::kMse}},
                              "how the range of an activation is chosen from the samples (minmax)");
  options.value("--percentile", int8.percentile, "PERCENT", "how much of what is seen the range holds (99.999)",
                Bounds{50, 100});
  options.flag_off("--per-tensor", int8.per_channel, "one scale for a weight, not one for each channel");
  options.flag("--symmetric-activations", int8.symmetric_activations, "activations without zero points");
  options.flag_off("--signed-activations", int8.unsigned_activations, "activations of int8, not uint8");
  options.flag_off("--asymmetric-weights", int8.symmetric_weights, "weights with zero points");
  options.flag("--unsigned-weights", int8.unsigned_weights, "weights of uint8, not int8");
  options.flag("--reduced-range", int8.reduced_range, "weights of 7 bits, for processors without VNNI");
  options.value("--smooth", int8.smooth, "ALPHA",
                "scales moved from activations to weights: SmoothQuant's alpha (0, none)", Bounds{0, 1});
  options.flag("--equalize", int8.equalize, "weights of convolutions that follow each other are evened out");
  options.flag("--activation-products", int8.activation_products,
               "products of two activations too, as attention has; with --data");
  options.flag("--correct-bias", int8.correct_bias, "biases take up what rounding the weights shifts the mean by");
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
  throw Error(ErrorCode::kInvalidArgument, {.what = fmt::format("{} says nothing of {}", *at, what),
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

void add_limits(Options& options, Runs runs) {
  const auto limits = std::make_shared<Limits>();
  // Long enough for what is worth waiting for, and an end to what never ends: how long many runs take nobody can tell.
  limits->run_timeout = 600;
  if (runs == Runs::kModels)
    options.value("--timeout", limits->timeout, "SECONDS",
                  "seconds that the call may take; 0: any (600 for each load and each run)", Bounds{0, 1e9});
  if (runs != Runs::kNothing)
    options.flag_off("--no-sandbox", limits->sandbox,
                     "let ONNX Runtime's process read, write and send what this user may");
  options.size(
      "--max-memory", [limits](uint64_t bytes) { limits->max_memory = bytes; }, "SIZE",
      "memory that may be taken, such as 4G or 512M (what there is)");
  options.value("--max-visits", limits->max_visits, "N",
                "work that the model may cost, in nodes looked at (1,000,000, and 500 for each that it has)");
  options.when_parsed([limits, &options] {
    if (options.given("--timeout")) limits->run_timeout = 0;
    set_limits(*limits);
    if (limits->max_memory > 0) bound_memory(limits->max_memory);
  });
}

}  // namespace thaw::cli
