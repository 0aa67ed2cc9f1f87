// Spec -> cubin: render, look in the cache, compile what is missing, publish it. No GPU, no driver; NVRTC only for what
// the cache has not.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>

#include "cache/single_flight.h"
#include "cache/store.h"
#include "octet/runtime.h"
#include "runtime/render.h"

namespace octet {

class Nvrtc;

// Thread-safe. One compilation per key: in this process by single flight, across processes by the cache's build lock.
// A spec that a rule refuses throws the refusal before anything is rendered.
class Builder {
 public:
  explicit Builder(Options options);

  Built build(const Spec& spec);
  std::string source(const Spec& spec) const;
  std::string ptx(const Spec& spec) const;

  std::uint64_t compiled() const { return compiled_; }
  std::uint64_t hits() const { return hits_; }
  std::uint64_t damaged() const { return store_.damaged() + foreign_cubins_; }
  const Options& options() const { return options_; }

 private:
  // libnvrtc, or null when there is none here; `why_not` then says what was tried.
  std::shared_ptr<const Nvrtc> nvrtc(std::string& why_not) const;
  std::optional<Built> remembered(const std::string& key_hex);
  // What the cache holds, checked; empty on a miss. After the build lock was taken, what was published meanwhile.
  std::optional<Built> cached(const Spec& spec, const cache::Key& key, const std::string& toolchain, bool has_lock);
  void report_foreign_cubin(const Spec& spec, const std::string& fault);
  Built build_uncached(const Spec& spec, const std::string& source, const cache::Key& key);
  Built compile_and_publish(const Spec& spec, const std::string& source, const cache::Key& key, const Nvrtc& nvrtc);

  const Options options_;
  const TemplateSet custom_templates_;
  const TemplateSet& templates_;
  cache::Store store_;
  cache::SingleFlight<Built> flights_;
  std::mutex mutex_;
  std::unordered_map<std::string, Built> built_;  // by key: a second device, or a process without a cache directory
  std::atomic<std::uint64_t> compiled_{0}, hits_{0}, foreign_cubins_{0};
};

}  // namespace octet
