#include "runtime/candidates.h"

#include "runtime/quantize_traits.h"

namespace octet {

const std::vector<GemmCandidate>& gemm_candidates() {
  // clang-format off
  static const std::vector<GemmCandidate> table = {
      // block  warpgroups        cluster whole tile
      // m    n    m  n  stages   m  n            tflops  overhead us
      {{192, 128,  3, 1,  4,      1, 2,   true},   1455,   0.15},
      {{192, 128,  3, 1,  4,      2, 1,   true},   1495,   0.75},
      {{192, 128,  3, 1,  4,      1, 1,   true},   1445,   0.15},
      {{128, 256,  2, 1,  4,      2, 1,   false},  1414,   0.75},
      {{128, 256,  2, 1,  3,      2, 1,   true},   1390,   0.55},
      {{128, 256,  2, 1,  4,      1, 1,   false},  1400,   0.45},
      {{128, 256,  2, 1,  3,      1, 1,   true},   1387,   0.10},
      {{128, 256,  2, 1,  4,      1, 2,   false},  1347,   0.40},
      {{256, 128,  2, 1,  3,      1, 2,   true},   1429,   0.90},
      {{128, 128,  2, 1,  5,      2, 1,   true},   1290,   0.35},
      {{128, 128,  2, 1,  5,      1, 1,   true},   1272,   0.10},
      {{64,  256,  1, 2,  4,      2, 1,   true},   1400,   1.75},
      {{64,  128,  1, 1,  4,      1, 1,   false},   860,   0.00},  // two blocks per multiprocessor
  };
  // clang-format on
  return table;
}

const std::vector<QuantizeCandidate>& quantize_candidates(const Problem& problem) {
  // threads, rows per thread, blocks per multiprocessor; GB/s
  static const std::vector<QuantizeCandidate> rows = {{{256, 8, 3}, 4200}, {{256, 8, 2}, 4190}, {{128, 4, 4}, 4180}};
  static const std::vector<QuantizeCandidate> gated_rows = {
      {{64, 4, 16}, 4200}, {{64, 4, 8}, 4190}, {{64, 4, 12}, 4180}, {{128, 4, 8}, 4170}, {{256, 4, 3}, 4150}};
  static const std::vector<QuantizeCandidate> tiles = {{{256, 8, 3}, 3900}, {{256, 8, 2}, 3850}};
  static const std::vector<QuantizeCandidate> wide_tiles = {{{256, 8, 2}, 3600}, {{256, 8, 1}, 3500}};
  static const std::vector<QuantizeCandidate> widest_tiles = {{{256, 8, 1}, 3000}};
  static const std::vector<QuantizeCandidate> converts = {{{256, 8, 2}, 2000}};
  if (problem.op != Operation::quantize && problem.op != Operation::activation) return converts;
  const QuantizeTraits traits(problem);
  // How many registers a thread's part of a tile takes, twice or four times the ordinary.
  const bool is_f32 = problem.in == DType::f32, wide = is_f32 || traits.gated || traits.backward;
  if (traits.current) return tiles;
  if (traits.by_tiles || traits.amax_pass) return is_f32 && traits.gated ? widest_tiles : wide ? wide_tiles : tiles;
  return traits.gated ? gated_rows : rows;
}

}  // namespace octet
