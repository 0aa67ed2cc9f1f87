// Spec -> cubin through the real NVRTC and a cache on disk: what is compiled, what is found, what is replaced.
#include <filesystem>
#include <fstream>
#include <future>
#include <vector>

#include "cache/entry.h"
#include "octet/error.h"
#include "runtime/cubin.h"
#include "runtime/render.h"
#include "tests/compile/kernels.h"
#include "tests/support/catch.h"
#include "tests/support/scratch.h"
#include "tests/unit/cache_test.h"

namespace {

using octet::Built;
using octet::CacheMode;
using octet::Error;
using octet::ErrorCode;
using octet::Options;
using octet::Problem;
using octet::Runtime;
using octet::Spec;
using octet::cache::test::count;
using octet::cache::test::leftovers;
using octet::cache::test::only_entry;
using octet::cache::test::read_text;
using octet::cache::test::stderr_of;
using octet::cache::test::write_text;
using octet::test::has_nvrtc;
using octet::test::memory_only;
using octet::test::ScratchFolder;
namespace fs = std::filesystem;

Spec spec_of(const std::string& problem) { return octet::select(Problem::parse(problem)); }
const Spec& tokens() {
  static const Spec spec = spec_of("quantize.packed g3 c256 in=bf16 out=e4m3:1x128");
  return spec;
}
const Spec& weights() {
  static const Spec spec = spec_of("quantize.uniform g2 n128 k256 in=bf16 out=e4m3:128x128");
  return spec;
}

Options cached_in(const std::string& directory) {
  Options options = memory_only();
  options.cache_dir = directory;
  return options;
}

Options templates_in(const std::string& directory) {
  Options options = memory_only();
  options.template_dir = directory;
  return options;
}

void write_embedded_templates(const std::string& directory) {
  for (const auto& [name, text] : octet::embedded_templates()) {
    const fs::path path = fs::path(directory) / name;
    fs::create_directories(path.parent_path());
    write_text(path, text);
  }
}

Error failure_of(Runtime& runtime, const Spec& spec) {
  try {
    runtime.build(spec);
  } catch (const Error& error) {
    return error;
  }
  FAIL("built");
  throw 0;  // FAIL does not return
}

std::size_t entries_in(const std::string& directory) { return octet::cache::test::store_at(directory).list().size(); }
bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

// The bytes of an entry that is whole by its checksum, with another cubin in it.
std::string with_cubin(const std::string& entry, const std::string& cubin) {
  octet::cache::Entry changed = octet::cache::decode(entry).value();
  changed.cubin = cubin;
  return octet::cache::encode(changed);
}

// Spoils the one entry of a cache that holds `tokens`, and checks that it is found out once, rebuilt and replaced.
void check_repair(const std::function<std::string(const std::string&)>& spoil, const std::string& told) {
  const ScratchFolder folder;
  const Built first = Runtime(cached_in(folder.string())).build(tokens());
  const fs::path entry = only_entry(folder.string());
  const std::string whole = read_text(entry);
  write_text(entry, spoil(whole));

  Runtime runtime(cached_in(folder.string()));
  Built built;
  const std::string output = stderr_of([&] { built = runtime.build(tokens()); });
  INFO(output);
  CHECK(built.compiled);
  CHECK((built.cubin == first.cubin));
  CHECK(runtime.statistics().compiled == 1);
  CHECK(runtime.statistics().cache_hits == 0);
  CHECK(runtime.statistics().damaged == 1);
  CHECK(count(output, "\n") == 1);
  CHECK(contains(output, told));
  CHECK((read_text(entry) == whole));

  Runtime next(cached_in(folder.string()));
  CHECK_FALSE(next.build(tokens()).compiled);
  CHECK(next.statistics().damaged == 0);
}

}  // namespace

