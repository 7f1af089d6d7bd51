#include "easydata/source/json_forms.h"

#include <gtest/gtest.h>

#include <string>

namespace easydata::source {
namespace {

TEST(JsonForms, RowsWithTheSameFieldsAreOfOneForm) {
  JsonForms forms;
  EXPECT_TRUE(forms.IsNew(R"({"text": "a", "id": 1})"));
  EXPECT_FALSE(forms.IsNew(R"({"text":"another, with \"quotes\" and } in it","id":-2.5e3})"));
  EXPECT_FALSE(forms.IsNew("  {\"text\" : \"\\\\\", \"id\": true}\t"));
  EXPECT_TRUE(forms.IsNew(R"({"text": "a", "id": 1, "system": "Be brief."})"));
  EXPECT_TRUE(forms.IsNew(R"({"text": "a"})"));
  EXPECT_FALSE(forms.IsNew(R"({"text": "b"})"));
}

TEST(JsonForms, ValuesWithinFieldsDoNotMatter) {
  JsonForms forms;
  EXPECT_TRUE(forms.IsNew(R"({"messages": [{"role": "user", "content": "]}\\"}]})"));
  EXPECT_FALSE(forms.IsNew(R"({"messages": [[], {"a": {}}, "\""]})"));
}

TEST(JsonForms, WhatSaysNothingIsAnotherForm) {
  for (const std::string nothing :
       {"null", R"("")", R"(" \n\t ")", "[]", "[ ]", "{}", R"("[]")", R"(" {}\n")", R"("null")"}) {
    JsonForms forms;
    EXPECT_TRUE(forms.IsNew(R"({"tools": )" + nothing + "}"));
    for (const std::string something : {"0", "false", "[0]", R"({"a": null})", R"("a")",
                                        R"("[] a")", R"("nullify")", R"("\u4f60")", R"("\\n")"}) {
      JsonForms of_both = forms;
      EXPECT_TRUE(of_both.IsNew(R"({"tools": )" + something + "}")) << nothing << something;
    }
  }
}

TEST(JsonForms, WhatCannotBeReadIsNew) {
  JsonForms forms;
  for (int i = 0; i < 2; ++i) {
    for (const std::string text :
         {"", "[1]", "{", R"({"a")", R"({"a": "b)", R"({"a": "\")", R"({"a": [1)", R"({"a": })",
          R"({"a": 1}})", R"({"a": 1,})", R"({"a": 1} b)", R"({a: 1})"}) {
      EXPECT_TRUE(forms.IsNew(text)) << text;
    }
  }
}

}  // namespace
}  // namespace easydata::source
