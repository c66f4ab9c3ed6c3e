// The families, a line each.
#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "thaw/core/error.h"
#include "thaw/model/family/decoder.h"
#include "thaw/model/family/embedding.h"
#include "thaw/model/family/family.h"
#include "thaw/model/family/phi4_names.h"
#include "thaw/model/family/phi4_vision.h"
#include "thaw/model/family/qwen3_asr_audio.h"
#include "thaw/model/family/qwen_vision.h"

namespace thaw::model {
namespace {

// transformers moved the vision tower and the decoder of the VL models into "model."; Qwen2-VL and Qwen2.5-VL are still
// saved as they were.
void name_qwen2_vl(Checkpoint& checkpoint) {
  checkpoint.add_alias("visual.", "model.visual.");
  checkpoint.add_alias("model.", "model.language_model.");
  checkpoint.add_alias("model.", "language_model.");
}

void name_qwen3_vl(Checkpoint& checkpoint) {
  checkpoint.add_alias("model.visual.", "visual.");
  checkpoint.add_alias("model.language_model.", "model.");
  checkpoint.add_alias("model.", "");
}

// What has no head (Qwen3Model) is saved without the name that it has in what has one (Qwen3ForCausalLM).
void name_text(Checkpoint& checkpoint) { checkpoint.add_alias("model.", ""); }

void name_qwen3_asr(Checkpoint& checkpoint) {
  checkpoint.add_alias("model.multi_modal_projector.linear_1.", "thinker.audio_tower.proj1.");
  checkpoint.add_alias("model.multi_modal_projector.linear_2.", "thinker.audio_tower.proj2.");
  checkpoint.add_alias("model.audio_tower.", "thinker.audio_tower.");
  checkpoint.add_alias("model.language_model.", "thinker.model.");
  checkpoint.add_alias("lm_head.", "thinker.lm_head.");
  checkpoint.add_alias("model.", "");
}

}  // namespace

const std::vector<Family>& families() {
  constexpr Part kText{"text", build_decoder}, kEmbedding{"embedding", build_qwen_vl_embedding};
  static const std::vector<Family> all{
      {{"qwen2_vl"}, name_qwen2_vl, nullptr, {{"vision", build_qwen2_vl_vision}, kEmbedding, kText}, true},
      {{"qwen2_5_vl"}, name_qwen2_vl, nullptr, {{"vision", build_qwen2_5_vl_vision}, kEmbedding, kText}, true},
      {{"qwen3_vl"}, name_qwen3_vl, nullptr, {{"vision", build_qwen3_vl_vision}, kEmbedding, kText}, true},
      {{"qwen3_asr"},
       name_qwen3_asr,
       nullptr,
       {{"audio", build_qwen3_asr_audio}, {"embedding", build_qwen3_asr_embedding}, kText}},
      {{"phi4_multimodal", "phi4mm"},
       name_phi4,
       phi4_adapter,
       {{"vision", build_phi4_vision}, {"embedding", build_phi4_embedding}, kText}},
      {{"qwen2", "qwen3", "phi3", "llama", "mistral"}, name_text, nullptr, {kText}},
  };
  return all;
}

const Family& family_of(const Checkpoint& checkpoint) {
  const std::string type = checkpoint.config().text({"model_type"});
  std::vector<std::string_view> known;
  for (const Family& family : families()) {
    if (std::find(family.model_types.begin(), family.model_types.end(), type) != family.model_types.end())
      return family;
    known.insert(known.end(), family.model_types.begin(), family.model_types.end());
  }
  throw Error(ErrorCode::kUnsupported,
              {.what = fmt::format("models of the type '{}' are not known", type),
               .where = checkpoint.config().where(),
               .expected = fmt::format("one of {}", fmt::join(known, ", ")),
               .next = "export the model at three sizes, as with torch.onnx, and join the exports with `thaw lift`"});
}

}  // namespace thaw::model
