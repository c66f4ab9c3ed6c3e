#!/usr/bin/env python3
"""Adds to a wheel what is inside it beside Thaw: a list of components (PEP 770, CycloneDX) and their licences (PEP 639).

    tools/wheel_notices.py BUILD WHEEL     BUILD: the build folder that it comes from; WHEEL: as auditwheel leaves it

auditwheel lists the shared libraries that it puts in. This lists what is compiled or linked into Thaw's own files: the headers and archives that
the build read. Versions and licences are those of the packages on this machine that the files belong to.
"""
import json
import re
import shutil
import subprocess
import sys
import sysconfig
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from urllib.parse import quote

from auditwheel.wheeltools import InWheelCtx

SOURCE = Path(__file__).resolve().parents[1]
# What the wheel's files are compiled and linked from. The tests are none of it, nor are programs that only the build runs.
COMPILED = ("thaw", "thaw_cli_lib", "thaw_cli", "thaw_worker", "_thaw")
LINKED = {"thaw_shared": r"libthaw\.so\S*", "thaw_cli": "thaw", "thaw_worker": "thaw-worker", "_thaw": r"python/onnx_thaw/_thaw\S*"}
# The C and C++ libraries of the system and Python: a wheel takes them from where it is installed.
OF_THE_SYSTEM = re.compile(r"libc6-dev|linux-libc-dev|lib(stdc\+\+|gcc)-\d+-dev|lib(c\+\+|clang).*|(lib)?python3.*")
# Headers that declare what is opened at run time, and define nothing.
DECLARED_ALONE = {"libsndfile1-dev", "libsoxr-dev"}
# Debian's short names of licences, by SPDX's.
SPDX = {"Apache-2.0": "Apache-2.0", "BSD-2-clause": "BSD-2-Clause", "BSD-3-clause": "BSD-3-Clause", "Expat": "MIT", "Zlib": "Zlib"}


@dataclass(frozen=True)
class Part:
    """A component of the wheel; `origin` names the folder of its licence, `licence` is that file, if Thaw's own is not the same."""
    name: str
    version: str
    purl: str
    origin: str
    spdx: str | None
    licence: Path | None


def die(what, next_step):
    sys.exit(f"wheel_notices: error: {what}; {next_step}")


# -- what the build read -----------------------------------------------------------------------------------------------


def ninja(build, *words):
    return subprocess.run(["ninja", "-C", build, *words], capture_output=True, text=True, check=True).stdout


def cached(build, name):
    """A variable of the build's CMake cache."""
    return re.search(rf"^{name}:\w+=(.*)$", (build / "CMakeCache.txt").read_text("utf-8"), re.M)[1]


def files_read(build):
    """What the wheel's own files are compiled and linked from: sources, headers and archives."""
    objects = re.compile(rf"(\S+/)?CMakeFiles/({'|'.join(COMPILED)})\.dir/\S+: #deps")
    read, is_ours = set(), False
    for line in ninja(build, "-t", "deps").splitlines():
        if line.startswith(" ") and is_ours:
            read.add(line.strip())
        elif not line.startswith(" "):
            is_ours = objects.match(line) is not None
    if not read:
        die(f"{build} does not say what its objects were compiled from", "build the targets of the wheel there first")
    for line in ninja(build, "-t", "commands", *LINKED).splitlines():
        output = re.search(r" -o (\S+)", line)
        if output and re.fullmatch("|".join(LINKED.values()), output[1]):
            read |= set(re.findall(r"\S+\.a(?= |$)", line))
    read.add(cached(build, "CHART_JS"))  # reports carry it
    return {(build / path).resolve() for path in read}


# -- whose it is -------------------------------------------------------------------------------------------------------


def of_debian(package):
    """A package of Debian."""
    found = subprocess.run(["dpkg-query", "-W", "-f", "${Version}\n${source:Package}\n${Architecture}\n", package], capture_output=True,
                           text=True, check=False)
    if found.returncode != 0:
        die(f"{package} is in the wheel and no package of this machine", "install it, so that its version and licence are known")
    version, origin, architecture = found.stdout.split()
    licence = Path("/usr/share/doc") / package / "copyright"
    stanza = re.search(r"^Files:[ \t]*\*\n(?:(?!\n\n).)*?^License:[ \t]*(\S.*?)$", licence.read_text("utf-8", "replace"), re.M | re.S)
    purl = f"pkg:deb/debian/{quote(package, safe='')}@{quote(version, safe='')}?arch={architecture}"
    return Part(package, version, purl, origin, SPDX.get(stanza[1]) if stanza else None, licence)


def of_debian_files(paths):
    """The packages of Debian that own files."""
    found = subprocess.run(["dpkg-query", "-S", *sorted(map(str, paths))], capture_output=True, text=True, check=False)
    owner = {path: packages.partition(",")[0].partition(":")[0]
             for packages, _, path in (line.rpartition(": ") for line in found.stdout.splitlines())}
    for path in map(str, paths):
        if path not in owner:
            die(f"{path} is compiled into the wheel and is of no Debian package", "install the library as Debian's package")
    return [of_debian(package) for package in sorted(set(owner.values()) - DECLARED_ALONE) if not OF_THE_SYSTEM.fullmatch(package)]


