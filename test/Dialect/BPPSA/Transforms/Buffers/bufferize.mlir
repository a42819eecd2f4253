// RUN: bppsa-opt %s --bppsa-bufferize --canonicalize --cse | FileCheck %s

// Results become arguments that keep their attributes. Arrays written by a loop are allocated and
// freed after their last use.

// CHECK-LABEL: func @loop(
// CHECK-SAME:      %[[X:.*]]: memref<?x?x4x16xf32>, %[[H0:.*]]: memref<?x4x16xf32>,
// CHECK-SAME:      %[[N:[^ ]*]]: index,
// CHECK-SAME:      %[[D:.*]]: memref<4x4xf32> {bppsa.gradient = "w"})
// CHECK-SAME:      attributes {llvm.emit_c_interface}
// CHECK-DAG:     %[[BLOCKS:.*]] = memref.dim %[[X]], %c0
// CHECK-DAG:     %[[STEPS:.*]] = memref.dim %[[X]], %c1
// CHECK:         %[[SLOTS:.*]] = arith.addi %[[STEPS]], %c1
// CHECK:         %[[H:.*]] = memref.alloc(%[[BLOCKS]], %[[SLOTS]]) {alignment = 64 : i64} : memref<?x?x4x16xf32>
// CHECK:         bppsa.recurrence lanes 16 sequences(%[[X]] : {{.*}}) initial(%[[H0]] : {{.*}}) into(%[[H]] :
// CHECK:         %[[S:.*]] = memref.subview %[[H]][0, 1, 0, 0]
// CHECK:         bppsa.outer_sum lanes 16 %[[S]], %[[X]] batch %[[N]] into %[[A:[^ ]*]] :
// CHECK:         memref.dealloc %[[H]]
// CHECK:         memref.copy %[[A]], %[[D]]
// CHECK:         memref.dealloc %[[A]]
// CHECK:         return{{$}}
func.func @loop(%x: tensor<?x?x4x16xf32>, %h0: tensor<?x4x16xf32>, %n: index)
    -> (tensor<4x4xf32> {bppsa.gradient = "w"}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %b = tensor.dim %x, %c0 : tensor<?x?x4x16xf32>
  %t = tensor.dim %x, %c1 : tensor<?x?x4x16xf32>
  %h = bppsa.recurrence lanes 16 sequences(%x : tensor<?x?x4x16xf32>)
      initial(%h0 : tensor<?x4x16xf32>) -> (tensor<?x?x4x16xf32>) {
  ^bb0(%xt: vector<4xf32>, %ht: vector<4xf32>):
    %0 = arith.addf %xt, %ht : vector<4xf32>
    bppsa.yield %0 : vector<4xf32>
  }
  %s = tensor.extract_slice %h[0, 1, 0, 0] [%b, %t, 4, 16] [1, 1, 1, 1]
      : tensor<?x?x4x16xf32> to tensor<?x?x4x16xf32>
  %d = bppsa.outer_sum lanes 16 %s, %x batch %n : tensor<?x?x4x16xf32>, tensor<?x?x4x16xf32> -> tensor<4x4xf32>
  return %d : tensor<4x4xf32>
}

// CHECK-LABEL: func @stop(
// CHECK-SAME:      %[[X:.*]]: memref<3xf32>, %[[Y:.*]]: memref<3xf32>)
// CHECK-NEXT:    memref.copy %[[X]], %[[Y]]
func.func @stop(%x: tensor<3xf32>) -> tensor<3xf32> {
  %0 = bppsa.stop_gradient %x : tensor<3xf32>
  return %0 : tensor<3xf32>
}

// The number of samples comes from the cotangents, because all samples share the matrix.

