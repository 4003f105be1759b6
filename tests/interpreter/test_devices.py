"""Random state, the host's queues, and messages between two devices."""

import threading
from collections import deque

import numpy as np
import pytest

import interpreter
from hlo.errors.error import HloError
from hlo.read.parse import parse
from interpreter.engine.device import FIRST_RANDOM_STATE


def test_the_random_state_advances_modulo_two_to_the_128() -> None:
    device = interpreter.Device()
    assert device.random_state(2**128 - 1) == FIRST_RANDOM_STATE
    assert device.random_state(5) == FIRST_RANDOM_STATE - 1
    assert device.random_state(0) == FIRST_RANDOM_STATE + 4


FEEDS = parse("""HloModule m
ENTRY main {
  tok = token[] after-all()
  in = (f32[2], token[]) infeed(tok)
  data = f32[2] get-tuple-element(in), index=0
  after = token[] get-tuple-element(in), index=1
  twice = f32[2] add(data, data)
  ROOT out = token[] outfeed(twice, after), outfeed_shape=f32[2]
}""")


def test_infeed_takes_and_outfeed_puts() -> None:
    device = interpreter.Device(infeed=deque([[1.0, 2.0], [3.0, 4.0]]))
    for _ in range(2):
        assert interpreter.evaluate(FEEDS, devices=[device]) is None
    np.testing.assert_array_equal(device.outfeed, [[2, 4], [6, 8]])


@pytest.mark.parametrize(("fed", "code"), [([], "HLO120"), ([[1.0]], "HLO111")])
def test_an_infeed_needs_a_value_of_its_shape(fed: list[object], code: str) -> None:
    with pytest.raises(HloError) as caught:
        interpreter.evaluate(FEEDS, devices=[interpreter.Device(infeed=deque(fed))])
    assert caught.value.code == code


HOST = parse("""HloModule m
ENTRY main {
  tok = token[] after-all()
  r = (f32[2], u32[], token[]) recv(tok), channel_id=3, is_host_transfer=true
  rd = (f32[2], token[]) recv-done(r), channel_id=3, is_host_transfer=true
  data = f32[2] get-tuple-element(rd), index=0
  n = f32[2] negate(data)
  s = (f32[2], u32[], token[]) send(n, tok), channel_id=4, is_host_transfer=true
  ROOT sd = token[] send-done(s), channel_id=4, is_host_transfer=true
}""")


def test_send_and_recv_with_the_host() -> None:
    device = interpreter.Device(from_host={3: deque([[1.0, 2.0]])})
    interpreter.evaluate(HOST, devices=[device])
    np.testing.assert_array_equal(device.to_host[4], [[-1, -2]])
    with pytest.raises(HloError, match="the host has sent nothing"):
        interpreter.evaluate(HOST, devices=[device])


# Each device receives before it sends: only a recv that does not wait lets this ring go round.
RING = """HloModule m, num_partitions=3
ENTRY main {
  x = f32[] parameter(0)
  tok = token[] after-all()
  r = (f32[], u32[], token[]) recv(tok), channel_id=1, frontend_attributes={PAIRS}
  s = (f32[], u32[], token[]) send(x, tok), channel_id=1, frontend_attributes={PAIRS}
  rd = (f32[], token[]) recv-done(r), channel_id=1
  sd = token[] send-done(s), channel_id=1
  ROOT y = f32[] get-tuple-element(rd), index=0
}"""


def ring(pairs: str) -> object:
    text = RING.replace("PAIRS", f'_xla_send_recv_source_target_pairs="{pairs}"')
    return interpreter.evaluate(parse(text), per_device=[(1.0,), (2.0,), (3.0,)])


def test_devices_send_around_a_ring() -> None:
    np.testing.assert_array_equal(ring("{{0,1},{1,2},{2,0}}"), [3, 1, 2])


def test_a_device_that_is_no_target_receives_zeros() -> None:
    np.testing.assert_array_equal(ring("{{0,2}}"), [0, 0, 1])


def test_a_device_may_send_to_itself_through_a_channel() -> None:
    body = RING.replace(", frontend_attributes={PAIRS}", "").replace(", num_partitions=3", "")
    assert interpreter.evaluate(parse(body), 7.0) == 7


def test_what_nobody_sends_is_a_deadlock() -> None:
    text = RING.replace("PAIRS", '_xla_send_recv_source_target_pairs="{{0,1}}"')
    lines = [line for line in text.splitlines() if " send(" not in line and "send-done" not in line]
    with pytest.raises(HloError, match="deadlock") as caught:
        interpreter.evaluate(parse("\n".join(lines)), per_device=[(1.0,), (2.0,), (3.0,)])
    assert "what device 0 is to send" in caught.value.notes[1]


def test_what_is_sent_must_have_the_shape_that_is_received() -> None:
    text = RING.replace("PAIRS", '_xla_send_recv_source_target_pairs="{{0,1}}"')
    text = text.replace("(f32[], u32[], token[]) recv(", "(f32[2], u32[], token[]) recv(")
    text = text.replace("(f32[], token[]) recv-done", "(f32[2], token[]) recv-done")
    text = text.replace("y = f32[]", "y = f32[2]")
    with pytest.raises(HloError) as caught:
        interpreter.evaluate(parse(text), per_device=[(1.0,), (2.0,), (3.0,)])
    assert caught.value.code == "HLO118"


def test_more_devices_than_the_system_starts_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    start = threading.Thread.start
    started: list[threading.Thread] = []

    def start_two(thread: threading.Thread) -> None:
        if len(started) == 2:
            raise RuntimeError("can't start new thread")
        started.append(thread)
        start(thread)

    monkeypatch.setattr(threading.Thread, "start", start_two)
    module = parse("HloModule m\nENTRY e {\n  ROOT x = f32[] parameter(0)\n}\n")
    with pytest.raises(HloError, match="3 devices, and the system starts 2 threads") as caught:
        interpreter.evaluate(module, per_device=[(1.0,), (2.0,), (3.0,)])
    assert caught.value.code == "HLO116"
    assert not any(thread.is_alive() for thread in started)
