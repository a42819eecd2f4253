#!/usr/bin/env bash
# Trains a GRU to name the instrument of a synthesised tone from its MFCC: eleven classes, guessing gives 9 %.
set -euo pipefail
source "$(dirname "$0")/common.sh"

make_data "$work/irmas-train.npz" irmas --size l --samples 1100 --seconds 1 --seed 1
make_data "$work/irmas-test.npz" irmas --size l --samples 330 --seconds 1 --seed 2

show "$compiler" "$examples/irmas_gru.onnx" --loss=cross-entropy -o "$work/irmas"
show "$work/irmas" eval --data "$work/irmas-test.npz"
show "$work/irmas" train --data "$work/irmas-train.npz" --val "$work/irmas-test.npz" \
  --epochs 12 --batch 16 --lr 1e-2 --lr-schedule cosine --clip-norm 1 --seed 1 --save "$work/irmas.onnx"
check_saved "$work/irmas.onnx" "$work/irmas-test.npz"
