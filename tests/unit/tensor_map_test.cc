// What the driver is told about a matrix, by a driver that writes down what it is told.
#include "runtime/tensor_map.h"

#include <dlfcn.h>

#include <array>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <set>
#include <string>

#include "runtime/driver.h"
#include "tests/support/catch.h"
#include "tests/support/scratch.h"

namespace {

using octet::MapElement;
using octet::MatrixView;

// The arguments of cuTensorMapEncodeTiled, in the 16 words of the map.
struct Told {
  std::uint64_t type, rank, address, sizes[3], strides[2], box[3], interleave, swizzle, promotion, fill, steps;
};
static_assert(sizeof(Told) == sizeof(octet::abi::TensorMap));

const char* const kEncode =
    "typedef unsigned long long u64;\n"
    "int cuTensorMapEncodeTiled(u64* map, int type, unsigned rank, u64 address, const u64* sizes, const u64* strides,\n"
    "                           const unsigned* box, const unsigned* steps, int interleave, int swizzle,\n"
    "                           int promotion, int fill) {\n"
    "  unsigned i;\n"
    "  for (i = 0; i < 16; ++i) map[i] = 0;\n"
    "  map[0] = type, map[1] = rank, map[2] = address;\n"
    "  for (i = 0; i < rank; ++i) map[3 + i] = sizes[i], map[8 + i] = box[i], map[15] += steps[i];\n"
    "  for (i = 0; i + 1 < rank; ++i) map[6 + i] = strides[i];\n"
    "  map[11] = interleave, map[12] = swizzle, map[13] = promotion, map[14] = fill;\n"
    "  return 0;\n"
    "}\n"
    "int cuTensorMapReplaceAddress(u64* map, u64 address) { return map[2] = address, 0; }\n";

std::string driver_source() {
#define OCTET_TEXT_OF(name) #name
#define OCTET_NAME(name) OCTET_TEXT_OF(name),
  std::string source = kEncode;
  for (const std::string name : {OCTET_DRIVER_FUNCTIONS(OCTET_NAME)}) {
    if (name.rfind("cuTensorMap", 0) != 0) source += "int " + name + "(void) { return 0; }\n";
  }
  return source;
#undef OCTET_NAME
#undef OCTET_TEXT_OF
}

Told told_of(const MatrixView& view) {
  const octet::abi::TensorMap map = octet::encode_tensor_map(view);
  Told told;
  std::memcpy(&told, &map, sizeof told);
  return told;
}

// An address that nothing is read from.
const void* const kAddress = reinterpret_cast<const void*>(std::uintptr_t{0x12340});

}  // namespace

TEST_CASE("tensor map: child with a driver that writes down what it is told", "[.child]") {
  REQUIRE(dlopen(std::getenv("OCTET_TEST_DRIVER"), RTLD_NOW | RTLD_GLOBAL) != nullptr);

  // FP8, rows 7168 apart, boxes of 128 bytes by 256 rows.
  const Told bytes = told_of({kAddress, MapElement::byte, 1000, 7152, 7168, 256, 128, true});
  CHECK(bytes.type == CU_TENSOR_MAP_DATA_TYPE_UINT8);
  CHECK(bytes.rank == 2);
  CHECK(bytes.address == 0x12340);
  CHECK(bytes.sizes[0] == 7152);
  CHECK(bytes.sizes[1] == 1000);
  CHECK(bytes.strides[0] == 7168);
  CHECK(bytes.box[0] == 128);
  CHECK(bytes.box[1] == 256);
  CHECK(bytes.steps == 2);  // 1 in each dimension
  CHECK(bytes.interleave == CU_TENSOR_MAP_INTERLEAVE_NONE);
  CHECK(bytes.swizzle == CU_TENSOR_MAP_SWIZZLE_128B);
  CHECK(bytes.fill == CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);

  // Scales are read as they lie.
  const Told scales = told_of({kAddress, MapElement::f32, 56, 1000, 1000, 1, 132, false});
  CHECK(scales.type == CU_TENSOR_MAP_DATA_TYPE_FLOAT32);
  CHECK(scales.strides[0] == 4000);
  CHECK(scales.swizzle == CU_TENSOR_MAP_SWIZZLE_NONE);

  // D of a wgrad: 8 matrices of 4096 x 7168, one after the other, as f32 in boxes of 64 bytes by 64 rows.
  const Told narrow = told_of({kAddress, MapElement::f32, 4096, 7168, 7200, 64, 16, true, 8});
  CHECK(narrow.rank == 3);
  CHECK(narrow.sizes[0] == 7168);
  CHECK(narrow.sizes[1] == 4096);
  CHECK(narrow.sizes[2] == 8);
  CHECK(narrow.strides[0] == 7200 * 4);
  CHECK(narrow.strides[1] == 4096ULL * 7200 * 4);
  CHECK(narrow.box[0] == 16);
  CHECK(narrow.box[1] == 64);
  CHECK(narrow.box[2] == 1);
  CHECK(narrow.steps == 3);
  CHECK(narrow.swizzle == CU_TENSOR_MAP_SWIZZLE_64B);

  // One matrix of those is still addressed by three numbers, and 32 columns of f32 or 64 of bf16 are 128 bytes.
  CHECK(told_of({kAddress, MapElement::f32, 4096, 7168, 7168, 64, 32, true, 1}).rank == 3);
  CHECK(told_of({kAddress, MapElement::f32, 4096, 7168, 7168, 64, 32, true, 1}).swizzle == CU_TENSOR_MAP_SWIZZLE_128B);
  CHECK(told_of({kAddress, MapElement::bf16, 64, 64, 64, 64, 64, true}).swizzle == CU_TENSOR_MAP_SWIZZLE_128B);
  CHECK(told_of({kAddress, MapElement::bf16, 64, 64, 64, 64, 64, true}).type == CU_TENSOR_MAP_DATA_TYPE_BFLOAT16);
  CHECK(told_of({kAddress, MapElement::fp16, 64, 64, 64, 64, 64, true}).type == CU_TENSOR_MAP_DATA_TYPE_FLOAT16);

  // The same matrix elsewhere.
  const octet::abi::TensorMap here = octet::encode_tensor_map({kAddress, MapElement::byte, 1000, 7152, 7168, 256, 128});
  const octet::abi::TensorMap there = octet::with_address(here, static_cast<const char*>(kAddress) + 4096);
  Told moved, wanted;
  std::memcpy(&moved, &there, sizeof moved);
  std::memcpy(&wanted, &here, sizeof wanted);
  CHECK(moved.address == 0x13340);
  wanted.address = moved.address;
  CHECK(std::memcmp(&moved, &wanted, sizeof moved) == 0);

  // Beyond 2^32 bytes: strides are 64 bits wide.
  CHECK(told_of({kAddress, MapElement::f32, 65536, 65536, 65536, 64, 16, true, 2}).strides[1] == 1ULL << 34);
}

TEST_CASE("tensor map: what the driver is told of a matrix, of several, and of their swizzle") {
  const octet::test::ScratchFolder folder;
  octet::test::build_library(folder / "driver.so", driver_source(), "libcuda.so.1");
  const octet::test::Finished child =
      octet::test::run_test_case("tensor map: child with a driver that writes down what it is told",
                                 "OCTET_TEST_DRIVER='" + folder / "driver.so" + "'");
  INFO(child.output);
  CHECK(child.exit_code == 0);
}
