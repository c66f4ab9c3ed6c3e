"""A browser without a window, driven over the W3C's WebDriver protocol by Debian's chromedriver."""
import base64
import contextlib
import json
import shutil
import socket
import subprocess
import time
import urllib.request


class Browser:
    def __init__(self, port, width, height, dark):
        self.base = f"http://127.0.0.1:{port}"
        arguments = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars",
                     f"--window-size={max(width, 600)},{height}"]
        capabilities = {"goog:chromeOptions": {"args": arguments, "binary": shutil.which("chromium")},
                        "goog:loggingPrefs": {"browser": "ALL", "performance": "ALL"}}
        session = self.call("POST", "/session", {"capabilities": {"alwaysMatch": capabilities}})
        self.base += f"/session/{session['sessionId']}"
        # Windows have a least width; what the page sees is set here.
        self.devtools("Emulation.setDeviceMetricsOverride",
                      {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False})
        self.devtools("Emulation.setEmulatedMedia",
                      {"features": [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]})

    def call(self, method, path, body=None):
        request = urllib.request.Request(self.base + path, method=method, headers={"Content-Type": "application/json"},
                                         data=None if body is None else json.dumps(body).encode())
        with urllib.request.urlopen(request, timeout=60) as reply:
            return json.load(reply)["value"]

    def devtools(self, command, params):
        return self.call("POST", "/goog/cdp/execute", {"cmd": command, "params": params})

    def open(self, path):
        self.visit(path.resolve().as_uri())

    def visit(self, url):
        self.call("POST", "/url", {"url": url})

    def run(self, script, *arguments):
        return self.call("POST", "/execute/sync", {"script": script, "args": list(arguments)})

    def log(self, kind="browser"):
        return self.call("POST", "/se/log", {"type": kind})

    def fetched(self):
        """Addresses that the page asked for."""
        messages = [json.loads(entry["message"])["message"] for entry in self.log("performance")]
        return {m["params"]["request"]["url"] for m in messages if m["method"] == "Network.requestWillBeSent"}

    def picture(self, path):
        shot = self.devtools("Page.captureScreenshot", {"captureBeyondViewport": True})
        path.write_bytes(base64.b64decode(shot["data"]))


@contextlib.contextmanager
def browser(width=1280, height=900, dark=False):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    driver = subprocess.Popen(["chromedriver", f"--port={port}"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        for _ in range(300):
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
                break
            time.sleep(0.1)
        page = Browser(port, width, height, dark)
        yield page
        page.call("DELETE", "")
    finally:
        driver.terminate()
        driver.wait(20)
