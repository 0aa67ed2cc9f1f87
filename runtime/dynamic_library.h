// Libraries that are opened at run time, with a record of where they were looked for.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace octet {

// An open library. It is never closed: CUDA's libraries leave threads and exit handlers behind.
struct DynamicLibrary {
  void* handle = nullptr;
  std::string path;                      // of the file, as the loader knows it
  void* symbol(const char* name) const;  // null when the library lacks it
};

// Where to look, in order: `given` alone when it is set, because a user's word is taken or refused, never passed over;
// else what the process has loaded already, each name through the loader's own search, each name in each folder.
struct LibrarySearch {
  std::string given;                 // a path, or a name for the loader's search
  std::string stem;                  // "libnvrtc": also finds a loaded libnvrtc-1a2b3c4d.so.12, as wheels rename it
  std::vector<std::string> names;    // file names, best first
  std::vector<std::string> folders;  // glob patterns; a literal path goes through escape_glob
};

// One place that was looked in, and why nothing was taken from it.
struct LibraryAttempt {
  std::string place;
  std::string outcome;
};

// Why a library that opened cannot be used ("is NVRTC 11.8; ..."); empty when it can.
using LibraryFault = std::function<std::string(const DynamicLibrary&)>;

// The first library in which `fault` finds none. Appends every failed attempt to `tried`. Thread-safe.
std::optional<DynamicLibrary> find_library(const LibrarySearch& search, const LibraryFault& fault,
                                           std::vector<LibraryAttempt>& tried);

std::string escape_glob(const std::string& path);

// One indented line for each attempt.
std::string describe(const std::vector<LibraryAttempt>& tried);

}  // namespace octet
