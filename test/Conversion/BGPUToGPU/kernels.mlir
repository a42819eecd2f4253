// RUN: bppsa-opt %s --convert-bgpu-to-gpu --canonicalize --cse | FileCheck %s

#shared = #gpu.address_space<workgroup>

// A smaller tile occupies only some threads, so its operations are in a branch. Consecutive
// operations on tiles with the same number of elements share the branch.

// CHECK-LABEL: func @parts(
// CHECK-SAME:      %[[N:.*]]: index, %[[X:.*]]: memref<?x4x8xf32>)
// CHECK:         gpu.launch blocks(%[[BLOCK:[^,]*]], {{.*}} in (%{{[^ ]*}} = %[[N]], {{.*}} threads(%[[THREAD:[^,]*]], {{.*}} in (%{{[^ ]*}} = %c32,
// CHECK-SAME:        module(@device) function(@parts) workgroup(%[[A:[^ ]*]] : memref<4x8xf32, #gpu.address_space<workgroup>>)
// CHECK-DAG:       %[[J:.*]] = arith.remui %[[THREAD]], %c8
// CHECK-DAG:       %[[I:.*]] = arith.divui %[[THREAD]], %c8
// CHECK:           %[[OWN:.*]] = memref.load %[[X]][%[[BLOCK]], %[[I]], %[[J]]]
// CHECK:           %[[NEXT:.*]] = arith.addf %[[OWN]], %cst
// CHECK:           memref.store %[[NEXT]], %[[A]][%[[I]], %[[J]]]
// CHECK:           gpu.barrier
// CHECK:           %[[EXISTS:.*]] = arith.cmpi ult, %[[THREAD]], %c16
// CHECK:           scf.if %[[EXISTS]] {
// CHECK:             %[[FIRST:.*]] = arith.addi %[[I]], %c2
// CHECK:             %[[OTHER:.*]] = memref.load %[[A]][%[[FIRST]], %[[J]]]
// CHECK:             memref.store %[[OTHER]], %[[X]][%[[BLOCK]], %[[I]], %[[J]]]
// CHECK-NOT:       memref.load
// CHECK:           gpu.terminator
func.func @parts(%n: index, %x: memref<?x4x8xf32>) {
  %ones = arith.constant dense<1.0> : tensor<4x8xf32>
  bgpu.kernel blocks(%block in %n) threads(32) {
    %a = memref.alloc() : memref<4x8xf32, #shared>
    %tile = tensor.generate {
    ^bb0(%i: index, %j: index):
      %0 = memref.load %x[%block, %i, %j] : memref<?x4x8xf32>
      tensor.yield %0 : f32
    } : tensor<4x8xf32>
    %next = arith.addf %tile, %ones : tensor<4x8xf32>
    bgpu.put %next, %a[0] : tensor<4x8xf32>, memref<4x8xf32, #shared>
    gpu.barrier
    %half = bgpu.get %a[2] : memref<4x8xf32, #shared> -> tensor<2x8xf32>
    bgpu.for_each [2, 8] %half : tensor<2x8xf32> {
    ^bb0(%i: index, %j: index, %value: f32):
      memref.store %value, %x[%block, %i, %j] : memref<?x4x8xf32>
    }
  }
  return
}

// The loop carries the tile elements owned by each thread. A value that code after a barrier uses
// is yielded by its branch.

