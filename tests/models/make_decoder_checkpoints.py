"""Makes tests/fixtures/<family>/decoder: small checkpoints with random weights, and what transformers computes from them.

    python tests/models/make_decoder_checkpoints.py [FAMILY ...]

For developers; the tests only read what it wrote. Needs torch and transformers >= 5.23. In each folder:

    config.json, model.safetensors   as save_pretrained writes them, in bfloat16; towers only where a reference needs them
    text.npz                         the decoder: see text_references
    rope.npz                         other rotary positions: see rope_references (Llama)
    audio.npz                        decoding with audio: see audio_references (Qwen3-ASR)
    image.npz                        decoding with images: see image_references (VL models)

Weights are rounded to bfloat16 first, and the references are computed from them in float32. Each family is one
function that returns the model; FAMILIES lists them with the parts that references are written for.
"""
import itertools
import json
import math
import os
import sys
from pathlib import Path

os.environ.setdefault("HF_HUB_OFFLINE", "1")
import numpy as np
import torch
import transformers

FIXTURES = Path(__file__).resolve().parent.parent / "fixtures"
VOCABULARY = 97
IMAGE, VIDEO, VISION_START, VISION_END, AUDIO = 90, 91, 92, 93, 94
TEXT = dict(hidden_size=32, intermediate_size=48, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2,
            vocab_size=VOCABULARY, max_position_embeddings=512, bos_token_id=1, eos_token_id=2, pad_token_id=0)
NEW_TOKENS = 32
TOWERS = ("audio_tower.", "multi_modal_projector.", "embed_tokens_extend.")


def randomize(model, seed):
    """Weights of a scale that keeps activations near 1, so that a wrong position or mask shows in the outputs."""
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, weight in sorted(model.named_parameters()):
            noise = torch.randn(weight.shape, generator=generator)
            if "embed_tokens" in name:
                weight.copy_(noise / 2)
            elif weight.ndim >= 2:
                weight.copy_(noise * 1.5 / math.sqrt(weight[0].numel()))
            elif name.endswith("weight"):
                weight.copy_(1 + 0.1 * noise)
            else:
                weight.copy_(0.1 * noise)
            weight.copy_(weight.bfloat16())
    return model.eval()


# --- the families -----------------------------------------------------------------------------------------------------

def qwen2():
    # The upper layer sees a window.
    return transformers.Qwen2ForCausalLM(transformers.Qwen2Config(
        **TEXT, use_sliding_window=True, sliding_window=5, max_window_layers=1, tie_word_embeddings=True))


def qwen3():
    return transformers.Qwen3ForCausalLM(transformers.Qwen3Config(**TEXT, head_dim=16))


def llama():
    rope = dict(rope_type="llama3", rope_theta=5e5, factor=8.0, low_freq_factor=1.0, high_freq_factor=4.0,
                original_max_position_embeddings=32)
    return transformers.LlamaForCausalLM(transformers.LlamaConfig(
        **TEXT, rope_parameters=rope, attention_bias=True, mlp_bias=True))


def mistral():
    return transformers.MistralForCausalLM(transformers.MistralConfig(**TEXT, sliding_window=5, head_dim=16))


def phi3():
    # Heads of 8 elements, 6 of which turn; contexts of more than 8 tokens take the long factors.
    rope = dict(rope_type="longrope", rope_theta=1e4, partial_rotary_factor=0.75,
                short_factor=[1.0, 1.1, 1.3], long_factor=[1.5, 3.0, 9.0])
    return transformers.Phi3ForCausalLM(transformers.Phi3Config(
        **TEXT, rope_parameters=rope, original_max_position_embeddings=8))


VL_TOKENS = dict(image_token_id=IMAGE, video_token_id=VIDEO, vision_start_token_id=VISION_START,
                 vision_end_token_id=VISION_END)


