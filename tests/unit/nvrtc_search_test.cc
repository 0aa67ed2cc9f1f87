// The search for libnvrtc: over lists of places that the tests make, and over libraries that they build.
#include <dlfcn.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <future>
#include <memory>
#include <string>
#include <vector>

#include "octet/error.h"
#include "runtime/nvrtc.h"
#include "tests/support/catch.h"
#include "tests/support/scratch.h"

namespace {

using octet::Error;
using octet::ErrorCode;
using octet::LibrarySearch;
using octet::Nvrtc;
using octet::test::build_library;
using octet::test::ScratchFolder;

// A libnvrtc of that version with every function that we call, none of which compiles anything.
std::string library_source(int major, int minor) {
  std::string source = "int nvrtcVersion(int* major, int* minor) { *major = " + std::to_string(major) +
                       "; *minor = " + std::to_string(minor) + "; return 0; }\n" +
                       "const char* nvrtcGetErrorString(int code) { return \"an error\"; }\n";
  for (const char* name : {"CreateProgram", "CompileProgram", "DestroyProgram", "GetCUBINSize", "GetCUBIN",
                           "GetPTXSize", "GetPTX", "GetProgramLogSize", "GetProgramLog"})
    source += std::string("int nvrtc") + name + "(void) { return 1; }\n";
  return source;
}

// Each test has a stem of its own that no installed library has: what a test opens stays loaded for the next ones.
LibrarySearch search_in(const std::string& stem, const std::vector<std::string>& folders) {
  LibrarySearch search{"", stem, {stem + ".so.13", stem + ".so.12"}, {}};
  for (const std::string& folder : folders) search.folders.push_back(octet::escape_glob(folder));
  return search;
}

std::string failure_of(const LibrarySearch& search) {
  try {
    Nvrtc::open_from(search);
  } catch (const Error& error) {
    CHECK(error.code() == ErrorCode::compile_failed);
    return error.what();
  }
  return "found";
}

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("D17: a missing libnvrtc is an error that lists what was tried and says how to point at one") {
  const ScratchFolder folder;
  const std::string message = failure_of(search_in("libnvrtc_absent", {folder / "absent", folder.string()}));
  INFO(message);
  CHECK(contains(message, "libnvrtc was not found"));
  CHECK(contains(message, "libnvrtc_absent already loaded in the process: none\n"));
  CHECK(contains(message, "libnvrtc_absent.so.13 (loader path): cannot open shared object file"));
  CHECK(contains(message, "libnvrtc_absent.so.12 (loader path): cannot open shared object file"));
  CHECK(contains(message, folder / "absent" + ": no such folder\n"));
  CHECK(contains(message, folder.string() + ": holds no libnvrtc_absent.so.13 or libnvrtc_absent.so.12\n"));
  CHECK(contains(message, "OCTET_NVRTC_LIBRARY"));
  CHECK(contains(message, "pip install nvidia-cuda-nvrtc"));
}

TEST_CASE("D17: a stub, an old and a broken library are reported and passed over") {
  const ScratchFolder folder;
  for (const char* name : {"stub", "old", "broken", "good"}) std::filesystem::create_directory(folder / name);
  build_library(folder / "stub/libnvrtc_bad.so.13", "int nvrtcVersion(int* a, int* b) { return 0; }", "stub.so");
  build_library(folder / "old/libnvrtc_bad.so.12", library_source(12, 2), "old.so");
  std::ofstream(folder / "broken/libnvrtc_bad.so.13") << "no library";

  const std::vector<std::string> bad = {folder / "stub", folder / "old", folder / "broken"};
  const std::string message = failure_of(search_in("libnvrtc_bad", bad));
  INFO(message);
  CHECK(contains(message, "stub/libnvrtc_bad.so.13: is a stub or too old: it lacks nvrtcCreateProgram, "));
  CHECK(contains(message, "old/libnvrtc_bad.so.12: is NVRTC 12.2; 12.3 or later is needed"));
  CHECK(contains(message, "broken/libnvrtc_bad.so.13: "));

  build_library(folder / "good/libnvrtc_bad.so.12", library_source(12, 3), "good.so");
  std::vector<std::string> all = bad;
  all.push_back(folder / "good");
  const auto nvrtc = Nvrtc::open_from(search_in("libnvrtc_bad", all));
  CHECK(nvrtc->path() == folder / "good/libnvrtc_bad.so.12");  // the folder's name has a space
  CHECK(nvrtc->major() == 12);
  CHECK(nvrtc->minor() == 3);
  CHECK(nvrtc->compile_program != nullptr);
}

TEST_CASE("nvrtc: names are tried in order within a folder, and folders in order") {
  const ScratchFolder folder;
  for (const char* name : {"first", "second"}) std::filesystem::create_directory(folder / name);
  build_library(folder / "first/libnvrtc_order.so.12", library_source(12, 9), "first12.so");
  build_library(folder / "first/libnvrtc_order.so.13", library_source(13, 1), "first13.so");
  build_library(folder / "second/libnvrtc_order.so.13", library_source(13, 2), "second13.so");
  CHECK(Nvrtc::open_from(search_in("libnvrtc_order", {folder / "first", folder / "second"}))->minor() == 1);
}

TEST_CASE("nvrtc: a pattern finds the wheels of any Python") {
  const ScratchFolder folder;
  const std::string wheel = "lib/python3.11/site-packages/nvidia/cu13/lib";
  std::filesystem::create_directories(folder / wheel);
  build_library(folder / (wheel + "/libnvrtc_wheel.so.13"), library_source(13, 4), "wheel.so");
  LibrarySearch search = search_in("libnvrtc_wheel", {});
  search.folders = octet::nvrtc_search("", {{}, {folder.string()}}).folders;
  CHECK(Nvrtc::open_from(search)->path() == folder / (wheel + "/libnvrtc_wheel.so.13"));
}

TEST_CASE("nvrtc: a library that the process has loaded comes first, also one that a wheel renamed") {
  const ScratchFolder folder;
  build_library(folder / "libnvrtc_loaded.so.13", library_source(13, 1), "unloaded.so");
  build_library(folder / "libnvrtc_loaded-0a1b2c3d.so.12", library_source(12, 8), "renamed.so");
  void* renamed = dlopen((folder / "libnvrtc_loaded-0a1b2c3d.so.12").c_str(), RTLD_NOW);
  REQUIRE(renamed != nullptr);
  const auto nvrtc = Nvrtc::open_from(search_in("libnvrtc_loaded", {folder.string()}));
  CHECK(nvrtc->path() == folder / "libnvrtc_loaded-0a1b2c3d.so.12");
  dlclose(renamed);
}

TEST_CASE("nvrtc: child with a loader path", "[.child]") {
  const std::string renamed = std::string(std::getenv("LD_LIBRARY_PATH")) + "/libnvrtc_path-0a1b2c3d.so.12";
  CHECK(Nvrtc::open_from(search_in("libnvrtc_other", {}))->minor() == 6);
  REQUIRE(dlopen(renamed.c_str(), RTLD_NOW) != nullptr);
  CHECK(Nvrtc::open_from(search_in("libnvrtc_path", {}))->path() == renamed);
}

TEST_CASE("nvrtc: the loader path is searched, after what the process has loaded") {
  const ScratchFolder folder;
  build_library(folder / "libnvrtc_other.so.13", library_source(13, 6), "other.so");
  build_library(folder / "libnvrtc_path.so.13", library_source(13, 1), "path.so");
  build_library(folder / "libnvrtc_path-0a1b2c3d.so.12", library_source(12, 8), "path_renamed.so");
  const auto child =
      octet::test::run_test_case("nvrtc: child with a loader path", "LD_LIBRARY_PATH='" + folder.string() + "'");
  INFO(child.output);
  CHECK(child.exit_code == 0);
}

TEST_CASE("nvrtc: loaded builtins are not taken for the library") {
  const ScratchFolder folder;
  build_library(folder / "libnvrtc_real.so.13", library_source(13, 1), "real.so");
  build_library(folder / "libnvrtc_real-builtins.so.13", library_source(13, 3), "builtins.so");
  void* builtins = dlopen((folder / "libnvrtc_real-builtins.so.13").c_str(), RTLD_NOW);
  REQUIRE(builtins != nullptr);
  CHECK(Nvrtc::open_from(search_in("libnvrtc_real", {folder.string()}))->minor() == 1);
  dlclose(builtins);
}

TEST_CASE("nvrtc: a library that is loaded under its soname is found whatever its file is called") {
  const ScratchFolder folder;
  build_library(folder / "other name.so", library_source(13, 7), "libnvrtc_soname.so.13");
  void* loaded = dlopen((folder / "other name.so").c_str(), RTLD_NOW);
  REQUIRE(loaded != nullptr);
  CHECK(Nvrtc::open_from({"", "libnvrtc_soname", {"libnvrtc_soname.so.13"}, {}})->minor() == 7);
  dlclose(loaded);
}

TEST_CASE("D17: a library that the user names is taken or refused, never passed over") {
  const ScratchFolder folder;
  build_library(folder / "libnvrtc_given.so.13", library_source(13, 1), "fallback.so");
  build_library(folder / "mine.so", library_source(13, 2), "mine.so");
  LibrarySearch search = search_in("libnvrtc_given", {folder.string()});
  search.given = folder / "mine.so";
  CHECK(Nvrtc::open_from(search)->minor() == 2);

  search.given = folder / "absent.so";
  const std::string message = failure_of(search);
  INFO(message);
  CHECK(contains(message, "OCTET_NVRTC_LIBRARY"));
  CHECK(contains(message, folder / "absent.so" + ": cannot open shared object file"));
  CHECK_FALSE(contains(message, "loader path"));
  CHECK_THROWS_AS(Nvrtc::open(folder / "absent.so"), Error);
}

TEST_CASE("nvrtc: one instance per library, and a failure is not remembered") {
  const ScratchFolder folder;
  const std::string path = folder / "late.so";
  CHECK_THROWS_AS(Nvrtc::open(path), Error);
  build_library(path, library_source(13, 5), "late.so");
  const auto nvrtc = Nvrtc::open(path);
  CHECK(nvrtc->minor() == 5);
  CHECK(Nvrtc::open(path) == nvrtc);
}

TEST_CASE("E01: threads that open NVRTC at once share one instance") {
  const ScratchFolder folder;
  build_library(folder / "shared.so", library_source(13, 0), "shared.so");
  std::vector<std::future<std::shared_ptr<const Nvrtc>>> threads;
  for (int i = 0; i < 16; ++i)
    threads.push_back(std::async(std::launch::async, [&] { return Nvrtc::open(folder / "shared.so"); }));
  const auto nvrtc = Nvrtc::open(folder / "shared.so");
  for (auto& thread : threads) CHECK(thread.get() == nvrtc);
}

TEST_CASE("nvrtc: the places of the search, in order") {
  const LibrarySearch search = octet::nvrtc_search("", {{"/opt/cu[da]", "/usr/local/cuda"}, {"/venv"}});
  CHECK(search.names == std::vector<std::string>{"libnvrtc.so.13", "libnvrtc.so", "libnvrtc.so.12"});
  const auto place = [&search](const std::string& folder) {
    const auto found = std::find(search.folders.begin(), search.folders.end(), folder);
    INFO(folder);
    CHECK(std::count(search.folders.begin(), search.folders.end(), folder) == 1);
    return found - search.folders.begin();
  };
  CHECK(place("/opt/cu\\[da]/lib64") < place("/usr/local/cuda/lib64"));
  CHECK(place("/usr/local/cuda/lib64") < place("/venv/lib*/python3*/*-packages/nvidia/cu13/lib"));
  CHECK(place("/venv/lib*/python3*/*-packages/nvidia/cu13/lib") <
        place("/venv/lib*/python3*/*-packages/nvidia/cuda_nvrtc/lib"));
  CHECK(place("/venv/lib*/python3*/*-packages/nvidia/cuda_nvrtc/lib") <
        place("/usr/local/lib*/python3*/*-packages/nvidia/cu13/lib"));
  CHECK(place("/usr/local/lib*/python3*/*-packages/nvidia/cu13/lib") <
        place("/usr/lib*/python3*/*-packages/nvidia/cu13/lib"));
}

TEST_CASE("nvrtc: the built-in headers beside a library are loaded with it, since wheels have no RPATH") {
  const ScratchFolder folder;
  build_library(folder / "libnvrtc_beside.so.13", library_source(13, 97), "beside.so");
  build_library(folder / "libnvrtc-builtins.so.13.97", "int builtins;", "libnvrtc-builtins.so.13.97");
  Nvrtc::open_from(search_in("libnvrtc_beside", {folder.string()}));
  // By bare name, as NVRTC asks for it.
  CHECK(dlopen("libnvrtc-builtins.so.13.97", RTLD_NOW | RTLD_NOLOAD) != nullptr);
}
