"""thaw build --genai writes the tokens that begin, end and pad a text as the tokenizer's files say, and as config.json says where
they are silent."""
import itertools
import json

import pytest

from build_text_test import checkpoint
from models.checkpoints import copy_checkpoint

ROLES = ("bos", "eos", "pad")
# What each source says of a role: a name that stands for a number, or the number.
NAMED = {"tokenizer_config": 11, "special_tokens_map": 22}
NUMBERED = {"generation_config": 33, "config": 44}
SOURCES = [*NAMED, *NUMBERED]


def name_of(number):
    return f"<t{number}>"


def write(folder, name, content):
    (folder / f"{name}.json").write_text(json.dumps(content))


def numbers_in(place, folder, settings):
    """The numbers of the names, where a tokenizer keeps them."""
    names = {name_of(number): number for number in NAMED.values()}
    if place == "added_tokens_decoder":
        settings["added_tokens_decoder"] = {str(number): {"content": name} for name, number in names.items()}
    elif place == "tokenizer.json added_tokens":
        write(folder, "tokenizer", {"added_tokens": [{"id": number, "content": name} for name, number in names.items()]})
    elif place == "tokenizer.json vocab":
        write(folder, "tokenizer", {"added_tokens": [], "model": {"vocab": names}})
    elif place == "tokenizer.json pieces":
        pieces = [[name_of(i), -1.0] for i in range(max(NAMED.values()) + 1)]
        write(folder, "tokenizer", {"added_tokens": [], "model": {"vocab": pieces}})
    elif place == "added_tokens.json":
        write(folder, "added_tokens", names)
    elif place == "vocab.json":
        write(folder, "vocab", names)


PLACES = ["added_tokens_decoder", "tokenizer.json added_tokens", "tokenizer.json vocab", "tokenizer.json pieces",
          "added_tokens.json", "vocab.json"]


@pytest.fixture
def written(thaw, tmp_path):
    """written(says, place, spelling) -> genai_config.json's model. says: {role: sources that name it}"""
    count = itertools.count()

    def run(says, place="added_tokens_decoder", spell=lambda name: name):
        folder = tmp_path / f"checkpoint{next(count)}"

        def config(of):
            for role in ROLES:
                of.pop(f"{role}_token_id", None)
                if "config" in says[role]:
                    of[f"{role}_token_id"] = NUMBERED["config"]
            return of
        copy_checkpoint(checkpoint("qwen3"), folder, config=config)
        write(folder, "generation_config", {f"{role}_token_id": NUMBERED["generation_config"] for role in ROLES
                                            if "generation_config" in says[role]})
        files = {source: {f"{role}_token": spell(name_of(number)) if source in says[role] else None for role in ROLES}
                 for source, number in NAMED.items()}
        numbers_in(place, folder, files["tokenizer_config"])
        for source, content in files.items():
            write(folder, source, content)
        thaw("build", folder, "-o", folder / "out", "--part", "text", "--genai", code=0)
        return json.loads((folder / "out" / "genai_config.json").read_text())["model"]
    return run


def first_of(sources):
    both = NAMED | NUMBERED
    return next((both[source] for source in SOURCES if source in sources), None)


@pytest.mark.parametrize("sources", [[s for s, there in zip(SOURCES, bits) if there]
                                     for bits in itertools.product([True, False], repeat=len(SOURCES))],
                         ids=lambda sources: "+".join(sources) or "none")
def test_what_the_tokenizer_says_counts_first(written, sources):
    """Of each role; where no source says, the token that ends the text stands for it."""
    for role in ("bos", "pad"):
        says = {other: ["config"] for other in ROLES} | {role: sources}
        model = written(says)
        assert model[f"{role}_token_id"] == (first_of(sources) or NUMBERED["config"])
    if sources:
        ends = written({"bos": [], "pad": [], "eos": sources})["eos_token_id"]
        assert ends[0] == first_of(sources)
        numbered = [s for s in NUMBERED if s in sources]  # several may end a text: none is lost
        assert ends[1:] == ([NUMBERED[numbered[0]]] if numbered and ends[0] in NAMED.values() else [])


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("spell", [lambda name: name, lambda name: {"content": name, "lstrip": False}], ids=["text", "object"])
def test_a_name_has_its_number_wherever_the_tokenizer_keeps_it(written, place, spell):
    model = written({"bos": ["special_tokens_map", "config"], "eos": ["config"], "pad": ["tokenizer_config", "config"]}, place, spell)
    assert model["pad_token_id"] == NAMED["tokenizer_config"] and model["bos_token_id"] == NAMED["special_tokens_map"]


def test_a_name_without_a_number_is_passed_over(written):
    model = written({role: ["tokenizer_config", "generation_config"] for role in ROLES}, "nowhere")
    assert model["pad_token_id"] == model["bos_token_id"] == NUMBERED["generation_config"]
    assert model["eos_token_id"] == [NUMBERED["generation_config"]]


def test_ends_keep_their_order_where_the_tokenizers_own_is_among_them(thaw, tmp_path):
    folder = copy_checkpoint(checkpoint("qwen3"), tmp_path / "checkpoint")
    write(folder, "generation_config", {"eos_token_id": [7, 11]})
    write(folder, "tokenizer_config", {"eos_token": "<e>", "added_tokens_decoder": {"11": {"content": "<e>"}}})
    thaw("build", folder, "-o", tmp_path / "out", "--part", "text", "--genai", code=0)
    assert json.loads((tmp_path / "out" / "genai_config.json").read_text())["model"]["eos_token_id"] == [7, 11]


@pytest.mark.parametrize("name", ["tokenizer_config", "special_tokens_map", "tokenizer"])
@pytest.mark.parametrize("text", ["[1]", "{", "[" * 100000, "\x00"])
def test_a_file_that_is_no_tokenizers_is_named(thaw, tmp_path, name, text):
    folder = copy_checkpoint(checkpoint("qwen3"), tmp_path / "checkpoint")
    write(folder, "tokenizer_config", {"pad_token": "<p>"})
    (folder / f"{name}.json").write_text(text)
    message = thaw.error("build", folder, "-o", tmp_path / "out", "--part", "text", "--genai")
    assert f"{name}.json" in message and "JSON" in message
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("content", [
    {"pad_token": 3}, {"pad_token": {"content": 5}}, {"pad_token": []}, {"pad_token": "<p>", "added_tokens_decoder": [1]},
    {"pad_token": "<p>", "added_tokens_decoder": {"x": {"content": "<p>"}, "-1": 3}},
    {"pad_token": "<p>", "added_tokens_decoder": {"9" * 40: {"content": "<p>"}}}])
def test_what_is_odd_in_a_tokenizers_file_is_passed_over(thaw, tmp_path, content):
    folder = copy_checkpoint(checkpoint("qwen3"), tmp_path / "checkpoint")
    write(folder, "tokenizer_config", content)
    write(folder, "tokenizer", {"added_tokens": [3, {"content": "<p>"}, {"id": "9", "content": "<p>"}], "model": {"vocab": 5}})
    thaw("build", folder, "-o", tmp_path / "out", "--part", "text", "--genai", code=0)
    assert json.loads((tmp_path / "out" / "genai_config.json").read_text())["model"]["pad_token_id"] == 0
