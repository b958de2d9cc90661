#!/usr/bin/env bash
# What to run first on a machine with an NVIDIA GPU: the kernels' tests on CUDA, then replay against bare physics and the
# cost of generated episodes at 1,024 to 16,384 environments. Made to fit into 5 minutes on an H200-class card, set-up
# apart. Usage: scripts/gpu_check.sh [OUT]; figures are left in OUT (default outputs/gpu_check).
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."
out=${1:-outputs/gpu_check}
device=${DEVICE:-cuda:0}
mkdir -p "$out"
./r2s2r.sh setup
python=.venv/bin/python

nvidia-smi --query-gpu=name,memory.total,driver_version --format=csv | tee "$out/gpu.csv"
"$python" -c 'import torch, warp; assert torch.cuda.is_available(); warp.init(); assert warp.is_cuda_available()'

# Each step has its own limit, so that a slow one costs its own figures and not those that follow.
step() {
    local limit=$1 name=$2
    shift 2
    local began=$SECONDS
    if timeout "$limit" "$@" >"$out/$name.log" 2>&1; then
        echo "$name: $((SECONDS - began)) s: $(tail -n 1 "$out/$name.log")"
    else
        echo "$name: FAILED after $((SECONDS - began)) s, see $out/$name.log"
        failed=1
    fi
}
failed=0

step 60 kernels "$python" -m pytest -q tests/replay tests/control -k 'cuda or not cpu'
step 150 replay .venv/bin/r2s2r bench replay --num-envs 1024 4096 16384 --repetitions 3 --device "$device" --json "$out/replay.json"
step 90 generate .venv/bin/r2s2r bench generate --num-envs 1024 --filmed 72 --device "$device" --json "$out/generate.json"
exit "$failed"
