"""Every expander."""

from __future__ import annotations

from optimizer.expanders import (
    batchnorm_expander,
    bitcast_dtypes_expander,
    comparison_expander,
    dynamic_index_splitter,
    logistic_expander,
    optimization_barrier_expander,
    scan_expander,
    select_and_scatter_expander,
    stochastic_convert_decomposer,
    topk_decomposer,
)

MODULES = (
    batchnorm_expander,
    bitcast_dtypes_expander,
    comparison_expander,
    dynamic_index_splitter,
    logistic_expander,
    optimization_barrier_expander,
    scan_expander,
    select_and_scatter_expander,
    stochastic_convert_decomposer,
    topk_decomposer,
)
