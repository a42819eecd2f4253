// RUN: bppsa-opt --convert-bppsa-to-vector --split-input-file --verify-diagnostics %s | FileCheck %s

// The received state replaces a copy of the initial state of the first rank.
// CHECK-LABEL: func.func @enter
//  CHECK-SAME: (%[[H:.*]]: memref<?x4xf32>, %[[FIRST:.*]]: memref<?x4xf32>)
//       CHECK:   memref.copy %[[H]], %[[FIRST]]
//       CHECK:   %[[ADDRESS:.*]] = memref.extract_aligned_pointer_as_index %[[FIRST]]
//       CHECK:   %[[PART:.*]] = arith.muli
//       CHECK:   %[[BYTES:.*]] = arith.muli %[[PART]],
//       CHECK:   %[[REVERSE:[^ ]*]] = arith.constant 1 : index
//  CHECK-NEXT:   %[[TRANSPOSED:.*]] = arith.constant 0 : index
//  CHECK-NEXT:   %[[CHANNEL:.*]] = arith.constant 5 : index
//       CHECK:   call @bppsa_rt_shard_enter(%[[ADDRESS]], %[[BYTES]], %[[REVERSE]], %[[TRANSPOSED]], %[[CHANNEL]])
func.func @enter(%h: memref<?x4xf32>, %first: memref<?x4xf32>) {
  dist.shard_enter reverse %h into %first channel 5 : memref<?x4xf32> into memref<?x4xf32>
  return
}

// The state that leaves the shard is sent contiguously and adds nothing to the loss of this rank.
// CHECK-LABEL: func.func @leave
//  CHECK-SAME: %[[REST:[^ ]*]]: memref<f32>)
//       CHECK:   memref.store %{{.*}}, %[[REST]][]
//       CHECK:   %[[DENSE:.*]] = memref.alloc
//       CHECK:   memref.extract_aligned_pointer_as_index %[[DENSE]]
//       CHECK:   call @bppsa_rt_shard_leave
//       CHECK:   memref.dealloc %[[DENSE]]
func.func @leave(%h: memref<?x4xf32, strided<[8, 1]>>, %rest: memref<f32>) {
  dist.shard_leave %h into %rest channel 0 : memref<?x4xf32, strided<[8, 1]>> into memref<f32>
  return
}

// A cotangent is written directly to its destination.
// CHECK-LABEL: func.func @cotangent
//  CHECK-SAME: (%{{.*}}: memref<?x4xf32>, %[[G:.*]]: memref<?x4xf32>)
//       CHECK:   memref.extract_aligned_pointer_as_index %[[G]]
//       CHECK:   memref.dim
//       CHECK:   memref.dim
//       CHECK:   %[[REVERSE:.*]] = arith.constant 0 : index
//  CHECK-NEXT:   %[[TRANSPOSED:.*]] = arith.constant 1 : index
//       CHECK:   call @bppsa_rt_shard_leave(%{{.*}}, %{{.*}}, %[[REVERSE]], %[[TRANSPOSED]], %{{.*}})
func.func @cotangent(%h: memref<?x4xf32>, %g: memref<?x4xf32>) {
  dist.shard_leave transposed %h into %g channel 0 : memref<?x4xf32> into memref<?x4xf32>
  return
}

// CHECK-LABEL: func.func @steps
//  CHECK-SAME: (%[[OWN:.*]]: index)
//       CHECK:   call @bppsa_rt_shard_first_step() : () -> index
//       CHECK:   call @bppsa_rt_shard_all_steps(%[[OWN]]) : (index) -> index
func.func @steps(%own: index) -> (index, index) {
  %first = dist.shard_first_step
  %all = dist.shard_all_steps %own
  return %first, %all : index, index
}

// A scan reads a contiguous map and contiguous own cotangents.
// CHECK-LABEL: func.func @scan
//  CHECK-SAME: (%[[MAP:[^:]*]]: memref<?x4x4xf32, strided<[32, 4, 1]>>, %[[OWN:[^:]*]]: memref<?x4xf32>, %[[INTO:[^:]*]]: memref<?x4xf32>)
//       CHECK:   %[[DENSE:.*]] = memref.alloc
//   CHECK-DAG:   %[[SAMPLES:.*]] = memref.dim %[[INTO]], %{{.*}}
//   CHECK-DAG:   %[[FROM:.*]] = memref.extract_aligned_pointer_as_index %[[DENSE]]
//   CHECK-DAG:   %[[ADDRESS:.*]] = memref.extract_aligned_pointer_as_index %[[OWN]]
//   CHECK-DAG:   %[[TO:.*]] = memref.extract_aligned_pointer_as_index %[[INTO]]
//       CHECK:   call @bppsa_rt_shard_scan(%[[FROM]], %[[ADDRESS]], %[[TO]], %[[SAMPLES]], %{{.*}}, %{{.*}})
//       CHECK:   memref.dealloc %[[DENSE]]
func.func @scan(%map: memref<?x4x4xf32, strided<[32, 4, 1]>>, %own: memref<?x4xf32>, %into: memref<?x4xf32>) {
  dist.shard_scan reverse %map, %own into %into channel 0 : memref<?x4x4xf32, strided<[32, 4, 1]>>, memref<?x4xf32> into memref<?x4xf32>
  return
}

// -----

func.func @gaps(%h: memref<?x4xf32>, %g: memref<?x4xf32, strided<[8, 1]>>) {
  // expected-error @below {{needs a dense destination}}
  dist.shard_enter %h into %g channel 0 : memref<?x4xf32> into memref<?x4xf32, strided<[8, 1]>>
  return
}

// -----

func.func @tensors(%h: tensor<?x4xf32>) -> tensor<f32> {
  // expected-error @below {{works on tensors; run bppsa-bufferize first}}
  %0 = dist.shard_leave %h channel 0 : tensor<?x4xf32> -> tensor<f32>
  return %0 : tensor<f32>
}

// -----

func.func @scan_of_tensors(%map: tensor<?x4x4xf32>, %own: tensor<?x4xf32>) -> tensor<?x4xf32> {
  // expected-error @below {{works on tensors; run bppsa-bufferize first}}
  %0 = dist.shard_scan %map, %own channel 0 : tensor<?x4x4xf32>, tensor<?x4xf32> -> tensor<?x4xf32>
  return %0 : tensor<?x4xf32>
}

// -----

func.func @scan_into_gaps(%map: memref<?x4x4xf32>, %own: memref<?x4xf32>, %into: memref<?x4xf32, strided<[8, 1]>>) {
  // expected-error @below {{needs a dense destination, found 'memref<?x4xf32, strided<[8, 1]>>'}}
  dist.shard_scan %map, %own into %into channel 0 : memref<?x4x4xf32>, memref<?x4xf32> into memref<?x4xf32, strided<[8, 1]>>
  return
}
