"""Fusion: several instructions become one kernel, whose intermediate values never reach memory.

Vertical fusion computes producers inside their consumers: by rules going backwards (`groups`,
`rules`), or by modelled time, the greatest saving first (`priority`). Multi-output fusion then
merges kernels that count the same loops (`digits`, `nest`, `merging`, `merge_rules`), and
horizontal fusion puts small ones side by side (`side_by_side`). What differs from target to target
is in `policy`.
"""
