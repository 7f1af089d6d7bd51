#include "tokenizers/decode/decoder.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

namespace easydata::tokenizers {
namespace {

using Tokens = std::vector<std::string>;

Result<std::unique_ptr<const Decoder>> DecoderFrom(std::string_view json) {
  simdjson::dom::parser parser;
  simdjson::dom::element component;
  EXPECT_EQ(parser.parse(json.data(), json.size()).get(component), simdjson::SUCCESS) << json;
  return MakeDecoder(component);
}

Tokens Chain(std::string_view json, Tokens tokens) {
  const auto decoder = DecoderFrom(json);
  EXPECT_TRUE(decoder.ok()) << decoder.status().ToString();
  const Tokens given = tokens;
  EXPECT_TRUE((*decoder)->DecodeChain(&tokens).ok());
  std::string joined, text;
  for (const std::string& token : tokens) joined += token;
  EXPECT_TRUE((*decoder)->Decode({given.begin(), given.end()}, &text).ok());
  EXPECT_EQ(text, joined);  // both ways to decode agree
  return tokens;
}

TEST(DecoderTest, NullIsNone) { EXPECT_EQ(*DecoderFrom("null"), nullptr); }

TEST(DecoderTest, ByteLevel) {
  constexpr std::string_view kJson =
      R"({"type":"ByteLevel","add_prefix_space":true,"trim_offsets":true})";
  EXPECT_EQ(Chain(kJson, {"Ġcaf", "Ã", "©"}), Tokens{" café"});
  EXPECT_EQ(Chain(kJson, {"a b", "Ġ", "Ã"}), Tokens{"a b \uFFFD"});  // a space: spelled out
  EXPECT_EQ(Chain(kJson, {}), Tokens{""});
}

TEST(DecoderTest, ByteFallback) {
  constexpr std::string_view kJson = R"({"type":"ByteFallback"})";
  EXPECT_EQ(Chain(kJson, {"<0xE4>", "<0xbd>", "<0xA0>", "x"}), (Tokens{"你", "x"}));
  EXPECT_EQ(Chain(kJson, {"<0xE4>", "<0xBD>", "x", "<0x41>"}),
            (Tokens{"\uFFFD", "\uFFFD", "x", "A"}));
  EXPECT_EQ(Chain(kJson, {"<0x+A>", "<0x-A>", "<0xA+>", "<0xé>", "<0x 1>"}),
            (Tokens{"\n", "<0x-A>", "<0xA+>", "<0xé>", "<0x 1>"}));
}

TEST(DecoderTest, Metaspace) {
  const auto json = [](std::string_view scheme) {
    return R"({"type":"Metaspace","replacement":"▁","prepend_scheme":")" + std::string(scheme) +
           "\"}";
  };
  EXPECT_EQ(Chain(json("always"), {"▁▁a▁", "▁b"}), (Tokens{"a", " b"}));
  EXPECT_EQ(Chain(json("first"), {"▁a", "▁b"}), (Tokens{"a", " b"}));
  EXPECT_EQ(Chain(json("never"), {"▁a", "▁b"}), (Tokens{" a", " b"}));
}

TEST(DecoderTest, WordPiece) {
  EXPECT_EQ(Chain(R"({"type":"WordPiece","prefix":"##","cleanup":false})", {"##run", "##ing", "."}),
            (Tokens{"##run", "ing", " ."}));
  EXPECT_EQ(Chain(R"({"type":"WordPiece","prefix":"##","cleanup":true})",
                  {"do", "not", ".", "x do not 've", "a ' b"}),
            (Tokens{"do", " not", ".", " x don't've", " a'b"}));
  EXPECT_EQ(Chain(R"({"type":"WordPiece","prefix":"","cleanup":true})", {"a", "b"}),
            (Tokens{"a", "b"}));
}

TEST(DecoderTest, Strip) {
  const auto json = [](int start, int stop) {
    return R"({"type":"Strip","content":"▁","start":)" + std::to_string(start) + R"(,"stop":)" +
           std::to_string(stop) + "}";
  };
  EXPECT_EQ(Chain(json(1, 1), {"▁▁a▁▁", "a", "▁▁"}), (Tokens{"▁a▁", "a", ""}));
  EXPECT_EQ(Chain(json(5, 0), {"▁▁a▁▁", "", "▁"}), (Tokens{"a▁▁", "", ""}));
  for (const auto& [start, stop, token] :
       {std::tuple(1, 1, "▁"), std::tuple(0, 1, ""), std::tuple(0, 3, "▁▁")}) {
    Tokens tokens = {token};
    EXPECT_TRUE((*DecoderFrom(json(start, stop)))->DecodeChain(&tokens).IsInvalid()) << token;
  }
}

TEST(DecoderTest, Replace) {
  EXPECT_EQ(Chain(R"({"type":"Replace","pattern":{"String":"▁"},"content":"$1"})", {"▁▁a", ""}),
            (Tokens{"$1$1a", ""}));
  EXPECT_EQ(Chain(R"({"type":"Replace","pattern":{"String":"."},"content":"x"})", {"a.b"}),
            (Tokens{"axb"}));
  EXPECT_EQ(Chain(R"({"type":"Replace","pattern":{"Regex":"l+"},"content":"L"})", {"hello", "l"}),
            (Tokens{"heLo", "L"}));
  EXPECT_EQ(Chain(R"({"type":"Replace","pattern":{"Regex":"x*"},"content":"-"})", {"axé", ""}),
            (Tokens{"-a-é-", ""}));
  EXPECT_EQ(Chain(R"({"type":"Replace","pattern":{"String":""},"content":"-"})", {"hé", ""}),
            (Tokens{"-h-é-", ""}));
}

TEST(DecoderTest, Ctc) {
  EXPECT_EQ(Chain(R"({"type":"CTC","pad_token":"<pad>","word_delimiter_token":"|","cleanup":true})",
                  {"<pad>", "h", "h", "<pad>", "h", "|", "|", "x |."}),
            (Tokens{"h", "h", " ", "x  ."}));
  EXPECT_EQ(
      Chain(R"({"type":"CTC","pad_token":"<pad>","word_delimiter_token":"|","cleanup":false})",
            {"a", "|"}),
      (Tokens{"a", "|"}));
  EXPECT_EQ(Chain(R"({"type":"CTC","pad_token":"","word_delimiter_token":"","cleanup":true})",
                  {"hé", ""}),
            (Tokens{" h é ", " "}));
}

TEST(DecoderTest, Bpe) {
  EXPECT_EQ(Chain(R"({"type":"BPEDecoder","suffix":"</w>"})", {"a</w>", "b", "c</w>"}),
            (Tokens{"a ", "b", "c"}));
  EXPECT_EQ(Chain(R"({"type":"BPEDecoder","suffix":"</w>"})", {}), Tokens{});
}

TEST(DecoderTest, SequencesAndGuessedTypes) {
  EXPECT_EQ(Chain(R"({"type":"Sequence","decoders":[
                {"type":"Replace","pattern":{"String":"▁"},"content":" "},{"type":"ByteFallback"},
                {"type":"Fuse"},{"type":"Strip","content":" ","start":1,"stop":0}]})",
                  {"▁a", "<0xC3>", "<0xA9>", "▁b"}),
            Tokens{"aé b"});
  EXPECT_EQ(Chain(R"({"type":"Sequence","decoders":[]})", {"a", "b"}), (Tokens{"a", "b"}));
  EXPECT_EQ(Chain(R"({"suffix":"x"})", {"ax", "bx"}), (Tokens{"a ", "b"}));
  EXPECT_EQ(Chain(R"({"type":"Unknown","prefix":"#","cleanup":false})", {"a", "#b"}),
            (Tokens{"a", "b"}));
  EXPECT_EQ(Chain(R"({"content":"x","start":1,"stop":0})", {"xa"}), Tokens{"a"});
}

