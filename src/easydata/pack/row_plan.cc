#include "easydata/pack/row_plan.h"

#include <algorithm>
#include <utility>

namespace easydata::pack {
namespace {

/// The room left in each row of an endless list; finds the leftmost row that has enough of it in
/// O(log n). Rows that are not used yet have all their room: the first of them is a new row.
class RoomTree {
 public:
  RoomTree(size_t num_rows, int32_t room) {
    while (leaves_ < num_rows) leaves_ *= 2;
    room_.assign(2 * leaves_, room);
  }

  size_t FirstWith(int32_t needed) const {
    size_t node = 1;
    while (node < leaves_) node = room_[2 * node] >= needed ? 2 * node : 2 * node + 1;
    return node - leaves_;
  }

  void Take(size_t row, int32_t length) {
    size_t node = row + leaves_;
    room_[node] -= length;
    while (node > 1) {
      node /= 2;
      room_[node] = std::max(room_[2 * node], room_[2 * node + 1]);
    }
  }

 private:
  size_t leaves_ = 1;
  std::vector<int32_t> room_;  // a heap-shaped tree: room_[k] is the most in its subtree
};

/// Documents in pieces of at most a row, longest first; of one length in the documents' order.
std::vector<Piece> LongestFirst(const std::vector<int64_t>& lengths, int32_t seq_length) {
  std::vector<Piece> cut;
  cut.reserve(lengths.size());
  for (size_t i = 0; i < lengths.size(); ++i) {
    for (int64_t offset = 0; offset < lengths[i]; offset += seq_length) {
      cut.push_back({static_cast<int64_t>(i), offset,
                     static_cast<int32_t>(std::min<int64_t>(seq_length, lengths[i] - offset))});
    }
  }
  // Numbers are sorted faster than pieces: how much is missing to a row, then the index.
  std::vector<uint64_t> order(cut.size());
  for (size_t i = 0; i < cut.size(); ++i) {
    order[i] = static_cast<uint64_t>(seq_length - cut[i].length) << 32 | i;
  }
  std::sort(order.begin(), order.end());
  std::vector<Piece> pieces(cut.size());
  for (size_t i = 0; i < cut.size(); ++i) pieces[i] = cut[order[i] & 0xffffffff];
  return pieces;
}

constexpr int32_t kNoRow = -1;

/// The plan that puts piece i into row rows[i], if any, pieces of a row in their order here. Rows
/// are numbered in the order of their first pieces.
RowPlan PlanOf(const std::vector<Piece>& pieces, const std::vector<int32_t>& rows) {
  std::vector<int64_t> next;  // by row: first its pieces, then where its next piece goes
  int64_t count = 0;
  for (int32_t row : rows) {
    if (row == kNoRow) continue;
    ++count;
    if (static_cast<size_t>(row) == next.size()) next.push_back(0);
    ++next[row];
  }
  RowPlan plan;
  plan.row_starts.reserve(next.size() + 1);
  for (int64_t& of_row : next) {
    plan.row_starts.push_back(plan.row_starts.back() + of_row);
    of_row = plan.row_starts[plan.row_starts.size() - 2];
  }
  plan.pieces.resize(count);
  for (size_t i = 0; i < pieces.size(); ++i) {
    if (rows[i] != kNoRow) plan.pieces[next[rows[i]]++] = pieces[i];
  }
  return plan;
}

}  // namespace

PoolPlanner::PoolPlanner(int32_t num_packers, int32_t seq_length)
    : seq_length_(seq_length), packers_(num_packers) {}

void PoolPlanner::Emit(Packer* packer, RowPlan* plan) {
  plan->pieces.insert(plan->pieces.end(), packer->pieces.begin(), packer->pieces.end());
  plan->CloseRow();
  packer->pieces.clear();
  packer->used = 0;
}

void PoolPlanner::Put(Packer* packer, Piece piece, RowPlan* plan) {
  packer->pieces.push_back(piece);
  packer->used += piece.length;
  if (packer->used == seq_length_) Emit(packer, plan);
}

void PoolPlanner::Add(int64_t document, int64_t length, RowPlan* plan) {
  Packer* best = nullptr;
  int64_t best_rest = seq_length_;
  for (Packer& packer : packers_) {
    const int64_t rest = seq_length_ - packer.used - length;
    if (rest >= 0 && rest < best_rest) {
      best = &packer;
      best_rest = rest;
    }
  }
  if (best == nullptr) best = &packers_[0];
  for (int64_t offset = 0; offset < length;) {
    const auto count =
        static_cast<int32_t>(std::min<int64_t>(length - offset, seq_length_ - best->used));
    Put(best, {document, offset, count}, plan);
    offset += count;
  }
}

void PoolPlanner::Flush(RowPlan* plan) {
  for (Packer& packer : packers_) {
    if (packer.used > 0) Emit(&packer, plan);
  }
}

RowPlan PlanFirstFit(const std::vector<int64_t>& lengths, int32_t seq_length) {
  const std::vector<Piece> pieces = LongestFirst(lengths, seq_length);
  RoomTree room(pieces.size(), seq_length);
  std::vector<int32_t> rows(pieces.size());
  for (size_t i = 0; i < pieces.size(); ++i) {
    const size_t row = room.FirstWith(pieces[i].length);
    room.Take(row, pieces[i].length);
    rows[i] = static_cast<int32_t>(row);
  }
  return PlanOf(pieces, rows);
}

BestFitPlanner::BestFitPlanner(int32_t seq_length) : seq_length_(seq_length), open_(seq_length) {}

int32_t BestFitPlanner::AssignRows(const std::vector<Piece>& pieces, int64_t documents,
                                   std::vector<int32_t>* rows) {
  int32_t num_rows = 0;
  rows->assign(pieces.size(), kNoRow);
  for (size_t i = 0; i < pieces.size(); ++i) {
    if (pieces[i].document >= documents) continue;
    RowsByFreeSpace::Row best = open_.Take(pieces[i].length);
    if (best.row < 0) best = {num_rows++, seq_length_};
    (*rows)[i] = best.row;
    if (best.room > pieces[i].length) open_.Add(best.row, best.room - pieces[i].length);
  }
  open_.Clear();
  return num_rows;
}

RowPlan BestFitPlanner::Plan(const std::vector<int64_t>& lengths) {
  const std::vector<Piece> pieces = LongestFirst(lengths, seq_length_);
  std::vector<int32_t> rows;
  AssignRows(pieces, static_cast<int64_t>(lengths.size()), &rows);
  return PlanOf(pieces, rows);
}

RowPlan BestFitPlanner::PlanFullest(const std::vector<int64_t>& lengths, int64_t* documents) {
  // How full the rows of a shorter window are hoped to be, in thousandths: the fuller, the less
  // likely that its documents fit.
  constexpr int64_t kFills[] = {1000, 995, 990, 980, 960, 920, 880};
  const std::vector<Piece> pieces = LongestFirst(lengths, seq_length_);
  std::vector<int64_t> sums = {0};  // tokens before each document
  for (int64_t length : lengths) sums.push_back(sums.back() + length);
  *documents = static_cast<int64_t>(lengths.size());
  std::vector<int32_t> rows;
  const int32_t all_rows = AssignRows(pieces, *documents, &rows);
  int64_t best_rows = all_rows;
  std::vector<int32_t> tried;
  const int64_t fewer = int64_t{all_rows} - 1;
  for (int64_t fill : kFills) {
    const int64_t most = fewer * seq_length_ * fill / 1000;
    const auto count = std::upper_bound(sums.begin(), sums.end(), most) - sums.begin() - 1;
    if (count < 1 || 2 * count < static_cast<int64_t>(lengths.size())) break;
    if (sums[count] * best_rows <= sums[*documents] * fewer) break;  // not fuller if it fits
    const int32_t tried_rows = AssignRows(pieces, count, &tried);
    if (sums[count] * best_rows > sums[*documents] * tried_rows) {
      best_rows = tried_rows;
      *documents = count;
      rows = tried;
    }
    if (tried_rows <= fewer) break;
  }
  return PlanOf(pieces, rows);
}

}  // namespace easydata::pack
