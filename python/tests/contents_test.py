"""The wheel holds what it says that it holds, and shows no names but its own."""
import json
import re
import sys
from importlib.metadata import distribution
from pathlib import Path

import pytest

import onnx_thaw
from conftest import python

elffile = pytest.importorskip("elftools.elf.elffile")
PACKAGE = Path(onnx_thaw.__file__).parent
INFO = Path(str(distribution("onnx-thaw").locate_file(f"onnx_thaw-{onnx_thaw.__version__}.dist-info")))
# What a manylinux wheel takes from the system.
OF_THE_SYSTEM = re.compile(r"(libc|libm|libstdc\+\+|libgcc_s|libz|ld-linux-[\w-]+)\.so(\.\d+)?")


def binaries():
    """The wheel's own, and the libraries that were put in, by their path in the wheel."""
    for file in sorted([*PACKAGE.rglob("*"), *(PACKAGE.parent / "onnx_thaw.libs").iterdir()]):
        if file.is_file() and file.read_bytes()[:4] == b"\x7fELF":
            yield str(file.relative_to(PACKAGE.parent)), elffile.ELFFile(file.open("rb"))


BINARIES = dict(binaries())


def shown(name):
    """The dynamic symbols that a file defines: name and binding."""
    symbols = BINARIES[name].get_section_by_name(".dynsym").iter_symbols()
    return [(each.name, each["st_info"]["bind"]) for each in symbols if each.name and each["st_shndx"] != "SHN_UNDEF"]


def needed(name):
    return [tag.needed for tag in BINARIES[name].get_section_by_name(".dynamic").iter_tags("DT_NEEDED")]


def test_the_module_shows_its_entry_point_alone():
    module = next(name for name in BINARIES if Path(name).name.startswith("_thaw."))
    assert [name for name, _ in shown(module)] == ["PyInit__thaw"]


def test_the_library_shows_what_the_headers_declare():
    library = next(name for name in BINARIES if name.startswith("onnx_thaw/lib/libthaw.so"))
    names = [name for name, _ in shown(library)]
    assert any(re.match(r"_ZN4thaw7inspect", name) for name in names)
    assert [name for name in names if not re.match(r"_Z(T[ISV])?N[KRO]*4thaw", name)] == []


def test_no_symbol_is_shared_with_the_whole_process():
    """STB_GNU_UNIQUE: the loader would make one of it with that of any other library, however it was opened."""
    assert {name for name in BINARIES for _, binding in shown(name) if binding in ("STB_LOOS", "STB_GNU_UNIQUE") or binding == 10} == set()


def test_what_the_files_need_is_inside_or_of_the_system():
    inside = {tag.soname for each in BINARIES.values() if (dynamic := each.get_section_by_name(".dynamic")) for tag in dynamic.iter_tags("DT_SONAME")}
    lacking = {(name, each) for name in BINARIES for each in needed(name) if each not in inside and not OF_THE_SYSTEM.fullmatch(each)}
    assert lacking == set()


def components(name):
    listed = json.loads((INFO / "sboms" / name).read_text("utf-8"))
    assert listed["bomFormat"] == "CycloneDX" and listed["metadata"]["component"]["version"] == onnx_thaw.__version__
    refs = {each["bom-ref"] for each in listed["components"]}
    depends = next(each for each in listed["dependencies"] if each["ref"] == listed["metadata"]["component"]["bom-ref"])
    assert set(depends["dependsOn"]) <= refs
    return {each["name"]: each for each in listed["components"] if each["name"].replace("_", "-") != "onnx-thaw"}


def test_all_that_is_inside_is_listed_with_its_version_and_licence():
    own, put_in = components("onnx-thaw.cdx.json"), components("auditwheel.cdx.json")
    libraries = list((PACKAGE.parent / "onnx_thaw.libs").iterdir())
    assert len(put_in) == len(libraries) > 0
    # By what the sources include: headers that define code, and archives.
    assert {"libcli11-dev", "libfmt-dev", "libhwy-dev", "libjpeg62-turbo-dev", "libjs-chart.js", "libkissfft-dev", "libpng-dev", "libtbb-dev",
            "libtomlplusplus-dev", "libutf8proc-dev", "libxxhash-dev", "nanobind", "nlohmann-json3-dev", "onnx", "onnxruntime"} <= set(own)
    assert not {name for name in own if re.search("gtest|rapidcheck|protobuf|libstdc|sndfile|soxr", name)}
    for each in [*own.values(), *put_in.values()]:
        assert each["version"] and each["version"] in each["purl"].replace("%3A", ":").replace("%2B", "+"), each
    files = distribution("onnx-thaw").metadata.get_all("License-File")
    assert files[0] == "LICENSE" and len(files) == len(set(files)) > 10
    assert all(len((INFO / "licenses" / file).read_text("utf-8", "replace")) > 400 for file in files)
    assert {str(path.relative_to(INFO / "licenses")) for path in (INFO / "licenses").rglob("*") if path.is_file()} == set(files)


@pytest.mark.parametrize("kind, place", [("man", "man/man1/thaw.1"), ("bash", "bash-completion/completions/thaw"),
                                         ("zsh", "zsh/site-functions/_thaw"), ("fish", "fish/vendor_completions.d/thaw.fish")])
def test_shells_find_what_the_command_prints_for_them(kind, place):
    done = python(f"import subprocess; subprocess.run([{str(PACKAGE / 'bin' / 'thaw')!r}, 'completion', {kind!r}], check=True)")
    assert done.returncode == 0, done.stderr
    assert (Path(sys.prefix) / "share" / place).read_text("utf-8") == done.stdout
