// The launch path of plans on a driver that accepts every call and computes nothing: which kernels are launched, what
// is refused before any is, and that a warm call touches no heap.
#include <dlfcn.h>

#include <atomic>
#include <cstdlib>
#include <new>

#include "octet/error.h"
#include "octet/plan_run.h"
#include "runtime/driver.h"
#include "tests/compile/kernels.h"
#include "tests/support/catch.h"
#include "tests/support/paths.h"
#include "tests/support/plan_binding.h"
#include "tests/support/plan_data.h"
#include "tests/support/scratch.h"

namespace {
std::atomic<long> allocations{0};
}  // namespace

// Inlined, the pair looks mismatched to GCC.
__attribute__((noinline)) void* operator new(std::size_t bytes) {
  ++allocations;
  void* memory = std::malloc(bytes == 0 ? 1 : bytes);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}
__attribute__((noinline)) void operator delete(void* memory) noexcept { std::free(memory); }
__attribute__((noinline)) void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

namespace {

using namespace octet;
using namespace octet::test;

// Kernels that the library was asked to launch.
std::atomic<long> launched{0};

// Counts from now on. The hook is in the library.
void count_launches() {
  Driver::get();
  auto* hook =
      static_cast<void (**)(const char*, const void*)>(dlsym(dlopen("libcuda.so.1", RTLD_NOW), "octet_on_launch"));
  REQUIRE(hook != nullptr);
  *hook = [](const char*, const void*) { ++launched; };
}

struct Aligned {
  explicit Aligned(std::size_t bytes) : memory(std::aligned_alloc(512, (bytes / 512 + 1) * 512)) {}
  ~Aligned() { std::free(memory); }
  Aligned(const Aligned&) = delete;
  Aligned& operator=(const Aligned&) = delete;
  char* at() const { return static_cast<char*>(memory); }
  void* memory;
};

// "Device" buffers of a plan, which nobody reads.
class PlanMemoryOf {
 public:
  explicit PlanMemoryOf(const PlanData& data) : splits_(data.splits.size()) {
    std::vector<char*> addresses;
    for (const auto& bytes : data.buffers) {
      buffers_.push_back(std::make_unique<Aligned>(bytes.size()));
      addresses.push_back(buffers_.back()->at());
    }
    PlanMemory memory;
    memory.quantized_weights = block(data, PlanRole::quantized_weights);
    memory.saved = block(data, PlanRole::saved);
    memory.deferred = block(data, PlanRole::deferred);
    memory.scratch = block(data, PlanRole::scratch);
    binding = std::make_unique<PlanBinding>(data.plan, std::move(addresses), PlanRows{splits_.at(), data.capacity, 0},
                                            memory);
  }
  std::unique_ptr<PlanBinding> binding;

