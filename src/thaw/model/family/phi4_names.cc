#include "thaw/model/family/phi4_names.h"

#include <cmath>
#include <filesystem>
#include <string>

#include <fmt/format.h>

namespace thaw::model {
namespace {

// What the file of a separate adapter, as the library PEFT saves it, says about its scale.
double adapter_scale(const Config& config) {
  if (config.text_or({"peft_type"}, "LORA") != "LORA")
    config.fail("peft_type", fmt::format("is '{}'", config.text({"peft_type"})), "LORA");
  if (config.boolean_or({"use_dora"}, false)) config.fail("use_dora", "is true", "an adapter without magnitudes");
  for (const std::string_view key : {"rank_pattern", "alpha_pattern"}) {
    const auto pattern = config.find_object(key);
    if (pattern && !pattern->empty()) config.fail(key, "gives layers ranks of their own", "one rank for all layers");
  }
  const double rank = static_cast<double>(config.size({"r"})), alpha = config.number({"lora_alpha"});
  return config.boolean_or({"use_rslora"}, false) ? alpha / std::sqrt(rank) : alpha / rank;
}

}  // namespace

void name_phi4(Checkpoint& checkpoint) {
  checkpoint.add_alias("image_embed.img_projection_up.", "image_embed.img_projection.0.");
  checkpoint.add_alias("image_embed.img_projection_down.", "image_embed.img_projection.2.");
  checkpoint.add_alias("image_embed.global_img_feature_extensor", "image_embed.glb_GN");
  checkpoint.add_alias("image_embed.sub_img_feature_extensor", "image_embed.sub_GN");
  checkpoint.add_alias(".weight", ".base_layer.weight");
  checkpoint.add_alias(".bias", ".base_layer.bias");
  checkpoint.add_alias("model.", "");
}

std::optional<Adapter> phi4_adapter(Checkpoint& checkpoint, const BuildOptions& options) {
  if (options.lora == Lora::kNone) return std::nullopt;
  const std::string name = options.lora == Lora::kVision ? "vision" : "speech";
  const std::filesystem::path folder = checkpoint.folder() / (name + "-lora");
  if (std::filesystem::exists(folder / "adapter_config.json")) {
    const double scale = adapter_scale(Config::open(folder / "adapter_config.json"));
    checkpoint.add_adapter(folder / "adapter_model.safetensors", name);
    return Adapter{name, scale};
  }
  const auto config = checkpoint.config().find_object(name + "_lora");
  if (!config) return std::nullopt;
  return Adapter{name, config->number({"lora_alpha"}) / static_cast<double>(config->size({"r"}))};
}

}  // namespace thaw::model
