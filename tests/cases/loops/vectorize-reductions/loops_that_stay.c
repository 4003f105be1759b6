// Loops that stay. (For(name='j', stop=7, body=(Assign(target=Name(name='t'), value=Op(op='+',
// args=(Name(name='t'), Load(pointer=Name(name='x'), index=Name(name='j'))))),), start=0, step=1,
// simd=True, reductions=(('+', 't'),), parallel=False, trip_count=None, unroll=False,
// kind='s64').)
f32 t = 0;
#pragma omp simd reduction(+ : t)
for (s64 j = 0; j < 7; j++) {
  t = t + x[j];
}
// STAYS

// Loops that stay. (For(name='j', stop=Name(name='n'), body=(Assign(target=Name(name='t'),
// value=Op(op='+', args=(Name(name='t'), Load(pointer=Name(name='x'), index=Name(name='j'))))),),
// start=0, step=1, simd=True, reductions=(('+', 't'),), parallel=False, trip_count=None,
// unroll=False, kind='s64').)
f32 t = 0;
#pragma omp simd reduction(+ : t)
for (s64 j = 0; j < n; j++) {
  t = t + x[j];
}
// STAYS

// Loops that stay. (For(name='j', stop=Name(name='last'), body=(Assign(target=Name(name='t'),
// value=Op(op='+', args=(Name(name='t'), Load(pointer=Name(name='x'), index=Name(name='j'))))),),
// start=Name(name='first'), step=1, simd=True, reductions=(('+', 't'),), parallel=False,
// trip_count=9, unroll=False, kind='s64').)
f32 t = 0;
#pragma trips 9
#pragma omp simd reduction(+ : t)
for (s64 j = first; j < last; j++) {
  t = t + x[j];
}
// STAYS
