// RUN: bppsa-opt %s --bgpu-allocate-shared | FileCheck %s
// RUN: bppsa-opt %s --bgpu-allocate-shared --remarks-filter=shared 2>&1 | FileCheck %s --check-prefix=REMARK

// REMARK-COUNT-2: remark: [Passed] AllocateShared | Category:shared | Function=reduce | Remark="reduce: 128 bytes of shared memory"

// Each level of the tree combines the first half of the remaining rows with the second half. Each
// reduction has its own array.

// CHECK-LABEL: func @reduce(
// CHECK:         bgpu.kernel
// CHECK-DAG:       %[[A:.*]] = memref.alloc() : memref<4x8xf32, #gpu.address_space<workgroup>>
// CHECK-DAG:       %[[B:.*]] = memref.alloc() : memref<4x8xi32, #gpu.address_space<workgroup>>
// CHECK-DAG:       %[[TILE:.*]] = arith.constant dense<1.0
// CHECK:           bgpu.put %[[TILE]], %[[A]][0]
// CHECK-NEXT:      %[[OWN:.*]] = bgpu.get %[[A]][0] {{.*}} -> tensor<2x8xf32>
// CHECK-NEXT:      %[[OTHER:.*]] = bgpu.get %[[A]][2] {{.*}} -> tensor<2x8xf32>
// CHECK-NEXT:      %[[SUM:.*]] = arith.addf %[[OWN]], %[[OTHER]] : tensor<2x8xf32>
// CHECK-NEXT:      bgpu.put %[[SUM]], %[[A]][0]
// CHECK-NEXT:      %[[FIRST:.*]] = bgpu.get %[[A]][0] {{.*}} -> tensor<1x8xf32>
// CHECK-NEXT:      %[[SECOND:.*]] = bgpu.get %[[A]][1] {{.*}} -> tensor<1x8xf32>
// CHECK-NEXT:      %[[LAST:.*]] = arith.addf %[[FIRST]], %[[SECOND]] : tensor<1x8xf32>
// CHECK-NEXT:      bgpu.put %[[LAST]], %[[A]][0]
// CHECK-NEXT:      %[[TOTAL:.*]] = bgpu.get %[[A]][0] {{.*}} -> tensor<1x8xf32>
// CHECK:           bgpu.put %{{.*}}, %[[B]][0]
// CHECK:           arith.maxsi %{{.*}} : tensor<2x8xi32>
// CHECK:           arith.maxsi %{{.*}} : tensor<1x8xi32>
// CHECK:           bgpu.for_each [1, 8] %[[TOTAL]]
// CHECK-NOT:     bgpu.reduce
func.func @reduce(%n: index, %x: memref<8xf32>, %y: memref<8xi32>) {
  bgpu.kernel blocks(%block in %n) threads(32) {
    %tile = arith.constant dense<1.0> : tensor<4x8xf32>
    %numbers = arith.constant dense<2> : tensor<4x8xi32>
    %total = bgpu.reduce <add> %tile : tensor<4x8xf32> -> tensor<1x8xf32>
    %most = bgpu.reduce <maxsi> %numbers : tensor<4x8xi32> -> tensor<1x8xi32>
    bgpu.for_each [1, 8] %total : tensor<1x8xf32> {
    ^bb0(%i: index, %j: index, %value: f32):
      memref.store %value, %x[%j] : memref<8xf32>
    }
    bgpu.for_each [1, 8] %most : tensor<1x8xi32> {
    ^bb0(%i: index, %j: index, %value: i32):
      memref.store %value, %y[%j] : memref<8xi32>
    }
  }
  return
}

// A tile read by all threads is stored in an array. A loop-carried tile alternates between two
// arrays, and each iteration writes the next one. Arrays have 32 spare rows in this case, and if
// threads repeat the last element.