def of_pypi(name):
    """An installed distribution."""
    found = metadata.distribution(name)
    licence = next((Path(found.locate_file(path)) for path in found.files or [] if Path(path).name.upper().startswith("LICENSE")), None)
    if licence is None:
        die(f"the distribution {name} has no licence among its files", "name its licence in tools/wheel_notices.py")
    return Part(name, found.version, f"pkg:pypi/{name}@{found.version}", name, found.metadata.get("License-Expression"), licence)


def parts(build):
    """The components that are compiled or linked into the wheel's own files."""
    fetched = (SOURCE / ".deps").resolve()
    packages = Path(sysconfig.get_paths()["purelib"]).resolve()
    left = {path for path in files_read(build)
            if not path.is_relative_to(build.resolve()) and (path.is_relative_to(fetched) or not path.is_relative_to(SOURCE))
            and not path.is_relative_to(Path(sysconfig.get_paths()["include"]).resolve())}
    found = []
    onnxruntime = {path for path in left if path.is_relative_to(fetched / "onnxruntime")}
    if onnxruntime:
        api = next(path for path in onnxruntime if path.name == "onnxruntime_c_api.h").read_text("utf-8")
        version = "1." + re.search(r"#define ORT_API_VERSION (\d+)", api)[1]
        found.append(Part("onnxruntime", version, f"pkg:generic/onnxruntime@{version}", "onnxruntime", "MIT", fetched / "onnxruntime" / "LICENSE"))
    pypi = {path for path in left - onnxruntime if path.is_relative_to(packages)}
    found += [of_pypi(name) for name in sorted({path.relative_to(packages).parts[0] for path in pypi})]
    found += of_debian_files(left - onnxruntime - pypi)
    # The table of operators is made of what the ONNX library knows, and carried as a table.
    config = (Path(cached(build, "ONNX_DIR")) / "ONNXConfig.cmake").read_text("utf-8")
    onnx = re.search(r'set\(ONNX_VERSION "(.*)"\)', config)[1]
    return [*found, Part("onnx", onnx, f"pkg:pypi/onnx@{onnx}", "onnx", "Apache-2.0", None)]


# -- into the wheel ----------------------------------------------------------------------------------------------------


def document(name, version, inside):
    """The list of components as CycloneDX has it."""
    whole = {"type": "library", "bom-ref": f"pkg:pypi/{name}@{version}", "name": name, "version": version, "purl": f"pkg:pypi/{name}@{version}",
             "licenses": [{"license": {"id": "Apache-2.0"}}]}
    return {
        "bomFormat": "CycloneDX", "specVersion": "1.6", "version": 1,
        "metadata": {"component": whole},
        "components": [{"type": "library", "bom-ref": part.purl, "name": part.name, "version": part.version, "purl": part.purl,
                        **({"licenses": [{"license": {"id": part.spdx}}]} if part.spdx else {})} for part in inside],
        "dependencies": [{"ref": whole["bom-ref"], "dependsOn": [part.purl for part in inside]}, *({"ref": part.purl} for part in inside)],
    }


def grafted(info):
    """The components that auditwheel put in, by its own list."""
    listed = info / "sboms" / "auditwheel.cdx.json"
    whole = json.loads(listed.read_text("utf-8")) if listed.exists() else {"components": []}
    own = whole.get("metadata", {}).get("component")
    return [of_debian(each["name"]) for each in whole["components"] if each != own]


def add_notices(info, inside):
    """Writes the list and the licences into a wheel's folder of metadata."""
    about = (info / "METADATA").read_text("utf-8")
    name, version = (re.search(rf"^{field}: (.*)$", about, re.M)[1] for field in ("Name", "Version"))
    (info / "sboms").mkdir(exist_ok=True)
    (info / "sboms" / f"{name}.cdx.json").write_text(json.dumps(document(name, version, inside), indent=1) + "\n", "utf-8")
    listed = []
    for part in sorted({part.origin: part for part in [*inside, *grafted(info)] if part.licence}.values(), key=lambda part: part.origin):
        place = f"{part.origin}/{part.licence.name}"
        (info / "licenses" / part.origin).mkdir(exist_ok=True)
        (info / "licenses" / place).write_bytes(part.licence.read_bytes())
        listed.append(f"License-File: {place}\n")
    (info / "METADATA").write_text(re.sub(r"^License-File: LICENSE\n", lambda own: own[0] + "".join(listed), about, count=1, flags=re.M), "utf-8")


def main():
    if shutil.which("dpkg-query") is None:
        die("this machine has no dpkg, whose packages say versions and licences", "build the wheel on Debian")
    build, wheel = Path(sys.argv[1]).absolute(), Path(sys.argv[2]).absolute()
    inside = parts(build)
    with InWheelCtx(wheel, wheel) as opened:
        add_notices(next(opened.path.glob("*.dist-info")), inside)


if __name__ == "__main__":
    main()
