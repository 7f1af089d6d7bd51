#include "tokenizers/normalize/precompiled.h"

#include <utility>
#include <vector>

#include "tokenizers/normalize/alignment.h"
#include "tokenizers/normalize/grapheme.h"
#include "tokenizers/normalize/text_sink.h"
#include "tokenizers/utf8.h"

namespace easydata::tokenizers {
namespace {

// Clusters of as many bytes are not looked up as a whole.
constexpr size_t kLongCluster = 6;

Status BrokenMap() {
  return Status::Invalid(
      "the precompiled_charsmap of the tokenizer.json points outside itself at a character of this "
      "text; save the tokenizer again from its SentencePiece model");
}

class TextWriter {
 public:
  TextWriter(size_t expected, std::string* out) : sink_(expected, out) {}
  ~TextWriter() { sink_.Finish(); }

  void Keep(const char* begin, const char* end) { sink_.Append(begin, end); }
  void Replace(std::string_view, std::string_view replacement) { sink_.Append(replacement); }
  static constexpr bool is_done() { return false; }

 private:
  TextSink sink_;
};

// Notes the changes as the reference does, in which a removal goes to the character before it,
// until they stand for more than `limit` characters.
class ChangeWriter {
 public:
  explicit ChangeWriter(size_t limit = SIZE_MAX) : limit_(limit) {}

  void Keep(const char* begin, const char* end) {
    for (; begin < end && !is_done(); ++num_replaced_) {
      const utf8::CodePoint c = utf8::Decode(begin);
      changes_.push_back({c.value, 0});
      begin += c.length;
    }
  }
  void Replace(std::string_view part, std::string_view replacement) {
    modified_ = true;
    const size_t before = utf8::CountCharacters(part);
    size_t now = 0;
    for (const char *p = replacement.data(), *end = p + replacement.size(); p < end; ++now) {
      const utf8::CodePoint c = utf8::Decode(p);
      changes_.push_back({c.value, now < before ? 0 : 1});
      p += c.length;
    }
    if (changes_.empty()) return;  // what is dropped before the first character is forgotten
    if (before > now) changes_.back().change -= static_cast<int>(before - now);
    num_replaced_ += before;
  }

  bool is_done() const { return num_replaced_ > limit_; }
  bool modified() const { return modified_; }
  const std::vector<Change>& changes() const { return changes_; }

 private:
  const size_t limit_;
  std::vector<Change> changes_;
  size_t num_replaced_ = 0;
  bool modified_ = false;
};

bool JoinsNothing(uint8_t grapheme) {
  switch (grapheme & unicode_tables::kClassMask) {
    case unicode_tables::kPrepend:
    case unicode_tables::kHangulL:
    case unicode_tables::kHangulV:
    case unicode_tables::kHangulT:
      return false;
    default:
      return !Graphemes::Extends(grapheme);
  }
}

}  // namespace

Precompiled::Precompiled(Charsmap map) : map_(std::move(map)) {
  const Graphemes& graphemes = Graphemes::Get();
  for (char32_t c = 0; c < 0x10000; ++c) {
    if (c - 0xD800 < 0x800 || c == '\r' || !JoinsNothing(graphemes[c])) continue;
    char bytes[4];
    const std::string_view text(bytes, static_cast<size_t>(utf8::Write(c, bytes) - bytes));
    const Charsmap::Lookup found = map_.Find(text);
    if (found.result == Charsmap::Lookup::kCrash) continue;
    if (found.result == Charsmap::Lookup::kFound && found.replacement != text) continue;
    plain_.at(c) = 1;
    if (c < 0x80) plain_ascii_[c] = true;
  }
}

// The first character from `p` on that is not plain, or `end`.
const char* Precompiled::SkipPlain(const char* p, const char* end) const {
  while (p < end) {
    if (plain_ascii_[static_cast<uint8_t>(*p)]) {
      ++p;
      continue;
    }
    const auto lead = static_cast<uint8_t>(*p);
    if (lead < 0x80 || lead >= 0xF0) break;
    const utf8::CodePoint c = utf8::Decode(p);
    if (plain_[c.value] == 0) break;
    p += c.length;
  }
  return p;
}

template <typename Writer>
Status Precompiled::RewriteCluster(std::string_view cluster, Writer* writer) const {
  if (cluster.size() < kLongCluster) {
    const Charsmap::Lookup found = map_.Find(cluster);
    if (found.result == Charsmap::Lookup::kCrash) return BrokenMap();
    if (found.result == Charsmap::Lookup::kFound) {
      writer->Replace(cluster, found.replacement);
      return Status::OK();
    }
  }
  for (const char *p = cluster.data(), *end = p + cluster.size(); p < end;) {
    const auto length = static_cast<size_t>(utf8::Decode(p).length);
    const Charsmap::Lookup found = map_.Find({p, length});
    if (found.result == Charsmap::Lookup::kCrash) return BrokenMap();
    if (found.result == Charsmap::Lookup::kFound) {
      writer->Replace({p, length}, found.replacement);
    } else {
      writer->Keep(p, p + length);
    }
    p += length;
  }
  return Status::OK();
}

template <typename Writer>
Status Precompiled::Rewrite(std::string_view text, Writer* writer) const {
  const Graphemes& graphemes = Graphemes::Get();
  const char* const end = text.data() + text.size();
  for (const char* p = text.data(); p < end;) {
    const char* const plain = p;
    p = SkipPlain(p, end);
    // Each plain character starts a cluster; the last may have the next character in its own.
    if (p > plain && p < end && static_cast<uint8_t>(*p) >= 0x80) p = utf8::Previous(p);
    writer->Keep(plain, p);
    if (p == end || writer->is_done()) break;
    const char* const cluster_end = graphemes.ClusterEnd(p, end);
    ARROW_RETURN_NOT_OK(RewriteCluster({p, static_cast<size_t>(cluster_end - p)}, writer));
    p = cluster_end;
  }
  return Status::OK();
}

bool Precompiled::IsInert(std::string_view text) const {
  const char* const end = text.data() + text.size();
  return SkipPlain(text.data(), end) == end;
}

Status Precompiled::Normalize(std::string_view text, std::string* out) const {
  TextWriter writer(text.size(), out);
  return Rewrite(text, &writer);
}

Status Precompiled::NormalizeWithOrigin(std::string_view text, size_t* origin,
                                        std::string* out) const {
  const size_t num_tied = utf8::CountCharacters(text.substr(0, *origin));
  ChangeWriter writer(num_tied);
  ARROW_RETURN_NOT_OK(Rewrite(text, &writer));
  *origin = CountOrigin(writer.changes(), num_tied);
  return Normalize(text, out);
}

Status Precompiled::NormalizeTracked(std::string_view text, size_t* inserted,
                                     std::string* out) const {
  if (*inserted == 0) return Normalize(text, out);
  ChangeWriter writer;
  ARROW_RETURN_NOT_OK(Rewrite(text, &writer));
  if (!writer.modified()) {
    out->assign(text);
    return Status::OK();
  }
  return ApplyChanges(text, *inserted, 0, writer.changes(), out);
}

}  // namespace easydata::tokenizers
