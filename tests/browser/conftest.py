"""A real headless Chromium against a real server; skipped with a reason where there is no Chromium.

``axe.min.js.gz`` is axe-core 4.14.1, MPL-2.0, as the npm package ``axe-core`` holds it; it is for tests alone.
"""

from __future__ import annotations

import gzip
import shutil
import sys
import threading
import time
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parents[1] / "report"))

COUNT = 130
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
)
AXE = gzip.decompress((Path(__file__).parent / "axe.min.js.gz").read_bytes()).decode()


@pytest.fixture(scope="session")
def driver(tmp_path_factory):
    """The browser."""
    selenium = pytest.importorskip("selenium.webdriver", reason="selenium is not installed")
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    chromedriver = shutil.which("chromedriver")
    if chromium is None or chromedriver is None:
        pytest.skip("no chromium and chromedriver on the path (Debian: apt-get install chromium chromium-driver)")
    options = selenium.ChromeOptions()
    options.binary_location = chromium
    for flag in (*FLAGS, f"--user-data-dir={tmp_path_factory.mktemp('profile')}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    made = selenium.Chrome(options=options, service=selenium.ChromeService(chromedriver))
    made.set_page_load_timeout(60)
    yield made
    made.quit()


@pytest.fixture(scope="session")
def served(tmp_path_factory):
    """A server over 130 drawn images with hostile captions and a reranked system; its address and its report."""
    import drawn
    import reported
    import uvicorn
    from clipstore_cli.serve import bound

    from clipstore import Store, rerank
    from clipstore.rerank import save_as
    from clipstore.serve import Live, application

    folder = tmp_path_factory.mktemp("served")
    with Store.open(folder / "store") as store:
        space, loaded = reported.filled(store, folder, COUNT)
        beams = {name: [f"beam {number} of {name}" for number in range(4)] for name in drawn.captions(COUNT)}
        save_as(store, loaded, "picked", rerank(space, beams, loaded))
        live = Live(store, "shown", lambda: space)
        live.report()
        listening = bound("127.0.0.1", 0)
        server = uvicorn.Server(uvicorn.Config(application(live), log_level="error", lifespan="on"))
        thread = threading.Thread(target=server.run, args=([listening],), daemon=True)
        thread.start()
        while not server.started:
            time.sleep(0.02)
        yield f"http://127.0.0.1:{listening.getsockname()[1]}", live.report()
        server.should_exit = True
        thread.join(10)


class Page:
    """What tests ask of the browser."""

    def __init__(self, driver, base):
        self.driver, self.base = driver, base

    def open(self, path):
        """Open an address of the server, or a file's."""
        self.driver.get(self.base + path if path.startswith("/") else path)
        return self

    def all(self, css):
        """Return the elements of a selector."""
        return self.driver.find_elements("css selector", css)

    def one(self, css):
        """Return the first element of a selector."""
        return self.driver.find_element("css selector", css)

    def texts(self, css):
        """Return what elements say, all at one instant: a page that is just leaving can't mix with the next."""
        return self.run("return [...document.querySelectorAll(arguments[0])].map(one => one.innerText.trim())", css)

    def text(self, css):
        """Return what the first element says, nothing where there is none yet."""
        return next(iter(self.texts(css)), "")

    def press(self, *keys):
        """Press keys wherever the focus is, once the page stands: what is pressed before that is heard by nobody."""
        from selenium.webdriver import ActionChains

        self.until(lambda: self.run("return document.readyState") == "complete")
        ActionChains(self.driver).send_keys(*keys).perform()

    def run(self, script, *given):
        """Run a script in the page."""
        return self.driver.execute_script(script, *given)

    def until(self, holds):
        """Wait until something holds, twenty seconds at most; a page that is just being replaced does not hold it."""
        from selenium.common.exceptions import WebDriverException

        end = time.monotonic() + 20
        while True:
            try:
                if holds():
                    return
            except WebDriverException:
                if time.monotonic() > end:
                    raise
            assert time.monotonic() < end, "it never held"
            time.sleep(0.05)

    def wide(self, width, height=900):
        """Give the page a width."""
        self.driver.execute_cdp_cmd(
            "Emulation.setDeviceMetricsOverride",
            {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False},
        )

    def scripts(self, *, on):
        """Switch JavaScript on or off."""
        self.driver.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": not on})

    def dark(self, *, on):
        """Ask for a dark or light page."""
        value = "dark" if on else "light"
        feature = {"name": "prefers-color-scheme", "value": value}
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [feature]})

    def complaints(self):
        """Return what the browser complained of since it was last asked; a missing icon is none."""
        return [one["message"] for one in self.driver.get_log("browser") if "favicon" not in one["message"]]

    def axe(self):
        """Return what axe-core finds wrong, each rule with its first place."""
        self.run(AXE)
        found = self.driver.execute_async_script(
            "const done = arguments[0]; axe.run().then(found => done(found.violations.map("
            "one => [one.id, one.nodes[0].html.slice(0, 200), one.nodes[0].failureSummary])))"
        )
        return [tuple(one) for one in found]


@pytest.fixture
def page(driver, served):
    """The browser, wide, light and with scripts."""
    made = Page(driver, served[0])
    made.wide(1440)
    made.scripts(on=True)
    made.dark(on=False)
    made.complaints()
    yield made
    made.scripts(on=True)