def qwen2_vl():
    rope = dict(rope_type="default", rope_theta=1e6, mrope_section=[1, 1, 2])
    vision = dict(depth=2, embed_dim=32, hidden_size=32, num_heads=2, mlp_ratio=2, patch_size=4)
    return transformers.Qwen2VLForConditionalGeneration(transformers.Qwen2VLConfig(
        text_config=dict(TEXT, rope_parameters=rope), vision_config=vision, **VL_TOKENS))


def qwen2_5_vl():
    rope = dict(rope_type="default", rope_theta=1e6, mrope_section=[2, 1, 1])
    vision = dict(depth=2, hidden_size=32, intermediate_size=48, num_heads=2, out_hidden_size=32, patch_size=4,
                  window_size=16, fullatt_block_indexes=[1])
    return transformers.Qwen2_5_VLForConditionalGeneration(transformers.Qwen2_5_VLConfig(
        text_config=dict(TEXT, rope_parameters=rope), vision_config=vision, tie_word_embeddings=True, **VL_TOKENS))


def qwen3_vl():
    rope = dict(rope_type="default", rope_theta=5e6, mrope_interleaved=True, mrope_section=[4, 2, 2])
    vision = dict(depth=3, hidden_size=32, intermediate_size=48, num_heads=2, out_hidden_size=32, patch_size=4,
                  num_position_embeddings=64, deepstack_visual_indexes=[0, 2])
    return transformers.Qwen3VLForConditionalGeneration(transformers.Qwen3VLConfig(
        text_config=dict(TEXT, head_dim=16, rope_parameters=rope), vision_config=vision, **VL_TOKENS))


def qwen3_asr():
    audio = dict(model_type="qwen3_asr_encoder", num_mel_bins=128, encoder_layers=2, encoder_attention_heads=2,
                 encoder_ffn_dim=48, d_model=32, output_dim=32, n_window=50, n_window_infer=800,
                 downsample_hidden_size=8, max_position_embeddings=13)
    text = dict(TEXT, model_type="qwen3", head_dim=16)
    return transformers.Qwen3ASRForConditionalGeneration(transformers.Qwen3ASRConfig(
        audio_config=audio, text_config=text, audio_token_id=AUDIO, timestamp_token_id=95, pad_token_id=0,
        eos_token_id=[2]))


def phi4_multimodal():
    from transformers.models.phi4_multimodal.configuration_phi4_multimodal import (
        Phi4MultimodalAudioConfig,
        Phi4MultimodalVisionConfig,
    )
    vision = Phi4MultimodalVisionConfig(hidden_size=32, intermediate_size=48, num_hidden_layers=2,
                                        num_attention_heads=2, image_size=448, patch_size=14, crop_size=448,
                                        image_token_id=IMAGE)
    audio = Phi4MultimodalAudioConfig(hidden_size=32, intermediate_size=32, num_blocks=1, num_attention_heads=2,
                                      ext_pw_out_channel=32, depthwise_separable_out_channel=32,
                                      nemo_conv_channels=8, audio_token_id=AUDIO)
    rope = dict(rope_type="longrope", rope_theta=1e4, partial_rotary_factor=0.75,
                short_factor=[1.0, 1.1, 1.3], long_factor=[1.5, 3.0, 9.0])
    return transformers.Phi4MultimodalForCausalLM(transformers.Phi4MultimodalConfig(
        **TEXT, rope_parameters=rope, original_max_position_embeddings=8, vision_config=vision, audio_config=audio))


# --- references -------------------------------------------------------------------------------------------------------

def greedy(model, **inputs):
    """NEW_TOKENS tokens by generate. Refuses a prompt whose decoding hangs on rounding."""
    out = model.generate(**inputs, do_sample=False, max_new_tokens=NEW_TOKENS, min_new_tokens=NEW_TOKENS,
                         eos_token_id=None, pad_token_id=0, return_dict_in_generate=True, output_logits=True)
    best = torch.stack(out.logits).topk(2).values
    margin = float((best[..., 0] - best[..., 1]).min())
    return out.sequences[:, -NEW_TOKENS:].numpy(), margin


