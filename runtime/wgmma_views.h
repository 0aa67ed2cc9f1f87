// The matrices that the wgmma GEMM reads and writes through tensor maps.
#pragma once

#include <cstdint>

#include "octet/runtime.h"
#include "runtime/gemm_args.h"
#include "runtime/gemm_traits.h"
#include "runtime/module.h"
#include "runtime/tensor_map.h"

namespace octet {

// Everything that the parameters of one launch are made from. `capacity`: rows of the buffers of tokens.
struct GemmCall {
  const LoadedKernel& kernel;
  const Problem& problem;
  const GemmConfig& config;
  const GemmArgs& args;
  GemmTraits traits;
  std::int64_t capacity;
  InnerExtent inner;
  GemmStrides strides;

  // A map needs an address, also where nothing is read through it.
  const void* placeholder() const {
    if (args.d != nullptr || args.d_data.host == nullptr) return args.d != nullptr ? args.d : args.workspace;
    return *args.d_data.host;  // with a table of D in the parameters there may be no workspace
  }
};

// `box_rows`: of one copy, by the operand's side of the matrix instruction. With w=pointers the view of one group's
// matrix, at an address that is not its own.
MatrixView a_view(const GemmCall& call, int box_rows);
MatrixView b_view(const GemmCall& call, int box_rows);
// 1x128 scales.
MatrixView sfa_view(const GemmCall& call, int box_rows);
MatrixView sfb_view(const GemmCall& call, int box_rows);
MatrixView d_view(const GemmCall& call);

}  // namespace octet
