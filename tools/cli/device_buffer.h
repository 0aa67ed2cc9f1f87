// Device memory, streams and events for tools and tests, each owned by a value. The library itself never allocates.
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "runtime/driver.h"

namespace octet::cli {

// The device's primary context, held and current on this thread for the life of the object.
class DeviceContext {
 public:
  explicit DeviceContext(int ordinal) : primary_(ordinal), current_(primary_.context) {}

  std::string name() const {
    char text[256] = {};
    check(Driver::get().cuDeviceGetName(text, sizeof text, primary_.device), "cuDeviceGetName");
    return text;
  }

 private:
  struct Primary {
    explicit Primary(int ordinal) {
      check(Driver::get().cuDeviceGet(&device, ordinal), "cuDeviceGet");
      check(Driver::get().cuDevicePrimaryCtxRetain(&context, device), "cuDevicePrimaryCtxRetain");
    }
    ~Primary() { Driver::get().cuDevicePrimaryCtxRelease(device); }
    Primary(const Primary&) = delete;
    Primary& operator=(const Primary&) = delete;

    CUdevice device = 0;
    CUcontext context = nullptr;
  };

  Primary primary_;  // released after the context is no longer current
  ScopedContext current_;
};

// Bytes in device memory. A moved-from or empty buffer holds a null pointer.
class DeviceBuffer {
 public:
  DeviceBuffer() = default;
  explicit DeviceBuffer(std::size_t bytes) : bytes_(bytes) {
    if (bytes != 0) check(Driver::get().cuMemAlloc(&pointer_, bytes), "cuMemAlloc");
  }
  template <typename T>
  explicit DeviceBuffer(const std::vector<T>& values) : DeviceBuffer(values.size() * sizeof(T)) {
    upload(values);
  }
  DeviceBuffer(DeviceBuffer&& other) noexcept
      : pointer_(std::exchange(other.pointer_, 0)), bytes_(std::exchange(other.bytes_, 0)) {}
  DeviceBuffer& operator=(DeviceBuffer&& other) noexcept {
    std::swap(pointer_, other.pointer_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~DeviceBuffer() {
    if (pointer_ != 0) Driver::get().cuMemFree(pointer_);
  }

  void* data() const { return reinterpret_cast<void*>(pointer_); }
  CUdeviceptr pointer() const { return pointer_; }
  std::size_t size_bytes() const { return bytes_; }

  template <typename T>
  void upload(const std::vector<T>& values) {
    const std::size_t bytes = values.size() * sizeof(T);
    if (bytes > bytes_) throw Error(ErrorCode::invalid_argument, "upload: more bytes than the buffer holds");
    if (bytes == 0) return;
    check(Driver::get().cuMemcpyHtoD(pointer_, values.data(), bytes), "cuMemcpyHtoD");
    // The copy may return while its last part is still on the way, and a non-blocking stream would not wait for it.
    check(Driver::get().cuCtxSynchronize(), "cuCtxSynchronize");
  }
  template <typename T>
  std::vector<T> download() const {
    std::vector<T> values(bytes_ / sizeof(T));
    const std::size_t bytes = values.size() * sizeof(T);
    if (bytes != 0) check(Driver::get().cuMemcpyDtoH(values.data(), pointer_, bytes), "cuMemcpyDtoH");
    return values;
  }
  void fill(unsigned char byte, CUstream stream) {
    if (bytes_ != 0) check(Driver::get().cuMemsetD8Async(pointer_, byte, bytes_, stream), "cuMemsetD8Async");
  }

 private:
  CUdeviceptr pointer_ = 0;
  std::size_t bytes_ = 0;
};

class DeviceStream {
 public:
  DeviceStream() { check(Driver::get().cuStreamCreate(&stream_, CU_STREAM_NON_BLOCKING), "cuStreamCreate"); }
  ~DeviceStream() { Driver::get().cuStreamDestroy(stream_); }
  DeviceStream(const DeviceStream&) = delete;
  DeviceStream& operator=(const DeviceStream&) = delete;

  CUstream get() const { return stream_; }
  void synchronize() const { check(Driver::get().cuStreamSynchronize(stream_), "cuStreamSynchronize"); }

 private:
  CUstream stream_ = nullptr;
};

class DeviceEvent {
 public:
  DeviceEvent() { check(Driver::get().cuEventCreate(&event_, CU_EVENT_DEFAULT), "cuEventCreate"); }
  ~DeviceEvent() { Driver::get().cuEventDestroy(event_); }
  DeviceEvent(const DeviceEvent&) = delete;
  DeviceEvent& operator=(const DeviceEvent&) = delete;

  void record(CUstream stream) { check(Driver::get().cuEventRecord(event_, stream), "cuEventRecord"); }
  // Both events must have been reached: synchronize the stream first.
  double microseconds_since(const DeviceEvent& start) const {
    float milliseconds = 0;
    check(Driver::get().cuEventElapsedTime(&milliseconds, start.event_, event_), "cuEventElapsedTime");
    return 1000.0 * static_cast<double>(milliseconds);
  }

 private:
  CUevent event_ = nullptr;
};

}  // namespace octet::cli
