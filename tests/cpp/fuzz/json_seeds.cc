// Writes the inputs that fuzzing starts from: json_seeds <folder for JSONL> <folder for configs>.

#include <fstream>
#include <string>
#include <vector>

#include "easydata/configs/config_registry.h"

namespace {

using easydata::config::ConfigDescriptor;
using easydata::config::FieldDescriptor;
using easydata::config::Json;
using easydata::configs::AllConfigs;

void Write(const std::string& path, const std::string& content) {
  std::ofstream(path, std::ios::binary) << content;
}

void WriteLines(const std::string& folder) {
  const std::vector<std::string> files = {
      "{\"text\": \"a b\", \"input_ids\": [1, 2, -3], \"any\": {\"a\": [1.5, null]}}\n",
      "\xef\xbb\xbf{\"text\": null}\r\n\r\n \t\n{\"any\": true}\n{}",
      "{\"te\\u0078t\": \"\\u00e9\\n\\ud83d\\ude42\", \"text\": \"\xc3\xa9\xe4\xb8\xad\"}\nnope\n",
      "{\"any\": NaN, \"x\": [-Infinity, 1e400, 123456789012345678901234567890]}\n{\"text\": 1}\n",
      "{\"text\": \"\\ud800\", \"input_ids\": [2147483647, -2147483648]}\n{\"input_ids\": [1.0]}\n",
      "[{\"text\": \"a\"}, {\"input_ids\": []}]\n",
      "{\"text\": \"a\"} {\"text\": \"b\"}\n{\"a\": {\"text\": 1}}\n\xff\n{\"a\": "
      "01}\n[1]\n\"x\"\n",
  };
  for (size_t i = 0; i < files.size(); ++i) {
    for (char options = 0; options < 4; ++options) {
      const std::string head = {static_cast<char>(options & 1), static_cast<char>(options >> 1)};
      Write(folder + "/" + std::to_string(i) + "-" + std::to_string(options), head + files[i]);
    }
  }
}

/// Every config with its defaults, and with each option by itself.
void WriteConfigs(const std::string& folder) {
  for (size_t i = 0; i < AllConfigs().size(); ++i) {
    const ConfigDescriptor& config = AllConfigs()[i];
    const std::string path = folder + "/" + config.name;
    const std::string head(1, static_cast<char>(i));
    Json whole = Json::object();
    for (const FieldDescriptor& field : config.fields) {
      whole[field.name] = field.default_value;
      Json value = field.default_value;
      if (!field.rules.choices.empty()) value = field.rules.choices.back();
      if (value.is_null()) value = field.type.starts_with("int") ? Json(3) : Json("a");
      Write(path + "-" + field.name, head + Json{{field.name, value}}.dump());
      // What no option takes, and is too long to be shown whole.
      std::string text = "a";
      for (int k = 0; k < 40; ++k) text += "\xc3\xa9";
      value = Json{{"$object", text}, {"$callable", text}, {text, 1}};
      Write(path + "-" + field.name + "-other", head + Json{{field.name, value}}.dump());
    }
    Write(path, head + whole.dump());
  }
  const char last = static_cast<char>(AllConfigs().size() - 1);
  Write(folder + "/mixture", last + std::string(R"({"datasets": [
    {"data_files": "a.jsonl", "name": "a", "tokenizer": {"name_or_path": "t", "max_length": 9}},
    {"data_files": ["b.parquet", "c/*.jsonl"], "format_callback": "m:f", "num_rows": 7}],
    "seed": 3, "mix": {"weight_schedule": [{"step": 0, "weights": {"a": 1.0, "dataset_1": 0}},
    {"step": 9, "weights": {"a": 0.5, "dataset_1": 0.5}}], "weight_schedule_type": "linear"},
    "pack": {"enabled": true, "strategy": "first_fit"}, "load": {"batch_rampup": {"5": 2}}})"));
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  WriteLines(argv[1]);
  WriteConfigs(argv[2]);
  return 0;
}
