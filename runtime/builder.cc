#include "runtime/builder.h"

#include <cstdio>

#include <fmt/format.h>

#include "cache/lock.h"
#include "octet/error.h"
#include "runtime/compile.h"
#include "runtime/cubin.h"
#include "runtime/dump.h"
#include "runtime/nvrtc.h"
#include "runtime/resources_text.h"
#include "runtime/rules.h"
#include "runtime/shared_memory.h"

namespace octet {
namespace {

// Longer than any compilation; a holder that hangs costs duplicate work after that, never a hang of ours.
constexpr double kLockTimeoutSeconds = 120;

cache::Key content_key(const std::string& arch, const std::vector<std::string>& flags, const std::string& source) {
  std::string options;
  for (const std::string& flag : flags) options += flag + "\n";
  return cache::Key().add("format", "2").add("arch", arch).add("options", options).add("source", source);
}

int dynamic_shared_bytes(const Spec& spec) {
  if (const auto* gemm = std::get_if<GemmConfig>(&spec.config)) {
    return static_cast<int>(gemm_shared_memory_bytes(spec.problem, *gemm));
  }
  if (const auto* mx = std::get_if<MxConfig>(&spec.config)) {
    return static_cast<int>(mx_shared_memory_bytes(spec.problem, *mx));
  }
  const auto* portable = std::get_if<PortableConfig>(&spec.config);
  return portable == nullptr ? 0 : static_cast<int>(portable_shared_memory_bytes(spec.problem, *portable));
}

cache::Entry to_entry(const Built& built) {
  return {{{"spec", built.spec.name()},
           {"problem", built.spec.problem.to_string()},
           {"config", to_string(built.spec.config)},
           {"arch", built.spec.arch},
           {"toolchain", built.toolchain},
           {"resources", to_text(built.resources)}},
          built.source,
          built.cubin};
}

Built from_entry(const Spec& spec, const cache::Key& key, cache::Entry entry) {
  Built built;
  built.spec = spec;
  built.key = key.hex();
  built.toolchain = entry.get("toolchain");
  built.resources = resources_from_text(entry.get("resources"));
  built.source = std::move(entry.source);
  built.cubin = std::move(entry.cubin);
  return built;
}

TemplateSet custom_templates(const Options& options) {
  return options.template_dir.empty() ? TemplateSet{} : load_templates(options.template_dir);
}

}  // namespace

Builder::Builder(Options options)
    : options_(std::move(options)),
      custom_templates_(custom_templates(options_)),
      templates_(options_.template_dir.empty() ? embedded_templates() : custom_templates_),
      store_({options_.cache_dir, options_.cache_readonly_dirs}) {}

std::string Builder::source(const Spec& spec) const {
  if (const auto refused = refuse(spec, DeviceFacts::for_arch(spec.arch))) throw_refusal(*refused, spec.problem);
  return render(spec, templates_);
}

std::shared_ptr<const Nvrtc> Builder::nvrtc(std::string& why_not) const {
  try {
    return Nvrtc::open(options_.nvrtc_library);
  } catch (const Error& error) {
    why_not = error.what();
    return nullptr;
  }
}

Built Builder::build(const Spec& spec) {
  const std::string text = source(spec);
  const cache::Key key = content_key(spec.arch, compile_flags(spec.arch, options_.lineinfo), text);
  const std::string hex = key.hex();
  if (std::optional<Built> built = remembered(hex)) return *built;
  return flights_.run(hex, [&] {
    // A flight may have landed between the look above and this one's start.
    if (std::optional<Built> built = remembered(hex)) return *built;
    Built built = build_uncached(spec, text, key);
    const std::lock_guard<std::mutex> lock(mutex_);
    return built_.emplace(hex, std::move(built)).first->second;
  });
}

std::optional<Built> Builder::remembered(const std::string& key_hex) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto found = built_.find(key_hex);
  if (found == built_.end()) return std::nullopt;
  Built built = found->second;
  built.compiled = false;
  built.seconds = 0;
  return built;
}

std::optional<Built> Builder::cached(const Spec& spec, const cache::Key& key, const std::string& toolchain,
                                     bool has_lock) {
  std::optional<cache::Entry> entry = has_lock ? store_.find_published(key, toolchain) : store_.find(key, toolchain);
  if (!entry) return std::nullopt;
  // The checksum says that the entry is whole, not that its writer put the right cubin into it.
  const std::string fault = cubin_fault(entry->cubin, spec.arch, spec.name());
  if (fault.empty()) {
    ++hits_;
    return from_entry(spec, key, std::move(*entry));
  }
  if (!has_lock) report_foreign_cubin(spec, fault);
  return std::nullopt;
}

void Builder::report_foreign_cubin(const Spec& spec, const std::string& fault) {
  if (foreign_cubins_++ > 0) return;
  const std::string warning = fmt::format(
      "octet: cache entry of {}: its cubin {}; it is not used and the kernel is built again\n", spec.name(), fault);
  std::fputs(warning.c_str(), stderr);
}

Built Builder::build_uncached(const Spec& spec, const std::string& source, const cache::Key& key) {
  std::string why_not;
  const std::shared_ptr<const Nvrtc> library = nvrtc(why_not);
  const std::string toolchain = library ? fmt::format("nvrtc {}.{}", library->major(), library->minor()) : "";

  if (std::optional<Built> built = cached(spec, key, toolchain, false)) return *built;
  if (options_.cache_mode == CacheMode::cached_only) {
    throw Error(
        ErrorCode::cache,
        fmt::format("{} is not in the cache \"{}\" and OCTET_CACHE_MODE is cached-only; run: octet build '{}' "
                    "--config '{}' --arch {}",
                    spec.name(), options_.cache_dir, spec.problem.to_string(), to_string(spec.config), spec.arch));
  }
  if (!library) {
    throw Error(ErrorCode::compile_failed,
                fmt::format("{} is not in the cache and cannot be compiled: {}", spec.name(), why_not));
  }
  if (options_.cache_dir.empty()) return compile_and_publish(spec, source, key, *library);
  const cache::BuildLock lock(options_.cache_dir, key.hex(), kLockTimeoutSeconds);
  // Another process may have published while we waited.
  if (std::optional<Built> built = cached(spec, key, toolchain, true)) return *built;
  return compile_and_publish(spec, source, key, *library);
}

Built Builder::compile_and_publish(const Spec& spec, const std::string& source, const cache::Key& key,
                                   const Nvrtc& nvrtc) {
  const std::string entry_name = spec.name();
  dump_source(options_.dump_dir, entry_name, source);
  Compiled compiled = compile(nvrtc, source, entry_name, spec.arch, compile_flags(spec.arch, options_.lineinfo),
                              !options_.dump_dir.empty());
  ++compiled_;
  dump_binaries(options_.dump_dir, entry_name, compiled.ptx, compiled.cubin);
  Built built;
  built.spec = spec;
  built.key = key.hex();
  built.source = source;
  built.cubin = std::move(compiled.cubin);
  built.toolchain = std::move(compiled.toolchain);
  built.resources = compiled.resources;
  built.resources.dynamic_shared_bytes = dynamic_shared_bytes(spec);
  built.compiled = true;
  built.seconds = compiled.seconds;
  if (!options_.cache_dir.empty()) store_.publish(key, to_entry(built));
  return built;
}

std::string Builder::ptx(const Spec& spec) const {
  const auto library = Nvrtc::open(options_.nvrtc_library);
  return compile(*library, source(spec), spec.name(), spec.arch, compile_flags(spec.arch, options_.lineinfo), true).ptx;
}

}  // namespace octet
