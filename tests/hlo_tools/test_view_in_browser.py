"""The page of `hlo view` in headless Chromium: what clicks, keys and links show."""

from viewer import IN_CHROMIUM, SESSIONS, Keys, Viewer

pytestmark = IN_CHROMIUM


def test_first_rewrite_is_shown_with_its_rule(mean) -> None:
    assert mean.text("#where") == "rewrite 1 of 1"
    assert "divide(x, c) => multiply(x, 1 / c)" in mean.text(".rule-text")
    assert mean.texts("#rule .badge")[0] == "BITS"
    assert any("%constant.4" in line for line in mean.texts("#before .row.gone"))
    assert any("multiply(%reduce_sum.7" in line for line in mean.texts("#after .row.came"))
    assert "reduce_sum.7x" in mean.text("#after .row.came .variable.v0")


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
    mnist.run("viewer.go({pass: viewer.trace.changing[2], step: 15, name: null})")
    text = (SESSIONS / "mnist_step.hlo").read_text()
    again = Viewer(browser, folder, "mnist_step", text, mnist.fragment + "&i=mul.12")
    assert again.text("#where").startswith("rewrite 15 of")
    assert again.text("#details h2") == "%mul.12"
    assert "i=mul.12" in again.run("viewer.nextStep(1); return location.hash")


def test_clicks_choose_instructions_and_their_history_leads_to_the_source(mnist) -> None:
    mnist.run("viewer.go({pass: viewer.trace.changing[2], step: 15})")
    mnist.click("#after .row.came .name.defined")
    title = mnist.text("#details h2")
    assert title.startswith("%")
    assert any("make.py:" in line for line in mnist.texts(".history .origin"))
    assert mnist.all("#details .graph-scroll .node")
    mnist.click("#details dl.facts dd .name")
    assert mnist.text("#details h2") != title
    mnist.press(Keys.ESCAPE)
    assert "Choose an instruction" in mnist.text("#details")


def test_unchanged_lines_unfold(mnist) -> None:
    mnist.run("viewer.go({pass: viewer.trace.changing[2], step: 3})")
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
    box = mnist.browser.switch_to.active_element
    assert box.get_attribute("id") == "search"
    box.send_keys("transpose_of_dot")
    assert any("rewrite" in line for line in mnist.texts("#found li"))
    box.send_keys(Keys.ENTER)
    assert "transpose_of_dot" in mnist.text(".rule-text")
    mnist.press("/")
    mnist.browser.switch_to.active_element.send_keys("reshape-mover", Keys.ENTER)
    assert "reshape-mover" in mnist.text("#rule h2")


def test_quiz_hides_the_line_until_it_is_guessed(mean) -> None:
    mean.press("q")
    assert not mean.all("#after")[0].is_displayed()
    answer = mean.all("#answer")[0]
    answer.send_keys("add(x, y)", Keys.ENTER)
    assert "Try again" in mean.text("#verdict")
    answer.clear()
    answer.send_keys("multiply(reduce_sum.7, constant)", Keys.ENTER)
    assert mean.all("#after")[0].is_displayed()
    assert mean.text("#spoken") == "Right."


def test_quiz_begins_at_the_first_rewrite_of_a_pass(mnist) -> None:
    mnist.run("viewer.go({pass: viewer.trace.changing[2], step: 0})")
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
