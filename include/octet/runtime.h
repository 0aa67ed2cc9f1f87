// The path of a call: Problem -> Spec -> source -> cubin -> kernel -> launch.
//
//   octet::Runtime runtime;                                     // reads OCTET_* once
//   octet::Gemm gemm = runtime.prepare(problem, {4096});        // select, build or fetch, load
//   gemm.launch({{x, x_sf, gemm.a_layout()}, {w, w_sf, gemm.b_layout()}, y, splits, rows}, stream);
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "octet/device.h"
#include "octet/error.h"
#include "octet/export.h"
#include "octet/problem.h"
#include "octet/spec.h"

struct CUstream_st;  // cudaStream_t and CUstream are pointers to this

namespace octet {

// Null is the legacy default stream of the current context, as everywhere in CUDA.
using Stream = CUstream_st*;

// How an operand lies in memory; chosen once and part of producer's and consumer's names. A launch refuses an operand
// whose layout is not the one that its kernel was specialized for.
struct OCTET_API OperandLayout {
  Layout rows = Layout::packed;
  ScaleLayout scales = ScaleLayout::mn_major;
  std::int64_t alignment = 0;  // rows; 0 unless padded
  bool columnwise = false;     // data transposed, scales along the rows
  Packing packing = Packing::octet;
  friend bool operator==(const OperandLayout& x, const OperandLayout& y) noexcept {
    return x.rows == y.rows && x.scales == y.scales && x.alignment == y.alignment && x.columnwise == y.columnwise &&
           x.packing == y.packing;
  }
  friend bool operator!=(const OperandLayout& x, const OperandLayout& y) noexcept { return !(x == y); }
};
OCTET_API std::string to_string(const OperandLayout& layout);  // "packed/mn_major", "padded:128/col/col_mn_major",
                                                               // "packed/col/col_mn_major/deepgemm"

// Device pointers. `sf` is always the multiplier that dequantizes: value = fp8 * sf.
struct OCTET_API Operand {
  const void* data = nullptr;
  const void* sf = nullptr;
  OperandLayout layout;
};
struct OCTET_API MutableOperand {
  void* data = nullptr;
  void* sf = nullptr;
  OperandLayout layout;
  operator Operand() const noexcept { return {data, sf, layout}; }
};

// One pointer to device memory per group, for w=pointers: an array of G of them on the host, which the launch copies,
// or on the device, which the kernel reads, so that a graph replay sees changes. Give one of the two. Up to some number
// of groups those on the host travel in the kernel's parameters: no other launch, no workspace (docs/problems.md,
// "Groups by pointer").
struct OCTET_API Pointers {
  const void* const* host = nullptr;
  const void* const* device = nullptr;
};

// All pointers are device memory; 16-byte aligned, except splits, scales of groups and of 128x128 blocks, and E8M0
// scales (their element's size). D = alpha * A * B^T, + bias, + beta * D with +acc; in f32, rounded once.
struct OCTET_API GemmArgs {
  Operand a;          // gemm: [capacity, K] and its scales; masked [G, m, K]. wgrad: columnwise [N, ld_col], over rows
  Operand b;          // gemm: [G, N, K] and its scales. wgrad: columnwise [K, ld_col]
  void* d = nullptr;  // gemm: [capacity, N], tail rows are left as they were. wgrad: [G, N, K]
  const void* splits =
      nullptr;                // problem.splits says type and form; read by the kernel, so a graph replay sees changes
  std::int64_t capacity = 0;  // rows that the buffers of tokens have room for; masked: 0 or G*m
  // workspace_bytes(capacity) bytes, 256-byte aligned; may be null when that is 0, or when no table of w=pointers goes
  // there. Two launches that may overlap need two.
  void* workspace = nullptr;
  const void* bias = nullptr;  // +bias: [G, N] of type problem.d
  float alpha = 1;
  float beta = 1;  // of +acc
  // Elements from one row to the next; 0: no gaps. Rows of a and b start at multiples of 16 bytes, those of d too.
  std::int64_t a_stride = 0, b_stride = 0, d_stride = 0;
  Pointers b_data = {},
           b_sf = {};    // w=pointers of a gemm, instead of b.data and b.sf: [N, K] and its scales, each its own
  Pointers d_data = {};  // w=pointers of a wgrad, instead of d: [N, K] each
  int max_sms = 0;  // multiprocessors that the launch may take, but never less than a cluster of the config; 0: all
  // The kernel may start before the one before it in the stream has ended, and waits for it before it reads or writes
  // (programmatic dependent launch).
  bool programmatic = false;
  // +checked: 16 bytes, zeroed by the caller. The first impossible number of the splits is left here; status_text says
  // what it is. The rest of the launch goes on with what is inside the buffers.
  void* status = nullptr;
};
// "" for a status of zeros; else which number of `splits` is impossible and why: a negative size, a sum over the
// capacity, ends that go down, a count over max_m.
OCTET_API std::string status_text(const std::int32_t (&status)[4]);

// Device memory. Pointers to data, scales and bias are 16-byte aligned, the workspace to 256 bytes, splits to its
// element's size, the others to 4 bytes. There are no strides: a tensor that is not contiguous must be made so first.
// Row-major, no gaps between rows; columns and bytes of every buffer: quantize_shape in octet/layout.h. What the
// problem does not ask for is not looked at and may be null.
struct OCTET_API QuantizeArgs {
  const void* in =
      nullptr;         // [rows, F] of type problem.in; with +grad the gradient of the activation's output, [rows, C]
  MutableOperand out;  // dir=row: data of the output's shape, scales as the recipe says; tail rows untouched
  const void* splits = nullptr;  // as in GemmArgs; of masked the count of each group; unused for uniform
  std::int64_t capacity = 0;     // rows that the buffers have room for; masked 0 or G*m, uniform 0 or G*N
  void* workspace = nullptr;     // as in GemmArgs; two launches that may overlap need two workspaces
  MutableOperand out_col;        // dir=col: transposed data and its scales; padding between groups is written too
  void* d = nullptr;             // activation: the output, [rows, C] (with +grad [rows, F]) of type problem.d
  const void* pre = nullptr;     // +grad of an activation: what its forward read, [rows, F] of type problem.in
  const void* bias = nullptr;    // +bias: [G, F] of type problem.in, added before the activation
  const float* probs = nullptr;  // +probs: [rows]
  float* dprobs = nullptr;       // +probs +grad: [rows]; tail rows untouched
  float* dbias = nullptr;        // +dbias: [G, F]
  float* amax = nullptr;         // +amax: [G], the largest magnitude of each group; 0 for an empty one
  const float* given = nullptr;  // +given: [G] the scale factors to use; copied to the sf of the outputs
  const void* noop = nullptr;    // +noop: 4 bytes; when they are not 0 nothing at all is written
  float amax_floor = 0;  // f32 scales that are computed: a block counts as having at least this largest magnitude
};

// Dequantizes one direction of an operand, or rearranges it. Alignment as in QuantizeArgs.
struct OCTET_API ConvertArgs {
  Operand in;          // as problem.a (and problem.from) say
  MutableOperand out;  // convert: as problem.out (and problem.to) say; null data with scales alone converts only scales
  void* d = nullptr;   // dequantize: [rows, C] of type problem.d, also from columnwise data; tail rows untouched
  const void* splits = nullptr;
  std::int64_t capacity = 0;
};

struct OCTET_API Hints {
  std::int64_t expected_m = 0;  // rows per group to expect; steers the cost model, never correctness; 0: unknown
  int device = -1;              // CUDA ordinal; -1: the current context's, or 0 where there is none
  // Only kernels whose workspace_bytes are 0 for every capacity; where there is none, prepare throws Error{no_kernel}.
  bool no_workspace = false;
};

enum class CacheMode : std::uint8_t {
  build,        // a miss is compiled and published
  cached_only,  // a miss is Error{cache} that names the missing spec and the command that builds it
};

// Everything that the environment can set is a field; the environment is read by from_environment alone.
struct OCTET_API Options {
  std::string cache_dir;  // OCTET_CACHE_DIR; default $XDG_CACHE_HOME/octet or ~/.cache/octet; "" = memory only
  std::vector<std::string> cache_readonly_dirs;  // OCTET_CACHE_READONLY_DIRS, separated by ':'
  CacheMode cache_mode = CacheMode::build;       // OCTET_CACHE_MODE=build|cached-only
  std::string nvrtc_library;                     // OCTET_NVRTC_LIBRARY: path of libnvrtc
  std::string template_dir;                      // OCTET_TEMPLATE_DIR: use these templates instead of the embedded ones
  std::string dump_dir;                          // OCTET_DUMP_DIR: keep every generated source, PTX and cubin here
  bool lineinfo = false;                         // OCTET_LINEINFO=1: line information for profilers
  // Throws Error{invalid_argument} that names the variable and the values it takes. Never for a missing HOME.
  static Options from_environment();
};

// Resources of a compiled kernel, as ptxas reports them.
struct OCTET_API Resources {
  int registers = 0;          // per thread
  int spill_store_bytes = 0;  // per thread
  int spill_load_bytes = 0;
  int stack_bytes = 0;
  int static_shared_bytes = 0;
  int dynamic_shared_bytes = 0;   // per block, what the launch asks for
  int barriers = 0;               // named barriers of a block
  bool wgmma_serialized = false;  // ptxas gave up overlapping wgmma (C7510, C7514, ...): slow
};

// The product of the path's first three arrows.
struct OCTET_API Built {
  Spec spec;
  std::string key;     // content key, hex
  std::string source;  // the one file that NVRTC saw
  std::string cubin;
  std::string toolchain;  // "nvrtc 13.0.88"
  Resources resources;
  bool compiled = false;  // false: it came from the cache
  double seconds = 0;     // of compilation; 0 when it came from the cache
};

// Of one Runtime since it was made.
struct OCTET_API Statistics {
  std::uint64_t compiled = 0;    // by NVRTC
  std::uint64_t cache_hits = 0;  // cubins that came from the disk cache
  std::uint64_t damaged = 0;     // cache entries that were damaged and taken as misses
  std::uint64_t loaded = 0;      // kernels loaded, once per context
};

struct LoadedKernel;  // a kernel on one device; immutable

// A kernel ready to launch. Copies share it. launch is thread-safe, allocates nothing, never synchronizes, and works
// under stream capture. It runs on the stream's context and leaves the current context as it found it. A kernel must
// outlive its launches and the graphs that hold one. An empty object (the default constructor's) throws
// Error{not_prepared} from every call.
class OCTET_API Kernel {
 public:
  Kernel() = default;
  const Spec& spec() const;
  // Scratch that a launch on a buffer of `capacity` rows needs, in bytes. Often 0. With w=pointers an upper bound:
  // enough for pointers on the device.
  std::size_t workspace_bytes(std::int64_t capacity) const;

