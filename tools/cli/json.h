// The library's values as JSON. Keys keep the order in which they are written here.
#pragma once

#include <nlohmann/json.hpp>

#include "octet/explain.h"
#include "octet/runtime.h"

namespace octet::cli {

using Json = nlohmann::ordered_json;

Json to_json(const Resources& resources);
Json to_json(const Spec& spec);
Json to_json(const Explanation& explanation);

// One document and a newline on stdout. Bytes that are not UTF-8, in a path for example, are replaced.
void print_json(const Json& document);
// Text on stdout, with a newline at its end.
void print_text(const std::string& text);

}  // namespace octet::cli
