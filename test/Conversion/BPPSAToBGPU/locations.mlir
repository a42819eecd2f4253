// RUN: bppsa-opt %s --bppsa-hoist-input-products --bppsa-choose-gpu-mapping --convert-bppsa-to-bgpu --bgpu-stage-copies --bgpu-allocate-shared --bgpu-insert-barriers --convert-bgpu-to-gpu --convert-graph-to-gpu --mlir-print-debuginfo --mlir-print-local-scope | FileCheck %s

// A loop shared by several nodes of the model has a fused location of all of them.

// CHECK-LABEL: func private @shared(
// CHECK:         memref.load {{.*}} loc(fused["one"("RNN"("model.onnx":0:0)), "two"("RNN"("model.onnx":0:0))])
func.func private @shared(%x: memref<5xf32>, %y: memref<5xf32>) {
  memref.copy %x, %y : memref<5xf32> to memref<5xf32> loc(#one)
  return
} loc(#one)

// Operations emitted for an operation of a body have its location; the surrounding loop has the
// location of the bppsa loop.

// CHECK-LABEL: func private @loop(
// CHECK:         math.fma {{.*}} loc("product")
// CHECK:         math.tanh {{.*}} loc("tanh")
// CHECK:         gpu.barrier {{.*}}loc("loop")
func.func private @loop(%x: memref<?x?x4xf32>, %h0: memref<?x4xf32>, %r: memref<4x4xf32>, %h: memref<?x?x4xf32>) {
  bppsa.recurrence sequences(%x : memref<?x?x4xf32>) initial(%h0 : memref<?x4xf32>)
      captures(%r : memref<4x4xf32>) into(%h : memref<?x?x4xf32>) {
  ^bb0(%xt: vector<4xf32>, %ht: vector<4xf32>, %rc: vector<4x4xf32>):
    %0 = bppsa.matvec %rc, %ht plus %xt : vector<4x4xf32>, vector<4xf32> plus vector<4xf32> -> vector<4xf32> loc("product")
    %1 = math.tanh %0 : vector<4xf32> loc("tanh")
    bppsa.yield %1 : vector<4xf32>
  } loc("loop")
  return
}

func.func @caller(%x: memref<5xf32>, %y: memref<5xf32>) {
  call @shared(%x, %y) : (memref<5xf32>, memref<5xf32>) -> () loc(#one)
  call @shared(%y, %x) : (memref<5xf32>, memref<5xf32>) -> () loc(#two)
  return
}

#one = loc("one"("RNN"("model.onnx":0:0)))
#two = loc("two"("RNN"("model.onnx":0:0)))
