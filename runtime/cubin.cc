#include "runtime/cubin.h"

#include <elf.h>
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstring>

namespace octet {
namespace {

// Thrown and caught in this file: the first thing that is wrong.
struct Fault {
  std::string text;
};

void require(bool good, const char* fault) {
  if (!good) throw Fault{fault};
}

class Elf {
 public:
  explicit Elf(std::string_view bytes) : bytes_(bytes) {
    require(!bytes.empty(), "is empty");
    require(bytes.substr(0, SELFMAG) == std::string_view(ELFMAG, SELFMAG), "does not start as an ELF file");
    header_ = at<Elf64_Ehdr>(0);
    require(header_.e_ident[EI_CLASS] == ELFCLASS64 && header_.e_ident[EI_DATA] == ELFDATA2LSB,
            "is not a 64-bit little-endian ELF file");
    require(header_.e_machine == EM_CUDA, "is an ELF file of another machine than CUDA");
    require(header_.e_shnum > 0 && header_.e_shentsize == sizeof(Elf64_Shdr), "has no section table");
    if (header_.e_phnum > 0) slice(header_.e_phoff, std::uint64_t{header_.e_phnum} * header_.e_phentsize);
    for (std::uint64_t i = 0; i < header_.e_shnum; ++i) {
      sections_.push_back(at<Elf64_Shdr>(header_.e_shoff, i));
      if (sections_.back().sh_type != SHT_NOBITS) content(sections_.back());
    }
  }

  const Elf64_Ehdr& header() const { return header_; }
  const std::vector<Elf64_Shdr>& sections() const { return sections_; }
  std::string_view content(const Elf64_Shdr& section) const { return slice(section.sh_offset, section.sh_size); }

  std::string_view linked_string(const Elf64_Shdr& section, std::uint64_t offset) const {
    require(section.sh_link < sections_.size(), "has a section that links to none");
    const std::string_view strings = content(sections_[section.sh_link]);
    require(offset < strings.size(), "has a name outside its string table");
    const std::string_view text = strings.substr(offset);
    return text.substr(0, text.find('\0'));
  }

  // Element `index` of the table at `offset`.
  template <typename T>
  T at(std::uint64_t offset, std::uint64_t index = 0) const {
    require(offset <= bytes_.size(), "is truncated");
    T value;
    std::memcpy(&value, slice(offset + index * sizeof(T), sizeof(T)).data(), sizeof(T));
    return value;
  }

 private:
  std::string_view slice(std::uint64_t offset, std::uint64_t size) const {
    require(offset <= bytes_.size() && size <= bytes_.size() - offset, "is truncated");
    return bytes_.substr(offset, size);
  }

  std::string_view bytes_;
  Elf64_Ehdr header_{};
  std::vector<Elf64_Shdr> sections_;
};

// Cubins of CUDA 13 (ABI version 8) keep the SM number in bits 8 to 15 of e_flags, earlier ones in bits 0 to 7.
int sm_number(const Elf64_Ehdr& header) {
  const unsigned shift = header.e_ident[EI_ABIVERSION] >= 8 ? 8 : 0;
  return static_cast<int>(header.e_flags >> shift & 0xff);
}

std::vector<std::string> functions(const Elf& elf) {
  std::vector<std::string> names;
  for (const Elf64_Shdr& section : elf.sections()) {
    if (section.sh_type != SHT_SYMTAB) continue;
    for (std::uint64_t i = 0; i < section.sh_size / sizeof(Elf64_Sym); ++i) {
      const auto symbol = elf.at<Elf64_Sym>(section.sh_offset, i);
      if (ELF64_ST_TYPE(symbol.st_info) == STT_FUNC && symbol.st_shndx != SHN_UNDEF)
        names.emplace_back(elf.linked_string(section, symbol.st_name));
    }
  }
  return names;
}

// The word after `label` in the notes: up to a space or the string's end.
std::string noted(std::string_view notes, std::string_view label) {
  const std::size_t found = notes.find(label);
  if (found == std::string_view::npos) return {};
  const std::string_view text = notes.substr(found + label.size());
  return std::string(text.substr(0, text.find_first_of(std::string_view(" \0", 2))));
}

CubinFacts read(const Elf& elf) {
  CubinFacts facts;
  facts.sm = sm_number(elf.header());
  facts.functions = functions(elf);
  for (const Elf64_Shdr& section : elf.sections()) {
    if (section.sh_type != SHT_NOTE) continue;
    const std::string_view notes = elf.content(section);
    if (facts.arch.empty()) facts.arch = noted(notes, "-arch ");
    if (facts.toolkit.empty()) facts.toolkit = noted(notes, ", V");  // "... release 13.0, V13.0.88"
  }
  return facts;
}

// 90 of "sm_90a"; -1 when there is no number.
int sm_of(std::string_view arch) {
  int sm = -1;
  const std::size_t digits = std::min(arch.find_first_of("0123456789"), arch.size());
  std::from_chars(arch.data() + digits, arch.data() + arch.size(), sm);
  return sm;
}

}  // namespace

std::optional<CubinFacts> read_cubin(std::string_view bytes, std::string* why) {
  try {
    return read(Elf(bytes));
  } catch (const Fault& fault) {
    if (why != nullptr) *why = fault.text;
    return std::nullopt;
  }
}

std::string cubin_fault(std::string_view bytes, const std::string& arch, const std::string& entry_name) {
  std::string why;
  const std::optional<CubinFacts> facts = read_cubin(bytes, &why);
  if (!facts) return why;
  if (facts->sm != sm_of(arch)) return fmt::format("is for sm_{}, not for {}", facts->sm, arch);
  // e_flags do not tell sm_90 from sm_90a, which loads and then fails at its first wgmma; the note does.
  if (!facts->arch.empty() && facts->arch != arch) return fmt::format("is for {}, not for {}", facts->arch, arch);
  if (std::find(facts->functions.begin(), facts->functions.end(), entry_name) == facts->functions.end())
    return fmt::format("has no function {}", entry_name);
  return {};
}

}  // namespace octet
