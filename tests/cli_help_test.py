"""--help lists every verb, and every verb explains itself with an example that starts as its usage does."""

import re


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
