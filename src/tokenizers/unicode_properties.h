#pragma once

#include <cstdint>
#include <memory>

namespace easydata::tokenizers {

/// Classes by which the split patterns tell characters apart.
enum class CharClass : uint8_t { kOther = 0, kLetter = 1, kNumber = 2, kSpace = 3 };

/// Properties of code points as the reference tokenizer knows them: one byte each.
///
/// The classes are those of its regex engine (Unicode 16: \p{L}, \p{N}, \s), the word bit is \w of
/// the engine that tests the neighbours of added tokens (and that of the Whitespace pre-tokenizer),
/// and the NFC bit marks code points that Unicode 9's NFC may change, reorder or join to what
/// stands before them. The numeric bit is what the Digits pre-tokenizer takes for a number (Unicode
/// 17), the punctuation bit what BertPreTokenizer and Punctuation take for punctuation (ASCII
/// punctuation and Unicode 8's \p{P}). White space is the same set of 25 code points in all of
/// them.
class UnicodeProperties {
 public:
  static constexpr uint8_t kClassMask = 3;
  static constexpr uint8_t kWordBit = 4;
  static constexpr uint8_t kNfcActiveBit = 8;
  static constexpr uint8_t kNumericBit = 16;
  static constexpr uint8_t kPunctuationBit = 32;
  static constexpr uint32_t kNumCodePoints = 0x110000;

  /// The table, built at the first call.
  static const UnicodeProperties& Get();

  /// The byte of a code point below kNumCodePoints.
  uint8_t operator[](char32_t code_point) const { return table_[code_point]; }

  CharClass char_class(char32_t code_point) const {
    return static_cast<CharClass>(table_[code_point] & kClassMask);
  }
  bool is_word(char32_t code_point) const { return (table_[code_point] & kWordBit) != 0; }
  bool is_nfc_active(char32_t code_point) const {
    return (table_[code_point] & kNfcActiveBit) != 0;
  }
  bool is_numeric(char32_t code_point) const { return (table_[code_point] & kNumericBit) != 0; }
  bool is_bert_punctuation(char32_t code_point) const {
    return (table_[code_point] & kPunctuationBit) != 0;
  }
  bool is_white_space(char32_t code_point) const {
    return char_class(code_point) == CharClass::kSpace;
  }

  /// kNumCodePoints bytes, for loops that keep the pointer in a register.
  const uint8_t* data() const { return table_.get(); }

 private:
  UnicodeProperties();

  std::unique_ptr<uint8_t[]> table_;
};

/// The script of a code point below 0x110000 as the UnicodeScripts pre-tokenizer tells scripts
/// apart (Hiragana and Katakana count as Han): 0 for what it takes for any script (spaces and what
/// it does not know), else a number that is the same for the same script.
uint8_t ScriptOf(char32_t code_point);

}  // namespace easydata::tokenizers
