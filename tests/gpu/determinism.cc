// The same bits every time.
#include "tests/gpu/gemm_case.h"
#include "tests/gpu/quantize_case.h"
#include "tests/support/catch.h"

namespace octet::test {

TEST_CASE_METHOD(GpuTest, "determinism: 200 repetitions of a ragged GEMM are bit-identical") {
  INFO(random.note());
  const GemmData data = random_gemm(packed_gemm(8, 2112, 1152), {300, 0, 1, 127, 128, 129, 77, 260}, 100, random);
  const Gemm gemm = runtime().prepare(data.problem);
  GemmBuffers buffers(data);
  const Bf16 first = buffers.run(gemm);
  REQUIRE(fault(data, first, random) == "");
  for (int run = 1; run < 200; ++run) {
    CAPTURE(run);
    const bool same = buffers.run(gemm) == first;
    REQUIRE(same);
  }
}

TEST_CASE_METHOD(GpuTest, "determinism: launches that follow each other without a wait do not disturb each other") {
  INFO(random.note());
  const GemmData data = random_gemm(packed_gemm(8, 2112, 1152), {300, 0, 1, 127, 128, 129, 77, 260}, 100, random);
  const Gemm gemm = runtime().prepare(data.problem);
  GemmBuffers buffers(data);
  const Bf16 first = buffers.run(gemm);
  const OwnedStream stream;
  buffers.d.poison();
  for (int run = 0; run < 200; ++run) gemm.launch(buffers.args(gemm), stream);
  stream.synchronize();
  const bool same = buffers.read_d() == first;
  REQUIRE(same);
}

TEST_CASE_METHOD(GpuTest, "determinism: 200 repetitions of a quantizer are bit-identical") {
  INFO(random.note());
  const QuantizeData data = awkward_tokens(token_problem(8, 2880), {300, 0, 1, 127, 128, 129, 77, 260}, 100, random);
  const Quantize kernel = runtime().prepare(data.problem);
  QuantizeBuffers buffers(data);
  const Quantized wanted = expected(data);
  for (int run = 0; run < 200; ++run) {
    CAPTURE(run);
    REQUIRE(difference(wanted, buffers.run(kernel)) == "");
  }
}

}  // namespace octet::test
