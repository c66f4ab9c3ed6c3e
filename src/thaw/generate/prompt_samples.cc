#include "thaw/generate/prompt_samples.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "thaw/core/error.h"
#include "thaw/generate/embedder.h"
#include "thaw/generate/greedy.h"
#include "thaw/rewrite/join_models.h"

namespace thaw::generating {
namespace {

constexpr const char *kEmbedding = "embedding", *kText = "text";

// A list of one goes with each of the others.
size_t count_of_samples(const PromptOptions& options) {
  const size_t words = options.prompts.empty() ? options.tokens.size() : options.prompts.size();
  if (options.prompts.empty() == options.tokens.empty())
    throw Error(ErrorCode::kInvalidArgument,
                {.what = words == 0 ? "no prompt is given" : "prompts are given as words and as token ids",
                 .where = "the prompts",
                 .expected = "--prompt or --tokens, once for each sample"});
  if (options.files_per_prompt < 1 || static_cast<int64_t>(options.files.size()) % options.files_per_prompt != 0)
    throw Error(ErrorCode::kInvalidArgument,
                {.what = fmt::format("{} files are no groups of {}", options.files.size(), options.files_per_prompt),
                 .where = "the prompts",
                 .expected = "as many files for each prompt"});
  const size_t groups = options.files.size() / static_cast<size_t>(options.files_per_prompt);
  const size_t count = std::max({words, groups, options.clips.size()});
  for (const size_t one : {words, groups, options.clips.size()})
    if (one > 1 && one != count)
      throw Error(ErrorCode::kInvalidArgument,
                  {.what = fmt::format(
                       "there are {} prompts, {} files{} and {} clips", words, options.files.size(),
                       options.files_per_prompt > 1 ? fmt::format(" in groups of {}", options.files_per_prompt) : "",
                       options.clips.size()),
                   .where = "the prompts",
                   .expected = "as many of each, or one for all"});
  return count;
}

GenerateOptions sample_of(const PromptOptions& options, size_t i) {
  const auto of = [i](const auto& list) { return list[list.size() == 1 ? 0 : i]; };
  GenerateOptions asked{.frame_rate = options.frame_rate, .max_new_tokens = options.answer_tokens};
  if (!options.files.empty()) {
    const auto each = static_cast<size_t>(options.files_per_prompt);
    const size_t first = options.files.size() == each ? 0 : i * each;
    asked.files.assign(options.files.begin() + static_cast<ptrdiff_t>(first),
                       options.files.begin() + static_cast<ptrdiff_t>(first + each));
  }
  if (!options.clips.empty()) asked.clips = {of(options.clips)};
  if (!options.prompts.empty()) asked.prompt = of(options.prompts);
  if (!options.tokens.empty()) asked.tokens = of(options.tokens);
  return asked;
}

std::string name_of_sample(const GenerateOptions& asked, size_t i) {
  std::string name = fmt::format("prompt {}", i + 1);
  for (const std::filesystem::path& file : asked.files) name += fmt::format(", {}", file.filename().string());
  for (const auto& frames : asked.clips)
    if (!frames.empty()) name += fmt::format(", {}", frames.front().parent_path().filename().string());
  return name;
}

// Behind a prompt of this many tokens; the last of them predicts the first of the answer.
Array answer_positions(size_t prompt, size_t predicted) {
  std::vector<int64_t> positions(predicted);
  for (size_t k = 0; k < predicted; ++k) positions[k] = static_cast<int64_t>(prompt + k) - 1;
  return Array::from_int64(ir::DataType::kInt64, {static_cast<int64_t>(predicted)}, positions);
}

// What is fed under one name, under another.
void take(Arrays& from, const std::string& name, const std::string& as, const BuiltFolder& built, Arrays& to) {
  const auto array = from.find(name);
  if (array == from.end())
    throw Error(ErrorCode::kUnsupported, {.what = fmt::format("the models take '{}', which no prompt gives", name),
                                          .where = built.text.parent_path().string(),
                                          .expected = "models that `thaw build --kv-cache` wrote"});
  to.emplace(as, std::move(array->second));
}

}  // namespace

std::vector<Part> parts_of(const BuiltFolder& built, bool has_files) {
  std::vector<Part> parts;
  if (has_files && built.tower) parts.push_back({built.tower->stem().string(), *built.tower});
  if (built.embedding) parts.push_back({kEmbedding, *built.embedding});
  parts.push_back({kText, built.text});
  return parts;
}

std::unique_ptr<ir::Model> joined_parts(const std::vector<Part>& parts,
                                        const std::vector<std::unique_ptr<ir::Model>>& models) {
  std::vector<rewrite::NamedModel> named;
  for (size_t i = 0; i < parts.size(); ++i) named.push_back({parts[i].name, models[i].get()});
  std::unique_ptr<ir::Model> joined = rewrite::join_models(named);
  ir::Graph& graph = *joined->graph;
  ir::Value* logits = nullptr;
  for (size_t i = 0; i < models.back()->graph->outputs().size(); ++i)
    if (models.back()->graph->outputs()[i]->name() == kLogits) logits = graph.outputs()[i];
  if (!logits)
    throw Error(ErrorCode::kUnsupported,
                {.what = "it has no output 'logits'", .where = parts.back().path.string(), .expected = "a decoder"});
  while (!graph.outputs().empty()) graph.remove_output(static_cast<int>(graph.outputs().size()) - 1);
  ir::Value* positions =
      graph.add_input(kAnswerPositions,
                      ir::Type::tensor(ir::DataType::kInt64,
                                       std::vector{ir::DeclaredDim{.value = {}, .param = "answer", .denotation = {}}}));
  ir::Node* gather = graph.add_node("Gather", "", {logits, positions}, {graph.add_value(kLogits)}, "answer");
  gather->set_attribute({"axis", int64_t{1}});
  gather->output(0)->set_type(ir::Type::tensor(models.back()->graph->find(kLogits)->type.elem_type));
  graph.add_output(gather->output(0));
  return joined;
}

PromptSamples::PromptSamples(const BuiltFolder& built, const PromptOptions& options)
    : built_(built), parts_(parts_of(built, options.has_media())) {
  if (options.answer_tokens < 1)
    throw Error(ErrorCode::kInvalidArgument,
                {.what = "answers of no tokens are asked for", .where = "--max-new-tokens", .expected = "1 or more"});
  const size_t count = count_of_samples(options);
  if (built_.embedding) no_features_ = no_features(*ir::load(*built_.embedding));
  decoder_ = std::make_unique<DecoderInputs>(*ir::load(built_.text));
  PromptMaker maker(built_);
  GreedyDecoding decoding(built_, {}, false);
  for (size_t i = 0; i < count; ++i) {
    Answered& one = answered_.emplace_back();
    one.asked = sample_of(options, i);
    one.name = name_of_sample(one.asked, i);
    int64_t token = decoding.first(maker.make(one.asked));
    for (one.predicted = 1; !decoding.is_end(token) && one.predicted < static_cast<size_t>(options.answer_tokens);
         ++one.predicted) {
      one.answer.push_back(token);
      token = decoding.next(token);
    }
  }
}

Arrays PromptSamples::feeds(size_t i) const {
  const Answered& one = answered_[i];
  Prompt prompt = PromptMaker(built_).make(one.asked);
  Arrays made;
  made.emplace(kAnswerPositions, answer_positions(prompt.ids.size(), one.predicted));
  for (const int64_t token : one.answer) {
    prompt.ids.push_back(token);
    for (std::vector<int64_t>& axis : prompt.positions.axes) axis.push_back(prompt.positions.next);
    ++prompt.positions.next;
  }
  const auto add = [&](const std::string& part, Arrays arrays) {
    for (auto& [name, array] : arrays) made.insert_or_assign(rewrite::name_in_joined(part, name), std::move(array));
  };
  Arrays ids;
  ids.emplace(kIds, ids_array(prompt.ids));
  add(kText, decoder_->feeds(ids, prompt.positions, 0, static_cast<int64_t>(prompt.ids.size()), 0));
  if (built_.embedding) add(kEmbedding, no_features_);
  if (built_.embedding) add(kEmbedding, ids);
  if (parts_.front().path == built_.tower) add(parts_.front().name, std::move(prompt.arrays));
  return made;
}

Arrays PromptSamples::read(size_t i, const std::vector<std::string>& inputs) const {
  Arrays made = feeds(i), arrays;
  for (const std::string& name : inputs) take(made, name, name, built_, arrays);
  return arrays;
}

PartSamples::PartSamples(const BuiltFolder& built, const PromptOptions& options, const std::string& part)
    : prompts_(built, options), part_(part) {
  for (const Part& one : prompts_.parts()) {
    if (one.name == part) return;
    before_.emplace_back(one, std::make_unique<run::Session>(one.path, SessionOptions{}));
  }
  throw Error(ErrorCode::kInvalidArgument,
              {.what = fmt::format("the prompts do not run {}.onnx", part),
               .where = built.text.parent_path().string(),
               .expected = !options.has_media() ? "embedding.onnx or text.onnx, as no images or recordings are given"
                                                : "vision.onnx, audio.onnx, embedding.onnx or text.onnx"});
}

Arrays PartSamples::read(size_t i, const std::vector<std::string>& inputs) const {
  Arrays made = prompts_.feeds(i), results;
  // As the joined model has it: what an earlier part outputs comes before what is fed.
  const auto of_part = [&](const std::string& part, const std::string& name, Arrays& to) {
    if (const auto result = results.find(name); result != results.end()) {
      to.emplace(name, result->second);
    } else {
      take(made, rewrite::name_in_joined(part, name), name, prompts_.built(), to);
    }
  };
  for (const auto& [part, session] : before_) {
    Arrays fed;
    for (const run::Port& input : session->inputs())
      if (!input.has_default) of_part(part.name, input.name, fed);
    for (auto& [name, array] : session->run(fed)) results.insert_or_assign(name, array);
  }
  Arrays arrays;
  for (const std::string& name : inputs) of_part(part_, name, arrays);
  return arrays;
}

}  // namespace thaw::generating