def text_references(model, write):
    """logits_<i> for ids_<i> under mask_<i>: row 0 padded at the left, row 1 at the right, row 2 whole; 7 and 11
    tokens. tokens: what greedy decoding adds to prompt under prompt_mask, padded at the left."""
    refs = {}
    for i, seq in enumerate((7, 11)):
        ids = np.random.default_rng(100 + i).integers(3, 90, (3, seq))
        mask = np.ones_like(ids)
        mask[0, :2 + i] = 0
        mask[1, -3:] = 0
        logits = model(input_ids=torch.from_numpy(ids), attention_mask=torch.from_numpy(mask), use_cache=False).logits
        refs |= {f"ids_{i}": ids, f"mask_{i}": mask, f"logits_{i}": logits.numpy()}
    for seed in itertools.count(200):
        prompt = np.random.default_rng(seed).integers(3, 90, (3, 11))
        mask = np.ones_like(prompt)
        mask[0, :4] = 0
        mask[2, :1] = 0
        tokens, margin = greedy(model, input_ids=torch.from_numpy(prompt), attention_mask=torch.from_numpy(mask))
        if margin > 2e-3:
            break
    refs |= {"prompt": prompt, "prompt_mask": mask, "tokens": tokens}
    write("text", refs)


ROPES = [
    dict(rope_type="linear", rope_theta=1e4, factor=4.0),
    dict(rope_type="yarn", rope_theta=1e4, factor=8.0, original_max_position_embeddings=64),
    dict(rope_type="yarn", rope_theta=5e5, factor=4.0, original_max_position_embeddings=128, beta_fast=16.0,
         beta_slow=2.0, mscale=0.7, mscale_all_dim=1.3, truncate=False),
    dict(rope_type="yarn", rope_theta=5e5, factor=4.0, original_max_position_embeddings=128, attention_factor=1.2),
]


def rope_references(model, write):
    """logits_<i> of the same weights and tokens under the rope_parameters of rope_<i> (JSON)."""
    ids = np.random.default_rng(400).integers(3, 90, (2, 61))
    refs = {"ids": ids}
    for i, rope in enumerate(ROPES):
        config = type(model.config)(**{**model.config.to_dict(), "rope_parameters": dict(rope)})
        other = type(model)(config).eval()
        other.load_state_dict(model.state_dict())
        refs |= {f"rope_{i}": np.array(json.dumps(rope)),
                 f"logits_{i}": other(input_ids=torch.from_numpy(ids), use_cache=False).logits[:, -5:].numpy()}
    write("rope", refs)


