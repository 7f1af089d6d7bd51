#include "easydata/configs/config_registry.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

namespace easydata::configs {
namespace {

using ::testing::HasSubstr;

TEST(Registry, EveryOptionHasATypeAndAText) {
  std::set<std::string> names;
  for (const config::ConfigDescriptor& config : AllConfigs()) {
    EXPECT_TRUE(names.insert(config.name).second) << config.name;
    EXPECT_FALSE(config.doc.empty());
    std::set<std::string> fields;
    for (const config::FieldDescriptor& field : config.fields) {
      EXPECT_TRUE(fields.insert(field.name).second) << config.name << "." << field.name;
      EXPECT_FALSE(field.type.empty());
      EXPECT_EQ(field.doc.back(), '.') << config.name << "." << field.name;
      EXPECT_TRUE(field.config.empty() || names.count(field.config) == 1)
          << "nested configs come first";
    }
  }
}

TEST(Registry, DefaultsAreSoundWhereNothingIsRequired) {
  for (const config::ConfigDescriptor& config : AllConfigs()) {
    bool required = false;
    for (const config::FieldDescriptor& field : config.fields) required |= field.rules.required;
    if (required) continue;
    auto problems = Validate(config.name, config::Json::object());
    ASSERT_TRUE(problems.ok());
    for (const config::Problem& problem : *problems)
      ADD_FAILURE() << config.name << ": " << problem.ToString();
    // The defaults, written out, are the config too.
    config::Json written = config.normalize(config::Json::object());
    problems = Validate(config.name, written);
    ASSERT_TRUE(problems.ok());
    EXPECT_TRUE(problems->empty()) << config.name << ": " << (*problems)[0].ToString();
  }
}

TEST(Registry, AnUnknownConfigIsNamed) {
  auto found = FindConfig("PackStagConfig");
  EXPECT_TRUE(found.status().IsKeyError());
  EXPECT_THAT(found.status().message(), HasSubstr("did you mean \"PackStageConfig\"?"));
}

TEST(ConfigHash, IsEqualForConfigsThatSayTheSame) {
  auto bare = ConfigHash("PackStageConfig", config::Json::object());
  auto explicit_default = ConfigHash("PackStageConfig", config::Json{{"seq_length", 2048}});
  auto other = ConfigHash("PackStageConfig", config::Json{{"seq_length", 1024}});
  ASSERT_TRUE(bare.ok() && explicit_default.ok() && other.ok());
  EXPECT_EQ(*bare, *explicit_default);
  EXPECT_NE(*bare, *other);
  EXPECT_EQ(bare->size(), 16u);
}

TEST(ConfigHash, RefusesABadConfig) {
  EXPECT_TRUE(ConfigHash("PackStageConfig", config::Json{{"seq_lenght", 1}}).status().IsInvalid());
}

TEST(ReferencePage, HasEveryOption) {
  const std::string page = ReferencePage();
  for (const config::ConfigDescriptor& config : AllConfigs()) {
    EXPECT_THAT(page, HasSubstr("\n## " + config.name + "\n"));
    for (const config::FieldDescriptor& field : config.fields)
      EXPECT_THAT(page, HasSubstr("| `" + field.name + "` |"));
  }
}

}  // namespace
}  // namespace easydata::configs
