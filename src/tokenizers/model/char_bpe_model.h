#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tokenizers/model/bpe_spec.h"
#include "tokenizers/model/character_ids.h"
#include "tokenizers/model/model.h"

namespace easydata::tokenizers {

/// Byte-pair encoding that starts from characters, with every option of the reference.
///
/// A character becomes the token it spells (with the prefix, unless it is the word's first, and the
/// suffix, if it is the last); a character without such a token becomes the tokens <0xHH> of its
/// bytes if all of them exist, else the unknown token, else nothing, so that its neighbours meet.
/// Unknown tokens come out late, as in the reference: after byte tokens that follow them.
class CharBpeModel final : public Model {
 public:
  /// `words_are_bytes`: maps words into the byte-level alphabet first.
  static Result<std::unique_ptr<const CharBpeModel>> Make(BpeSpec spec, bool words_are_bytes);

  std::unique_ptr<ModelScratch> MakeScratch() const override;
  Status EncodeWord(std::string_view word, ModelScratch* scratch, IdBuffer* ids) const override;
  size_t max_ids_per_byte() const override;
  int64_t size() const override { return spec_.vocabulary.size(); }
  int64_t id_limit() const override { return spec_.vocabulary.id_limit(); }
  int32_t TokenToId(std::string_view token) const override { return spec_.vocabulary.Find(token); }
  std::optional<std::string_view> IdToToken(int32_t id) const override {
    return spec_.vocabulary.IdToToken(id);
  }

  /// The spec that the model was made from.
  const BpeSpec& spec() const { return spec_; }
  const MergeList& merges() const { return merges_; }

  bool words_are_bytes() const { return words_are_bytes_; }

  /// Whether no id has two tokens and every merge makes a longer one.
  bool merges_grow() const { return merges_grow_; }

  /// The id of a character inside a word, or -1; the id of a byte's token <0xHH>, or -1.
  int32_t CharacterId(char32_t character) const { return plain_[character]; }
  int32_t ByteId(uint8_t byte) const { return byte_ids_[byte]; }

 private:
  struct Scratch;

  CharBpeModel(BpeSpec spec, MergeList merges, bool words_are_bytes);

  Status FindSymbols(std::string_view word, std::vector<int32_t>* symbols) const;
  bool FallBackToBytes(std::string_view character, bool is_first, bool is_last,
                       std::vector<int32_t>* symbols) const;

  BpeSpec spec_;
  MergeList merges_;
  bool words_are_bytes_;
  bool merges_grow_;
  int32_t unk_id_ = -1;
  int32_t byte_ids_[256];
  CharacterIds plain_;
  // With the prefix, the suffix or both; only where the file has these options.
  std::optional<CharacterIds> continuing_, last_, continuing_last_;
};

}  // namespace easydata::tokenizers
