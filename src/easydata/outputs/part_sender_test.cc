#include "easydata/outputs/part_sender.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>
#include <string>
#include <thread>

#include "easydata/exec/stop_scope.h"
#include "easydata/outputs/object_upload.h"

namespace easydata::outputs {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

/// A store in memory, which knows of uploads alone.
class UploadStore final : public stores::ObjectStore {
 public:
  explicit UploadStore(int at_once) : stores::ObjectStore(http::HttpOptions()), at_once_(at_once) {}

  const char* scheme() const override { return "s3"; }
  Result<std::string> UrlOf(const std::string& uri) const override { return uri; }
  Status Authorize(http::HttpRequest*) const override { return Status::OK(); }
  Result<stores::ObjectPage> AskForPage(const std::string&, const std::string&, bool,
                                        const std::string&) const override {
    return stores::ObjectPage();
  }
  Status Put(const std::string& uri, std::string_view content) const override {
    std::lock_guard<std::mutex> lock(mutex_);
    objects_[uri] = content;
    return Status::OK();
  }
  Result<bool> PutIfAbsent(const std::string&, std::string_view) const override { return true; }
  Status Delete(const std::string&) const override { return Status::OK(); }
  Status Copy(const std::string&, const std::string&) const override { return Status::OK(); }
  Result<std::string> StartUpload(const std::string&) const override {
    std::lock_guard<std::mutex> lock(mutex_);
    const std::string id = "upload " + std::to_string(++begun_);
    open_[id] = {};
    return id;
  }
  Result<stores::UploadedPart> UploadPart(const std::string& uri, const std::string& id, int number,
                                          int64_t offset, std::string_view content,
                                          bool is_last) const override {
    most_ = std::max(most_.load(), ++under_way_);
    while (stalls_ && !exec::StopScope::Stopped()) usleep(1000);
    usleep(1000 * (number % 3));
    --under_way_;
    if (exec::StopScope::Stopped()) return Status::Cancelled("it was stopped");
    if (number == fails_at_) return Status::IOError("no part ", number, " of ", uri);
    std::lock_guard<std::mutex> lock(mutex_);
    EXPECT_TRUE(open_.contains(id)) << "a part after the end";
    if (!is_last) {
      EXPECT_EQ(static_cast<int64_t>(content.size()), PartSize(number));
    }
    open_[id][offset] = content;
    has_last_ |= is_last;
    return stores::UploadedPart{number, std::to_string(number),
                                static_cast<int64_t>(content.size())};
  }
  Status CompleteUpload(const std::string& uri, const std::string& id,
                        const std::vector<stores::UploadedPart>& parts) const override {
    std::lock_guard<std::mutex> lock(mutex_);
    for (size_t i = 0; i < parts.size(); ++i) EXPECT_EQ(parts[i].number, static_cast<int>(i) + 1);
    std::string content;
    for (const auto& [offset, part] : open_[id]) content += part;
    objects_[uri] = std::move(content);
    open_.erase(id);
    return Status::OK();
  }
  Status AbortUpload(const std::string&, const std::string& id) const override {
    std::lock_guard<std::mutex> lock(mutex_);
    open_.erase(id);
    return Status::OK();
  }
  Result<std::vector<stores::OpenUpload>> ListUploads(const std::string&) const override {
    return std::vector<stores::OpenUpload>();
  }
  int parts_in_flight() const override { return at_once_; }

  const int at_once_;
  std::atomic<bool> stalls_ = false;
  int fails_at_ = 0;
  mutable std::mutex mutex_;
  mutable int begun_ = 0;
  mutable bool has_last_ = false;  // with which an object of Google's store comes to be
  mutable std::atomic<int> under_way_ = 0, most_ = 0;
  mutable std::map<std::string, std::map<int64_t, std::string>> open_;
  mutable std::map<std::string, std::string> objects_;
};

std::string Content(size_t size) {
  std::string content(size, '\0');
  for (size_t i = 0; i < size; ++i) content[i] = static_cast<char>(i * 2654435761U >> 13);
  return content;
}

class PartSenderTest : public ::testing::TestWithParam<int> {
 protected:
  std::unique_ptr<ObjectUpload> Open(const std::string& uri, bool in_file = false) const {
    return std::make_unique<ObjectUpload>(store_, sender_, uri, in_file);
  }

