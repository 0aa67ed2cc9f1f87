// OCTET_DUMP_DIR: keeps what was generated, so that profilers and debuggers find it. Failures warn once and go on.
#pragma once

#include <string>

namespace octet {

// Does nothing when `directory` is empty. Writes <directory>/<entry>.cu before compilation, .ptx and .cubin after it.
void dump_source(const std::string& directory, const std::string& entry_name, const std::string& source);
void dump_binaries(const std::string& directory, const std::string& entry_name, const std::string& ptx,
                   const std::string& cubin);

}  // namespace octet
