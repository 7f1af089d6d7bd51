#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "easydata/source/data_format.h"
#include "easydata/source/file_sources.h"
#include "easydata/source/test_files.h"
#include "easydata/storage/storage.h"

namespace easydata::source {
namespace {

using ::testing::HasSubstr;

constexpr int64_t kEos = 7;

template <typename T>
std::string BytesOf(const std::vector<T>& numbers) {
  return std::string(reinterpret_cast<const char*>(numbers.data()), numbers.size() * sizeof(T));
}

/// Tokens whose documents are short, but for one that is longer than a chunk. Where a chunk has few
/// of them, the contract takes little time.
template <typename T>
std::vector<T> SomeTokens(size_t count) {
  std::mt19937 random(3);
  std::vector<T> tokens(count);
  for (size_t i = 0; i < count; ++i) {
    const bool is_in_long_one = i > count / 3 && i < count / 3 + (5 << 18) / sizeof(T);
    tokens[i] =
        static_cast<T>(random() % 10000 == 0 && !is_in_long_one ? kEos : 8 + random() % 100);
  }
  return tokens;
}

std::shared_ptr<const Source> BinSource(std::vector<files::FileInfo> files,
                                        const nlohmann::json& options = nlohmann::json::object()) {
  return MakeSource("bin", std::move(files), options).ValueOrDie();
}

TEST(TokenSourceTest, DocumentsKeepTheContract) {
  TestFolder folder;
  const auto files =
      Listed({folder.Write("a.bin", BytesOf(SomeTokens<uint64_t>(350000))),
              folder.Write("b.bin", ""), folder.Write("c.bin", BytesOf<uint64_t>({1, 2, 7, 7}))});
  const auto source = BinSource(files, {{"dtype", "uint64"}, {"document_eos", kEos}});
  CheckStageContract(ContractOf(source, {}));
  SourceStageOptions shuffled;
  shuffled.shuffle.mode = SourceShuffle::kBlocks;
  CheckStageContract(ContractOf(source, shuffled));
}

TEST(TokenSourceTest, RowsOfOneLengthKeepTheContract) {
  TestFolder folder;
  const auto files = Listed(
      {folder.Write("a.bin", BytesOf(SomeTokens<uint64_t>(150000))), folder.Write("b.bin", "")});
  const auto source = BinSource(files, {{"dtype", "uint64"}, {"row_tokens", 10000}});
  CheckStageContract(ContractOf(source, {}));
}

TEST(TokenSourceTest, DocumentsThatBeginAtAChunkAreOnesOfIt) {
  TestFolder folder;
  // The first token of the second chunk begins a document, or ends one.
  constexpr size_t kOfChunk = (1 << 20) / sizeof(uint64_t);
  for (const size_t end : {kOfChunk - 1, kOfChunk, kOfChunk + 1}) {
    std::vector<uint64_t> tokens(2 * kOfChunk, 9);
    tokens[end - 1] = kEos;
    const auto files = Listed({folder.Write("a.bin", BytesOf(tokens))});
    const auto source = BinSource(files, {{"dtype", "uint64"}, {"document_eos", kEos}});
    ReadContext context;
    context.count_bytes = [](int64_t) {};
    EXPECT_EQ(source->CountRows(0, context).ValueOrDie(), 2);
    EXPECT_EQ(AllRows(ContractOf(source, {})).size(), 2u);
    const auto blocks = source->CountBlocks(0, context).ValueOrDie();
    const int64_t of_first = end < kOfChunk ? 2 : 1;
    EXPECT_EQ(blocks.row_starts, (std::vector<int64_t>{0, of_first, 2})) << end;
  }
}

/// An index of Megatron's: the ends of documents are numbers of sequences.
std::string IndexOf(uint8_t code, const std::vector<int32_t>& lengths,
                    const std::vector<int64_t>& ends, int64_t token_bytes) {
  std::string out("MMIDIDX\0\0", 9);
  out += BytesOf<uint64_t>({1});
  out += static_cast<char>(code);
  out += BytesOf<uint64_t>({lengths.size(), ends.size()});
  std::vector<int64_t> pointers;
  int64_t at = 0;
  for (const int32_t length : lengths) {
    pointers.push_back(at);
    at += length * token_bytes;
  }
  return out + BytesOf(lengths) + BytesOf(pointers) + BytesOf(ends);
}

/// The listed files of a pair, written anew.
std::vector<files::FileInfo> Pair(const TestFolder& folder, const std::string& tokens,
                                  const std::string& index) {
  folder.Write("a.idx", index);
  auto files = Listed({folder.Write("a.bin", tokens)});
  files[0].index = std::make_shared<const files::FileInfo>(Listed({folder.Path("a.idx")})[0]);
  return files;
}

TEST(TokenSourceTest, MegatronsDocumentsKeepTheContract) {
  TestFolder folder;
  std::mt19937 random(5);
  std::vector<int32_t> lengths;
  std::vector<int64_t> ends = {0};
  int64_t tokens = 0;
  for (int i = 0; i < 120; ++i) {
    lengths.push_back(i == 50 ? 140000 : static_cast<int32_t>(random() % 200));
    tokens += lengths.back();
    if (random() % 3 == 0) ends.push_back(i + 1);
    if (random() % 50 == 0) ends.push_back(ends.back());  // an empty document
  }
  if (ends.back() != 120) ends.push_back(120);
  const auto all = SomeTokens<int64_t>(static_cast<size_t>(tokens));
  const auto source = BinSource(Pair(folder, BytesOf(all), IndexOf(5, lengths, ends, 8)));
  CheckStageContract(ContractOf(source, {}));
  ReadContext context;
  context.count_bytes = [](int64_t) {};
  EXPECT_EQ(source->CountRows(0, context).ValueOrDie(), static_cast<int64_t>(ends.size()) - 1);
}

TEST(TokenSourceTest, EveryCutOfAPairIsAnErrorThatNamesTheByte) {
  TestFolder folder;
  const std::string tokens = BytesOf<uint16_t>({1, 2, 3, 4, 5});
  const std::string index = IndexOf(8, {2, 3}, {0, 1, 2}, 2);
  const auto read = [&](const std::string& some_tokens, const std::string& some_index) {
    const auto source = BinSource(Pair(folder, some_tokens, some_index));
    return source->KnownRows(0).status();
  };
  EXPECT_TRUE(read(tokens, index).ok());
  EXPECT_TRUE(read(tokens, index + std::string(2, '\1')).ok());  // with the sequences' modes
  for (size_t size = 0; size < index.size(); ++size) {
    const Status status = read(tokens, index.substr(0, size));
    EXPECT_TRUE(status.IsIOError()) << size << ": " << status;
    EXPECT_THAT(status.message(), HasSubstr(folder.Path("a.idx") + ": byte ")) << size;
  }
  for (size_t size = 0; size < tokens.size(); ++size) {
    const Status status = read(tokens.substr(0, size), index);
    EXPECT_THAT(status.message(),
                HasSubstr(folder.Path("a.bin") + ": byte " + std::to_string(size) + ": "));
  }
  EXPECT_THAT(read(tokens + "xx", index).message(), HasSubstr("a.bin: byte 10: the index"));
  // No byte may be another one, but that of a document's begin.
  for (size_t byte = 0; byte < index.size(); ++byte) {
    std::string other = index;
    other[byte] = static_cast<char>(other[byte] ^ 0x55);
    EXPECT_FALSE(read(tokens, other).ok()) << byte;
  }
}

std::string NpyOf(const std::string& dict, const std::string& data, int version = 1) {
  std::string text = dict;
  const size_t before = version == 1 ? 10 : 12;
  while ((before + text.size() + 1) % 64 != 0) text += ' ';
  text += '\n';
  std::string out = "\x93NUMPY" + std::string{static_cast<char>(version), '\0'};
  if (version == 1) {
    out += BytesOf<uint16_t>({static_cast<uint16_t>(text.size())});
  } else {
    out += BytesOf<uint32_t>({static_cast<uint32_t>(text.size())});
  }
  return out + text + data;
}

TEST(TokenSourceTest, ArraysKeepTheContract) {
  TestFolder folder;
  const auto tokens = SomeTokens<int64_t>(300000);
  const std::string dict = "{'descr': '<i8', 'fortran_order': False, 'shape': ";
  const auto two = Listed({folder.Write("a.npy", NpyOf(dict + "(30, 10000), }", BytesOf(tokens))),
                           folder.Write("b.npy", NpyOf(dict + "(3, 0), }", "", 2)),
                           folder.Write("c.npy", NpyOf(dict + "(0, 5), }", "", 3))});
  CheckStageContract(ContractOf(MakeSource("npy", two, nlohmann::json::object()).ValueOrDie(), {}));
  const auto one = Listed({folder.Write("d.npy", NpyOf(dict + "(300000,), }", BytesOf(tokens)))});
  CheckStageContract(ContractOf(MakeSource("npy", one, {{"document_eos", kEos}}).ValueOrDie(), {}));
}

TEST(TokenSourceTest, HeadersOfArraysAreReadOrRefused) {
  TestFolder folder;
  const auto read = [&](const std::string& content) {
    const auto files = Listed({folder.Write("a.npy", content)});
    return MakeSource("npy", files, {{"row_tokens", 2}}).ValueOrDie()->KnownRows(0);
  };
  const std::string data = BytesOf<uint16_t>({1, 2, 3});
  const auto dict = [](const std::string& descr, const std::string& order,
                       const std::string& shape) {
    return "{'descr': " + descr + ", 'fortran_order': " + order + ", 'shape': " + shape + "}";
  };
  EXPECT_EQ(*read(NpyOf(dict("'<u2'", "False", "(3,)"), data)).ValueOrDie(), 2);
  EXPECT_EQ(*read(NpyOf("{\"shape\": (3L,), \"descr\": \"<u2\", \"fortran_order\": False, }", data))
                 .ValueOrDie(),
            2);
  const auto says = [&](const std::string& content) { return read(content).status().message(); };
  EXPECT_THAT(says(NpyOf(dict("'>u2'", "False", "(3,)"), data)), HasSubstr("big-endian"));
  EXPECT_THAT(says(NpyOf(dict("'<f2'", "False", "(3,)"), data)), HasSubstr("the dtype <f2"));
  EXPECT_THAT(says(NpyOf(dict("[('a', '<u2'), ('b', '<u2')]", "False", "(3,)"), data)),
              HasSubstr("the dtype [('a', '<u2')"));
  EXPECT_THAT(says(NpyOf(dict("'<u2'", "True", "(3,)"), data)), HasSubstr("Fortran order"));
  EXPECT_THAT(says(NpyOf(dict("'<u2'", "False", "(1, 1, 3)"), data)), HasSubstr("3 dimensions"));
  EXPECT_THAT(says(NpyOf(dict("'<u2'", "False", "()"), data)), HasSubstr("0 dimensions"));
  EXPECT_THAT(says(NpyOf(dict("'<u2'", "False", "(4,)"), data)), HasSubstr("byte 134: "));
  EXPECT_THAT(says(NpyOf(dict("'<u2'", "False", "(2,)"), data)), HasSubstr("byte 132: "));
  EXPECT_THAT(says(NpyOf(dict("'<u2'", "False", "(4611686018427387904, 8)"), data)),
              HasSubstr("tells of the shape (4611686018427387904, 8)"));
  EXPECT_THAT(says(NpyOf("{'descr': '<u2'}", data)), HasSubstr("is not what numpy writes"));
  EXPECT_THAT(says(data), HasSubstr("byte 0: no .npy file begins so"));
  const std::string whole = NpyOf(dict("'<u2'", "False", "(3,)"), data);
  EXPECT_THAT(says(std::string("\x93NUMPY\4\0", 8) + whole.substr(8)), HasSubstr("version 4.0"));
  for (size_t size = 0; size < whole.size(); ++size) {
    const Status status = read(whole.substr(0, size)).status();
    EXPECT_TRUE(status.IsIOError()) << size << ": " << status;
    EXPECT_THAT(status.message(), HasSubstr("a.npy: byte ")) << size;
  }
}

TEST(TokenSourceTest, NumbersThatAreNoInt32AreBadRows) {
  TestFolder folder;
  const auto files = Listed({folder.Write("a.bin", BytesOf<uint32_t>({1, 2, 3, 1u << 31, 5, 6}))});
  const auto source = BinSource(files, {{"dtype", "uint32"}, {"row_tokens", 2}});
  const Status error = CheckErrorContract(ContractOf(source, {}), 1);
  EXPECT_THAT(error.message(), HasSubstr("a.bin row 1: byte 12: 2147483648 is no token"));
  SourceStageOptions skip;
  skip.errors.on_error = OnError::kSkip;
  EXPECT_EQ(AllRows(ContractOf(source, skip)).size(), 2u);
}

TEST(TokenSourceTest, DocumentsWithoutAnEndAreOneRow) {
  TestFolder folder;
  const auto files =
      Listed({folder.Write("a.bin", std::string(3 << 18, 'x') + std::string(3 << 18, 'y'))});
  const auto source = BinSource(files, {{"dtype", "uint8"}, {"document_eos", kEos}});
  EXPECT_EQ(AllRows(ContractOf(source, {})).size(), 1u);
}

}  // namespace
}  // namespace easydata::source
