"""The page of `hlo view` in headless Chromium: what clicks, keys and links show."""

import time

import pytest
from viewer import IN_CHROMIUM, SESSIONS, ActionChains, Keys, Viewer

import hlo
from hlo_tools.drawing.page.page import page as page_of_data
from hlo_tools.trace.write import trace_data
from optimizer.pipelines import pipeline

pytestmark = IN_CHROMIUM


def test_first_rewrite_is_shown_with_its_rule(mean) -> None:
    assert mean.text("#where") == "rewrite 1 of 1"
    assert "divide(x, c) => multiply(x, 1 / c)" in mean.text(".rule-text")
    assert mean.texts("#rule .badge")[0] == "BITS"
    assert any("%constant.4" in line for line in mean.texts("#before .row.gone"))
    assert any("multiply(%reduce_sum.7" in line for line in mean.texts("#after .row.came"))
    assert "reduce_sum.7x" in mean.text("#after .row.came .variable.v0")


def test_passes_that_changed_nothing_are_shown_on_demand(mnist) -> None:
    idle = mnist.all("#passes .idle")
    assert len(mnist.all("#passes .changed")) + len(idle) == mnist.run(
        "return viewer.trace.passes.length"
    )
    assert not any(each.is_displayed() for each in idle)
    mnist.click("#show-idle")
    assert all(each.is_displayed() for each in idle)
    mnist.click("#show-idle")


def test_value_is_shown_before_and_after_it_changes(mean) -> None:
    """The mean of random numbers, whose division became a product that rounds alike."""
    mean.run("viewer.go({name: viewer.trace.nameNumber.get('reduce_sum.7')})")
    assert "Value" in mean.texts("#details h3")
    (value,) = mean.texts("#details pre.value")
    assert value.startswith("f32[")


def test_keys_step_through_rewrites_and_passes(mean) -> None:
    places = [mean.fragment]
    for key in "jjkknp":
        mean.press(key)
        places.append(mean.fragment)
    steps = [place.split("step=")[1] for place in places[1:]]
    assert steps == ["1", "1", "1", "1", "0", "0"]
    assert places[1] != places[2] != places[3] == places[1]
    mean.press("?")
    assert mean.run("return document.getElementById('keys').open")
    mean.browser.switch_to.active_element.send_keys(Keys.ESCAPE)
    mean.press("t")
    assert mean.run("return document.documentElement.dataset.theme") in ("light", "dark")


def test_link_opens_the_same_place(browser, folder, mnist) -> None:
    mnist.run("viewer.go({pass: viewer.trace.changing[3], step: 15, name: null})")
    text = (SESSIONS / "mnist_step.hlo").read_text()
    again = Viewer(browser, folder, "mnist_step", text, mnist.fragment + "&i=mul.12")
    assert again.text("#where").startswith("rewrite 15 of")
    assert again.text("#details h2") == "%mul.12"
    assert "i=mul.12" in again.run("viewer.nextStep(1); return location.hash")


def test_clicks_choose_instructions_and_their_history_leads_to_the_source(mnist) -> None:
    mnist.run("viewer.go({pass: viewer.trace.changing[3], step: 15})")
    mnist.click("#after .row.came .name.defined")
    title = mnist.text("#details h2")
    assert title.startswith("%")
    assert any("make.py:" in line for line in mnist.texts(".history .origin"))
    assert mnist.all("#details .graph-scroll .node")
    mnist.click("#details dl.facts dd .name")
    assert mnist.text("#details h2") != title
    mnist.press(Keys.ESCAPE)
    assert not mnist.all("#details")[0].is_displayed()


def test_unchanged_lines_unfold(mnist) -> None:
    mnist.run("viewer.go({pass: viewer.trace.changing[3], step: 3})")
    before = mnist.run("return viewer.change.shown.length")
    mnist.click("#before .row.fold")
    opened = mnist.run("return viewer.change.shown.length")
    assert opened > before
    mnist.press("e")
    assert mnist.run("return viewer.change.shown.length") > opened
    assert not mnist.all("#before .row.fold")


def test_code_and_module_are_linked_both_ways(mean) -> None:
    mean.run("viewer.go({name: viewer.trace.nameNumber.get('mul.5'), tab: 'C'})")
    assert any("const f32 mul_5" in line for line in mean.texts("#code-lines .row.chosen"))
    assert "%mul.5" in mean.text("#code-module .row.chosen")
    mean.click("#code-lines .row.linked", "const f32 add_1")
    assert mean.text("#details h2") == "%add.1"
    assert "%add.1" in mean.text("#code-module .row.chosen")
    assert "%fused_computation" in mean.text("#details dl.facts")


