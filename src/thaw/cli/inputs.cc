// thaw inputs: images, clips and recordings as the arrays that a model is fed.
#include <memory>

#include <fmt/format.h>

#include "thaw/cli/array_json.h"
#include "thaw/cli/feed_options.h"
#include "thaw/cli/limit_options.h"
#include "thaw/cli/options.h"
#include "thaw/cli/output.h"
#include "thaw/cli/verb.h"
#include "thaw/core/error.h"
#include "thaw/media/input_maker.h"
#include "thaw/report/json_writer.h"
#include "thaw/report/printable.h"
#include "thaw/run/array.h"
#include "thaw/run/npz.h"

namespace thaw::cli {
namespace {

struct InputsArguments {
  std::vector<std::string> files;
  std::vector<std::vector<std::string>> clips;
  std::string output;
  InputsOptions inputs;
  Format format = Format::kText;
};

std::string size_text(const ImageSize& size) { return fmt::format("{} x {}", size.width, size.height); }

std::string file_text(const PreparedFile& file) {
  std::string text = report::printable(file.name) + "  ";
  if (file.to.width > 0) {
    text += size_text(file.from);
    if (file.to != file.from) text += " -> " + size_text(file.to);
    if (file.frames > 0) text += fmt::format(", {}", report::counted(static_cast<uint64_t>(file.frames), "frame"));
  } else {
    text += fmt::format("{:.2f} s, {}", file.seconds, report::counted(static_cast<uint64_t>(file.frames), "frame"));
  }
  if (file.tokens > 0) text += fmt::format(", {}", report::counted(static_cast<uint64_t>(file.tokens), "token"));
  return text + "\n";
}

std::string inputs_text(const PreparedInputs& made, const std::string& output) {
  std::string text;
  for (const PreparedFile& file : made.files) text += file_text(file);
  for (const auto& [name, array] : made.arrays)
    text += fmt::format("{}  {}\n", report::printable(name), run::describe(array));
  for (const std::string& warning : made.warnings) text += fmt::format("warning: {}\n", report::printable(warning));
  return text + fmt::format("wrote {}\n", report::printable(output));
}

void write_size(report::JsonWriter& json, std::string_view name, const ImageSize& size) {
  json.member_array(name);
  json.value(size.width);
  json.value(size.height);
  json.end_array();
}

std::string inputs_json(const PreparedInputs& made, const std::string& output) {
  std::string text;
  report::JsonWriter json(text);
  json.begin_object();
  json.member_array("inputs");
  for (const PreparedFile& file : made.files) {
    json.begin_object(report::JsonWriter::Layout::kLine);
    json.member("file", file.name);
    if (file.to.width > 0) {
      write_size(json, "from", file.from);
      write_size(json, "to", file.to);
    } else {
      json.member("seconds", file.seconds);
    }
    if (file.frames > 0) json.member("frames", file.frames);
    if (file.tokens > 0) json.member("tokens", file.tokens);
    json.end_object();
  }
  json.end_array();
  json.member_array("arrays");
  for (const auto& [name, array] : made.arrays) {
    json.begin_object(report::JsonWriter::Layout::kLine);
    write_type(json, name, array);
    json.end_object();
  }
  json.end_array();
  json.member("output", output);
  json.member_array("warnings");
  for (const std::string& warning : made.warnings) json.value(warning);
  json.end_array();
  json.end_object();
  return text + "\n";
}

int make_inputs(const InputsArguments& options) {
  InputsOptions how = options.inputs;
  for (const std::vector<std::string>& clip : options.clips) how.clips.emplace_back(clip.begin(), clip.end());
  const std::vector<std::filesystem::path> files(options.files.begin(), options.files.end());
  if (!options.output.ends_with(".npz"))
    throw Error(
        ErrorCode::kInvalidArgument,
        {.what = "the inputs are several arrays", .where = options.output, .expected = "a name that ends in .npz"});
  const PreparedInputs made = media::InputMaker(std::move(how)).make(files);
  run::write_npz_file(options.output, made.arrays);
  write_output(options.format == Format::kJson ? inputs_json(made, options.output) : inputs_text(made, options.output));
  return kFine;
}

}  // namespace

Action define_inputs(CLI::App& app) {
  auto options = std::make_shared<InputsArguments>();
  app.add_option("FILES", options->files, "images (JPEG, PNG) or recordings (WAV, FLAC)")->type_name("FILE");
  app.add_option("-o,--output", options->output, "the .npz file to write")->type_name("FILE")->required();
  app.add_option("--frames", options->clips, "Qwen: frames of a clip, in their order; once for each clip")
      ->type_name("FILE");
  add_frame_rate(app, options->inputs.frame_rate);
  app.add_option("--model", options->inputs.image_model.model,
                 "any image model: the ONNX file, which says what its input is")
      ->type_name("FILE");
  add_choice<bool>(app, "--as", options->inputs.whole_images, {{"patches", false}, {"image", true}},
                   "Qwen: patches and their grid, or whole images of one size, for a tower built so (patches)");
  app.add_option("--text", options->inputs.text, "the prompt: token ids by the checkpoint's tokenizer.json")
      ->type_name("TEXT");
  add_feed_options(app, options->inputs);
  add_limits(app);
  add_format(app, options->format);
  app.footer(
      "thaw inputs photo.jpg page.png --for Qwen2.5-VL-3B-Instruct -o in.npz\n"
      "thaw inputs photo.jpg --for qwen2_5_vl --size 672 -o in.npz\n"
      "thaw inputs --for qwen3_vl --frames 0.png 1.png 2.png 3.png -o in.npz\n"
      "thaw inputs talk.wav --for qwen3_asr -o in.npz\n"
      "thaw inputs photo.jpg --model detector.onnx --resize letterbox:640x640 -o in.npz\n"
      "thaw inputs line.png --model rec.onnx --resize height:48 --mean 0.5 --std 0.5 -o in.npz");
  return [options] { return make_inputs(*options); };
}

}  // namespace thaw::cli
