// RUN: bppsa-opt --convert-bppsa-to-vector %s | FileCheck %s

// CHECK-LABEL: func.func @dense
//  CHECK-SAME: (%[[X:.*]]: memref<?x4xf64>)
//       CHECK:   %[[ADDRESS:.*]] = memref.extract_aligned_pointer_as_index %[[X]]
//       CHECK:   %[[EIGHT:.*]] = arith.constant 8 : index
//       CHECK:   %[[ROWS:.*]] = memref.dim %[[X]]
//       CHECK:   %[[PART:.*]] = arith.muli %[[EIGHT]], %[[ROWS]]
//       CHECK:   %[[BYTES:.*]] = arith.muli %[[PART]],
//       CHECK:   %[[STAGE:.*]] = arith.constant 1 : index
//       CHECK:   %[[CHANNEL:.*]] = arith.constant 3 : index
//       CHECK:   call @bppsa_rt_stage_send(%[[ADDRESS]], %[[BYTES]], %[[STAGE]], %[[CHANNEL]])
func.func @dense(%x: memref<?x4xf64>) {
  dist.stage_send %x to 1 channel 3 : memref<?x4xf64>
  return
}

// Arrays with gaps are sent as a contiguous copy.
// CHECK-LABEL: func.func @gaps
//       CHECK:   %[[COPY:.*]] = memref.alloc(%{{.*}}) : memref<?xf32>
//       CHECK:   memref.extract_aligned_pointer_as_index %[[COPY]]
//       CHECK:   call @bppsa_rt_stage_send
//  CHECK-NEXT:   memref.dealloc %[[COPY]]
func.func @gaps(%x: memref<?xf32, strided<[2]>>) {
  dist.stage_send %x to 0 channel 0 : memref<?xf32, strided<[2]>>
  return
}

// CHECK-LABEL: func.func @receive
//  CHECK-SAME: (%{{.*}}: index, %[[X:.*]]: memref<?x4xi1>)
//       CHECK:   %[[ADDRESS:.*]] = memref.extract_aligned_pointer_as_index %[[X]]
//       CHECK:   arith.constant 1 : index
//       CHECK:   call @bppsa_rt_stage_receive(%[[ADDRESS]],
func.func @receive(%n: index, %x: memref<?x4xi1>) {
  dist.stage_receive(%n) from 0 channel 1 into %x : memref<?x4xi1>
  return
}