// CHECK-LABEL: func @sparse_apply(
// CHECK-SAME:      %[[V:.*]]: memref<4xf32>, %[[R:.*]]: memref<4xi32>, %[[C:.*]]: memref<4xi32>, %[[G:.*]]: memref<2x?xf32>, %[[OUT:.*]]: memref<3x?xf32>)
// CHECK-DAG:     %[[SAMPLES:.*]] = memref.dim %[[G]], %c1
// CHECK:         %[[A:.*]] = memref.alloc(%[[SAMPLES]]) {{.*}} : memref<3x?xf32>
// CHECK:         jacobian.sparse_apply values(%[[V]] : memref<4xf32>) rows(%[[R]] : memref<4xi32>) columns(%[[C]] : memref<4xi32>) cotangent(%[[G]] : memref<2x?xf32>) into(%[[A]] : memref<3x?xf32>){{$}}
// CHECK:         memref.copy %[[A]], %[[OUT]]
func.func @sparse_apply(%v: tensor<4xf32>, %r: tensor<4xi32>, %c: tensor<4xi32>, %g: tensor<2x?xf32>) -> tensor<3x?xf32> {
  %0 = jacobian.sparse_apply values(%v : tensor<4xf32>) rows(%r : tensor<4xi32>) columns(%c : tensor<4xi32>) cotangent(%g : tensor<2x?xf32>) -> tensor<3x?xf32>
  return %0 : tensor<3x?xf32>
}

// CHECK-LABEL: func @sparse_compose(
// CHECK-SAME:      %[[FIRST:.*]]: memref<4xf32>, %[[SECOND:.*]]: memref<2x?xf32>, %[[P:.*]]: memref<6xi32>, %{{.*}}: memref<6x?xf32>)
// CHECK-DAG:     %[[SAMPLES:.*]] = memref.dim %[[SECOND]], %c1
// CHECK:         %[[A:.*]] = memref.alloc(%[[SAMPLES]]) {{.*}} : memref<6x?xf32>
// CHECK:         jacobian.sparse_compose 3 x 2 x 2 first(%[[FIRST]] : memref<4xf32>) second(%[[SECOND]] : memref<2x?xf32>) at(%[[P]] : memref<6xi32>) into(%[[A]] : memref<6x?xf32>){{$}}
func.func @sparse_compose(%a: tensor<4xf32>, %b: tensor<2x?xf32>, %p: tensor<6xi32>) -> tensor<6x?xf32> {
  %0 = jacobian.sparse_compose 3 x 2 x 2 first(%a : tensor<4xf32>) second(%b : tensor<2x?xf32>) at(%p : tensor<6xi32>) -> tensor<6x?xf32>
  return %0 : tensor<6x?xf32>
}

// A sum over samples has no sample dimension.

// CHECK-LABEL: func @sparse_outer_sum(
// CHECK-SAME:      %[[X:.*]]: memref<4x?xf32>, %[[G:.*]]: memref<3x?xf32>, %[[S:.*]]: memref<3xi32>, %[[R:.*]]: memref<5xi32>, %[[P:.*]]: memref<2xi32>, %[[OUT:.*]]: memref<6xf32>)
// CHECK:         %[[A:.*]] = memref.alloc() {{.*}} : memref<6xf32>
// CHECK:         jacobian.sparse_outer_sum lhs(%[[X]] : {{.*}}) rhs(%[[G]] : {{.*}}) starts(%[[S]] : {{.*}}) rows(%[[R]], %[[R]] : {{.*}}) at(%[[P]] : {{.*}}) into(%[[A]] : memref<6xf32>){{$}}
// CHECK:         memref.copy %[[A]], %[[OUT]]
func.func @sparse_outer_sum(%x: tensor<4x?xf32>, %g: tensor<3x?xf32>, %s: tensor<3xi32>, %r: tensor<5xi32>, %p: tensor<2xi32>) -> tensor<6xf32> {
  %0 = jacobian.sparse_outer_sum lhs(%x : tensor<4x?xf32>) rhs(%g : tensor<3x?xf32>)
      starts(%s : tensor<3xi32>) rows(%r, %r : tensor<5xi32>, tensor<5xi32>) at(%p : tensor<2xi32>) -> tensor<6xf32>
  return %0 : tensor<6xf32>
}

