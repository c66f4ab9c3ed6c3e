"""What transformers' processors make of small pictures, for tests where transformers is not installed.

    python make_inputs_golden.py OUTDIR

Needs torch, torchvision, Pillow 13 and transformers 5.23. Written: the pictures, the settings of each case as
<case>/preprocessor_config.json with config.json, and golden.npz with <case>.<backend>.<array>. Of Phi-4's crops every
seventh row and column is kept.
"""
import json
import sys
from pathlib import Path

import numpy as np
import torch
from PIL import Image
from transformers.models.phi4_multimodal.image_processing_phi4_multimodal import Phi4MultimodalImageProcessor
from transformers.models.qwen2_vl.image_processing_pil_qwen2_vl import Qwen2VLImageProcessorPil
from transformers.models.qwen2_vl.image_processing_qwen2_vl import Qwen2VLImageProcessor
from transformers.models.qwen2_vl.video_processing_qwen2_vl import Qwen2VLVideoProcessor
from transformers.models.qwen3_vl.video_processing_qwen3_vl import Qwen3VLVideoProcessor

from pictures import picture, save

HALF = {"image_mean": [0.5] * 3, "image_std": [0.5] * 3}
# The spellings of the bounds: at the top, in "size" by edges, in "size" by pixels.
CASES = {
    "qwen2_5_vl": {"min_pixels": 3136, "max_pixels": 12544},
    "qwen3_vl": {"patch_size": 16, "size": {"shortest_edge": 4096, "longest_edge": 20480}, **HALF},
    "qwen2_vl": {"size": {"min_pixels": 784, "max_pixels": 7840}},
    "phi4_multimodal": {},
}


def settings_for_transformers(settings):
    size = settings.get("size", {})
    if "min_pixels" in size:
        settings = {**settings, "size": {"shortest_edge": size["min_pixels"], "longest_edge": size["max_pixels"]}}
    return settings


def main(folder):
    folder.mkdir(parents=True, exist_ok=True)
    names = [save(folder / "wide.png", 61, 47, 1), save(folder / "tall.jpg", 33, 151, 2, quality=90)]
    images = [Image.open(name) for name in names]
    golden = {}
    for case, settings in CASES.items():
        (folder / case).mkdir(exist_ok=True)
        (folder / case / "config.json").write_text(json.dumps({"model_type": case}) + "\n")
        (folder / case / "preprocessor_config.json").write_text(json.dumps(settings) + "\n")
        settings = settings_for_transformers(settings)
        if case == "phi4_multimodal":
            made = Phi4MultimodalImageProcessor(**settings)(images=images, return_tensors="np")
            golden |= {f"{case}.torch.pixel_values": made["image_pixel_values"][..., ::7, ::7],
                       f"{case}.torch.image_sizes": made["image_sizes"],
                       f"{case}.torch.image_attention_mask": made["image_attention_mask"] > 0}
            continue
        for backend, processor in (("pillow", Qwen2VLImageProcessorPil), ("torch", Qwen2VLImageProcessor)):
            made = processor(**settings)(images=images, return_tensors="np")
            golden |= {f"{case}.{backend}.{name}": made[name] for name in ("pixel_values", "image_grid_thw")}
        clip = torch.from_numpy(np.stack([picture(61, 47, seed) for seed in (1, 3, 4)])).permute(0, 3, 1, 2)
        processor = (Qwen3VLVideoProcessor if case == "qwen3_vl" else Qwen2VLVideoProcessor)(**settings)
        made = processor(videos=[clip], return_tensors="np", do_sample_frames=False)
        golden |= {f"{case}.clip.{name}": made[f"{name}_videos" if name == "pixel_values" else name]
                   for name in ("pixel_values", "video_grid_thw")}
    for seed in (3, 4):
        save(folder / f"frame{seed}.png", 61, 47, seed)
    np.savez_compressed(folder / "golden.npz", **golden)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
