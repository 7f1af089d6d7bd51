#pragma once

#include <string>
#include <vector>

#include "reference_tokenizer/text.h"

/// What the library's several versions of Unicode know of a character, read off unicode_data.h.
namespace easydata::tokenizers::reference {

/// What the regex engine puts into a class, by code point: s, d, w, h, a general category (L, Lu),
/// a script (Han) or a property (Alphabetic). NotCovered for other names.
const std::vector<bool>& RegexClass(const std::string& name);

/// Rust's char::is_whitespace, the regex crate's \s, and char::is_numeric.
bool IsSpace(char32_t c);
bool IsNumeric(char32_t c);

/// \w of the regex crate.
bool IsWord(char32_t c);

/// Of the unicode_categories crate, for BERT: punctuation (ASCII's joined), marks without width,
/// and control characters with their like.
bool IsPunctuation(char32_t c);
bool IsNonspacingMark(char32_t c);
bool IsOther(char32_t c);

/// What StripAccents takes away.
bool IsCombiningMark(char32_t c);

/// Rust's char::to_lowercase.
Chars ToLower(char32_t c);

/// Canonical or compatibility decomposition of one character, all the way; Hangul as well.
Chars Decompose(char32_t c, bool compatibility);
int CombiningClass(char32_t c);
/// The character that a pair composes to; 0: none.
char32_t Compose(char32_t first, char32_t second);

/// Ends of the extended grapheme clusters.
std::vector<size_t> GraphemeEnds(const Chars& chars);

/// The script as UnicodeScripts tells scripts apart; 0 for "any", which goes with its neighbours.
int ScriptOf(char32_t c);

/// The character that GPT-2's alphabet spells a byte with.
char32_t ByteCharacter(unsigned char byte);

}  // namespace easydata::tokenizers::reference
