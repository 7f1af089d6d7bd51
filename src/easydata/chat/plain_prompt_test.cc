#include "easydata/chat/plain_prompt.h"

#include <gtest/gtest.h>

#include <string>

namespace easydata::chat {
namespace {

bool IsPlain(const std::string& source) {
  return HasPlainPrompt(*jinja::Template::Compile(source).ValueOrDie());
}

const std::string kTurns = "{% for m in messages %}<{{ m.role }}>{{ m.content }}\n{% endfor %}";

TEST(PlainPromptTest, TextsOptionsAndSpecialTokensArePlain) {
  EXPECT_TRUE(IsPlain(kTurns)) << "nothing is added";
  EXPECT_TRUE(IsPlain(kTurns + "{% if add_generation_prompt %}<a>{% endif %}"));
  EXPECT_TRUE(IsPlain(kTurns + "{% if add_generation_prompt %}<a>{% else %}{{ eos_token }}"
                               "{% endif %}."));
  EXPECT_TRUE(IsPlain(kTurns + "{% if add_generation_prompt %}{{ bos_token + '<a>' }}"
                               "{% if thinks is defined and not thinks %}<no>{% else %}<yes>"
                               "{% endif %}{% endif %}"));
  EXPECT_TRUE(IsPlain(kTurns + "{% if add_generation_prompt and thinks %}"
                               "<a>{{ '<no>' if (a is defined and not a) else '' }}{% endif %}"));
  EXPECT_TRUE(IsPlain("{% macro f(x) %}{{ x }}{% endmacro %}" + kTurns +
                      "{% if add_generation_prompt %}<a>{% endif %}{{ f(1) }}"));
}

TEST(PlainPromptTest, WhatDependsOnTheConversationIsNot) {
  for (const char* source : {
           "{% if add_generation_prompt %}{{ messages[0].role }}{% endif %}",
           "{% if add_generation_prompt %}{{ tools }}{% endif %}",
           "{% if add_generation_prompt and messages %}<a>{% endif %}",
           "{% if messages and add_generation_prompt %}<a>{% endif %}",
           "{% if add_generation_prompt and ('a' if messages else '') %}<a>{% endif %}",
           "{% if add_generation_prompt and (x if y else z) %}<a>{{ messages }}{% endif %}",
           "{% if messages %}{% if add_generation_prompt %}<a>{% endif %}{% endif %}",
           "{% if messages %}b{% elif add_generation_prompt %}<a>{% endif %}",
           "{% for m in messages %}{% if add_generation_prompt %}<a>{% endif %}{% endfor %}",
           "{% for m in [] %}{% else %}{% if add_generation_prompt %}<a>{% endif %}{% endfor %}",
           "{% set a = messages[0].content %}{% if add_generation_prompt %}{{ a }}{% endif %}",
           "{% if not add_generation_prompt %}{% set add_generation_prompt = messages %}{% endif %}"
           "{% if add_generation_prompt %}<a>{% endif %}",
           "{% macro f() %}{% if add_generation_prompt %}<a>{% endif %}{% endmacro %}"
           "{% if messages %}{{ f() }}{% endif %}",
           "{% set text %}{% if add_generation_prompt %}<a>{% endif %}{% endset %}"
           "{{ messages[0].content ~ text }}",
           "{{ messages[0].content ~ ('<a>' if add_generation_prompt else '') }}",
           "{% set a = add_generation_prompt %}{% if a and messages %}<a>{% endif %}",
           "{% for m in messages %}{% set add_generation_prompt = m %}{% endfor %}"
           "{% if add_generation_prompt %}<a>{% endif %}",
       }) {
    EXPECT_FALSE(IsPlain(source)) << source;
  }
}

}  // namespace
}  // namespace easydata::chat
