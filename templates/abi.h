// Kernel parameters: one definition for the host that fills them and the device that reads them.
#pragma once

namespace octet::abi {

#if OCTET_GEMM || OCTET_MX || !OCTET_RENDERED
// A CUtensorMap, opaque here.
struct alignas(64) TensorMap {
  unsigned char bytes[128];
};
#endif
#if OCTET_GEMM || !OCTET_RENDERED

// What GemmArgs of octet/runtime.h names, as a kernel reads it. Left, right: the operand that gives rows to the matrix
// instruction, and the one that gives columns. They are A and B, or B and A where the config swaps them.
struct GemmParams {
  TensorMap left;      // [rows, K] bytes, box 128 x block_m, 128-byte swizzle
  TensorMap right;     // [rows, K] bytes, box 128 x block_n, 128-byte swizzle
  TensorMap left_sf;   // scales that are 1 x 128: [blocks along K, rows] f32, box (rows of one load) x 1, no swizzle
  TensorMap right_sf;  // as left_sf
  TensorMap d;         // forward [rows, N], box 64 rows; wgrad [G, N, K], box 64 rows of one group; 128-byte swizzle
  const void* splits;  // device array, type and form as the problem says
  const float* sfa;    // scales that are not read through a tensor map
  const float* sfb;
  void* d_data;        // the buffer behind `d`
  const void* bias;    // [G, N]
  int* status;         // +checked: four words
  long long capacity;  // rows of the buffers of tokens
  long long d_stride;  // elements from one row of D to the next
  // w=pointers, and operands as DeepGEMM packs them, [G] each: what a pass before the kernel left in the workspace, or
  // for `pointers` the caller's own array. With w=pointers null where the table lies behind these parameters, which is
  // what pointers on the host become: TableParams of gemm_tables.cuh.
  const TensorMap* left_maps;
  const TensorMap* right_maps;
  const TensorMap* sf_maps;  // of B
  const TensorMap* d_maps;
  const void* const* pointers;  // to scales of B that are not read through a map; wgrad: to D
  float alpha, beta;
};
static_assert(sizeof(GemmParams) == 768, "host and device lay out the parameters alike");

// What makes tensor maps, or a table of pointers, from one pointer per group.
struct MapParams {
  TensorMap base;               // all but the address
  TensorMap* maps;              // [G] to be written; null: `table` is
  const void** table;           // [G]
  const void* const* pointers;  // [G] on the device; null: `values`
  int first, count;             // groups
  // DeepGEMM's packing: one block [operand_rows][rows of the group] per group, end to end; null `data`: as above.
  const void* data;
  long long operand_rows;
  const void* splits;
  long long capacity;
  const void* values[448];  // with the rest less than the 4 KB that every driver takes
};
static_assert(sizeof(MapParams) == 3776, "host and device lay out the parameters alike");
#endif
#if OCTET_MX || !OCTET_RENDERED
// What GemmArgs of octet/runtime.h names, for both kernels of gemm_mx.cu; a is B and b is A of a wgrad with K < N.
// Strides count elements from one row to the next.
struct MxGemmParams {
  TensorMap left;          // B: rows of K bytes, box 64 x block_m, no swizzle
  TensorMap right;         // the workspace: rows of bf16, box 64 x block_n, 128-byte swizzle; directly: A as it is,
                           // rows of K bytes, box 64 x block_n, 64-byte swizzle
  const unsigned char* a;  // rows of K; wgrad: rows of columnwise tokens
  const unsigned char* a_sf;
  const unsigned char* b;  // [G][N] rows of K; wgrad: rows of columnwise tokens
  const unsigned char* b_sf;
  unsigned short* a_wide;  // the workspace: A as bf16, elements in the order that the math reads them; directly: null
  void* d;                 // rows of N; wgrad: [G][N] rows of K
  const void* splits;      // device array, type and form as the problem says; null of dense
  const void* bias;        // +bias: [G][N] of D's type
  int* status;             // +checked: four words
  long long capacity;      // rows of the buffers of tokens
  long long a_stride, b_stride, wide_stride, d_stride;
  float alpha, beta;
};
static_assert(sizeof(MxGemmParams) == 384, "host and device lay out the parameters alike");
#endif
#if OCTET_PORTABLE || !OCTET_RENDERED
// What GemmArgs of octet/runtime.h names, for gemm_portable.cu. Strides count elements from one row to the next.
struct PortableGemmParams {
  const void* a;  // rows of K; wgrad: rows of columnwise tokens
  const void* a_sf;
  const void* b;  // [G][N] rows of K; wgrad: rows of columnwise tokens
  const void* b_sf;
  void* d;  // rows of N; wgrad: [G][N] rows of K
  // w=pointers, [G] each, on the device; null where the pointers lie behind these parameters: TableParams of
  // gemm_portable.cu.
  const void* const* b_pointers;     // gemm: instead of b
  const void* const* b_sf_pointers;  // and of b_sf
  const void* const* d_pointers;     // wgrad: instead of d
  const void* splits;                // device array, type and form as the problem says; null of dense
  const void* bias;                  // +bias: [G][N] of D's type
  int* status;                       // +checked: 4 words, zeros
  long long capacity;                // rows of the buffers of tokens
  long long a_stride, b_stride, d_stride;
  float alpha, beta;
};
static_assert(sizeof(PortableGemmParams) == 128, "host and device lay out the parameters alike");
#endif
#if OCTET_QUANTIZE || !OCTET_RENDERED
// Quantizers and activations: what QuantizeArgs of octet/runtime.h names, and scratch. F, C: columns, as there.
struct QuantizeParams {
  const void* in;        // [rows, F]; +grad: [rows, C]
  const void* pre;       // +grad: [rows, F]
  const void* bias;      // [G, F]
  const float* probs;    // [rows]
  const float* given;    // [G]
  const void* splits;    // device array, type and form as the problem says
  const unsigned* noop;  // not 0: nothing is written
  void* data;            // rowwise bytes
  void* sf;
  void* data_col;  // columnwise bytes
  void* sf_col;
  void* d;        // unquantized output
  float* amax;    // [G]
  float* dprobs;  // [rows]
  float* dbias;   // [G, F]
  // Scratch that one pass leaves for the next: plain values, each written once, so that no sum depends on timing.
  float* tile_amax;       // [row block][column tile]; `row`, rowwise: [column tile][rows]
  float* column_amax;     // `row`, columnwise: [row block][columns of the output]
  float* group_q;         // tensor: [G] what to multiply by; `row`, columnwise: [G][columns of the output]
  float* row_q;           // `row`, rowwise: [rows]
  float* dprobs_partial;  // [column tile, or half of one][rows]
  float* dbias_partial;   // [row block][F]
  unsigned* counters;     // zero at the start: tickets, and finished chunks of each group
  long long capacity;     // rows of the buffers
  long long ld_col;       // row length of columnwise data
  float amax_floor;
  int reserved;
};
static_assert(sizeof(QuantizeParams) == 200, "host and device lay out the parameters alike");
#endif
#if OCTET_CONVERT || !OCTET_RENDERED
// Dequantizers and converters.
struct ConvertParams {
  const void* data;
  const void* sf;
  void* out_data;
  void* out_sf;
  void* d;
  const void* splits;
  long long capacity;
  long long ld_col;
};
static_assert(sizeof(ConvertParams) == 64, "host and device lay out the parameters alike");
#endif

}  // namespace octet::abi
