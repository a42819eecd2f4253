#!/usr/bin/env bash
# Trains LeNet-5 to tell the direction of stripes in small colour images: ten classes, guessing gives 10 %.
set -euo pipefail
source "$(dirname "$0")/common.sh"

make_data "$work/gratings-train.npz" gratings --samples 2000 --seed 1
make_data "$work/gratings-test.npz" gratings --samples 500 --seed 2

show "$compiler" "$examples/lenet5.onnx" --loss=cross-entropy -o "$work/lenet5"
show "$work/lenet5" eval --data "$work/gratings-test.npz"
show "$work/lenet5" train --data "$work/gratings-train.npz" --val "$work/gratings-test.npz" \
  --epochs 4 --batch 32 --lr 1e-3 --lr-schedule cosine --seed 1 --save "$work/lenet5.onnx"
check_saved "$work/lenet5.onnx" "$work/gratings-test.npz"
