"""Writes a tiny Qwen 3 with random weights: model.py TOKENIZER_FOLDER MODEL_FOLDER.

It answers with nonsense, but its tokenizer, chat template and cache are those of a
real one.
"""

import pathlib
import shutil
import sys

import torch
from transformers import AutoTokenizer, Qwen3Config, Qwen3ForCausalLM

tokenizer, model = map(pathlib.Path, sys.argv[1:])
torch.manual_seed(7)
config = Qwen3Config(
    vocab_size=151936,
    hidden_size=64,
    intermediate_size=128,
    num_hidden_layers=2,
    num_attention_heads=4,
    num_key_value_heads=2,
    head_dim=32,
    max_position_embeddings=8192,
    tie_word_embeddings=True,
    bos_token_id=151643,
    eos_token_id=151645,
    dtype="bfloat16",
)
Qwen3ForCausalLM(config).to(torch.bfloat16).save_pretrained(model)
for name in ("tokenizer.json", "tokenizer_config.json"):
    shutil.copy(tokenizer / name, model / name)
if not AutoTokenizer.from_pretrained(model).chat_template:
    sys.exit("the tokenizer has no chat template")
