"""--help lists every verb, and every verb explains itself with an example that starts as its usage does."""

import re

from thaw_command import thaw


def verbs():
    text = thaw("--help").stdout
    body = text.split("\nOptions\n")[0].split("Usage:")[1]
    return re.findall(r"^  ([a-z]+) ", body, re.M)


def test_the_help_lists_the_verbs():
    assert "completion" in verbs()


def test_every_verb_has_help_with_an_example():
    for verb in verbs():
        text = thaw(verb, "--help").stdout
        assert text.startswith(f"thaw {verb}: ")
        assert f"Usage: thaw {verb}" in text and "-h, --help" in text
        assert f"thaw {verb} " in re.split(r"\nExamples?\n", text)[1]


def test_help_verb_is_the_same():
    for verb in verbs():
        assert thaw("help", verb).stdout == thaw(verb, "-h").stdout


def test_help_fits_a_page():
    for verb in [[], *([v] for v in verbs())]:
        assert max(map(len, thaw(*verb, "--help").stdout.splitlines())) <= 120
