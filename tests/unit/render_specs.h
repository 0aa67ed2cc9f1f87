// Specs of every kind whose sources are looked at, and what tests look for in them.
#pragma once

#include <string>
#include <vector>

#include "octet/spec.h"

namespace octet::test {

// Every legal candidate of problems of every kind.
const std::vector<Spec>& specs();
std::string source_of(const Spec& spec);

bool contains(const std::string& text, const std::string& part);
int count(const std::string& text, const std::string& part);

// By tiles of 128 x 128: converters, and quantizers that look at more than rows, if only in a pass of theirs.
bool has_tiles(const Spec& spec);

}  // namespace octet::test