// A small temporary of a loop over time is allocated once. A stack allocation in the loop would
// grow the stack in each step. The loop works on a copy of the argument, which is unchanged.
// CHECK-LABEL: func @temporary_in_loop
// CHECK-SAME: %[[X:[^ ]*]]: memref<?x3xf32>, %{{.*}}: index, %[[Y:[^ ]*]]: memref<?x3xf32>
// CHECK: memref.copy %[[X]], %[[COPY:.*]] :
// CHECK: %[[SMALL:.*]] = memref.alloc() {{.*}} : memref<3xf32>
// CHECK: scf.for
// CHECK-NOT: memref.alloc
// CHECK: memref.subview %[[COPY]]
// CHECK: memref.dealloc %[[SMALL]]
func.func @temporary_in_loop(%x: tensor<?x3xf32>, %n: index) -> tensor<?x3xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %0 = scf.for %t = %c0 to %n step %c1 iter_args(%a = %x) -> (tensor<?x3xf32>) {
    %row = tensor.extract_slice %a[%t, 0] [1, 3] [1, 1] : tensor<?x3xf32> to tensor<3xf32>
    %e = tensor.empty() : tensor<3xf32>
    %y = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
        ins(%row : tensor<3xf32>) outs(%e : tensor<3xf32>) {
    ^bb0(%u: f32, %v: f32):
      %w = math.exp %u : f32
      linalg.yield %w : f32
    } -> tensor<3xf32>
    %last = tensor.extract %y[%c2] : tensor<3xf32>
    %filled = linalg.fill ins(%last : f32) outs(%row : tensor<3xf32>) -> tensor<3xf32>
    %b = tensor.insert_slice %filled into %a[%t, 0] [1, 3] [1, 1] : tensor<3xf32> into tensor<?x3xf32>
    scf.yield %b : tensor<?x3xf32>
  }
  return %0 : tensor<?x3xf32>
}

// Memory of a tensor marked as released is freed once, after its last use.
// CHECK-LABEL: func.func @released
// CHECK: %[[A:.*]] = memref.alloc(
// CHECK-NOT: memref.dealloc
// CHECK: linalg.copy ins(%[[A]]
// CHECK: memref.dealloc %[[A]]
// CHECK-NOT: memref.dealloc %[[A]] :
// CHECK: return
func.func @released(%x: tensor<?xf32>, %n: index, %y: tensor<?xf32>) -> tensor<?xf32> {
  %0 = tensor.empty(%n) : tensor<?xf32>
  %1 = linalg.copy ins(%x : tensor<?xf32>) outs(%0 : tensor<?xf32>) -> tensor<?xf32>
  %2 = tensor.empty(%n) : tensor<?xf32>
  bufferization.dealloc_tensor %1 : tensor<?xf32>
  %3 = linalg.copy ins(%1 : tensor<?xf32>) outs(%2 : tensor<?xf32>) -> tensor<?xf32>
  return %3 : tensor<?xf32>
}

// A tensor received from another stage gets its own memory.

// CHECK-LABEL: func @stage(
// CHECK-SAME:      %[[N:.*]]: index,
// CHECK:         %[[RECEIVED:.*]] = memref.alloc(%[[N]]) {{.*}}: memref<?xf32>
// CHECK:         dist.stage_receive(%[[N]]) from 0 channel 2 into %[[RECEIVED]] : memref<?xf32>
// CHECK:         dist.stage_send %[[RECEIVED]] to 2 channel 5 : memref<?xf32>
// CHECK:         memref.dealloc %[[RECEIVED]]
func.func @stage(%n: index, %x: tensor<4xf32>) {
  %0 = dist.stage_receive(%n) from 0 channel 2 : tensor<?xf32>
  dist.stage_send %0 to 2 channel 5 : tensor<?xf32>
  return
}
