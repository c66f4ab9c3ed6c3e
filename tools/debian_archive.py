#!/usr/bin/env python3
"""Prints the address of the Debian archive that this machine's apt takes its own release from.

    tools/debian_archive.py
"""
import re
import sys
from pathlib import Path

APT = Path("/etc/apt")


def release():
    """The codename of this machine's release: "bookworm"."""
    return re.search(r'^VERSION_CODENAME="?(\w+)', Path("/etc/os-release").read_text("utf-8"), re.M)[1]


def archives(codename, apt=APT):
    """The addresses that apt has for a release, in the order of its files."""
    found = []
    for path in [apt / "sources.list", *sorted((apt / "sources.list.d").glob("*.list"))]:
        for line in path.read_text("utf-8").splitlines() if path.exists() else []:
            match = re.match(r"\s*deb\s+(?:\[[^]]*\]\s+)?(\S+)\s+(\S+)\s", line)
            if match and match[2] == codename:
                found.append(match[1])
    for path in sorted((apt / "sources.list.d").glob("*.sources")):
        for stanza in re.split(r"\n\s*\n", path.read_text("utf-8")):
            fields = dict(re.findall(r"^(\w[\w-]*):[ \t]*(.*)$", stanza, re.M))
            if codename in fields.get("Suites", "").split() and "deb" in fields.get("Types", "").split():
                found += fields.get("URIs", "").split()
    return found


if __name__ == "__main__":
    codename = release()
    if not (found := archives(codename)):
        sys.exit(f"debian_archive: error: no Debian archive for {codename} among this machine's apt sources; add one to {APT}/sources.list")
    print(found[0])
