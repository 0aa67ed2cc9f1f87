// The path of a call, top to bottom: problem -> spec -> source -> cubin -> kernel. Launching: gemm.cc, quantize.cc.
#include "octet/runtime.h"

#include <fmt/format.h>

#include <mutex>
#include <shared_mutex>
#include <unordered_map>

#include "octet/explain.h"
#include "runtime/builder.h"
#include "runtime/cost.h"
#include "runtime/gemm_traits.h"
#include "runtime/launch.h"
#include "runtime/module.h"
#include "runtime/workspace.h"

namespace octet {
namespace {

// What a warm call is looked up by: no text, no heap.
struct WarmKey {
  Problem problem;
  int m_bucket = 0;  // the choice of config depends on expected_m through this alone
  bool no_workspace = false;
  CUcontext context = nullptr;
  friend bool operator==(const WarmKey& x, const WarmKey& y) {
    return x.problem == y.problem && x.m_bucket == y.m_bucket && x.no_workspace == y.no_workspace &&
           x.context == y.context;
  }
};

struct WarmHash {
  std::size_t operator()(const WarmKey& key) const noexcept {
    return hash_value(key.problem) * 31 + static_cast<std::size_t>(key.m_bucket) * 1000003 +
           static_cast<std::size_t>(key.no_workspace) + reinterpret_cast<std::size_t>(key.context);
  }
};

using LoadedPtr = std::shared_ptr<const LoadedKernel>;

bool is_quantizer(const Problem& problem) {
  return problem.op == Operation::quantize || problem.op == Operation::activation;
}
bool is_converter(const Problem& problem) {
  return problem.op == Operation::dequantize || problem.op == Operation::convert;
}

}  // namespace

struct Runtime::Impl {
  explicit Impl(Options options) : builder(std::move(options)) {}

  LoadedPtr prepare(const Problem& problem, const Hints& hints);
  LoadedPtr load(const Spec& spec, const Place& place);
  const DeviceFacts& facts(int device);