TEST_CASE("builder: what one runtime published another one finds, whole") {
  if (!has_nvrtc()) return;
  const ScratchFolder folder;
  Runtime first(cached_in(folder.string()));
  const Built built = first.build(tokens());
  CHECK(built.compiled);
  CHECK(built.seconds > 0);
  CHECK(first.statistics().compiled == 1);
  CHECK(first.statistics().cache_hits == 0);

  Runtime second(cached_in(folder.string()));
  const Built found = second.build(tokens());
  CHECK(second.statistics().compiled == 0);
  CHECK(second.statistics().cache_hits == 1);
  CHECK(second.statistics().damaged == 0);
  CHECK_FALSE(found.compiled);
  CHECK(found.seconds == 0);
  CHECK(found.spec == tokens());
  CHECK(found.key == built.key);
  CHECK(found.source == built.source);
  CHECK((found.cubin == built.cubin));
  CHECK(found.toolchain == built.toolchain);
  CHECK(found.resources.registers == built.resources.registers);
  CHECK(found.resources.dynamic_shared_bytes == built.resources.dynamic_shared_bytes);
}

TEST_CASE("builder: a second build in a runtime comes from memory, also without a cache on disk") {
  if (!has_nvrtc()) return;
  Runtime runtime(memory_only());
  const Built first = runtime.build(weights());
  const Built second = runtime.build(weights());
  CHECK(first.compiled);
  CHECK_FALSE(second.compiled);
  CHECK(second.seconds == 0);
  CHECK((second.cubin == first.cubin));
  CHECK(runtime.statistics().compiled == 1);
}

TEST_CASE("E01: threads that ask for one kernel compile it once") {
  if (!has_nvrtc()) return;
  for (const bool on_disk : {false, true}) {
    const ScratchFolder folder;
    Runtime runtime(on_disk ? cached_in(folder.string()) : memory_only());
    std::promise<void> start;
    const std::shared_future<void> started = start.get_future().share();
    std::vector<std::future<std::string>> threads;
    for (int i = 0; i < 64; ++i) {
      threads.push_back(std::async(std::launch::async, [&] {
        started.wait();
        return runtime.build(tokens()).cubin;
      }));
    }
    start.set_value();
    const std::string expected = threads.front().get();
    CHECK(octet::cubin_fault(expected, "sm_90a", tokens().name()).empty());
    for (std::size_t i = 1; i < threads.size(); ++i) CHECK((threads[i].get() == expected));
    CHECK(runtime.statistics().compiled == 1);
  }
}

TEST_CASE("builder: a damaged entry is counted once, rebuilt and replaced") {
  if (!has_nvrtc()) return;
  check_repair([](const std::string& bytes) { return bytes.substr(0, bytes.size() / 2); }, "cache entry");
  check_repair(
      [](std::string bytes) {
        bytes[bytes.size() / 2] ^= 1;
        return bytes;
      },
      "cache entry");
  check_repair([](const std::string&) { return std::string(); }, "cache entry");
}

TEST_CASE("builder: a whole entry with a cubin that is not the kernel's is counted once, rebuilt and replaced") {
  if (!has_nvrtc()) return;
  const std::string other = Runtime(memory_only()).build(weights()).cubin;
  check_repair([&](const std::string& bytes) { return with_cubin(bytes, other); },
               "cache entry of " + tokens().name() + ": its cubin has no function " + tokens().name());
  check_repair([](const std::string& bytes) { return with_cubin(bytes, "not a cubin"); },
               "cache entry of " + tokens().name() + ": its cubin ");
}

TEST_CASE("builder: with cached-only a miss names the kernel and the command that builds it") {
  const ScratchFolder folder;
  Options options = cached_in(folder.string());
  options.cache_mode = CacheMode::cached_only;
  Runtime runtime(options);
  const Error error = failure_of(runtime, tokens());
  const std::string message = error.what();
  INFO(message);
  CHECK(error.code() == ErrorCode::cache);
  CHECK(contains(message, tokens().name()));
  CHECK(contains(message, folder.string()));
  CHECK(contains(message, "octet build '" + tokens().problem.to_string() + "'"));
  CHECK(runtime.statistics().compiled == 0);

  if (!has_nvrtc()) return;
  Runtime(cached_in(folder.string())).build(tokens());
  CHECK_FALSE(runtime.build(tokens()).compiled);  // the miss was not remembered
}

