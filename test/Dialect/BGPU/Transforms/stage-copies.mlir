// RUN: bppsa-opt %s --bgpu-stage-copies --canonicalize --cse --split-input-file | FileCheck %s
// RUN: bppsa-opt %s --bgpu-stage-copies --split-input-file --remarks-filter=stages 2>&1 | FileCheck %s --check-prefix=REMARK

// A ring buffer has one slot per stage. Loops without iterations read nothing. Other loops request
// all slots but one before the first iteration, in a loop that is not unrolled for one-warp blocks,
// and the last slot after the first read. Iterations past the end copy values that are never read.
// Each iteration waits for the data of the next one.

// CHECK:       #[[ONCE:.*]] = #llvm.loop_unroll<disable = true>
// CHECK-NEXT:  #[[$ROLLED:.*]] = #llvm.loop_annotation<unroll = #[[ONCE]]>
// REMARK: Function=ring | Remark="loop: 1 vectors in 4 stages, 512 bytes of shared memory"
// CHECK-LABEL: func @ring(
// CHECK-SAME:      %[[N:[^:]*]]: index, %[[X:[^:]*]]: memref<?x?x20xf32>)
// CHECK:         bgpu.kernel blocks(%[[BLOCK:.*]] in %[[N]]) threads(32) {
// CHECK:           %[[RING:.*]] = memref.alloc() : memref<4x32xf32, #gpu.address_space<workgroup>>
// CHECK:           %[[SOME:.*]] = arith.cmpi ugt, %[[N]], %c0
// CHECK:           %[[SUM:.*]] = scf.if %[[SOME]] -> (tensor<20xf32>) {
// CHECK:             %[[FLAT:.*]] = memref.reinterpret_cast %[[X]] to offset: [0]
// CHECK:             scf.for %[[AHEAD:.*]] = %c0 to %c3
// CHECK:               %[[SLOT:.*]] = arith.andi %[[AHEAD]], %c3
// CHECK:               bgpu.for_each [32] {
// CHECK:                 nvgpu.device_async_copy %[[FLAT]][%{{.*}}], %[[RING]][%[[SLOT]], %{{.*}}], 1
// CHECK:               nvgpu.device_async_create_group
// CHECK:             } {llvm.loop_annotation = #[[$ROLLED]]}
// CHECK:             bgpu.wait %{{.*}} groups(2)
// CHECK-NEXT:        %[[LAST:.*]] = scf.for %[[I:.*]] = %c0 to %[[N]]
// CHECK-NEXT:          %[[SLOT:.*]] = arith.andi %[[I]], %c3
// CHECK-NEXT:          %[[VIEW:.*]] = memref.subview %[[RING]][%[[SLOT]], 0] [1, 32] [1, 1]
// CHECK-NEXT:          %[[NEXT:.*]] = bgpu.for_each [20]
// CHECK:                 memref.load %[[VIEW]]
// CHECK:               %[[FAR:.*]] = arith.addi %[[I]], %c3
// CHECK-DAG:           %[[SLOT:.*]] = arith.andi %[[FAR]], %c3
// CHECK-DAG:           %[[END:.*]] = arith.addi %[[N]], %c-1
// CHECK-DAG:           %[[READ:.*]] = arith.minui %[[FAR]], %[[END]]
// CHECK:               bgpu.for_each [32] {
// CHECK:                 nvgpu.device_async_copy %[[FLAT]][%{{.*}}], %[[RING]][%[[SLOT]],
// CHECK:               nvgpu.device_async_create_group
// CHECK:               %[[AFTER:.*]] = arith.addi %[[I]], %c1
// CHECK-NEXT:          %[[SLOT:.*]] = arith.andi %[[AFTER]], %c3
// CHECK-NEXT:          %[[VIEW:.*]] = memref.subview %[[RING]][%[[SLOT]], 0] [1, 32] [1, 1]
// CHECK-NEXT:          bgpu.wait %[[VIEW]] groups(2)
// CHECK-NEXT:          scf.yield %[[NEXT]]
// CHECK:             scf.yield %[[LAST]]
// CHECK:           } else {
// CHECK-NEXT:        scf.yield %cst
// CHECK:           bgpu.for_each [20] %[[SUM]]
func.func @ring(%n: index, %x: memref<?x?x20xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zeros = arith.constant dense<0.0> : tensor<20xf32>
  bgpu.kernel blocks(%block in %n) threads(32) {
    %sum = scf.for %i = %c0 to %n step %c1 iter_args(%running = %zeros) -> (tensor<20xf32>) {
      %vector = bgpu.fetch %x[%i, %block] stages(4) : memref<?x?x20xf32>
      %next = bgpu.for_each [20] %running : tensor<20xf32> -> tensor<20xf32> {
      ^bb0(%j: index, %value: f32):
        %0 = memref.load %vector[%j] : memref<20xf32, strided<[1], offset: ?>>
        %1 = arith.addf %value, %0 : f32
        bgpu.yield %1 : f32
      }
      scf.yield %next : tensor<20xf32>
    }
    bgpu.for_each [20] %sum : tensor<20xf32> {
    ^bb0(%j: index, %value: f32):
      memref.store %value, %x[%c0, %block, %j] : memref<?x?x20xf32>
    }
  }
  return
}

