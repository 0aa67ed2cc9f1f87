#include "runtime/candidates.h"

namespace octet {

const std::vector<GemmCandidate>& gemm_candidates() {
  // clang-format off
  static const std::vector<GemmCandidate> table = {
      // block  warpgroups        cluster whole tile
      // m    n    m  n  stages   m  n            tflops  overhead us
      {{192, 128,  3, 1,  4,      1, 2,   true},   1507,   0.80},
      {{192, 128,  3, 1,  4,      2, 1,   true},   1507,   0.80},
      {{192, 128,  3, 1,  4,      1, 1,   true},   1450,   0.80},
      {{128, 256,  2, 1,  4,      1, 1,   false},  1430,   1.25},
      {{128, 256,  2, 1,  3,      1, 1,   true},   1400,   0.75},
      {{128, 256,  2, 1,  4,      2, 1,   false},  1464,   1.25},
      {{128, 256,  2, 1,  3,      2, 1,   true},   1430,   0.75},
      {{128, 256,  2, 1,  4,      1, 2,   false},  1464,   1.25},
      {{256, 128,  2, 1,  3,      1, 2,   true},   1470,   0.80},
      {{128, 128,  2, 1,  5,      1, 1,   true},   1280,   0.50},
      {{128, 128,  2, 1,  5,      2, 1,   true},   1300,   0.50},
      {{64,  256,  1, 2,  4,      2, 1,   true},   1100,   0.60},
      {{64,  128,  1, 1,  4,      1, 1,   false},  1000,   0.30},  // two blocks per multiprocessor
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
