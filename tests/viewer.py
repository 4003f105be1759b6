"""The page of `hlo view` in headless Chromium, as tests use it."""

import os
import shutil
import time
from pathlib import Path

import pytest

import hlo as language
import optimizer
from hlo_tools.drawing.page.page import page
from hlo_tools.trace.values import Values, random_inputs
from hlo_tools.trace.write import trace_data

webdriver = pytest.importorskip("selenium.webdriver", reason="needs selenium")
from selenium.common.exceptions import StaleElementReferenceException  # noqa: E402
from selenium.webdriver.common.action_chains import ActionChains  # noqa: E402, F401
from selenium.webdriver.common.by import By  # noqa: E402
from selenium.webdriver.common.keys import Keys  # noqa: E402, F401  for who imports this

CHROMIUM, DRIVER = (
    shutil.which("chromium") or shutil.which("google-chrome"),
    shutil.which("chromedriver"),
)
IN_CHROMIUM = [
    pytest.mark.slow,
    pytest.mark.skipif(not (CHROMIUM and DRIVER), reason="needs chromium and chromedriver"),
]
SESSIONS = Path(__file__).parent / "sessions"
# The least contrast of text with what is behind it, as WCAG 2.1 has it: 4.5, of large text 3.
CONTRASTS = """
  for (const each of document.getAnimations()) each.finish();  // colours change slowly
  const parts = (text) => text.match(/[\\d.]+/g).map(Number);
  const over = ([r, g, b, a = 1], below) => [r, g, b].map((c, n) => c * a + below[n] * (1 - a));
  const behind = (e) => {
    const own = e ? parts(getComputedStyle(e).backgroundColor) : [255, 255, 255];
    return own.length < 4 ? own : over(own, behind(e.parentElement));
  };
  const light = (rgb) => {
    const [r, g, b] = rgb.map((c) => c / 255)
      .map((c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const faint = new Map();
  for (const e of document.querySelectorAll("body *")) {
    const own = [...e.childNodes].filter((n) => n.nodeType === 3);
    const text = own.map((n) => n.data.trim()).join("");
    if (!text || !e.checkVisibility()) continue;
    if (e.closest("script, style, svg, .hidden, :disabled")) continue;
    const style = getComputedStyle(e), page = behind(e);
    let opacity = 1;
    for (let each = e; each; each = each.parentElement) opacity *= getComputedStyle(each).opacity;
    const [r, g, b, a = 1] = parts(style.color);
    const [one, other] = [light(over([r, g, b, a * opacity], page)), light(page)];
    const found = (Math.max(one, other) + 0.05) / (Math.min(one, other) + 0.05);
    const size = parseFloat(style.fontSize);
    const least = size >= 24 || (size >= 18.66 && style.fontWeight >= 700) ? 3 : 4.5;
    const told = `${found.toFixed(2)} ${text.slice(0, 40)}`;
    if (found < least) faint.set(e.className || e.tagName, told);
  }
  return [...faint];"""


def started():
    """A browser, to be quit at the end."""
    os.environ["SE_OFFLINE"] = "true"
    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    for flag in ("--headless=new", "--no-sandbox", "--disable-gpu", "--window-size=1400,900"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    return webdriver.Chrome(options=options, service=webdriver.ChromeService(DRIVER))


class Viewer:
    """The page of a module, open in the browser."""

    def __init__(
        self, browser, folder: Path, name: str, text: str, fragment: str = "", target: str = "cpu"
    ) -> None:
        self.browser = browser
        path = folder / f"{name}.html"
        if not path.exists():
            module = language.parse(text)
            values = Values(lambda: random_inputs(module)) if len(text) < 100_000 else None
            made = trace_data(module, optimizer.pipeline(target), values, target=target)
            path.write_text(page(made))
        self.size = path.stat().st_size
        browser.get("about:blank")
        browser.execute_cdp_cmd("Performance.disable", {})
        browser.execute_cdp_cmd("Performance.enable", {"timeDomain": "threadTicks"})
        browser.get(f"file://{path}{fragment}")
        for _ in range(200):
            if self.body.get_attribute("data-ready"):
                break
            time.sleep(0.05)
        assert [e["message"] for e in browser.get_log("browser") if e["level"] == "SEVERE"] == []

    @property
    def body(self):
        return self.browser.find_element(By.TAG_NAME, "body")

    def all(self, css: str):
        return self.browser.find_elements(By.CSS_SELECTOR, css)

    def texts(self, css: str) -> list[str]:
        script = "return [...document.querySelectorAll(arguments[0])].map((e) => e.textContent)"
        return self.browser.execute_script(script, css)

    def text(self, css: str) -> str:
        return self.texts(css)[0]

    def press(self, *keys: str) -> None:
        self.body.send_keys(*keys)

    def click(self, css: str, text: str = "") -> None:
        """Click the first element with a text; lists may be drawn anew meanwhile."""
        for _ in range(20):
            try:
                next(e for e in self.all(css) if e.is_displayed() and text in e.text).click()
            except (StaleElementReferenceException, StopIteration):
                time.sleep(0.1)
            else:
                return
        pytest.fail(f"nothing to click on: {css} {text}")

    def busy(self) -> float:
        """The CPU time that the page's thread has taken, in seconds."""
        metrics = self.browser.execute_cdp_cmd("Performance.getMetrics", {})["metrics"]
        return next(each["value"] for each in metrics if each["name"] == "TaskDuration")

    def run(self, script: str):
        return self.browser.execute_script(script)

    @property
    def fragment(self) -> str:
        return self.run("return location.hash")
