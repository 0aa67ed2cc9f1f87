// SASS, through nvdisasm or cuobjdump, which come with some CUDA installs and not with others; and what is in it.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>

namespace octet::cli {

// The path of the disassembler that would be used; "" when there is none here.
std::string find_disassembler();

// Throws Error{compile_failed}, naming where to get one, when no disassembler is there or it fails.
std::string disassemble(const std::string& cubin);

// How often each instruction stands in the text of a disassembler, by its name up to the first dot: QGMMA, UTMALDG,
// FFMA. All entry points of the text are counted, padding after their ends (NOP) is not.
std::map<std::string, std::size_t> instruction_mix(const std::string& sass);

}  // namespace octet::cli
