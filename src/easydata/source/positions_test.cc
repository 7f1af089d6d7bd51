#include <arrow/array.h>
#include <arrow/record_batch.h>
#include <arrow/scalar.h>
#include <arrow/type.h>
#include <arrow/util/compression.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <nlohmann/json.hpp>
#include <random>

#include "easydata/base/chosen_cases.h"
#include "easydata/base/fault_point.h"
#include "easydata/source/file_sources.h"
#include "easydata/source/line_chunk.h"
#include "easydata/source/test_files.h"
#include "easydata/stream/batch_op.h"
#include "easydata/stream/map_stage.h"
#include "easydata/stream/row_error.h"

namespace easydata::source {
namespace {

using ::testing::HasSubstr;
using SourcePtr = std::shared_ptr<const Source>;

constexpr int kTextRows = 4200;  // some four chunks of them, each of 500 rows and more

/// A text format: how row `i` of `kTextRows` stands in a file, and what is around the rows.
struct TextFormat {
  std::string name;
  std::string begin, end;
  std::function<std::string(int i, const std::string& text)> row;
  std::string bad_row;
  std::string what_is_bad;
  bool blank_lines_are_rows;
  std::function<SourcePtr(const std::string& path)> open;
};

std::vector<TextFormat> TextFormats() {
  return {
      {"jsonl", "", "",
       [](int i, const std::string& text) {
         return R"({"i": ")" + std::to_string(i) + R"(", "text": ")" + text + "\"}\n";
       },
       "{\"i\": nope}\n", "not valid JSON at byte 7", false,
       [](const std::string& path) {
         return MakeJsonSource(Listed({path}), JsonLayout::kLines).ValueOrDie();
       }},
      {"txt", "", "",
       [](int i, const std::string& text) { return "i=" + std::to_string(i) + " " + text + "\n"; },
       "\xff\n", "not UTF-8 at byte 1", true,
       [](const std::string& path) { return MakeTextSource(Listed({path}), "text").ValueOrDie(); }},
      {"csv", "\ni,text\r\n", "",
       [](int i, const std::string& text) {
         return std::to_string(i) + (i % 3 == 0 ? ",\"\n" + text + "\"\r\n" : "," + text + "\n");
       },
       "1,2,3\n", "the record has 3 fields", false,
       [](const std::string& path) {
         return MakeCsvSource(Listed({path}), CsvDialect()).ValueOrDie();
       }},
      {"json", "\n [\n{\"i\": \"first\", \"text\": \"\"}", "\n ]\n",
       [](int i, const std::string& text) {
         return ",\n{\"i\": \"" + std::to_string(i) + "\",\n \"text\": \"" + text + "\"}";
       },
       ",\n7", "the row is a number", false,
       [](const std::string& path) {
         return MakeJsonSource(Listed({path}), JsonLayout::kAuto).ValueOrDie();
       }},
      {"field.json",
       "{\"a\": {\"data\": [\"]\"]},\n\"data\": [\n{\"i\": \"first\", \"text\": \"\"}",
       "\n ]\n,\"b\": 1}\n",
       [](int i, const std::string& text) {
         return ",\n{\"i\": \"" + std::to_string(i) + "\",\n \"text\": \"" + text + "\"}";
       },
       ",\n7", "the row is a number", false,
       [](const std::string& path) {
         return MakeJsonSource(Listed({path}), JsonLayout::kAuto, "data").ValueOrDie();
       }},
      {"paragraph.txt", "", "",
       [](int i, const std::string& text) {
         return "i=" + std::to_string(i) + (i % 3 == 0 ? "\r\n" : " ") + text +
                (i % 2 == 0 ? "\r\n\r\n" : "\n\n");
       },
       "\xff\n\n", "not UTF-8 at byte 1 of the paragraph", false,
       [](const std::string& path) {
         return MakeTextSource(Listed({path}), "text", TextUnit::kParagraph).ValueOrDie();
       }},
      {"latin.csv", "# about\ni;text\r\n", "",
       [](int i, const std::string& text) {
         return (i % 7 == 0 ? "#\"\n" : "") + std::to_string(i) +
                (i % 3 == 0 ? ";'\n#" + text + "'\r\n" : ";" + text + "\n");
       },
       "1;2;3\n", "the record has 3 fields", false,
       [](const std::string& path) {
         CsvOptions options;
         options.delimiter = ";";
         options.quotechar = "'";
         options.encoding = "latin-1";
         options.comment = "#";
         return MakeCsvSource(Listed({path}), MakeCsvDialect(options, ',').ValueOrDie())
             .ValueOrDie();
       }},
  };
}

std::string TextOf(int i) {
  std::mt19937 random(static_cast<unsigned>(i));
  std::string text(random() % 1900, 'a');
  for (char& c : text) c = static_cast<char>('a' + random() % 26);
  return text;
}

/// Rows `begin` to `end`, with a blank line here and there where those are none.
std::string RowsText(const TextFormat& format, int begin, int end) {
  std::string out;
  for (int i = begin; i < end; ++i) {
    if (i % 11 == 3 && !format.blank_lines_are_rows) out += "\n";
    out += format.row(i, TextOf(i));
  }
  return out;
}

/// Rows of a file before row 0 of RowsText().
int64_t RowsInFront(const TextFormat& format) { return format.name.ends_with("json") ? 1 : 0; }

std::string WriteAs(const TestFolder& folder, const TextFormat& format, const std::string& suffix,
                    const std::string& text) {
  if (suffix.empty()) return folder.Write("a." + format.name, text);
  const auto type = suffix == ".gz" ? arrow::Compression::GZIP : arrow::Compression::ZSTD;
  auto codec = arrow::util::Codec::Create(type).ValueOrDie();
  const auto size = static_cast<int64_t>(text.size());
  const auto* bytes = reinterpret_cast<const uint8_t*>(text.data());
  std::string packed(codec->MaxCompressedLen(size, bytes), '\0');
  auto* out = reinterpret_cast<uint8_t*>(packed.data());
  packed.resize(
      codec->Compress(size, bytes, static_cast<int64_t>(packed.size()), out).ValueOrDie());
  return folder.Write("a." + format.name + suffix, packed);
}

SourceStageOptions TwoColumns(const TextFormat& format) {
  SourceStageOptions options;
  options.columns = {{{"text", ColumnKind::kText}}};
  if (!format.name.ends_with("txt")) options.columns->push_back({"i", ColumnKind::kText});
  return options;
}

class PositionsTest : public ::testing::TestWithParam<std::tuple<size_t, std::string>> {
 protected:
  const TextFormat format_ = TextFormats()[std::get<0>(GetParam())];
  const std::string suffix_ = std::get<1>(GetParam());
  const TestFolder folder_;

