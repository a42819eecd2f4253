// RUN: bppsa-opt --convert-bppsa-to-vector %s | FileCheck %s

//       CHECK: func.func private @bppsa_rt_rank_weight() -> f32
//       CHECK: func.func private @bppsa_rt_rank_mean(index, index, index)
//       CHECK: func.func private @bppsa_rt_signal_gradient(index)
//       CHECK: func.func private @bppsa_rt_await_parameter(index)
// CHECK-LABEL: func.func @step
//  CHECK-SAME: (%[[A:.*]]: memref<8xf32> {{.*}}, %[[DA:.*]]: memref<8xf32> {{.*}})
//  CHECK-NEXT:   %[[VALUES:.*]] = memref.extract_aligned_pointer_as_index %[[A]]
//  CHECK-NEXT:   call @bppsa_rt_await_parameter(%[[VALUES]])
//  CHECK-NEXT:   %[[GRADIENT:.*]] = memref.extract_aligned_pointer_as_index %[[DA]]
//  CHECK-NEXT:   call @bppsa_rt_signal_gradient(%[[GRADIENT]])
func.func @step(%a: memref<8xf32> {bppsa.parameter = "a"},
                %da: memref<8xf32> {bppsa.gradient = "a"}) {
  dist.await_parameter %a : memref<8xf32>
  dist.signal_gradient %da : memref<8xf32>
  return
}

// The runtime works in place on contiguous memory.
// CHECK-LABEL: func.func @meet
//  CHECK-SAME: (%[[OWN:.*]]: memref<4x?xf32, {{.*}}>, %[[ALL:.*]]: memref<4x?xf32>)
//       CHECK:   memref.store %{{.*}}, %[[ALL]]
//       CHECK:   %[[ROWS:.*]] = memref.dim %[[ALL]]
//       CHECK:   %[[FIRST:.*]] = arith.muli %{{.*}}, %[[ROWS]]
//       CHECK:   %[[COLUMNS:.*]] = memref.dim %[[ALL]]
//       CHECK:   %[[COUNT:.*]] = arith.muli %[[FIRST]], %[[COLUMNS]]
//       CHECK:   %[[TRANSPOSED:.*]] = arith.constant 1 : index
//       CHECK:   %[[ADDRESS:.*]] = memref.extract_aligned_pointer_as_index %[[ALL]]
//       CHECK:   call @bppsa_rt_rank_mean(%[[ADDRESS]], %[[COUNT]], %[[TRANSPOSED]]) : (index, index, index) -> ()
//       CHECK:   %[[WEIGHT:.*]] = call @bppsa_rt_rank_weight() : () -> f32
//       CHECK:   return %[[WEIGHT]]
func.func @meet(%own: memref<4x?xf32, strided<[?, 1]>>, %all: memref<4x?xf32>) -> f32 {
  dist.rank_mean transposed %own into %all : memref<4x?xf32, strided<[?, 1]>> into memref<4x?xf32>
  %weight = dist.rank_weight : f32
  return %weight : f32
}
