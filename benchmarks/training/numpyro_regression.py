"""A hierarchical regression in NumPyro, fitted by stochastic variational inference."""

from __future__ import annotations

import jax
import numpy as np
import numpyro
import numpyro.distributions as dist
from numpyro.infer import SVI, Trace_ELBO
from numpyro.infer.autoguide import AutoNormal
from numpyro.optim import Adam

from benchmarks.training.report import tell

STEPS, GROUPS, COUNT = 60, 8, 400


def model(group: np.ndarray, x: np.ndarray, y: np.ndarray) -> None:
    """Each group has a slope of its own, drawn from one distribution."""
    mean = numpyro.sample("mean", dist.Normal(0.0, 2.0))
    spread = numpyro.sample("spread", dist.HalfNormal(1.0))
    with numpyro.plate("groups", GROUPS):
        slope = numpyro.sample("slope", dist.Normal(mean, spread))
    noise = numpyro.sample("noise", dist.HalfNormal(1.0))
    with numpyro.plate("data", COUNT):
        numpyro.sample("y", dist.Normal(slope[group] * x, noise), obs=y)


def main() -> None:
    """Fit, and tell the losses."""
    random = np.random.default_rng(0)
    group = random.integers(0, GROUPS, COUNT)
    x = random.standard_normal(COUNT, dtype=np.float32)
    slopes = (1.5 + 0.5 * random.standard_normal(GROUPS)).astype(np.float32)
    y = slopes[group] * x + 0.3 * random.standard_normal(COUNT, dtype=np.float32)
    inference = SVI(model, AutoNormal(model), Adam(2e-2), Trace_ELBO())
    state = inference.init(jax.random.key(0), group, x, y)
    step = jax.jit(inference.update)
    for _ in range(STEPS):
        state, value = step(state, group, x, y)
        tell(float(value))


if __name__ == "__main__":
    main()
