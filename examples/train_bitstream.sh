#!/usr/bin/env bash
# Trains an RNN to tell how often a stream of bits is one: ten classes, guessing gives 10 %.
set -euo pipefail
source "$(dirname "$0")/common.sh"

make_data "$work/bitstream-train.npz" bitstream --samples 8000 --length 200 --seed 1
make_data "$work/bitstream-test.npz" bitstream --samples 2000 --length 200 --seed 2

show "$compiler" "$examples/bitstream_rnn.onnx" --loss=cross-entropy -o "$work/bitstream"
show "$work/bitstream" eval --data "$work/bitstream-test.npz"
show "$work/bitstream" train --data "$work/bitstream-train.npz" --val "$work/bitstream-test.npz" \
  --epochs 30 --batch 16 --lr 2e-3 --lr-schedule cosine --clip-norm 1 --seed 1 --save "$work/bitstream.onnx"
check_saved "$work/bitstream.onnx" "$work/bitstream-test.npz"
