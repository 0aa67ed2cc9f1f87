#include "tools/cli/disassemble.h"

#include <algorithm>
#include <sstream>
#include <string_view>

#include <fmt/format.h>

#include "octet/error.h"
#include "tools/cli/external_tool.h"

namespace octet::cli {
namespace {

// "UTMALDG" of "        /*12e0*/              @P0 UTMALDG.2D [UR8], [UR4] ;"; "" for what is no instruction.
std::string_view opcode(std::string_view line) {
  const auto skip_spaces = [&line] { line.remove_prefix(std::min(line.find_first_not_of(" \t"), line.size())); };
  skip_spaces();
  if (line.substr(0, 2) != "/*") return {};
  const std::size_t end = line.find("*/");
  if (end == std::string_view::npos || line.find(';') == std::string_view::npos) return {};
  line.remove_prefix(end + 2);
  skip_spaces();
  if (!line.empty() && line.front() == '@') {  // a predicate
    line.remove_prefix(std::min(line.find(' '), line.size()));
    skip_spaces();
  }
  const std::size_t length = line.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_");
  return line.substr(0, std::min(length, line.size()));
}

}  // namespace

std::string find_disassembler() {
  const std::string nvdisasm = find_tool("nvdisasm");
  return nvdisasm.empty() ? find_tool("cuobjdump") : nvdisasm;
}

std::string disassemble(const std::string& cubin) {
  const std::string tool = find_disassembler();
  if (tool.empty()) {
    throw Error(
        ErrorCode::compile_failed,
        "neither nvdisasm nor cuobjdump is in PATH, CUDA_HOME/bin, /usr/local/cuda/bin or a Python environment; "
        "run: pip install triton (its wheel brings both), or use --ptx");
  }
  const TemporaryFile file(cubin);
  const bool is_nvdisasm = tool.substr(tool.rfind('/') + 1) == "nvdisasm";
  const ToolResult result = is_nvdisasm ? run_tool({tool, file.path(), "-c"}) : run_tool({tool, "-sass", file.path()});
  if (result.exit_code != 0) throw Error(ErrorCode::compile_failed, fmt::format("{} failed on this cubin", tool));
  return result.output;
}

std::map<std::string, std::size_t> instruction_mix(const std::string& sass) {
  std::map<std::string, std::size_t> counts;
  std::istringstream lines(sass);
  for (std::string line; std::getline(lines, line);) {
    const std::string_view name = opcode(line);
    if (!name.empty() && name != "NOP") ++counts[std::string(name)];
  }
  return counts;
}

}  // namespace octet::cli