// CHECK-LABEL: func @loop(
// CHECK-DAG:     %[[NOTHING:.*]] = ub.poison : f32
// CHECK:         gpu.launch
// CHECK:           %[[EXISTS:.*]] = arith.cmpi ult, %[[THREAD:.*]], %c8
// CHECK:           %[[LAST:.*]] = scf.if %[[EXISTS]] -> (f32) {
// CHECK:             memref.load
// CHECK:           } else {
// CHECK-NEXT:        scf.yield %[[NOTHING]]
// CHECK:           }
// CHECK:           %[[SUM:.*]] = scf.for %{{.*}} iter_args(%[[RUNNING:.*]] = %[[LAST]]) -> (f32) {
// CHECK:             gpu.barrier
// CHECK:             %[[NEXT:.*]] = scf.if %{{.*}} -> (f32) {
// CHECK:               arith.mulf %[[RUNNING]], %[[RUNNING]]
// CHECK:             scf.yield %[[NEXT]]
// CHECK:           scf.if
// CHECK:             memref.store %[[SUM]]
func.func @loop(%n: index, %x: memref<8xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  bgpu.kernel blocks(%block in %n) threads(32) {
    %a = memref.alloc() : memref<4x8xf32, #shared>
    %last = bgpu.get %a[3] : memref<4x8xf32, #shared> -> tensor<1x8xf32>
    %sum = scf.for %i = %c0 to %n step %c1 iter_args(%running = %last) -> (tensor<1x8xf32>) {
      gpu.barrier
      %next = arith.mulf %running, %running : tensor<1x8xf32>
      scf.yield %next : tensor<1x8xf32>
    }
    bgpu.for_each [1, 8] %sum : tensor<1x8xf32> {
    ^bb0(%i: index, %j: index, %value: f32):
      memref.store %value, %x[%j] : memref<8xf32>
    }
  }
  return
}

// All threads of a block take the same branch of a block-level scf.if. Its body yields one element
// of the result tile per thread.

// CHECK-LABEL: func @branches(
// CHECK:         gpu.launch
// CHECK:           %[[VALUE:.*]] = scf.if %[[CONDITION:.*]] -> (f32) {
// CHECK:             %[[EXISTS:.*]] = arith.cmpi ult, %[[THREAD:.*]], %c8
// CHECK:             %[[OWN:.*]] = scf.if %[[EXISTS]] -> (f32) {
// CHECK:               %[[LOADED:.*]] = memref.load %{{.*}}[%[[THREAD]]]
// CHECK:               %[[SQUARE:.*]] = arith.mulf %[[LOADED]], %[[LOADED]]
// CHECK:               scf.yield %[[SQUARE]]
// CHECK:             scf.yield %[[OWN]]
// CHECK:           } else {
// CHECK:             scf.yield %cst
// CHECK:           scf.if %{{.*}} {
// CHECK:             memref.store %[[VALUE]], %{{.*}}[%[[THREAD]]]
func.func @branches(%n: index, %condition: i1, %x: memref<8xf32>) {
  bgpu.kernel blocks(%block in %n) threads(32) {
    %value = scf.if %condition -> (tensor<8xf32>) {
      %squares = bgpu.for_each [8] -> tensor<8xf32> {
      ^bb0(%i: index):
        %0 = memref.load %x[%i] : memref<8xf32>
        %1 = arith.mulf %0, %0 : f32
        bgpu.yield %1 : f32
      }
      scf.yield %squares : tensor<8xf32>
    } else {
      %zeros = arith.constant dense<0.0> : tensor<8xf32>
      scf.yield %zeros : tensor<8xf32>
    }
    bgpu.for_each [8] %value : tensor<8xf32> {
    ^bb0(%i: index, %0: f32):
      memref.store %0, %x[%i] : memref<8xf32>
    }
  }
  return
}

// In loops, threads without an element recompute the last one and write it to spare rows of shared
// memory. Writes to device memory, and all code outside loops, stay in a branch.