def test_loops_and_module_are_linked_both_ways(mean) -> None:
    mean.run("viewer.go({name: viewer.trace.nameNumber.get('mul.5'), tab: 'loops'})")
    assert any("mul_5 =" in line for line in mean.texts("#loops-after .row.chosen"))
    mean.click("#loops-after .row.linked", "add_1 =")
    assert mean.text("#details h2") == "%add.1"
    mean.click("#details button", "of loops")
    assert mean.fragment.endswith("tab=loops")


def test_kernels_of_cuda_are_shown_change_by_change(browser, folder) -> None:
    text = (SESSIONS / "mean_of_sum.hlo").read_text()
    gpu = Viewer(browser, folder, "mean_gpu", text, "#pass=1&step=0&i=mul.5&tab=loops", "gpu")
    assert gpu.texts("#loops-passes button") == ["map-to-threads", "spell-in-cuda"]
    assert any("for (s64 j" in line for line in gpu.texts("#loops-before .row.gone"))
    assert any("threadIdx.x" in line for line in gpu.texts("#loops-after .row.came"))
    assert any("mul_5 =" in line for line in gpu.texts("#loops-after .row.chosen"))
    gpu.press("j")
    assert any("__shared__" in line for line in gpu.texts("#loops-after .row.came"))
    gpu.run("viewer.go({tab: 'CUDA'})")
    assert any("mul_5 =" in line for line in gpu.texts("#code-lines .row.chosen"))
    assert "%mul.5" in gpu.text("#code-module .row.chosen")


def test_loops_memory_and_timeline(mean) -> None:
    for tab in ("loops", "memory", "timeline"):
        next(t for t in mean.all("#tabs button") if t.get_attribute("id") == f"tab-{tab}").click()
        assert mean.all(f"#pane-{tab}")[0].is_displayed()
    assert mean.texts("#loops-passes button")[0] == "vectorize-reductions"
    assert mean.texts("#loops-after .row.came")
    assert any("%x.1" in title for title in mean.texts("svg.memory title"))
    assert "algebraic-simplifier" in mean.texts("#timeline-picture th a")


def test_search_finds_lines_passes_and_rules(mnist) -> None:
    mnist.press("/")
    mnist.browser.switch_to.active_element.send_keys("dot")
    kinds = mnist.texts("#found .kind")
    assert kinds == sorted(kinds, key=["line", "rewrite", "pass"].index)
    assert kinds.count("line") >= 6
    assert mnist.texts("#found li")[0].startswith("line%dot_general")
    mnist.browser.switch_to.active_element.send_keys(Keys.ESCAPE)
    mnist.press("/")
    box = mnist.browser.switch_to.active_element
    assert box.get_attribute("id") == "search"
    box.send_keys("transpose_of_dot")
    assert any("rewrite" in line for line in mnist.texts("#found li"))
    box.send_keys(Keys.ENTER)
    assert "transpose_of_dot" in mnist.text(".rule-text")
    mnist.press("/")
    mnist.browser.switch_to.active_element.send_keys("reshape-mover", Keys.ENTER)
    assert "reshape-mover" in mnist.text("#rule h2")


def test_quiz_hides_the_line_until_one_of_four_is_chosen(mean) -> None:
    mean.press("q")
    assert not mean.all("#after")[0].is_displayed()
    choices = mean.texts("#choices code")
    assert len(choices) == len(set(choices)) == 4
    right = next(
        n for n, line in enumerate(choices) if "multiply(%reduce_sum.7, %constant)" in line
    )
    mean.press("abcd"[right])
    assert mean.all("#after")[0].is_displayed()
    assert (mean.text("#verdict"), mean.text("#score")) == ("Right.", "1 of 1 right")
    assert mean.texts("#choices .right code") == [choices[right]]


def test_quiz_marks_a_wrong_choice_and_the_right_one(mnist) -> None:
    mnist.run("viewer.go({pass: viewer.trace.changing[3], step: 15, name: null})")
    mnist.press("q")
    wrong = mnist.run("return viewer.quiz.choices.findIndex((each) => !each.isRight)")
    mnist.press("abcd"[wrong])
    assert "right line is marked" in mnist.text("#verdict")
    assert mnist.text("#score") == "0 of 1 right"
    assert mnist.texts("#choices .right code")[0].startswith("%dot = f32[784,64] dot(%images.1")
    assert len(mnist.texts("#choices .wrong")) == 1
    mnist.click("#onward")
    assert mnist.run("return viewer.step") == 16
    mnist.press("q")


