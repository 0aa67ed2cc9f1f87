// Cubins put together by the ELF specification: no compiler is involved, and none of Octet's code.
#pragma once

#include <elf.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

namespace octet::test {

// As readelf shows them for NVRTC 13.0.88 and sm_90a, and for NVRTC 12.3.107 and sm_90a.
constexpr std::uint32_t flags_13_sm_90 = 0x06005a04;
constexpr std::uint32_t flags_12_sm_90 = 0x005a0d5a;

template <typename T>
void append(std::string& bytes, const T& value) {
  bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
}

// A note as ptxas 13.0 writes it: name, then a description that holds strings.
inline std::string note(const std::string& arch, const std::string& version = "13.0", const std::string& build = "88") {
  const std::string nul(1, '\0');
  return "NVIDIA Corp" + nul + "ptxas" + nul + "Cuda compilation tools, release " + version + ", V" + version + "." +
         build + nul + "-v  -arch " + arch + " " + nul;
}

struct CubinParts {
  std::uint32_t flags = flags_13_sm_90;
  unsigned char abi_version = 8;
  std::uint16_t machine = EM_CUDA;
  std::string note_text = note("sm_90a");
  std::vector<std::string> functions = {"kernel"};
  std::uint16_t function_section = 1;  // SHN_UNDEF: only declared
};

// Header, note, strings, symbols, section table; the table is last, so every shorter prefix lacks something.
inline std::string make_cubin(const CubinParts& parts = {}) {
  std::string strings(1, '\0'), symbols(sizeof(Elf64_Sym), '\0');
  for (const std::string& function : parts.functions) {
    Elf64_Sym symbol{};
    symbol.st_name = static_cast<Elf64_Word>(strings.size());
    symbol.st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC);
    symbol.st_shndx = parts.function_section;
    append(symbols, symbol);
    strings += function + '\0';
  }

  std::vector<Elf64_Shdr> sections(4);
  std::string content;
  const auto place = [&](Elf64_Shdr& section, std::uint32_t type, const std::string& bytes) {
    section.sh_type = type;
    section.sh_offset = sizeof(Elf64_Ehdr) + content.size();
    section.sh_size = bytes.size();
    content += bytes;
  };
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

}  // namespace octet::test
