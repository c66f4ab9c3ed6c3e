// thaw inputs: images, clips and recordings as the arrays that a model is fed.
#include "thaw/inputs.h"

#include <memory>

#include "thaw/cli/output.h"
#include "thaw/cli/shared_options.h"
#include "thaw/cli/verb.h"
#include "thaw/verbs/samples.h"

namespace thaw::cli {
namespace {

struct InputsArguments {
  std::vector<std::string> files;
  std::vector<std::vector<std::string>> clips;
  std::string output, model;
  std::optional<double> frame_rate;
  bool whole_images = false;
  std::optional<std::string> text;
  Format format = Format::kText;
};

int make_inputs(const InputsArguments& arguments, const Options& options) {
  InputsOptions how = verbs::parse_feed_words(given_feed_words(options));
  for (const std::vector<std::string>& clip : arguments.clips) how.clips.emplace_back(clip.begin(), clip.end());
  how.frame_rate = arguments.frame_rate;
  how.image_model.model = arguments.model;
  how.whole_images = arguments.whole_images;
  how.text = arguments.text;
  const std::vector<std::filesystem::path> files(arguments.files.begin(), arguments.files.end());
  print(inputs(files, how, arguments.output), arguments.format);
  return kFine;
}

}  // namespace

Action define_inputs(Options& options) {
  auto arguments = std::make_shared<InputsArguments>();
  options.arguments("FILES", arguments->files, "FILE", "images (JPEG, PNG) or recordings (WAV, FLAC)", false);
  options.required("-o,--output", arguments->output, "FILE", "the .npz file to write");
  options.groups("--frames", arguments->clips, "FILE", "Qwen: frames of a clip, in their order; once for each clip");
  add_frame_rate(options, arguments->frame_rate);
  options.value("--model", arguments->model, "FILE", "any image model: the ONNX file, which says what its input is");
  options.choice<bool>("--as", arguments->whole_images, {{"patches", false}, {"image", true}},
                       "Qwen: patches and their grid, or whole images of one size, for a tower built so (patches)");
  options.value("--text", arguments->text, "TEXT", "the prompt: token ids by the checkpoint's tokenizer.json");
  add_feed_words(options);
  add_limits(options);
  add_format(options, arguments->format);
  options.examples(
      "thaw inputs photo.jpg page.png --for Qwen2.5-VL-3B-Instruct -o in.npz\n"
      "thaw inputs photo.jpg --for qwen2_5_vl --size 672 -o in.npz\n"
      "thaw inputs --for qwen3_vl --frames 0.png 1.png 2.png 3.png -o in.npz\n"
      "thaw inputs talk.wav --for qwen3_asr -o in.npz\n"
      "thaw inputs photo.jpg --model detector.onnx --resize letterbox:640x640 -o in.npz\n"
      "thaw inputs line.png --model rec.onnx --resize height:48 --mean 0.5 --std 0.5 -o in.npz");
  return [arguments, &options] { return make_inputs(*arguments, options); };
}

}  // namespace thaw::cli
