#include "tokenizers/pretokenize/scan_classes.h"

#include "tokenizers/regex/character_set.h"
#include "tokenizers/unicode_properties.h"

namespace easydata::tokenizers {

ScanClasses::ScanClasses(bool digits) : table_(new uint8_t[UnicodeProperties::kNumCodePoints]()) {
  const auto add = [this](const CharacterSet& set, uint8_t bit) {
    for (const CharacterSet::Range& range : set.ranges()) {
      for (char32_t c = range.first; c <= range.last; ++c) table_[c] |= bit;
    }
  };
  add(*CharacterSet::Named("L"), kScanLetter);
  add(*CharacterSet::Named("space"), kScanSpace);
  add(*CharacterSet::Named("M"), kScanMark);
  add(CharacterSet::Named("Lu")->Union(*CharacterSet::Named("Lt")), kScanUpper);
  add(*CharacterSet::Named("Ll"), kScanLower);
  add(CharacterSet::Named("P")->Union(*CharacterSet::Named("S")), kScanPunctuation);
  add(CharacterSet(0x4E00, 0x9FA5).Union(CharacterSet(0x3040, 0x30FF)), kScanCjk);
  if (!digits) {
    add(*CharacterSet::Named("N"), kScanNumber);
    return;
  }
  const UnicodeProperties& properties = UnicodeProperties::Get();
  for (char32_t c = 0; c < UnicodeProperties::kNumCodePoints; ++c) {
    if (properties.is_numeric(c)) table_[c] |= kScanNumber;
  }
}

const uint8_t* ScanClasses::Get(bool digits) {
  if (digits) {
    static const ScanClasses classes(true);
    return classes.table_.get();
  }
  static const ScanClasses classes(false);
  return classes.table_.get();
}

}  // namespace easydata::tokenizers
