// The cubin checker, over files that the test puts together by the ELF specification: no compiler is involved.
#include "runtime/cubin.h"

#include <elf.h>

#include <cstring>
#include <string>
#include <vector>

#include "tests/support/catch.h"

namespace {

using octet::cubin_fault;
using octet::CubinFacts;
using octet::read_cubin;

constexpr std::uint32_t flags_13_sm_90 = 0x06005a04;  // as readelf shows them for NVRTC 13.0.88 and sm_90a
constexpr std::uint32_t flags_12_sm_90 = 0x005a0d5a;  // for NVRTC 12.3.107 and sm_90a

template <typename T>
void append(std::string& bytes, const T& value) {
  bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
}

// A note as ptxas 13.0 writes it: name, then a description that holds strings.
std::string note(const std::string& arch) {
  using namespace std::string_literals;
  return "NVIDIA Corp\0ptxas\0Cuda compilation tools, release 13.0, V13.0.88\0-v  -arch "s + arch + " \0"s;
}

struct Parts {
  std::uint32_t flags = flags_13_sm_90;
  unsigned char abi_version = 8;
  std::uint16_t machine = EM_CUDA;
  std::string note_text = note("sm_90a");
  std::string function = "kernel";
  std::uint16_t function_section = 1;  // SHN_UNDEF: only declared
};

// Header, note, strings, symbols, section table; the table is last, so every shorter prefix lacks something.
std::string make_cubin(const Parts& parts = {}) {
  const std::string strings = std::string(1, '\0') + parts.function + '\0';
  Elf64_Sym symbol{};
  symbol.st_name = 1;
  symbol.st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC);
  symbol.st_shndx = parts.function_section;

  std::vector<Elf64_Shdr> sections(4);
  std::string content;
  const auto place = [&](Elf64_Shdr& section, std::uint32_t type, const std::string& bytes) {
    section.sh_type = type;
    section.sh_offset = sizeof(Elf64_Ehdr) + content.size();
    section.sh_size = bytes.size();
    content += bytes;
  };
  std::string symbols(sizeof(Elf64_Sym), '\0');
  append(symbols, symbol);
  place(sections[1], SHT_NOTE, parts.note_text);
  place(sections[2], SHT_STRTAB, strings);
  place(sections[3], SHT_SYMTAB, symbols);
  sections[3].sh_link = 2;

  Elf64_Ehdr header{};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_ident[EI_ABIVERSION] = parts.abi_version;
  header.e_machine = parts.machine;
  header.e_flags = parts.flags;
  header.e_shoff = sizeof header + content.size();
  header.e_shnum = static_cast<std::uint16_t>(sections.size());
  header.e_shentsize = sizeof(Elf64_Shdr);
  std::string bytes;
  append(bytes, header);
  bytes += content;
  for (const Elf64_Shdr& section : sections) append(bytes, section);
  return bytes;
}

}  // namespace

TEST_CASE("cubin: a whole one tells its SM, arch, toolkit and functions") {
  const auto facts = read_cubin(make_cubin());
  REQUIRE(facts.has_value());
  CHECK(facts->sm == 90);
  CHECK(facts->arch == "sm_90a");
  CHECK(facts->toolkit == "13.0.88");
  CHECK(facts->functions == std::vector<std::string>{"kernel"});
  CHECK(cubin_fault(make_cubin(), "sm_90a", "kernel").empty());
}

TEST_CASE("cubin: one of CUDA 12 keeps the SM elsewhere and has no note") {
  Parts parts;
  parts.flags = flags_12_sm_90;
  parts.abi_version = 7;
  parts.note_text = "";
  const auto facts = read_cubin(make_cubin(parts));
  REQUIRE(facts.has_value());
  CHECK(facts->sm == 90);
  CHECK(facts->arch.empty());
  CHECK(facts->toolkit.empty());
  CHECK(cubin_fault(make_cubin(parts), "sm_90a", "kernel").empty());
}

TEST_CASE("D02: no prefix of a cubin passes") {
  const std::string whole = make_cubin();
  CHECK(cubin_fault("", "sm_90a", "kernel") == "is empty");
  for (std::size_t size = 1; size < whole.size(); ++size) {
    INFO(size);
    CHECK_FALSE(cubin_fault(whole.substr(0, size), "sm_90a", "kernel").empty());
  }
  CHECK(cubin_fault(whole.substr(0, whole.size() - 1), "sm_90a", "kernel") == "is truncated");
}

TEST_CASE("cubin: what is not one is refused with the reason") {
  CHECK(cubin_fault("<html>not found</html>", "sm_90a", "kernel") == "does not start as an ELF file");
  Parts host;
  host.machine = EM_X86_64;
  CHECK(cubin_fault(make_cubin(host), "sm_90a", "kernel") == "is an ELF file of another machine than CUDA");
}

TEST_CASE("D13: a cubin for another SM is refused") {
  Parts parts;
  parts.flags = 0x06006402;  // sm_100a of NVRTC 13.0.88
  parts.note_text = "";
  CHECK(cubin_fault(make_cubin(parts), "sm_90a", "kernel") == "is for sm_100, not for sm_90a");
  CHECK(cubin_fault(make_cubin(parts), "sm_100a", "kernel").empty());
  CHECK(cubin_fault(make_cubin(), "sm90", "kernel") == "is for sm_90a, not for sm90");
  CHECK(cubin_fault(make_cubin(), "", "kernel") == "is for sm_90, not for ");
}

TEST_CASE("D15: a cubin for sm_90 is refused where sm_90a is wanted") {
  Parts parts;
  parts.note_text = note("sm_90");
  CHECK(cubin_fault(make_cubin(parts), "sm_90a", "kernel") == "is for sm_90, not for sm_90a");
}

TEST_CASE("cubin: the entry point must be defined in it under its whole name") {
  CHECK(cubin_fault(make_cubin(), "sm_90a", "kern") == "has no function kern");
  CHECK(cubin_fault(make_cubin(), "sm_90a", "kernel2") == "has no function kernel2");
  Parts declared;
  declared.function_section = SHN_UNDEF;
  CHECK(cubin_fault(make_cubin(declared), "sm_90a", "kernel") == "has no function kernel");
}

TEST_CASE("cubin: damage in any byte is no crash") {
  const std::string whole = make_cubin();
  int refused = 0;
  for (std::size_t i = 0; i < whole.size(); ++i) {
    for (const char value : {'\x00', '\x7f', '\xff'}) {
      std::string damaged = whole;
      damaged[i] = value;
      if (!cubin_fault(damaged, "sm_90a", "kernel").empty()) ++refused;
    }
  }
  CHECK(refused > 100);  // the rest is bytes that the checker has no business with
}