 private:
  void* block(const PlanData& data, PlanRole role) {
    buffers_.push_back(std::make_unique<Aligned>(static_cast<std::size_t>(data.plan.bytes(role, data.capacity))));
    return buffers_.back()->at();
  }
  std::vector<std::unique_ptr<Aligned>> buffers_;
  Aligned splits_;
};

template <typename Call>
std::string message_of(Call&& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

template <typename Call>
long launched_by(Call&& call) {
  const long before = launched;
  call();
  return launched - before;
}

template <typename Call>
long allocated_by(Call&& call) {
  const long before = allocations;
  call();
  return allocations - before;
}

void check_calls(Runtime& runtime) {
  const PlanData data("mlp.packed g3 h144 i80 act=swiglu +probs", {3, 0, 20}, 32);
  const PlanMemoryOf memory(data);
  const GroupedMlpPlan plan(runtime, data.plan.facts);
  const MlpTensors& tensors = memory.binding->mlp;
  CHECK(launched_by([&] { plan.quantize_weights(tensors, nullptr); }) == 2);
  CHECK(launched_by([&] { plan.forward(tensors, nullptr); }) == 4);
  CHECK(launched_by([&] { plan.backward_data(tensors, nullptr); }) == 5);  // dprobs are added up by a kernel
  CHECK(launched_by([&] { plan.backward_weights(tensors, nullptr); }) == 2);
  CHECK(launched_by([&] { plan.backward(tensors, nullptr); }) == 7);
  CHECK(allocated_by([] { operator delete(operator new(1)); }) == 1);  // it does count
  CHECK(allocated_by([&] {
          plan.quantize_weights(tensors, nullptr);
          plan.forward(tensors, nullptr);
          plan.backward(tensors, nullptr);
        }) == 0);
}

void check_pointers(Runtime& runtime) {
  const PlanData data("linear.packed g3 n64 k64 w=pointers", {3, 0, 20}, 32);
  const PlanMemoryOf memory(data);
  const GroupedLinearPlan plan(runtime, data.plan.facts);
  const LinearTensors& tensors = memory.binding->linear;
  CHECK(launched_by([&] { plan.quantize_weights(tensors, nullptr); }) == 3);
  CHECK(launched_by([&] { plan.forward(tensors, nullptr); }) == 2);
  CHECK(launched_by([&] { plan.backward(tensors, nullptr); }) == 3);
  LinearTensors missing = tensors;
  missing.dw = {};
  // Also the first half of a backward waits for all arguments.
  CHECK(launched_by([&] {
          const std::string message = message_of([&] { plan.backward(missing, nullptr); });
          CHECK(message.find("dw is one tensor per group; pass an array of 3 pointers") != std::string::npos);
        }) == 0);
}

void check_refusals(Runtime& runtime) {
  const PlanData data("linear.packed g3 n64 k64 +bias", {3, 0, 20}, 32);
  const PlanMemoryOf memory(data);
  const GroupedLinearPlan plan(runtime, data.plan.facts);
  const auto refused = [&](const char* what, const auto& change) {
    LinearTensors tensors = memory.binding->linear;
    change(tensors);
    std::string message;
    CHECK(launched_by([&] { message = message_of([&] { plan.forward(tensors, nullptr); }); }) == 0);
    CAPTURE(message);
    CHECK(message.find(what) != std::string::npos);
  };
  refused("x is null", [](LinearTensors& t) { t.x = nullptr; });
  refused("not a multiple of 16", [](LinearTensors& t) { t.y = static_cast<char*>(t.y) + 8; });
  refused("memory.saved is", [](LinearTensors& t) { t.memory.saved = static_cast<char*>(t.memory.saved) + 128; });
  refused("capacity is -1", [](LinearTensors& t) { t.rows.capacity = -1; });
  refused("splits is", [](LinearTensors& t) { t.rows.splits = static_cast<const char*>(t.rows.splits) + 2; });
  CHECK_THROWS_AS(GroupedMlpPlan(runtime, data.plan.facts), Error);
  const GroupedLinearPlan inference(runtime, PlanFacts::parse("linear.packed g3 n64 k64 +inference"));
  CHECK(message_of([&] { inference.backward(memory.binding->linear, nullptr); }).find("+inference") !=
        std::string::npos);
}

void check_splits(Runtime& runtime) {
  const GroupedLinearPlan plan(runtime, PlanFacts::parse("linear.packed g3 n64 k64"));
  const std::int32_t good[3] = {1, 0, 5}, many[3] = {1, 0, 9};
  std::int32_t device[3] = {};
  plan.upload_splits(good, 8, device, nullptr);
  CHECK(std::equal(std::begin(good), std::end(good), std::begin(device)));
  CHECK(message_of([&] { plan.upload_splits(many, 8, device, nullptr); }).find("splits[2] is 9") != std::string::npos);
  CHECK(std::equal(std::begin(good), std::end(good), std::begin(device)));
  CUstream stream = nullptr;
  check(Driver::get().cuStreamCreate(&stream, 0), "cuStreamCreate");
  check(Driver::get().cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL), "cuStreamBeginCapture");
  const std::string message = message_of([&] { plan.upload_splits(good, 8, device, stream); });
  CHECK(message.find("while the stream is being captured: a replay would copy") != std::string::npos);
  CUgraph graph = nullptr;
  check(Driver::get().cuStreamEndCapture(stream, &graph), "cuStreamEndCapture");
  plan.upload_splits(good, 8, device, stream);
}

void check_prepare_all(Runtime& runtime) {
  const PlanData data("linear.masked g3 m32 n64 k64 +inference", {3, 0, 20}, 96);
  const PlanMemoryOf memory(data);
  const GroupedLinearPlan plan(runtime, data.plan.facts);
  plan.prepare_all({64});
  const Statistics prepared = runtime.statistics();
  for (const std::int64_t expected_m : {0, 1, 16, 17, 64}) {
    LinearTensors tensors = memory.binding->linear;
    tensors.rows.expected_m = expected_m;
    CHECK(allocated_by([&] { plan.forward(tensors, nullptr); }) == 0);
  }
  CHECK(runtime.statistics().compiled == prepared.compiled);
  CHECK(plan.build_all(64).size() == variants(plan.plan(), 64).size());
  CHECK(runtime.statistics().compiled == prepared.compiled);
}

}  // namespace

// Hidden: the next one runs it in a process that finds the accepting libcuda.
TEST_CASE("plan launches in a process of its own", "[.]") {
  count_launches();
  Runtime runtime(memory_only());
  check_calls(runtime);
  check_pointers(runtime);
  check_refusals(runtime);
  check_splits(runtime);
  check_prepare_all(runtime);
}

TEST_CASE("plan: calls launch their steps, refuse before any, and allocate nothing once warm") {
  if (!has_nvrtc()) return;
  const Finished run = run_test_case("plan launches in a process of its own",
                                     "LD_LIBRARY_PATH='" + octet::test::build_path("tests/accepting") + "'");
  INFO(run.output);
  CHECK(run.exit_code == 0);
  CHECK(run.output.find("All tests passed") != std::string::npos);
}
