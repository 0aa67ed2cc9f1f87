// OCTET_DUMP_DIR: what is kept, and that a folder that cannot be written stops nothing.
#include "runtime/dump.h"

#include <filesystem>

#include "tests/support/catch.h"
#include "tests/support/scratch.h"
#include "tests/unit/cache_test.h"

namespace {

using octet::cache::test::count;
using octet::cache::test::read_text;
using octet::cache::test::stderr_of;
using octet::cache::test::write_text;
using octet::test::ScratchFolder;

}  // namespace

TEST_CASE("dump: source, PTX and cubin are kept under the kernel's name, byte for byte") {
  const ScratchFolder folder;
  const std::string place = folder / "made/on demand";
  const std::string cubin(
      "\x7f"
      "ELF\0\r\n\x1a",
      8);
  octet::dump_source(place, "kernel", "line\r\n");
  CHECK(read_text(place + "/kernel.cu") == "line\r\n");
  CHECK_FALSE(std::filesystem::exists(place + "/kernel.cubin"));  // a source that does not compile is kept too
  octet::dump_binaries(place, "kernel", ".version 9.0\n", cubin);
  CHECK(read_text(place + "/kernel.ptx") == ".version 9.0\n");
  CHECK(read_text(place + "/kernel.cubin") == cubin);
}

TEST_CASE("dump: no folder, no file") {
  const ScratchFolder folder;
  const auto before = std::filesystem::current_path();
  std::filesystem::current_path(folder.string());
  octet::dump_source("", "kernel", "source");
  octet::dump_binaries("", "kernel", "ptx", "cubin");
  std::filesystem::current_path(before);
  CHECK(std::filesystem::is_empty(folder.string()));
  CHECK_FALSE(std::filesystem::exists("/kernel.cu"));
}

TEST_CASE("dump: a folder that cannot be written is told once, with the setting") {
  const ScratchFolder folder;
  const std::string place = folder / "a file";
  write_text(place, "");
  const std::string told = stderr_of([&] {
    octet::dump_source(place, "kernel", "source");
    octet::dump_source(place, "other", "source");
    octet::dump_binaries(place, "kernel", "ptx", "cubin");
  });
  CHECK(count(told, "\n") == 1);
  CHECK(count(told, place + "/kernel.cu") == 1);
  CHECK(count(told, "OCTET_DUMP_DIR") == 1);
}
