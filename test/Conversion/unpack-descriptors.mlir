// RUN: bppsa-opt %s --split-input-file --finalize-memref-to-llvm --bppsa-unpack-descriptors --reconcile-unrealized-casts \
// RUN:   | FileCheck %s

// A fixed size is a constant, the open ones and the stride are arguments. The caller adds the offset.
// CHECK-LABEL: func.func private @kernel(
// CHECK-SAME:      %[[X:.*]]: !llvm.ptr, %[[SIZE:.*]]: i64, %[[STRIDE:.*]]: i64, %[[N:.*]]: i64)
// CHECK-NOT:     llvm.insertvalue
// CHECK-NOT:     llvm.extractvalue
// CHECK:         llvm.mul %{{.*}}, %[[STRIDE]]
// CHECK:         llvm.getelementptr {{.*}}%[[X]]
// CHECK:         return
func.func private @kernel(%x: memref<?x8xf32, strided<[?, 1], offset: ?>>, %n: index)
    attributes {passthrough = ["noinline"]} {
  %c0 = arith.constant 0 : index
  %size = memref.dim %x, %c0 : memref<?x8xf32, strided<[?, 1], offset: ?>>
  %value = memref.load %x[%n, %c0] : memref<?x8xf32, strided<[?, 1], offset: ?>>
  memref.store %value, %x[%size, %c0] : memref<?x8xf32, strided<[?, 1], offset: ?>>
  return
}

// CHECK-LABEL: func.func @caller(
// CHECK:         %[[ALIGNED:.*]] = llvm.extractvalue %[[D:.*]][1]
// CHECK:         %[[OFFSET:.*]] = llvm.extractvalue %[[D]][2]
// CHECK:         %[[START:.*]] = llvm.getelementptr %[[ALIGNED]][%[[OFFSET]]]
// CHECK:         call @kernel(%[[START]], %{{.*}}, %{{.*}}, %{{.*}}) : (!llvm.ptr, i64, i64, i64) -> ()
func.func @caller(%x: memref<?x8xf32, strided<[?, 1], offset: ?>>, %n: index) {
  call @kernel(%x, %n) : (memref<?x8xf32, strided<[?, 1], offset: ?>>, index) -> ()
  return
}

// -----

// The callee knows an offset that the type tells: the address is that of the whole array.
// CHECK-LABEL: func.func private @known_offset(!llvm.ptr)
func.func private @known_offset(memref<4xf32, strided<[1], offset: 3>>) attributes {passthrough = ["noinline"]}

// CHECK-LABEL: func.func @call_known_offset(
// CHECK-NOT:     llvm.getelementptr
// CHECK:         call @known_offset
func.func @call_known_offset(%x: memref<4xf32, strided<[1], offset: 3>>) {
  call @known_offset(%x) : (memref<4xf32, strided<[1], offset: 3>>) -> ()
  return
}

// -----

// A kernel that hands its array on under a type that knows less has the numbers of its own type.
// CHECK-LABEL: func.func private @inner(!llvm.ptr, i64)
func.func private @inner(memref<?xf32>) attributes {passthrough = ["noinline"]}

// CHECK-LABEL: func.func private @outer(
// CHECK-SAME:      %[[X:.*]]: !llvm.ptr)
// CHECK-NEXT:    %[[SIZE:.*]] = llvm.mlir.constant(4 : index) : i64
// CHECK-NEXT:    call @inner(%[[X]], %[[SIZE]])
func.func private @outer(%x: memref<4xf32>) attributes {passthrough = ["noinline"]} {
  %open = memref.cast %x : memref<4xf32> to memref<?xf32>
  call @inner(%open) : (memref<?xf32>) -> ()
  return
}

// -----

// Where something else than fields is read, there is a whole descriptor.
// CHECK-LABEL: func.func private @copied(
// CHECK-SAME:      %[[X:.*]]: !llvm.ptr, %[[N:.*]]: i64) -> index
// CHECK:         %[[P0:.*]] = llvm.mlir.poison
// CHECK:         llvm.insertvalue %[[X]], %[[P0]][0]
// CHECK:         llvm.insertvalue %[[N]], %{{.*}}[3, 0]
// CHECK:         builtin.unrealized_conversion_cast
func.func private @copied(%x: memref<?xf32>) -> index attributes {passthrough = ["noinline"]} {
  %0 = builtin.unrealized_conversion_cast %x : memref<?xf32> to index
  return %0 : index
}

// -----

// What a program exports, and what others define, keeps its descriptors.
// CHECK-LABEL: func.func @exported(
// CHECK-SAME:      %{{.*}}: memref<?xf32>)
func.func @exported(%x: memref<?xf32>) attributes {llvm.emit_c_interface, passthrough = ["noinline"]} {
  return
}
// CHECK:       func.func private @declared(memref<?xf32>)
func.func private @declared(memref<?xf32>)
