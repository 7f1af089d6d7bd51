#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <string_view>

namespace easydata::fuzz {

/// A random expression of chat templates, `depth` levels deep at most.
std::string RandomExpression(int depth, std::minstd_rand* random);

/// A random stretch of a template: tags, blocks, what they hold.
std::string RandomStatement(int depth, std::minstd_rand* random);

/// A template with something changed where its words and signs begin: a run of them is taken out,
/// taken twice or put elsewhere; an expression or statement is put in; a run goes into a block, or
/// into an expression.
std::string MutatedTemplate(std::string_view source, std::minstd_rand* random);

}  // namespace easydata::fuzz