 protected:
  friend class Runtime;
  explicit Kernel(std::shared_ptr<const LoadedKernel> loaded) : loaded_(std::move(loaded)) {}
  std::shared_ptr<const LoadedKernel> loaded_;
};

class OCTET_API Gemm : public Kernel {
 public:
  using Kernel::Kernel;
  OperandLayout a_layout() const;
  OperandLayout b_layout() const;
  // Throws, before anything is launched, Error{invalid_argument} for a null or misaligned pointer, another layout than
  // a_layout() or b_layout(), or a capacity out of range; Error{not_prepared} when the stream belongs to a device that
  // the kernel was not loaded on; Error{driver} for the driver's own refusal. With capacity 0 nothing is launched and
  // pointers may be null, but for wgrad, which then writes the D of empty groups. Rows past the last group are neither
  // used nor written.
  void launch(const GemmArgs& args, Stream stream) const;
};

// Quantizers and activations.
class OCTET_API Quantize : public Kernel {
 public:
  using Kernel::Kernel;
  OperandLayout out_layout() const;      // of args.out
  OperandLayout out_col_layout() const;  // of args.out_col
  // Errors as of Gemm::launch. Rows outside every group, and their scales, are left as they were. Padding that a layout
  // adds is written: columnwise data between groups 0, f32 scales 1, E8M0 scales 0 (docs/numerics.md).
  void launch(const QuantizeArgs& args, Stream stream) const;
};

// Dequantizers and converters.
class OCTET_API Convert : public Kernel {
 public:
  using Kernel::Kernel;
  OperandLayout in_layout() const;
  OperandLayout out_layout() const;  // of convert
  // Errors as of Gemm::launch.
  void launch(const ConvertArgs& args, Stream stream) const;
};

// Thread-safe. Kernels may outlive the Runtime that prepared them.
class OCTET_API Runtime {
 public:
  explicit Runtime(Options options = Options::from_environment());
  ~Runtime();
  Runtime(const Runtime&) = delete;
  Runtime& operator=(const Runtime&) = delete;

