// Executing a plan: on the GPU, launching each step's kernel on a stream, or on the host with the reference.
//
//   octet::GroupedMlpPlan mlp(runtime, octet::PlanFacts::parse("mlp.packed g8 h7168 i2048 act=swiglu +acc"));
//   mlp.prepare_all({16384});                       // every kernel that any number of rows can need
//   octet::MlpTensors tensors;                      // device pointers; capacity and blocks of memory
//   tensors.memory.saved = ...;                     // mlp.plan().bytes(octet::PlanRole::saved, capacity) bytes
//   mlp.quantize_weights(tensors, stream);          // when the weights have changed
//   mlp.forward(tensors, stream);
//   mlp.backward(tensors, stream);                  // or backward_data now and backward_weights later
#pragma once

#include <cstdint>
#include <vector>

#include "octet/export.h"
#include "octet/plan.h"
#include "octet/runtime.h"

namespace octet {

// A weight [G, N, K]. The tensors of w=pointers are one [N, K] per group, given by G pointers on the host.
struct OCTET_API PlanWeight {
  const void* data = nullptr;            // w=single
  const void* const* tensors = nullptr;  // w=pointers: read before the call returns
  // +primary: quantized, instead of the above, in the layout of the plan's buffers "<name>.row" and "<name>.col"; col
  // is not looked at with +inference. With w=pointers the layouts count, and the pointers are those below.
  Operand row, col;
  Pointers row_data, row_sf, col_data, col_sf;
};

// A weight's gradient, of the weight's shape.
struct OCTET_API PlanGradient {
  void* data = nullptr;            // w=single
  void* const* tensors = nullptr;  // w=pointers: G pointers on the host, read before the call returns
};

// Blocks of plan.bytes(role, capacity) bytes, 256-byte aligned; null where that is 0. Calls that may overlap need a
// scratch each, and tokens whose backward is yet to come a saved block each.
struct OCTET_API PlanMemory {
  void* quantized_weights = nullptr;  // not with +primary
  void* saved = nullptr;
  void* deferred = nullptr;
  void* scratch = nullptr;
};

// What all calls are given beside tensors.
struct OCTET_API PlanRows {
  const void* splits = nullptr;  // as the facts' `splits` says; unused for dense
  std::int64_t capacity = 0;     // rows that the buffers of tokens have room for; masked: G*m
  std::int64_t expected_m = 0;   // as in Hints: steers the choice of kernels, never results
};

// Pointers are 16-byte aligned; of splits, noop, probs, dprobs, dbias1 and dbias2 to their element's size. A call
// looks at the tensors of its own pass. Outputs: rows that belong to no group are left as they were.
struct OCTET_API MlpTensors {
  PlanRows rows;
  PlanMemory memory;
  const void* x = nullptr;       // [rows, H] of type d
  PlanWeight w1, w2;             // [G, F, H], [G, H, I]
  const void* bias1 = nullptr;   // +bias: [G, F], added before the activation
  const void* bias2 = nullptr;   // +bias: [G, H], added to y whatever the probabilities are
  const float* probs = nullptr;  // +probs: [rows]
  const void* noop = nullptr;    // +noop: 4 bytes on the device
  void* y = nullptr;             // [rows, H]
  const void* dy = nullptr;      // [rows, H]
  void* dx = nullptr;            // [rows, H]
  PlanGradient dw1, dw2;         // of type dw
  float* dbias1 = nullptr;       // +bias: [G, F]; 0 of a group without rows
  float* dbias2 = nullptr;       // +bias: [G, H]
  float* dprobs = nullptr;       // +probs: [rows]
};

struct OCTET_API LinearTensors {
  PlanRows rows;
  PlanMemory memory;
  const void* x = nullptr;     // [rows, K] of type d
  PlanWeight w;                // [G, N, K]
  const void* bias = nullptr;  // +bias: [G, N]
  const void* noop = nullptr;
  void* y = nullptr;         // [rows, N]
  const void* dy = nullptr;  // [rows, N]
  void* dx = nullptr;        // [rows, K]
  PlanGradient dw;
  float* dbias = nullptr;  // +bias: [G, N]
};

struct OCTET_API PrepareAll {
  std::int64_t max_m = 16384;  // most rows per group that will be expected
  int device = -1;             // as in Hints
};

// What both plans have in common. Thread-safe; the Runtime must outlive it.
class OCTET_API GroupedPlan {
 public:
  const Plan& plan() const noexcept { return plan_; }
  // Loads every kernel that a call can need whose expected_m is at most max_m or 0: no call compiles, selects or
  // allocates after that. Throws as Runtime::prepare.
  void prepare_all(const PrepareAll& all = {}) const;
  // The same up to the cubins, into the cache: needs neither GPU nor driver. Returns what it built, or found there.
  std::vector<Built> build_all(std::int64_t max_m = 16384, const DeviceFacts& device = {}) const;
  // Copies splits that lie on the host, of the facts' type and form, to where calls read them, in stream order. From
  // memory that is not pinned the copy has left `host` when this returns. Throws Error{invalid_argument} for splits
  // that are impossible for `capacity` rows, by name; and while the stream is being captured, because a replay would
  // copy what `host` holds then, or nothing at all.
  void upload_splits(const void* host, std::int64_t capacity, void* splits, Stream stream) const;

 protected:
  // Throws Error as make_plan.
  GroupedPlan(Runtime& runtime, const PlanFacts& facts, const DeviceFacts& device);
  Runtime* runtime_;
  Plan plan_;
};

// Calls throw, before anything is launched, Error{invalid_argument} for a null or misaligned pointer, a primary weight
// of another layout, or a capacity out of range; Error{invalid_problem} for a pass that the facts exclude; and as
// Runtime::prepare where a kernel is not loaded yet. They never synchronize and work under stream capture; a replay
// reads new splits.
class OCTET_API GroupedMlpPlan : public GroupedPlan {
 public:
  // Throws Error{invalid_problem} also for facts of another kind.
  GroupedMlpPlan(Runtime& runtime, const PlanFacts& facts, const DeviceFacts& device = {});
  // Nothing with +primary.
  void quantize_weights(const MlpTensors& tensors, Stream stream) const;
  void forward(const MlpTensors& tensors, Stream stream) const;
  // backward_data, then backward_weights.
  void backward(const MlpTensors& tensors, Stream stream) const;
  void backward_data(const MlpTensors& tensors, Stream stream) const;
  void backward_weights(const MlpTensors& tensors, Stream stream) const;
};

class OCTET_API GroupedLinearPlan : public GroupedPlan {
 public:
  GroupedLinearPlan(Runtime& runtime, const PlanFacts& facts, const DeviceFacts& device = {});
  void quantize_weights(const LinearTensors& tensors, Stream stream) const;
  void forward(const LinearTensors& tensors, Stream stream) const;
  void backward(const LinearTensors& tensors, Stream stream) const;
  void backward_data(const LinearTensors& tensors, Stream stream) const;
  void backward_weights(const LinearTensors& tensors, Stream stream) const;
};

namespace reference {

// The same steps on the host, in plain loops: all pointers are host memory, also the splits and blocks of memory, whose
// alignment does not matter. A pass without steps does nothing. Results do not depend on `threads`. Throws as the
// above, for tensors of another kind of plan, and as octet/reference.h.
OCTET_API void run(const Plan& plan, PlanPass pass, const MlpTensors& tensors, int threads = 1);
OCTET_API void run(const Plan& plan, PlanPass pass, const LinearTensors& tensors, int threads = 1);

}  // namespace reference
}  // namespace octet
