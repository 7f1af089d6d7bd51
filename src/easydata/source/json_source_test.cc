#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <random>
#include <set>

#include "easydata/source/file_sources.h"
#include "easydata/source/line_chunk.h"
#include "easydata/source/test_files.h"

namespace easydata::source {
namespace {

SourceStageOptions Text(const char* column = "text") {
  SourceStageOptions options;
  options.name = "s";
  options.columns = {{{column, ColumnKind::kText}}};
  return options;
}

StageContract Jsonl(const std::vector<std::string>& files, SourceStageOptions options = Text()) {
  return ContractOf(MakeJsonSource(Listed(files), JsonLayout::kLines).ValueOrDie(),
                    std::move(options));
}

/// Lines of mixed lengths, some longer than a chunk, with blank ones between.
std::string ManyLines(int count, int long_every) {
  std::string out;
  std::mt19937 random(7);
  for (int i = 0; i < count; ++i) {
    size_t length = random() % 2000;
    if (long_every > 0 && i % long_every == long_every - 1) length = 5 * kChunkBytes / 2;
    out += "{\"i\": " + std::to_string(i) + ", \"text\": \"" + std::to_string(i) + " " +
           std::string(length, 'x') + "\"}\n";
    if (i % 17 == 0) out += i % 2 == 0 ? "\n" : "   \r\n";
  }
  return out;
}

TEST(JsonSourceTest, KeepsTheContract) {
  TestFolder folder;
  const std::string a = folder.Write("a.jsonl", ManyLines(2500, 400));
  const std::string b = folder.Write("b.jsonl", "");
  const std::string c = folder.Write("c.jsonl", ManyLines(10, 0));
  CheckStageContract(Jsonl({a, b, c}));
}

TEST(JsonSourceTest, EveryRowComesOnceWhereverChunksEnd) {
  // Lines end just before, at and after the edge of a chunk.
  for (int64_t shift = -3; shift <= 3; ++shift) {
    TestFolder folder;
    const std::string head = "{\"text\": \"\"}";
    std::string first =
        "{\"text\": \"" + std::string(kChunkBytes - 1 - head.size() + shift, 'a') + "\"}\n";
    const std::string path =
        folder.Write("a.jsonl", first + "{\"text\": \"b\"}\n{\"text\": \"c\"}");
    const auto rows = AllRows(Jsonl({path}));
    ASSERT_EQ(rows.size(), 3u) << shift;
    EXPECT_EQ(rows[1].substr(0, 6), "text=b");
    EXPECT_NE(rows[2].find("row 2"), std::string::npos) << rows[2];
  }
}

TEST(JsonSourceTest, BadLineComesAfterTheRowsBeforeItWithAddressAndAdvice) {
  TestFolder folder;
  std::string text = ManyLines(1000, 0);
  const auto [rows, lines] = CountLines(text, true);
  text += "{\"text\": \"cut off\n" + ManyLines(1000, 0);
  const std::string path = folder.Write("a.jsonl", text);
  const Status error = CheckErrorContract(Jsonl({path}), rows);
  EXPECT_TRUE(error.IsInvalid());
  for (const std::string& part :
       {"sources[\"s\"] " + path + " row 1000: line " + std::to_string(lines + 1),
        std::string("not valid JSON at byte"), std::string("on_error=\"skip\"")}) {
    EXPECT_NE(error.message().find(part), std::string::npos) << error << "\nlacks " << part;
  }
}

TEST(JsonSourceTest, SkippedRowsAreCountedAndKeepTheirNumbers) {
  TestFolder folder;
  const std::string path =
      folder.Write("a.jsonl", "{\"text\":\"0\"}\nnope\n\n{\"text\":1}\n{\"text\":\"3\"}\n\xff\n");
  SourceStageOptions options = Text();
  options.errors.on_error = OnError::kQuarantine;
  options.errors.quarantine_path = folder.Path("bad.jsonl");
  std::vector<std::string> reports;
  options.report = [&](const std::string& message) { reports.push_back(message); };
  auto contract = Jsonl({path}, options);
  StageContext context;
  context.pool = std::make_shared<exec::ThreadPool>(1);
  auto stage = contract.make(context).ValueOrDie();
  auto batch = stage->Next().ValueOrDie();
  ASSERT_TRUE(batch.has_value());
  EXPECT_EQ(batch->num_rows(), 2);
  EXPECT_EQ(batch->addresses.At(1).row, 3);
  int64_t dropped = 0;
  for (const auto& count : batch->dropped) dropped += count.rows;
  EXPECT_EQ(dropped, 3);
  EXPECT_EQ(batch->dropped.size(), 3u);
  EXPECT_EQ(reports.size(), 3u);
  std::ifstream file(options.errors.path());
  std::string line;
  int quarantined = 0;
  while (std::getline(file, line)) ++quarantined;
  EXPECT_EQ(quarantined, 3);
}

TEST(JsonSourceTest, LastOfEqualKeysCountsAndMissingIsNull) {
  TestFolder folder;
  const std::string path = folder.Write(
      "a.jsonl", "\xef\xbb\xbf{\"text\":1,\"te\\u0078t\":\"b\"}\r\n{\"x\":1}\r\n{\"text\":null}\n");
  const auto rows = AllRows(Jsonl({path}));
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_EQ(rows[0].substr(0, 7), "text=b ");
  EXPECT_EQ(rows[1].substr(0, 10), "text=null ");
  EXPECT_EQ(rows[2].substr(0, 10), "text=null ");
}

TEST(JsonSourceTest, TokensAndAnyColumns) {
  TestFolder folder;
  const std::string path = folder.Write("a.jsonl",
                                        "{\"ids\": [1, 2,3], \"m\": {\"a\": [1.5, "
                                        "null]}}\n{\"ids\": [], \"m\": NaN}\n{\"ids\": null}\n");
  SourceStageOptions options = Text();
  options.columns = {{{"ids", ColumnKind::kTokens}, {"m", ColumnKind::kAny}}};
  const auto rows = AllRows(Jsonl({path}, options));
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_NE(rows[0].find("[1, 2, 3]"), std::string::npos) << rows[0];
  EXPECT_NE(rows[0].find("m={\"a\":[1.5,null]}"), std::string::npos) << rows[0];
  EXPECT_NE(rows[1].find("m=NaN"), std::string::npos) << rows[1];
  EXPECT_NE(rows[2].find("m=null"), std::string::npos) << rows[2];
}

TEST(JsonSourceTest, StartsAtAnyRow) {
  TestFolder folder;
  const std::string path = folder.Write("a.jsonl", ManyLines(3000, 1000));
  auto source = MakeJsonSource(Listed({path}), JsonLayout::kLines).ValueOrDie();
  const auto whole = AllRows(ContractOf(source, Text()));
  ASSERT_EQ(whole.size(), 3000u);
  for (int64_t row : {0, 1, 17, 1500, 2999, 3000, 4000}) {
    SourceStageOptions options = Text();
    options.start_row = row;
    const auto rest = AllRows(ContractOf(source, options));
    const auto begin = whole.begin() + std::min<int64_t>(row, 3000);
    EXPECT_EQ(rest, std::vector<std::string>(begin, whole.end())) << row;
  }
  // A stream from another row on is another stream: a state of one does not fit the other.
  std::set<std::string> plans;
  for (int64_t row : {0, 1, 2, 1234}) {
    SourceStageOptions options = Text();
    options.start_row = row;
    plans.insert(Describe(*SourcePlan(source, options).ValueOrDie().node).dump());
  }
  EXPECT_EQ(plans.size(), 4u);
  SourceStageOptions options = Text();
  options.start_row = 1234;
  CheckStageContract(ContractOf(source, options));
  ReadContext context{std::make_shared<exec::ThreadPool>(2), [](int64_t) {}};
  EXPECT_EQ(source->CountRows(0, context).ValueOrDie(), 3000);
}

}  // namespace
}  // namespace easydata::source
