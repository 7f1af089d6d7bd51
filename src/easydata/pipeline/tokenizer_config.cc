#include "easydata/pipeline/tokenizer_config.h"

namespace easydata::pipeline {
namespace {

constexpr NamedValue<TokenizerView> kViews[] = {{"json", TokenizerView::kJson},
                                                {"transformers", TokenizerView::kTransformers}};

}  // namespace

std::span<const NamedValue<TokenizerView>> NamesOf(TokenizerView) { return kViews; }

}  // namespace easydata::pipeline
