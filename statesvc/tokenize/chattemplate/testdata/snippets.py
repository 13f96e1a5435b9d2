"""Writes snippets.json: what Jinja, set up as chat templates are rendered, makes of snippets.

    pip install transformers==5.19.0 jinja2==3.1.6
    python3 statesvc/tokenize/chattemplate/testdata/snippets.py > statesvc/tokenize/chattemplate/testdata/snippets.json
"""
import json

from transformers.utils.chat_template_utils import _compile_jinja_template

ARGS = {
    "s": " a,b,,c ", "n": 7, "f": 1.0, "none_": None, "yes": True, "no": False, "empty": "", "uni": "\u00a0é\u2003",
    "l": [1, 2, 3], "words": ["x", "y", "z"], "d": {"b": 1, "a": {"items": [1], "k": None}}, "nested": [{"r": "u", "c": "1"}, {"r": "a", "c": "2"}],
}
SNIPPETS = r'''
a{% if yes %}b{% endif %}c
  {% if yes %}  b  {% endif %}  c
x\n  {% if yes %}\n    y\n  {% endif %}\nz\n
x\n  {%+ if yes %}\n    y\n  {%- endif +%}\nz
x {#- c -#} y
x {# c #}\ny
\n{# c #}\n  {% set a = 1 %}\n{{ a }}\n
{{ s }}|{{- s -}}|{{ s }}
{{ s.strip() }}|{{ s.lstrip() }}|{{ s.rstrip() }}|{{ s.strip(' a') }}
{{ uni.strip() }}|{{ uni|trim }}|
{{ s.split(',')|length }}{{ s.split(',')[-1] }}
{{ s.split() }}
{{ none_ }}|{{ nope }}|{{ yes }}|{{ n }}|{{ f }}
{{ l }}
{{ nope.x }}
{{ d.nope }}|{{ d['nope'] }}|{{ d.a.k }}|{{ d['a']['k'] }}
{{ d.items() }}
{% for k, v in d.items() %}{{ k }}{% endfor %}
{% for k in d %}{{ k }}{% endfor %}
{% for k, v in d|items %}{{ k }}{% endfor %}
{% for c in 'añ' %}[{{ c }}]{% endfor %}
{% for x in l %}{{ loop.index }}{{ loop.index0 }}{{ loop.first }}{{ loop.last }}{{ loop.length }}{{ loop.revindex }};{% endfor %}
{% for x in l if x != 2 %}{{ x }}{{ loop.index }}{% else %}none{% endfor %}
{% for x in [] %}{{ x }}{% else %}none{% endfor %}
{% for x in nope %}{{ x }}{% else %}none{% endfor %}
{% for x in l %}{% if x == 2 %}{% continue %}{% endif %}{{ x }}{% endfor %}
{% for x in l %}{% if x == 2 %}{% break %}{% endif %}{{ x }}{% endfor %}
{% for x in l %}{{ loop.previtem }}-{{ loop.nextitem }};{% endfor %}
{% set a = 0 %}{% for x in l %}{% set a = a + x %}{{ a }}{% endfor %}{{ a }}
{% for x in l %}{% if x == 1 %}{% set q = 'set' %}{% endif %}[{{ q }}]{% endfor %}
{% set ns = namespace(a=0, b='x') %}{% for x in l %}{% set ns.a = ns.a + x %}{% endfor %}{{ ns.a }}{{ ns.b }}{{ ns.c }}
{% if yes %}{% set a = 1 %}{% endif %}{{ a }}
{% set a %}  block {{ n }}{% endset %}[{{ a }}]
{{ 'a' + 'b' ~ 1 + 'c' }}
{{ 1 + 2 ~ 3 }}
{{ 'a' ~ none_ ~ yes ~ nope ~ f }}
{{ 'a' + 1 }}
{{ 'a' + none_ }}
{{ 7 // 2 }}{{ -7 // 2 }}{{ -7 % 3 }}{{ 7 % -3 }}{{ 2 * 3 }}{{ 7 - 2 - 1 }}
{{ 'a' if yes }}|{{ 'a' if no }}|{{ 'a' if no else 'b' if no else 'c' }}
{{ not yes }}{{ not no and yes }}{{ no or n }}{{ yes and empty }}
{{ 'a' in s }}{{ 'z' not in s }}{{ 2 in l }}{{ 'b' in d }}{{ 'x' in nope }}
{{ none_ in l }}{{ 'a' in none_ }}
{{ n == 7 }}{{ n == 7.0 }}{{ yes == 1 }}{{ '7' == n }}{{ none_ == nope }}{{ l == [1, 2, 3] }}{{ d == {'b': 1} }}
{{ n > 3 }}{{ 'a' < 'b' }}{{ 'a' < 1 }}
{{ l[0] }}{{ l[-1] }}{{ l[9] }}{{ l[1:] }}
{{ l[1:]|join(',') }}|{{ l[::-1]|join(',') }}|{{ l[:-1]|join }}|{{ l[-2:]|join('-') }}|{{ l[5:]|join }}|{{ l[2:0:-1]|join }}
{{ 'añb'[1] }}{{ 'añb'[::-1] }}{{ 'añb'[1:] }}{{ 'añb'[:-9] }}
{{ s is string }}{{ l is iterable }}{{ l is sequence }}{{ d is mapping }}{{ d is sequence }}{{ s is sequence }}{{ n is number }}{{ yes is number }}{{ yes is integer }}{{ n is integer }}
{{ nope is defined }}{{ none_ is defined }}{{ none_ is none }}{{ nope is none }}{{ nope is not defined }}{{ not nope is defined }}{{ yes is true }}{{ no is false }}{{ n is true }}{{ yes is boolean }}{{ nope is undefined }}{{ nope is iterable }}
{{ 'a' + s is string }}
{{ strftime_now is defined }}
{{ n is eq(7) }}{{ n is in([7]) }}
{{ nope|default('x') }}{{ none_|default('x') }}{{ none_|default('x', true) }}{{ empty|d('y', boolean=true) }}
{{ s|length }}{{ l|count }}{{ d|length }}{{ nope|length }}{{ none_|length }}
{{ l|first }}{{ l|last }}{{ []|first }}{{ 'abc'|first }}{{ 'abc'|last }}
{{ 'aB'|upper }}{{ 'aB'|lower }}{{ 'aB'.upper() }}{{ n|string }}{{ 'é'|upper }}
{{ words|join(', ') }}{{ 'ab'|list|join('-') }}{{ l|reverse|join }}
{{ s|replace(',', ';') }}{{ s.replace('a', 'bb') }}
{{ d|tojson }}{{ l|tojson }}{{ s|tojson }}{{ none_|tojson }}{{ f|tojson }}{{ 'é<&>"\\/\u2028\u0007'|tojson }}
{{ d|tojson(indent=2) }}
{{ []|tojson(indent=4) }}{{ {}|tojson }}{{ [[], {}]|tojson(indent=1) }}
{{ nope|tojson }}
{{ {'a': [1, 'b', none, true], 'c': 1.5}|tojson }}{{ (1, 2)|tojson }}
{{ d.get('b') }}{{ d.get('z') }}{{ d.get('z', 'q') }}
{{ d.keys()|list|join(',') }}
{% for v in {'a': 1, 'b': 2}.values() %}{{ v }}{% endfor %}
{{ range(3)|list|join }}{{ range(1, 7, 2)|list|join }}{{ range(5, 1)|list|length }}
{{ range(5, -1, -1)|list|join }}{{ range(5, 0, -2)|list|join }}{{ range(6, 0, -2)|list|join }}{{ range(0, 5, -1)|list|length }}{{ range(-3)|list|length }}{{ range(-3, 0)|list|join }}
{{ range(1, 2, 0)|list|length }}
{% for i in range(200000, 0, -1) %}{% endfor %}
{% for i in range(200000) %}{% endfor %}
{{ raise_exception('no') }}
{% macro m(a, b='d', c=n) %}[{{ a }}{{ b }}{{ c }}{{ nope }}]{% endmacro %}{{ m(1) }}{{ m(1, c=2) }}{{ m() }}{{ m('x', 'y', 'z') }}
{% macro m(a) %}{{ a }}{% endmacro %}{{ m(1, 2) }}
{% macro m(a) %}{{ a }}{% endmacro %}{{ m(z=2) }}
{% macro f(x) %}{% if x > 0 %}{{ x }}{{ f(x - 1) }}{% endif %}{% endmacro %}{{ f(3) }}
{% set x = 1 %}{% macro m() %}{{ x }}{% endmacro %}{% set x = 2 %}{{ m() }}
{% for x in l %}{% for y in words %}{{ loop.index }}{% endfor %}{{ loop.index }}{% endfor %}
{{ nested[0].r + nested[-1]['c'] }}{% for m in nested %}{{ m.r }}{{ m['c'] }}{% endfor %}
{% set l2 = [] %}{% for x in l %}{{ l2.append(x) or '' }}{% endfor %}{{ l2|length }}
{{ 'con' 'cat' }}{{ "q\"q" }}{{ 'q\'q' }}{{ 'tab\tnl\n' }}{{ '\\d' }}{{ 'A\x42' }}
{% generation %}g{% endgeneration %}
{{ s.startswith(' a') }}{{ s.endswith('x') }}
{{ -n }}{{ +n }}{{ - n|string }}
{{ (1, 2)|length }}{{ ('a')|length }}{{ ('a',)|length }}
{{ 1 if yes else 2 }}{{ (l if yes else [])|length }}
{%- set x = 'a' -%}  {{ x }}  {%- if x == 'a' -%}  y  {%- endif -%}  z
{{ 'a' if d.a is defined and d.a.k is none else 'b' }}
{{ '%}' }}{{ '}}' }}{% set x = '{{' %}{{ x }}
{{ {'a': {'b': 1}}['a']['b'] }}
{{ l.append }}
{{ 1.50 }}{{ 100.0 }}{{ 1e3 if no }}
{{ d.a['items'] }}
{{ namespace(x=1).x }}
{{ ['b', 'A', 'c', 'a', 'B']|sort|join(',') }}|{{ ['b', 'A', 'c', 'a', 'B']|sort(case_sensitive=true)|join(',') }}|{{ ['b', 'A', 'c', 'a', 'B']|sort(reverse=true)|join(',') }}|{{ [3, 1.5, true, 2]|sort|join(',') }}
{{ ['b', 'a']|sort(true)|join }}{{ ['b', 'B', 'a']|sort(false, true)|join }}{{ 'hello'|sort|join }}{{ d|sort|join }}{{ nope|sort|join }}{{ []|sort|length }}
{{ nested|sort(attribute='r')|map(attribute='c')|join }}{{ nested|sort(attribute='c', reverse=true)|map(attribute='r')|join }}
{{ nested|sort(attribute='z')|map(attribute='r')|join }}{{ [none, none]|sort|length }}
{{ ['a', 1]|sort|length }}
{{ [none, 1]|sort|length }}
{{ none_|sort|length }}
{{ [[2], [1]]|sort|length }}
{{ [d, d]|sort|length }}
{{ ['1']|sort('x')|first }}
{{ [d, {}]|sort|length }}
{{ ['1']|sort(2)|first }}
{{ ['b']|sort(1, 2, 'r', 4)|first }}
{{ ['b']|sort(nope=1)|first }}
{{ ['b']|sort(true, reverse=true)|first }}
{{ ['é', 'e', 'z', '中', 'ß']|sort|join }}
{{ ['É', 'e']|sort|join }}
{% for k, v in d|dictsort %}{{ k }};{% endfor %}{% for k, v in {'b': 1, 'A': 2, 'a': 3, 'C': 4}|dictsort %}{{ k }}{{ v }};{% endfor %}
{% for k, v in {'b': 1, 'A': 2, 'a': 3, 'C': 4}|dictsort(true) %}{{ k }}{{ v }};{% endfor %}{% for k, v in {'b': 1, 'A': 2, 'a': 3}|dictsort(reverse=true) %}{{ k }}{{ v }};{% endfor %}{% for k, v in {'b': 1, 'A': 2, 'a': 3}|dictsort(case_sensitive=true, by='key') %}{{ k }}{{ v }};{% endfor %}
{% for k, v in {}|dictsort %}x{% else %}none{% endfor %}
{% for k, v in l|dictsort %}{{ k }}{% endfor %}
{% for k, v in nope|dictsort %}{{ k }}{% endfor %}
{% for k, v in {'b': 1, 'a': 2}|dictsort(by='value') %}{{ k }}{% endfor %}
{% for k, v in d|dictsort(by='x') %}{{ k }}{% endfor %}
{{ '42'|int }},{{ ' -7 '|int }},{{ '+5'|int }},{{ '007'|int }},{{ '42.23'|int }},{{ '-1.9'|int }},{{ '1e3'|int }},{{ '.5'|int }},{{ '5.'|int }},{{ 'x'|int }},{{ ''|int }},{{ '.'|int }},{{ '- 5'|int }},{{ '1 2'|int }},{{ '0x1f'|int }}
{{ 'ff'|int(base=16) }},{{ '0xFF'|int(0, 16) }},{{ '-0x1f'|int(base=16) }},{{ '0x'|int(base=16) }},{{ '101'|int(base=2) }},{{ '0b11'|int(base=2) }},{{ '0b11'|int(base=16) }},{{ '17'|int(base=8) }},{{ '0o17'|int(base=8) }},{{ '9'|int(base=8) }},{{ '1e3'|int(base=16) }},{{ 'zz'|int(3, 16) }},{{ '2.5'|int(base=16) }}
{{ 'x'|int(-1) }},{{ 'x'|int(default=none) }},{{ none_|int }},{{ l|int(9) }},{{ d|int }},{{ yes|int }},{{ no|int }},{{ n|int }},{{ f|int }},{{ 2.9|int }}
{{ 'inf'|int }},{{ 'nan'|int(1) }},{{ '1e400'|int }},{{ 'Infinity'|int(2) }},{{ '1e-400'|int }}
{{ nope|int }}
{{ '1_000'|int }}
{{ '١٢'|int }}
{{ '99999999999999999999'|int }}
{{ '9223372036854775807'|int }}{{ '9007199254740993'|int > 9007199254740992 }}
{{ '5'|int(1, 10, 3) }}
{{ '5'|int(nope=1) }}
{{ '5'|int(base='x') }}
{{ words|map('upper')|join(',') }}{{ words|map('upper')|list|length }}{{ words|map('replace', 'x', 'q')|join }}{{ [none, 'a']|map('default', 'd', true)|join }}{{ [nope, 'a']|map('default', default_value='d')|join }}
{{ nested|map(attribute='r')|join(',') }}{{ nested|map(attribute='z', default='-')|join(',') }}{{ nested|map(attribute='z')|join(',') }}{{ ['a']|map(attribute='z', default='-')|join(',') }}
{% for x in l|map('string') %}{{ x ~ loop.index }}{{ loop.last }}{% endfor %}{% for x in none_|map('string') %}{% else %}none{% endfor %}{{ empty|map('upper')|join }}{{ nope|map('upper')|join }}{{ 'ab'|map('upper')|first }}{{ d|map('upper')|sort|join }}{{ [[1, 2], [3]]|map('length')|join('+') }}{{ ['2', '10']|map('int')|sort|join(',') }}
{{ words|map('upper') is iterable }}{{ words|map('upper') is sequence }}{{ words|map('upper') is string }}{{ 'y' if []|map('upper') else 'n' }}{{ words|map('upper')|reverse|join }}
{{ words|map('upper')|length }}
{{ words|map('upper')|last }}
{{ words|map('upper')|tojson }}
{{ words|map('upper') }}
{{ (words|map('upper'))[0] }}|
{{ words|map }}
{{ words|map('nope')|join }}
{{ 7|map('upper')|join }}
{{ 'X' in words|map('upper') }}
{% set g = words|map('upper') %}{{ g|join }}{{ g|join }}
{{ nested|map(attribute='count')|join }}
{{ [[1, 2]]|map(attribute=0)|join }}
{{ [{'a': {'b': 1}}]|map(attribute='a.b')|join }}
{{ [nope]|map(attribute='a')|join }}
'''.strip("\n").split("\n")

out = []
for snippet in SNIPPETS:
    snippet = snippet.replace("\\n", "\n") if not snippet.startswith("{{ 'con'") else snippet
    case = {"template": snippet}
    try:
        case["rendered"] = _compile_jinja_template(snippet).render(**json.loads(json.dumps(ARGS)))
    except Exception as e:
        case["error"] = type(e).__name__
    out.append(case)
print(json.dumps({"args": ARGS, "snippets": out}, indent=0))
