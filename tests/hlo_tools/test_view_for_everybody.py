"""The page of `hlo view` by keys alone, for screen readers, in any window, on paper, when large."""

import time

import numpy as np
import pytest
from large import large_text
from viewer import CONTRASTS, IN_CHROMIUM, SESSIONS, By, Keys, Viewer

from hlo_tools.step import step

pytestmark = IN_CHROMIUM
HOSTILE = """HloModule m
ENTRY main {
  x = f32[2] parameter(0), metadata={op_name="<img src=x onerror='window.hacked = 1'>"}
  a = f32[2] negate(x), frontend_attributes={note="</script><script>window.hacked = 1</script>"}
  ROOT b = f32[2] negate(a), metadata={op_name="</script><svg onload='window.hacked = 1'>"}
}
"""


def test_keyboard_alone_reaches_everything(mnist) -> None:
    reached = set()
    mnist.run("document.activeElement.blur()")
    for _ in range(60):
        mnist.browser.switch_to.active_element.send_keys(Keys.TAB)
        reached.add(mnist.browser.switch_to.active_element.get_attribute("id"))
    assert {"search", "quiz", "theme", "help", "show-idle", "slider", "before", "after"} <= reached
    mnist.run("document.getElementById('after').focus()")
    mnist.browser.switch_to.active_element.send_keys(Keys.ARROW_DOWN, Keys.ARROW_DOWN)
    assert mnist.text("#details h2").startswith("%")
    assert mnist.all("#after")[0].get_attribute("aria-activedescendant")


def test_everything_has_a_name_for_screen_readers(mnist) -> None:
    nameless = mnist.run("""
      const named = (e) => e.getAttribute("aria-label") || e.textContent.trim()
        || e.labels?.length || e.title;
      return [...document.querySelectorAll("button, input, select, [role=listbox], [role=img]")]
        .filter((e) => !named(e)).map((e) => e.outerHTML.slice(0, 80))""")
    assert nameless == []
    mnist.press("j")
    assert mnist.text("#spoken").startswith("Rewrite ")


def test_hostile_names_run_nothing(browser, folder) -> None:
    viewer = Viewer(browser, folder, "hostile", HOSTILE)
    for name in ("x", "a", "b"):
        viewer.run(f"viewer.go({{name: viewer.trace.nameNumber.get('{name}')}})")
        viewer.press("e")
    assert viewer.run("return window.hacked") is None
    assert viewer.run("return document.querySelectorAll('img, script:not(#trace)').length") == 1


def test_whole_change_is_printed(mnist) -> None:
    mnist.run("viewer.go({pass: viewer.trace.changing[3], step: 15})")
    mnist.press("e")
    shown = mnist.run("return viewer.change.shown.length")
    mnist.run("window.dispatchEvent(new Event('beforeprint'))")
    assert len(mnist.all("#before .row")) == len(mnist.all("#after .row")) == shown
    mnist.run("window.dispatchEvent(new Event('afterprint'))")
    assert len(mnist.all("#before .row")) < shown


@pytest.mark.parametrize("size", [(1600, 1000), (900, 700), (420, 900)])
def test_page_fits_the_window(mnist, size) -> None:
    mnist.browser.set_window_size(*size)
    mnist.run("viewer.go({pass: viewer.trace.changing[3], step: 15})")
    time.sleep(0.2)
    try:
        for css in ("#before", "#after", "#rule", "#passes", "#slider"):
            box = mnist.all(css)[0].rect
            assert box["height"] > 20, css
            assert box["width"] > 60, css
        over = mnist.run("return document.documentElement.scrollWidth - innerWidth")
        assert over <= 1
        assert mnist.texts("#after .row.came")
    finally:
        mnist.browser.set_window_size(1400, 900)


