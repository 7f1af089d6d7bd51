#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "easydata/base/status.h"

namespace easydata::mix {

/// Chooses the source of each document of a mix so that sources have their shares of the tokens.
///
/// WF2Q (Bennett and Zhang 1996, "WF2Q: worst-case fair weighted fair queueing"), with the tokens
/// given out as its virtual time T. A source of weight w that gave S tokens and was owed b when the
/// weights were set may give its next document, of length L, from the time (S - b) / w on, and
/// should have given it by (S + L - b) / w. Of those that may, the one that is due first is taken;
/// of equals the first. O(log sources) a document; all integers.
///
/// While the weights stay, w T - S lies between -(1 - w) L, L being the longest document of the
/// source, and M, the longest of the mix, at every prefix. Not less: a document is begun with
/// w T >= S only. Not more: let d be where a document with the due time F ends and t the last time
/// before d where one with a later due time was begun (of length l). All that was given after it
/// up to d could begin after t only and was due by F: together F - t tokens at the most, so that
/// d <= F + l. Hence T + L <= F + M for the document that is next when T are given, which is
/// w T - S <= (1 - w) L + w M <= M.
///
/// A change of weights keeps what each source is owed, so that nothing is lost over any number of
/// changes; but changes in favour of those that are owed can add up to more than one document.
///
/// A document without tokens takes no share: it is given as soon as its source's turn comes.
class TokenShares {
 public:
  /// One token in the unit of weights and debts.
  static constexpr int64_t kOne = int64_t{1} << 48;

  explicit TokenShares(int num_sources = 0);

  /// Sets the weights (of a positive sum) from here on.
  void SetWeights(const std::vector<double>& weights);

  /// Turns what was given out since the weights were set into debts: the order stays.
  void Settle();

  /// A source that may be next and whose next document's length is needed; -1 where there is none.
  int Unknown();
  void SetLength(int source, int64_t tokens);
  /// Makes the length of the source's next document unknown again. For the source of Next() only.
  void ForgetLength();
  /// The source of the next document. Not while a length is needed.
  int Next() const { return ready_.front(); }
  /// Takes that document.
  void Take();

  /// Tokens given out by a source since the weights were set.
  int64_t given(int source) const { return given_[source]; }
  /// What the source was owed when the weights were set: whole tokens, and parts of kOne.
  std::pair<int64_t, int64_t> owed(int source) const;
  /// Goes to a saved position, with the weights that were set there.
  Status Restore(std::vector<int64_t> given, const std::vector<std::pair<int64_t, int64_t>>& owed);

 private:
  __extension__ using Int128 = __int128;
  /// A time: whole tokens, and `rest` parts of the source's weight.
  struct Due {
    Int128 whole = 0;
    uint64_t rest = 0;
  };

  void SortIn();
  void Wait(int source);
  bool StartsLater(int a, int b) const;
  bool DueLater(int a, int b) const;

  std::vector<int64_t> weights_;  // the sum is kOne
  std::vector<int64_t> given_;
  std::vector<Int128> owed_;     // in 1 / kOne tokens; the sum is 0
  std::vector<int64_t> length_;  // of the next document; -1: unknown
  std::vector<int64_t> start_;
  std::vector<Due> due_;
  int64_t total_ = 0;   // the sum of given_
  int64_t offset_ = 0;  // owed to the sources that have a weight: the time is total_ - offset_
  // Each source with a weight is in one of these.
  std::vector<int> waiting_;  // a heap: the first to start comes first
  std::vector<int> unknown_;
  std::vector<int> ready_;  // a heap: the first due comes first
};

}  // namespace easydata::mix