TEST(DecoderTest, OddFilesAreForTheReference) {
  for (const std::string_view json : {
           R"("Fuse")",
           R"(["Fuse"])",
           R"({})",
           R"({"type":"Unknown"})",
           R"({"type":"ByteLevel"})",
           R"({"type":"ByteLevel","add_prefix_space":true,"trim_offsets":true,"use_regex":null})",
           R"({"type":"Metaspace","replacement":"ab"})",
           R"({"type":"Metaspace","replacement":"a","prepend_scheme":null})",
           R"({"type":"Metaspace","replacement":"a","add_prefix_space":false})",
           R"({"type":"Metaspace","replacement":"a","prepend_scheme":"last"})",
           R"({"replacement":"a","prepend_scheme":"first"})",
           R"({"type":"Strip","content":"","start":1,"stop":1})",
           R"({"type":"Strip","content":"a","start":-1,"stop":1})",
           R"({"type":"Strip","content":"a","start":1.0,"stop":1})",
           R"({"type":"Replace","pattern":"a","content":"b"})",
           R"({"type":"Replace","pattern":{"String":"a","Regex":"b"},"content":"b"})",
           R"({"type":"Replace","pattern":{"Regex":"("},"content":"b"})",
           R"({"type":"WordPiece","prefix":"##"})",
           R"({"type":"WordPiece","prefix":"##","cleanup":true,"prefix":"#"})",
           R"({"type":"CTC","pad_token":"a","cleanup":true})",
           R"({"type":"BPEDecoder"})",
           R"({"type":"Sequence"})",
           R"({"type":"Sequence","decoders":[null]})",
       }) {
    EXPECT_TRUE(DecoderFrom(json).status().IsNotImplemented()) << json;
  }
}

}  // namespace
}  // namespace easydata::tokenizers
