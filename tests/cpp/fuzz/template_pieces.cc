#include "template_pieces.h"

#include <algorithm>
#include <cctype>
#include <span>
#include <vector>

namespace easydata::fuzz {
namespace {

// "@" stands for an expression, "#" for a stretch of a template.

constexpr std::string_view kLeaves[] = {"messages",
                                        "message",
                                        "message.role",
                                        "message.content",
                                        "messages[0]",
                                        "m",
                                        "x",
                                        "y",
                                        "ns",
                                        "ns.n",
                                        "s",
                                        "n",
                                        "d",
                                        "words",
                                        "tools",
                                        "loop",
                                        "loop.index",
                                        "loop.index0",
                                        "loop.last",
                                        "loop.length",
                                        "loop.previtem",
                                        "loop.nextitem",
                                        "loop.revindex",
                                        "add_generation_prompt",
                                        "eos_token",
                                        "missing",
                                        "missing.a",
                                        "f",
                                        "f(1)",
                                        "none",
                                        "true",
                                        "false",
                                        "0",
                                        "1",
                                        "-1",
                                        "2",
                                        "255",
                                        "0x1f",
                                        "1_0",
                                        "1.5",
                                        "1e16",
                                        "-0.0",
                                        "1e400",
                                        "9223372036854775807",
                                        "-9223372036854775808",
                                        "18446744073709551616",
                                        "''",
                                        "'a'",
                                        "'user'",
                                        "\"it's\"",
                                        "'\\n'",
                                        "'\\u00e9'",
                                        "'\\ud800'",
                                        "'\\U0001F642'",
                                        "'\xc3\x84\xc3\x9f'",
                                        "'\xe4\xb8\xad\xe6\x96\x87'",
                                        "' \\t\xe3\x80\x80'",
                                        "'<b>&'",
                                        "'a,b,,c'",
                                        "'%s-%d'",
                                        "'12'",
                                        "[]",
                                        "{}",
                                        "()",
                                        "[1, 'a', none]",
                                        "{'a': 1, 'b': [true]}",
                                        "(1,)",
                                        "range(3)",
                                        "range(3, 0, -1)",
                                        "namespace(n=0)",
                                        "dict(a=1)"};

constexpr std::string_view kExpressions[] = {
    "@ + @", "@ - @", "@ * @", "@ / @", "@ // @", "@ % @", "@ ** @", "-@", "+@", "@ ~ @", "(@)",
    "@ == @", "@ != @", "@ < @", "@ <= @", "@ > @ >= @", "@ in @", "@ not in @", "@ and @",
    "@ or @", "not @", "@ if @ else @", "@ if @", "[@, @]", "[@]", "(@, @)", "{'a': @, @: @}",
    "@[@]", "@[@:@]", "@[:@]", "@[::@]", "@[@:@:@]", "@.role", "@.content", "@['a']", "@.a.b",
    "@|attr('a')",
    // filters
    "@|tojson", "@|tojson(indent=@)", "@|tojson(sort_keys=true, separators=(',', ':'))",
    "@|tojson(ensure_ascii=@)", "@|trim", "@|trim(@)", "@|length", "@|count", "@|string",
    "@|default(@)", "@|default(@, true)", "@|d", "@|items", "@|safe", "@|join", "@|join(@)",
    "@|join(@, attribute='role')", "@|upper", "@|lower", "@|list", "@|dictsort",
    "@|dictsort(@, 'value', reverse=@)", "@|map('upper')|list", "@|map(attribute='content')|list",
    "@|map(attribute='a.0', default=@)|join(',')", "@|map('replace', @, @)|list",
    "@|map('int')|list", "@|replace(@, @)", "@|replace(@, @, @)", "@|select|list",
    "@|select('equalto', @)|list", "@|reject('in', @)|list",
    "@|selectattr('role', 'equalto', @)|list", "@|rejectattr('content')|list",
    "@|selectattr('a', 'defined')|first", "@|capitalize", "@|first", "@|last", "@|reverse|list",
    "@|reverse", "@|int", "@|int(@)", "@|float", "@|float(@)", "@|abs", "@|title", "@|unique|list",
    "@|unique(true, 'role')|list",
    // tests
    "@ is defined", "@ is undefined", "@ is none", "@ is not none", "@ is string", "@ is mapping",
    "@ is iterable", "@ is sequence", "@ is boolean", "@ is true", "@ is false", "@ is number",
    "@ is integer", "@ is float", "@ is odd", "@ is even", "@ is equalto @", "@ is eq(@)",
    "@ is ne @", "@ is lt(@)", "@ is ge(@)", "@ is in @", "@ is divisibleby(@)",
    // methods and calls
    "@.upper()", "@.lower()", "@.strip()", "@.strip(@)", "@.lstrip(@)", "@.rstrip(@)",
    "@.startswith(@)", "@.startswith(@, @, @)", "@.endswith(@)", "@.split()", "@.split(@)",
    "@.split(@, @)", "@.replace(@, @)", "@.replace(@, @, @)", "@.capitalize()", "@.title()",
    "@.find(@)", "@.rfind(@, @)", "@.count(@)", "@.count(@, @, @)", "@.join(@)",
    "@.removeprefix(@)", "@.removesuffix(@)", "@.splitlines(@)", "@.isdigit()", "@.isspace()",
    "@.get(@)", "@.get(@, @)", "@.items()", "@.items()|list", "@.keys()|list", "@.values()|list",
    "@.copy()", "@.index(@)", "range(@)", "range(@, @)", "range(@, @, @)|list", "namespace(n=@)",
    "namespace(@)", "dict(a=@)", "dict(@)", "f(@)", "f(@, b=@)", "loop.cycle(@, @)",
    "loop.changed(@)", "loop(@)", "raise_exception(@)", "strftime_now(@)", "'%s' % @",
    "'%5.2f|%-3s|%03d' % (@, @, @)", "'{}'.format(@)", "caller()"};

constexpr std::string_view kStatements[] = {
    "{{ @ }}",
    "{{- @ -}}",
    "{{ @ }}\n",
    "text",
    "\n  ",
    " \t\n",
    "{# note #}",
    "{#- # -#}\n",
    "{% set x = @ %}",
    "{%- set y = @ -%}",
    "{% set x, y = @, @ %}",
    "{% set ns = namespace(n=@) %}",
    "{% set ns.n = @ %}",
    "{% set ns.n = ns.n + @ %}",
    "{% set x %}#{% endset %}",
    "{% set x | trim %}#{% endset %}",
    "{% if @ %}#{% endif %}",
    "{%- if @ -%}#{%- else -%}#{% endif %}",
    "{% if @ %}#{% elif @ %}#{% else %}#{% endif %}",
    "{% for m in @ %}#{% endfor %}",
    "{% for message in messages %}#{% endfor %}",
    "{% for m in messages %}{{ m.role }}#{% endfor %}",
    "{% for m in @ if @ %}#{% else %}#{% endfor %}",
    "{% for x, y in @ %}#{% endfor %}",
    "{% for x, y in @.items() %}#{% endfor %}",
    "{% for m in @ recursive %}#{{ loop(@) }}{% endfor %}",
    "{% break %}",
    "{% continue %}",
    "{% if @ %}{% break %}{% endif %}",
    "{% macro f(a, b=@) %}#{% endmacro %}",
    "{% macro f() %}#{{ f() }}{% endmacro %}{{ f() }}",
    "{% macro f(m) -%}{{ m.content }}#{%- endmacro %}{{ f(messages[0]) }}",
    "{% generation %}#{% endgeneration %}",
    "{%- generation -%}{{ message.content }}{%- endgeneration -%}",
    "{% raw %}{{ x }}{% endraw %}",
    "{%+ if @ +%}#{% endif %}",
    "{% call f(@) %}#{% endcall %}",
    "{% filter upper %}#{% endfilter %}",
    "{% with x = @ %}#{% endwith %}"};

constexpr std::string_view kSigns[] = {"{{",
                                       "}}",
                                       "{%",
                                       "%}",
                                       "{#",
                                       "#}",
                                       "-",
                                       "+",
                                       "(",
                                       ")",
                                       "[",
                                       "]",
                                       "{",
                                       "}",
                                       "|",
                                       ".",
                                       ",",
                                       ":",
                                       "'",
                                       "\"",
                                       "\\",
                                       "=",
                                       "~",
                                       "\n",
                                       "if",
                                       "else",
                                       "endif",
                                       "for",
                                       "endfor",
                                       "in",
                                       "is",
                                       "not",
                                       "set",
                                       "endset",
                                       "macro",
                                       "endmacro",
                                       "endgeneration"};

size_t Below(size_t limit, std::minstd_rand* random) { return (*random)() % limit; }

std::string_view OneOf(std::span<const std::string_view> all, std::minstd_rand* random) {
  return all[Below(all.size(), random)];
}

std::string Filled(std::string_view pattern, int depth, std::minstd_rand* random) {
  std::string out;
  for (const char c : pattern) {
    if (c == '@') {
      out += RandomExpression(depth - 1, random);
    } else if (c == '#' && pattern.find("{#") == std::string_view::npos) {
      const size_t count = depth > 0 ? Below(3, random) : 0;
      for (size_t i = 0; i < count; ++i) out += RandomStatement(depth - 1, random);
    } else {
      out += c;
    }
  }
  return out;
}

/// Where words, runs of blanks and signs begin, and the end.
std::vector<size_t> TokenBounds(std::string_view text) {
  const auto kind = [&](size_t i) {
    const auto c = static_cast<unsigned char>(text[i]);
    if (std::isalnum(c) != 0 || c == '_' || c >= 0x80) return 1;
    return std::isspace(c) != 0 ? 2 : 0;
  };
  std::vector<size_t> bounds = {0};
  for (size_t i = 1; i < text.size(); ++i) {
    const bool is_tag = (text[i - 1] == '{' && (text[i] == '%' || text[i] == '{')) ||
                        ((text[i - 1] == '%' || text[i - 1] == '}') && text[i] == '}');
    const bool goes_on = is_tag || (kind(i) != 0 && kind(i) == kind(i - 1));
    if (!goes_on) bounds.push_back(i);
  }
  if (!text.empty()) bounds.push_back(text.size());
  return bounds;
}

}  // namespace

std::string RandomExpression(int depth, std::minstd_rand* random) {
  if (depth <= 0 || Below(4, random) == 0) return std::string(OneOf(kLeaves, random));
  return Filled(OneOf(kExpressions, random), depth, random);
}

std::string RandomStatement(int depth, std::minstd_rand* random) {
  return Filled(OneOf(kStatements, random), depth, random);
}

std::string MutatedTemplate(std::string_view source, std::minstd_rand* random) {
  const std::vector<size_t> bounds = TokenBounds(source);
  const auto random_run = [&] {
    const size_t first = Below(bounds.size(), random);
    // Short runs are mostly an expression, long ones a block.
    const size_t longest = Below(2, random) == 0 ? 6 : 60;
    const size_t last = std::min(first + Below(longest, random), bounds.size() - 1);
    return std::pair(bounds[first], bounds[last]);
  };
  const auto [begin, end] = random_run();
  const std::string head(source.substr(0, begin));
  const std::string run(source.substr(begin, end - begin));
  const std::string tail(source.substr(end));
  const auto depth = static_cast<int>(1 + Below(3, random));
  switch (Below(8, random)) {
    case 0:
      return head + tail;
    case 1:
      return head + run + run + tail;
    case 2: {
      const auto [other, other_end] = random_run();
      return head + std::string(source.substr(other, other_end - other)) + tail;
    }
    case 3:
      return head + RandomExpression(depth, random) + (Below(2, random) == 0 ? run : "") + tail;
    case 4:
      return head + RandomStatement(depth, random) + (Below(4, random) != 0 ? run : "") + tail;
    case 5: {  // a part of an expression, or of a block
      const bool is_block = Below(2, random) == 0;
      std::string pattern(is_block ? OneOf(kStatements, random) : OneOf(kExpressions, random));
      const size_t hole = pattern.find(is_block ? '#' : '@');
      if (hole != std::string::npos && pattern.find("{#") == std::string::npos) {
        // Filled() must not look into the run.
        const std::string before = Filled(pattern.substr(0, hole), depth, random);
        return head + before + run + Filled(pattern.substr(hole + 1), depth, random) + tail;
      }
      return head + Filled(pattern, depth, random) + run + tail;
    }
    case 6:
      return head + std::string(OneOf(kSigns, random)) + (Below(2, random) == 0 ? run : "") + tail;
    default:
      return head + std::string(OneOf(kLeaves, random)) + tail;
  }
}

}  // namespace easydata::fuzz
