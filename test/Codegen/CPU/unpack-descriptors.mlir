// RUN: bppsa-opt %s --split-input-file --bppsa-unpack-descriptors --finalize-memref-to-llvm --bppsa-resolve-words \
// RUN:   --reconcile-unrealized-casts | FileCheck %s
// RUN: bppsa-opt %s --split-input-file --bppsa-unpack-descriptors | FileCheck %s --check-prefix=WORDS

// A static size is a constant; dynamic sizes and the stride are arguments. The caller adds the
// offset.
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

// The callee takes a static offset from the type, so it receives the address of the whole array.
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

// A kernel that passes its array on as a more dynamic type takes the sizes from its own type.
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

// A use other than field reads needs a complete descriptor.
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

// Exported functions and external declarations keep their descriptors.
// CHECK-LABEL: func.func @exported(
// CHECK-SAME:      %{{.*}}: memref<?xf32>)
func.func @exported(%x: memref<?xf32>) attributes {llvm.emit_c_interface, passthrough = ["noinline"]} {
  return
}
// CHECK:       func.func private @declared(memref<?xf32>)
func.func private @declared(memref<?xf32>)

// -----

func.func private @viewed(memref<?x4xf32, strided<[?, 1], offset: ?>>) attributes {passthrough = ["noinline"]}

// The words of a view are computed from its source. Only the source has a descriptor.
// WORDS-LABEL: func.func @call_viewed(
// WORDS-SAME:      %[[X:.*]]: memref<?x8xf32>, %[[N:.*]]: index)
// WORDS-NOT:     memref.reinterpret_cast
// WORDS:         %[[ADDRESS:.*]] = builtin.unrealized_conversion_cast %{{.*}} : memref<f32> to !llvm.ptr
// WORDS:         %[[OFFSET:.*]] = llvm.mlir.constant(12 : index) : i64
// WORDS:         %[[START:.*]] = llvm.getelementptr %[[ADDRESS]][%[[OFFSET]]]
// WORDS:         %[[SIZE:.*]] = builtin.unrealized_conversion_cast %[[N]] : index to i64
// WORDS:         %[[STRIDE:.*]] = llvm.mlir.constant(8 : index) : i64
// WORDS:         call @viewed(%[[START]], %[[SIZE]], %[[STRIDE]]) : (!llvm.ptr, i64, i64) -> ()
// CHECK-LABEL: func.func @call_viewed(
// CHECK:         call @viewed
func.func @call_viewed(%x: memref<?x8xf32>, %n: index) {
  %base, %offset, %sizes:2, %strides:2 = memref.extract_strided_metadata %x
      : memref<?x8xf32> -> memref<f32>, index, index, index, index, index
  %view = memref.reinterpret_cast %base to offset: [12], sizes: [%n, 4], strides: [8, 1]
      : memref<f32> to memref<?x4xf32, strided<[8, 1], offset: 12>>
  %open = memref.cast %view : memref<?x4xf32, strided<[8, 1], offset: 12>>
      to memref<?x4xf32, strided<[?, 1], offset: ?>>
  call @viewed(%open) : (memref<?x4xf32, strided<[?, 1], offset: ?>>) -> ()
  return
}

// -----

func.func private @moved(memref<4xf32, strided<[1], offset: ?>>) attributes {passthrough = ["noinline"]}

// The offset of a view is relative to the aligned pointer of its source, not to its first element.
// WORDS-LABEL: func.func @call_moved(
// WORDS:         memref.reinterpret_cast
// CHECK-LABEL: func.func @call_moved(
// CHECK:         call @moved
func.func @call_moved(%x: memref<8xf32, strided<[1], offset: ?>>) {
  %view = memref.reinterpret_cast %x to offset: [2], sizes: [4], strides: [1]
      : memref<8xf32, strided<[1], offset: ?>> to memref<4xf32, strided<[1], offset: 2>>
  %open = memref.cast %view : memref<4xf32, strided<[1], offset: 2>>
      to memref<4xf32, strided<[1], offset: ?>>
  call @moved(%open) : (memref<4xf32, strided<[1], offset: ?>>) -> ()
  return
}
