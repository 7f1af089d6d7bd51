#include <arrow/builder.h>
#include <arrow/io/file.h>
#include <arrow/ipc/writer.h>
#include <arrow/record_batch.h>
#include <arrow/util/compression.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <random>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "easydata/base/nearest_name.h"
#include "easydata/files/compression.h"
#include "easydata/json/python_json.h"
#include "easydata/source/concat_stage.h"
#include "easydata/source/data_format.h"
#include "easydata/source/file_sources.h"
#include "easydata/source/line_chunk.h"
#include "easydata/source/test_files.h"

namespace easydata::source {
namespace {

std::string CsvText(int rows) {
  std::string out = "id,text\r\n";
  std::mt19937 random(3);
  for (int i = 0; i < rows; ++i) {
    out += std::to_string(i) + ",";
    if (i % 3 == 0) {
      out += "\"a \"\"" + std::string(random() % 3000, 'q') + "\n, b\"";
    } else {
      out += std::string(random() % 3000, 'p');
    }
    out += i % 5 == 0 ? "\r\n\n" : "\n";
  }
  return out;
}

TEST(CsvSourceTest, KeepsTheContract) {
  TestFolder folder;
  auto source =
      MakeCsvSource(Listed({folder.Write("a.csv", CsvText(2500)),
                            folder.Write("b.csv", "id,text\n"), folder.Write("c.csv", CsvText(3))}),
                    CsvDialect())
          .ValueOrDie();
  CheckStageContract(ContractOf(source, {}));
}

TEST(CsvDialectTest, TakesNoPartOfACharacterForOne) {
  // "\xdd" begins the two bytes of a character: what is before and behind it would not be UTF-8.
  CsvOptions options;
  options.delimiter = "\xdd";
  EXPECT_THAT(MakeCsvDialect(options, ',').status().message(),
              testing::HasSubstr("delimiter: must be one ASCII character"));
  options.delimiter = ";";
  options.quotechar = "\x86";
  EXPECT_THAT(MakeCsvDialect(options, ',').status().message(),
              testing::HasSubstr("quotechar: must be one ASCII character"));
  options.quotechar = "'";
  EXPECT_TRUE(MakeCsvDialect(options, ',').ok());
}

TEST(TextSourceTest, KeepsTheContract) {
  TestFolder folder;
  std::string text;
  std::mt19937 random(5);
  for (int i = 0; i < 3000; ++i) text += std::string(random() % 2000, 'x') + "\n";
  auto source =
      MakeTextSource(Listed({folder.Write("a.txt", text), folder.Write("b.txt", "\n\n")}), "t")
          .ValueOrDie();
  CheckStageContract(ContractOf(source, {}));
}

TEST(TextSourceTest, ParagraphsAndDocumentsKeepTheContract) {
  TestFolder folder;
  std::string text = "\n\n\n";
  std::mt19937 random(5);
  for (int i = 0; i < 3000; ++i) text += std::string(random() % 2000, 'x') + "\r\n\n";
  const auto files = Listed({folder.Write("a.txt", text), folder.Write("b.txt", "\n\n"),
                             folder.Write("c.txt", ""), folder.Write("d.txt", "one\n\ntwo")});
  for (const TextUnit unit : {TextUnit::kParagraph, TextUnit::kDocument}) {
    CheckStageContract(ContractOf(MakeTextSource(files, "t", unit).ValueOrDie(), {}));
  }
}

TEST(PartitionedSourceTest, KeepsTheContract) {
  TestFolder folder;
  const auto files = Listed(
      {folder.Write("lang=de/a.csv", CsvText(2500)), folder.Write("lang=en/a.csv", CsvText(3))});
  auto source = MakeSource("csv", files, {{"hive_partitioning", true}}).ValueOrDie();
  CheckStageContract(ContractOf(source, {}));
}

TEST(TextSourceTest, ErrorsOfColumnsNameTheFile) {
  TestFolder folder;
  const std::string path = folder.Write("a.txt", "one\n");
  const auto source = MakeTextSource(Listed({path}), "text").ValueOrDie();
  const Columns columns = std::vector<ColumnRequest>{{"txet"}};
  const Status status = source->Schema(columns, 0).status();
  EXPECT_TRUE(status.IsKeyError());
  EXPECT_NE(status.message().find(path + " has no column \"txet\""), std::string::npos) << status;
}

TEST(TextSourceTest, LineThatIsNotUtf8IsNamedAfterTheLinesBeforeIt) {
  TestFolder folder;
  auto source =
      MakeTextSource(Listed({folder.Write("a.txt", "one\ntwo\nthr\xe9\xe9\nfour\n")}), "t")
          .ValueOrDie();
  const Status error = CheckErrorContract(ContractOf(source, {}), 2);
  EXPECT_NE(error.message().find("row 2: line 3: not UTF-8 at byte 4"), std::string::npos) << error;
}

TEST(JsonDocumentTest, KeepsTheContract) {
  TestFolder folder;
  std::string array = "[", sequence;
  for (int i = 0; i < 4000; ++i) {
    const std::string object =
        "{\n \"i\": " + std::to_string(i) + ", \"text\": \"" + std::string(i % 1500, '}') + "\"\n}";
    array += (i == 0 ? "" : " ,\n") + object;
    sequence += object + "\n";
  }
  auto source =
      MakeJsonSource(
          Listed({folder.Write("a.json", array + "\n]"), folder.Write("b.json", sequence)}),
          JsonLayout::kAuto)
          .ValueOrDie();
  CheckStageContract(ContractOf(source, {}));
}

std::string WriteArrow(const TestFolder& folder, const std::string& name, int rows, int batch_rows,
                       bool stream) {
  auto schema = arrow::schema({arrow::field("text", arrow::utf8())});
  auto out = arrow::io::FileOutputStream::Open(folder.Path(name)).ValueOrDie();
  auto writer =
      (stream ? arrow::ipc::MakeStreamWriter(out, schema) : arrow::ipc::MakeFileWriter(out, schema))
          .ValueOrDie();
  for (int i = 0; i < rows; i += batch_rows) {
    arrow::StringBuilder builder;
    const int count = std::min(batch_rows, rows - i);
    for (int k = 0; k < count; ++k) {
      EXPECT_TRUE(builder.Append(std::to_string(i + k) + std::string(700, 'x')).ok());
    }
    EXPECT_TRUE(writer
                    ->WriteRecordBatch(
                        *arrow::RecordBatch::Make(schema, count, {builder.Finish().ValueOrDie()}))
                    .ok());
  }
  EXPECT_TRUE(writer->Close().ok());
  EXPECT_TRUE(out->Close().ok());
  return folder.Path(name);
}

TEST(ArrowSourceTest, KeepsTheContract) {
  TestFolder folder;
  // Batches larger than a slice, of one row, and none.
  auto source = MakeArrowSource(Listed({WriteArrow(folder, "a.arrow", 20000, 9000, false),
                                        WriteArrow(folder, "b.arrow", 9, 1, true),
                                        WriteArrow(folder, "c.arrow", 0, 1, false),
                                        WriteArrow(folder, "d.arrow", 9000, 8000, true)}))
                    .ValueOrDie();
  CheckStageContract(ContractOf(source, {}));
}

TEST(ConcatStageTest, KeepsTheContractAndRenamesShards) {
  TestFolder folder;
  auto plan = [&](const std::string& name, int lines) {
    std::string text;
    for (int i = 0; i < lines; ++i) text += name + std::to_string(i) + "\n";
    auto source = MakeTextSource(Listed({folder.Write(name, text)}), "t").ValueOrDie();
    return SourcePlan(source, {}).ValueOrDie();
  };
  std::vector<ConcatPart> parts;
  parts.push_back({plan("a.txt", 5), {{folder.Path("a.txt"), "other"}}});
  parts.push_back({plan("b.txt", 0), {}});
  parts.push_back({plan("c.txt", 7), {}});
  StageContract contract;
  contract.make = ConcatPlan(parts).make;
  CheckStageContract(contract);
  const auto rows = AllRows(contract);
  ASSERT_EQ(rows.size(), 12u);
  EXPECT_EQ(rows[1], "t=a.txt1 @other row 1");
}

TEST(CompressionTest, EveryCutOfAGzipFileGivesItsWholeLinesAndThenAnError) {
  TestFolder folder;
  std::string text;
  for (int i = 0; i < 3000; ++i) text += std::to_string(i * 7919 % 10007) + "\n";
  auto codec = arrow::util::Codec::Create(arrow::Compression::GZIP).ValueOrDie();
  auto packed = std::string(codec->MaxCompressedLen(text.size(), nullptr), '\0');
  packed.resize(codec
                    ->Compress(text.size(), reinterpret_cast<const uint8_t*>(text.data()),
                               packed.size(), reinterpret_cast<uint8_t*>(packed.data()))
                    .ValueOrDie());
  for (size_t size : {packed.size() / 3, packed.size() / 2, packed.size() - 1}) {
    auto source =
        MakeTextSource(Listed({folder.Write("a.gz", packed.substr(0, size))}), "t").ValueOrDie();
    auto stage = SourcePlan(source, {})
                     .ValueOrDie()
                     .make({0, std::make_shared<exec::ThreadPool>(2)})
                     .ValueOrDie();
    int64_t rows = 0;
    Status error;
    for (;;) {
      auto batch = stage->Next();
      error = batch.status();
      if (!batch.ok() || !batch->has_value()) break;
      rows += (*batch)->num_rows();
    }
    EXPECT_TRUE(error.IsIOError()) << error;
    EXPECT_NE(error.message().find("cut short"), std::string::npos) << error;
    EXPECT_GT(rows, static_cast<int64_t>(3000 * size / packed.size() / 2));
  }
}

TEST(PythonJsonTest, NamesThePositionOfAFault) {
  const std::pair<const char*, size_t> cases[] = {
      {"{\"a\": nope}", 6}, {"{\"a\": 1", 7}, {"{\"a\" 1}", 5}, {"{a: 1}", 1},
      {"{} x", 3},          {"[1,]", 3},      {"\"\x01\"", 1},  {"{\"a\":\"\xff\"}", 6}};
  for (const auto& [text, position] : cases) {
    std::string kind;
    json::JsonFault fault;
    EXPECT_FALSE(json::ReadPythonJson(text, &kind, nullptr, &fault)) << text;
    EXPECT_EQ(fault.position, position) << text << ": " << fault.message;
  }
}

TEST(ExpandFilesTest, NearMissesAreNamed) {
  EXPECT_EQ(DidYouMean("trian", {"train", "test"}), "; did you mean train?");
  EXPECT_EQ(DidYouMean("zzz", {"train"}), "");
  EXPECT_EQ(FormatOfName("a/B.JSONL.GZ"), "jsonl");
  EXPECT_EQ(FormatOfName("a.gz"), "");
}

TEST(DataFormatTest, EveryFormatOfTheListIsItsOwn) {
  std::set<std::string_view> seen;
  std::vector<std::string> names;
  for (const DataFormat* format : DataFormats()) {
    names.emplace_back(format->name);
    EXPECT_NE(FindFormat(format->kind), nullptr) << format->kind;
    for (const std::string_view suffix : format->suffixes) {
      if (suffix.empty()) continue;
      EXPECT_EQ(suffix[0], '.');
      EXPECT_TRUE(seen.insert(suffix).second) << suffix << " is of two formats";
      EXPECT_EQ(FormatOfName("a" + std::string(suffix) + ".zst"), format->name);
    }
  }
  EXPECT_EQ(names, DataFormatNames());
  EXPECT_EQ(FindFormat("ndjson"), &kJsonlFormat);
  EXPECT_EQ(FindFormat("docx"), nullptr);
}

TEST(DataFormatTest, MakesSourcesByNameAndRefusesWhatItDoesNotKnow) {
  const TestFolder folder;
  const auto files = Listed({folder.Write("a.tsv", "n\tt\n1\tx\n")});
  const auto source = MakeSource("tsv", files, nlohmann::json::object()).ValueOrDie();
  EXPECT_EQ(source->Describe()["delimiter"], "\t");
  const auto semicolons = MakeSource("csv", files, {{"delimiter", ";"}}).ValueOrDie();
  EXPECT_EQ(semicolons->Describe()["delimiter"], ";");
  const auto message = [&](std::string_view format, const nlohmann::json& options) {
    return MakeSource(format, files, options).status().message();
  };
  EXPECT_EQ(message("parquett", nlohmann::json::object()),
            "there is no format \"parquett\" of data files; did you mean \"parquet\"?");
  EXPECT_EQ(message("csv", {{"delimeter", ","}}),
            "files of format \"csv\" have no option \"delimeter\"; did you mean \"delimiter\"?");
  EXPECT_TRUE(MakeSource("csv", files, {{"delimiter", 5}}).status().IsTypeError());
}

}  // namespace
}  // namespace easydata::source
