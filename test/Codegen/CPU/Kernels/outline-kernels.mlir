// RUN: bppsa-opt --bppsa-outline-kernels %s | FileCheck %s

// CHECK-LABEL: func.func @sum
//  CHECK-SAME: (%[[S:.*]]: memref<2x?x20x16xf32>, %[[B:.*]]: memref<20xf32>)
//  CHECK-NEXT:   call @step_sum_kernel_0(%[[S]], %[[B]])
//  CHECK-NEXT:   return
func.func @sum(%s: memref<2x?x20x16xf32>, %b: memref<20xf32>) {
  bppsa.step_sum lanes 16 %s into %b : memref<2x?x20x16xf32> into memref<20xf32>
  return
}

// Constants move into the kernel; other values become its arguments.
// CHECK-LABEL: func.func @clear
//  CHECK-SAME: (%[[A:.*]]: memref<?xf32>)
//       CHECK:   call @fill_kernel_1(%[[A]])
//  CHECK-NEXT:   return
func.func @clear(%a: memref<?xf32>) {
  %zero = arith.constant 0.0 : f32
  linalg.fill ins(%zero : f32) outs(%a : memref<?xf32>)
  return
}

// A public function that already consists of loops becomes a single kernel.
// CHECK-LABEL: func.func @update
//  CHECK-SAME: (%[[A:.*]]: memref<?xf32>)
//  CHECK-NEXT:   call @update_kernel(%[[A]])
//  CHECK-NEXT:   return
func.func @update(%a: memref<?xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %size = memref.dim %a, %c0 : memref<?xf32>
  scf.for %i = %c0 to %size step %c1 {
    %x = memref.load %a[%i] : memref<?xf32>
    %y = arith.addf %x, %x : f32
    memref.store %y, %a[%i] : memref<?xf32>
  }
  return
}

// A loop between other kernels is a kernel too.
// CHECK-LABEL: func.func @scatter
//       CHECK:   call @fill_kernel_2
//   CHECK-NOT:   scf.for
//       CHECK:   call @for_kernel_3
func.func @scatter(%a: memref<?xf32>, %b: memref<8xf32>) {
  %zero = arith.constant 0.0 : f32
  linalg.fill ins(%zero : f32) outs(%a : memref<?xf32>)
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  scf.for %i = %c0 to %c8 step %c1 {
    %x = memref.load %b[%i] : memref<8xf32>
    memref.store %x, %a[%i] : memref<?xf32>
  }
  return
}

// Products of explicit Jacobians are kernels.
// CHECK-LABEL: func.func @products
//  CHECK-SAME: (%[[A:.*]]: memref<4xf32>, %[[B:.*]]: memref<4xf32>, %[[P:.*]]: memref<4xf32>, %[[G:.*]]: memref<2x?xf32>, %[[OUT:.*]]: memref<2x?xf32>)
//  CHECK-NEXT:   call @sparse_compose_kernel_4(%[[A]], %[[B]], %[[P]])
//  CHECK-NEXT:   call @sparse_apply_kernel_5(%[[P]], %[[G]], %[[OUT]])
//  CHECK-NEXT:   return
func.func @products(%a: memref<4xf32>, %b: memref<4xf32>, %p: memref<4xf32>, %g: memref<2x?xf32>, %out: memref<2x?xf32>) {
  jacobian.sparse_compose 2 x 2 x 2 first(%a : memref<4xf32>) second(%b : memref<4xf32>) into(%p : memref<4xf32>)
  jacobian.sparse_apply values(%p : memref<4xf32>) cotangent(%g : memref<2x?xf32>) into(%out : memref<2x?xf32>)
  return
}

// Gradients of pruned weights are kernels too.
// CHECK-LABEL: func.func @gradient
//  CHECK-SAME: (%[[X:.*]]: memref<4x?xf32>, %[[G:.*]]: memref<3x?xf32>, %[[S:.*]]: memref<3xi32>, %[[R:.*]]: memref<5xi32>, %[[P:.*]]: memref<2xi32>, %[[OUT:.*]]: memref<6xf32>)
//  CHECK-NEXT:   call @sparse_outer_sum_kernel_6(%[[X]], %[[G]], %[[S]], %[[R]], %[[P]], %[[OUT]])
//  CHECK-NEXT:   return
func.func @gradient(%x: memref<4x?xf32>, %g: memref<3x?xf32>, %s: memref<3xi32>, %r: memref<5xi32>, %p: memref<2xi32>, %out: memref<6xf32>) {
  jacobian.sparse_outer_sum lhs(%x : memref<4x?xf32>) rhs(%g : memref<3x?xf32>)
      starts(%s : memref<3xi32>) rows(%r, %r : memref<5xi32>, memref<5xi32>) at(%p : memref<2xi32>) into(%out : memref<6xf32>)
  return
}

// A loop over time of graph operations stays; each of these operations is a kernel.
// CHECK-LABEL: func.func @steps
// CHECK: scf.for
// CHECK-NEXT: {{.*}}call @generic_kernel_{{[0-9]+}}
// CHECK-NEXT: {{.*}}call @generic_kernel_{{[0-9]+}}
// CHECK-NEXT: }
// CHECK-NEXT: return
func.func @steps(%a: memref<?xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  linalg.fill ins(%zero : f32) outs(%a : memref<?xf32>)
  scf.for %t = %c0 to %n step %c1 {
    linalg.generic {indexing_maps = [affine_map<(i) -> (i)>], iterator_types = ["parallel"]} outs(%a : memref<?xf32>) {
    ^bb0(%x: f32):
      %y = math.exp %x : f32
      linalg.yield %y : f32
    }
    linalg.generic {indexing_maps = [affine_map<(i) -> (i)>], iterator_types = ["parallel"]} outs(%a : memref<?xf32>) {
    ^bb0(%x: f32):
      %y = arith.negf %x : f32
      linalg.yield %y : f32
    }
  }
  return
}

// CHECK:      func.func private @step_sum_kernel_0({{.*}}) attributes {passthrough = ["noinline"]}
// CHECK-NEXT:   bppsa.step_sum
// CHECK:      func.func private @fill_kernel_1
// CHECK-NEXT:   arith.constant
// CHECK-NEXT:   linalg.fill
// CHECK:      func.func private @sparse_compose_kernel_4({{.*}}) attributes {passthrough = ["noinline"]}
// CHECK-NEXT:   jacobian.sparse_compose
// CHECK:      func.func private @sparse_apply_kernel_5({{.*}})
// CHECK-NEXT:   jacobian.sparse_apply
// CHECK:      func.func private @sparse_outer_sum_kernel_6({{.*}})
// CHECK-NEXT:   jacobian.sparse_outer_sum
// CHECK:      func.func private @update_kernel
// CHECK:        scf.for
