#include "easydata/sink/output_metadata.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "easydata/storage/open_output_store.h"

namespace easydata::sink {
namespace {

namespace fs = std::filesystem;

class OutputMetadataTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto* info = ::testing::UnitTest::GetInstance()->current_test_info();
    folder_ = fs::temp_directory_path() /
              ("easydata_metadata_" + std::string(info->name()) + std::to_string(::getpid()));
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  void Put(const std::string& name, const std::string& text) const {
    std::ofstream(folder_ / name, std::ios::binary) << text;
  }
  static nlohmann::json Shard(const std::string& name) {
    return {
        {"name", name}, {"rows", 3}, {"tokens", 12}, {"bytes", 5}, {"xxh3", "0123456789abcdef"}};
  }
  static nlohmann::json Metadata(nlohmann::json shards) {
    return {{"kind", "easydata.output"}, {"metadata_version", 1}, {"shards", std::move(shards)}};
  }
  // Compilers differ on what {json} is: a list of one, or the one.
  static nlohmann::json Metadata(std::initializer_list<nlohmann::json> shards) {
    return Metadata(nlohmann::json(nlohmann::json::array_t(shards)));
  }
  Result<std::optional<OutputMetadata>> Read() const {
    ARROW_ASSIGN_OR_RAISE(const auto store, storage::OpenOutputStore(folder_.string()));
    return ReadOutputMetadata(*store);
  }

  fs::path folder_;
};

TEST_F(OutputMetadataTest, ReadsWhatWasWritten) {
  auto none = Read();
  ASSERT_TRUE(none.ok());
  EXPECT_FALSE(none->has_value());
  Put(".metadata.json", Metadata({Shard("a.parquet"), Shard("b.parquet")}).dump(2));
  auto read = Read();
  ASSERT_TRUE(read.ok()) << read.status();
  ASSERT_EQ((*read)->shards.size(), 2u);
  EXPECT_EQ((*read)->shards[1].name, "b.parquet");
  EXPECT_EQ((*read)->shards[1].rows, 3);
  EXPECT_EQ((*read)->shards[1].tokens, 12);
  EXPECT_EQ((*read)->shards[1].bytes, 5);
  EXPECT_EQ((*read)->shards[1].hash, "0123456789abcdef");
}

TEST_F(OutputMetadataTest, AFileOfTheUserIsNotOurs) {
  for (const char* text :
       {"[]", "{}", "{\"metadata_version\": 1}", "{\"kind\": \"easydata.output\"}",
        "{\"kind\": 3, \"version\": 1}", "{\"shards\": [{\"name\": \"../x\"}]}"}) {
    Put(".metadata.json", text);
    auto read = Read();
    ASSERT_TRUE(read.ok()) << text << read.status();
    EXPECT_FALSE(read->has_value()) << text;
  }
  // metadata.json is not even opened, whatever it is: a pipe would block for ever.
  fs::remove(folder_ / ".metadata.json");
  ASSERT_EQ(::mkfifo((folder_ / "metadata.json").c_str(), 0600), 0);
  auto read = Read();
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_FALSE(read->has_value());
}

TEST_F(OutputMetadataTest, NamesOutsideTheFolderAreRefused) {
  Put("shard-00000.parquet", "x");
  fs::create_symlink("/etc/passwd", folder_ / "link.parquet");
  fs::create_directories(folder_ / "sub");
  Put("sub/shard.parquet", "x");
  ASSERT_EQ(::mkfifo((folder_ / "pipe").c_str(), 0600), 0);
  const std::vector<std::string> names = {"../x",
                                          "/etc/passwd",
                                          "..",
                                          ".",
                                          "",
                                          "sub/shard.parquet",
                                          "sub",
                                          "link.parquet",
                                          "pipe",
                                          ".metadata.json",
                                          "metadata.json",
                                          std::string("a\0b", 3)};
  for (const std::string& name : names) {
    Put(".metadata.json", Metadata({Shard("shard-00000.parquet"), Shard(name)}).dump());
    auto read = Read();
    ASSERT_TRUE(read.status().IsInvalid()) << name;
    const std::string path = folder_.string() + "/.metadata.json";
    EXPECT_NE(read.status().message().find(path + " is damaged"), std::string::npos)
        << read.status();
  }
}

TEST_F(OutputMetadataTest, DamagedValuesAreRefused) {
  const auto expect_refused = [&](const std::string& text) {
    Put(".metadata.json", text);
    auto read = Read();
    EXPECT_TRUE(read.status().IsInvalid()) << text << " " << read.status();
  };
  for (const char* key : {"name", "rows", "tokens", "bytes", "xxh3"}) {
    nlohmann::json shard = Shard("a");
    shard.erase(key);
    expect_refused(Metadata({shard}).dump());
    for (const nlohmann::json& value :
         {nlohmann::json(-1), nlohmann::json(1.5), nlohmann::json(nullptr), nlohmann::json("x"),
          nlohmann::json::array(), nlohmann::json::object(), nlohmann::json(true),
          nlohmann::json(uint64_t{1} << 63)}) {
      if (std::string(key) == "name" && value.is_string()) continue;
      shard[key] = value;
      expect_refused(Metadata({shard}).dump());
    }
  }
  expect_refused(Metadata({Shard("a"), Shard("a")}).dump());
  expect_refused(Metadata("all").dump());
  expect_refused(Metadata({1}).dump());
  nlohmann::json other = Metadata(nlohmann::json::array());
  for (const nlohmann::json& version : {nlohmann::json(0), nlohmann::json(2), nlohmann::json("1"),
                                        nlohmann::json(-1), nlohmann::json(nullptr)}) {
    other["metadata_version"] = version;
    expect_refused(other.dump());
  }
  // Cut anywhere, it is not taken for the user's.
  const std::string whole = Metadata({Shard("a")}).dump(2);
  for (size_t size = 0; size < whole.size(); ++size) expect_refused(whole.substr(0, size));
  // Nor does depth end the process.
  expect_refused("{\"kind\": \"easydata.output\", \"metadata_version\": 1, \"shards\": " +
                 std::string(2'000'000, '[') + std::string(2'000'000, ']') + "}");
  expect_refused(Metadata({Shard("\\ud800")}).dump() + "\"\\ud800\"");
  fs::remove(folder_ / ".metadata.json");
  fs::create_symlink("/etc/passwd", folder_ / ".metadata.json");
  EXPECT_TRUE(Read().status().IsInvalid());
}

}  // namespace
}  // namespace easydata::sink
