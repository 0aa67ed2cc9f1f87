// A folder of the kernel cache, judged by the cache's own rules before a command relies on it.
#pragma once

#include <string>

#include "cache/file.h"

namespace octet::cli {

// Makes it where it is missing. Throws Error{cache} with one line: the folder, why it cannot be used, what to change.
void require_writable_cache(const std::string& directory);

// Whether it exists. Throws Error{cache} with one line when it does but must not be read.
bool cache_exists(const std::string& directory, cache::Owner owner);

}  // namespace octet::cli
