#!/usr/bin/env bash
# Builds, trains the example models until they plainly have learnt, and shows what pays on this
# machine.  Everything it writes is in build/demo.
set -euo pipefail
source "$(dirname "$0")/common.sh"

"$bppsa_root/utils/build.sh"
"$bppsa_root/utils/venv.sh"
out="$bppsa_root/build/demo"
mkdir -p "$out"
export PATH="$bppsa_root/build/bin:$PATH"
export BPPSA_PYTHON="${BPPSA_PYTHON:-$bppsa_root/.venv/bin/python}"

say "bitstreams: ten classes that differ in the frequency of ones"
"$bppsa_root/examples/train_bitstream.sh" "$out/bitstream"

say "instruments: eleven classes of synthesised tones, as MFCC features"
"$bppsa_root/examples/train_irmas.sh" "$out/irmas"

say "denoising: a graph of one frame, trained as a stream and run frame by frame with ONNX Runtime"
"$bppsa_root/examples/train_denoiser.sh" "$out/denoiser"

say "what pays: milliseconds of training without and with it, and JAX"
"$BPPSA_PYTHON" "$bppsa_root/benchmarks/what_pays.py" --work "$out"
