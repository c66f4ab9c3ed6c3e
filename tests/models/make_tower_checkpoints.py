"""Writes tests/fixtures/<family>/: small checkpoints of vision towers and audio encoders, and what transformers makes
of them. For developers: needs torch and transformers (2.13 and 5.23 made the committed files); the tests need neither.

    python tests/models/make_tower_checkpoints.py [FAMILY ...]

Per family: config.json and model.safetensors (bfloat16) as transformers saves them, without the decoder's weights, and
reference.npz: for case i of kind k the outputs "<output>/<i>". Inputs are not stored: tower_cases.py draws them.
"""
import json
import math
import shutil
import sys
from pathlib import Path

import numpy as np
import torch

sys.path.insert(0, str(Path(__file__).resolve().parent))
import tower_cases

FIXTURES = Path(__file__).resolve().parent.parent / "fixtures"
TEXT = dict(hidden_size=32, intermediate_size=48, num_hidden_layers=1, num_attention_heads=2, num_key_value_heads=1,
            vocab_size=96, bos_token_id=1, eos_token_id=2)
TOKENS = dict(image_token_id=90, video_token_id=91, vision_start_token_id=92, vision_end_token_id=93)


def qwen2_vl():
    from transformers import Qwen2VLConfig, Qwen2VLForConditionalGeneration
    vision = dict(depth=3, embed_dim=32, hidden_size=24, num_heads=2, mlp_ratio=2, patch_size=4)
    text = dict(TEXT, hidden_size=24, rope_parameters=dict(rope_type="default", rope_theta=1e6, mrope_section=[2, 2, 2]))
    return Qwen2VLForConditionalGeneration(Qwen2VLConfig(text_config=text, vision_config=vision, **TOKENS))


def qwen2_5_vl():
    from transformers import Qwen2_5_VLConfig, Qwen2_5_VLForConditionalGeneration
    # Windows of 3 x 3 blocks; a full layer between two windowed ones.
    vision = dict(depth=3, hidden_size=32, intermediate_size=44, num_heads=2, patch_size=4, window_size=24,
                  out_hidden_size=24, fullatt_block_indexes=[1])
    text = dict(TEXT, hidden_size=24, rope_parameters=dict(rope_type="default", rope_theta=1e6, mrope_section=[2, 2, 2]))
    return Qwen2_5_VLForConditionalGeneration(Qwen2_5_VLConfig(text_config=text, vision_config=vision, **TOKENS))


def qwen3_vl():
    from transformers import Qwen3VLConfig, Qwen3VLForConditionalGeneration
    vision = dict(depth=4, hidden_size=32, intermediate_size=44, num_heads=2, patch_size=4, out_hidden_size=24,
                  num_position_embeddings=121, deepstack_visual_indexes=[0, 2])
    text = dict(TEXT, hidden_size=24, head_dim=12,
                rope_parameters=dict(rope_type="default", rope_theta=1e6, mrope_section=[2, 2, 2], mrope_interleaved=True))
    return Qwen3VLForConditionalGeneration(Qwen3VLConfig(text_config=text, vision_config=vision, **TOKENS))


def qwen3_asr():
    from transformers import Qwen3ASRConfig, Qwen3ASRForConditionalGeneration
    # Windows of 2 chunks: transformers takes chunks of 100 frames only.
    audio = dict(model_type="qwen3_asr_encoder", num_mel_bins=24, encoder_layers=2, encoder_attention_heads=2,
                 encoder_ffn_dim=48, d_model=32, output_dim=24, n_window=50, n_window_infer=200,
                 downsample_hidden_size=8, max_position_embeddings=13)
    text = dict(TEXT, hidden_size=24, model_type="qwen3", head_dim=12)
    return Qwen3ASRForConditionalGeneration(
        Qwen3ASRConfig(audio_config=audio, text_config=text, audio_token_id=90, timestamp_token_id=91, pad_token_id=0,
                       eos_token_id=[2]))


MODELS = dict(qwen2_vl=qwen2_vl, qwen2_5_vl=qwen2_5_vl, qwen3_vl=qwen3_vl, qwen3_asr=qwen3_asr)


def randomize(model, seed):
    """Weights that keep activations near 1, rounded to what bfloat16 holds."""
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, p in sorted(model.named_parameters()):
            if p.ndim >= 2:
                fan = 1 if "embed" in name and p.ndim == 2 else p[0].numel()
                value = torch.randn(p.shape, generator=generator) / math.sqrt(fan)
            else:
                value = (1.0 if name.endswith("weight") else 0.0) + 0.1 * torch.randn(p.shape, generator=generator)
            p.copy_(value.to(torch.bfloat16).float())
    return model.float().eval()


def is_of_tower(name):
    return any(part in name for part in ("visual.", "audio_tower.", "multi_modal_projector."))


def save(model, folder):
    from safetensors.torch import load_file, save_file
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    model.to(torch.bfloat16).save_pretrained(folder / "whole")
    weights = load_file(folder / "whole" / "model.safetensors")
    save_file({k: v for k, v in weights.items() if is_of_tower(k)}, folder / "model.safetensors", metadata={"format": "pt"})
    config = json.loads((folder / "whole" / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config, indent=1) + "\n")
    shutil.rmtree(folder / "whole")


@torch.no_grad()
def references(family, model):
    out = {}
    for i, case in enumerate(tower_cases.CASES[family]):
        inputs = {k: torch.from_numpy(v) for k, v in tower_cases.inputs(family, case, i).items()}
        if family == "qwen3_asr":
            # transformers takes whole chunks: an unfinished last one is padded with zeros and masked.
            x, mask = inputs["input_features"], inputs["input_features_mask"]
            missing = -x.shape[2] % 100
            x, mask = torch.nn.functional.pad(x, (0, missing)), torch.nn.functional.pad(mask, (0, missing))
            hidden = model.model.audio_tower(x, mask).last_hidden_state
            out[f"audio_features/{i}"] = model.model.multi_modal_projector(hidden)
            continue
        made = model.model.visual(inputs["pixel_values"], inputs["grid_thw"])
        out[f"vision_features/{i}"] = made.pooler_output
        for k, features in enumerate(getattr(made, "deepstack_features", None) or []):
            out[f"deepstack_features_{k}/{i}"] = features
    return {k: v.numpy() for k, v in out.items()}


def main():
    for family in sys.argv[1:] or MODELS:
        torch.manual_seed(0)
        model = randomize(MODELS[family](), 7)
        folder = FIXTURES / family / "tower"
        reference = references(family, model)  # first: saving rounds the model's tables too
        save(model, folder)
        np.savez_compressed(folder / "reference.npz", **reference)
        print(family, {k: v.shape for k, v in reference.items()}, sum(f.stat().st_size for f in folder.iterdir()), "bytes")


if __name__ == "__main__":
    main()