// CHECK-LABEL: func @repeat(
// CHECK:         gpu.launch
// CHECK:           %[[EXISTS:.*]] = arith.cmpi ult, %[[THREAD:.*]], %c20
// CHECK-NEXT:      scf.if %[[EXISTS]] {
// CHECK-NEXT:        memref.store %{{.*}}, %[[A:.*]][%[[THREAD]]] : memref<56xf32, #gpu.address_space<workgroup>>
// CHECK-NEXT:      }
// CHECK-NEXT:      scf.for
// CHECK-NEXT:        %[[OWN:.*]] = arith.minui %[[THREAD]], %c19
// CHECK-NEXT:        %[[VALUE:.*]] = memref.load %[[X:.*]][%[[OWN]]]
// CHECK-NEXT:        memref.store %[[VALUE]], %[[A]][%[[THREAD]]] : memref<56xf32, #gpu.address_space<workgroup>>
// CHECK-NEXT:        nvvm.cp.async.wait.group 2
// CHECK-NEXT:        gpu.barrier
// CHECK-NEXT:        %[[OTHER:.*]] = memref.load %[[A]][%c0]
// CHECK-NEXT:        scf.if %[[EXISTS]] {
// CHECK-NEXT:          memref.store %[[OTHER]], %[[X]][%[[OWN]]]
func.func @repeat(%n: index, %x: memref<20xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zeros = arith.constant dense<0.0> : tensor<20xf32>
  bgpu.kernel blocks(%block in %n) threads(32) {
    %a = memref.alloc() : memref<56xf32, #shared>
    bgpu.put %zeros, %a[0] : tensor<20xf32>, memref<56xf32, #shared>
    scf.for %step = %c0 to %n step %c1 {
      %tile = bgpu.for_each [20] -> tensor<20xf32> {
      ^bb0(%i: index):
        %0 = memref.load %x[%i] : memref<20xf32>
        bgpu.yield %0 : f32
      }
      bgpu.put %tile, %a[0] : tensor<20xf32>, memref<56xf32, #shared>
      bgpu.wait %a groups(2) : memref<56xf32, #shared>
      gpu.barrier
      %first = bgpu.for_each [20] -> tensor<20xf32> {
      ^bb0(%i: index):
        %0 = memref.load %a[%c0] : memref<56xf32, #shared>
        bgpu.yield %0 : f32
      }
      bgpu.for_each [20] %first : tensor<20xf32> {
      ^bb0(%i: index, %value: f32):
        memref.store %value, %x[%i] : memref<20xf32>
      }
    }
  } {repeat_last}
  return
}

// Threads that share a row add their partial sums with shuffles. Threads without a row take part at
// the corresponding position of the last row. One thread of the row writes the sum to shared
// memory. All of them write it to device memory, and threads past the last row store the last row
// again.

// CHECK-LABEL: func @replicated(
// CHECK:         gpu.launch blocks({{.*}}) in {{.*}} threads(%[[THREAD:[^,]*]],
// CHECK-DAG:       %[[PART:.*]] = arith.remui %[[THREAD]], %c4
// CHECK-DAG:       %[[NUMBER:.*]] = arith.divui %[[THREAD]], %c4
// CHECK:           %[[ROW:.*]] = arith.minui %[[NUMBER]], %c5
// CHECK:           %[[VALUE:.*]] = memref.load %[[X:.*]][%[[ROW]], %[[PART]]]
// CHECK-NEXT:      %[[OTHER:.*]], %{{.*}} = gpu.shuffle xor %[[VALUE]], %c2_i32, %c32_i32
// CHECK-NEXT:      %[[TWO:.*]] = arith.addf %[[VALUE]], %[[OTHER]]
// CHECK-NEXT:      %[[NEXT:.*]], %{{.*}} = gpu.shuffle xor %[[TWO]], %c1_i32, %c32_i32
// CHECK-NEXT:      %[[SUM:.*]] = arith.addf %[[TWO]], %[[NEXT]]
// CHECK-NEXT:      %[[EXISTS:.*]] = arith.cmpi ult, %[[THREAD]], %c24
// CHECK-NEXT:      %[[IS_FIRST:.*]] = arith.cmpi eq, %[[PART]], %c0
// CHECK-NEXT:      %[[OWNS:.*]] = arith.andi %[[EXISTS]], %[[IS_FIRST]]
// CHECK-NEXT:      scf.if %[[OWNS]] {
// CHECK-NEXT:        memref.store %[[SUM]], %{{.*}}[%[[NUMBER]]] : memref<38xf32, #gpu.address_space<workgroup>>
// CHECK-NEXT:      }
// CHECK-NEXT:      memref.store %[[SUM]], %[[X]][%[[ROW]], %c0]
func.func @replicated(%n: index, %x: memref<6x4xf32>) {
  %c0 = arith.constant 0 : index
  bgpu.kernel blocks(%block in %n) threads(32) {
    %a = memref.alloc() : memref<38xf32, #shared>
    %parts = bgpu.for_each [6, 4] -> tensor<6x4xf32> {
    ^bb0(%i: index, %j: index):
      %0 = memref.load %x[%i, %j] : memref<6x4xf32>
      bgpu.yield %0 : f32
    } {repeat_last}
    %sums = bgpu.reduce_across <add> %parts : tensor<6x4xf32> -> tensor<6xf32, #bgpu.replicated<4>>
    bgpu.put %sums, %a[0] : tensor<6xf32, #bgpu.replicated<4>>, memref<38xf32, #shared>
    bgpu.for_each [6] replicas(4) %sums : tensor<6xf32, #bgpu.replicated<4>> {
    ^bb0(%i: index, %value: f32):
      memref.store %value, %x[%i, %c0] : memref<6x4xf32>
    } {repeat_last}
  }
  return
}

