"""`make site`: builds without a warning, has every page in its navigation, leads nowhere that is not there, and fits a telephone."""
import http.server
import re
import subprocess
import sys
import threading
import time
from functools import partial
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

import onnx_thaw
from conftest import SOURCE

sys.path.insert(0, str(SOURCE / "tests"))
from browser import browser

DIAGRAMS = "https://unpkg.com/mermaid"  # what draws diagrams: the theme asks for it where a page has one


class Links(HTMLParser):
    """Where the links of a page lead, and what in it can be led to."""

    def __init__(self, page: Path) -> None:
        super().__init__()
        self.targets: list[str] = []
        self.anchors: set[str] = set()
        self.feed(page.read_text("utf-8"))

    def handle_starttag(self, tag, attributes):
        given = dict(attributes)
        self.anchors |= {given[name] for name in ("id", "name") if given.get(name)}
        self.targets += [given[name] for name in ("href", "src") if given.get(name)]


def broken(site: Path) -> list[str]:
    """Links within the site that lead nowhere."""
    pages = {page: Links(page) for page in site.rglob("*.html") if page.name != "404.html"}
    found = []
    for page, links in pages.items():
        for target in links.targets:
            parts = urlsplit(target)
            if parts.scheme or parts.netloc:
                continue
            there = (page.parent / unquote(parts.path)).resolve() if parts.path else page
            if not there.exists() or (parts.fragment and there in pages and unquote(parts.fragment) not in pages[there].anchors):
                found.append(f"{page.relative_to(site)}: {target}")
    return found


def build(out):
    return subprocess.run([sys.executable, SOURCE / "tools" / "make_site.py", "--package", Path(onnx_thaw.__file__).parent, "--out", out],
                          capture_output=True, text=True, timeout=300, check=False)


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    out = tmp_path_factory.mktemp("site")
    done = build(out)
    assert done.returncode == 0, done.stdout + done.stderr
    return out / "html"


def test_links_lead_somewhere(site):
    assert len(list(site.rglob("*.html"))) > 60
    assert broken(site) == []


def test_a_link_that_leads_nowhere_is_found(tmp_path):
    (tmp_path / "a.html").write_text('<a href="b.html#there">x</a> <a href="b.html#not">y</a> <a href="c.html">z</a> <a href="https://d">d</a>')
    (tmp_path / "b.html").write_text('<h1 id="there">b</h1>')
    assert broken(tmp_path) == ["a.html: b.html#not", "a.html: c.html"]


def test_every_page_is_in_the_navigation(site):
    named = set(re.findall(r"(?:- |: )([\w/.-]+\.md)$", (SOURCE / "mkdocs.yml").read_text("utf-8"), re.M))
    pages = {str(page.relative_to(site.parent / "pages")) for page in (site.parent / "pages").rglob("*.md")}
    assert sorted(pages - named) == [], "name these pages in the nav of mkdocs.yml"
    assert sorted(named - pages) == [], "the nav of mkdocs.yml names pages that are not there"


def test_what_the_package_exports_is_in_the_reference(site):
    headings = "\n".join(page.read_text("utf-8") for page in (site / "docs" / "api").glob("*.html"))
    exported = [name for name in onnx_thaw.__all__ if isinstance(getattr(onnx_thaw, name), type) or callable(getattr(onnx_thaw, name))]
    assert len(exported) > 40
    assert [name for name in exported if f'id="onnx_thaw.{name}"' not in headings] == []
    assert 'id="onnx_thaw.torch.export"' in headings and 'id="onnx_thaw._thaw.CheckReport.findings"' in headings


@pytest.fixture(scope="module")
def address(site):
    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *_):
            pass
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=site)) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()


def test_pages_fit_the_window_and_need_nothing_from_elsewhere(site, address):
    with browser() as page:
        page.devtools("Network.enable", {})
        page.devtools("Network.setBlockedURLs", {"urls": [f"{DIAGRAMS}*"]})  # so that nobody waits for it
        for path in sorted(site.rglob("*.html")):
            page.visit(f"{address}/{path.relative_to(site)}")
            assert page.run("return document.querySelector('article h1') !== null"), path.name
            for width in (1280, 400):
                page.devtools("Emulation.setDeviceMetricsOverride", {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False})
                assert page.run("return document.documentElement.scrollWidth") <= width, path.name
        assert [message for message in page.log() if DIAGRAMS not in message["message"]] == []
        assert [url for url in page.fetched() if not url.startswith((address, "data:", "blob:", "about:", DIAGRAMS))] == []


def test_search_finds_pages(address):
    box = """const within = root => [...root.querySelectorAll('*')].map(each => each.shadowRoot).filter(each => each)
               .map(each => each.querySelector('input') ? each : within(each)).find(each => each);
             const box = within(document);"""
    with browser() as page:
        page.visit(f"{address}/index.html")
        page.run("document.querySelector('.md-search__button').click()")
        wait(lambda: page.run(box + "return Boolean(box)"))
        page.run(box + """const field = box.querySelector('input');
                          field.value = 'DirectML'; field.dispatchEvent(new Event('input', {bubbles: true, composed: true}));""")
        targets = wait(lambda: page.run(box + "return [...box.querySelectorAll('a')].map(each => each.getAttribute('href'))"))
    assert any("004-qwen3-asr-on-directml.html" in target for target in targets)


def wait(until):
    for _ in range(200):
        if found := until():
            return found
        time.sleep(0.05)
    raise AssertionError("nothing within 10 s")
