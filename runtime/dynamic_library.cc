#include "runtime/dynamic_library.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <glob.h>
#include <link.h>

#include <algorithm>
#include <filesystem>
#include <string_view>

namespace octet {
namespace {

std::string path_of(void* handle, const std::string& name) {
  link_map* map = nullptr;
  if (dlinfo(handle, RTLD_DI_LINKMAP, &map) == 0 && map != nullptr && map->l_name[0] != '\0') return map->l_name;
  return name;
}

// The loader's text without the name that it starts with, which the report has already.
std::string loader_error(const std::string& name) {
  const char* text = dlerror();
  std::string error = text == nullptr ? "cannot be opened" : text;
  const std::string prefix = name + ": ";
  return error.rfind(prefix, 0) == 0 ? error.substr(prefix.size()) : error;
}

// "libnvrtc.so.13" and the renamed "libnvrtc-1a2b3c4d.so.12" are libnvrtc; "libnvrtc-builtins.so.13.0" is not.
bool is_library(std::string_view path, std::string_view stem) {
  std::string_view rest = path.substr(path.rfind('/') + 1);
  if (rest.substr(0, stem.size()) != stem) return false;
  rest.remove_prefix(stem.size());
  if (!rest.empty() && rest.front() == '-') {
    const std::size_t end = rest.find_first_not_of("0123456789abcdef", 1);
    rest.remove_prefix(end == std::string_view::npos ? rest.size() : end);
  }
  return rest.substr(0, 3) == ".so";
}

// Paths of the process's libraries of this stem. They are only collected here: the loader's lock is held meanwhile.
std::vector<std::string> loaded_paths(const std::string& stem) {
  struct Collected {
    std::string_view stem;
    std::vector<std::string> paths;
  } collected{stem, {}};
  const auto collect = [](dl_phdr_info* info, std::size_t, void* data) {
    auto& into = *static_cast<Collected*>(data);
    if (info->dlpi_name != nullptr && is_library(info->dlpi_name, into.stem)) into.paths.emplace_back(info->dlpi_name);
    return 0;
  };
  dl_iterate_phdr(collect, &collected);
  return collected.paths;
}

std::vector<std::string> expand(const std::string& pattern) {
  glob_t found{};
  std::vector<std::string> paths;
  if (glob(pattern.c_str(), 0, nullptr, &found) == 0) paths.assign(found.gl_pathv, found.gl_pathv + found.gl_pathc);
  globfree(&found);
  return paths;
}

class Finder {
 public:
  Finder(const LibrarySearch& search, const LibraryFault& fault, std::vector<LibraryAttempt>& tried)
      : search_(search), fault_(fault), tried_(tried) {}

  std::optional<DynamicLibrary> find() {
    if (!search_.given.empty()) return open(search_.given, search_.given);
    if (auto library = loaded()) return library;
    for (const std::string& name : search_.names)
      if (auto library = open(name, name + " (loader path)")) return library;
    for (const std::string& folder : search_.folders)
      if (auto library = in_folders(folder)) return library;
    return std::nullopt;
  }

 private:
  std::optional<DynamicLibrary> open(const std::string& name, const std::string& place) {
    void* handle = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr) {
      tried_.push_back({place, loader_error(name)});
      return std::nullopt;
    }
    return take(handle, name, place);
  }

  std::optional<DynamicLibrary> take(void* handle, const std::string& name, const std::string& place) {
    const DynamicLibrary library{handle, path_of(handle, name)};
    const std::string fault = fault_(library);
    if (fault.empty()) return library;
    tried_.push_back({place, fault});
    dlclose(handle);
    return std::nullopt;
  }

  std::optional<DynamicLibrary> loaded() {
    std::vector<std::string> names = search_.names;  // found by soname, whatever path they were loaded from
    for (std::string& path : loaded_paths(search_.stem)) names.push_back(std::move(path));
    const std::size_t before = tried_.size();
    for (const std::string& name : names)
      if (void* handle = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD))
        if (auto library = take(handle, name, path_of(handle, name) + " (already loaded)")) return library;
    if (tried_.size() == before) tried_.push_back({search_.stem + " already loaded in the process", "none"});
    return std::nullopt;
  }

  std::optional<DynamicLibrary> in_folders(const std::string& pattern) {
    const std::vector<std::string> folders = expand(pattern);
    if (folders.empty()) tried_.push_back({pattern, "no such folder"});
    for (const std::string& folder : folders)
      if (auto library = in_folder(folder)) return library;
    return std::nullopt;
  }

  std::optional<DynamicLibrary> in_folder(const std::string& folder) {
    bool any = false;
    for (const std::string& name : search_.names) {
      const std::string path = folder + "/" + name;
      std::error_code unreadable;
      if (!std::filesystem::exists(path, unreadable)) continue;
      any = true;
      if (auto library = open(path, path)) return library;
    }
    if (!any) tried_.push_back({folder, fmt::format("holds no {}", fmt::join(search_.names, " or "))});
    return std::nullopt;
  }

  const LibrarySearch& search_;
  const LibraryFault& fault_;
  std::vector<LibraryAttempt>& tried_;
};

}  // namespace

void* DynamicLibrary::symbol(const char* name) const { return dlsym(handle, name); }

std::optional<DynamicLibrary> find_library(const LibrarySearch& search, const LibraryFault& fault,
                                           std::vector<LibraryAttempt>& tried) {
  return Finder(search, fault, tried).find();
}

std::string escape_glob(const std::string& path) {
  std::string escaped;
  for (const char c : path) {
    if (c == '*' || c == '?' || c == '[' || c == '\\') escaped += '\\';
    escaped += c;
  }
  return escaped;
}

std::string describe(const std::vector<LibraryAttempt>& tried) {
  std::string text;
  for (const LibraryAttempt& attempt : tried) text += fmt::format("  {}: {}\n", attempt.place, attempt.outcome);
  return text;
}

}  // namespace octet
