"""What transformers generates, greedily, from prompts with images and recordings: tests/fixtures/inputs/generated.json; with an image and
a clip, and what Qwen3-VL's processor makes of a text with clips: generated_clips.json; where Qwen3-VL's tower names more DeepStack layers
than the text model has: generated_deepstack.json.

    python make_generated_golden.py THAW [FAMILY=CHECKPOINT ...]

For developers; the tests only read what it wrote. Needs torch and transformers 5.23. THAW makes the arrays of the files, which
tests/inputs_*_test.py hold against transformers' processors. Without arguments the decoders in tests/fixtures are read; of other
checkpoints the tokens are printed, and nothing is written.
"""
import importlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

os.environ.setdefault("HF_HUB_OFFLINE", "1")
import numpy as np
import torch

FIXTURES = Path(__file__).resolve().parent.parent / "fixtures"
INPUTS = FIXTURES / "inputs"
CLASSES = {"qwen2_vl": "Qwen2VLForConditionalGeneration", "qwen2_5_vl": "Qwen2_5_VLForConditionalGeneration",
           "qwen3_vl": "Qwen3VLForConditionalGeneration", "qwen3_asr": "Qwen3ASRForConditionalGeneration",
           "phi4_multimodal": "Phi4MultimodalForCausalLM"}
NEW_TOKENS = 32
CLIP = ["wide.png", "frame3.png", "frame4.png", "frame4.png", "frame3.png"]
RATE = 3.0  # frames a second
TIMED = "Two: <|vision_start|><|video_pad|><|vision_end|> and <|video_pad|>, größer."


def arrays_of(thaw, checkpoint, files):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "in.npz"
        subprocess.run([thaw, "inputs", *files, "--for", checkpoint, "-o", path], check=True, capture_output=True)
        with np.load(path) as arrays:
            return {name: torch.tensor(arrays[name]) for name in arrays.files}


def prompt_of(family, config, files):
    """Token ids with one placeholder for each file, and the placeholder."""
    if family == "qwen3_asr":
        audio = config.get("audio_token_id", config.get("thinker_config", {}).get("audio_token_id"))
        return [5, 17, audio, 30, 31, 40], audio
    if family == "phi4_multimodal":
        image = config["vision_config"]["image_token_id"]
        return [5, 17, image, 30, 31, 40], image
    image, begin, end = (config[k] for k in ("image_token_id", "vision_start_token_id", "vision_end_token_id"))
    ids = [5, 17]
    for i in range(len(files)):
        ids += [begin, image, end, 30 + i]
    return [*ids, 40, 41], image


def model_of(family, checkpoint):
    module = importlib.import_module(f"transformers.models.{family}.modeling_{family}")
    return getattr(module, CLASSES[family]).from_pretrained(checkpoint, dtype=torch.float32, attn_implementation="eager").eval()


