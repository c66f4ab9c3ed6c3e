"""What calls do beside their work: warnings, records of logging, progress, and tables."""
import inspect
import io
import logging
import sys
import warnings

import numpy as np
import pytest

import onnx_thaw as thaw
from conftest import frozen, mlp, model, numbers, python

SETTINGS = {"providers", "set_onnxruntime", "set_providers"}  # of the process
VERBS = sorted({name for name in thaw.__all__ if inspect.isfunction(getattr(thaw, name))} - {"load", "to_pandas"} - SETTINGS)


def warns_of_conversion():
    """A conversion that has nothing to do."""
    return thaw.convert(thaw.convert(mlp(), to="f16").model, to="f16")


def test_warnings_of_a_report_are_issued_to_the_caller():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        line = inspect.currentframe().f_lineno + 1
        report = thaw.convert(thaw.convert(mlp(), to="f16").model, to="f16")
    assert report.warnings and [str(each.message) for each in caught] == report.warnings
    assert all(each.category is thaw.ThawWarning and each.filename == __file__ and each.lineno == line for each in caught)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(thaw.ThawWarning, match="nothing was converted"):
            warns_of_conversion()
        thaw.check(mlp())


def test_each_call_is_a_record_with_its_seconds(caplog):
    path_less = frozen()
    with caplog.at_level(logging.DEBUG, logger="onnx_thaw"):
        thaw.check(path_less)
        thaw.fix(path_less)
        with pytest.raises(thaw.Error):
            thaw.check(path_less, target="nix")
    assert [record.verb for record in caplog.records] == ["check", "fix", "check"]
    assert all(record.name == "onnx_thaw" and record.levelname == "DEBUG" and 0 < record.seconds < 60 for record in caplog.records)
    assert "check took" in caplog.messages[0] and "until InvalidArgument" in caplog.messages[2]


def test_every_verb_is_a_call_of_this_kind():
    assert len(VERBS) > 20
    for name in VERBS:
        assert hasattr(getattr(thaw, name), "__wrapped__"), name
        assert getattr(thaw, name).__name__ == name


def test_the_package_is_quiet_and_imports_no_more_than_it_needs():
    done = python("""
import sys, onnx_thaw as thaw
assert not {"logging", "tqdm", "pandas", "onnx_ir", "pytest", "torch"} & set(sys.modules), sys.modules.keys()
thaw.rules()
print("fine")
""")
    assert done.stdout == "fine\n" and not done.stderr, done.stderr


def measured(save, tmp_path, progress):
    np.savez(tmp_path / "x.npz", x=numbers(2, 5, 32))
    return thaw.sensitivity(save(mlp(layers=3), "m"), data=tmp_path / "x.npz", to="int4", progress=progress)


def test_a_bar_of_tqdm(save, tmp_path):
    pytest.importorskip("tqdm")
    shown = io.StringIO()
    with thaw.progress.bar("measuring", file=shown) as bar:
        assert measured(save, tmp_path, bar).accepted
    assert "measuring: 100%" in shown.getvalue() and shown.getvalue().endswith("\n")


def test_a_bar_of_rich(save, tmp_path):
    pytest.importorskip("rich")
    shown = io.StringIO()
    with thaw.progress.bar("measuring", file=shown, kind="rich") as bar:
        assert measured(save, tmp_path, bar).accepted
    assert "measuring" in shown.getvalue() and "100%" in shown.getvalue()
    with thaw.progress.bar("writing", file=shown, kind="rich") as bar:
        for i, word in enumerate(["once", "upon"]):
            bar(i + 1, word)


