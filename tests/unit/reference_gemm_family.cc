// What holds for every GEMM of the family: nearness to the product before quantization, and what must not matter.
#include <algorithm>
#include <bit>
#include <cmath>

#include "tests/support/catch.h"
#include "tests/unit/reference_gemm_case.h"

using namespace octet;
using namespace octet::test;

namespace {

const std::vector<std::string> kForward = {"gemm.packed g3 n72 k160 a=e4m3:1x128 b=e4m3:128x128 d=f32",
                                           "gemm.packed g3 n72 k160 a=e5m2:row b=e4m3:row d=f32",
                                           "gemm.packed g3 n72 k160 a=e4m3:1x32@swizzled b=e4m3:1x32@swizzled d=f32",
                                           "gemm.packed g3 n72 k160 a=e5m2:1x128 b=e5m2:128x128 d=f32 dir=col"};
const std::vector<std::string> kWgrad = {"wgrad.packed g3 n72 k160 a=e4m3:1x128 b=e4m3:1x128 d=f32",
                                         "wgrad.packed g3 n72 k160 a=e5m2:1x128 b=e4m3:128x128 d=f32",
                                         "wgrad.packed g3 n72 k160 a=e4m3:1x32 b=e4m3:1x32 d=f32",
                                         "wgrad.packed g3 n72 k160 a=e4m3:row b=e4m3:row d=f32"};
const std::vector<std::int64_t> kSizes = {41, 0, 131};

std::vector<std::string> all_problems() {
  std::vector<std::string> all = kForward;
  all.insert(all.end(), kWgrad.begin(), kWgrad.end());
  return all;
}

bool same_bits(double x, double y) { return std::bit_cast<std::uint64_t>(x) == std::bit_cast<std::uint64_t>(y); }
bool same_bits(const std::vector<double>& x, const std::vector<double>& y) {
  return std::equal(x.begin(), x.end(), y.begin(), y.end(), [](double p, double q) { return same_bits(p, q); });
}

// A group's part of D.
std::vector<double> part(const GemmCase& gemm, const std::vector<double>& d, std::size_t group) {
  const auto first = d.begin() + gemm.first_row(group) * gemm.d_columns();
  return {first, first + gemm.rows(group) * gemm.d_columns()};
}

// What a quantizer wrote, as DeepGEMM packs it.
void pack_blocks(Problem producer, const reference::GroupExtents& groups, std::int64_t capacity, Bytes& data,
                 Bytes& sf) {
  producer.op = Operation::convert;
  producer.a = producer.out;
  producer.in.reset();
  producer.to = Packing::deepgemm;
  const QuantizedBytes bytes = quantize_shape(producer, capacity).col;
  Bytes packed(static_cast<std::size_t>(bytes.data), 0xFF), packed_sf(static_cast<std::size_t>(bytes.sf), 0xFF);
  reference::convert(producer, data.data(), sf.data(), groups, capacity, packed.data(), packed_sf.data());
  data = packed;
  sf = packed_sf;
}

float source(const QuantizeCase& operand, std::int64_t row, std::int64_t column) {
  return element(operand.in, DType::bf16, row * operand.shape.in_columns + column);
}

// Before quantization: the sum over s of A(i, s) * B(j, s).
double unquantized(const GemmCase& gemm, std::size_t group, std::int64_t i, std::int64_t j) {
  const std::int64_t begin = gemm.groups.begin[group], n = gemm.problem.n, k = gemm.problem.k;
  const auto g = static_cast<std::int64_t>(group);
  double sum = 0;
  if (gemm.is_wgrad()) {
    for (std::int64_t row = begin; row < gemm.groups.end[group]; ++row)
      sum += static_cast<double>(source(gemm.a_source, row, i)) * source(gemm.b_source, row, j);
    return sum;
  }
  for (std::int64_t s = 0; s < k; ++s) {
    const bool transposed = gemm.problem.dir == Direction::col;
    const float weight = transposed ? source(gemm.b_source, g * k + s, j) : source(gemm.b_source, g * n + j, s);
    sum += static_cast<double>(source(gemm.a_source, begin + i, s)) * weight;
  }
  return sum;
}

// 1 - 2*sum(xy) / sum(x^2 + y^2) of a group against the product before quantization.
double metric(const GemmCase& gemm, const std::vector<double>& d, std::size_t group) {
  const std::vector<double> got = part(gemm, d, group);
  double cross = 0, squares = 0;
  for (std::size_t e = 0; e < got.size(); ++e) {
    const auto place = static_cast<std::int64_t>(e);
    const double want = unquantized(gemm, group, place / gemm.d_columns(), place % gemm.d_columns());
    cross += got[e] * want;
    squares += got[e] * got[e] + want * want;
  }
  return squares == 0 ? 0 : 1 - 2 * cross / squares;
}

double metric_limit(const Problem& problem) {
  const int e5m2 = (problem.a->type == DType::e5m2) + (problem.b->type == DType::e5m2);
  return e5m2 == 0 ? 1e-3 : e5m2 == 1 ? 2.5e-3 : 4e-3;
}

}  // namespace

