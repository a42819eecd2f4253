// RUN: bppsa-opt %s --bppsa-expand-math | FileCheck %s
// RUN: bppsa-opt %s --bppsa-expand-math=reciprocals | FileCheck %s --check-prefix=GPU

// No library call remains, and no fma that must round only once.

// CHECK-LABEL: func @functions(
// CHECK-NOT:     bppsa.sigmoid
// CHECK-NOT:     math.{{tanh|exp|log|fma}}
// CHECK:         vector.fma
// CHECK:         return
func.func @functions(%x: vector<16xf32>, %y: f32) -> (vector<16xf32>, f32) {
  %0 = math.tanh %x : vector<16xf32>
  %1 = math.exp %0 : vector<16xf32>
  %2 = math.log %1 : vector<16xf32>
  %3 = bppsa.sigmoid %2 : vector<16xf32>
  %4 = bppsa.sigmoid %y : f32
  return %3, %4 : vector<16xf32>, f32
}

// The divisors of these functions are never close to zero.

// CHECK-LABEL: func @quotients(
// CHECK-NOT:     fastmath<arcp>
// CHECK:         return
// GPU-LABEL:   func @quotients(
// GPU:           arith.divf %{{.*}}, %{{.*}} fastmath<arcp> : f32
// GPU:           arith.divf %{{.*}}, %{{.*}} fastmath<arcp> : f32
// GPU:           arith.divf %{{[^,]*}}, %{{[^ ]*}} : f32
func.func @quotients(%x: f32) -> f32 {
  %0 = math.tanh %x : f32
  %1 = bppsa.sigmoid %0 : f32
  %2 = arith.divf %1, %x : f32
  return %2 : f32
}