  // Blocking: select, build or fetch, load onto the device. A warm call is one map lookup. Throws
  // Error{invalid_problem} or {no_kernel} with the rule that refused, {compile_failed} with NVRTC's log or with what
  // was tried to find it, {cache} in cached-only mode, {driver}. Also while this thread captures a stream.
  Gemm prepare(const GemmProblem& problem, Hints hints = {});
  Quantize prepare(const QuantizeProblem& problem, Hints hints = {});
  Gemm prepare_gemm(const Problem& problem, Hints hints = {});
  Quantize prepare_quantize(const Problem& problem, Hints hints = {});  // quantize and activation
  Convert prepare_convert(const Problem& problem, Hints hints = {});    // dequantize and convert
  // A given spec instead of the cost model's choice, for tuning and tests.
  Gemm prepare_gemm(const Spec& spec, int device = -1);
  Quantize prepare_quantize(const Spec& spec, int device = -1);
  Convert prepare_convert(const Spec& spec, int device = -1);

  // Up to the cubin; needs neither GPU nor driver, and no NVRTC when the cache has the entry. Errors as of prepare, but
  // for {driver}.
  Built build(const Spec& spec);
  std::string source(const Spec& spec) const;
  // Compiles to PTX as text; never cached.
  std::string ptx(const Spec& spec);

  // The facts of a device that is present. Throws Error{driver}.
  static DeviceFacts device_facts(int device = 0);

  Statistics statistics() const;
  const Options& options() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// Version of the library, "0.1.0".
OCTET_API const char* version() noexcept;

}  // namespace octet
