"""Models of PyTorch, forward and backward: eager's values, and no operation is left to torch."""

import copy
from typing import Any

import pytest

from hlo_torch import report

pytest.importorskip("torch", reason="torch is not installed: make frontends")

import torch as pytorch
from torch_models import MODELS, Generator
from torch_networks import NETWORKS, Size


def trained(function: Any, model: Any, inputs: list[Any]) -> list[Any]:
    """The results of two steps, with gradients and buffers."""
    found: list[Any] = []
    pytorch.manual_seed(1)
    for _ in range(2):
        made = function(*inputs)
        made = list(made) if isinstance(made, tuple) else [made]
        found += [m.detach() for m in made if m is not None]
        model.zero_grad()
        sum((m.float() ** 2).mean() for m in made if m is not None and m.requires_grad).backward()
    return found + [p.grad for p in model.parameters()] + list(model.buffers())


def check(torch: Any, model: Any, inputs: list[Any], **close: float) -> None:
    """Compare steps with eager torch's; no operation may be left to torch."""
    torch._dynamo.config.allow_rnn = True  # else torch never hands over an LSTM
    eager = copy.deepcopy(model)
    found = trained(torch.compile(model, backend="pyhlo"), model, inputs)
    wanted = trained(eager, eager, inputs)
    torch.testing.assert_close(found, wanted, **close)
    assert "in torch" not in report(), report()
    assert "forward" in report()
    assert "backward" in report()


@pytest.mark.parametrize("name", MODELS)
def test_a_model_trains_as_in_eager_torch(torch: Any, name: str) -> None:
    torch.manual_seed(0)
    make, arguments = MODELS[name]
    # bf16 has 8 bits, and eager torch rounds after each operation.
    close = {"rtol": 0.05, "atol": 0.02} if name == "bf16" else {"rtol": 2e-4, "atol": 1e-5}
    check(torch, make(), [a() for a in arguments], **close)


@pytest.mark.parametrize("name", NETWORKS)
def test_a_network_trains_as_in_eager_torch(torch: Any, name: str) -> None:
    torch.manual_seed(0)
    check(torch, *NETWORKS[name](Size()), rtol=2e-4, atol=1e-5)


def test_a_gpt_writes_with_a_cache(torch: Any) -> None:
    """The cache is a buffer, which each call changes; the program is compiled once."""
    torch.manual_seed(0)
    model = Generator().eval()
    eager = copy.deepcopy(model)
    written = []
    for step in (torch.compile(model, backend="pyhlo"), eager):
        word, words = torch.tensor([[7]]), []
        with torch.no_grad():
            for place in range(8):
                word = step(word, torch.tensor([place]))
                words.append(int(word))
        written.append(words)
    assert written[0] == written[1]
    torch.testing.assert_close(list(model.buffers()), list(eager.buffers()))
    (line,) = report().splitlines()
    assert line.endswith("in 1 module, 8 calls")
