#include "thaw/model/family/phi4_names.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "thaw/model/checkpoint_testing.h"

namespace thaw::model {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr char kStem[] = "model.layers.0.self_attn.qkv_proj";

ir::Tensor named(std::string_view end, std::vector<int64_t> dims, const std::vector<float>& values) {
  return tensor_of(kStem + std::string(end), std::move(dims), values);
}

std::vector<float> merged(Checkpoint& checkpoint, Lora lora) {
  name_phi4(checkpoint);
  BuildOptions options;
  options.lora = lora;
  const Weights weights(checkpoint, phi4_adapter(checkpoint, options));
  return floats_of(weights.get(kStem + std::string(".weight"), {2, 1}).tensor("w", ir::DataType::kFloat));
}

std::vector<float> merged(const TempFolder& folder, Lora lora) {
  Checkpoint checkpoint = Checkpoint::open(folder.path());
  return merged(checkpoint, lora);
}

TEST(Phi4Names, OnTheHubBothAdaptersStandAmongTheWeights) {
  const TempFolder folder;
  write_checkpoint(folder, R"({"vision_lora": {"r": 2, "lora_alpha": 8}, "speech_lora": {"r": 1, "lora_alpha": 3}})",
                   {named(".base_layer.weight", {2, 1}, {10, 20}), named(".lora_A.vision.weight", {2, 1}, {1, 2}),
                    named(".lora_B.vision.weight", {2, 2}, {1, 0, 0, 1}), named(".lora_A.speech.weight", {1, 1}, {1}),
                    named(".lora_B.speech.weight", {2, 1}, {1, -1})});
  EXPECT_THAT(merged(folder, Lora::kVision), ElementsAre(10 + 4 * 1, 20 + 4 * 2));
  EXPECT_THAT(merged(folder, Lora::kSpeech), ElementsAre(13, 17));
  EXPECT_THAT(merged(folder, Lora::kNone), ElementsAre(10, 20));
}

// As transformers has them: a folder for each adapter.
class SeparateAdapter : public testing::Test {
 protected:
  SeparateAdapter() {
    write_checkpoint(folder, "{}", {named(".weight", {2, 1}, {10, 20})});
    std::filesystem::create_directory(folder / "vision-lora");
    write("base_model.model.", R"({"peft_type": "LORA", "r": 2, "lora_alpha": 8, "rank_pattern": {}})");
  }
  void write(const std::string& prefix, std::string_view config) {
    folder.write("vision-lora/adapter_config.json", config);
    folder.write("vision-lora/adapter_model.safetensors",
                 safetensors_of({tensor_of(prefix + kStem + ".lora_A.weight", {2, 1}, {1, 2}),
                                 tensor_of(prefix + kStem + ".lora_B.weight", {2, 2}, {1, 0, 0, 1})}));
  }
  TempFolder folder;
};

TEST_F(SeparateAdapter, IsReadFromItsFolder) {
  Checkpoint checkpoint = Checkpoint::open(folder.path());
  EXPECT_THAT(merged(checkpoint, Lora::kVision), ElementsAre(14, 28));
  EXPECT_THAT(checkpoint.unused(), IsEmpty());
  EXPECT_THAT(merged(folder, Lora::kNone), ElementsAre(10, 20));
  EXPECT_THAT(merged(folder, Lora::kSpeech), ElementsAre(10, 20));  // there is none
}

TEST_F(SeparateAdapter, MayHavePlainNamesAndAScaleByTheRootOfTheRank) {
  write("", R"({"r": 4, "lora_alpha": 8, "use_rslora": true})");
  EXPECT_THAT(merged(folder, Lora::kVision), ElementsAre(14, 28));
}

TEST_F(SeparateAdapter, OfAnotherKindIsRefused) {
  const auto says = [&](std::string_view config) {
    write("", config);
    return error_of([&] { merged(folder, Lora::kVision); });
  };
  EXPECT_THAT(says(R"({"peft_type": "IA3", "r": 2, "lora_alpha": 8})"), HasSubstr("'peft_type' is 'IA3'"));
  EXPECT_THAT(says(R"({"use_dora": true, "r": 2, "lora_alpha": 8})"), HasSubstr("'use_dora'"));
  EXPECT_THAT(says(R"({"rank_pattern": {"o_proj": 4}, "r": 2, "lora_alpha": 8})"), HasSubstr("'rank_pattern'"));
  EXPECT_THAT(says(R"({"lora_alpha": 8})"), HasSubstr("'r' is missing"));
  EXPECT_EQ(says(R"({"r": 2, "lora_alpha": 8})"), "no error");
  folder.write("vision-lora/adapter_model.safetensors", safetensors_of({tensor_of("magnitude", {1}, {1})}));
  EXPECT_THAT(error_of([&] { merged(folder, Lora::kVision); }), HasSubstr("'magnitude'"));
}

}  // namespace
}  // namespace thaw::model
