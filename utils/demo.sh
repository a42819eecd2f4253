#!/usr/bin/env bash
# Builds, trains the example models until they plainly have learnt, and shows the sequential backward
# beside the scan.  Everything it writes is in build/demo.
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

# One JSON field of a `bench` run.
bench_field() {
  "$1" bench --seq-len "$2" --batch "$3" --repeat 5 "--backward=$4" |
    sed -E "s/.*\"$5\": ?([0-9.]+).*/\1/"
}

# The same program, the same numbers: only the association order of the products differs.
say "sequential against scan: microseconds for the backward part of one training step"
bppsa-compile "$bppsa_root/examples/bitstream_rnn.onnx" -o "$out/rnn"
printf '%10s %6s %14s %14s\n' T B sequential scan
for size in "100 16" "1000 16" "10000 16" "10000 1" "30000 1"; do
  read -r steps batch <<<"$size"
  printf '%10s %6s %14s %14s\n' "$steps" "$batch" \
    "$(bench_field "$out/rnn" "$steps" "$batch" sequential backward_us)" \
    "$(bench_field "$out/rnn" "$steps" "$batch" scan backward_us)"
done
