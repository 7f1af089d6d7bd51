#include "easydata/stream/window_position.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace easydata {
namespace {

struct NumberedWindow {
  ReadPosition start;
  int64_t number = 0;
};

/// Gives the numbers of a list window by window, each window backwards.
class Backwards {
 public:
  explicit Backwards(std::vector<int> numbers, int64_t window = 3)
      : numbers_(std::move(numbers)), size_(window) {}

  /// -1 at the end.
  Result<int> Next() {
    if (position_.done()) ARROW_RETURN_NOT_OK(Open());
    if (position_.done()) return -1;
    const int64_t row = position_.num_rows() - 1 - position_.next();
    position_.Advance();
    return window_[row];
  }

  nlohmann::json Save() const {
    return position_
        .Save([this] { return NextWindow(); },
              [](const NumberedWindow& window, nlohmann::json* cursor) {
                (*cursor)["n"] = window.number;
              })
        .ToJson();
  }

  void Restore(const nlohmann::json& cursor) {
    const auto start = ReadPosition::FromJson(cursor);
    at_ = start.records;
    position_.Restore({start, cursor.at("n").get<int64_t>()}, cursor);
  }

  int fails_at = -1;
  std::vector<bool> restored;     // of the windows that were begun
  std::vector<bool> passes_over;  // of the windows that were read

 private:
  NumberedWindow NextWindow() const {
    const int64_t number = position_.window().number + (position_.num_rows() > 0 ? 1 : 0);
    return {{Cursor(nlohmann::json("here")), at_}, number};
  }

  Status Open() {
    restored.push_back(position_.Begin([this] { return NextWindow(); }));
    window_.clear();
    while (at_ < std::ssize(numbers_) && std::ssize(window_) < size_) {
      if (at_ == fails_at) return Status::IOError("failed");
      window_.push_back(numbers_[at_++]);
    }
    passes_over.push_back(position_.passes_over());
    return position_.Open(std::ssize(window_), "numbers");
  }

  const std::vector<int> numbers_;
  const int64_t size_;
  int64_t at_ = 0;
  std::vector<int> window_;
  WindowPosition<NumberedWindow> position_;
};

std::vector<int> Rest(Backwards* reader) {
  std::vector<int> rest;
  for (;;) {
    const int next = reader->Next().ValueOrDie();
    if (next < 0) return rest;
    rest.push_back(next);
  }
}

const std::vector<int> kNumbers = {0, 1, 2, 3, 4, 5, 6};

TEST(WindowPositionTest, SaysWhichWindowIsReadAgainAndHowMuchOfItIsOut) {
  Backwards reader(kNumbers);
  const auto at = [](int records, int rows, int number) {
    return nlohmann::json{
        {"upstream", "here"}, {"records", records}, {"rows", rows}, {"n", number}};
  };
  EXPECT_EQ(reader.Save(), at(0, 0, 0));
  EXPECT_EQ(reader.Next().ValueOrDie(), 2);
  EXPECT_EQ(reader.Save(), at(0, 1, 0));
  EXPECT_EQ(reader.Next().ValueOrDie(), 1);
  EXPECT_EQ(reader.Next().ValueOrDie(), 0);
  EXPECT_EQ(reader.Save(), at(3, 0, 1));  // between two windows: at the beginning of the next one
  EXPECT_EQ(reader.Next().ValueOrDie(), 5);
  EXPECT_EQ(reader.Save(), at(3, 1, 1));
  EXPECT_EQ(Rest(&reader), (std::vector<int>{4, 3, 6}));
  EXPECT_EQ(reader.Save(), at(7, 0, 3));
  EXPECT_EQ(Rest(&reader), std::vector<int>());
  EXPECT_EQ(reader.Save(), at(7, 0, 3));
  EXPECT_EQ(reader.restored, std::vector<bool>(5, false));
}

TEST(WindowPositionTest, GoesOnFromEveryPosition) {
  for (int taken = 0; taken <= std::ssize(kNumbers); ++taken) {
    Backwards reader(kNumbers);
    for (int i = 0; i < taken; ++i) ASSERT_TRUE(reader.Next().ok());
    const nlohmann::json saved = reader.Save();
    const auto rest = Rest(&reader);
    Backwards restored(kNumbers);
    restored.Restore(saved);
    EXPECT_EQ(restored.Save(), saved);
    EXPECT_EQ(Rest(&restored), rest) << saved;
    EXPECT_EQ(restored.Save(), reader.Save());
    // The rows before the save are passed over in the first window alone.
    EXPECT_TRUE(restored.restored[0]);
    EXPECT_EQ(restored.passes_over[0], saved["rows"] > 0) << saved;
    for (size_t i = 1; i < restored.restored.size(); ++i) {
      EXPECT_FALSE(restored.restored[i] || restored.passes_over[i]);
    }
  }
}

TEST(WindowPositionTest, StaysAtAWindowThatCannotBeRead) {
  Backwards reader(kNumbers);
  reader.fails_at = 4;
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(reader.Next().ok());
  const nlohmann::json before = reader.Save();
  EXPECT_TRUE(reader.Next().status().IsIOError());
  EXPECT_EQ(reader.Save(), before);
  // The same of one that was restored in its middle.
  Backwards restored(kNumbers);
  nlohmann::json inside = before;
  inside["rows"] = 2;
  restored.Restore(inside);
  restored.fails_at = 5;
  EXPECT_TRUE(restored.Next().status().IsIOError());
  EXPECT_EQ(restored.Save(), inside);
}

TEST(WindowPositionTest, RefusesAPositionBehindItsWindow) {
  Backwards reader(kNumbers);
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(reader.Next().ok());
  const nlohmann::json saved = reader.Save();
  Backwards shorter({0, 1, 2, 3});
  shorter.Restore(saved);
  const Status refused = shorter.Next().status();
  EXPECT_EQ(refused.message(),
            "the saved position is past the end of its window of numbers: the data changed since");
  EXPECT_EQ(shorter.Save(), saved);
}

}  // namespace
}  // namespace easydata
