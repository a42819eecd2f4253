// RUN: bppsa-opt --convert-bppsa-to-vector %s | FileCheck %s

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
  bppsa.await_parameter %a : memref<8xf32>
  bppsa.signal_gradient %da : memref<8xf32>
  return
}