def test_quiz_begins_at_the_first_rewrite_of_a_pass(mnist) -> None:
    mnist.run("viewer.go({pass: viewer.trace.changing[3], step: 0})")
    assert mnist.all("#after")[0].is_displayed()
    mnist.press("q")
    assert mnist.run("return viewer.step") == 1
    assert not mnist.all("#after")[0].is_displayed()
    mnist.press("q")
    assert mnist.all("#after")[0].is_displayed()


def test_shards_are_drawn_in_the_colours_of_devices(browser, folder) -> None:
    text = """HloModule m, num_partitions=4
ENTRY e {
  x = f32[4,8] parameter(0), sharding={devices=[2,1,2]<=[4] last_tile_dim_replicate}
  ROOT y = f32[4,8] add(x, x)
}"""
    page = Viewer(browser, folder, "shards", text, "#pass=0&step=0&i=x")
    assert page.texts("svg.shards title") == ["block 0: devices 0, 1", "block 1: devices 2, 3"]
    colours = [cell.get_attribute("fill") for cell in page.all("svg.shards rect[fill]")]
    assert len(set(colours)) == 4
    page.run("viewer.go({tab: 'sharding'})")
    assert "devices=[2,1,2]<=[4] last_tile_dim_replicate" in page.text("table.shardings")
    assert "2 copies of each" in page.text("table.shardings")


def test_lines_take_the_whole_width_until_something_is_chosen(mnist) -> None:
    mnist.run("viewer.go({pass: viewer.trace.changing[3], step: 15, name: null})")
    wide = mnist.all("main")[0].rect["width"]
    mnist.run("viewer.go({name: viewer.trace.nameNumber.get('mul.12')})")
    assert mnist.all("main")[0].rect["width"] < wide - 200
    mnist.click("#details .close")
    assert mnist.all("main")[0].rect["width"] == wide


def test_panes_are_dragged_by_pointer_and_by_keys(mnist) -> None:
    mnist.run("viewer.go({pass: viewer.trace.changing[3], step: 15, name: null, tab: 'hlo'})")
    line = mnist.all("#pane-hlo .splitter")[0]
    before = mnist.all("#before")[0].rect["width"]
    ActionChains(mnist.browser).drag_and_drop_by_offset(line, 150, 0).perform()
    after = mnist.all("#before")[0].rect["width"]
    assert abs(after - before - 150) < 4
    line.send_keys(Keys.ARROW_LEFT, Keys.ARROW_LEFT)
    assert abs(mnist.all("#before")[0].rect["width"] - after + 48) < 8
    narrow = mnist.all("nav")[0].rect["width"]
    ActionChains(mnist.browser).drag_and_drop_by_offset(mnist.all("#split-nav")[0], 80, 0).perform()
    assert abs(mnist.all("nav")[0].rect["width"] - narrow - 80) < 8
    mnist.run("document.documentElement.removeAttribute('style')")


def test_long_lines_wrap_and_stay_beside_each_other(mnist) -> None:
    mnist.run("viewer.go({pass: viewer.trace.changing[3], step: 15, name: null, tab: 'hlo'})")
    assert mnist.run("return document.getElementById('before').scrollWidth > 700")
    mnist.press("w")
    assert "show=wrap" in mnist.fragment
    for side in ("before", "after"):
        assert mnist.run(
            f"const e = document.getElementById('{side}'); return e.scrollWidth <= e.clientWidth"
        )
        # No line is cut: each is as high as its words.
        assert mnist.run(
            f"return [...document.querySelectorAll('#{side} .row code')].every("
            "(e) => e.offsetHeight <= e.parentElement.offsetHeight)"
        )
    tops = [
        mnist.run(f"return [...document.querySelectorAll('#{s} .row')].map((e) => e.style.top)")
        for s in ("before", "after")
    ]
    assert tops[0] == tops[1]
    mnist.press("w")


