"""Templates of our own, which follow no published file.

Each does in a few lines what the files of a family do in many.
"""

OWN_TEMPLATES = {
    "turns": """\
{# Every turn between two markers. #}
{% for message in messages %}
{{ '<|im_start|>' + message.role + '\\n' + message['content'] + '<|im_end|>' }}
{% endfor %}
{%- if add_generation_prompt -%}
    {{ '\\n<|im_start|>assistant\\n' }}
{%- endif -%}
""",
    "turns, marked": """\
{%- for message in messages -%}
    {%- if message.role != 'assistant' -%}
        {{- '[' ~ message.role ~ '] ' ~ (message.content | default('', true) | trim) ~ '\\n' -}}
    {%- else -%}
        {{- '[assistant] ' -}}
        {%- generation -%}
            {{- message.content | default('', true) -}}{{- eos_token -}}
        {%- endgeneration -%}
        {{- '\\n' -}}
    {%- endif -%}
{%- endfor -%}
{%- if add_generation_prompt %}{{- '[assistant] ' }}{% endif -%}
""",
    "headers": """\
{{- bos_token }}
{%- set date_string = date_string | default('04 May 2030') %}
{%- if messages and messages[0]['role'] == 'system' %}
    {%- set system_message = messages[0]['content'] | trim %}
    {%- set messages = messages[1:] %}
{%- else %}
    {%- set system_message = '' %}
{%- endif %}
{{- '<head>system</head>\\n\\n' }}
{%- if tools is defined and tools is not none %}
    {{- 'Functions are at hand:\\n' }}
    {%- for tool in tools %}
        {{- tool | tojson(indent=4) + '\\n\\n' }}
    {%- endfor %}
{%- endif %}
{{- 'Today: ' + date_string + '\\n' + system_message + '<end>' }}
{%- for message in messages %}
    {%- if message.tool_calls is defined and message.tool_calls %}
        {%- if message.tool_calls | length != 1 %}
            {{- raise_exception('One call at a time, got ' ~ message.tool_calls | length) }}
        {%- endif %}
        {%- set call = message.tool_calls[0].function %}
        {{- '<head>assistant</head>\\n\\n{"name": "' + call.name + '", "parameters": ' }}
        {{- call.arguments | tojson }}{{- '}<end>' }}
    {%- elif message.role in ('tool', 'ipython') %}
        {{- '<head>ipython</head>\\n\\n' }}
        {%- if message.content is mapping or message.content is iterable %}
            {{- message.content | tojson }}
        {%- else %}
            {{- message.content }}
        {%- endif %}
        {{- '<end>' }}
    {%- else %}
        {{- '<head>' + message['role'] + '</head>\\n\\n' + message['content'] | trim + '<end>' }}
    {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<head>assistant</head>\\n\\n' }}
{%- endif %}
""",
    "thoughts and tools": """\
{%- macro said(content) -%}
    {%- if content is string -%}
        {{- content -}}
    {%- elif content is iterable and content is not mapping -%}
        {%- for part in content if part.type == 'text' -%}
            {{- part.text -}}
            {%- if not loop.last %}{{ '\\n' }}{% endif -%}
        {%- endfor -%}
    {%- elif content is none or content is undefined -%}
        {{- '' -}}
    {%- else -%}
        {{- content | string -}}
    {%- endif -%}
{%- endmacro -%}
{%- if tools %}
    {{- '<|im_start|>system\\n' }}
    {%- if messages[0].role == 'system' %}
        {{- said(messages[0].content) ~ '\\n\\n' }}
    {%- endif %}
    {{- "# Functions\\n<tools>" }}
    {%- for tool in tools %}
        {{- "\\n" ~ tool | tojson }}
    {%- endfor %}
    {{- "\\n</tools>\\nAnswer with {\\"name\\": ..., \\"arguments\\": ...}<|im_end|>\\n" }}
{%- elif messages[0].role == 'system' %}
    {{- '<|im_start|>system\\n' ~ said(messages[0].content) ~ '<|im_end|>\\n' }}
{%- endif %}
{%- set ns = namespace(asked=-1, found=false) %}
{%- for message in messages[::-1] %}
    {%- set index = (messages | length - 1) - loop.index0 %}
    {%- if not ns.found and message.role == 'user' %}
        {%- set ns.found = true %}
        {%- set ns.asked = index %}
    {%- endif %}
{%- endfor %}
{%- for message in messages %}
    {%- set content = said(message.content) %}
    {%- if message.role == 'user' or (message.role == 'system' and not loop.first) %}
        {{- '<|im_start|>' + message.role + '\\n' + content + '<|im_end|>\\n' }}
    {%- elif message.role == 'assistant' %}
        {%- set thought = '' %}
        {%- if message.reasoning_content is string %}
            {%- set thought = message.reasoning_content %}
        {%- elif '</think>' in content %}
            {%- set thought = content.split('</think>')[0].rstrip('\\n').split('<think>')[-1] %}
            {%- set content = content.split('</think>')[-1].lstrip('\\n') %}
        {%- endif %}
        {{- '<|im_start|>assistant\\n' }}
        {%- generation %}
        {%- if loop.index0 > ns.asked and (loop.last or thought) %}
            {{- '<think>\\n' ~ thought.strip('\\n') ~ '\\n</think>\\n\\n' ~ content.lstrip('\\n') }}
        {%- else %}
            {{- content }}
        {%- endif %}
        {%- for call in message.tool_calls or [] %}
            {%- set call = call.function if call.function is defined else call %}
            {{- '\\n' if content or not loop.first }}
            {{- '<tool_call>\\n{"name": "' ~ call.name ~ '", "arguments": ' }}
            {{- call.arguments if call.arguments is string else call.arguments | tojson }}
            {{- '}\\n</tool_call>' }}
        {%- endfor %}
        {{- '<|im_end|>\\n' }}
        {%- endgeneration %}
    {%- elif message.role == 'tool' %}
        {{- '<|im_start|>user' if loop.first or loop.previtem.role != 'tool' }}
        {{- '\\n<tool_response>\\n' ~ content ~ '\\n</tool_response>' }}
        {{- '<|im_end|>\\n' if loop.last or loop.nextitem.role != 'tool' }}
    {%- else %}
        {{- raise_exception('Unknown role: ' ~ message.role) }}
    {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|im_start|>assistant\\n' }}
    {%- if enable_thinking is defined and enable_thinking is false %}
        {{- '<think>\\n\\n</think>\\n\\n' }}
    {%- endif %}
{%- endif %}
""",
    "signatures": """\
{%- macro type_of(spec, depth=0) -%}
    {%- if depth > 3 -%}any
    {%- elif spec.type is string and spec.type == 'array' -%}
        {{ type_of(spec['items'] or {}, depth + 1) }}[]
    {%- elif spec.type is sequence and spec.type is not string -%}
        {{ spec.type | join(' | ') }}
    {%- elif spec.type == 'object' and spec.properties -%}
        { {%- for name, inner in spec.properties | dictsort -%}
            {{ name }}{{ '?' if name not in (spec.required or []) }}:
            {{- ' ' ~ type_of(inner, depth + 1) }}
            {%- if not loop.last %}, {% endif -%}
        {%- endfor -%} }
    {%- else -%}
        {{ spec.type | default('any', true) }}
    {%- endif -%}
{%- endmacro -%}
{%- macro signature(tool) -%}
    {%- set f = tool.function | default(tool) -%}
    {{ '// ' ~ f.description | default('nothing said', true) | replace('\\n', ' ') }}
    {{ f.name | upper }}({%- for name, spec in (f.parameters.properties or {}).items() -%}
        {{ name }}: {{ type_of(spec) }}
        {{- ' = ' ~ spec.default | tojson if spec.default is defined }}
        {{- ', ' if not loop.last -}}
    {%- endfor -%})
{%- endmacro -%}
{%- set header %}
{%- for tool in tools or [] %}
{{ signature(tool) }}

{% else %}
no tools
{% endfor %}
{%- endset -%}
{{- header | trim ~ '\\n' -}}
{%- for message in messages -%}
    {{- '<' ~ message.role | capitalize ~ '>' ~ message.content | string | trim ~ '\\n' -}}
{%- endfor -%}
""",
    "strict turns": """\
{{ bos_token }}{% for message in messages %}{% if message['role'] not in ['user', 'assistant'] %}\
{{ raise_exception('Only user and assistant, got ' + message['role']) }}{% endif %}
{% if (message['role'] == 'user') != (loop.index0 % 2 == 0) %}
{{ raise_exception('Turns must alternate: user, assistant, user, ...') }}
{% endif %}
{% if message['role'] == 'user' %}
{{ '[INST] ' + message['content'] + ' [/INST]' }}
{% else %}{{ message['content'] + eos_token }}{% endif %}{% endfor %}
""",
    "searching": """\
{%- set users = messages | selectattr('role', 'equalto', 'user') | list -%}
{%- set roles = messages | map(attribute='role') | list -%}
{{- users | length }}/{{ roles | length }} {{ roles | join(', ') | upper }}
{%- for role in roles if role != 'user' %} {{ loop.index }}:{{ loop.length }}:{{ role }}{% endfor %}
{% for message in messages %}
    {%- if loop.index > 3 %}{{ '...' }}{% break %}{% endif %}
    {%- if message.role == 'system' %}{% continue %}{% endif %}
    {{- loop.previtem.role if loop.previtem is defined else 'begin' }} -> {{ message.role }};
    {%- for key, value in message.items() if value is not none %} {{ key }}={{ value }}{% endfor %}
{% endfor %}
""",
    "pieces": """\
{% raw %}{{ kept }} {% as it is %}{% endraw %}

  {%+ if true %}  indented{% endif +%}

{# gone #}
	{% set pair = ('a', 1.0) %}
{{ pair }} {{ [none, true, 1e16, 'é\\'', {'k': ()}] }} {{ messages[:1] | length }}
{{ messages[-1:] | tojson }}
{{ missing }}|{{ missing is defined }}|{{ missing | default('-') }}|{{ messages[99] is defined }}
{% set message = 'outer' %}{% for message in messages %}{% set inner = message %}{% endfor %}
{{ message }} {{ inner is defined }}
{% for message in messages %}{{ message.content | safe + '<b>' if message.content is string }}
{% endfor %}
""",
}
