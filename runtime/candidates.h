// The configs that selection chooses from, with what was measured about each.
#pragma once

#include <vector>

#include "octet/problem.h"
#include "octet/spec.h"

namespace octet {

struct GemmCandidate {
  GemmConfig config;
  // What the inner loop of this config reaches on an H200 (132 multiprocessors, all blocks that are resident) when
  // tiles are full and loads keep up.
  double tflops;
  double column_tflops;  // the same where columns have scales of their own; 0: never legal there
  // Time of a tile that does not overlap with math: filling the ring, the epilogue's exposed part.
  double tile_overhead_us;
  // Share of the memory's bandwidth that it draws where memory decides.
  double memory_share = 0.97;
};

struct PortableCandidate {
  PortableConfig config;
  double share;  // of what the arch reaches with mma.sync, when tiles are full and loads keep up
};

struct MxCandidate {
  MxConfig config;
  double tflops;            // as in GemmCandidate
  double tile_overhead_us;  // as in GemmCandidate
};

struct QuantizeCandidate {
  QuantizeConfig config;
  double gigabytes_per_s;  // reads and writes together, large buffers, H200
};

// In table order: ties go to the earlier row.
const std::vector<GemmCandidate>& gemm_candidates();
const std::vector<PortableCandidate>& portable_candidates();
const std::vector<MxCandidate>& mx_candidates();
const std::vector<QuantizeCandidate>& quantize_candidates(const Problem& problem);

}  // namespace octet