def test_both_sides_scroll_together(mnist) -> None:
    mnist.run("viewer.go({pass: viewer.trace.changing[3], step: 15, name: null, tab: 'hlo'})")
    mnist.run("document.getElementById('before').scrollLeft = 120")
    time.sleep(0.2)
    assert mnist.run("return document.getElementById('after').scrollLeft") == 120
    mnist.press("e")
    mnist.run("document.getElementById('after').scrollTop = 400")
    time.sleep(0.2)
    assert mnist.run("return document.getElementById('before').scrollTop") == 400


LAYOUTS = """HloModule m
ENTRY e {
  x = f32[4,8]{1,0} parameter(0), frontend_attributes={who="me"}
  ROOT y = f32[8,4]{1,0} transpose(x), dimensions={1,0}, METADATA
}""".replace("METADATA", 'metadata={op_name="jit(f)/turn" source_file="f.py" source_line=7}')


def test_layouts_and_attributes_fold_and_the_source_is_beside(browser, folder) -> None:
    page = Viewer(browser, folder, "layouts", LAYOUTS, "#pass=1&step=0")
    page.press("e")
    assert "%x = f32[4,8] parameter(0), frontend_attributes={…}" in "".join(page.texts("#after"))
    page.press("l")
    assert 'f32[4,8]{1,0} parameter(0), frontend_attributes={who="me"}' in page.text("#after")
    assert "f.py:7" not in page.text("#after")
    page.press("s")
    assert "// f.py:7" in page.text("#after")
    assert "show=layouts+source" in page.fragment.replace("%2B", "+")
    again = Viewer(browser, folder, "layouts", LAYOUTS, page.fragment + "&i=y")
    assert "// f.py:7" in again.text("#after")
    assert "jit(f)/turn f.py:7" in again.text("#details dl.facts")


def test_passes_far_apart_are_compared(mnist) -> None:
    mnist.run("viewer.go({pass: viewer.trace.changing[0], step: 0, name: null, tab: 'hlo'})")
    mnist.press("m")
    mnist.run("viewer.go({pass: viewer.trace.changing[5], step: 0})")
    assert mnist.text("#before-title").startswith("Before pass")
    assert mnist.text("#after-title") != mnist.text("#before-title")
    between = mnist.run("""const { changing, passes } = viewer.trace;
      return changing.slice(0, 6).reduce((sum, each) => sum + passes[each].steps.length, 0)""")
    assert f"{between} rewrites by" in mnist.text("#rule")
    assert len(mnist.texts("#before .row.gone")) > 5
    link = mnist.fragment
    mnist.press("m")
    assert "from=" in link
    assert "from=" not in mnist.fragment


def test_play_goes_on_until_somebody_stops_it(mnist) -> None:
    mnist.run("document.getElementById('pace').value = '500'")
    mnist.run("viewer.go({pass: viewer.trace.changing[3], step: 1, name: null, tab: 'hlo'})")
    mnist.run("document.activeElement.blur()")
    mnist.press(" ")
    for _ in range(60):
        if mnist.run("return viewer.step") >= 3:
            break
        time.sleep(0.1)
    assert mnist.run("return viewer.step") >= 3
    mnist.press("k")
    assert mnist.all("#play")[0].get_attribute("aria-pressed") == "false"


GRAPH = """HloModule m
{body}
ENTRY e {{
  x = f32[8] parameter(0)
  half = f32[] constant(0.5)
  halves = f32[8] broadcast(half), dimensions={{}}
{lines}
}}"""


def scoped(count: int) -> str:
    """A module of so many layers, in a scope each, with a constant in each of them."""
    lines, last = [], "x"
    for n in range(count):
        for m in range(4):
            name = f"v{n}_{m}"
            root = "ROOT " if (n, m) == (count - 1, 3) else ""
            other = "halves" if m == 0 else "x"
            lines.append(
                f"  {root}{name} = f32[8] add({last}, {other}), "
                f'metadata={{op_name="jit(f)/layer{n}/part{m % 2}/add"}}'
            )
            last = name
    return GRAPH.format(body="", lines="\n".join(lines))


