// thaw inputs: images, clips and recordings as the arrays that a model is fed.
#include "thaw/inputs.h"

#include <memory>

#include "thaw/cli/output.h"
#include "thaw/cli/shared_options.h"
#include "thaw/cli/verb.h"
#include "thaw/core/error.h"

namespace thaw::cli {
namespace {

constexpr std::string_view kInputsName = "inputs.npz";

struct InputsArguments {
  MediaArguments media;
  std::string output, model;
  bool dry_run = false;
  Format format = Format::kText;
};

int make_inputs(const InputsArguments& arguments, const Options& options) {
  InputsOptions how = arguments.media.how(options);
  how.image_model.model = arguments.model;
  const std::vector<std::filesystem::path> files = arguments.media.paths();
  std::string output = arguments.output;
  if (output.empty() && !arguments.dry_run) {
    const auto clips = arguments.media.clip_paths();
    const bool has_clip = !clips.empty() && !clips.front().empty();
    if (files.empty() && !has_clip)
      throw Error(ErrorCode::kInvalidArgument, {.what = "no file is given",
                                                .where = "thaw inputs",
                                                .expected = "images, recordings or --frames",
                                                .next = "name them; of a text alone, give -o too"});
    output = default_path(files.empty() ? clips.front().front().string() : files.front().string(), kInputsName);
  }
  print(inputs(files, how, arguments.dry_run ? std::string() : output), arguments.format);
  return kFine;
}

}  // namespace

Action define_inputs(Options& options) {
  auto arguments = std::make_shared<InputsArguments>();
  options.use("Use it to run or verify a model on real data, or to make samples; `run` and `verify` take files too.");
  options.arguments("FILE", arguments->media.files, "FILE", "images (JPEG, PNG) or recordings (WAV, FLAC)", false);
  options.heading("Inputs");
  add_media(options, arguments->media);
  options.value("--model", arguments->model, "FILE", "any image model: the ONNX file, whose input says what it takes");
  add_preprocessing(options);
  add_whole_images(options, arguments->media);
  add_output(options, arguments->output, kInputsName);
  add_dry_run(options, arguments->dry_run);
  add_format(options, arguments->format);
  add_limits(options, Runs::kTokenizer);
  rename_preprocessing(options);
  options.common({"--output", "--for", "--model", "--resize", "--mean", "--std", "--scale", "--text", "--frames"});
  options.examples(
      "thaw inputs photo.jpg page.png --for Qwen2.5-VL-3B-Instruct -o in.npz\n"
      "thaw inputs photo.jpg --model detector.onnx --resize letterbox:640x640\n"
      "thaw inputs talk.wav --for qwen3_asr -o in.npz");
  return [arguments, &options] { return make_inputs(*arguments, options); };
}

}  // namespace thaw::cli