def test_a_bar_is_of_what_is_installed(monkeypatch):
    made = []
    monkeypatch.setattr(thaw.progress, "_KINDS", {
        name: (lambda *_, name=name: made.append(name) or thaw.progress._Line("", io.StringIO())) for name in thaw.progress._KINDS})
    with thaw.progress.bar() as bar:
        bar(1, 2)
    assert made == ["tqdm"]
    monkeypatch.undo()
    for name in ("tqdm", "tqdm.auto", "rich", "rich.console"):
        monkeypatch.setitem(sys.modules, name, None)
    with thaw.progress.bar(file=io.StringIO()) as bar:
        bar(1, 2)
        assert isinstance(bar._shown, thaw.progress._Line)
    for kind in ("tqdm", "rich"):
        with pytest.raises(ImportError), thaw.progress.bar(kind=kind) as bar:
            bar(1, 2)
    with pytest.raises(thaw.InvalidArgument, match="expected one of tqdm, rich, plain"):
        thaw.progress.bar(kind="nix")


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.mark.parametrize("shown", [io.StringIO, Terminal])
def test_a_line_without_tqdm(monkeypatch, save, tmp_path, shown):
    for name in ("tqdm", "tqdm.auto", "rich", "rich.console"):
        monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.setattr(sys, "stderr", shown())
    with thaw.progress.bar("measuring") as bar:
        measured(save, tmp_path, bar)
    written = sys.stderr.getvalue()
    last = written.rstrip("\n").rpartition("\r")[2]
    done, _, total = last.removeprefix("measuring: ").partition(" of ")
    assert written.endswith("\n") and done == total and int(total) > 0
    assert ("\r" in written) == (shown is Terminal)


@pytest.mark.parametrize("has_tqdm", [False, True])
def test_bars_of_what_has_no_total_or_never_begins(monkeypatch, has_tqdm):
    if has_tqdm:
        pytest.importorskip("tqdm")
    else:
        for name in ("tqdm", "tqdm.auto", "rich", "rich.console"):
            monkeypatch.setitem(sys.modules, name, None)
    shown = io.StringIO()
    with thaw.progress.bar("writing", file=shown):
        pass
    assert shown.getvalue() == ""
    with thaw.progress.bar("writing", file=shown) as bar:
        for i, word in enumerate(["once", "upon", "a"]):
            bar(i + 1, word)
    assert "writing: 3" in shown.getvalue() and "a" not in shown.getvalue().replace("%", "").partition("writing: 3")[2].split("[")[0]
    with pytest.raises(KeyError), thaw.progress.bar(file=shown) as bar:
        bar(1, 2)
        raise KeyError
    assert shown.getvalue().endswith("\n")


def test_reports_become_tables(save):
    pandas = pytest.importorskip("pandas")
    proto = frozen()
    report = thaw.check(proto)
    table = thaw.to_pandas(report)
    assert isinstance(table, pandas.DataFrame) and table.equals(thaw.to_pandas(report.findings))
    assert table["code"].tolist() == [finding.code for finding in report.findings]
    assert table["severity"].tolist() == ["error"] and table["where.node"].tolist() == [report.findings[0].where.node]
    empty = thaw.to_pandas(thaw.check(mlp()))
    assert list(empty.columns) == list(table.columns) and len(empty) == 0 and empty[empty.severity == "error"].empty
    assert len(thaw.to_pandas([])) == 0
    net = mlp()
    for result, rows, column in [(thaw.verify(net, net), 3, "status"), (thaw.convert(net, to="int4"), 3, "sqnr_db"),
                                 (thaw.fix(proto), len(thaw.fix(proto).changed), "kind"), (thaw.inspect(net), 5, "dims"),
                                 (thaw.split(net, at=["r0"]), 2, "weight_bytes"), (thaw.rules(), len(thaw.rules()), "title")]:
        table = thaw.to_pandas(result)
        assert len(table) == rows and column in table.columns
        if not isinstance(result, list):
            assert table.equals(result.to_pandas())
    outputs = thaw.to_pandas(thaw.verify(net, net).points[0].outputs)
    assert outputs["comparison.max_abs_diff"].tolist() == [0.0]


def test_what_is_no_table():
    pytest.importorskip("pandas")
    for given in (3, [3], ["a"], thaw.run(mlp(), random=True), mlp(), [thaw.check(mlp()), thaw.rules()[0]]):
        with pytest.raises(TypeError, match="list"):
            thaw.to_pandas(given)


def test_a_table_needs_pandas(monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match="pip install pandas"):
        thaw.to_pandas(thaw.check(model("g (float[n] x) => (float[n] y) { y = Relu(x) }")))