def test_graph_folds_by_scope(browser, folder) -> None:
    page = Viewer(browser, folder, "scopes", scoped(30), "#pass=1&step=0&tab=graph")
    heads = page.texts("#graph-picture .scope text")
    assert any("layer3" in each for each in heads)
    boxes = page.run("return viewer.graph.boxes")
    assert boxes <= 60
    page.click("#graph-bar button", "Fold all")
    assert page.run("return viewer.graph.boxes") == 31
    page.click("#graph-picture .scope", "layer3")
    assert any("▾ layer3" in each for each in page.texts("#graph-picture .scope text"))
    assert any("part1" in each for each in page.texts("#graph-picture .scope text"))
    page.run("viewer.go({name: viewer.trace.nameNumber.get('v7_2')})")
    assert "%v7_2" in page.text("#graph-picture .node.chosen")
    page.run("viewer.go({name: viewer.trace.nameNumber.get('v8_0')})")
    # The broadcast of a constant is a label, and no box.
    assert "0.5" in page.texts("#graph-picture text.constant")
    assert "%halves" not in page.texts("#graph-picture .label")


def test_graph_of_many_instructions_without_scopes_folds_too(browser, folder) -> None:
    lines = "\n".join(
        f"  {'ROOT ' if n == 1999 else ''}v{n} = f32[8] add({f'v{n - 1}' if n else 'x'}, x)"
        for n in range(2000)
    )
    text = GRAPH.format(body="", lines=lines)
    page = Viewer(browser, folder, "unscoped", text, "#pass=1&step=0&tab=graph")
    assert page.run("return viewer.graph.boxes") <= 100
    assert page.run("return viewer.graph.height") < 6000
    page.click("#graph-bar button", "Fit")
    box, picture = page.all("#graph-picture")[0].rect, page.all("#graph-picture svg")[0].rect
    assert picture["height"] <= box["height"]


def test_steps_of_a_schedule_show_the_loop_before_and_after_each(browser, folder) -> None:
    text = (SESSIONS.parent / "models" / "mlp_train_step.hlo").read_text()
    page = Viewer(browser, folder, "steps", text, "#pass=1&step=0&tab=loops")
    kernel, state = page.run("""
      for (const [k, { states }] of viewer.trace.kernels.entries()) {
        const s = states.findIndex((each) => each.steps?.length > 1);
        if (s >= 0) return [k, s];
      }""")
    page.run(
        f"Object.assign(viewer.loops, {{kernel: {kernel}, state: {state}}}); viewer.loops.render()"
    )
    assert page.text(".schedule").startswith("stage the loadsstage the loads")
    whole = page.text("#loops-after")
    page.click(".schedule button")
    assert "Legal, since" in page.text("#loops-passes")
    assert page.text("#loops-after") != whole


@pytest.mark.parametrize(("target", "language"), [("cpu", "Assembly"), ("gpu", "PTX")])
def test_machine_code_is_linked_to_the_module(browser, folder, target, language) -> None:
    module = hlo.load(SESSIONS / "mean_of_sum.hlo")
    data = trace_data(module, pipeline(target), target=target, assembly=True)
    if language not in [each["language"] for each in data["code"]]:
        pytest.skip(f"needs a compiler for {language}")
    (folder / f"{language}.html").write_text(page_of_data(data))
    page = Viewer(browser, folder, language, "", f"#pass=1&step=0&tab={language}&i=mul.5")
    assert any("mul" in each for each in page.texts("#code-lines .row.chosen"))
    page.click("#code-lines .row.linked", "mul")
    assert page.text("#details h2").startswith("%")


def test_memory_has_the_peak_and_bars_without_borders_where_these_would_hide_them(mnist) -> None:
    mnist.run("viewer.go({tab: 'memory', name: null})")
    assert "the peak," in mnist.text("#memory-picture figcaption")
    assert mnist.all("#memory-picture .peak")
    hidden = mnist.run("""return [...document.querySelectorAll("svg.memory .value.framed rect")]
      .filter((e) => e.getAttribute("height") < 6).length""")
    assert hidden == 0


def test_timeline_leaves_out_what_changed_nothing(mnist) -> None:
    mnist.run("viewer.go({tab: 'timeline', name: null})")
    shown = [row for row in mnist.all("#timeline-picture tbody tr") if row.is_displayed()]
    assert len(shown) == mnist.run("return viewer.trace.changing.length")


def test_graph_shows_each_rewrite(mnist) -> None:
    mnist.run("viewer.go({pass: viewer.trace.changing[3], step: 15, name: null, tab: 'graph'})")
    mnist.run("viewer.go({name: viewer.trace.nameNumber.get('dot')})")
    assert "%dot" in mnist.texts("#graph-picture .node.came .label")
    mnist.press("j")
    assert "%dot" not in mnist.texts("#graph-picture .node.came .label")
    mnist.run("viewer.go({tab: 'hlo', name: null})")