def image_references(model, write):
    """tokens: what greedy decoding adds to prompt, a batch of two with one image in the first row and two in the second,
    padded at the left. pixel_values and grid_thw are the images; position_ids [3, batch, seq] are the prompt's and
    deltas [batch, 1] what later positions are ahead of the number of tokens."""
    vision = model.config.vision_config
    grids = np.array([[1, 6, 10], [1, 4, 4], [1, 8, 6]])
    dim = vision.in_channels * vision.temporal_patch_size * vision.patch_size ** 2
    for seed in itertools.count(300):
        rng = np.random.default_rng(seed)
        pixels = rng.standard_normal((int(grids.prod(1).sum()), dim), dtype=np.float32)

        def image(k):
            return [VISION_START, *[IMAGE] * (int(grids[k].prod()) // 4), VISION_END]

        def words(n):
            return rng.integers(3, 90, n).tolist()

        rows = [words(3) + image(0) + words(4), words(2) + image(1) + words(1) + image(2) + words(5)]
        length = max(map(len, rows)) + 2
        prompt = np.array([[0] * (length - len(row)) + row for row in rows])
        mask = np.array([[0] * (length - len(row)) + [1] * len(row) for row in rows])
        kinds = (prompt == IMAGE).astype(np.int32)
        inputs = dict(input_ids=torch.from_numpy(prompt), attention_mask=torch.from_numpy(mask),
                      image_grid_thw=torch.from_numpy(grids), mm_token_type_ids=torch.from_numpy(kinds))
        model.model.rope_deltas = None
        tokens, margin = greedy(model, pixel_values=torch.from_numpy(pixels), **inputs)
        if margin > 2e-3:
            break
    positions, deltas = model.model.get_rope_index(
        inputs["input_ids"], inputs["mm_token_type_ids"], image_grid_thw=inputs["image_grid_thw"],
        attention_mask=inputs["attention_mask"])
    model.model.rope_deltas = None
    logits = model(pixel_values=torch.from_numpy(pixels), use_cache=False, **inputs).logits
    write("image", {"prompt": prompt, "prompt_mask": mask, "pixel_values": pixels, "grid_thw": grids,
                    "position_ids": positions.numpy(), "deltas": deltas.numpy(), "logits": logits.numpy(),
                    "tokens": tokens})


def audio_references(model, write):
    """tokens: what greedy decoding adds to prompt, a batch of two with a clip of 131 and one of 57 frames, padded at the
    left. input_features and input_features_mask are the clips, padded at the right."""
    frames = (131, 57)
    for seed in itertools.count(500):
        rng = np.random.default_rng(seed)
        features = rng.standard_normal((2, 128, 200)).astype(np.float16).astype(np.float32)
        mask = (np.arange(200) < np.array(frames)[:, None]).astype(np.int64)
        audio = [torch.from_numpy(features[i:i + 1]) for i in range(2)]
        counts = [model.model.get_audio_features(clip, torch.from_numpy(mask[i:i + 1])).pooler_output.shape[0]
                  for i, clip in enumerate(audio)]
        rows = [[5, 17] + [AUDIO] * counts[0] + [44], [23] + [AUDIO] * counts[1] + [61, 8]]
        length = max(map(len, rows)) + 1
        prompt = np.array([[0] * (length - len(row)) + row for row in rows])
        prompt_mask = np.array([[0] * (length - len(row)) + [1] * len(row) for row in rows])
        tokens, margin = greedy(model, input_ids=torch.from_numpy(prompt), attention_mask=torch.from_numpy(prompt_mask),
                                input_features=torch.from_numpy(features),
                                input_features_mask=torch.from_numpy(mask))
        if margin > 2e-3:
            break
    write("audio", {"prompt": prompt, "prompt_mask": prompt_mask, "input_features": features.astype(np.float16),
                    "input_features_mask": mask, "tokens": tokens})


FAMILIES = {
    "qwen2": (qwen2, [text_references]),
    "qwen3": (qwen3, [text_references]),
    "llama": (llama, [text_references, rope_references]),
    "mistral": (mistral, [text_references]),
    "phi3": (phi3, [text_references]),
    "qwen2_vl": (qwen2_vl, [text_references, image_references]),
    "qwen2_5_vl": (qwen2_5_vl, [text_references, image_references]),
    "qwen3_vl": (qwen3_vl, [text_references, image_references]),
    "qwen3_asr": (qwen3_asr, [text_references, audio_references]),
    "phi4_mm": (phi4_multimodal, [text_references]),
}


@torch.no_grad()
def main():
    for number, (name, (make, references)) in enumerate(FAMILIES.items()):
        if sys.argv[1:] and name not in sys.argv[1:]:
            continue
        folder = FIXTURES / name / "decoder"
        model = randomize(make(), 1000 + number)
        weights = {key: weight.bfloat16() for key, weight in model.state_dict().items()}
        if model.config.tie_word_embeddings:
            del weights["lm_head.weight"]
        if references == [text_references]:
            weights = {key: weight for key, weight in weights.items() if not any(part in key for part in TOWERS)}
        model.save_pretrained(folder, state_dict=weights)
        (folder / "generation_config.json").unlink(missing_ok=True)

        def write(part, arrays):
            np.savez_compressed(folder / f"{part}.npz", **arrays)

        for reference in references:
            reference(model, write)
        size = sum(file.stat().st_size for file in folder.iterdir())
        print(f"{name}: {size / 1e3:.0f} kB")


if __name__ == "__main__":
    main()
