#include "cache/key.h"

#include "cache/digest.h"
#include "tests/support/catch.h"
#include "tests/unit/cache_test.h"

namespace octet::cache {
namespace {

TEST_CASE("digest_hex is XXH3-128 in canonical order") {
  CHECK(digest_hex("") == "99aa06d3014798d86001c324468d497f");  // both by libxxhash's compiled functions
  CHECK(digest_hex("sm_90a") == "8dd4fd2022db2612470a356c81dfc7a2");
  CHECK(is_digest_hex(digest_hex("x")));
  CHECK_FALSE(is_digest_hex("99AA06D3014798D86001C324468D497F"));
  CHECK_FALSE(is_digest_hex("99aa06d3014798d86001c324468d497"));
}

TEST_CASE("A key is the digest of its length-prefixed ingredients, the same in every release") {
  const Key key = Key()
                      .add("format", "1")
                      .add("arch", "sm_90a")
                      .add("options", "--std=c++17")
                      .add("source", "extern \"C\" __global__ void k() {}\n");
  // libxxhash's XXH3_128bits of "6:format1:14:arch6:sm_90a7:options11:--std=c++176:source34:extern ...".
  CHECK(key.hex() == "18438717f10810e3506d162b38a862e1");
}

TEST_CASE("No two lists of ingredients give one key by concatenation") {
  const std::vector<Key> keys = {
      Key(),
      Key().add("", ""),
      Key().add("", "").add("", ""),
      Key().add("ab", "c"),
      Key().add("a", "bc"),
      Key().add("abc", ""),
      Key().add("", "abc"),
      Key().add("a", "b").add("c", ""),
      Key().add("c", "").add("a", "b"),
      Key().add("a", "1:b"),
      Key().add("a", std::string("b\0", 2)),
      Key().add("a", "b"),
  };
  std::set<std::string> hexes;
  for (const Key& key : keys) hexes.insert(key.hex());
  CHECK(hexes.size() == keys.size());
}

TEST_CASE("D11, D13: the key follows the content: arch, options and every byte of the source") {
  const std::string header = "constexpr int kStages = 4;\n";
  const auto key = [&](const std::string& arch, const std::string& options, const std::string& source) {
    return Key().add("arch", arch).add("options", options).add("source", source).hex();
  };
  const std::string base = key("sm_90a", "-O3", header);
  CHECK(base == key("sm_90a", "-O3", header));
  for (const char* arch : {"sm_90", "sm_100a", "sm_103a", "sm_120a", "sm_121a"})
    CHECK(base != key(arch, "-O3", header));
  CHECK(base != key("sm_90a", "-O2", header));
  CHECK(base != key("sm_90a", "-O3", "constexpr int kStages = 5;\n"));
}

TEST_CASE("D22: the key does not depend on what ran before, nor on the process") {
  const std::string before = test::sample_key("y").hex();
  for (int i = 0; i < 100; ++i) test::sample_key("x" + std::to_string(i)).hex();
  CHECK(test::sample_key("y").hex() == before);
  CHECK(test::run_child([&] { return test::sample_key("y").hex() == before ? 0 : 1; }) == 0);
}

TEST_CASE("labels give the key and the digest of each ingredient, in order") {
  const auto labels = Key().add("arch", "sm_90a").add("source", "").labels();
  const std::vector<std::pair<std::string, std::string>> expected = {
      {"key", Key().add("arch", "sm_90a").add("source", "").hex()},
      {"key.arch", "8dd4fd2022db2612470a356c81dfc7a2"},
      {"key.source", "99aa06d3014798d86001c324468d497f"},
  };
  CHECK(labels == expected);
}

}  // namespace
}  // namespace octet::cache
