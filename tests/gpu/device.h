// Device memory, streams and graphs for the GPU tests and the benchmark: RAII over octet::Driver and nothing else.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "octet/runtime.h"
#include "runtime/driver.h"

namespace octet::test {

// Makes device 0's primary context current on the calling thread, and keeps it for the life of the process.
void use_device();

// Device memory between two guard zones. Guards and fresh contents are 0xFF bytes: NaN as fp8, bf16 and f32, so that
// reading too far shows in the result and writing too far shows in the guards.
class Buffer {
 public:
  Buffer() = default;
  explicit Buffer(std::size_t bytes);
  template <typename T>
  explicit Buffer(const std::vector<T>& values) : Buffer(values.size() * sizeof(T)) {
    upload(values.data(), values.size() * sizeof(T));
  }
  ~Buffer();
  Buffer(Buffer&& other) noexcept;
  Buffer& operator=(Buffer&& other) noexcept;

  // 256-byte aligned for offset 0.
  void* at(std::size_t offset = 0) const { return reinterpret_cast<void*>(address(offset)); }
  CUdeviceptr address(std::size_t offset = 0) const { return base_ + kGuardBytes + offset; }
  std::size_t bytes() const { return bytes_; }

  void poison();
  void upload(const void* from, std::size_t bytes, std::size_t offset = 0);
  void download(void* to, std::size_t bytes, std::size_t offset = 0) const;
  template <typename T>
  std::vector<T> values() const {
    std::vector<T> all(bytes_ / sizeof(T));
    download(all.data(), all.size() * sizeof(T));
    return all;
  }
  bool guards_intact() const;

 private:
  static constexpr std::size_t kGuardBytes = 4096;
  CUdeviceptr base_ = 0;
  std::size_t bytes_ = 0;
};

// A stream that is ordered with the copies of Buffer, which run on the default stream.
class OwnedStream {
 public:
  OwnedStream();
  ~OwnedStream();
  OwnedStream(const OwnedStream&) = delete;
  OwnedStream& operator=(const OwnedStream&) = delete;
  operator CUstream() const { return stream_; }
  void synchronize() const;

 private:
  CUstream stream_ = nullptr;
};

class Graph {
 public:
  // Ends the capture that is on `stream` and makes an executable graph of it.
  static Graph end_capture(CUstream stream);
  static Graph record(CUstream stream, const std::function<void()>& work);
  ~Graph();
  Graph(Graph&& other) noexcept : graph_(other.graph_), executable_(other.executable_) {
    other.graph_ = nullptr;
    other.executable_ = nullptr;
  }
  Graph& operator=(Graph&&) = delete;
  void replay(CUstream stream) const;

 private:
  Graph() = default;
  CUgraph graph_ = nullptr;
  CUgraphExec executable_ = nullptr;
};

}  // namespace octet::test
