#include "cache/entry.h"

#include "cache/digest.h"
#include "tests/support/catch.h"

namespace octet::cache {
namespace {

using namespace std::string_literals;

Entry small_entry() { return {{{"spec", "a\\b\nc d"}, {"too l", ""}}, "ab\ncd", "\0\xff\n"s}; }

std::string why_damaged(const std::string& bytes) {
  std::string why;
  return decode(bytes, &why) ? "" : why;
}

// An entry with a right checksum over whatever the body says.
std::string sealed(const std::string& body) { return body + "xxh3-128 " + digest_hex(body) + "\n"; }

TEST_CASE("An entry's bytes are those of the grammar") {
  const std::string expected =
      "octet-cache-entry 1\n"
      "spec a\\\\b\\nc d\n"
      "too\\sl \n"
      "\n"
      "source 5\nab\ncd\n"
      "cubin 3\n\0\xff\n\n"
      "xxh3-128 2052fda2ebf8781b6c7135dc361d663c\n"s;  // by libxxhash's compiled function
  CHECK(encode(small_entry()) == expected);
  CHECK(encode(small_entry()) == encode(small_entry()));
}

TEST_CASE("An entry comes back as it was") {
  std::string every_byte;
  for (int c = 0; c < 256; ++c) every_byte += static_cast<char>(c);
  const Entry empty;
  const Entry odd{{{every_byte, every_byte}, {"", ""}, {"twice", "1"}, {"twice", "2"}}, every_byte, every_byte};
  const Entry nested{{{"source 3", "cubin 4"}}, encode(odd), encode(odd)};
  for (const Entry& entry : {empty, odd, nested, small_entry()}) {
    std::string why = "untouched";
    const auto back = decode(encode(entry), &why);
    REQUIRE(back);
    CHECK(*back == entry);
    CHECK(why.empty());
  }
  CHECK(odd.get("twice") == "1");
  CHECK(odd.get("none").empty());
}

TEST_CASE("D02: an entry with any one bit flipped is damage") {
  const std::string whole = encode(small_entry());
  for (std::size_t byte = 0; byte < whole.size(); ++byte) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string bytes = whole;
      bytes[byte] = static_cast<char>(bytes[byte] ^ (1 << bit));
      INFO("byte " << byte << ", bit " << bit);
      REQUIRE_FALSE(why_damaged(bytes).empty());
    }
  }
}

TEST_CASE("D02: an entry that is cut anywhere, or goes on, is damage") {
  const std::string whole = encode(small_entry());
  for (std::size_t size = 0; size < whole.size(); ++size) {
    INFO("cut to " << size);
    REQUIRE_FALSE(why_damaged(whole.substr(0, size)).empty());
  }
  CHECK_FALSE(why_damaged(whole + "\n").empty());
  CHECK_FALSE(why_damaged(whole + whole).empty());
  CHECK(why_damaged(whole).empty());
}

TEST_CASE("Damage is named") {
  const std::string whole = encode(small_entry());
  CHECK(why_damaged("") == "the file is empty");
  CHECK(why_damaged("\x7f"
                    "ELF\2\1\1") == "not an Octet cache entry");
  CHECK(why_damaged(whole.substr(0, whole.size() / 2)) == "truncated");
  std::string flipped = whole;
  flipped[whole.find("ab\ncd")] = 'A';
  CHECK(why_damaged(flipped) == "the checksum does not match");
}

TEST_CASE("A later format version is damage to this one, whatever its checksum is") {
  const std::string why = why_damaged(sealed("octet-cache-entry 2\n\nsource 0\n\ncubin 0\n\n"));
  CHECK(why.find("version") != std::string::npos);
  CHECK(why_damaged("octet-cache-entry 2\nanything") == why);
}

TEST_CASE("Sizes are checked before use, also under a right checksum") {
  const std::string head = "octet-cache-entry 1\n\n";
  REQUIRE(why_damaged(sealed(head + "source 1\nx\ncubin 1\ny\n")).empty());  // the frame itself is right
  const std::vector<std::string> bodies = {
      "source 2\nx\ncubin 1\ny\n",                     // one too many, so that the next word is missed
      "source 0\nx\ncubin 1\ny\n",                     // one too few
      "source 01\nx\ncubin 1\ny\n",                    // two spellings of one number
      "source -1\nx\ncubin 1\ny\n",                    //
      "source +1\nx\ncubin 1\ny\n",                    //
      "source  1\nx\ncubin 1\ny\n",                    //
      "source \nx\ncubin 1\ny\n",                      //
      "source\nx\ncubin 1\ny\n",                       //
      "source 1\nx\ncubin 99999999\ny\n",              // past the end
      "source 18446744073709551615\nx\ncubin 1\ny\n",  // 2^64 - 1: plus one is 0
      "source 18446744073709551617\nx\ncubin 1\ny\n",  // 2^64 + 1 wraps to 1
      "source 1\nx\ncubin 1\ny",                       // no line feed at the end
      "source 1\nx\ncubin 1\ny\nmore",                 //
      "cubin 1\nx\nsource 1\ny\n",                     //
      "source 1\nx\n",                                 //
      "",                                              //
  };
  for (const std::string& body : bodies) {
    INFO(body);
    CHECK_FALSE(why_damaged(sealed(head + body)).empty());
  }
  const std::string tail = "\nsource 0\n\ncubin 0\n\n";
  REQUIRE(why_damaged(sealed("octet-cache-entry 1\na b\n" + tail)).empty());
  for (const std::string& line : {"nospace\n"s, "a b\\\n"s, "a\\q b\n"s}) {
    INFO(line);
    CHECK_FALSE(why_damaged(sealed("octet-cache-entry 1\n" + line + tail)).empty());
  }
}

}  // namespace
}  // namespace octet::cache