def generated(thaw, family, checkpoint):
    config = json.loads((checkpoint / "config.json").read_text())
    files = {"qwen3_asr": ["stereo.flac"], "phi4_multimodal": ["tall.jpg"]}.get(family, ["wide.png", "tall.jpg"])
    model = model_of(family, checkpoint)
    arrays = arrays_of(thaw, checkpoint, [INPUTS / name for name in files])
    ids, placeholder = prompt_of(family, config, files)
    if family == "qwen3_asr":
        counts = [int(model.get_audio_features(**arrays).pooler_output.shape[0])]
    elif family == "phi4_multimodal":
        arrays = {"image_" + name.removeprefix("image_"): value for name, value in arrays.items()}
        vision = model.model.embed_tokens_extend.image_embed
        ids_of_one = torch.tensor([[placeholder]])
        counts = [count_phi4(vision, arrays, ids_of_one, placeholder)]
    else:
        arrays["image_grid_thw"] = arrays.pop("grid_thw")
        counts = [int(grid.prod()) // 4 for grid in arrays["image_grid_thw"]]
    whole, left = [], list(counts)
    for token in ids:
        whole += [token] * (left.pop(0) if token == placeholder else 1)
    prompt = torch.tensor([whole])
    more = {"mm_token_type_ids": (prompt == placeholder).int()} if family.endswith("vl") else {}
    with torch.no_grad():
        result = model.generate(input_ids=prompt, attention_mask=torch.ones_like(prompt), max_new_tokens=NEW_TOKENS,
                                do_sample=False, pad_token_id=0, **arrays, **more)
    tokens = result[0, len(whole):].tolist()
    ends = model.generation_config.eos_token_id
    ends = ends if isinstance(ends, list) else [ends]
    has_ended = bool(tokens) and tokens[-1] in ends
    return {"prompt": ids, "files": files, "prompt_tokens": len(whole), "tokens": tokens[:-1] if has_ended else tokens}


def with_clip(thaw, family, checkpoint, names, is_first=False):
    """From a prompt with images and a clip, which stands behind them or before; of Qwen3-VL with words where times stand before each
    group of frames."""
    config = json.loads((checkpoint / "config.json").read_text())
    model = model_of(family, checkpoint)
    arrays = arrays_of(thaw, checkpoint, [*(INPUTS / name for name in names), "--frames", *(INPUTS / name for name in CLIP)])
    image_grids, clip_grid = arrays["grid_thw"][:-1], arrays["grid_thw"][-1:]
    image, clip, begin, end = (config[k] for k in ("image_token_id", "video_token_id", "vision_start_token_id", "vision_end_token_id"))
    groups = int(clip_grid[0, 0])
    apart = family == "qwen3_vl"
    of_clip = [begin, *([token for i in range(groups) for token in (50 + i, begin, clip, end)] if apart else [clip]), end]
    of_images = [token for _ in names for token in (begin, image, end, 30)]
    ids = [5, 17, *(of_clip + of_images if is_first else of_images + of_clip), 20, 33, 8]
    tokens = {clip: [int(clip_grid.prod()) // 4 // (groups if apart else 1)] * ids.count(clip), image: [int(grid.prod()) // 4 for grid in image_grids]}
    whole = [token for one in ids for token in [one] * (tokens[one].pop(0) if one in tokens else 1)]
    prompt = torch.tensor([whole])
    cut = int(image_grids.prod(1).sum())
    more = {"second_per_grid_ts": torch.tensor([2 / RATE])} if family == "qwen2_5_vl" else {}
    with torch.no_grad():
        result = model.generate(
            input_ids=prompt, attention_mask=torch.ones_like(prompt), max_new_tokens=NEW_TOKENS, do_sample=False, pad_token_id=0,
            mm_token_type_ids=(prompt == image).int() + 2 * (prompt == clip).int(), image_grid_thw=image_grids, video_grid_thw=clip_grid,
            pixel_values=arrays["pixel_values"][:cut], pixel_values_videos=arrays["pixel_values"][cut:], **more)
    made = result[0, len(whole):].tolist()
    ends = model.generation_config.eos_token_id
    has_ended = made[-1] in (ends if isinstance(ends, list) else [ends])
    return {"prompt": ids, "files": names, "frames": CLIP, "fps": RATE, "prompt_tokens": len(whole),
            "tokens": made[:-1] if has_ended else made}


def with_layers(thaw, family, checkpoint, layers):
    """Of the text model only so many are left: what it generates, and the logits of an image's last token, since behind the last layer
    DeepStack adds to the visual tokens alone."""
    with tempfile.TemporaryDirectory() as folder:
        cut = shutil.copytree(checkpoint, Path(folder) / "checkpoint")
        config = json.loads((cut / "config.json").read_text())
        config["text_config"]["num_hidden_layers"] = layers
        (cut / "config.json").write_text(json.dumps(config))
        model = model_of(family, cut)
        arrays = arrays_of(thaw, cut, [INPUTS / "wide.png"])
        image = config["image_token_id"]
        ids = torch.tensor([[5, 17, *[image] * (int(arrays["grid_thw"].prod()) // 4), 30]])
        with torch.no_grad():
            logits = model(input_ids=ids, attention_mask=torch.ones_like(ids), pixel_values=arrays["pixel_values"],
                           image_grid_thw=arrays["grid_thw"], mm_token_type_ids=(ids == image).int()).logits[0, -2]
        return {"layers": layers, "logits": logits.tolist()} | generated(thaw, family, cut)


def timed():
    """Two clips of 5 and 2 frames of 64 x 64 pixels, each in patches of 16."""
    from transformers import AutoTokenizer, Qwen3VLProcessor
    from transformers.models.qwen2_vl.image_processing_qwen2_vl import Qwen2VLImageProcessor
    from transformers.models.qwen3_vl.video_processing_qwen3_vl import Qwen3VLVideoProcessor
    from transformers.video_utils import VideoMetadata
    clips = [np.zeros((frames, 64, 64, 3), np.uint8) for frames in (5, 2)]
    processor = Qwen3VLProcessor(Qwen2VLImageProcessor(patch_size=16), AutoTokenizer.from_pretrained(INPUTS / "tokenizer"),
                                 Qwen3VLVideoProcessor(size={"shortest_edge": 4096, "longest_edge": 100_000}))
    metadata = [VideoMetadata(total_num_frames=len(clip), fps=2.0, frames_indices=list(range(len(clip)))) for clip in clips]
    made = processor(text=[TIMED], videos=clips, do_sample_frames=False, video_metadata=metadata)
    return {"text": TIMED, "frames": [len(clip) for clip in clips], "size": 64, "fps": 2.0, "ids": made["input_ids"][0]}


def count_phi4(vision, arrays, ids, placeholder):
    """Rows of features that an image gives."""
    with torch.no_grad():
        size = arrays["image_sizes"][0] // 448
        height, width = int(size[0]), int(size[1])
        mask = arrays["image_attention_mask"][0]
        useful = int(mask[1:height * width + 1, 0::2, 0::2].sum())
        lines = int(mask[1:height * width + 1].reshape(height, width, 32, 32).permute(0, 2, 1, 3).reshape(height * 32, width * 32)[0::2, 0].sum())
    return 16 * 16 + 16 + 1 + useful + lines


def main():
    thaw, *named = sys.argv[1:]
    if named:
        for one in named:
            family, checkpoint = one.split("=")
            print(json.dumps({family: generated(thaw, family, Path(checkpoint))}))
        return
    cases = {family: generated(thaw, family, FIXTURES / family / "decoder") for family in CLASSES if (FIXTURES / family / "decoder").is_dir()}
    (INPUTS / "generated.json").write_text(json.dumps(cases, indent=1) + "\n")
    clips = {family: with_clip(thaw, family, FIXTURES / family / "decoder", ["wide.png"]) for family in cases if family.endswith("vl")}
    first = {family: with_clip(thaw, family, FIXTURES / family / "decoder", ["tall.jpg", "wide.png"], is_first=True) for family in clips}
    (INPUTS / "generated_clips.json").write_text(json.dumps(clips | {"timed": timed(), "clip_first": first}) + "\n")
    deepstack = with_layers(thaw, "qwen3_vl", FIXTURES / "qwen3_vl" / "decoder", 1)
    (INPUTS / "generated_deepstack.json").write_text(json.dumps(deepstack) + "\n")


if __name__ == "__main__":
    main()