def test_twenty_thousand_instructions_stay_fluid(browser, folder) -> None:
    """Under 2 s to open, 50 ms a step (of the page's own CPU time), and 3 MB."""
    viewer = Viewer(browser, folder, "large", large_text(1000))
    assert viewer.run("return viewer.trace.start.length") > 20_000
    assert viewer.size < 3e6
    assert viewer.busy() < 2
    taken = []
    for _ in range(40):
        begun = viewer.busy()
        viewer.run("viewer.nextStep(1)")
        viewer.browser.execute_async_script("requestAnimationFrame(() => arguments[0]())")
        taken.append(viewer.busy() - begun)
    assert np.median(taken) < 0.05
    viewer.run("viewer.go({step: 4000})")
    assert viewer.text("#where").startswith("rewrite 4,000 of")


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_all_text_has_enough_contrast(mnist, theme) -> None:
    mnist.run(f"document.documentElement.dataset.theme = '{theme}'")
    mnist.run("viewer.go({pass: viewer.trace.changing[3], step: 15})")
    found = {}
    for tab in mnist.run("return [...viewer.tabs.keys()]"):
        mnist.run(
            f"viewer.go({{tab: '{tab}', name: viewer.trace.rows.name[viewer.trace.start[3]]}})"
        )
        found |= {f"{tab} {where}": told for where, told in mnist.run(CONTRASTS)}
    mnist.run("viewer.go({tab: 'hlo'})")
    mnist.press("q")
    mnist.click("#show-idle")
    found |= {f"quiz {where}": told for where, told in mnist.run(CONTRASTS)}
    mnist.press("q")
    mnist.click("#show-idle")
    assert found == {}


def test_page_works_in_a_frame_of_a_notebook(browser, folder) -> None:
    session = step(SESSIONS / "mean_of_sum.hlo")
    path = folder / "notebook.html"
    path.write_text(f"<!DOCTYPE html><body>{session.view()._repr_html_()}</body>")
    browser.get(f"file://{path}")
    browser.switch_to.frame(0)
    try:
        for _ in range(200):
            if browser.find_elements(By.CSS_SELECTOR, "body[data-ready]"):
                break
            time.sleep(0.05)
        where = browser.find_element(By.ID, "where")
        assert where.text == "rewrite 1 of 1"
        browser.find_element(By.ID, "forward").click()
        assert "fuse" in browser.find_element(By.ID, "rule").text
        assert [e for e in browser.get_log("browser") if e["level"] == "SEVERE"] == []
    finally:
        browser.switch_to.default_content()


def test_text_on_paper_is_whole(mnist) -> None:
    """Lines are folded there, for nobody can scroll."""
    mnist.run("viewer.go({pass: viewer.trace.changing[3], step: 15})")
    mnist.press("e")
    mnist.browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    mnist.run("window.dispatchEvent(new Event('beforeprint'))")
    try:
        cut = mnist.run("""
          const over = (e) =>
            e.scrollWidth > e.clientWidth + 1 || e.scrollHeight > e.clientHeight + 3;
          const rows = [...document.querySelectorAll("#before .row")];
          return [rows.length, rows.filter(over).map((e) => e.textContent)]""")
    finally:
        mnist.run("window.dispatchEvent(new Event('afterprint'))")
        mnist.browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})
    assert cut[0] > 20
    assert cut[1] == []


@pytest.mark.parametrize("width", [1400, 1024])
def test_names_of_passes_are_broken_between_words(mnist, width) -> None:
    mnist.browser.set_window_size(width, 800)
    try:
        broken = mnist.run("""
          const found = [];
          for (const title of document.querySelectorAll("#passes .changed .title")) {
            for (const node of [...title.childNodes].filter((n) => n.nodeType === 3)) {
              for (const word of node.data.matchAll(/[a-z]+/g)) {
                const range = document.createRange();
                range.setStart(node, word.index);
                range.setEnd(node, word.index + word[0].length);
                if (range.getClientRects().length > 1) found.push(word[0]);
              }
            }
          }
          return found""")
    finally:
        mnist.browser.set_window_size(1400, 900)
    assert broken == []


def test_names_of_arrays_in_memory_cover_each_other_nowhere(mnist) -> None:
    mnist.run("viewer.go({tab: 'memory'})")
    boxes = mnist.run("""
      return [...document.querySelectorAll("svg.memory")].map((picture) =>
        [...picture.children]
          .map((e) => e.tagName === "text" ? e.getBoundingClientRect() : null))""")
    assert sum(map(len, boxes)) > 20
    for picture in boxes:
        names = [box for box in picture if box]
        assert picture[len(picture) - len(names) :] == names, "a bar is drawn over a name"
        for n, one in enumerate(names):
            for other in names[:n]:
                beside = one["right"] <= other["left"] + 1 or other["right"] <= one["left"] + 1
                above = one["bottom"] <= other["top"] + 2 or other["bottom"] <= one["top"] + 2
                assert beside or above
