#include "thaw/cli/run_folder.h"

#include <charconv>

#include <fmt/format.h>

#include "thaw/cli/feed_options.h"
#include "thaw/cli/output.h"
#include "thaw/cli/verb.h"
#include "thaw/core/error.h"
#include "thaw/generate/generate.h"
#include "thaw/report/json_writer.h"
#include "thaw/report/printable.h"

namespace thaw::cli {
namespace {

std::vector<int64_t> ids_of(std::string_view text) {
  std::vector<int64_t> ids;
  while (true) {
    const std::string_view one = text.substr(0, text.find(','));
    int64_t id = -1;
    const auto [end, failed] = std::from_chars(one.data(), one.data() + one.size(), id);
    if (failed != std::errc() || end != one.data() + one.size() || id < 0)
      throw Error(ErrorCode::kInvalidArgument,
                  {.what = fmt::format("'{}' is no token", one), .where = "--tokens", .expected = "ids, as 1,22,333"});
    ids.push_back(id);
    if (one.size() == text.size()) return ids;
    text.remove_prefix(one.size() + 1);
  }
}

// Lines stay lines; what a terminal would obey is shown as escapes.
std::string shown(std::string_view text) {
  std::string safe;
  while (true) {
    const size_t end = text.find_first_of("\n\t");
    safe += report::printable(text.substr(0, end));
    if (end == std::string_view::npos) return safe;
    safe += text[end];
    text.remove_prefix(end + 1);
  }
}

double per_second(const Generated& made) {
  const double rest = made.seconds - made.seconds_to_first;
  return made.tokens.size() < 2 || rest <= 0 ? 0 : static_cast<double>(made.tokens.size() - 1) / rest;
}

// "24 tokens after 310 of the prompt: the first in 0.52 s, then 31.2 a second; 0.08 of the recording's time"
std::string what_it_took(const Generated& made) {
  std::string text =
      fmt::format("{} after {} of the prompt, the first in {:.2f} s", report::counted(made.tokens.size(), "token"),
                  made.prompt_tokens, made.seconds_to_first);
  if (const double rate = per_second(made); rate > 0) text += fmt::format(", then {:.1f} a second", rate);
  if (made.recorded_seconds > 0)
    text += fmt::format("; {:.3f} of the recording's {:.1f} s", made.seconds / made.recorded_seconds,
                        made.recorded_seconds);
  if (!made.has_ended) text += "; stopped by --max-new-tokens";
  return text + "\n";
}

std::string generated_json(const Generated& made) {
  std::string text;
  report::JsonWriter json(text);
  json.begin_object();
  json.member("text", made.text);
  json.member_array("tokens");
  for (const int64_t token : made.tokens) json.value(token);
  json.end_array();
  json.member("has_ended", made.has_ended);
  json.member("prompt_tokens", made.prompt_tokens);
  json.member("seconds", made.seconds);
  json.member("seconds_to_first", made.seconds_to_first);
  json.member("tokens_per_second", per_second(made));
  if (made.recorded_seconds > 0) json.member("real_time_factor", made.seconds / made.recorded_seconds);
  json.end_object();
  return text + "\n";
}

}  // namespace

bool FolderArguments::any() const {
  return !images.empty() || !recordings.empty() || !clips.empty() || generate.frame_rate || !checkpoint.empty() ||
         !tokens.empty() || !generate.prompt.empty() || generate.text;
}

void add_folder_options(CLI::App& app, FolderArguments& arguments) {
  app.add_option("--prompt", arguments.generate.prompt,
                 "for a built folder: what a user says, for the chat template to make a prompt of")
      ->type_name("WORDS");
  app.add_option_function<std::string>(
         "--text", [&arguments](const std::string& text) { arguments.generate.text = text; },
         "or the whole prompt, as the chat template writes it")
      ->type_name("TEXT");
  app.add_option("--tokens", arguments.tokens, "or the whole prompt as token ids, a placeholder for each file")
      ->type_name("1,22,333");
  add_list(app, "--image", arguments.images, "FILE", "images of the prompt, in their order");
  app.add_option("--frames", arguments.clips, "Qwen: frames of a clip, in their order; once for each clip")
      ->type_name("FILE");
  add_frame_rate(app, arguments.generate.frame_rate);
  add_list(app, "--audio", arguments.recordings, "FILE", "recordings of the prompt, in their order");
  app.add_option("--for", arguments.checkpoint,
                 "the checkpoint whose tokenizer and settings count (those in the folder)")
      ->type_name("CHECKPOINT");
  app.add_option("--max-new-tokens", arguments.generate.max_new_tokens, "tokens to make at most (256)")->type_name("N");
}

int run_folder(const std::string& folder, FolderArguments arguments, const SessionOptions& session, Format format) {
  GenerateOptions& how = arguments.generate;
  how.checkpoint = arguments.checkpoint;
  how.session = session;
  if (!arguments.tokens.empty()) how.tokens = ids_of(arguments.tokens);
  const bool has_pictures = !arguments.images.empty() || !arguments.clips.empty();
  if (has_pictures && !arguments.recordings.empty())
    throw Error(ErrorCode::kInvalidArgument, {.what = "images and recordings are given together",
                                              .where = "thaw run",
                                              .expected = "--image and --frames, or --audio: a folder has one tower"});
  for (const std::vector<std::string>& clip : arguments.clips) how.clips.emplace_back(clip.begin(), clip.end());
  const std::vector<std::string>& files = arguments.images.empty() ? arguments.recordings : arguments.images;
  how.files.assign(files.begin(), files.end());
  bool has_text = false;
  if (format == Format::kText)
    how.progress = [&](int64_t, std::string_view text) {
      has_text |= !text.empty();
      write_output(shown(text));
    };
  const Generated made = generating::generate(folder, how);
  if (format == Format::kJson) {
    write_output(generated_json(made));
    return kFine;
  }
  std::string end;
  if (!has_text)
    for (const int64_t token : made.tokens) end += fmt::format("{}{}", end.empty() ? "" : ",", token);
  write_output(end + "\n" + what_it_took(made));
  return kFine;
}

}  // namespace thaw::cli
