// thaw run: feeds a model from arrays and says what comes out; or a folder of models with a prompt.
#include "thaw/run.h"

#include <filesystem>
#include <memory>
#include <optional>

#include <fmt/format.h>

#include "thaw/cli/output.h"
#include "thaw/cli/report_file.h"
#include "thaw/cli/shared_options.h"
#include "thaw/cli/verb.h"
#include "thaw/core/error.h"
#include "thaw/core/printable.h"
#include "thaw/generate.h"
#include "thaw/in_memory.h"
#include "thaw/verbs/texts.h"

namespace thaw::cli {
namespace {

struct RunArguments {
  std::string model, output, report;
  FeedArguments feeds;
  RunOptions run;
  MediaArguments media;
  GenerateOptions generate;  // of a folder of models
  bool all = false;
  Format format = Format::kText;
};

int run_folder(const RunArguments& arguments, const Options& options) {
  const MediaArguments& media = arguments.media;
  GenerateOptions how = arguments.generate;
  how.session = arguments.run.session;
  how.frame_rate = media.frame_rate;
  how.text = media.text;
  if (!media.tokens.empty()) how.tokens = verbs::parse_tokens(media.tokens);
  if ((!media.images.empty() || !media.clips.empty()) && !media.recordings.empty())
    throw Error(ErrorCode::kInvalidArgument, {.what = "images and recordings are given together",
                                              .where = "thaw run",
                                              .expected = "--image and --frames, or --audio: a folder has one tower"});
  how.checkpoint = checkpoint_of_folder(options);
  how.clips = media.clip_paths();
  how.files = media.paths();
  bool has_text = false;
  if (arguments.format == Format::kText)
    how.progress = [&](int64_t, std::string_view text) {
      has_text |= !text.empty();
      write_output(printable_prose(text));
    };
  if (arguments.run.placement || !arguments.report.empty())
    throw Error(
        ErrorCode::kInvalidArgument,
        {.what = "a folder of models is run by many sessions",
         .where = arguments.run.placement ? "--placement" : "--report",
         .expected = "one ONNX file",
         .next = "run one of its models by itself, on drawn inputs: `thaw run FOLDER/text.onnx --random --placement`"});
  const Generated made = generate(arguments.model, how);
  if (arguments.format == Format::kJson) {
    write_output(to_json(made));
    return kFine;
  }
  std::string end;
  if (!has_text)
    for (const int64_t token : made.tokens) end += fmt::format("{}{}", end.empty() ? "" : ",", token);
  write_output(end + "\n" + to_text(made));
  return kFine;
}

void require_model(const RunArguments& arguments) {
  std::error_code failed;
  if (arguments.generate.prompt.empty()) return;
  const bool is_there = std::filesystem::exists(arguments.model, failed);
  throw Error(is_there ? ErrorCode::kInvalidArgument : ErrorCode::kCannotRead,
              {.what = is_there ? "prompts are for the folder of a built checkpoint" : "there is no such folder",
               .where = arguments.model,
               .expected = "a folder that `thaw build --kv-cache` wrote"});
}

int run_once(const RunArguments& arguments, const Options& options) {
  std::error_code failed;
  if (std::filesystem::is_directory(arguments.model, failed)) return run_folder(arguments, options);
  require_model(arguments);
  const ReportFile page(arguments.report, {arguments.model, arguments.output});
  RunOptions how = arguments.run;
  how.placement |= page.is_wanted();
  how.model = arguments.model;
  how.feeds = arguments.feeds.feeds();
  feed_media(arguments.media, options, arguments.model, how.feeds);
  how.output = arguments.output;
  const RunReport report = run_model(how);
  page.write_one([&] { return to_html(report, Model::load(arguments.model)); }, [&] { return to_json(report); });
  print(report, arguments.format, arguments.all);
  return kFine;
}

}  // namespace

Action define_run(Options& options) {
  auto arguments = std::make_shared<RunArguments>();
  options.use("Use it to see what a model computes: of arrays, of a photograph, of drawn inputs, or of a prompt.");
  add_model(options, arguments->model, "MODEL", "the ONNX file, or a folder that `thaw build --kv-cache` wrote");
  options.arguments("FILE", arguments->media.files, "FILE", "images or recordings, as for `thaw inputs`", false);
  options.heading("Inputs");
  add_feeds(options, arguments->feeds);
  options.value("--sizes", arguments->run.sizes, "SPEC",
                "draw inputs that are not given, of these sizes: 'batch=3,height=320'");
  options.flag("--random", arguments->run.random, "draw inputs that are not given, of sizes that the model runs at");
  options.flag("--cast", arguments->run.cast, "convert inputs of other element types");
  add_media(options, arguments->media);
  add_preprocessing(options);
  add_whole_images(options, arguments->media);
  options.heading("Prompt of a built folder");
  options.value("--prompt", arguments->generate.prompt, "WORDS", "what a user says, for the chat template");
  options.value("--tokens", arguments->media.tokens, "1,22,333",
                "the whole prompt as token ids, a placeholder for each file");
  options.value("--max-new-tokens", arguments->generate.max_new_tokens, "N", "generate at most this many tokens (256)",
                Bounds{0, 1e9});
  options.heading("Output");
  options.list("--outputs", arguments->run.outputs, "NAME,…", "the outputs to compute (all)");
  options.value("-o,--output", arguments->output, "FILE", "write the outputs: .npz, or .npy for one (not written)");
  options.writes({"--output"});
  add_session(options, arguments->run.session);
  options.flag("--placement", arguments->run.placement, "say which provider ran each node, and for how long");
  add_all(options, arguments->all, "list every node, with --placement");
  add_report(options, arguments->report);
  add_format(options, arguments->format);
  add_limits(options);
  options.common(
      {"--input", "--values", "--sizes", "--random", "--prompt", "--for", "--resize", "--outputs", "--output"});
  options.examples(
      "thaw run model.onnx photo.jpg --resize letterbox:640x640\n"
      "thaw run model.onnx --input pixel_values=image.npy --values 'grid_thw=1,22,30' -o out.npz\n"
      "thaw run onnx --image photo.jpg --prompt 'What is this?'");
  return [arguments, &options] { return run_once(*arguments, options); };
}

}  // namespace thaw::cli
