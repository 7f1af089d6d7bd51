#include "easydata/pack/row_plan.h"

#include <algorithm>
#include <utility>

namespace easydata {
namespace {

/// The room left in each row of an endless list, with the leftmost row that has enough found in
/// O(log n). Rows that nobody has used yet have all their room: the first of them is a new row.
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
  std::vector<Piece> items;
  items.reserve(lengths.size());
  for (size_t i = 0; i < lengths.size(); ++i) {
    for (int64_t offset = 0; offset < lengths[i]; offset += seq_length) {
      items.push_back({static_cast<int64_t>(i), offset,
                       static_cast<int32_t>(std::min<int64_t>(seq_length, lengths[i] - offset))});
    }
  }
  std::stable_sort(items.begin(), items.end(),
                   [](const Piece& a, const Piece& b) { return a.length > b.length; });
  RoomTree room(items.size(), seq_length);
  std::vector<size_t> row_of(items.size());
  std::vector<int64_t> next;  // by row: first its pieces, then where its next piece goes
  for (size_t i = 0; i < items.size(); ++i) {
    row_of[i] = room.FirstWith(items[i].length);
    room.Take(row_of[i], items[i].length);
    if (row_of[i] == next.size()) next.push_back(0);
    ++next[row_of[i]];
  }
  RowPlan plan;
  for (int64_t& count : next) {
    plan.row_starts.push_back(plan.row_starts.back() + count);
    count = plan.row_starts[plan.row_starts.size() - 2];
  }
  plan.pieces.resize(items.size());
  for (size_t i = 0; i < items.size(); ++i) plan.pieces[next[row_of[i]]++] = items[i];
  return plan;
}

}  // namespace easydata
