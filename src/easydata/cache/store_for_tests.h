#pragma once

#include <arrow/array.h>
#include <arrow/builder.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "easydata/cache/folder_store.h"
#include "easydata/cache/open_folder.h"
#include "easydata/cache/token_store.h"

namespace easydata::cache {

/// A store in a folder of its own, and blocks that are told by a number.
class StoreTest : public ::testing::Test {
 protected:
  StoreTest() {
    const std::filesystem::path parent =
        std::filesystem::exists("/dev/shm") ? "/dev/shm" : std::filesystem::temp_directory_path();
    std::string name = (parent / "easydata-store-XXXXXX").string();
    EXPECT_NE(mkdtemp(name.data()), nullptr);
    root_ = name;
  }
  ~StoreTest() override { std::filesystem::remove_all(root_); }

  std::filesystem::path Folder() const { return root_ / "store"; }

  std::shared_ptr<TokenStore> Open(const TokenStoreOptions& options = {}) const {
    return TokenStore::Open(Folder().string(), options).ValueOrDie();
  }

  static BlockKey KeyOf(int block, int plan = 0) {
    // Hashes have all their bits.
    const auto mixed = [](uint64_t value) { return (value + 1) * 0x9E3779B97F4A7C15u; };
    const auto p = static_cast<uint64_t>(plan), b = static_cast<uint64_t>(block);
    return {.plan = {mixed(p), mixed(p + 1000)}, .block = {mixed(b + p * 77), mixed(b + p * 991)}};
  }
  static std::string FactsOf(int block) { return "facts " + std::to_string(block); }
  static std::shared_ptr<arrow::Schema> Schema() {
    static const auto schema =
        arrow::schema({arrow::field("input_ids", arrow::list(arrow::int32()))});
    return schema;
  }
  /// `tokens` of them, in rows of ten.
  static KeptBlock BlockOf(int block, int tokens = 200) {
    auto values = std::make_shared<arrow::Int32Builder>();
    arrow::ListBuilder ids(arrow::default_memory_pool(), values);
    for (int i = 0; i < tokens; ++i) {
      EXPECT_TRUE(i % 10 != 0 || ids.Append().ok());
      EXPECT_TRUE(values->Append(block * 1000 + i).ok());
    }
    const auto column = ids.Finish().ValueOrDie();
    return {.rows = arrow::RecordBatch::Make(Schema(), column->length(), {column}),
            .facts = FactsOf(block),
            .notes = "notes"};
  }

  static BlockStore::Found Find(BlockStore* store, int block, int plan = 0) {
    auto found = store->Find(KeyOf(block, plan), Schema());
    EXPECT_TRUE(found.ok()) << found.status();
    return *std::move(found);
  }
  /// Makes a block that is not there.
  static void Make(BlockStore* store, int block, int tokens = 200, int plan = 0) {
    const auto found = Find(store, block, plan);
    EXPECT_FALSE(found.block.has_value()) << block;
    ASSERT_NE(found.claim, nullptr) << block;
    found.claim->Put(BlockOf(block, tokens));
  }
  /// Whether a block is there, as it was put.
  static bool IsKept(BlockStore* store, int block, int tokens = 200, int plan = 0) {
    const auto found = Find(store, block, plan);
    EXPECT_NE(found.block.has_value(), found.claim != nullptr);
    if (!found.block.has_value()) return false;
    const KeptBlock wanted = BlockOf(block, tokens);
    EXPECT_TRUE(found.block->rows->Equals(*wanted.rows, true)) << block;
    EXPECT_EQ(found.block->facts, wanted.facts);
    EXPECT_EQ(found.block->notes, wanted.notes);
    return true;
  }
  static void ExpectKept(BlockStore* store, int block, int tokens = 200, int plan = 0) {
    EXPECT_TRUE(IsKept(store, block, tokens, plan)) << block;
  }

  std::vector<std::filesystem::path> FilesOf(const std::string& suffix) const {
    std::vector<std::filesystem::path> out;
    if (!std::filesystem::exists(Folder())) return out;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(Folder())) {
      if (entry.path().string().ends_with(suffix)) out.push_back(entry.path());
    }
    std::sort(out.begin(), out.end());
    return out;
  }
  std::vector<std::filesystem::path> TokenFiles() const { return FilesOf(".tokens"); }

  static std::string Content(const std::filesystem::path& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  }
  static void Overwrite(const std::filesystem::path& path, const std::string& content) {
    std::ofstream(path, std::ios::binary | std::ios::trunc) << content;
  }

  std::shared_ptr<FolderStore> OpenWith(const StoreTimes& times,
                                        const TokenStoreOptions& options = {}) const {
    auto folder = OpenStoreFolder(Folder().string(), nullptr).ValueOrDie();
    auto store =
        std::make_shared<FolderStore>(std::move(folder), Folder().string(), options, times);
    EXPECT_TRUE(store->Start().ok());
    return store;
  }

  /// A folder with blocks 0 to `count` - 1.
  void Fill(int count) {
    auto store = Open();
    for (int i = 0; i < count; ++i) Make(store.get(), i);
  }
  /// One file a block, oldest first.
  std::vector<std::filesystem::path> FillOneByOne(int count) {
    std::vector<std::filesystem::path> files;
    auto store = Open();
    for (int i = 0; i < count; ++i) {
      Make(store.get(), i);
      EXPECT_TRUE(store->Flush().ok());
      for (const std::filesystem::path& path : TokenFiles()) {
        if (std::find(files.begin(), files.end(), path) == files.end()) files.push_back(path);
      }
    }
    return files;
  }
  int NumKept(BlockStore* store, int count) {
    int kept = 0;
    for (int i = 0; i < count; ++i) kept += store->Facts(KeyOf(i)).has_value() ? 1 : 0;
    return kept;
  }
  int64_t BytesOfFiles() const {
    int64_t bytes = 0;
    for (const std::filesystem::path& path : TokenFiles())
      bytes += static_cast<int64_t>(std::filesystem::file_size(path));
    return bytes;
  }
  static void UsedBefore(const std::filesystem::path& path, std::chrono::seconds age) {
    std::filesystem::last_write_time(path, std::filesystem::file_time_type::clock::now() - age);
  }

  std::filesystem::path root_;
};

}  // namespace easydata::cache