TEST_CASE("reference: quantized and multiplied is near the product before quantization, group by group") {
  for (const std::string& text : all_problems()) {
    const GemmCase gemm(text, kSizes, 180);
    const auto d = gemm.run();
    for (std::size_t g = 0; g < kSizes.size(); ++g) {
      CAPTURE(text, g);
      CHECK(metric(gemm, d, g) <= metric_limit(gemm.problem));
    }
  }
}

TEST_CASE("reference: wgrad of an empty group is 0, or what D was with +acc") {
  for (const std::string& text : kWgrad) {
    CAPTURE(text);
    const GemmCase fresh(text, kSizes, 180);
    for (double value : part(fresh, fresh.run(), 1)) REQUIRE(same_bits(value, 0.0));

    GemmCase added(text + " +acc", kSizes, 180);
    std::fill_n(reinterpret_cast<float*>(added.old_d.data()) + added.first_row(1) * 160, 160, -0.0f);
    const auto d = added.run(), old = added.old_values();
    CHECK(same_bits(part(added, d, 1), part(added, old, 1)));  // to the sign of a zero
    CHECK(part(added, d, 2) != part(added, old, 2));
  }
}

TEST_CASE("reference: wgrad of no rows at all reads nothing and writes all of D") {
  GemmCase gemm(kWgrad[0], {0, 0, 0}, 16);
  std::vector<double> d(gemm.old_values().size(), 7.0);
  reference::gemm(gemm.problem, {}, gemm.groups, 0, d.data());
  CHECK(std::all_of(d.begin(), d.end(), [](double x) { return x == 0; }));
  CHECK_THROWS_WITH(reference::gemm(gemm.problem, {}, gemm.groups, 0, nullptr), Catch::Contains("d is null"));
  const std::vector<float> zeros(d.size());
  for (const auto& error : reference::compare_gemm(gemm.problem, {}, gemm.groups, 0, zeros.data())) {
    CHECK(error.rows == 0);
    CHECK(error.samples == 4096);
    CHECK(error.frobenius == 0);
  }
}

TEST_CASE("reference: rows of D outside every group are left as they were in every layout") {
  for (const char* text : {"gemm.packed g3 n24 k160 a=e4m3:1x128 b=e4m3:128x128 d=f32",
                           "gemm.masked g3 m140 n24 k160 a=e4m3:1x32 b=e4m3:1x32 d=f32 +acc",
                           "gemm.padded g3 n24 k160 al16 a=e4m3:row b=e4m3:row d=f32"}) {
    const GemmCase gemm(text, kSizes, 420);
    const auto d = gemm.run(3), old = gemm.old_values();
    for (std::int64_t i = 0; i < 420 * 24; ++i) {
      CAPTURE(text, i);
      const auto e = static_cast<std::size_t>(i);
      REQUIRE(same_bits(d[e], old[e]) == !gemm.a_source.exists(i / 24));
    }
  }
}

