#pragma once

namespace easydata {

/// Lets storage::Storage list the Hugging Face Hub through huggingface_hub, by
/// `easydata.sources.hub.index`. Imports nothing before it is asked for.
void UseHuggingFaceHub();

}  // namespace easydata
