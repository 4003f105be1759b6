"""Modules whose difficulty is their form: results of all kinds, loops, branches, comparators."""

STRUCTURES = (
    (
        "results",
        """HloModule parameter_is_result
ENTRY e {
  ROOT x = f32[3,2] parameter(0)
}""",
    ),
    (
        "results",
        """HloModule constant_is_result
ENTRY e {
  unused = f32[4] parameter(0)
  ROOT c = s32[3] constant({1, -2, 3})
}""",
    ),
    (
        "results",
        """HloModule nested_tuples
ENTRY e {
  x = f32[2] parameter(0)
  y = (s32[], (f64[0], pred[2])) parameter(1)
  inner = (f64[0], pred[2]) get-tuple-element(y), index=1
  number = s32[] get-tuple-element(y), index=0
  empty = () tuple()
  ROOT t = ((f64[0], pred[2]), f32[2], (), f32[2], s32[]) tuple(inner, x, empty, x, number)
}""",
    ),
    (
        "results",
        """HloModule no_result
ENTRY e {
  ROOT t = () tuple()
}""",
    ),
    (
        "results",
        """HloModule tokens
ENTRY e {
  x = f32[] parameter(0)
  t = token[] after-all()
  y = f32[] add-dependency(x, t)
  ROOT r = (token[], f32[]) tuple(t, y)
}""",
    ),
    (
        "results",
        """HloModule parameters_in_another_order
ENTRY e {
  b = f32[2] parameter(1)
  c = f32[2] parameter(2)
  a = f32[2] parameter(0)
  d = f32[2] subtract(b, a)
  ROOT r = f32[2] divide(d, c)
}""",
    ),
    (
        "results",
        """HloModule transposed
ENTRY e {
  x = f32[2,3] parameter(0)
  t = f32[3,2] transpose(x), dimensions={1,0}
  s = f32[1,2] slice(t), slice={[1:2],[0:2]}
  row = f32[2] reshape(s)
  b = f32[4,2] broadcast(row), dimensions={1}
  v = f32[3,2] reverse(t), dimensions={0}
  ROOT r = (f32[3,2], f32[1,2], f32[4,2], f32[3,2], f32[6]) tuple(t, s, b, v, f32[6] reshape(t))
}""",
    ),
    (
        "layouts",
        """HloModule bitcast_reads_memory
ENTRY e {
  x = f32[2,3]{1,0} parameter(0)
  y = f32[2,3]{0,1} copy(x)
  ROOT b = f32[6]{0} bitcast(y)
}""",
    ),
    (
        "layouts",
        """HloModule bitcast_of_columns
ENTRY e {
  x = s32[3,4]{0,1} parameter(0)
  b = s32[4,3]{1,0} bitcast(x)
  ROOT r = (s32[4,3], s32[12]) tuple(b, s32[12]{0} bitcast(b))
}""",
    ),
    (
        "layouts",
        """HloModule result_in_columns, entry_computation_layout={(f32[2,3]{1,0})->f32[2,3]{0,1}}
ENTRY e {
  x = f32[2,3]{1,0} parameter(0)
  ROOT y = f32[2,3]{0,1} add(x, x)
}""",
    ),
    (
        "while",
        """HloModule counts_and_swaps
condition {
  s = (s32[], f32[2], f32[2]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  n = s32[] constant(37)
  ROOT less = pred[] compare(i, n), direction=LT
}
body {
  s = (s32[], f32[2], f32[2]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  one = s32[] constant(1)
  next = s32[] add(i, one)
  a = f32[2] get-tuple-element(s), index=1
  b = f32[2] get-tuple-element(s), index=2
  half = f32[2] constant({0.5, 0.25})
  c = f32[2] multiply(b, half)
  ROOT t = (s32[], f32[2], f32[2]) tuple(next, c, a)
}
ENTRY e {
  x = f32[2] parameter(0)
  y = f32[2] parameter(1)
  zero = s32[] constant(0)
  start = (s32[], f32[2], f32[2]) tuple(zero, x, y)
  ROOT w = (s32[], f32[2], f32[2]) while(start), condition=condition, body=body
}""",
    ),
    (
        "while",
        """HloModule never_runs
condition {
  s = (f32[2], pred[]) parameter(0)
  ROOT p = pred[] get-tuple-element(s), index=1
}
body {
  s = (f32[2], pred[]) parameter(0)
  x = f32[2] get-tuple-element(s), index=0
  no = pred[] constant(false)
  ROOT t = (f32[2], pred[]) tuple(f32[2] negate(x), no)
}
ENTRY e {
  x = f32[2] parameter(0)
  no = pred[] constant(false)
  yes = pred[] constant(true)
  none = (f32[2], pred[]) while((f32[2], pred[]) tuple(x, no)), condition=condition, body=body
  once = (f32[2], pred[]) while((f32[2], pred[]) tuple(x, yes)), condition=condition, body=body
  ROOT r = ((f32[2], pred[]), (f32[2], pred[])) tuple(none, once)
}""",
    ),
    (
        "while",
        """HloModule loop_in_loop
inner_condition {
  s = (s32[], s32[]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  ROOT less = pred[] compare(i, s32[] constant(3)), direction=LT
}
inner_body {
  s = (s32[], s32[]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  x = s32[] get-tuple-element(s), index=1
  ROOT t = (s32[], s32[]) tuple(s32[] add(i, s32[] constant(1)), s32[] add(x, i))
}
outer_condition {
  s = (s32[], s32[]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  ROOT less = pred[] compare(i, s32[] constant(5)), direction=LT
}
outer_body {
  s = (s32[], s32[]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  x = s32[] get-tuple-element(s), index=1
  start = (s32[], s32[]) tuple(s32[] constant(0), x)
  w = (s32[], s32[]) while(start), condition=inner_condition, body=inner_body
  y = s32[] get-tuple-element(w), index=1
  j = s32[] add(i, s32[] constant(1))
  ROOT t = (s32[], s32[]) tuple(j, s32[] multiply(y, s32[] constant(3)))
}
ENTRY e {
  x = s32[] parameter(0)
  start = (s32[], s32[]) tuple(s32[] constant(0), x)
  ROOT w = (s32[], s32[]) while(start), condition=outer_condition, body=outer_body
}""",
    ),
    (
        "while",
        """HloModule ends_by_data
condition {
  x = f32[] parameter(0)
  ROOT more = pred[] compare(f32[] abs(x), f32[] constant(0.01)), direction=GT
}
body {
  x = f32[] parameter(0)
  ROOT y = f32[] multiply(x, f32[] constant(0.25))
}
ENTRY e {
  x = f32[] parameter(0)
  ROOT w = f32[] while(x), condition=condition, body=body
}""",
    ),
    *(
        (
            "conditional",
            f"""HloModule branch_{index}
first {{
  x = f32[2] parameter(0)
  ROOT y = f32[2] negate(x)
}}
second {{
  x = f32[2] parameter(0)
  ROOT y = f32[2] add(x, x)
}}
third {{
  x = f32[2] parameter(0)
  ROOT y = f32[2] multiply(x, x)
}}
ENTRY e {{
  x = f32[2] parameter(0)
  i = s32[] constant({index})
  ROOT r = f32[2] conditional(i, x, x, x), branch_computations={{first, second, third}}
}}""",
        )
        for index in (-1, 0, 1, 2, 3)
    ),
    (
        "conditional",
        """HloModule by_pred
then {
  x = (f32[2]) parameter(0)
  ROOT y = f32[2] get-tuple-element(x), index=0
}
else {
  x = f32[3] parameter(0)
  ROOT y = f32[2] slice(x), slice={[1:3]}
}
ENTRY e {
  p = pred[] parameter(0)
  x = f32[2] parameter(1)
  y = f32[3] parameter(2)
  no = pred[] not(p)
  a = f32[2] conditional(p, (f32[2]) tuple(x), y), true_computation=then, false_computation=else
  b = f32[2] conditional(no, (f32[2]) tuple(x), y), true_computation=then, false_computation=else
  ROOT r = (f32[2], f32[2]) tuple(a, b)
}""",
    ),
    (
        "sort",
        """HloModule pairs_by_the_second
less {
  a = s32[] parameter(0)
  b = s32[] parameter(1)
  c = f32[] parameter(2)
  d = f32[] parameter(3)
  ROOT p = pred[] compare(c, d), direction=GT
}
ENTRY e {
  x = s32[2,5] parameter(0)
  y = f32[2,5] parameter(1)
  ROOT r = (s32[2,5], f32[2,5]) sort(x, y), dimensions={1}, is_stable=true, to_apply=less
}""",
    ),
    (
        "reduce",
        """HloModule largest_and_where
larger {
  a = f32[] parameter(0)
  i = s32[] parameter(1)
  b = f32[] parameter(2)
  j = s32[] parameter(3)
  p = pred[] compare(a, b), direction=GE
  ROOT r = (f32[], s32[]) tuple(f32[] select(p, a, b), s32[] select(p, i, j))
}
ENTRY e {
  x = f32[3,4] parameter(0)
  i = s32[3,4] iota(), iota_dimension=1
  low = f32[] constant(-inf)
  zero = s32[] constant(0)
  ROOT r = (f32[3], s32[3]) reduce(x, i, low, zero), dimensions={1}, to_apply=larger
}""",
    ),
    (
        "call",
        """HloModule called_twice
f {
  x = f32[2] parameter(0)
  y = f32[2] parameter(1)
  ROOT d = f32[2] subtract(x, y)
}
g {
  x = f32[2] parameter(0)
  ROOT d = f32[2] call(x, f32[2] negate(x)), to_apply=f
}
ENTRY e {
  x = f32[2] parameter(0)
  y = f32[2] parameter(1)
  a = f32[2] call(y, x), to_apply=f
  b = f32[2] call(a), to_apply=g
  ROOT r = (f32[2], f32[2]) tuple(a, b)
}""",
    ),
)
