// Preloaded, makes this machine one without a CUDA driver: no library named libcuda.so can be opened.
#include <dlfcn.h>

#include <cstring>

extern "C" __attribute__((visibility("default"))) void* dlopen(const char* name, int mode) {
  using Open = void* (*)(const char*, int);
  static const Open open = reinterpret_cast<Open>(::dlsym(RTLD_NEXT, "dlopen"));
  const bool hidden = name != nullptr && std::strstr(name, "libcuda.so") != nullptr;
  return open(hidden ? "libcuda.so.hidden-by-the-test" : name, mode);
}
