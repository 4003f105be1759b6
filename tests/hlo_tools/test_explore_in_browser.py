"""The page of `hlo explore` by keys and clicks, in headless Chromium."""

import threading
import time

import pytest
from viewer import CONTRASTS, IN_CHROMIUM, By, Keys, started

pytest.importorskip("bottle")
pytest.importorskip("waitress")

from hlo_tools.explore.server import Explorer
from hlo_tools.explore.work import Workers

pytestmark = IN_CHROMIUM
PATIENCE = 60


class Page:
    """The open page."""

    def __init__(self, browser, address: str) -> None:
        self.browser = browser
        browser.get("about:blank")
        browser.get(address)

    def find(self, selector: str):
        return self.browser.find_element(By.CSS_SELECTOR, selector)

    def until(self, holds, what: str) -> None:
        for _ in range(10 * PATIENCE):
            if holds():
                return
            time.sleep(0.1)
        raise AssertionError(what)

    def type(self, text: str) -> None:
        """Replace the whole text."""
        self.find("#text").send_keys(Keys.CONTROL, "a")
        self.find("#text").send_keys(text)

    def inside(self, script: str):
        """What a script finds in the viewer's page; None while there is none."""
        self.browser.switch_to.frame(self.find("#view"))
        try:
            return self.browser.execute_script(f"return {script}")
        except Exception:
            return None
        finally:
            self.browser.switch_to.default_content()

    def title(self) -> str:
        """The title of the viewer's page."""
        self.browser.switch_to.frame(self.find("#view"))
        try:
            return self.browser.title and self.find("h1").text
        except Exception:
            return ""
        finally:
            self.browser.switch_to.default_content()


@pytest.fixture(scope="module")
def browser():
    made = started()
    yield made
    made.quit()


@pytest.fixture
def page(browser):
    explorer = Explorer(Workers(seconds=PATIENCE))
    threading.Thread(target=explorer.serve, daemon=True).start()
    yield Page(browser, explorer.address)
    explorer.close()


def test_typing_shows_the_module_anew(page: Page) -> None:
    page.until(lambda: page.title().startswith("softmax"), "the example is shown")
    page.type("HloModule mine\nENTRY e { ROOT a = f32[3] parameter(0) }")
    page.until(lambda: page.title().startswith("mine"), "the new text is shown")
    assert not [e for e in page.browser.get_log("browser") if e["level"] == "SEVERE"]


def test_an_error_is_underlined_and_goes(page: Page) -> None:
    page.type("HloModule m\nENTRY e { ROOT a = f32[3] parameters(0) }")
    # While it is typed, there are others.
    page.until(lambda: "`parameters`" in page.find("#problems").text, "the error is listed")
    assert "HLO007" in page.find("#problems").text
    assert page.find("#marks mark").get_attribute("textContent") == "parameters"
    assert page.find("#problems .place").text.strip() == "2:27"
    page.type("HloModule m\nENTRY e { ROOT a = f32[3] parameter(0) }")
    page.until(lambda: not page.find("#problems").text, "the error is gone")


def test_a_link_holds_the_text(page: Page) -> None:
    page.type("HloModule linked\nENTRY e { ROOT a = f32[3] parameter(0) }")
    page.until(lambda: page.title().startswith("linked"), "the text is shown")
    Page(page.browser, page.browser.current_url)
    page.until(lambda: page.title().startswith("linked"), "the link shows it again")
    assert "linked" in page.find("#text").get_attribute("value")


def test_python_of_a_link_waits_for_a_click(page: Page) -> None:
    page.type("import jax.numpy as jnp\ndef program(x): return x * x\narguments = (jnp.ones(3),)")
    page.until(lambda: page.title().startswith("jit_program"), "typed Python runs")
    Page(page.browser, page.browser.current_url)
    page.until(lambda: page.find("#asks").is_displayed(), "it asks")
    assert not page.title().startswith("jit_program")
    page.find("#agree").click()
    page.until(lambda: page.title().startswith("jit_program"), "it runs after a click")


