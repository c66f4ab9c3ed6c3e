"""Small tokenizers of the kinds that families have and what they make of some texts, by the tokenizers package.

    python make_tokenizer.py OUTDIR

Written in OUTDIR, of Qwen's kind: tokenizer.json, tokenizer_config.json, config.json with the ids of the placeholders,
texts.json with [text, ids]. The same in folders of their own for llama3's, phi4's and SentencePiece's (Llama 2, Phi-3).
"""
import json
import sys
from pathlib import Path

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers

SUFFIX = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)"
REST = r"\s*[\r\n]+|\s+(?!\S)|\s+"
LOWER, UPPER = r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]", r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]"
WORD = r"[^\r\n\p{L}\p{N}]?"
PIECES = {
    "qwen": SUFFIX + "|" + WORD + r"\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|" + REST,
    "llama3": SUFFIX + "|" + WORD + r"\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|" + REST,
    "phi4": f"{WORD}{UPPER}*{LOWER}+{SUFFIX}?|{WORD}{UPPER}+{LOWER}*{SUFFIX}?" + r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|" + REST,
}
TRAINED = """A small tokenizer of Qwen's kind and what it makes of some texts, by the tokenizers package.

    python make_tokenizer.py OUTDIR

Written: tokenizer.json, tokenizer_config.json, config.json with the ids of the placeholders, texts.json with [text, ids].
"""
SPECIAL = ["<|endoftext|>", "<|im_start|>", "<|im_end|>", "<|vision_start|>", "<|vision_end|>", "<|image_pad|>", "<|video_pad|>"]
TEXTS = [
    "Hello world, it's a test of 12345 things!",
    "<|im_start|>user\n<|vision_start|><|image_pad|><|vision_end|>Describe this.<|im_end|>\n<|im_start|>assistant\n",
    "  leading  spaces \t and tabs   ",
    "na\u00efve caf\u00e9, cafe\u0301 \u2014 \u4f60\u597d\u4e16\u754c \u65e5\u672c\u8a9e \ud55c\uad6d\uc5b4 \U0001f389\U0001f469\u200d\U0001f469\u200d\U0001f467",
    "I'LL can't WE'VE don'T", "a\n\n b\n   c ", "\u2081\u2082\u00b3 \u00bd \u2167 \u0660", "foo_bar::baz(->)[]{}",
    "\u0627\u0644\u0639\u0631\u0628\u064a\u0629 \u05e2\u05d1\u05e8\u05d9\u05ea \u0939\u093f\u0928\u094d\u0926\u0940", " ", "\n",
]

# What nothing was trained on: marks behind a special token and behind letters, words in words, white space of all kinds.
OTHERS = ["<|im_end|>\u0338x a\u0300", "\u1e9b\u0323 \u212b \u1112\u1161\u11ab x\u0301y\u0302 E\u0301COLE", "McDonald's HTTPServer camelCase",
          "1234567 12 1", "a/b//c\n\n\n", " 'Tis \u00a0nbsp\u3000x"]


def bytes_of(kind):
    """Byte-level BPE, whose kinds differ in how they take words apart."""
    tokenizer = Tokenizer(models.BPE())
    if kind == "qwen":
        tokenizer.normalizer = normalizers.NFC()
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.Split(Regex(PIECES[kind]), "isolated"),
                                                       pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(vocab_size=400 if kind == "qwen" else 320, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
                                  special_tokens=[])
    tokenizer.train_from_iterator(TEXTS * 3 + [TRAINED], trainer)
    return tokenizer


def sentencepiece():
    """SentencePiece's BPE as the tokenizers package writes it down: spaces are U+2581, what is unknown is its bytes."""
    tokenizer = Tokenizer(models.BPE(unk_token="<unk>", byte_fallback=True, fuse_unk=True))
    tokenizer.normalizer = normalizers.Sequence([normalizers.Prepend("\u2581"), normalizers.Replace(" ", "\u2581")])
    tokenizer.pre_tokenizer = pre_tokenizers.Split("\u2581", "merged_with_next")
    single = ["<unk>", "<s>", "</s>"] + [f"<0x{byte:02X}>" for byte in range(256)]
    tokenizer.train_from_iterator([TRAINED] * 3, trainers.BpeTrainer(vocab_size=340, special_tokens=single))
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([])
    # By its decoder the library knows it.
    tokenizer.decoder = decoders.Sequence([decoders.Replace("\u2581", " "), decoders.ByteFallback(), decoders.Fuse(),
                                           decoders.Strip(" ", 1, 0)])
    return tokenizer


def write(folder, tokenizer, config, ids):
    folder.mkdir(parents=True, exist_ok=True)
    tokenizer.add_special_tokens([AddedToken(token, special=True) for token in SPECIAL])
    tokenizer.save(str(folder / "tokenizer.json"), pretty=False)
    (folder / "tokenizer_config.json").write_text(json.dumps(config) + "\n")
    (folder / "config.json").write_text(json.dumps(ids(tokenizer)) + "\n")
    made = [[text, tokenizer.encode(text, add_special_tokens=False).ids] for text in TEXTS + OTHERS]
    (folder / "texts.json").write_text(json.dumps(made) + "\n")


def main(folder):
    config = {"tokenizer_class": "Qwen2Tokenizer", "add_prefix_space": False, "bos_token": None, "eos_token": "<|im_end|>",
              "pad_token": "<|endoftext|>", "unk_token": None, "clean_up_tokenization_spaces": False}
    pads = {f"{name}_token_id": f"<|{name}_pad|>" for name in ("image", "video")}
    write(folder, bytes_of("qwen"), config,
          lambda tokenizer: {"model_type": "qwen2_5_vl"} | {key: tokenizer.token_to_id(token) for key, token in pads.items()})
    write(folder / "llama3", bytes_of("llama3"), config | {"tokenizer_class": "PreTrainedTokenizerFast"}, lambda _: {"model_type": "llama"})
    write(folder / "phi4", bytes_of("phi4"), config | {"tokenizer_class": "GPT2TokenizerFast"}, lambda _: {"model_type": "phi3"})
    pieces = {"tokenizer_class": "LlamaTokenizer", "add_bos_token": True, "bos_token": "<s>", "eos_token": "</s>", "pad_token": "<unk>",
              "unk_token": "<unk>", "legacy": False, "clean_up_tokenization_spaces": False}
    write(folder / "sentencepiece", sentencepiece(), pieces, lambda _: {"model_type": "llama"})


if __name__ == "__main__":
    main(Path(sys.argv[1]))
