// Where the sources and the build lie. In a file of its own, so that no other object depends on where that is: a
// compiler cache then serves every checkout.
#pragma once

#include <string>

namespace octet::test {

std::string source_path(const std::string& relative);  // "templates" -> "/.../templates"
std::string build_path(const std::string& relative);

}  // namespace octet::test
