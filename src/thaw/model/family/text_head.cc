#include "thaw/model/family/text_head.h"

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "thaw/core/error.h"
#include "thaw/model/nn/layers.h"

namespace thaw::model {

using ir::DataType;

namespace {

struct Ending {
  std::string_view text;  // of the class's name, in lower case
  TextHead head;
};

constexpr Ending kEndings[] = {{"forcausallm", TextHead::kLogits},
                               {"forconditionalgeneration", TextHead::kLogits},
                               {"forsequenceclassification", TextHead::kScores},
                               {"fortokenclassification", TextHead::kTokenScores},
                               {"model", TextHead::kHiddenStates}};

// "Qwen2_5_VLModel" and "qwen2_5_vl" begin alike: with "qwen25vl".
std::string letters_of(std::string_view name) {
  std::string letters;
  for (const char c : name) {
    if (c >= 'A' && c <= 'Z') letters += static_cast<char>(c - 'A' + 'a');
    if ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9')) letters += c;
  }
  return letters;
}

// What stands behind the model's own name. A class of another name may have other layers, unless only its head is asked for.
std::string ending_of(std::string_view architecture, std::string_view model_type) {
  const std::string letters = letters_of(architecture), own = letters_of(model_type);
  if (letters.starts_with(own)) return letters.substr(own.size());
  const size_t head = architecture.find("For");
  return head == std::string_view::npos ? letters : letters_of(architecture.substr(head));
}

std::optional<TextHead> head_of(std::string_view ending) {
  for (const Ending& known : kEndings)
    if (known.text == ending) return known.head;
  return std::nullopt;
}

// The last token of each row that is no padding, 0 where all is padding: int64 [batch].
Var last_token(const HeadTokens& tokens, std::optional<int64_t> pad) {
  Net& net = *tokens.attention_mask.net;
  Var mask = tokens.attention_mask;
  if (tokens.past) mask = slice(mask, 1, unsqueeze(tokens.past, {0}), size_of(mask, 1));
  Var index = where(cast(mask, DataType::kBool), unsqueeze(arange(tokens.seq), {0}), net.integer(0));
  if (pad && tokens.ids) index = where(equal(tokens.ids, net.integer(*pad)), net.integer(0), index);
  return reduce_max(index, {1});
}

// [batch, seq, hidden] -> [batch, hidden]
Var take_last(Var hidden, const HeadTokens& tokens, std::optional<int64_t> pad) {
  Net& net = *hidden.net;
  const Here here(net, "last_token");
  return net.node("GatherND", {hidden, unsqueeze(last_token(tokens, pad), {1})}, hidden.type,
                  {{"batch_dims", int64_t{1}}});
}

std::optional<int64_t> pad_token(const Config& config) {
  for (const Config& of : {text_config(config), config})
    if (of.has("pad_token_id")) return of.integer({"pad_token_id"});
  return std::nullopt;
}

// As many as id2label names; transformers leaves it out where there are two.
int64_t num_labels(const Config& config) {
  if (const auto named = config.num_members("id2label"); named && *named > 0) return *named;
  return config.size_or({"num_labels"}, 2);
}

// The weights are read as they are stored, [vocabulary, hidden], so that a tied head and the embedding are one tensor.
Var logits_of(const Scope& text, Var hidden, const DecoderConfig& c) {
  Net& net = *hidden.net;
  const Scope own(net, text.weights(), "lm_head");
  const Here here(own);
  Var table = (c.tied ? text.in("embed_tokens") : own).var("weight", {c.vocabulary, c.hidden});
  Var rows = net.node("Gemm", {reshape(hidden, {-1, c.hidden}), table}, hidden.type, {{"transB", int64_t{1}}});
  return reshape(rows, concat({slice(shape_of(hidden), 0, 0, 2), net.integers({c.vocabulary})}, 0));
}

}  // namespace

TextHead text_head(const Config& config, const BuildOptions& options) {
  const auto pooled = [&](TextHead otherwise) {
    if (!options.pooling) return otherwise;
    return *options.pooling == Pooling::kLast ? TextHead::kPooled : TextHead::kHiddenStates;
  };
  const std::vector<std::string> architectures = config.texts_or({"architectures"}, {});
  if (architectures.empty()) return pooled(TextHead::kLogits);
  const std::string ending = ending_of(architectures.front(), config.text({"model_type"}));
  if (const auto head = head_of(ending)) return pooled(*head);
  const bool is_head = ending.starts_with("for");
  if (is_head && options.pooling) return pooled(TextHead::kHiddenStates);
  throw Error(ErrorCode::kUnsupported,
              {.what = fmt::format("the architecture '{}' is not known", architectures.front()),
               .where = config.where() + ", architectures",
               .expected = "…ForCausalLM or …ForConditionalGeneration (logits), …ForSequenceClassification or "
                           "…ForTokenClassification (scores), or the model's own …Model (hidden states)",
               .next = is_head ? "build its hidden states with --pooling none and apply the head to them, or export it "
                                 "at three sizes and join the exports with `thaw lift`"
                               : "export it at three sizes and join the exports with `thaw lift`"});
}

void add_text_head(TextHead head, const Config& config, const DecoderConfig& c, const Scope& text, Var hidden,
                   const HeadTokens& tokens) {
  Net& net = *hidden.net;
  // float32 whatever the model's type, so that what reads it reads one type.
  const auto add = [&](Var result, const char* name, const ir::Dims& dims) {
    net.output(cast(result, DataType::kFloat), name, dims);
  };
  const auto score = [&](Var x, int64_t labels, Bias bias) {
    return linear(Scope(net, text.weights(), "score"), x, c.hidden, labels, bias);
  };
  switch (head) {
    case TextHead::kLogits:
      return add(logits_of(text, hidden, c), "logits", {"batch", "seq", c.vocabulary});
    case TextHead::kScores: {
      const int64_t labels = num_labels(config);
      return add(score(take_last(hidden, tokens, pad_token(config)), labels, Bias::kNo), "logits", {"batch", labels});
    }
    case TextHead::kTokenScores: {
      const int64_t labels = num_labels(config);
      return add(score(hidden, labels, Bias::kYes), "logits", {"batch", "seq", labels});
    }
    case TextHead::kHiddenStates:
      return add(hidden, "last_hidden_state", {"batch", "seq", c.hidden});
    case TextHead::kPooled:
      return add(take_last(hidden, tokens, std::nullopt), "sentence_embedding", {"batch", c.hidden});
  }
}

}  // namespace thaw::model