TEST_CASE("builder: with cached-only a cubin that is not the kernel's is a miss") {
  if (!has_nvrtc()) return;
  const ScratchFolder folder;
  Runtime(cached_in(folder.string())).build(tokens());
  const fs::path entry = only_entry(folder.string());
  const std::string spoiled = with_cubin(read_text(entry), "not a cubin");
  write_text(entry, spoiled);
  Options options = cached_in(folder.string());
  options.cache_mode = CacheMode::cached_only;
  Runtime runtime(options);
  stderr_of([&] { CHECK(failure_of(runtime, tokens()).code() == ErrorCode::cache); });
  CHECK((read_text(entry) == spoiled));
}

TEST_CASE("D17: a warm cache serves without NVRTC, a cold one says what was tried") {
  if (!has_nvrtc()) return;
  const ScratchFolder folder;
  const Built built = Runtime(cached_in(folder.string())).build(tokens());
  Options options = cached_in(folder.string());
  options.nvrtc_library = folder / "libnvrtc-is-not-here.so";
  Runtime runtime(options);
  const Built found = runtime.build(tokens());
  CHECK_FALSE(found.compiled);
  CHECK((found.cubin == built.cubin));
  const Error error = failure_of(runtime, weights());
  INFO(error.what());
  CHECK(error.code() == ErrorCode::compile_failed);
  CHECK(contains(error.what(), weights().name() + " is not in the cache and cannot be compiled: "));
  CHECK(contains(error.what(), "libnvrtc-is-not-here.so"));
  CHECK(contains(error.what(), "OCTET_NVRTC_LIBRARY"));
}

TEST_CASE("D16: a failed compile publishes nothing, is not remembered, and the next good build works") {
  if (!has_nvrtc()) return;
  const ScratchFolder folder;
  const std::string templates = folder / "templates", cache = folder / "cache";
  write_embedded_templates(templates);
  const std::string good = read_text(fs::path(templates) / "quantize_tiles.cu");
  write_text(fs::path(templates) / "quantize_tiles.cu",
             good + "\n__device__ int mistake() { return undefined_name; }\n");
  Options options = templates_in(templates);
  options.cache_dir = cache;
  Runtime runtime(options);
  for (int attempt = 0; attempt < 2; ++attempt) {
    const Error error = failure_of(runtime, weights());
    const std::string message = error.what(), first_line = message.substr(0, message.find('\n'));
    INFO(message);
    CHECK(error.code() == ErrorCode::compile_failed);
    CHECK(first_line.rfind(weights().name() + ": ", 0) == 0);
    CHECK(contains(first_line, "identifier \"undefined_name\" is undefined"));
  }
  CHECK(runtime.statistics().compiled == 0);
  CHECK(entries_in(cache) == 0);

  CHECK(runtime.build(tokens()).compiled);  // in the same runtime, of a template without the mistake
  CHECK(entries_in(cache) == 1);
  write_text(fs::path(templates) / "quantize_tiles.cu", good);
  CHECK(Runtime(options).build(weights()).compiled);
  CHECK(entries_in(cache) == 2);
}

TEST_CASE("D11: a changed template is another key, whatever its dates say; an unused one is not") {
  const ScratchFolder folder;
  write_embedded_templates(folder.string());
  const fs::path used = fs::path(folder.string()) / "quantize_rows.cu", unused = fs::path(folder.string()) / "gemm.cu";
  if (!has_nvrtc()) return;
  const std::string key = Runtime(templates_in(folder.string())).build(tokens()).key;
  CHECK(Runtime(memory_only()).build(tokens()).key == key);  // the same text from another place

  fs::last_write_time(used, fs::file_time_type::clock::now());
  write_text(unused, read_text(unused) + "// changed\n");
  CHECK(Runtime(templates_in(folder.string())).build(tokens()).key == key);

  write_text(used, read_text(used) + "// changed\n");
  fs::last_write_time(used, fs::file_time_type::clock::now() - std::chrono::hours(24 * 365));
  CHECK(Runtime(templates_in(folder.string())).build(tokens()).key != key);
}

