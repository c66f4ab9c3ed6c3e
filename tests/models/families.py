"""Every network that has a static and a dynamic face, with the sizes that tests use: distinct, prime where it can be."""
from collections.abc import Callable
from dataclasses import dataclass

from . import audio_encoder, frozen_operators, image_crops, ocr, text_decoder, vision_tower, vit


@dataclass(frozen=True)
class Family:
    name: str
    dynamic: Callable          # () -> model
    static: Callable           # (*size) -> model
    feeds: Callable            # (*size, for_static: bool) -> inputs
    sizes: tuple               # sizes to trace at
    unseen: tuple              # sizes that no trace has
    sources: tuple             # input dims or values that the frozen sizes come from, as `input` or `input[axis]`


def _vit(kind):
    return Family(f"vit_{kind}", lambda: vit.dynamic(kind), lambda h, w: vit.static(h, w, kind),
                  lambda h, w, for_static=False: vit.feeds(3, h, w), ((40, 72), (88, 24), (104, 56)), ((24, 136),),
                  ("image",))


def _tower(rotary):
    return Family(f"vision_tower_{rotary}", vision_tower.dynamic,
                  lambda h, w: vision_tower.static(h, w, rotary=rotary), _grid,
                  ((14, 10), (12, 16), (22, 26)), ((6, 34),), ("pixel_values",))


def _grid(h, w, for_static=False):
    return vision_tower.feeds(h, w, with_grid=not for_static)


FAMILIES = (
    Family("text_decoder", text_decoder.dynamic, text_decoder.static,
           lambda b, s, for_static=False: text_decoder.feeds(b, s, pad=2), ((3, 7), (2, 11), (5, 13)), ((7, 17),),
           ("input_ids", "attention_mask")),
    *(_tower(rotary) for rotary in ("angles", "folded", "gathered")),
    Family("audio_encoder", audio_encoder.dynamic, audio_encoder.static,
           lambda f, v, for_static=False: audio_encoder.feeds(f, v),
           ((200, 187), (240, 229), (220, 203)), ((340, 311),),
           ("input_features", "NonZero")),  # how many frames the mask marks: a size that depends on data
    *(_vit(kind) for kind in vit.KINDS),
    Family("ocr", ocr.dynamic, ocr.static, lambda b, w, for_static=False: ocr.feeds(b, w), ((3, 44), (5, 28), (2, 76)),
           ((7, 52),), ("x",)),
    Family("frozen_operators", frozen_operators.dynamic, frozen_operators.static,
           lambda b, t, for_static=False: frozen_operators.feeds(b, t), ((3, 7), (2, 11), (5, 17)), ((7, 23),), ("x",)),
    Family("image_crops", image_crops.tiling_dynamic, image_crops.tiling_static,
           lambda *size, for_static=False: image_crops.tiling_feeds(*size),
           ((2, 3, 7, 11), (3, 2, 10, 6), (3, 3, 9, 12)), ((2, 5, 6, 17),), ("crop_mask", "image_size")),
)
BY_NAME = {f.name: f for f in FAMILIES}