  const std::shared_ptr<UploadStore> store_ = std::make_shared<UploadStore>(GetParam());
  const std::shared_ptr<PartSender> sender_ = std::make_shared<PartSender>(store_);
};

TEST_P(PartSenderTest, AnObjectComesToBeWhenItIsComplete) {
  const std::string content = Content((5 << 24) + 1000);
  for (const size_t size : {size_t{0}, size_t{1000}, size_t{1} << 24, (size_t{1} << 24) + 1,
                            size_t{2} << 24, content.size()}) {
    const std::string expected = content.substr(0, size);
    const auto upload = Open("s3://a/b", /*in_file=*/size % 2 == 1);
    for (size_t at = 0; at < size; at += 3'000'000) {
      ASSERT_TRUE(upload->Write(expected.substr(at, 3'000'000)).ok());
    }
    ASSERT_TRUE(upload->Close().ok());
    EXPECT_FALSE(store_->objects_.contains("s3://a/b") || store_->has_last_) << size;
    ASSERT_TRUE(upload->Complete().ok());
    EXPECT_TRUE(store_->objects_["s3://a/b"] == expected) << size;
    EXPECT_EQ(store_->has_last_, size > size_t{1} << 24);
    store_->objects_.clear();
    store_->has_last_ = false;
  }
  EXPECT_THAT(store_->open_, IsEmpty());
  EXPECT_LE(store_->most_, GetParam());
}

TEST_P(PartSenderTest, SeveralUploadsShareTheLimit) {
  const std::string content = Content((2 << 24) + 5);
  std::vector<std::unique_ptr<ObjectUpload>> uploads;
  for (int i = 0; i < 3; ++i) uploads.push_back(Open("s3://a/" + std::to_string(i), i % 2 == 0));
  for (size_t at = 0; at < content.size(); at += 5'000'000) {
    for (const auto& upload : uploads) {
      ASSERT_TRUE(upload->Write(content.substr(at, 5'000'000)).ok());
    }
  }
  for (const auto& upload : uploads) {
    ASSERT_TRUE(upload->Close().ok());
    ASSERT_TRUE(upload->Complete().ok());
  }
  EXPECT_EQ(store_->objects_.size(), 3u);
  for (const auto& [uri, found] : store_->objects_) EXPECT_TRUE(found == content) << uri;
  EXPECT_LE(store_->most_, PartSender::kMostAtOnce);
}

TEST_P(PartSenderTest, TellsWhatFailed) {
  store_->fails_at_ = 2;
  const std::string content = Content(1 << 24);
  const auto upload = Open("s3://a/b");
  Status status;
  for (int i = 0; i < 9 && status.ok(); ++i) status = upload->Write(content);
  if (status.ok()) status = upload->Close();
  EXPECT_THAT(status.message(), HasSubstr("no part 2 of s3://a/b"));
  EXPECT_EQ(store_->open_.size(), 1u);
  EXPECT_TRUE(sender_->AbortAll().ok());
  EXPECT_THAT(store_->open_, IsEmpty());
  EXPECT_THAT(store_->objects_, IsEmpty());
}

TEST_P(PartSenderTest, StopsWhatIsUnderWay) {
  store_->stalls_ = true;
  const std::string content = Content(1 << 24);
  const auto upload = Open("s3://a/b");
  std::atomic<bool> stopped = false;
  std::thread writer([&] {
    const exec::StopScope stopping(&stopped);
    Status status;
    while (status.ok()) status = upload->Write(content);
    EXPECT_TRUE(status.IsCancelled()) << status;
  });
  while (store_->under_way_ == 0) usleep(1000);
  stopped = true;
  writer.join();
  EXPECT_TRUE(sender_->AbortAll().ok());
  EXPECT_EQ(store_->under_way_, 0);
  EXPECT_THAT(store_->open_, IsEmpty());
}

INSTANTIATE_TEST_SUITE_P(PartsAtOnce, PartSenderTest, ::testing::Values(1, 4));

}  // namespace
}  // namespace easydata::outputs
