"""--help lists every verb, and every verb explains itself with an example that starts as its usage does."""

import re

from conftest import SOURCE


def verbs(thaw):
    text = thaw("--help", code=0).stdout
    body = text.split("\nOptions\n")[0].split("Usage:")[1]
    return re.findall(r"^  ([a-z]+) ", body, re.M)


def test_the_help_lists_the_verbs(thaw):
    assert "completion" in verbs(thaw)


def test_every_verb_has_help_with_an_example(thaw):
    for verb in verbs(thaw):
        text = thaw(verb, "--help", code=0).stdout
        assert text.startswith(f"thaw {verb}: ")
        assert f"Usage: thaw {verb}" in text and "-h, --help" in text
        assert f"thaw {verb} " in re.split(r"\nExamples?\n", text)[1]


def test_help_verb_is_the_same(thaw):
    for verb in verbs(thaw):
        assert thaw("help", verb).stdout == thaw(verb, "-h").stdout


def test_help_fits_a_page(thaw):
    for verb in [[], *([v] for v in verbs(thaw))]:
        assert max(map(len, thaw(*verb, "--help").stdout.splitlines())) <= 120


def test_every_option_is_described(thaw):
    page = (SOURCE / "docs/cli.md").read_text()
    common = {"--help", "--format", "--max-memory", "--max-visits", "--timeout", "--no-sandbox", "--quiet", "--verbose", "--color"}
    start = page.split("\n## ")[0]
    assert all(option in start for option in common)
    for verb in verbs(thaw):
        if verb == "completion":
            assert "thaw completion bash" in page
            continue
        section = re.search(rf"^## thaw {verb} .*?(?=^## |\Z)", page, re.M | re.S)
        assert section, verb
        options = set(re.findall(r"(--[a-z-]+)", thaw(verb, "--help").stdout.split("\nOptions\n")[1].split("\nExample")[0]))
        missing = {option for option in options - common if not re.search(rf"{option}\b", section[0])}
        assert not missing, f"docs/cli.md, thaw {verb}: {missing}"
