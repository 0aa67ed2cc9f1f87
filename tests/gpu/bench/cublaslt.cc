#include "tests/gpu/bench/cublaslt.h"

#include <dlfcn.h>
#include <glob.h>

#include <cstdlib>
#include <sstream>
#include <vector>

#if __has_include(<cublasLt.h>) && __has_include(<cuda_runtime_api.h>)
#include <cublasLt.h>
#define OCTET_HAVE_CUBLASLT_HEADER 1
#endif

namespace octet::bench::lt {
namespace {

#ifdef OCTET_HAVE_CUBLASLT_HEADER
static_assert(kF32 == static_cast<int>(CUDA_R_32F) && kBf16 == static_cast<int>(CUDA_R_16BF) &&
              kE4m3 == static_cast<int>(CUDA_R_8F_E4M3));
static_assert(kCompute32F == CUBLAS_COMPUTE_32F);
static_assert(kTransA == static_cast<int>(CUBLASLT_MATMUL_DESC_TRANSA) &&
              kTransB == static_cast<int>(CUBLASLT_MATMUL_DESC_TRANSB) &&
              kScalePointerA == static_cast<int>(CUBLASLT_MATMUL_DESC_A_SCALE_POINTER) &&
              kScalePointerB == static_cast<int>(CUBLASLT_MATMUL_DESC_B_SCALE_POINTER));
static_assert(kTransposed == CUBLAS_OP_T && kNotTransposed == CUBLAS_OP_N);
static_assert(kMaxWorkspaceBytes == CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES);
static_assert(sizeof(Algorithm) == sizeof(cublasLtMatmulAlgo_t));
static_assert(sizeof(HeuristicResult) == sizeof(cublasLtMatmulHeuristicResult_t));
static_assert(offsetof(HeuristicResult, status) == offsetof(cublasLtMatmulHeuristicResult_t, state));
#endif

std::vector<std::string> matches(const std::string& pattern) {
  glob_t found = {};
  std::vector<std::string> paths;
  if (glob(pattern.c_str(), 0, nullptr, &found) == 0) paths.assign(found.gl_pathv, found.gl_pathv + found.gl_pathc);
  globfree(&found);
  return paths;
}

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

// Where the loader, a toolkit, and pip (next to each interpreter on PATH) keep it.
std::vector<std::string> candidates() {
  std::vector<std::string> paths;
  if (const std::string given = variable("OCTET_CUBLASLT_LIBRARY"); !given.empty()) paths.push_back(given);
  for (const char* name : {"libcublasLt.so.13", "libcublasLt.so.12"}) paths.emplace_back(name);
  std::vector<std::string> patterns;
  for (const std::string& root : {variable("CUDA_HOME"), std::string("/usr/local/cuda")}) {
    if (!root.empty()) patterns.push_back(root + "/lib64/libcublasLt.so.1?");
  }
  std::stringstream folders(variable("PATH"));
  for (std::string folder; std::getline(folders, folder, ':');) {
    for (const char* packages : {"site-packages", "dist-packages"}) {
      for (const char* wheel : {"cu13", "cublas"}) {
        patterns.push_back(folder + "/../lib/python3*/" + packages + "/nvidia/" + wheel + "/lib/libcublasLt.so.1?");
      }
    }
  }
  for (const std::string& pattern : patterns) {
    for (const std::string& path : matches(pattern)) paths.push_back(path);
  }
  return paths;
}

template <typename Function>
bool resolve(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  return function != nullptr;
}

bool resolve_all(void* library, Api& api) {
  return resolve(library, "cublasLtCreate", api.create) && resolve(library, "cublasLtDestroy", api.destroy) &&
         resolve(library, "cublasLtMatmulDescCreate", api.desc_create) &&
         resolve(library, "cublasLtMatmulDescDestroy", api.desc_destroy) &&
         resolve(library, "cublasLtMatmulDescSetAttribute", api.desc_set) &&
         resolve(library, "cublasLtMatrixLayoutCreate", api.layout_create) &&
         resolve(library, "cublasLtMatrixLayoutDestroy", api.layout_destroy) &&
         resolve(library, "cublasLtMatmulPreferenceCreate", api.preference_create) &&
         resolve(library, "cublasLtMatmulPreferenceDestroy", api.preference_destroy) &&
         resolve(library, "cublasLtMatmulPreferenceSetAttribute", api.preference_set) &&
         resolve(library, "cublasLtMatmulAlgoGetHeuristic", api.heuristic) &&
         resolve(library, "cublasLtMatmul", api.matmul);
}

}  // namespace

std::unique_ptr<Api> Api::open(std::string* searched) {
  for (const std::string& path : candidates()) {
    *searched += (searched->empty() ? "" : ", ") + path;
    void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) continue;
    auto api = std::make_unique<Api>();
    api->path = path;
    if (resolve_all(library, *api)) return api;  // stays open for the life of the process
    dlclose(library);
  }
  return nullptr;
}

}  // namespace octet::bench::lt
