// What follows the layers of a text model, as `architectures` of config.json says: logits of the next token, scores of a
// text or of its tokens, or nothing.
//
//   …ForCausalLM, …ForConditionalGeneration  logits             float32 [batch, seq, vocabulary]
//   …ForSequenceClassification               logits             float32 [batch, labels], of each row's last token
//   …ForTokenClassification                  logits             float32 [batch, seq, labels]
//   …Model                                   last_hidden_state  float32 [batch, seq, hidden]
//   with Pooling::kLast                      sentence_embedding float32 [batch, hidden], of each row's last token
//
// The last token is the last that attention_mask has. Scores leave those out, too, that are config.json's pad_token_id, as
// transformers does.
#pragma once

#include "thaw/model/family/decoder_config.h"
#include "thaw/model/nn/scope.h"

namespace thaw::model {

enum class TextHead : uint8_t { kLogits, kScores, kTokenScores, kHiddenStates, kPooled };

// BuildOptions::pooling counts before config.json. Throws thaw::Error for an architecture that is not known.
TextHead text_head(const Config& config, const BuildOptions& options);

// The tokens of a call.
struct HeadTokens {
  Var ids;             // int64 [batch, seq]; none where the model takes embeddings
  Var attention_mask;  // int64 [batch, past + seq]
  Var seq, past;       // int64 scalars; past: none without a cache
};

// Adds the head's output, of hidden states [batch, seq, hidden] behind the last norm.
void add_text_head(TextHead head, const Config& config, const DecoderConfig& c, const Scope& text, Var hidden,
                   const HeadTokens& tokens);

}  // namespace thaw::model
