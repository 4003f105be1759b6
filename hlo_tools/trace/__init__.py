"""One run of the optimizer, kept whole: what `hlo step`, `hlo view` and `hlo opt --trace` read.

Read `recording` first (passes and rewrites as they happen), then `stops` (the module after each
rewrite), `source` (the lines of a rule), `values` (what instructions compute), `kernels` (loops and
C), `changes` (what came and went), and `document` (all of it as JSON).
"""
