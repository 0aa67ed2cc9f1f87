#include "cache/entry.h"

#include <charconv>
#include <cstdint>
#include <string_view>

#include "cache/digest.h"

namespace octet::cache {
namespace {

constexpr std::string_view kMagic = "octet-cache-entry ";
constexpr std::string_view kVersion = "1";
constexpr std::string_view kChecksum = "xxh3-128 ";
constexpr std::size_t kHeadBytes = kMagic.size() + kVersion.size() + 1;
constexpr std::size_t kTrailerBytes = kChecksum.size() + kDigestDigits + 1;

void append_escaped(std::string& out, std::string_view text, bool is_label) {
  for (char c : text) {
    if (c == '\\') {
      out += "\\\\";
    } else if (c == '\n') {
      out += "\\n";
    } else if (c == ' ' && is_label) {
      out += "\\s";
    } else {
      out += c;
    }
  }
}

std::optional<std::string> unescaped(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\\') {
      out += text[i];
      continue;
    }
    if (++i == text.size()) return std::nullopt;
    switch (text[i]) {
      case '\\':
        out += '\\';
        break;
      case 'n':
        out += '\n';
        break;
      case 's':
        out += ' ';
        break;
      default:
        return std::nullopt;
    }
  }
  return out;
}

void append_section(std::string& out, std::string_view name, std::string_view bytes) {
  out += name;
  out += ' ';
  out += std::to_string(bytes.size());
  out += '\n';
  out += bytes;
  out += '\n';
}

// Takes pieces off the front of the bytes; what does not fit is refused before anything is read or reserved.
class Reader {
 public:
  explicit Reader(std::string_view rest) : rest_(rest) {}

  bool empty() const { return rest_.empty(); }

  // Up to the line feed, which is taken and not returned.
  std::optional<std::string_view> line() {
    const std::size_t end = rest_.find('\n');
    if (end == std::string_view::npos) return std::nullopt;
    const std::string_view text = rest_.substr(0, end);
    rest_.remove_prefix(end + 1);
    return text;
  }

  // "<name> <size>" LF, that many bytes, LF.
  std::optional<std::string_view> section(std::string_view name) {
    const auto header = line();
    if (!header || header->size() <= name.size() || header->substr(0, name.size()) != name) return std::nullopt;
    const auto size = parse_size(header->substr(name.size()));
    if (!size || *size >= rest_.size() || rest_[*size] != '\n') return std::nullopt;  // ">=": the line feed needs room
    const std::string_view bytes = rest_.substr(0, *size);
    rest_.remove_prefix(*size + 1);
    return bytes;
  }

 private:
  static std::optional<std::size_t> parse_size(std::string_view text) {
    if (text.size() < 2 || text[0] != ' ') return std::nullopt;
    text.remove_prefix(1);
    if (text[0] == '0' && text.size() > 1) return std::nullopt;
    std::size_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);  // refuses overflow
    if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
    return value;
  }

  std::string_view rest_;
};

std::optional<std::pair<std::string, std::string>> parse_metadata(std::string_view line) {
  const std::size_t space = line.find(' ');
  if (space == std::string_view::npos) return std::nullopt;
  auto label = unescaped(line.substr(0, space));
  auto text = unescaped(line.substr(space + 1));
  if (!label || !text) return std::nullopt;
  return std::pair(std::move(*label), std::move(*text));
}

// Everything between the head and the trailer.
std::optional<Entry> parse_body(Reader body) {
  Entry entry;
  for (;;) {
    const auto line = body.line();
    if (!line) return std::nullopt;
    if (line->empty()) break;
    auto labelled = parse_metadata(*line);
    if (!labelled) return std::nullopt;
    entry.metadata.push_back(std::move(*labelled));
  }
  const auto source = body.section("source");
  if (!source) return std::nullopt;
  const auto cubin = body.section("cubin");
  if (!cubin || !body.empty()) return std::nullopt;
  entry.source = *source;
  entry.cubin = *cubin;
  return entry;
}

// Why the bytes are not a whole entry of this version, "" when they are. The version is looked at before the checksum:
// a later format may end in another way.
std::string damage_of(std::string_view bytes) {
  if (bytes.empty()) return "the file is empty";
  if (bytes.substr(0, kMagic.size()) != kMagic) return "not an Octet cache entry";
  const auto version = Reader(bytes.substr(kMagic.size())).line();
  if (!version) return "truncated";
  if (*version != kVersion) return "another format version than " + std::string(kVersion);
  if (bytes.size() < kHeadBytes + kTrailerBytes) return "truncated";
  const std::string_view trailer = bytes.substr(bytes.size() - kTrailerBytes);
  if (trailer.substr(0, kChecksum.size()) != kChecksum || trailer.back() != '\n') return "truncated";
  const std::string digest = digest_hex(bytes.substr(0, bytes.size() - kTrailerBytes));
  if (trailer.substr(kChecksum.size(), kDigestDigits) != digest) return "the checksum does not match";
  return "";
}

}  // namespace

const std::string& Entry::get(const std::string& label) const {
  static const std::string none;
  for (const auto& [name, text] : metadata) {
    if (name == label) return text;
  }
  return none;
}

std::string encode(const Entry& entry) {
  std::string out(kMagic);
  out += kVersion;
  out += '\n';
  for (const auto& [label, text] : entry.metadata) {
    append_escaped(out, label, true);
    out += ' ';
    append_escaped(out, text, false);
    out += '\n';
  }
  out += '\n';
  append_section(out, "source", entry.source);
  append_section(out, "cubin", entry.cubin);
  const std::string digest = digest_hex(out);
  out += kChecksum;
  out += digest;
  out += '\n';
  return out;
}

std::optional<Entry> decode(const std::string& bytes, std::string* why) {
  std::string damage = damage_of(bytes);
  std::optional<Entry> entry;
  if (damage.empty()) {
    std::string_view body = bytes;
    body.remove_prefix(kHeadBytes);
    body.remove_suffix(kTrailerBytes);
    entry = parse_body(Reader(body));
    if (!entry) damage = "malformed, although its checksum matches";
  }
  if (why != nullptr) *why = std::move(damage);
  return entry;
}

}  // namespace octet::cache
