// dot: as it is written
//   %dot = f32[8,16]{1,0} dot(%x, %w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  static const s64 steps[15] = {1, 0, 16, 16, 64, 16, 1, 0, 0, 1, 0, 0, 64, 1, 16};
  hlo_tile_nv_8x1x16_3_f32((const f32 *)x + 0, (const f32 *)w + 0, dot + 0, steps, 16, 0);

// hlo_tile_nv_8x1x16_3_f32: as it is written
// 8 rows of 16 outputs, in registers. The numbers in `steps`: tiles; from tile to tile
// in `each`, `shared` and `output`; from row to row in `each` and in `output`; and of each loop its
// iterations, and what to add to `each` and to `shared` after one.
static void hlo_tile_nv_8x1x16_3_f32(const f32 *restrict each, const f32 *restrict shared, f32 *restrict output, const s64 *steps, s64 count, int adds) {
  const s64 each_tile = steps[1];
  const s64 shared_tile = steps[2];
  const s64 output_tile = steps[3];
  const s64 output_row = steps[5];
  for (s64 tiles = steps[0]; tiles > 0; tiles--) {
    f32x16 sum_0_0 = {0};
    f32x16 sum_1_0 = {0};
    f32x16 sum_2_0 = {0};
    f32x16 sum_3_0 = {0};
    f32x16 sum_4_0 = {0};
    f32x16 sum_5_0 = {0};
    f32x16 sum_6_0 = {0};
    f32x16 sum_7_0 = {0};
    const f32 *w = shared;
    const f32 *x_0 = each;
    const s64 row = steps[4];
    const s64 row_3 = row * 3;
    const f32 *x_4 = x_0 + row * 4;
    for (s64 k0 = steps[6]; k0 > 0; k0--) {
      for (s64 k1 = steps[9]; k1 > 0; k1--) {
        const s64 each_step = steps[13];
        const s64 shared_step = steps[14];
        for (s64 k2 = steps[12]; k2 > 0; k2--) {
          const f32x16 w_0 = *(const f32x16 *)w;
          sum_0_0 = sum_0_0 + x_0[0] * w_0;
          sum_1_0 = sum_1_0 + x_0[row] * w_0;
          sum_2_0 = sum_2_0 + x_0[row * 2] * w_0;
          sum_3_0 = sum_3_0 + x_0[row_3] * w_0;
          sum_4_0 = sum_4_0 + x_4[0] * w_0;
          sum_5_0 = sum_5_0 + x_4[row] * w_0;
          sum_6_0 = sum_6_0 + x_4[row * 2] * w_0;
          sum_7_0 = sum_7_0 + x_4[row_3] * w_0;
          x_0 = x_0 + each_step;
          x_4 = x_4 + each_step;
          w = w + shared_step;
        }
        x_0 = x_0 + steps[10];
        x_4 = x_4 + steps[10];
        w = w + steps[11];
      }
      x_0 = x_0 + steps[7];
      x_4 = x_4 + steps[7];
      w = w + steps[8];
    }
    f32 *to = output;
    if (count >= 16 && !adds) {
      *(f32x16 *)to = sum_0_0;
      to = to + output_row;
      *(f32x16 *)to = sum_1_0;
      to = to + output_row;
      *(f32x16 *)to = sum_2_0;
      to = to + output_row;
      *(f32x16 *)to = sum_3_0;
      to = to + output_row;
      *(f32x16 *)to = sum_4_0;
      to = to + output_row;
      *(f32x16 *)to = sum_5_0;
      to = to + output_row;
      *(f32x16 *)to = sum_6_0;
      to = to + output_row;
      *(f32x16 *)to = sum_7_0;
    } else {
      if (count >= 16) {
        *(f32x16 *)to = *(f32x16 *)to + sum_0_0;
        to = to + output_row;
        *(f32x16 *)to = *(f32x16 *)to + sum_1_0;
        to = to + output_row;
        *(f32x16 *)to = *(f32x16 *)to + sum_2_0;
        to = to + output_row;
        *(f32x16 *)to = *(f32x16 *)to + sum_3_0;
        to = to + output_row;
        *(f32x16 *)to = *(f32x16 *)to + sum_4_0;
        to = to + output_row;
        *(f32x16 *)to = *(f32x16 *)to + sum_5_0;
        to = to + output_row;
        *(f32x16 *)to = *(f32x16 *)to + sum_6_0;
        to = to + output_row;
        *(f32x16 *)to = *(f32x16 *)to + sum_7_0;
      } else {
        f32x16 sums[8] = {sum_0_0, sum_1_0, sum_2_0, sum_3_0, sum_4_0, sum_5_0, sum_6_0, sum_7_0};
        hlo_store_1x16_f32((const f32 *)sums, 8, to, output_row, count, adds);
      }
    }
    each = each + each_tile;
    shared = shared + shared_tile;
    output = output + output_tile;
  }
}
