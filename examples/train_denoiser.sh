#!/usr/bin/env bash
# Trains a step graph to take noise out of speech-like tones, and streams it frame by frame.
set -euo pipefail
source "$(dirname "$0")/common.sh"

make_data "$work/voices-train.npz" voices --samples 256 --frames 100 --seed 1
make_data "$work/voices-test.npz" voices --samples 16 --frames 100 --seed 2

# The graph is one frame: its states go in and come out, and its batch is fixed at 1.
show "$compiler" "$examples/denoiser_step.onnx" --carry=cache:cache_next,h:h_next --batch-axis=x:0 --batch-axis=y:0 \
  --loss=mse -o "$work/denoiser"
show "$work/denoiser" eval --data "$work/voices-test.npz"
show "$work/denoiser" train --data "$work/voices-train.npz" --val "$work/voices-test.npz" \
  --epochs 20 --batch 16 --lr 3e-3 --lr-schedule cosine --clip-norm 1 --seed 1 --save "$work/denoiser.onnx"

# The same frames by the new weights: in one program that was made of them, and one at a time by ONNX Runtime.
show "$compiler" "$work/denoiser.onnx" --carry=cache:cache_next,h:h_next --batch-axis=x:0 --batch-axis=y:0 \
  --loss=mse -o "$work/denoiser-trained"
show "$work/denoiser-trained" infer --data "$work/voices-test.npz" --out "$work/denoised.npz"
"$python" -c 'import onnxruntime' 2>/dev/null || exit 0
show "$python" "$examples/denoise.py" "$work/denoiser.onnx" "$work/voices-test.npz" "$work/denoised.npz"