// -----

// Vectors of one loop form one copy group. Values derived from a position are recomputed for the
// position ahead. Long contiguous vectors are copied four elements at a time; arrays with gaps are
// read in place.

// REMARK: Function=two | Remark="loop: 2 vectors in 2 stages, 3072 bytes of shared memory"
// CHECK-LABEL: func @two(
// CHECK-SAME:      %[[N:[^:]*]]: index, %[[X:[^:]*]]: memref<?x?x256xf32>, %[[Y:[^:]*]]: memref<?x?x100xf32, strided<[?, 128, 1], offset: ?>>)
// CHECK:           bgpu.wait %{{.*}}, %{{.*}} groups(0)
// CHECK:           scf.for %[[I:.*]] = %c0 to %[[N]]
// CHECK:             nvgpu.device_async_copy %{{.*}}, 4 {bypassL1}
// CHECK:             %[[STEP:.*]] = arith.subi %[[N]], %{{.*}}
// CHECK:             nvgpu.device_async_copy %[[Y]][%[[STEP]],
// CHECK:             nvgpu.device_async_create_group
// CHECK-NOT:         nvgpu.device_async_create_group
// CHECK:             bgpu.wait %{{.*}}, %{{.*}} groups(0)
// CHECK-NEXT:      }
func.func @two(%n: index, %x: memref<?x?x256xf32>, %y: memref<?x?x100xf32, strided<[?, 128, 1], offset: ?>>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  bgpu.kernel blocks(%block in %n) threads(32) {
    scf.for %i = %c0 to %n step %c1 {
      %step = arith.subi %n, %i : index
      %a = bgpu.fetch %x[%i, %block] stages(2) : memref<?x?x256xf32>
      %b = bgpu.fetch %y[%step, %block] stages(2) : memref<?x?x100xf32, strided<[?, 128, 1], offset: ?>>
      bgpu.for_each [32] {
      ^bb0(%j: index):
        %0 = memref.load %a[%j] : memref<256xf32, strided<[1], offset: ?>>
        %1 = memref.load %b[%j] : memref<100xf32, strided<[1], offset: ?>>
      }
    }
  }
  return
}

// -----

// The farthest vector is requested after the first read of shared memory, including reads of tiles
// shared by threads.

// CHECK-LABEL: func @shared(
// CHECK:             scf.for %{{.*}} iter_args
// CHECK:               %[[WHOLE:.*]] = bgpu.share
// CHECK:               memref.load %[[WHOLE]]
// CHECK:               nvgpu.device_async_copy
// CHECK:               nvgpu.device_async_create_group
// CHECK:               memref.load %{{.*}} : memref<32xf32,
// CHECK:               bgpu.wait
func.func @shared(%n: index, %x: memref<?x20xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zeros = arith.constant dense<0.0> : tensor<20xf32>
  bgpu.kernel blocks(%block in %n) threads(32) {
    %sum = scf.for %i = %c0 to %n step %c1 iter_args(%running = %zeros) -> (tensor<20xf32>) {
      %vector = bgpu.fetch %x[%i] stages(4) : memref<?x20xf32>
      %whole = bgpu.share %running : tensor<20xf32>
      %first = bgpu.for_each [20] -> tensor<20xf32> {
      ^bb0(%j: index):
        %0 = memref.load %whole[%c0] : memref<20xf32, #gpu.address_space<workgroup>>
        bgpu.yield %0 : f32
      }
      %next = bgpu.for_each [20] %first : tensor<20xf32> -> tensor<20xf32> {
      ^bb0(%j: index, %value: f32):
        %0 = memref.load %vector[%j] : memref<20xf32, strided<[1], offset: ?>>
        %1 = arith.addf %value, %0 : f32
        bgpu.yield %1 : f32
      }
      scf.yield %next : tensor<20xf32>
    }
    bgpu.for_each [20] %sum : tensor<20xf32> {
    ^bb0(%j: index, %value: f32):
      memref.store %value, %x[%c0, %j] : memref<?x20xf32>
    }
  }
  return
}
