#include "tokenizers/text_fragments.h"

namespace easydata::tokenizers {
namespace {

class FragmentGroups {
 public:
  explicit FragmentGroups(size_t group_bytes) : group_bytes_(group_bytes), groups_(1) {}

  void Add(const TextFragment& fragment) {
    if (bytes_ >= group_bytes_) {
      groups_.emplace_back();
      bytes_ = 0;
    }
    groups_.back().push_back(fragment);
    bytes_ += fragment.text.size();
  }

  std::vector<std::vector<TextFragment>> Take() { return std::move(groups_); }

 private:
  const size_t group_bytes_;
  std::vector<std::vector<TextFragment>> groups_;
  size_t bytes_ = 0;  // of the last group
};

}  // namespace

std::vector<std::vector<TextFragment>> CutText(const TokenizerPlan& plan, std::string_view text,
                                               size_t group_bytes, EncodeWorker* worker) {
  FragmentGroups groups(group_bytes);
  const auto add_piece = [&](size_t begin, size_t end) {
    const std::string_view piece = text.substr(begin, end - begin);
    const bool is_plain =
        piece.size() > group_bytes &&
        (plan.encoders_normalize()
             ? plan.TakesRaw(piece)
             : (plan.normalizer() == nullptr || plan.normalizer()->IsInert(piece)) &&
                   !plan.added().normalized().Occurs(piece));
    size_t done = 0;
    while (is_plain && piece.size() - done > group_bytes) {
      const size_t cut = worker->encoder->FindCut(piece, done + group_bytes);
      if (cut == std::string_view::npos) break;
      groups.Add({-1, begin + done == 0, piece.substr(done, cut - done), done > 0});
      done = cut;
    }
    if (done < piece.size()) groups.Add({-1, begin + done == 0, piece.substr(done), done > 0});
  };
  worker->raw_parts.clear();
  if (!plan.added().raw().Split(text, &worker->raw_parts)) {
    add_piece(0, text.size());
    return groups.Take();
  }
  for (const TextPart& part : worker->raw_parts) {
    if (part.id >= 0) {
      groups.Add({part.id, part.begin == 0, text.substr(part.begin, part.end - part.begin)});
    } else {
      add_piece(part.begin, part.end);
    }
  }
  return groups.Take();
}

}  // namespace easydata::tokenizers