TEST_CASE("reference: a group is the same alone, among others and under any capacity") {
  for (const std::string& text : all_problems()) {
    CAPTURE(text);
    const GemmCase among(text, kSizes, 180);
    const auto d = among.run();
    CHECK(std::none_of(d.begin(), d.end(), [](double x) { return std::isnan(x); }));  // the tail holds NaN

    GemmCase roomy(text, kSizes, 1000);
    const auto roomy_d = roomy.run();
    for (std::size_t g = 0; g < kSizes.size(); ++g) CHECK(same_bits(part(roomy, roomy_d, g), part(among, d, g)));

    GemmCase changed(text, kSizes, 180);  // other tokens in the neighbour
    for (std::int64_t column = 0; column < changed.a_source.shape.in_columns; ++column)
      changed.a_source.set(3, column, 1e4f);
    changed.quantize();
    const auto changed_d = changed.run();
    CHECK(same_bits(part(changed, changed_d, 2), part(among, d, 2)));
    CHECK_FALSE(same_bits(part(changed, changed_d, 0), part(among, d, 0)));
  }
}

TEST_CASE("reference: dense equals packed without a tail, and needs the whole buffer") {
  const std::string rest = " g1 n72 k160 a=e4m3:1x128 b=e4m3:1x128 d=f32";
  for (const char* op : {"gemm", "wgrad"}) {
    const GemmCase dense(std::string(op) + ".dense" + rest, {150}, 150);
    const GemmCase packed(std::string(op) + ".packed" + rest, {150}, 150);
    CHECK((dense.a == packed.a));
    CHECK((dense.a_sf == packed.a_sf));
    CHECK(same_bits(dense.run(), packed.run()));
    CHECK_THROWS_WITH(GemmCase(std::string(op) + ".dense" + rest, {149}, 150), Catch::Contains("dense is one group"));
  }
}

TEST_CASE("reference: threads change no bit of any kind of GEMM") {
  for (const std::string& text : all_problems()) {
    const GemmCase gemm(text + " +acc", kSizes, 180);
    CAPTURE(text);
    CHECK(same_bits(gemm.run(1), gemm.run(7)));
  }
}

TEST_CASE("reference: an E8M0 byte of 255 is NaN for its block alone") {
  GemmCase gemm("wgrad.packed g1 n72 k160 a=e4m3:1x32 b=e4m3:1x32 d=f32", {64}, 64);
  const auto clean = gemm.run();
  gemm.a_sf[128 + 5] = 255;  // rows 32 to 63 of column 5
  const auto d = gemm.run();
  for (std::int64_t i = 0; i < 72; ++i) {
    for (std::int64_t j = 0; j < 160; ++j) {
      const auto e = static_cast<std::size_t>(i * 160 + j);
      REQUIRE((i == 5 ? std::isnan(d[e]) : same_bits(d[e], clean[e])));
    }
  }
}

TEST_CASE("reference: the epilogue is alpha * sum + bias + beta * D") {
  GemmCase gemm("gemm.packed g2 n24 k160 a=e4m3:1x128 b=e4m3:128x128 d=bf16 +bias +acc", {3, 2}, 5);
  gemm.alpha = -0.75f;
  gemm.beta = 0.5f;
  const auto d = gemm.run(), old = gemm.old_values();
  GemmCase plain("gemm.packed g2 n24 k160 a=e4m3:1x128 b=e4m3:128x128 d=bf16", {3, 2}, 5);
  const auto product = plain.run();
  for (std::int64_t i = 0; i < 5 * 24; ++i) {
    const auto e = static_cast<std::size_t>(i);
    const double bias = element(gemm.bias, DType::bf16, (i / 24 < 3 ? 0 : 24) + i % 24);
    CHECK(d[e] == Approx(-0.75 * product[e] + bias + 0.5 * old[e]));
    CHECK(gemm.element(i / 24 < 3 ? 0 : 1, i / 24 < 3 ? i / 24 : i / 24 - 3, i % 24) ==
          Approx(-0.75 * product[e] + bias));
  }
}

