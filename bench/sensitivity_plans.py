"""What `thaw plan` is worth: its error on samples that are held out, beside a uniform mix of as many bytes."""
import json

import sensitivity_nets as nets
from figures import table
from int8 import letters_wrong
from int8_nets import samples
from sensitivity_cases import READER, photographed_lines, sensitivity_cases


def converted(thaw, case, plan, folder, outputs):
    """Bytes of the weights and the error on what is held out, of the model under a plan."""
    out = folder / "planned.onnx"
    weights = thaw.json("convert", case.model, "-o", out, "--plan", plan, "--data", case.seen, "--no-check", "--no-optimize", "--external",
                        "inline", code=0, timeout=600)["weight_bytes_after"]
    before, after = (nets.outputs(path, case.held_out, outputs) for path in (case.model, out))
    return weights, sum(nets.mse(w, g) for w, g in zip(before, after, strict=True)) / len(before), out


def every_second(units, one, other, default):
    """Of the nodes in the model's order, one and the other precision in turns."""
    nodes = [{"name": node, "to": (one, other)[i % 2]} for i, unit in enumerate(units) for node in unit["nodes"]]
    return {"default": default, "projections": "apart", "nodes": nodes}


def mixes(name, units):
    """Uniform plans, by their names."""
    if name == READER:
        return {"int8, every second Conv kept": every_second([u for u in units if u["op"] == "Conv"], "int8", "keep", "int8")}
    return {"int4 and int8-blocks in turns": every_second(units, "int4", "int8-blocks", "keep"),
            "int8-blocks": every_second(units, "int8-blocks", "int8-blocks", "keep")}


def letters(case, model, photographed):
    return [list(map(int, letters_wrong(case.model, model, feeds))) for feeds in (case.feeds, photographed)]


def plans(thaw, options, folder):
    """Prints a table; gives the figures, and the bars that were missed."""
    cases, rows, figures, missed = sensitivity_cases(folder, thaw.path), [], {}, []
    for name in options.models or cases:
        case, to = cases[name](), "int8" if name == READER else "int4,int8-blocks"
        photographed = photographed_lines() if name == READER else []
        if photographed:  # what is seen through a lens is held out too, line by line, as lines differ in length
            samples(case.held_out, case.feeds + photographed)
        report = thaw.json("sensitivity", case.model, "--data", case.seen, "-o", folder / "report", "--to", to, "--only-in",
                           "--no-optimize", code=0, timeout=3600)
        for mix, uniform in mixes(name, report["units"]).items():
            here = {}
            (folder / "uniform.json").write_text(json.dumps(uniform), encoding="utf-8")
            limit, error, made = converted(thaw, case, folder / "uniform.json", folder, report["outputs"])
            here["uniform"] = {"bytes": limit, "mse": error}
            if photographed:
                here["uniform"]["letters"] = letters(case, made, photographed)
            told = thaw.json("plan", folder / "report", "--max-bytes", limit, "-o", folder / "plan.json", "--no-check", code=0)
            weights, error, made = converted(thaw, case, folder / "plan.json", folder, report["outputs"])
            here["plan"] = {"bytes": weights, "mse": error, "predicted": told["predicted"]["mse"]}
            if photographed:
                here["plan"]["letters"] = letters(case, made, photographed)
            figures[f"{name}, {mix}"] = here
            # One precision for all may be the best there is for its bytes; then the plan is that.
            if weights > limit or error > here["uniform"]["mse"] or (error == here["uniform"]["mse"] and mix != "int8-blocks"):
                missed.append(f"{name}, {mix}: {error:.4g} in {weights} bytes against {here['uniform']['mse']:.4g} in {limit}")
            read = [" and ".join("{} of {}".format(*pair) for pair in here[who].get("letters", [])) for who in ("uniform", "plan")]
            rows.append([name, mix, f"{limit:,}", f"{here['uniform']['mse']:.3g}", f"{weights:,}", f"{error:.3g}",
                         f"{here['uniform']['mse'] / error:.2f}" if error else "", *read])
            print(*rows[-1], sep="  ", flush=True)
    print("\nMean squared error on samples that are held out, of a uniform mix and of a plan of no more bytes")
    table(["", "uniform mix", "bytes", "error", "plan's bytes", "error", "times less", "letters read otherwise", "by the plan"], rows)
    return figures, missed
