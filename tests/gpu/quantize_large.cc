// More than 2^31 elements: indices that do not fit in 32 bits.
#include <algorithm>

#include "tests/gpu/awkward.h"
#include "tests/gpu/quantize_case.h"
#include "tests/gpu/splits.h"
#include "tests/gpu/spot_check.h"
#include "tests/support/catch.h"

namespace octet::test {
namespace {

// A short random bank over and over. Its length is odd, so that rows differ.
Buffer repeated_values(std::int64_t elements, Random& random) {
  const Buffer bank(ordinary_values(DType::bf16, (std::int64_t{1} << 22) - 3, random));
  Buffer all(static_cast<std::size_t>(elements * 2));
  for (std::size_t done = 0; done < all.bytes(); done += bank.bytes()) {
    check(Driver::get().cuMemcpyDtoDAsync(all.address(done), bank.address(), std::min(bank.bytes(), all.bytes() - done),
                                          nullptr),
          "cuMemcpyDtoDAsync");
  }
  return all;
}

}  // namespace

TEST_CASE_METHOD(GpuTest, "B17: more than 2^31 elements, both ways") {
  INFO(random.note());
  constexpr std::int64_t kColumns = 7168;
  const Sizes sizes = {100001, 0, 299700 - 100001, 332};
  const std::int64_t rows = 300032;
  for (const char* rest : {"out=e4m3:1x128 dir=row,col", "out=e4m3:1x32"}) {
    CAPTURE(rest);
    const Problem problem = Problem::parse(std::string("quantize.packed g4 c7168 in=bf16 ") + rest);
    const Quantize kernel = runtime().prepare_quantize(problem);
    const QuantizeShape shape = quantize_shape(problem, rows);
    const Buffer in = repeated_values(rows * kColumns, random);
    const auto buffer = [](std::int64_t bytes) { return Buffer(static_cast<std::size_t>(bytes)); };
    const Buffer data = buffer(shape.row.data), sf = buffer(shape.row.sf), data_col = buffer(shape.col.data),
                 sf_col = buffer(shape.col.sf), splits(splits_bytes(sizes, false)),
                 workspace(kernel.workspace_bytes(rows));
    QuantizeArgs args;
    args.in = in.at();
    args.out = {data.at(), sf.at(), kernel.out_layout()};
    if (problem.dir == Direction::row_col) args.out_col = {data_col.at(), sf_col.at(), kernel.out_col_layout()};
    args.splits = splits.at();
    args.capacity = rows;
    args.workspace = workspace.bytes() == 0 ? nullptr : workspace.at();
    const OwnedStream stream;
    kernel.launch(args, stream);
    stream.synchronize();
    for (const Buffer* written : {&in, &data, &sf, &data_col, &sf_col}) REQUIRE(written->guards_intact());

    const Places places(problem, sizes, rows);
    // The first and last blocks, and those around element 2^31 and byte 2^31 and 2^32 of the input.
    for (const Window& window : {Window{0, 0, 128}, Window{0, 74880, 128}, Window{0, 99968, 33}, Window{2, 49920, 128},
                                 Window{2, 199552, 128}, Window{2, 199680, 19}, Window{3, 256, 76}}) {
      CAPTURE(window.group, window.first);
      Bytes window_in(static_cast<std::size_t>(window.rows * kColumns * 2));
      in.download(window_in.data(), window_in.size(),
                  static_cast<std::size_t>((places.row(window.group) + window.first) * kColumns * 2));
      const WindowResult wanted = quantize_window(problem, window, window_in.data());
      REQUIRE(row_fault(places, window, {data, sf, data_col, sf_col}, wanted) == "");
      REQUIRE(column_fault(places, window, {data, sf, data_col, sf_col}, wanted, 97) == "");
    }
  }
}

}  // namespace octet::test
