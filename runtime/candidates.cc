#include "runtime/candidates.h"

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

const std::vector<QuantizeCandidate>& quantize_candidates(Layout layout) {
  static const std::vector<QuantizeCandidate> rows = {{{256, 8, 4}, 3990}, {{256, 8, 3}, 3980}};
  static const std::vector<QuantizeCandidate> blocks = {{{256, 8, 3}, 3900}};
  return layout == Layout::uniform ? blocks : rows;
}

}  // namespace octet
