#pragma once

#include <cstddef>
#include <memory>

#include "tokenizers/pretokenize/pre_tokenizer.h"
#include "tokenizers/pretokenize/word_cutter.h"

namespace easydata::tokenizers {

/// Steps that look at one character at a time; each is named as in tokenizer.json.

/// Runs of word characters and runs of what is neither that nor white space; the rest is dropped.
std::unique_ptr<const PreTokenizer> MakeWhitespace();

/// Text between white space.
std::unique_ptr<const PreTokenizer> MakeWhitespaceSplit();

/// Text between white space, with each punctuation character a word of its own.
std::unique_ptr<const PreTokenizer> MakeBertPreTokenizer();

/// Numeric characters apart from others: each of them, or runs of them.
std::unique_ptr<const PreTokenizer> MakeDigits(bool individual);

/// Cuts at punctuation characters.
std::unique_ptr<const PreTokenizer> MakePunctuation(SplitBehavior behavior);

/// Text between delimiters.
std::unique_ptr<const PreTokenizer> MakeCharDelimiterSplit(char32_t delimiter);

/// Cuts where the script changes. Characters of no script go with what is before them; at the
/// beginning of a word they are dropped.
std::unique_ptr<const PreTokenizer> MakeUnicodeScripts();

/// Words of `length` > 0 characters; the last may be shorter.
std::unique_ptr<const PreTokenizer> MakeFixedLength(size_t length);

}  // namespace easydata::tokenizers
