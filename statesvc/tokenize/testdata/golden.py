"""Writes golden.FAMILY.json: what Hugging Face's own libraries make of texts and chats.

    make tokenizers
    pip install tokenizers==0.23.3 transformers==5.24.0 jinja2==3.1.6
    python3 statesvc/tokenize/testdata/golden.py .tokenizers statesvc/tokenize/testdata
"""
import json
import sys

from tokenizers import Tokenizer
from transformers.utils.chat_template_utils import _compile_jinja_template

TEXTS = [
    "", " ", "\n", "  \n\n  x", "Hello, world!", "Hello World  it's I'LL we'Re 'sup o'ſ don't",
    "def f(x):\n\treturn x ** 2  # comment\n\n\nclass A:\n    pass\n", "1 22 333 4444 55555 1234567.890 ٣٤٥ ²³ Ⅷ",
    "naïve café e\u0301 A\u030a \u1e9b\u0323 ﬁ Ω \u2126", "中文测试，你好！日本語テスト゛ー・カタカナ한국어", "😀👨‍👩‍👧‍👦🏳️‍🌈",
    "<|im_start|>user\nhi<|im_end|>\n<|endoftext|>", "<|begin_of_text|><|start_header_id|>user<|end_header_id|>\n\nx<|eot_id|>",
    "<｜begin▁of▁sentence｜>s<｜User｜>u<｜Assistant｜>a<｜end▁of▁sentence｜><｜tool▁calls▁begin｜>",
    "<|startoftext|>x<|endofprompt|><|return|><|reserved_200001|>", "<think>\nhm\n</think>\n\n<tool_call>{}</tool_call>",
    "<|im_start|", "<|im_start|><|im_start|>", "a<b && c>d <div class='x'>y</div>", "<<|im_end|>>",
    "x" * 300, "ab" * 200, "A" * 129, "aB" * 33, " " * 77, "\n" * 40, "\t\t\t\tx", "\r\n\r\nx\r", "0" * 50, "-" * 90, "=" * 33 + "\n",
    "internationalisation antidisestablishmentarianism supercalifragilisticexpialidocious",
    "\x00\x01\x7f\x80\u0085\u00a0\u2003\u3000\ufeff\u200b\ufffd", "https://example.org/a/b?c=d&e=f#g /usr/local/bin//",
    "שלום עולם مرحبا بالعالم Привет мир Γειά σου Κόσμε नमस्ते दुनिया สวัสดี", "ĞİıŞ ǅ ʰ ª º ß ẞ", "$100.00 €5 50% ±3° ½ x² + y² ≤ z⁴",
    "'S 'T 'RE 'Ve 'M 'lL 'd '", "'re're'll", "HelloWorldFooBAR fooBar's XMLHttpRequest's ÉCOLE École éCole",
    "{\"a\": [1, 2.5, null, true], \"b\": {\"c\": \"d\\n\"}}", "line one\nline two\r\n  indented\n\n\n\nend   ",
    "the quick brown fox " * 20, "\u0301combining first", "a\u0301\u0301\u0301b", "\U00010400\U0001D49C\U000E0001",
    "x\u0345\u09fe x\u09fe\u0345 \u0915\u0903\u0344 a\u0315\u0301 a\u0345\u0898\u0301b \U00011935\U00011930 \U0001e2ec\u0327\u0345", "\u0958\u2adc\ufb1d\u1100\u1161\u11a8 \uac00\u11a8",
]

USER = {"role": "user", "content": "What is the capital of France?"}
SYSTEM = {"role": "system", "content": "You are terse. "}
ANSWER = {"role": "assistant", "content": "Paris."}
TOOL = {"type": "function", "function": {"name": "get_weather", "description": "Weather <now> & \"then\"",
        "parameters": {"type": "object", "properties": {"z": {"type": "string"}, "a": {"type": "number", "default": 1.50, "max": 1e22, "min": -0.0000123}},
                       "required": ["z"], "big": 9007199254740993, "e": 1e5, "none": None, "yes": True, "empty": [], "eo": {}, "u": "é\u2028\x07/"}}}
CALL = {"role": "assistant", "content": "", "tool_calls": [{"id": "c1", "type": "function",
        "function": {"name": "get_weather", "arguments": {"z": "Paris", "a": 2}}}]}
CHATS = {
    "one": dict(messages=[USER]),
    "no_generation_prompt": dict(messages=[USER], add_generation_prompt=False),
    "system": dict(messages=[SYSTEM, USER]),
    "turns": dict(messages=[SYSTEM, USER, ANSWER, {"role": "user", "content": "  And of Italy?\n"}]),
    "late_system": dict(messages=[USER, ANSWER, SYSTEM, USER]),
    "thinking": dict(messages=[USER, {"role": "assistant", "content": "<think>\nhm\n</think>\n\nParis."}, USER]),
    "last_thinking": dict(messages=[USER, {"role": "assistant", "content": "<think>\nhm\n</think>\n\nParis."}], add_generation_prompt=False),
    "reasoning": dict(messages=[USER, {"role": "assistant", "content": "Paris.", "reasoning_content": "\nhm\n"}], add_generation_prompt=False),
    "kwargs": dict(messages=[USER], enable_thinking=False),
    "kwargs_true": dict(messages=[USER], enable_thinking=True),
    "special_text": dict(messages=[{"role": "user", "content": "<|im_end|>\n<|eot_id|><｜User｜>{{ messages }}{% x %}"}]),
    "tools": dict(messages=[USER], tools=[TOOL]),
    "tools_system": dict(messages=[SYSTEM, USER], tools=[TOOL, TOOL]),
    "tool_turns": dict(messages=[USER, CALL, {"role": "tool", "content": "22 C", "tool_call_id": "c1"},
                                 {"role": "tool", "content": "rain", "tool_call_id": "c2"}], tools=[TOOL]),
    "tool_answered": dict(messages=[USER, CALL, {"role": "tool", "content": "22 C", "tool_call_id": "c1"}, ANSWER, USER], tools=[TOOL]),
    "empty_content": dict(messages=[{"role": "user", "content": ""}]),
    "odd_spaces": dict(messages=[{"role": "user", "content": "\u00a0\u2003 x \x1c\x0b"}, ANSWER]),
}


def render(template, config, chat):
    def token(name):
        v = config.get(name)
        return v["content"] if isinstance(v, dict) else v
    args = dict(tools=None, add_generation_prompt=True)
    args.update({k: token(k) for k in ("bos_token", "eos_token", "pad_token", "unk_token") if token(k)})
    args.update(chat)
    try:
        return _compile_jinja_template(template).render(**args)
    except Exception as e:
        return {"error": str(e)}


def main(tokenizers, out):
    for family in ("qwen3", "llama3_1", "deepseek_v3", "gptoss"):
        t = Tokenizer.from_file(f"{tokenizers}/{family}/tokenizer.json")
        config = json.load(open(f"{tokenizers}/{family}/tokenizer_config.json"))
        golden = {"texts": [{"text": x, "ids": t.encode(x, add_special_tokens=False).ids} for x in TEXTS],
                  "affixed": t.encode("x y", add_special_tokens=True).ids, "chats": []}
        template = config.get("chat_template")
        for name, chat in CHATS.items() if template else ():
            r = render(template, config, chat)
            case = {"name": name, "args": chat}
            case.update(r if isinstance(r, dict) else {"rendered": r, "ids": t.encode(r, add_special_tokens=False).ids})
            golden["chats"].append(case)
        with open(f"{out}/golden.{family}.json", "w") as f:
            json.dump(golden, f, ensure_ascii=True, indent=None)
            f.write("\n")


main(*sys.argv[1:])
