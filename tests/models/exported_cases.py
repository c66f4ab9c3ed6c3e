"""Models for what must hold of a rewrite whatever the model: each with inputs where the test can make some.

A case is a name, a maker of the model (or its path), and a maker of inputs from sizes; `sizes` are those of the export.
"""
from collections.abc import Callable
from dataclasses import dataclass

from . import exported, families, freeze, merge_grid, ocr, quantized, scrfd, sound, swin


@dataclass(frozen=True)
class Case:
    name: str
    make: Callable             # () -> model
    feeds: Callable = None     # (*sizes) -> inputs; none: random ones as the inputs are declared
    sizes: tuple = ()
    others: tuple = ()         # where the network itself runs


def _exports():
    free = {"batch": lambda d: ("b", *d[1:]), "both": lambda d: ("b", "t", *d[2:])}
    for make in (exported.resize_frozen_at_one_image, exported.norm_of_runtime, exported.old_file):
        yield make.__name__, make
    for side in (160, 320):
        yield f"detector_{side}", lambda s=side: exported.detector_with_anchors(s)
        yield f"detector_{side}_free", lambda s=side: exported.detector_with_anchors(s, ["n", 3, "h", "w"])
        yield f"detector_{side}_batch", lambda s=side: exported.detector_with_anchors(s, ["n", 3, s, s])
    yield "resize_static", lambda: exported.resize_frozen_at_one_image((1, 3, 320, 320))
    yield "resize_free", lambda: exported.resize_frozen_at_one_image(("n", 3, "h", "w"))
    for make in (exported.scaled_attention, exported.projected_attention, exported.norm_by_hand):
        for dims in ((1, 4, 8), (1, 5, 8), (2, 3, 8), (3, 7, 8), (2, 8, 8)):
            yield f"{make.__name__}_{'x'.join(map(str, dims))}", lambda m=make, d=dims: m(d)
            for kind, declare in free.items():
                yield f"{make.__name__}_{'x'.join(map(str, dims))}_{kind}", lambda m=make, d=dims, f=declare: m(d, declared=f(d))


def own():
    """All of the project's own models."""
    for name, make in _exports():
        export = make()
        yield Case(name, lambda e=export: e.model, export.feeds, export.dims, export.others)
    for f in families.FAMILIES:
        yield Case(f"{f.name}_dynamic", f.dynamic, f.feeds, f.sizes[0], f.unseen)
        for size in f.sizes[:2]:
            yield Case(f"{f.name}_{'x'.join(map(str, size))}", lambda f=f, s=size: f.static(*s),
                       lambda *s, f=f: f.feeds(*s, for_static=True), size, f.unseen)
    for name, make in sound.SOUND.items():
        model, feeds, sizes = make()
        yield Case(f"sound_{name}", lambda m=model: m, feeds, sizes[0], sizes[1:])
    for batch in (1, 5, 32):
        yield Case(f"scrfd_{batch}", lambda n=batch: scrfd.declare_batch(scrfd.model(), n), scrfd.feeds, (batch, 320, 256))
    frozen = scrfd.without_value_info(scrfd.declare_batch(scrfd.model(), 1))
    yield Case("scrfd_frozen_resize", lambda: freeze.resizes_at(frozen, scrfd.feeds(1, 320, 256)), scrfd.feeds, (1, 320, 256))
    yield Case("merge_grid", lambda: merge_grid.static(22, 30), merge_grid.feeds, (22, 30))
    yield Case("merge_grid_dynamic", merge_grid.dynamic, merge_grid.feeds, (22, 30), ((6, 34),))
    yield Case("swin", lambda: swin.static(2, 16, 24), swin.feeds, (2, 16, 24))
    yield Case("ocr_hidden_batch", lambda: ocr.static(3, 44, hide_batch=True), ocr.feeds, (3, 44))
    yield Case("quantized", quantized.model, quantized.feeds, (3, 7), ((2, 11),))
