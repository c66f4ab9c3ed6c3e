"""Writes tests/fixtures/phi4_mm/tower: a small Phi-4-multimodal checkpoint and what transformers makes of its vision
tower. For developers: needs torch and transformers (2.13 and 5.23 made the committed files); the tests need neither.

    python tests/models/make_phi4_checkpoint.py

config.json and model.safetensors (float16) as transformers saves them, and reference.npz with the features of each case.
Inputs are not stored: phi4_cases.py draws them.
"""
import math
import sys
from pathlib import Path

import numpy as np
import torch
import transformers
from transformers.models.phi4_multimodal.configuration_phi4_multimodal import (
    Phi4MultimodalAudioConfig,
    Phi4MultimodalVisionConfig,
)

sys.path.insert(0, str(Path(__file__).resolve().parent))
from phi4_cases import CASES, CROP, ODD_CASE, ODD_SIDE, PATCH, SIDE, feeds, num_tokens, odd_feeds

FOLDER = Path(__file__).resolve().parent.parent / "fixtures" / "phi4_mm" / "tower"
IMAGE_TOKEN = 60


def config(crop):
    vision = Phi4MultimodalVisionConfig(hidden_size=24, intermediate_size=40, num_hidden_layers=3, num_attention_heads=3,
                                        image_size=crop, crop_size=crop, image_token_id=IMAGE_TOKEN)
    audio = Phi4MultimodalAudioConfig(hidden_size=8, intermediate_size=8, num_blocks=1, num_attention_heads=2,
                                      ext_pw_out_channel=8, depthwise_separable_out_channel=8, nemo_conv_channels=8,
                                      bias_max_distance=8, audio_token_id=61)
    return transformers.Phi4MultimodalConfig(
        hidden_size=8, intermediate_size=12, num_hidden_layers=1, num_attention_heads=2, num_key_value_heads=1, vocab_size=64,
        max_position_embeddings=64, original_max_position_embeddings=64, bos_token_id=1, eos_token_id=2, pad_token_id=0,
        vision_config=vision, audio_config=audio)


def randomize(model):
    """Weights that float16 holds, of a scale that keeps activations near 1, so that a wrong position or mask shows."""
    random = torch.Generator().manual_seed(4)
    with torch.no_grad():
        for name, weight in sorted(model.named_parameters()):
            draw = torch.randn(weight.shape, generator=random)
            if name.endswith(("norm1.weight", "norm2.weight")):
                draw = 1 + 0.1 * draw
            elif weight.ndim == 1:
                draw = 0.1 * draw
            elif "position_embedding" not in name and "extensor" not in name:
                draw = draw / math.sqrt(weight[0].numel())
            weight.copy_(draw.half())
    return see_both_ways(model.float().eval())


def see_both_ways(model):
    for module in model.modules():
        # A slip of transformers 5.23: where the mask hides nothing, its SDPA attention drops the mask and lets each patch see
        # those before it only. Its eager attention does not.
        if type(module).__name__ == "Phi4MultimodalVisionAttention":
            module.is_causal = False
    return model


@torch.no_grad()
def with_odd_crops(model):
    """The same weights in a tower with fewer patches, whose positions are the first of the other's table."""
    odd, weights = transformers.Phi4MultimodalForCausalLM(config(ODD_SIDE * PATCH)), model.state_dict()
    table = "model.embed_tokens_extend.image_embed.img_processor.embeddings.position_embedding.weight"
    weights[table] = weights[table][: ODD_SIDE**2]
    odd.load_state_dict(weights)
    return see_both_ways(odd.float().eval())


@torch.no_grad()
def features(model, images, inputs, side=SIDE):
    """The rows that the image embedding puts in the place of image tokens."""
    embed = model.model.embed_tokens_extend.image_embed
    count = num_tokens(images, side)
    ids, text = torch.full((1, count), IMAGE_TOKEN), torch.zeros(1, count, model.config.hidden_size)
    pixels, mask, sizes = (torch.from_numpy(inputs[name]) for name in ("pixel_values", "image_attention_mask", "image_sizes"))
    return embed(ids, text, image_pixel_values=pixels, image_attention_mask=mask, image_sizes=sizes)[0].numpy()


def main():
    FOLDER.mkdir(parents=True, exist_ok=True)
    model = randomize(transformers.Phi4MultimodalForCausalLM(config(CROP)))
    references = {name: features(model, images, feeds(name)) for name, images in CASES.items()}
    references["odd"] = features(with_odd_crops(model), ODD_CASE, odd_feeds(), ODD_SIDE)
    np.savez_compressed(FOLDER / "reference.npz", **references)
    model.half().save_pretrained(FOLDER)
    (FOLDER / "generation_config.json").unlink(missing_ok=True)
    (FOLDER / "model.safetensors").chmod(0o644)
    print({name: values.shape for name, values in references.items()})


if __name__ == "__main__":
    main()
