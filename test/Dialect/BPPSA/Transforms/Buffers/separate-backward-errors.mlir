// RUN: bppsa-opt %s --split-input-file --bppsa-separate-backward="keep-numbers=false" --verify-diagnostics

func.func @pullback(%x: memref<?xf32> {bppsa.input = "x"}, %counts: memref<1xindex>, %g: memref<?xf32> {bppsa.target},
                    %y: memref<?xf32> {bppsa.output = "y"}, %d: memref<?xf32> {bppsa.gradient = "x"}) {
  %c0 = arith.constant 0 : index
  // expected-error@+1 {{'memref.load' op computes a scalar that the backward part uses and that cannot be kept}}
  %count = memref.load %counts[%c0] : memref<1xindex>
  memref.copy %x, %y : memref<?xf32> to memref<?xf32>
  bppsa.mark_phase 1
  %slice = memref.subview %d[0] [%count] [1] : memref<?xf32> to memref<?xf32, strided<[1]>>
  %zero = arith.constant 0.0 : f32
  linalg.fill ins(%zero : f32) outs(%slice : memref<?xf32, strided<[1]>>)
  return
}

// -----

func.func @pullback(%x: memref<4xf32> {bppsa.input = "x"}, %counts: memref<1xindex>, %g: memref<4xf32> {bppsa.target},
                    %y: memref<4xf32> {bppsa.output = "y"}, %d: memref<4xf32> {bppsa.gradient = "x"}) {
  %c0 = arith.constant 0 : index
  %count = memref.load %counts[%c0] : memref<1xindex>
  // expected-error@+1 {{'memref.alloc' op is kept for the backward part and has a size that nothing bounds}}
  %some = memref.alloc(%count) : memref<?xf32>
  linalg.exp ins(%some : memref<?xf32>) outs(%some : memref<?xf32>)
  memref.copy %x, %y : memref<4xf32> to memref<4xf32>
  bppsa.mark_phase 1
  %slice = memref.subview %some[0] [4] [1] : memref<?xf32> to memref<4xf32, strided<[1]>>
  linalg.mul ins(%g, %slice : memref<4xf32>, memref<4xf32, strided<[1]>>) outs(%d : memref<4xf32>)
  return
}