// CHECK-LABEL: func @share(
// CHECK:         bgpu.kernel
// CHECK-DAG:       %[[A:.*]] = memref.alloc() : memref<20xf32, #gpu.address_space<workgroup>>
// CHECK-DAG:       %[[B:.*]] = memref.alloc() : memref<2x52xf32, #gpu.address_space<workgroup>>
// CHECK:           bgpu.put %[[FIRST:.*]], %[[A]][0]
// CHECK:           %[[SLOT:.*]] = arith.andi %c0, %{{.*}} : index
// CHECK-NEXT:      %[[OWN:.*]] = memref.subview %[[B]][%[[SLOT]], 0] [1, 52] [1, 1]
// CHECK-NEXT:      bgpu.put %[[FIRST]], %[[OWN]][0]
// CHECK:           scf.for %[[I:.*]] = %c0 to {{.*}} iter_args(%[[TILE:.*]] = %[[FIRST]])
// CHECK:             %[[SLOT:.*]] = arith.andi %[[I]], %{{.*}} : index
// CHECK-NEXT:        %[[OWN:.*]] = memref.subview %[[B]][%[[SLOT]], 0] [1, 52] [1, 1]
// CHECK-NEXT:        %[[NEXT:.*]] = bgpu.for_each
// CHECK:               memref.load %[[OWN]][%c0
// CHECK:               memref.load %[[A]][%c0
// CHECK:             %[[TURN:.*]] = arith.xori %[[SLOT]], %{{.*}} : index
// CHECK-NEXT:        %[[OTHER:.*]] = memref.subview %[[B]][%[[TURN]], 0] [1, 52] [1, 1]
// CHECK-NEXT:        bgpu.put %[[NEXT]], %[[OTHER]][0]
// CHECK-NEXT:        scf.yield %[[NEXT]]
// CHECK-NOT:     bgpu.share
// CHECK:         bgpu.kernel
// CHECK:           memref.alloc() : memref<52xf32, #gpu.address_space<workgroup>>
func.func @share(%n: index, %x: memref<20xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %ones = arith.constant dense<1.0> : tensor<20xf32>
  bgpu.kernel blocks(%block in %n) threads(32) {
    %a = bgpu.share %ones : tensor<20xf32>
    %last = scf.for %i = %c0 to %n step %c1 iter_args(%tile = %ones) -> (tensor<20xf32>) {
      %b = bgpu.share %tile : tensor<20xf32>
      %next = bgpu.for_each [20] -> tensor<20xf32> {
      ^bb0(%j: index):
        %0 = memref.load %b[%c0] : memref<20xf32, #gpu.address_space<workgroup>>
        %1 = memref.load %a[%c0] : memref<20xf32, #gpu.address_space<workgroup>>
        %2 = arith.addf %0, %1 : f32
        bgpu.yield %2 : f32
      }
      scf.yield %next : tensor<20xf32>
    }
    bgpu.for_each [20] %last : tensor<20xf32> {
    ^bb0(%j: index, %value: f32):
      memref.store %value, %x[%j] : memref<20xf32>
    }
  }
  bgpu.kernel blocks(%block in %n) threads(32) {
    %a = bgpu.share %ones : tensor<20xf32>
  } {repeat_last}
  return
}

// A tile computed in an iteration for the same iteration is stored where it is shared, in a single
// array. The distribution of elements over threads does not affect the array.

// CHECK-LABEL: func @share_in_iteration(
// CHECK:           %[[OWN:.*]] = memref.alloc() : memref<52xf32, #gpu.address_space<workgroup>>
// CHECK:           scf.for
// CHECK:             %[[MADE:.*]] = bgpu.for_each
// CHECK:             bgpu.put %[[MADE]], %[[OWN]][0] : tensor<20xf32, #bgpu.replicated<2>>
// CHECK-NEXT:        bgpu.for_each
// CHECK-NEXT:        ^bb0
// CHECK-NEXT:          memref.load %[[OWN]]
// CHECK-NOT:         bgpu.put
func.func @share_in_iteration(%n: index, %x: memref<?x20xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  bgpu.kernel blocks(%block in %n) threads(64) {
    scf.for %i = %c0 to %n step %c1 {
      %made = bgpu.for_each [20] replicas(2) -> tensor<20xf32, #bgpu.replicated<2>> {
      ^bb0(%j: index):
        %0 = memref.load %x[%i, %j] : memref<?x20xf32>
        bgpu.yield %0 : f32
      }
      %whole = bgpu.share %made : tensor<20xf32, #bgpu.replicated<2>>
      bgpu.for_each [20] {
      ^bb0(%j: index):
        %0 = memref.load %whole[%c0] : memref<20xf32, #gpu.address_space<workgroup>>
        memref.store %0, %x[%i, %j] : memref<?x20xf32>
      }
    }
  }
  return
}

// The initial value of a loop is stored before the branch around loops that may have no iterations.

// CHECK-LABEL: func @share_before_branch(
// CHECK:           bgpu.put
// CHECK-NEXT:      scf.if
// CHECK:             scf.for
// CHECK:             bgpu.put
// CHECK-NOT:       bgpu.put
func.func @share_before_branch(%n: index, %some: i1, %x: memref<20xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  bgpu.kernel blocks(%block in %n) threads(32) {
    %ones = arith.constant dense<1.0> : tensor<20xf32>
    scf.if %some {
      scf.for %i = %c0 to %n step %c1 iter_args(%tile = %ones) -> (tensor<20xf32>) {
        %whole = bgpu.share %tile : tensor<20xf32>
        %next = bgpu.for_each [20] -> tensor<20xf32> {
        ^bb0(%j: index):
          %0 = memref.load %whole[%c0] : memref<20xf32, #gpu.address_space<workgroup>>
          bgpu.yield %0 : f32
        }
        scf.yield %next : tensor<20xf32>
      }
    }
  }
  return
}
