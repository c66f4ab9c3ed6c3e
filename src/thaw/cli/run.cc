// thaw run: feeds a model from arrays and says what comes out; or a folder of models with a prompt.
#include "thaw/run.h"

#include <filesystem>
#include <memory>
#include <optional>

#include <fmt/format.h>

#include "thaw/cli/output.h"
#include "thaw/cli/shared_options.h"
#include "thaw/cli/verb.h"
#include "thaw/core/error.h"
#include "thaw/core/printable.h"
#include "thaw/generate.h"
#include "thaw/verbs/texts.h"

namespace thaw::cli {
namespace {

// What is asked of a folder of models.
struct FolderArguments {
  std::vector<std::string> images, recordings;
  std::vector<std::vector<std::string>> clips;
  std::string checkpoint, tokens;
  GenerateOptions generate;

  bool any() const {
    return !images.empty() || !recordings.empty() || !clips.empty() || generate.frame_rate || !checkpoint.empty() ||
           !tokens.empty() || !generate.prompt.empty() || generate.text;
  }
};

struct RunArguments {
  std::string model, output;
  FeedArguments feeds;
  RunOptions run;
  FolderArguments folder;
  Format format = Format::kText;
};

int run_folder(const RunArguments& arguments) {
  const FolderArguments& given = arguments.folder;
  GenerateOptions how = given.generate;
  how.checkpoint = given.checkpoint;
  how.session = arguments.run.session;
  if (!given.tokens.empty()) how.tokens = verbs::parse_tokens(given.tokens);
  if ((!given.images.empty() || !given.clips.empty()) && !given.recordings.empty())
    throw Error(ErrorCode::kInvalidArgument, {.what = "images and recordings are given together",
                                              .where = "thaw run",
                                              .expected = "--image and --frames, or --audio: a folder has one tower"});
  for (const std::vector<std::string>& clip : given.clips) how.clips.emplace_back(clip.begin(), clip.end());
  const std::vector<std::string>& files = given.images.empty() ? given.recordings : given.images;
  how.files.assign(files.begin(), files.end());
  bool has_text = false;
  if (arguments.format == Format::kText)
    how.progress = [&](int64_t, std::string_view text) {
      has_text |= !text.empty();
      write_output(printable_prose(text));
    };
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

void refuse_no_folder(const RunArguments& arguments) {
  std::error_code failed;
  const bool is_there = std::filesystem::exists(arguments.model, failed);
  throw Error(is_there ? ErrorCode::kInvalidArgument : ErrorCode::kCannotRead,
              {.what = is_there ? "prompts are for the folder of a built checkpoint" : "there is no such folder",
               .where = arguments.model,
               .expected = "a folder that `thaw build --kv-cache` wrote"});
}

int run_once(const RunArguments& arguments) {
  std::error_code failed;
  if (std::filesystem::is_directory(arguments.model, failed)) return run_folder(arguments);
  if (arguments.folder.any()) refuse_no_folder(arguments);
  RunOptions how = arguments.run;
  how.model = arguments.model;
  how.feeds = arguments.feeds.feeds();
  how.output = arguments.output;
  print(run_model(how), arguments.format);
  return kFine;
}

void add_folder(Options& options, FolderArguments& arguments) {
  options.value("--prompt", arguments.generate.prompt, "WORDS",
                "for a built folder: what a user says, for the chat template to make a prompt of");
  options.value("--text", arguments.generate.text, "TEXT", "or the whole prompt, as the chat template writes it");
  options.value("--tokens", arguments.tokens, "1,22,333",
                "or the whole prompt as token ids, a placeholder for each file");
  options.list("--image", arguments.images, "FILE", "images of the prompt, in their order");
  options.groups("--frames", arguments.clips, "FILE", "Qwen: frames of a clip, in their order; once for each clip");
  add_frame_rate(options, arguments.generate.frame_rate);
  options.list("--audio", arguments.recordings, "FILE", "recordings of the prompt, in their order");
  options.value("--for", arguments.checkpoint, "CHECKPOINT",
                "the checkpoint whose tokenizer and settings count (those in the folder)");
  options.value("--max-new-tokens", arguments.generate.max_new_tokens, "N", "tokens to make at most (256)",
                Bounds{0, 1e9});
}

}  // namespace

Action define_run(Options& options) {
  auto arguments = std::make_shared<RunArguments>();
  add_model(options, arguments->model);
  add_run_options(options, arguments->feeds, arguments->run.session);
  options.value("--sizes", arguments->run.sizes, "SPEC",
                "sizes of the inputs that are not given, which are drawn: 'batch=3,height=320'");
  options.flag("--random", arguments->run.random,
               "draw the inputs that are not given, at sizes that the model runs at");
  options.list("--outputs", arguments->run.outputs, "NAME", "run for these outputs only");
  options.flag("--cast", arguments->run.cast, "convert inputs of another element type");
  options.value("-o,--output", arguments->output, "FILE", "write the outputs there: .npz, or .npy for one");
  add_folder(options, arguments->folder);
  add_limits(options);
  add_format(options, arguments->format);
  options.examples(
      "thaw run onnx --image photo.jpg --prompt 'What is this?'\n"
      "thaw run model.onnx --input pixel_values=image.npy --values 'grid_thw=1,22,30' -o out.npz\n"
      "thaw run model.onnx --sizes 'batch=3,height=320,width=256'");
  return [arguments] { return run_once(*arguments); };
}

}  // namespace thaw::cli
