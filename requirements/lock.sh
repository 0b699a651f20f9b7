#!/usr/bin/env bash
# Pin every environment again, one file each, without index addresses: requirements/lock.sh
set -euo pipefail
cd "$(dirname "$0")/.."
compile() { uv pip compile pyproject.toml --universal --python-version 3.11 --no-header --no-annotate --upgrade --quiet "$@"; }
compile --extra report --extra dev -o requirements/report.txt
# Goes into the environment of the notebooks, whose versions stay.
compile --extra fleet --constraint requirements/report.txt -o requirements/fleet.txt
compile --extra tensorflow -o requirements/tensorflow.txt
compile --extra tensorflow-cuda -o requirements/tensorflow-cuda.txt
compile --extra jax -o requirements/jax.txt
compile --extra jax-cuda -o requirements/jax-cuda.txt
compile --extra torch -o requirements/torch.txt
# torch pins its CUDA libraries and triton itself; its CPU build needs none of them.
sed -i -E '/^nvidia-ml-py/!{/^(nvidia-|cuda-|triton)/d}' requirements/torch.txt
