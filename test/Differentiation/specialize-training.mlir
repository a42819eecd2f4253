// RUN: bppsa-opt %s --bppsa-specialize-training | FileCheck %s

// CHECK-LABEL: func.func @loss
// CHECK-SAME: (%[[X:.+]]: tensor<?x4xf32>)
// CHECK-NEXT: return %[[X]]
func.func @loss(%x: tensor<?x4xf32>) -> tensor<?x4xf32> {
  %0 = bppsa.dropout %x ratio 5.0e-01 stream 3 : tensor<?x4xf32>
  return %0 : tensor<?x4xf32>
}

// The copy hashes (seed, stream, position) and scales the kept elements by 1 / (1 - ratio).
// CHECK-LABEL: func.func private @training_loss
// CHECK-SAME: (%[[X:.+]]: tensor<?x4xf32>, %[[SEED:.+]]: tensor<i64> {bppsa.seed})
// CHECK: tensor.extract %[[SEED]][]
// CHECK: arith.constant 3 : i64
// CHECK: linalg.generic
// CHECK-SAME: ins(%[[X]] : tensor<?x4xf32>)
// CHECK: arith.cmpi uge
// CHECK: %[[SCALE:.+]] = arith.constant 2.000000e+00 : f32
// CHECK: arith.mulf %{{.+}}, %[[SCALE]]
// CHECK: arith.select