def test_a_chapter_opens_beside_it(page: Page) -> None:
    page.until(lambda: len(page.browser.find_elements(By.CSS_SELECTOR, "#chapter option")) > 5, "")
    page.find("#chapter").send_keys("06 rewriting")
    page.until(lambda: page.find("#course").is_displayed(), "the chapter is shown")


def test_keys_and_clicks_choose_target_passes_and_assembly(page: Page) -> None:
    """What the viewer draws is drawn here: its tabs are those of the target."""
    tabs = "[...document.querySelectorAll('#tabs button')].map((each) => each.textContent).join()"
    page.until(lambda: "C," in (page.inside(tabs) or ""), "the C of the example is shown")
    for tab in ("HLO", "Graph", "Loops", "Memory", "Timeline"):
        assert tab in page.inside(tabs)
    page.find("#assembly").click()
    page.until(lambda: "Assembly" in (page.inside(tabs) or ""), "the assembly is shown")
    page.find("#assembly").click()
    page.find("#target").send_keys("gpu")
    page.until(lambda: "CUDA" in (page.inside(tabs) or ""), "the CUDA C is shown")
    page.find("#passes").send_keys("cse,dce")
    page.until(lambda: page.inside("viewer.trace.passes.length") == 2, "two passes are shown")
    page.find("#passes").send_keys(",nopass")
    page.until(lambda: "nopass" in page.find("#problems").text, "the wrong pass is listed")


def test_an_example_is_chosen_and_an_error_leads_to_its_place(page: Page) -> None:
    page.until(lambda: page.title().startswith("softmax"), "the first text is shown")
    page.find("#example").send_keys("stablehlo")
    page.until(lambda: page.title().startswith("main"), "the example is shown")
    page.type("HloModule m\nENTRY e { ROOT a = f32[3] parameters(0) }")
    page.until(lambda: "`parameters`" in page.find("#problems").text, "the error is listed")
    page.find("#problems button").click()
    chosen = "return [text.selectionStart, text.selectionEnd].join()"
    assert page.browser.execute_script(chosen) == "38,48"


def test_the_keyboard_alone_reaches_everything(page: Page) -> None:
    page.browser.execute_script("document.activeElement.blur()")
    reached = []
    for _ in range(9):
        page.browser.switch_to.active_element.send_keys(Keys.TAB)
        reached.append(page.browser.switch_to.active_element.get_attribute("id"))
    wanted = ["example", "target", "assembly", "passes", "link", "chapter", "text"]
    assert [each for each in reached if each in wanted] == wanted
    bar = page.find("#bar")
    before = page.find("#left").size["width"]
    bar.send_keys(Keys.ARROW_LEFT)
    assert page.find("#left").size["width"] < before


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_all_text_has_enough_contrast_in_both_themes(page: Page, theme: str) -> None:
    chosen = {"features": [{"name": "prefers-color-scheme", "value": theme}]}
    page.browser.execute_cdp_cmd("Emulation.setEmulatedMedia", chosen)
    page.until(lambda: page.title().startswith("softmax"), "the example is shown")
    dark = page.browser.execute_script(
        "return matchMedia('(prefers-color-scheme: dark)').matches"
        " && getComputedStyle(document.body).backgroundColor"
    )
    assert bool(dark) == (theme == "dark")
    page.type("HloModule m\nENTRY e { ROOT a = f32[3] parameters(0) }")
    page.until(lambda: page.find("#problems").text, "the error is listed")
    # The copy of the text that carries the underlines has no colour.
    page.browser.execute_script("marks.remove()")
    assert page.browser.execute_script(CONTRASTS) == []
    page.browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})


@pytest.mark.parametrize("width", [420, 900, 1600])
def test_everything_fits_the_window(page: Page, width: int) -> None:
    page.browser.set_window_size(width, 900)
    page.until(lambda: page.title().startswith("softmax"), "the example is shown")
    wide = page.browser.execute_script("return document.documentElement.scrollWidth")
    assert wide <= page.browser.execute_script("return innerWidth")
    for part in ("#text", "#view"):
        assert page.find(part).size["width"] >= 150, part
