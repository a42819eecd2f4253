// RUN: bppsa-opt %s --split-input-file --bppsa-differentiate="of=loss name=grad wrt=all" | FileCheck %s

// Products of gates are not guarded.
// CHECK-LABEL: func.func @grad(
// CHECK: bppsa.chain
// CHECK-NOT: arith.select
// CHECK: return
func.func @loss(%x: tensor<?x?x2xf32> {bppsa.input = "x"}, %h: tensor<?x2xf32> {bppsa.input = "h"}) -> tensor<f32> {
  %c0 = arith.constant 0.0 : f32
  %states = bppsa.recurrence sequences(%x : tensor<?x?x2xf32>) initial(%h : tensor<?x2xf32>) -> (tensor<?x?x2xf32>) {
  ^bb0(%xt: vector<2xf32>, %s: vector<2xf32>):
    %gate = bppsa.sigmoid %xt : vector<2xf32>
    %t = math.tanh %s : vector<2xf32>
    %next = arith.mulf %gate, %t : vector<2xf32>
    bppsa.yield %next : vector<2xf32>
  }
  %e = tensor.empty() : tensor<f32>
  %z = linalg.fill ins(%c0 : f32) outs(%e : tensor<f32>) -> tensor<f32>
  %l = linalg.generic {indexing_maps = [affine_map<(t, b, i) -> (t, b, i)>, affine_map<(t, b, i) -> ()>],
                       iterator_types = ["reduction", "reduction", "reduction"]}
      ins(%states : tensor<?x?x2xf32>) outs(%z : tensor<f32>) {
  ^bb0(%in: f32, %out: f32):
    %sum = arith.addf %out, %in : f32
    linalg.yield %sum : f32
  } -> tensor<f32>
  return %l : tensor<f32>
}

// -----

// The slope of a logarithm is zero at zero, and the slope of an exponential is zero if it
// overflows.
// CHECK-LABEL: func.func @grad(
// CHECK: linalg.generic
// CHECK: linalg.generic
// CHECK: %[[EXP:.*]] = math.exp
// CHECK: %[[SLOPE:.*]] = arith.divf
// CHECK: %[[REGULAR:.*]] = arith.cmpf one, %[[EXP]]
// CHECK: %[[OFLOG:.*]] = arith.select %[[REGULAR]], %[[SLOPE]]
// CHECK: %[[PRODUCT:.*]] = arith.mulf %[[OFLOG]], %[[EXP]]
// CHECK: %[[FINITE:.*]] = arith.cmpf olt, %[[EXP]]
// CHECK: arith.select %[[FINITE]], %[[PRODUCT]]
func.func @loss(%x: tensor<4xf32> {bppsa.input = "x"}) -> tensor<f32> {
  %c0 = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<f32>
  %z = linalg.fill ins(%c0 : f32) outs(%e : tensor<f32>) -> tensor<f32>
  %l = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> ()>],
                       iterator_types = ["reduction"]}
      ins(%x : tensor<4xf32>) outs(%z : tensor<f32>) {
  ^bb0(%in: f32, %out: f32):
    %exp = math.exp %in : f32
    %log = math.log %exp : f32
    %sum = arith.addf %out, %log : f32
    linalg.yield %sum : f32
  } -> tensor<f32>
  return %l : tensor<f32>
}