// Threads without an element repeat bodies that are marked repeatable. A body that writes is
// repeated only if all of these threads are in the last warp.

// CHECK-LABEL: func @repeated_bodies(
// CHECK:         gpu.launch blocks({{.*}}) in {{.*}} threads(%[[THREAD:[^,]*]],
// CHECK:           %[[OWN:.*]] = arith.minui %[[THREAD]], %c39
// CHECK:           %[[VALUE:.*]] = memref.load %[[X:.*]][%[[OWN]]]
// CHECK-NEXT:      memref.store %[[VALUE]], %[[X]][%[[OWN]]]
// CHECK:           %[[EXISTS:.*]] = arith.cmpi ult, %[[THREAD]], %c20
// CHECK-NEXT:      scf.if %[[EXISTS]] {
// CHECK-NEXT:        memref.store
func.func @repeated_bodies(%n: index, %x: memref<40xf32>) {
  bgpu.kernel blocks(%block in %n) threads(64) {
    %tile = bgpu.for_each [40] -> tensor<40xf32> {
    ^bb0(%i: index):
      %0 = memref.load %x[%i] : memref<40xf32>
      bgpu.yield %0 : f32
    } {repeat_last}
    bgpu.for_each [40] %tile : tensor<40xf32> {
    ^bb0(%i: index, %value: f32):
      memref.store %value, %x[%i] : memref<40xf32>
    } {repeat_last}
    %zeros = arith.constant dense<0.0> : tensor<20xf32>
    bgpu.for_each [20] %zeros : tensor<20xf32> {
    ^bb0(%i: index, %value: f32):
      memref.store %value, %x[%i] : memref<40xf32>
    } {repeat_last}
  }
  return
}

// The loop and the branch pass on each vector element separately. Matrix columns are distributed
// over neighbouring threads in groups of up to four, here two; the last element of a thread may
// have no column. If several threads hold the same element, one of them adds it.

