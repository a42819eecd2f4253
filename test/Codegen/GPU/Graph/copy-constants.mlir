// RUN: bppsa-opt %s --bppsa-copy-constants --canonicalize --cse | FileCheck %s

// A kernel that contains the constant array copies it to device memory.

// CHECK: memref.global "private" constant @table

// CHECK-LABEL: func @constant(
// CHECK-SAME:      %[[OUT:.*]]: memref<2x3xf32>)
// CHECK-NOT:     memref.get_global
// CHECK:         %[[COPY:.*]] = memref.alloc() {{.*}} : memref<2x3xf32>
// CHECK:         gpu.launch
// CHECK:           arith.cmpi ult, %{{.*}}, %c6
// CHECK:           %[[TABLE:.*]] = memref.get_global @table
// CHECK:           %[[VALUE:.*]] = memref.load %[[TABLE]][%[[I:.*]], %[[J:.*]]]
// CHECK:           memref.store %[[VALUE]], %[[COPY]][%[[I]], %[[J]]]
// CHECK:         call @use(%[[COPY]], %[[OUT]])
// CHECK:         memref.dealloc %[[COPY]]
memref.global "private" constant @table : memref<2x3xf32> = dense<[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]>
func.func @constant(%out: memref<2x3xf32>) {
  %0 = memref.get_global @table : memref<2x3xf32>
  call @use(%0, %out) : (memref<2x3xf32>, memref<2x3xf32>) -> ()
  return
}
func.func private @use(%a: memref<2x3xf32>, %b: memref<2x3xf32>) {
  memref.copy %a, %b : memref<2x3xf32> to memref<2x3xf32>
  return
}

// One thread writes a scalar that the host has computed.

// CHECK-LABEL: func @store(
// CHECK:         %[[SIZE:.*]] = arith.index_cast
// CHECK:         gpu.launch
// CHECK:           arith.cmpi ult, %{{.*}}, %c1
// CHECK:           memref.store %[[SIZE]], %{{.*}}[]
func.func @store(%x: memref<?xf32>, %out: memref<i64>) {
  %c0 = arith.constant 0 : index
  %n = memref.dim %x, %c0 : memref<?xf32>
  %v = arith.index_cast %n : index to i64
  memref.store %v, %out[] : memref<i64>
  return
}
