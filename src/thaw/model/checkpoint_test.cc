#include "thaw/model/checkpoint.h"

#include <memory>
#include <span>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "thaw/model/checkpoint_testing.h"
#include "thaw/model/weights.h"

namespace thaw::model {
namespace {

using ir::DataType;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

const char kConfig[] = R"({"model_type": "any"})";

std::string error_at(const std::filesystem::path& folder) {
  return error_of([&] { Checkpoint::open(folder); });
}

TEST(Checkpoint, GivesTensorsByNameAndTellsWhichNobodyAskedFor) {
  const TempFolder folder;
  write_checkpoint(folder, kConfig, {tensor_of("a", {2}, {1, 2}), tensor_of("c", {1}, {3}), tensor_of("b", {1}, {4})});
  const Checkpoint checkpoint = Checkpoint::open(folder.path());
  EXPECT_THAT(floats_of(checkpoint.get("a", {2})), ElementsAre(1, 2));
  EXPECT_TRUE(checkpoint.has("b"));  // looking is not using
  EXPECT_FALSE(checkpoint.has("d"));
  EXPECT_FALSE(checkpoint.find("d"));
  EXPECT_THAT(checkpoint.unused(), ElementsAre("b", "c"));
}

TEST(Checkpoint, ReadsTheFilesOfAnIndex) {
  const TempFolder folder;
  folder.write("config.json", kConfig);
  folder.write("one.safetensors", safetensors_of({tensor_of("a", {1}, {1})}));
  folder.write("two.safetensors", safetensors_of({tensor_of("b", {1}, {2})}));
  const auto index = [&](const char* text) { folder.write("model.safetensors.index.json", text); };
  index(R"({"weight_map": {"a": "one.safetensors", "b": "two.safetensors"}})");
  EXPECT_THAT(floats_of(Checkpoint::open(folder.path()).get("b", {1})), ElementsAre(2));

  index(R"({"weight_map": {"a": "one.safetensors", "b": "one.safetensors"}})");
  EXPECT_THAT(error_at(folder.path()), AllOf(HasSubstr("'b' is not in one.safetensors"), HasSubstr("index.json")));
  index(R"({"weight_map": {"a": "three.safetensors"}})");
  EXPECT_THAT(error_at(folder.path()), HasSubstr("three.safetensors"));
  index(R"({"weight_map": {"a": "../one.safetensors"}})");
  EXPECT_THAT(error_at(folder.path()), HasSubstr("no file name"));
  index(R"({"weight_map": {"a": 3}})");
  EXPECT_THAT(error_at(folder.path()), HasSubstr("'a'"));
  index(R"({"weights": {}})");
  EXPECT_THAT(error_at(folder.path()), HasSubstr("no index"));

  folder.write("two.safetensors", safetensors_of({tensor_of("a", {1}, {2}), tensor_of("b", {1}, {2})}));
  index(R"({"weight_map": {"a": "one.safetensors", "b": "two.safetensors"}})");
  EXPECT_THAT(error_at(folder.path()), AllOf(HasSubstr("'a' is in "), HasSubstr("one.safetensors too")));
}

TEST(Checkpoint, OfMemoryReadsTheCallersBytes) {
  const TempFolder folder;
  folder.write("config.json", kConfig);
  auto values = std::make_shared<std::vector<float>>(std::vector<float>{1, 2});
  const std::weak_ptr<const void> kept = values;
  const auto bytes = [&] { return std::as_bytes(std::span(*values)); };
  CheckpointInMemory given{.folder = folder.path(), .weights = {{"a", DataType::kFloat, {2}, bytes(), values}}};
  {
    Checkpoint checkpoint = Checkpoint::in_memory(given);
    given.weights.clear();
    checkpoint.add_alias("model.", "");
    const ir::Tensor tensor = checkpoint.get("model.a", {2});
    EXPECT_EQ(tensor.bytes().data(), reinterpret_cast<const std::byte*>(values->data()));
    EXPECT_THAT(checkpoint.unused(), testing::IsEmpty());
    EXPECT_THAT(error_of([&] { static_cast<void>(checkpoint.get("b", {2})); }),
                AllOf(HasSubstr("'b' is missing"), HasSubstr("weights in memory")));
    values.reset();
    EXPECT_FALSE(kept.expired());
  }
  EXPECT_TRUE(kept.expired());
}

TEST(Checkpoint, OfMemoryRefusesWeightsThatAreNotWhole) {
  const TempFolder folder;
  const std::vector<float> values{1, 2};
  const auto bytes = std::as_bytes(std::span(values));
  const auto says = [&](std::vector<WeightBytes> weights) {
    return error_of([&] { Checkpoint::in_memory({.folder = folder.path(), .weights = std::move(weights)}); });
  };
  EXPECT_THAT(says({}), HasSubstr("config.json"));
  folder.write("config.json", kConfig);
  EXPECT_THAT(says({{"a", DataType::kFloat, {3}, bytes, nullptr}}),
              AllOf(HasSubstr("'a'"), HasSubstr("has 8 bytes"), HasSubstr("12")));
  EXPECT_THAT(says({{"a", DataType::kFloat, {2}, bytes, nullptr}, {"a", DataType::kFloat16, {4}, bytes, nullptr}}),
              HasSubstr("is there twice"));
  folder.write("config.json", R"({"model_type": "any", "quantization_config": {"quant_method": "gptq"}})");
  EXPECT_THAT(says({}), HasSubstr("gptq"));
}

TEST(Checkpoint, WhatIsNoCheckpointIsRefused) {
  const TempFolder folder;
  EXPECT_THAT(error_at(folder / "nowhere"), HasSubstr("no such folder"));
  EXPECT_THAT(error_at(folder.write("file", "")), HasSubstr("is not a folder"));
  EXPECT_THAT(error_at(folder.path()), HasSubstr("config.json"));
  folder.write("config.json", kConfig);
  EXPECT_THAT(error_at(folder.path()), HasSubstr("no weights"));
  write_checkpoint(folder, R"({"quantization_config": {"quant_method": "awq"}})", {});
  EXPECT_THAT(error_at(folder.path()), AllOf(HasSubstr("quantized"), HasSubstr("awq")));
}

TEST(Checkpoint, ATensorThatDoesNotFitIsNamed) {
  const TempFolder folder;
  ir::Tensor whole = ir::Tensor::from_bytes("whole", DataType::kInt32, {1}, std::vector<std::byte>(4));
  write_checkpoint(folder, kConfig, {tensor_of("a", {2, 3}, {1, 2, 3, 4, 5, 6}), whole});
  const Checkpoint checkpoint = Checkpoint::open(folder.path());
  const auto says = [&](std::string_view name, const std::vector<int64_t>& shape) {
    return error_of([&] { static_cast<void>(checkpoint.get(name, shape)); });
  };
  EXPECT_THAT(says("a", {3, 2}), AllOf(HasSubstr("'a'"), HasSubstr("[2, 3]"), HasSubstr("[3, 2]")));
  EXPECT_THAT(says("b", {7}), AllOf(HasSubstr("'b' is missing"), HasSubstr("[7]")));
  EXPECT_THAT(says("whole", {1}), AllOf(HasSubstr("'whole'"), HasSubstr("int32")));
}

TEST(Checkpoint, AliasesStandForPartsOfNamesAloneAndTogether) {
  const TempFolder folder;
  write_checkpoint(folder, kConfig,
                   {tensor_of("visual.up.0.weight", {1}, {1}), tensor_of("model.visual.up.1.weight", {1}, {2}),
                    tensor_of("visual.first.2.base.weight", {1}, {3}), tensor_of("model.visual.x", {1}, {4}),
                    tensor_of("visual.x", {1}, {5})});
  Checkpoint checkpoint = Checkpoint::open(folder.path());
  checkpoint.add_alias("model.visual.", "visual.");
  checkpoint.add_alias(".up.", ".first.");
  checkpoint.add_alias(".weight", ".base.weight");
  const auto value = [&](std::string_view name) { return floats_of(checkpoint.get(name, {1})).front(); };
  EXPECT_EQ(value("model.visual.up.0.weight"), 1);
  EXPECT_EQ(value("model.visual.up.1.weight"), 2);
  EXPECT_EQ(value("model.visual.up.2.weight"), 3);
  EXPECT_EQ(value("model.visual.x"), 4);  // its own name comes first
  EXPECT_FALSE(checkpoint.has("model.visual.up.3.weight"));
  EXPECT_THAT(checkpoint.unused(), ElementsAre("visual.x"));
}

TEST(Weights, MergeTheAdapterThatStandsBesideThem) {
  const TempFolder folder;
  write_checkpoint(
      folder, kConfig,
      {tensor_of("up.weight", {2, 3}, {1, 2, 3, 4, 5, 6}), tensor_of("up.lora_A.vision.weight", {1, 3}, {1, 0, 2}),
       tensor_of("up.lora_B.vision.weight", {2, 1}, {1, -1}), tensor_of("up.lora_A.speech.weight", {1, 3}, {7, 7, 7}),
       tensor_of("up.lora_B.speech.weight", {2, 1}, {7, 7}), tensor_of("up.bias", {2}, {8, 9}),
       tensor_of("down.weight", {1, 2}, {1, 2})});
  const Checkpoint checkpoint = Checkpoint::open(folder.path());
  const Weights weights(checkpoint, Adapter{"vision", 2.0});
  const auto values = [](const Weight& weight) { return floats_of(weight.tensor("w", DataType::kFloat)); };
  EXPECT_THAT(values(weights.get("up.weight", {2, 3})), ElementsAre(3, 2, 7, 2, 5, 2));
  EXPECT_THAT(values(weights.get("up.bias", {2})), ElementsAre(8, 9));
  EXPECT_THAT(values(weights.get("down.weight", {1, 2})), ElementsAre(1, 2));
  EXPECT_THAT(values(Weights(checkpoint).get("up.weight", {2, 3})), ElementsAre(1, 2, 3, 4, 5, 6));
  EXPECT_THAT(checkpoint.unused(), ElementsAre("up.lora_A.speech.weight", "up.lora_B.speech.weight"));
}

TEST(Weights, AnAdapterThatDoesNotFitIsNamed) {
  const TempFolder folder;
  const auto says = [&](std::vector<ir::Tensor> adapter) {
    adapter.push_back(tensor_of("up.weight", {2, 2}, {1, 2, 3, 4}));
    write_checkpoint(folder, kConfig, adapter);
    const Checkpoint checkpoint = Checkpoint::open(folder.path());
    const Weights weights(checkpoint, Adapter{"vision", 1.0});
    return error_of([&] { static_cast<void>(weights.get("up.weight", {2, 2})); });
  };
  const ir::Tensor down = tensor_of("up.lora_A.vision.weight", {1, 2}, {1, 1});
  EXPECT_THAT(says({down}), HasSubstr("'up.lora_B.vision.weight' is missing"));
  EXPECT_THAT(says({down, tensor_of("up.lora_B.vision.weight", {1, 2}, {1, 1})}), HasSubstr("[1, 2]"));
  EXPECT_THAT(says({tensor_of("up.lora_A.vision.weight", {2}, {1, 1})}), HasSubstr("1 axes"));
}

}  // namespace
}  // namespace thaw::model