  Builder builder;
  std::shared_mutex mutex;  // guards the maps
  std::unordered_map<WarmKey, LoadedPtr, WarmHash> warm;
  std::unordered_map<std::string, LoadedPtr> loaded;  // by spec name and context: two hints may select one spec
  std::unordered_map<int, DeviceFacts> devices;
  cache::SingleFlight<LoadedPtr> loads;
};

const DeviceFacts& Runtime::Impl::facts(int device) {
  {
    const std::shared_lock lock(mutex);
    if (const auto found = devices.find(device); found != devices.end()) return found->second;
  }
  const DeviceFacts queried = query_device_facts(device);
  const std::unique_lock lock(mutex);
  return devices.emplace(device, queried).first->second;
}

LoadedPtr Runtime::Impl::prepare(const Problem& problem, const Hints& hints) {
  const Place place = resolve_place(hints.device);
  const WarmKey key{problem, bucket(hints.expected_m), hints.no_workspace, place.context};
  {
    const std::shared_lock lock(mutex);
    if (const auto found = warm.find(key); found != warm.end()) return found->second;
  }
  const Spec spec = select(problem, facts(place.device), hints.expected_m, hints.no_workspace);
  LoadedPtr kernel = load(spec, place);
  const std::unique_lock lock(mutex);
  return warm.emplace(key, std::move(kernel)).first->second;
}

LoadedPtr Runtime::Impl::load(const Spec& spec, const Place& place) {
  const std::string name = fmt::format("{} {}", spec.name(), fmt::ptr(place.context));
  return loads.run(name, [&]() -> LoadedPtr {
    {
      const std::shared_lock lock(mutex);
      if (const auto found = loaded.find(name); found != loaded.end()) return found->second;
    }
    LoadedPtr kernel = load_kernel(builder.build(spec), place);
    const std::unique_lock lock(mutex);
    return loaded.emplace(name, std::move(kernel)).first->second;
  });
}

Runtime::Runtime(Options options) : impl_(std::make_unique<Impl>(std::move(options))) {}
Runtime::~Runtime() = default;

Gemm Runtime::prepare(const GemmProblem& problem, Hints hints) { return prepare_gemm(problem.to_problem(), hints); }

Quantize Runtime::prepare(const QuantizeProblem& problem, Hints hints) {
  return prepare_quantize(problem.to_problem(), hints);
}

Gemm Runtime::prepare_gemm(const Problem& problem, Hints hints) {
  if (!is_gemm(problem)) {
    throw Error(ErrorCode::invalid_argument, "prepare_gemm: neither gemm nor wgrad: " + problem.to_string());
  }
  return Gemm(impl_->prepare(problem, hints));
}

Quantize Runtime::prepare_quantize(const Problem& problem, Hints hints) {
  if (!is_quantizer(problem)) {
    throw Error(ErrorCode::invalid_argument, "prepare_quantize: no quantize or activation: " + problem.to_string());
  }
  return Quantize(impl_->prepare(problem, hints));
}

Convert Runtime::prepare_convert(const Problem& problem, Hints hints) {
  if (!is_converter(problem)) {
    throw Error(ErrorCode::invalid_argument, "prepare_convert: no dequantize or convert: " + problem.to_string());
  }
  return Convert(impl_->prepare(problem, hints));
}

Gemm Runtime::prepare_gemm(const Spec& spec, int device) {
  if (!is_gemm(spec.problem) || std::holds_alternative<QuantizeConfig>(spec.config)) {
    throw Error(ErrorCode::invalid_argument, "prepare_gemm: neither gemm nor wgrad: " + spec.name());
  }
  return Gemm(impl_->load(spec, resolve_place(device)));
}

Quantize Runtime::prepare_quantize(const Spec& spec, int device) {
  if (!is_quantizer(spec.problem) || !std::holds_alternative<QuantizeConfig>(spec.config)) {
    throw Error(ErrorCode::invalid_argument, "prepare_quantize: no quantize or activation: " + spec.name());
  }
  return Quantize(impl_->load(spec, resolve_place(device)));
}

Convert Runtime::prepare_convert(const Spec& spec, int device) {
  if (!is_converter(spec.problem) || !std::holds_alternative<QuantizeConfig>(spec.config)) {
    throw Error(ErrorCode::invalid_argument, "prepare_convert: no dequantize or convert: " + spec.name());
  }
  return Convert(impl_->load(spec, resolve_place(device)));
}

Built Runtime::build(const Spec& spec) { return impl_->builder.build(spec); }
std::string Runtime::source(const Spec& spec) const { return impl_->builder.source(spec); }
std::string Runtime::ptx(const Spec& spec) { return impl_->builder.ptx(spec); }

DeviceFacts Runtime::device_facts(int device) { return query_device_facts(device); }

Statistics Runtime::statistics() const {
  Statistics statistics;
  statistics.compiled = impl_->builder.compiled();
  statistics.cache_hits = impl_->builder.hits();
  statistics.damaged = impl_->builder.damaged();
  const std::shared_lock lock(impl_->mutex);
  statistics.loaded = impl_->loaded.size();
  return statistics;
}

const Options& Runtime::options() const { return impl_->builder.options(); }

const Spec& Kernel::spec() const {
  require_loaded(loaded_.get());
  return loaded_->spec;
}

std::size_t Kernel::workspace_bytes(std::int64_t capacity) const {
  require_loaded(loaded_.get());
  require_capacity(*loaded_, capacity);
  return static_cast<std::size_t>(octet::workspace_bytes(loaded_->spec.problem, loaded_->spec.config, capacity));
}

std::string to_string(const OperandLayout& layout) {
  const std::string rows = layout.rows == Layout::padded
                               ? fmt::format("{}:{}", to_string(layout.rows), layout.alignment)
                               : to_string(layout.rows);
  const char* packing = layout.packing == Packing::deepgemm ? "/deepgemm" : layout.packing == Packing::te ? "/te" : "";
  return fmt::format("{}/{}{}{}", rows, layout.columnwise ? "col/" : "", to_string(layout.scales), packing);
}

const char* version() noexcept { return OCTET_VERSION; }

}  // namespace octet