  std::string Write(const std::string& text) const {
    return WriteAs(folder_, format_, suffix_, format_.begin + text + format_.end);
  }
};

INSTANTIATE_TEST_SUITE_P(All, PositionsTest,
                         ::testing::Combine(::testing::Range<size_t>(0, 7),
                                            ::testing::Values("", ".gz", ".zst")),
                         [](const auto& info) {
                           const std::string suffix = std::get<1>(info.param);
                           std::string name = TextFormats()[std::get<0>(info.param)].name;
                           std::replace(name.begin(), name.end(), '.', '_');
                           return name + (suffix.empty() ? "" : "_" + suffix.substr(1));
                         });

TEST_P(PositionsTest, RowsAndAddressesAreTheSameFromAnyRowAndChunkOn) {
  const std::string path = Write(RowsText(format_, 0, kTextRows));
  const auto contract = ContractOf(format_.open(path), TwoColumns(format_));
  const auto whole = AllRows(contract);
  const int64_t front = RowsInFront(format_);
  ASSERT_EQ(static_cast<int64_t>(whole.size()), kTextRows + front);
  for (int i = 0; i < kTextRows; ++i) {
    const std::string& row = whole[i + front];
    EXPECT_THAT(row, HasSubstr(TextOf(i)));
    EXPECT_TRUE(row.ends_with("@" + path + " row " + std::to_string(i + front))) << row;
  }
  CheckStageContract(contract);
  std::vector<int64_t> starts = {1, static_cast<int64_t>(whole.size()) - 1};
  for (const int64_t k : ChosenCases(1, (kTextRows - 1) / 270 + 1)) starts.push_back(270 * k);
  for (const int64_t row : starts) {
    SourceStageOptions options = TwoColumns(format_);
    options.start_row = row;
    const auto from_row = ContractOf(format_.open(path), options);
    EXPECT_EQ(AllRows(from_row), std::vector<std::string>(whole.begin() + row, whole.end())) << row;
    if (row / 270 % 3 == 1) CheckStageContract(from_row);
  }
}

TEST_P(PositionsTest, BadRowOfALaterChunkIsNamedByRowAndLine) {
  // After two chunks of rows and one and a half of blank lines.
  const int before = 3000;
  std::string text = RowsText(format_, 0, before);
  ASSERT_GT(text.size(), 2 * kChunkBytes);
  const int64_t blank =
      kChunkBytes * 3 / 2 / (format_.blank_lines_are_rows ? ChosenCases().step : 1);
  text += std::string(blank, '\n');
  const std::string front = format_.begin + text;
  // A comma and a line's end stand before the array's value.
  const bool is_array = format_.name.ends_with("json");
  const auto lines = std::count(front.begin(), front.end(), '\n') + (is_array ? 1 : 0);
  int64_t rows = before + RowsInFront(format_);
  if (format_.blank_lines_are_rows) rows += blank;
  const std::string path = Write(text + format_.bad_row + RowsText(format_, before, before + 900));
  const Status error =
      CheckErrorContract(ContractOf(format_.open(path), TwoColumns(format_)), rows);
  const std::string location =
      path + " row " + std::to_string(rows) + ": line " + std::to_string(lines + 1) + ": ";
  EXPECT_THAT(error.message(), HasSubstr(location + format_.what_is_bad));

  SourceStageOptions options = TwoColumns(format_);
  options.errors.on_error = OnError::kSkip;
  std::vector<std::string> reports;
  options.report = [&](const std::string& message) { reports.push_back(message); };
  const auto kept = AllRows(ContractOf(format_.open(path), options));
  ASSERT_EQ(reports.size(), 1u);
  EXPECT_THAT(reports[0], HasSubstr("row " + std::to_string(rows) + ": left out: line " +
                                    std::to_string(lines + 1) + ": " + format_.what_is_bad));
  ASSERT_EQ(static_cast<int64_t>(kept.size()), rows + 900);
  // Those after it keep their numbers.
  EXPECT_TRUE(kept.back().ends_with(" row " + std::to_string(rows + 900))) << kept.back();
}

/// Fails where the text of a row is one of some.
class NoSuchText : public BatchOp {
 public:
  explicit NoSuchText(std::vector<std::string> bad) : bad_(std::move(bad)) {}
  Result<std::shared_ptr<arrow::Schema>> OutputSchema(
      const std::shared_ptr<arrow::Schema>& input) const override {
    return input;
  }
  Result<Batch> Apply(Batch batch) const override {
    const auto texts = batch.rows->GetColumnByName("text");
    for (int64_t i = 0; i < texts->length(); ++i) {
      const std::string text = texts->GetScalar(i).ValueOrDie()->ToString();
      for (const std::string& bad : bad_) {
        if (text.ends_with(bad)) return RowError(batch.addresses.At(i), "a bad text");
      }
    }
    return batch;
  }
  bool keeps_rows() const override { return true; }