TEST_CASE("reference: with beta 0 NaN in D does not count, as without +acc") {
  for (const std::string& text : all_problems()) {
    CAPTURE(text);
    GemmCase sums(text + " +acc", kSizes, 180);
    sums.beta = 0;
    std::fill(sums.old_d.begin(), sums.old_d.end(), std::uint8_t{0xFF});
    const GemmCase plain(text, kSizes, 180);
    const auto with = sums.run(), without = plain.run();
    for (std::size_t g = 0; g < kSizes.size(); ++g) CHECK(same_bits(part(sums, with, g), part(plain, without, g)));
  }
}

TEST_CASE("reference: a wgrad of DeepGEMM's blocks is that of the operands before they were packed") {
  for (const std::vector<std::int64_t>& sizes : {std::vector<std::int64_t>{256, 0, 128}, {41, 0, 131}}) {
    const GemmCase own("wgrad.packed g3 n70 k160 a=e4m3:1x128 b=e5m2:1x128 d=f32 +acc", sizes, 512);
    GemmCase blocks = own;
    blocks.problem.from = Packing::deepgemm;
    pack_blocks(a_producer(own.problem), own.groups, 512, blocks.a, blocks.a_sf);
    pack_blocks(b_producer(own.problem), own.groups, 512, blocks.b, blocks.b_sf);
    CHECK(blocks.a != own.a);
    CHECK(blocks.a_sf != own.a_sf);
    CHECK(same_bits(blocks.run(), own.run()));
    CHECK(same_bits(blocks.element(2, 3, 5), own.element(2, 3, 5)));
  }
  GemmCase te(kWgrad[2], kSizes, 180);
  te.problem.from = Packing::te;
  CHECK_THROWS_WITH(te.run(), Catch::Contains("from=te") && Catch::Contains("convert the operands"));
}

TEST_CASE("reference: a comparison of every kind passes the reference's own result and finds one wrong group") {
  for (const std::string& text : all_problems()) {
    CAPTURE(text);
    const GemmCase gemm(text + " +acc", kSizes, 180);
    const auto exact = gemm.run();
    std::vector<float> d(exact.begin(), exact.end());
    const auto compare = [&] {
      return reference::compare_gemm(gemm.problem, gemm.inputs(), gemm.groups, 180, d.data(), gemm.old_d.data(), 300, 5,
                                     2);
    };
    for (const auto& error : compare()) CHECK(reference::within_bounds(error, DType::f32));
    for (std::int64_t i = 0; i < gemm.rows(2) * gemm.d_columns(); ++i)
      d[static_cast<std::size_t>(gemm.first_row(2) * gemm.d_columns() + i)] *= 1.01f;
    const auto errors = compare();
    CHECK(reference::within_bounds(errors[0], DType::f32));
    CHECK(reference::within_bounds(errors[1], DType::f32));
    CHECK_FALSE(reference::within_bounds(errors[2], DType::f32));
  }
}

TEST_CASE("reference: elements of D outside a group are refused") {
  const GemmCase forward(kForward[0], kSizes, 180), wgrad(kWgrad[0], kSizes, 180);
  const auto at = [](const GemmCase& gemm, std::int64_t group, std::int64_t i, std::int64_t j) {
    return reference::gemm_element(gemm.problem, gemm.inputs(), gemm.groups, 180, group, i, j);
  };
  CHECK_NOTHROW(at(forward, 2, 41, 0));
  CHECK_THROWS_WITH(at(forward, 2, 40, 0), Catch::Contains("i=40: must be in [41, 172)"));
  CHECK_THROWS_WITH(at(forward, 0, 0, 72), Catch::Contains("j=72"));
  CHECK_NOTHROW(at(wgrad, 1, 71, 159));
  CHECK_THROWS_WITH(at(wgrad, 1, 72, 0), Catch::Contains("i=72"));
  CHECK_THROWS_WITH(at(wgrad, 0, 0, 160), Catch::Contains("j=160"));
  CHECK_THROWS_WITH(reference::gemm_element(forward.problem, forward.inputs(), forward.groups, 171, 0, 0, 0),
                    Catch::Contains("capacity of 171"));
}