// CHECK-LABEL: func @accumulated(
// CHECK-SAME:      %{{[^:]*}}: index, %[[SUMS:[^:]*]]: memref<5x8xf32>, %[[TOTALS:[^:]*]]: memref<8xf32>)
// CHECK:         gpu.launch blocks({{.*}}) in {{.*}} threads(%[[THREAD:[^,]*]],
// CHECK:           %[[LAST:.*]]:3 = scf.for {{.*}} iter_args(%[[A:.*]] = %[[ZERO:.*]], %[[B:.*]] = %[[ZERO]], %[[C:.*]] = %[[ZERO]]) -> (f32, f32, f32) {
// CHECK:             %[[LEFT_A:.*]] = arith.select %[[IS_FIRST:.*]], %[[ZERO]], %[[A]]
// CHECK-NEXT:        %[[LEFT_B:.*]] = arith.select %[[IS_FIRST]], %[[ZERO]], %[[B]]
// CHECK-NEXT:        %[[LEFT_C:.*]] = arith.select %[[IS_FIRST]], %[[ZERO]], %[[C]]
// CHECK-NEXT:        %[[NEXT:.*]] = arith.addf %[[LEFT_A]],
// CHECK-NEXT:        scf.yield %[[NEXT]], %[[LEFT_B]], %[[LEFT_C]]
// CHECK:           %[[ROW:.*]] = arith.divui %[[THREAD]], %c2
// CHECK:           %[[COLUMN:.*]] = arith.muli %[[PART:.*]], %c2
// CHECK-NEXT:      %[[BEFORE:.*]] = memref.load %[[SUMS]][%[[COLUMN]], %[[ROW]]]
// CHECK-NEXT:      %[[SUM:.*]] = arith.addf %[[BEFORE]], %[[LAST]]#0
// CHECK-NEXT:      memref.store %[[SUM]], %[[SUMS]][%[[COLUMN]], %[[ROW]]]
// CHECK-NEXT:      %[[SECOND:.*]] = arith.addi %[[COLUMN]], %c1
// CHECK:           memref.store %{{.*}}, %[[SUMS]][%[[SECOND]], %[[ROW]]]
// CHECK:           %[[THIRD:.*]] = arith.addi %[[PART]], %c4
// CHECK-NEXT:      %[[EXISTS:.*]] = arith.cmpi ult, %[[THIRD]], %c5
// CHECK:           scf.if %[[EXISTS]] {
// CHECK:             memref.store %{{.*}}, %[[SUMS]]
// CHECK:           %[[IS_FIRST:.*]] = arith.cmpi eq, %[[PART]], %c0
// CHECK:           scf.if %{{.*}} {
// CHECK-NEXT:        memref.store %[[ZERO]], %[[TOTALS]][%[[ROW]]]
func.func @accumulated(%n: index, %sums: memref<5x8xf32>, %totals: memref<8xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  bgpu.kernel blocks(%block in %n) threads(16) {
    %zeros = bgpu.for_each [8, 2] -> tensor<8x2xvector<3xf32>> {
    ^bb0(%i: index, %part: index):
      %zero = arith.constant dense<0.0> : vector<3xf32>
      bgpu.yield %zero : vector<3xf32>
    }
    %last = scf.for %i = %c0 to %n step %c1 iter_args(%running = %zeros) -> (tensor<8x2xvector<3xf32>>) {
      %isFirst = arith.cmpi eq, %i, %c0 : index
      %left = scf.if %isFirst -> (tensor<8x2xvector<3xf32>>) {
        scf.yield %zeros : tensor<8x2xvector<3xf32>>
      } else {
        scf.yield %running : tensor<8x2xvector<3xf32>>
      }
      %next = bgpu.for_each [8, 2] %left : tensor<8x2xvector<3xf32>> -> tensor<8x2xvector<3xf32>> {
      ^bb0(%row: index, %part: index, %own: vector<3xf32>):
        %one = arith.constant 1.0 : f32
        %0 = vector.extract %own[0] : f32 from vector<3xf32>
        %1 = arith.addf %0, %one : f32
        %2 = vector.insert %1, %own[0] : f32 into vector<3xf32>
        bgpu.yield %2 : vector<3xf32>
      }
      scf.yield %next : tensor<8x2xvector<3xf32>>
    }
    bgpu.accumulate %last, %sums : tensor<8x2xvector<3xf32>>, memref<5x8xf32>
    %none = arith.constant dense<0.0> : tensor<8xf32, #bgpu.replicated<2>>
    bgpu.accumulate overwrite %none, %totals : tensor<8xf32, #bgpu.replicated<2>>, memref<8xf32>
  }
  return
}