TEST_CASE("builder: line information is part of the key") {
  if (!has_nvrtc()) return;
  const ScratchFolder folder;
  const Built plain = Runtime(cached_in(folder.string())).build(tokens());
  Options options = cached_in(folder.string());
  options.lineinfo = true;
  const Built with_lines = Runtime(options).build(tokens());
  CHECK(with_lines.compiled);
  CHECK(with_lines.key != plain.key);
  CHECK(with_lines.source == plain.source);
  CHECK(contains(with_lines.cubin, ".debug_line"));
  CHECK_FALSE(contains(plain.cubin, ".debug_line"));
  CHECK(entries_in(folder.string()) == 2);
}

TEST_CASE("D22: the key does not depend on what ran before, nor the entry on where") {
  if (!has_nvrtc()) return;
  const ScratchFolder first, second;
  Runtime both(cached_in(first.string()));
  both.build(weights());
  const std::string key = both.build(tokens()).key;
  Runtime alone(cached_in(second.string()));
  CHECK(alone.build(tokens()).key == key);
  const fs::path entry = only_entry(second.string());
  const fs::path same = fs::path(first.string()) / fs::relative(entry, second.string());
  CHECK((read_text(same) == read_text(entry)));
}

TEST_CASE("builder: a filled read-only layer is used and nothing is written") {
  if (!has_nvrtc()) return;
  const ScratchFolder folder;
  const std::string layer = folder / "layer", own = folder / "own";
  const Built built = Runtime(cached_in(layer)).build(tokens());
  const std::string entry = read_text(only_entry(layer));
  for (const std::string& writable : {std::string(), own}) {
    Options options = cached_in(writable);
    options.cache_readonly_dirs = {layer};
    Runtime runtime(options);
    const Built found = runtime.build(tokens());
    CHECK_FALSE(found.compiled);
    CHECK((found.cubin == built.cubin));
    CHECK(runtime.statistics().cache_hits == 1);
  }
  CHECK_FALSE(fs::exists(own));
  CHECK(read_text(only_entry(layer)) == entry);
}

TEST_CASE("builder: what a layer lacks is published to the writable directory alone") {
  if (!has_nvrtc()) return;
  const ScratchFolder folder;
  const std::string layer = folder / "layer", own = folder / "own";
  Runtime(cached_in(layer)).build(tokens());
  Options options = cached_in(own);
  options.cache_readonly_dirs = {layer};
  Runtime(options).build(weights());
  CHECK(entries_in(layer) == 1);
  CHECK(entries_in(own) == 1);
}

TEST_CASE("builder: a dump holds what was compiled") {
  if (!has_nvrtc()) return;
  const ScratchFolder folder;
  Options options = memory_only();
  options.dump_dir = folder.string();
  const Built built = Runtime(options).build(tokens());
  const fs::path stem = fs::path(folder.string()) / tokens().name();
  CHECK(read_text(stem.string() + ".cu") == built.source);
  CHECK((read_text(stem.string() + ".cubin") == built.cubin));
  CHECK(contains(read_text(stem.string() + ".ptx"), ".entry " + tokens().name() + "("));
}

TEST_CASE("builder: a spec that a rule refuses is refused before anything is rendered or compiled") {
  Runtime runtime(memory_only());
  const auto told = [&](const Spec& spec) {
    const std::string built = failure_of(runtime, spec).what();
    for (const bool as_ptx : {false, true}) {
      try {
        as_ptx ? runtime.ptx(spec) : runtime.source(spec);
        FAIL("accepted");
      } catch (const Error& error) {
        CHECK(error.what() == built);
      }
    }
    return built;
  };
  Spec spec = octet::select(Problem::parse("gemm.packed g8 n7168 k2048 a=e4m3:1x128 b=e4m3:128x128 d=bf16"));
  Spec other = spec;
  std::get<octet::GemmConfig>(other.config).warpgroups_m = 0;
  CHECK(contains(told(other), "rule gemm.warpgroups-1-to-3"));
  other = spec;
  other.config = octet::QuantizeConfig{};
  CHECK(contains(told(other), "rule gemm.config-of-gemm"));
  other = spec;
  other.problem.k = 7100;
  CHECK(contains(told(other), "K=7100"));
  CHECK(contains(told(other), "octet explain '" + other.problem.to_string() + "'"));
  other = spec;
  other.arch = "sm_90";
  CHECK(contains(told(other), "sm_90a"));
  CHECK(runtime.statistics().compiled == 0);
}
