#include "tokenizers/model/lone_characters.h"

namespace easydata::tokenizers {

const LoneCharacter& LoneCharacters::Learn(const char* p, char32_t c) {
  std::unique_ptr<Page>& page = pages_[c >> kPageBits];
  if (page == nullptr) page = std::make_unique<Page>();
  LoneCharacter& character = (*page)[c % page->size()];
  character.num_ids =
      static_cast<uint8_t>(model_->EncodePart({p, kBytes}, &scratch_, character.ids));
  for (unsigned bits = 0; bits < 16; ++bits) {
    const auto lead = static_cast<uint8_t>(0xE0 | bits);
    if (!cuts_->IsSafeBefore({p, kBytes}, lead)) {
      character.joins = static_cast<uint16_t>(character.joins | 1u << bits);
    }
  }
  return character;
}

}  // namespace easydata::tokenizers
