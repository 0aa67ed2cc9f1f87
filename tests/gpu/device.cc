#include "tests/gpu/device.h"

#include <algorithm>
#include <utility>

namespace octet::test {
namespace {

const Driver& driver() { return Driver::get(); }

CUcontext primary_context() {
  static const CUcontext context = [] {
    CUdevice device = 0;
    check(driver().cuDeviceGet(&device, 0), "cuDeviceGet");
    CUcontext retained = nullptr;
    check(driver().cuDevicePrimaryCtxRetain(&retained, device), "cuDevicePrimaryCtxRetain");
    return retained;
  }();
  return context;
}

}  // namespace

void use_device() { check(driver().cuCtxSetCurrent(primary_context()), "cuCtxSetCurrent"); }

Buffer::Buffer(std::size_t bytes) : bytes_(bytes) {
  check(driver().cuMemAlloc(&base_, bytes + 2 * kGuardBytes), "cuMemAlloc");
  poison();
}

Buffer::~Buffer() {
  if (base_ != 0) driver().cuMemFree(base_);
}

Buffer::Buffer(Buffer&& other) noexcept
    : base_(std::exchange(other.base_, 0)), bytes_(std::exchange(other.bytes_, 0)) {}

Buffer& Buffer::operator=(Buffer&& other) noexcept {
  std::swap(base_, other.base_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

void Buffer::poison() {
  check(driver().cuMemsetD8Async(base_, 0xFF, bytes_ + 2 * kGuardBytes, nullptr), "cuMemsetD8Async");
}

void Buffer::upload(const void* from, std::size_t bytes, std::size_t offset) {
  if (bytes != 0) check(driver().cuMemcpyHtoD(address(offset), from, bytes), "cuMemcpyHtoD");
}

void Buffer::download(void* to, std::size_t bytes, std::size_t offset) const {
  if (bytes != 0) check(driver().cuMemcpyDtoH(to, address(offset), bytes), "cuMemcpyDtoH");
}

bool Buffer::guards_intact() const {
  std::vector<std::uint8_t> guards(2 * kGuardBytes);
  check(driver().cuMemcpyDtoH(guards.data(), base_, kGuardBytes), "cuMemcpyDtoH");
  check(driver().cuMemcpyDtoH(guards.data() + kGuardBytes, address(bytes_), kGuardBytes), "cuMemcpyDtoH");
  return std::all_of(guards.begin(), guards.end(), [](std::uint8_t byte) { return byte == 0xFF; });
}

OwnedStream::OwnedStream() { check(driver().cuStreamCreate(&stream_, CU_STREAM_DEFAULT), "cuStreamCreate"); }
OwnedStream::~OwnedStream() { driver().cuStreamDestroy(stream_); }
void OwnedStream::synchronize() const { check(driver().cuStreamSynchronize(stream_), "cuStreamSynchronize"); }

Graph Graph::end_capture(CUstream stream) {
  Graph graph;
  check(driver().cuStreamEndCapture(stream, &graph.graph_), "cuStreamEndCapture");
  check(driver().cuGraphInstantiate(&graph.executable_, graph.graph_, 0), "cuGraphInstantiate");
  return graph;
}

Graph Graph::record(CUstream stream, const std::function<void()>& work) {
  check(driver().cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL), "cuStreamBeginCapture");
  work();
  return end_capture(stream);
}

Graph::~Graph() {
  if (executable_ != nullptr) driver().cuGraphExecDestroy(executable_);
  if (graph_ != nullptr) driver().cuGraphDestroy(graph_);
}

void Graph::replay(CUstream stream) const { check(driver().cuGraphLaunch(executable_, stream), "cuGraphLaunch"); }

}  // namespace octet::test
