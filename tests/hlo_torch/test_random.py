"""Random numbers are those of eager PyTorch after the same seed, whatever draws them."""

from typing import Any

import pytest

pytest.importorskip("torch", reason="torch is not installed: make frontends")

import torch
import torch.nn.functional as F  # noqa: N812 - so all of PyTorch's users call it

X = torch.rand(3, 4)
DRAWS: dict[str, Any] = {
    "rand": lambda x: torch.rand(3) + x[0, :3],
    "rand_like": lambda x: torch.rand_like(x.T) * 2,
    "randn": lambda x: torch.randn(2, 3) * x[:2, :3],
    "randint": lambda x: torch.randint(5, (7,)) + x.long().sum(),
    "randperm": lambda x: x[torch.randperm(3)],
    "normal": lambda x: torch.normal(x, x + 1) + torch.normal(0.0, 2.0, (3, 4)),
    "in place": lambda x: x.clone().normal_() + x.clone().uniform_(1, 2) + x.clone().exponential_(),
    "bernoulli": lambda x: torch.bernoulli(x) + x.clone().bernoulli_(0.3),
    "multinomial": lambda x: torch.multinomial(x, 2),
    "poisson": lambda x: torch.poisson(x * 4),
    "dropout": lambda x: F.dropout(x, 0.5) + F.alpha_dropout(x, 0.2, training=True),
    "channels": lambda x: F.dropout1d(x[None], 0.5, training=True),
    "rrelu": lambda x: F.rrelu(x - 0.5, training=True),
    "gumbel": F.gumbel_softmax,
    "several": lambda x: F.dropout(x * torch.rand(4) + torch.randn(3, 1)),
}


@pytest.mark.usefixtures("torch")
@pytest.mark.parametrize("name", DRAWS)
def test_a_draw(name: str) -> None:
    compiled = torch.compile(DRAWS[name], backend="pyhlo")
    for seed in (0, 1):
        torch.manual_seed(seed)
        wanted = DRAWS[name](X)
        torch.manual_seed(seed)
        torch.testing.assert_close(compiled(X), wanted)