 private:
  const std::vector<std::string> bad_;
};

StageContract WithOp(StageContract contract, std::shared_ptr<const BatchOp> op) {
  contract.make = [make = contract.make, op](const StageContext& context) {
    return MakeMapStage(make(context).ValueOrDie(), op, context);
  };
  return contract;
}

TEST_P(PositionsTest, RowsBeforeTheErrorOfAnOpDoNotComeAgain) {
  // Rows that cannot be read are left out around it, and counted once.
  std::string text = RowsText(format_, 0, 2500) + format_.bad_row + RowsText(format_, 2500, 3210) +
                     format_.bad_row + RowsText(format_, 3210, kTextRows);
  const std::string path = Write(text);
  SourceStageOptions options = TwoColumns(format_);
  options.errors.on_error = OnError::kSkip;
  const auto sound = ContractOf(format_.open(path), options);
  const auto whole = AllRows(sound);
  const auto front = static_cast<int64_t>(RowsInFront(format_));
  ASSERT_EQ(static_cast<int64_t>(whole.size()), kTextRows + front);

  const auto fails = WithOp(sound, std::make_shared<NoSuchText>(std::vector{TextOf(3200)}));
  const Status error = CheckErrorContract(fails, 3200 + front);
  EXPECT_THAT(error.message(), HasSubstr("row " + std::to_string(3201 + front) + ": a bad text"));

  StageContext context;
  context.pool = std::make_shared<exec::ThreadPool>(2);
  const auto run = [&](const StageContract& contract, nlohmann::json* cursor) {
    auto stage = contract.make(context).ValueOrDie();
    EXPECT_TRUE(cursor->is_null() || stage->Restore(*cursor).ok());
    std::vector<std::string> rows;
    int64_t dropped = 0;
    for (;;) {
      auto batch = stage->Next();
      if (!batch.ok() || !batch->has_value()) break;
      for (auto& row : DescribeRows(**batch)) rows.push_back(std::move(row));
      for (const DropCount& count : (*batch)->dropped) dropped += count.rows;
    }
    *cursor = stage->Save().ToJson();
    return std::pair(rows, dropped);
  };
  nlohmann::json cursor;
  auto [rows, dropped] = run(fails, &cursor);
  EXPECT_EQ(dropped, 1);
  // Another error, and then none.
  const auto later = WithOp(sound, std::make_shared<NoSuchText>(std::vector{TextOf(3300)}));
  for (const auto& contract : {later, sound}) {
    const auto [more, more_dropped] = run(contract, &cursor);
    rows.insert(rows.end(), more.begin(), more.end());
    dropped += more_dropped;
  }
  EXPECT_EQ(rows, whole);
  EXPECT_EQ(dropped, 2);
}

TEST(ShuffledPositionsTest, RowsBeforeTheErrorOfAnOpDoNotComeAgain) {
  const TestFolder folder;
  const TextFormat format = TextFormats()[0];
  const std::string path = WriteAs(folder, format, "", RowsText(format, 0, kTextRows));
  for (const auto mode : {SourceShuffle::kBlocks, SourceShuffle::kGrain}) {
    SourceStageOptions options = TwoColumns(format);
    options.shuffle.mode = mode;
    options.shuffle.seed = 5;
    const auto sound = ContractOf(format.open(path), options);
    const auto whole = AllRows(sound);
    const auto bad = std::find_if(whole.begin(), whole.end(), [](const std::string& row) {
      return row.find(TextOf(3200)) != std::string::npos;
    });
    const auto before = bad - whole.begin();
    ASSERT_GT(before, 1000) << "in the first block already";
    const auto fails = WithOp(sound, std::make_shared<NoSuchText>(std::vector{TextOf(3200)}));
    const Status error = CheckErrorContract(fails, before);
    const std::string address = bad->substr(bad->find('@') + 1);
    EXPECT_THAT(error.message(), HasSubstr(address + ": a bad text"));

    StageContext context;
    context.pool = std::make_shared<exec::ThreadPool>(2);
    auto stage = fails.make(context).ValueOrDie();
    while (stage->Next().ok()) {
    }
    auto goes_on = sound;
    goes_on.make = [&, cursor = stage->Save().ToJson()](const StageContext& at) {
      auto restored = sound.make(at);
      EXPECT_TRUE((*restored)->Restore(cursor).ok());
      return restored;
    };
    EXPECT_EQ(AllRows(goes_on), std::vector<std::string>(bad, whole.end()));
  }
}

/// The rows up to an error, and the cursor that is saved then.
struct UpToError {
  std::vector<std::string> rows;
  Status error;
  nlohmann::json cursor;
};

UpToError RunToError(const StageContract& contract, const nlohmann::json& from = nullptr) {
  StageContext context;
  context.pool = std::make_shared<exec::ThreadPool>(1);
  auto stage = contract.make(context).ValueOrDie();
  EXPECT_TRUE(from.is_null() || stage->Restore(from).ok());
  UpToError out;
  for (;;) {
    auto batch = stage->Next();
    out.error = batch.status();
    if (!batch.ok() || !batch->has_value()) break;
    for (auto& row : DescribeRows(**batch)) out.rows.push_back(std::move(row));
  }
  out.cursor = stage->Save().ToJson();
  return out;
}

TEST(BrokenFilesTest, ErrorOfAJsonArrayComesAgainAfterARestart) {
  const TextFormat format = TextFormats()[3];
  const std::string rows = format.begin + RowsText(format, 0, 3000);
  const std::pair<std::string, const char*> cases[] = {
      {rows, "the JSON array has no end"},
      {rows + ", {\"i\": ", "a JSON value has no end"},
      {rows + " {}]", "',' or ']' was expected"},
      {rows + "] x", "something follows the end"}};
  for (const auto& [text, message] : cases) {
    for (const std::string suffix : {"", ".gz"}) {
      const TestFolder folder;
      const std::string path = WriteAs(folder, format, suffix, text);
      const Status error =
          CheckErrorContract(ContractOf(format.open(path), TwoColumns(format)), 3001);
      EXPECT_THAT(error.message(), HasSubstr(path + " row 3001: " + message));
    }
  }
}

#ifdef EASYDATA_FAULT_POINTS
TEST(BrokenFilesTest, NothingIsPassedOverWhereMemoryRanOut) {
  const TextFormat format = TextFormats()[0];
  const TestFolder folder;
  const std::string path = WriteAs(folder, format, "", RowsText(format, 0, kTextRows));
  for (const auto mode : {SourceShuffle::kNone, SourceShuffle::kBlocks}) {
    SourceStageOptions options = TwoColumns(format);
    options.shuffle.mode = mode;
    const auto contract = ContractOf(format.open(path), options);
    const auto whole = RunToError(contract);
    ASSERT_TRUE(whole.error.ok()) << whole.error;
    ASSERT_EQ(whole.rows.size(), static_cast<size_t>(kTextRows));
    // A worker's second allocation is for the end of the line that its first chunk ends in.
    ASSERT_TRUE(SetFaultPlan("fail:allocate@2+=12"));
    const auto first = RunToError(contract);
    const auto again = RunToError(contract, first.cursor);
    SetFaultPlan("");
    EXPECT_TRUE(first.error.IsOutOfMemory()) << first.error;
    EXPECT_THAT(first.error.message(), HasSubstr("there is no memory for a line"));
    ASSERT_GT(first.rows.size(), 400u);
    EXPECT_EQ(again.rows.size(), 0u);
    auto rows = first.rows;
    const auto rest = RunToError(contract, first.cursor);
    ASSERT_TRUE(rest.error.ok()) << rest.error;
    rows.insert(rows.end(), rest.rows.begin(), rest.rows.end());
    EXPECT_EQ(rows, whole.rows);
  }
}
#endif

TEST(JsonDocumentTest, WhiteSpaceIsNoPartOfAnyRowHoweverMuchOfIt) {
  const std::string space(5 * kChunkBytes / 2, '\n');
  const TestFolder folder;
  const auto numbers = [&](const std::string& text) {
    auto source =
        MakeJsonSource(Listed({folder.Write("a.json", text)}), JsonLayout::kAuto).ValueOrDie();
    SourceStageOptions options;
    options.columns = {{{"i", ColumnKind::kAny}}};
    std::string out;
    for (const auto& row : AllRows(ContractOf(source, options))) {
      out += row.substr(0, row.find(' ')) + row.substr(row.find(" row"));
    }
    return out;
  };
  const std::string one = "{\"i\": 1}", two = "{\"i\": 2}";
  const std::string both = "i=1 row 0i=2 row 1";
  EXPECT_EQ(numbers("[" + one + "," + two + space + "]"), both);
  EXPECT_EQ(numbers("[" + one + "," + two + "]" + space), both);
  EXPECT_EQ(numbers("[" + one + "," + two + "]" + space + "  "), both);
  EXPECT_EQ(numbers(space + "[" + one + space + "," + two + " ]"), both);
  EXPECT_EQ(numbers("[" + one + "," + space + two + "]"), both);
  EXPECT_EQ(numbers("[" + space + one + space + "," + space + two + space + "]" + space), both);
  EXPECT_EQ(numbers("[" + space + "]" + space), "");
  // Values one after the other.
  EXPECT_EQ(numbers("{\"i\":\n1}" + space + two + space), both);
}

TEST(CsvSourceTest, ReturnsEndRecordsAndLines) {
  const TestFolder folder;
  std::string text = "i,text\r";
  for (int i = 0; i < 3000; ++i) {
    text += std::to_string(i) + "," + (i % 5 == 0 ? "\"a\rb\"" : TextOf(i)) + "\r";
  }
  const std::string path = folder.Write("a.csv", text + "1,2,3\r");
  const Status error = CheckErrorContract(
      ContractOf(MakeCsvSource(Listed({path}), CsvDialect()).ValueOrDie(), {}), 3000);
  EXPECT_THAT(error.message(), HasSubstr("row 3000: line 3602: the record has 3 fields"));
}

}  // namespace
}  // namespace easydata::source
