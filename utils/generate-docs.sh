#!/usr/bin/env bash
# Writes the reference pages that are generated from the ODS files of the dialect and the passes.
#
#   utils/generate-docs.sh [FOLDER]
#
# FOLDER is docs/generated unless given. `ninja bppsa-doc` runs this script.
set -euo pipefail
source "$(dirname "$0")/common.sh"

out="${1:-$bppsa_root/docs/generated}"
include="$bppsa_root/include"
mkdir -p "$out"

generate() {
  local page="$1" file="$2"
  shift 2
  "$llvm_bin/mlir-tblgen" "$@" -I "$llvm_bin/../include" -I "$include" "$include/bppsa/$file" \
    | sed -e '/^\[TOC\]$/d' -e 's/[[:space:]]*$//' >"$out/$page"
}

generate BGPUDialect.md Dialect/BGPU/IR/BGPUOps.td -gen-dialect-doc -dialect=bgpu
generate BPPSADialect.md Dialect/BPPSA/IR/BPPSADefinitions.td -gen-dialect-doc -dialect=bppsa
generate BPPSAInterfaces.md Dialect/BPPSA/IR/BPPSAInterfaces.td -gen-op-interface-docs
generate BackwardOrderPasses.md Dialect/BPPSA/Transforms/BackwardOrder/Passes.td -gen-pass-doc
generate BlockKernelPasses.md Dialect/BGPU/Transforms/Passes.td -gen-pass-doc
generate BufferPasses.md Dialect/BPPSA/Transforms/Buffers/Passes.td -gen-pass-doc
generate CPUCodegenPasses.md Codegen/CPU/Passes.td -gen-pass-doc
generate CPUKernelPasses.md Codegen/CPU/Kernels/Passes.td -gen-pass-doc
generate ConversionPasses.md Conversion/Passes.td -gen-pass-doc
generate CostModelPasses.md CostModel/Passes.td -gen-pass-doc
generate DifferentiationPasses.md Differentiation/Passes.td -gen-pass-doc
generate DistDialect.md Dialect/Dist/IR/DistOps.td -gen-dialect-doc -dialect=dist
generate DistPasses.md Dialect/Dist/Transforms/Passes.td -gen-pass-doc
generate GPUCodegenPasses.md Codegen/GPU/Passes.td -gen-pass-doc
generate GPUMappingPasses.md Dialect/BGPU/Transforms/Mapping/Passes.td -gen-pass-doc
generate GraphBodyPasses.md Dialect/BPPSA/Transforms/GraphBodies/Passes.td -gen-pass-doc
generate JacobianDialect.md Dialect/Jacobian/IR/JacobianOps.td -gen-dialect-doc -dialect=jacobian
generate JacobianPasses.md Dialect/Jacobian/Transforms/Passes.td -gen-pass-doc
generate LoopPasses.md Dialect/BPPSA/Transforms/Loops/Passes.td -gen-pass-doc
generate ScanPasses.md Dialect/BPPSA/Transforms/Scan/Passes.td -gen-pass-doc
generate StreamPasses.md Dialect/BGPU/Transforms/Streams/Passes.td -gen-pass-doc
