#include "tests/support/paths.h"

namespace octet::test {

std::string source_path(const std::string& relative) { return OCTET_SOURCE_DIR "/" + relative; }
std::string build_path(const std::string& relative) { return OCTET_BINARY_DIR "/" + relative; }

}  // namespace octet::test
