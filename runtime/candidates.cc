#include "runtime/candidates.h"

#include "runtime/quantize_traits.h"

namespace octet {

const std::vector<GemmCandidate>& gemm_candidates() {
  // clang-format off
  static const std::vector<GemmCandidate> table = {
      // block  warpgroups        cluster whole tile           columns scaled
      // m    n    m  n  stages   m  n            tflops  tflops  overhead us
      {{192, 128,  3, 1,  4,      1, 2,   true},   1455,      0,   0.15},
      {{192, 128,  3, 1,  4,      2, 1,   true},   1495,      0,   0.75},
      {{192, 128,  3, 1,  4,      1, 1,   true},   1445,      0,   0.15},
      {{128, 256,  2, 1,  4,      2, 1,   false},  1310,   1000,   0.75},
      {{128, 256,  2, 1,  3,      2, 1,   true},   1315,   1000,   0.55},
      {{128, 256,  2, 1,  4,      1, 1,   false},  1375,    990,   0.45},
      {{128, 256,  2, 1,  3,      1, 1,   true},   1372,    990,   0.10},
      {{128, 256,  2, 1,  4,      1, 2,   false},  1320,   1010,   0.40},
      {{256, 128,  2, 1,  3,      1, 2,   true},   1429,   1120,   1.30},
      {{128, 128,  2, 1,  5,      2, 1,   true},   1290,    870,   0.35},
      {{128, 128,  2, 1,  5,      1, 1,   true},   1272,    860,   0.10},
      {{64,  256,  1, 2,  4,      2, 1,   true},   1212,    900,   0.70},
      {{64,  128,  1, 1,  4,      1, 1,   false, false, 2},  860,  840,  0.00},
      // wgrad, and where whole tiles of f32 do not fit
      {{256, 128,  2, 1,  4,      1, 1,   false},  1425,   1150,   0.60},
      {{256, 128,  2, 1,  4,      1, 2,   false},  1385,   1130,   0.60},
      {{192, 128,  3, 1,  4,      1, 2,   false},  1430,      0,   0.60},
      {{128, 128,  2, 1,  5,      1, 1,   false},  1250,    850,   0.40},
      // swapped                                  blocks                       memory
      {{64,  16,   1, 1,  6,      1, 1,   false, true, 3},   400,   400,   0.30,  1.000},
      {{64,  16,   1, 1,  5,      1, 1,   false, true, 4},   400,   400,   0.30,  0.985},
      {{64,  32,   1, 1,  4,      1, 1,   false, true, 4},   600,   600,   0.30,  0.995},
      {{64,  64,   1, 1,  6,      1, 1,   false, true, 2},   700,   700,   0.40,  0.930},
      {{64,  32,   1, 1,  5,      1, 1,   false, true, 3, 2}, 540, 540, 1.30, 0.940},  // K split by two blocks
  };
  // clang-format on
  return table;
}

const std::vector<PortableCandidate>& portable_candidates() {
  // clang-format off
  static const std::vector<PortableCandidate> table = {
      // block  warps
      // m    n    m  n  stages  share
      {{128, 128,  2, 4, 4},     1.00},
      {{128, 128,  2, 4, 2},     0.85},  // where shared memory is small
      {{64,  128,  2, 4, 3},     0.75},
      {{64,  64,   2, 2, 4},     0.60},
      {{16,  128,  1, 4, 4},     0.25},
  };
  // clang-format on
  return table;
}

const std::vector<MxCandidate>& mx_candidates() {
  // clang-format off
  static const std::vector<MxCandidate> table = {
      // block       cluster
      // m    n    stages n   tflops  overhead us
      {{128, 256,  5,     2}, 770,    1.5},
      {{128, 256,  4,     2}, 760,    1.5},  // many groups: their table takes the room of a stage
      {{128, 256,  5,     1}, 740,    1.5},
      {{128, 128,  8,     2}, 640,    1.0},
      {{128, 128,  8,     1}, 620,    1.0},
      {{128, 64,   10,    1}, 400,    0.8},
      {{128, 32,   14,    1}, 220,    0.6},
      // directly               ring
      {{128, 256,  4,     1,    2}, 415,    1.5},
      {{128, 128,  6,     1,    3}, 290,    1.0},
      {{128, 64,   10,    1,    3}, 180,    0.8},
      {{128, 32,   14,    1,    3}, 100,    0.6},
  };
  // clang-format on
  return table;
}

const std::vector<QuantizeCandidate>& quantize_candidates(const Problem& problem) {
  using Table = std::vector<QuantizeCandidate>;
  // threads, rows per thread, blocks per multiprocessor; GB/s
  static const Table rows = {{{256, 8, 3}, 4230}, {{128, 4, 4}, 4200}, {{256, 8, 2}, 4190}};
  static const Table gated_rows = {{{64, 4, 16}, 4270}, {{128, 4, 8}, 4260}, {{64, 4, 8}, 3730}};
  static const Table wide_rows = {{{256, 8, 2}, 4200}, {{128, 4, 4}, 4190}};
  static const Table gated_wide_rows = {{{64, 4, 8}, 4000}};
  static const Table tiles = {{{256, 8, 3}, 3850}, {{256, 8, 2}, 3580}};
  static const Table wide_tiles = {{{256, 8, 2}, 3950}, {{256, 8, 1}, 2980}};
  static const Table widest_tiles = {{{256, 8, 1}, 2900}};
  static const Table current = {{{512, 8, 2}, 2590}, {{256, 8, 4}, 2480}};
  static const Table wide_current = {{{512, 8, 1}, 2500}};
  static const Table converts = {{{256, 8, 2}, 2000}};
  if (problem.op != Operation::quantize && problem.op != Operation::activation) return converts;
  const QuantizeTraits traits(problem);
  // How many registers a thread's part of a tile takes: twice or four times the ordinary.
  const bool is_f32 = problem.in == DType::f32, wide = is_f32 || traits.gated || traits.backward;
  if (traits.current) return is_f32 ? wide_current : current;
  if (traits.by_tiles || traits.amax_pass) return is_f32 && traits.gated ? widest_tiles : wide ? wide_tiles : tiles;
  if (traits.gated) return is_f32 ? gated_wide_rows : gated_rows;
  return is_f32 ? wide_rows : rows;
}

}  // namespace octet
