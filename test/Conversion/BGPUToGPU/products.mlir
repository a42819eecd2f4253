// RUN: bppsa-opt %s --convert-bgpu-to-gpu --canonicalize --cse | FileCheck %s

// Each fp32 factor is split into two parts of 11 bits. The partial products are summed from the
// smallest to the largest, then added to the accumulator tile. A fragment used by two products is
// split once.

// CHECK-LABEL: func @fp32(
// CHECK:         gpu.launch
// CHECK:           %[[A0:.*]] = memref.load %{{.*}} : memref<4x32x4xf32>
// CHECK:           %[[HIGH:.*]] = nvvm.convert.float.to.tf32 %[[A0]]
// CHECK:           %[[ROUNDED:.*]] = arith.bitcast %[[HIGH]] : i32 to f32
// CHECK:           %[[REST:.*]] = arith.subf %[[A0]], %[[ROUNDED]]
// CHECK:           %[[LOW:.*]] = nvvm.convert.float.to.tf32 %[[REST]]
// CHECK-COUNT-10:  nvvm.convert.float.to.tf32
// CHECK-NOT:       nvvm.convert.float.to.tf32
// CHECK:           %[[SMALL:.*]] = nvvm.mma.sync A[%[[LOW]], {{.*}} C[%cst, %cst, %cst, %cst]
// CHECK-SAME:          shape = #nvvm.shape<m = 16, n = 8, k = 8>
// CHECK:           nvvm.mma.sync A[%[[HIGH]],
// CHECK:           %[[PRODUCT:.*]] = nvvm.mma.sync A[%[[HIGH]],
// CHECK:           %[[PART:.*]] = llvm.extractvalue %[[PRODUCT]][0]
// CHECK:           arith.addf %[[A0]], %[[PART]]
// CHECK-COUNT-3:   nvvm.mma.sync
// CHECK-NOT:       nvvm.mma.sync
// CHECK:         return
func.func @fp32(%n: index, %x: memref<4x32x4xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  bgpu.kernel blocks(%block in %n) threads(128) {
    %a, %b = bgpu.for_each [4, 32] -> tensor<4x32xvector<4xf32>>, tensor<4x32xvector<2xf32>> {
    ^bb0(%warp: index, %lane: index):
      %0 = memref.load %x[%warp, %lane, %c0] : memref<4x32x4xf32>
      %1 = memref.load %x[%warp, %lane, %c1] : memref<4x32x4xf32>
      %2 = memref.load %x[%c1, %lane, %c0] : memref<4x32x4xf32>
      %3 = memref.load %x[%c1, %lane, %c1] : memref<4x32x4xf32>
      %4 = vector.from_elements %0, %1, %2, %3 : vector<4xf32>
      %5 = memref.load %x[%c0, %lane, %c0] : memref<4x32x4xf32>
      %6 = memref.load %x[%c0, %lane, %c1] : memref<4x32x4xf32>
      %7 = vector.from_elements %5, %6 : vector<2xf32>
      bgpu.yield %4, %7 : vector<4xf32>, vector<2xf32>
    }
    %first = bgpu.mma %a, %b, %a precision(fp32) : tensor<4x32xvector<4xf32>>, tensor<4x32xvector<2xf32>>, tensor<4x32xvector<4xf32>>
    %second = bgpu.mma %a, %b, %first precision(fp32) : tensor<4x32xvector<4xf32>>, tensor<4x32xvector<2xf32>>, tensor<4x32xvector<4xf32>>
    bgpu.for_each [4, 32] %second : tensor<4x32xvector<4xf32>> {
    ^bb0(%warp: index, %lane: index, %own: vector<4xf32>):
      %0 = vector.extract %own[0] : f32 from vector<4xf32>
      memref.store %0, %x[%warp, %lane, %c0] : memref<4x32x4xf32>
    }
  }
  return
}

// At lower precision a single product accumulates into the sums. One register holds two bf16
// values.

// CHECK-LABEL: func @bf16(
// CHECK:           %[[A0:.*]] = memref.load %{{.*}}[%{{.*}}, %{{.*}}, %c0]
// CHECK:           %[[A1:.*]] = memref.load %{{.*}}[%{{.*}}, %{{.*}}, %c1]
// CHECK:           %[[PAIR:.*]] = nvvm.convert.f32x2.to.bf16x2 %[[A1]], %[[A0]]
// CHECK:           %[[REGISTER:.*]] = llvm.bitcast %[[PAIR]] : vector<2xbf16> to i32
// CHECK:           nvvm.mma.sync A[%[[REGISTER]], %[[REGISTER]], %[[REGISTER]], %[[REGISTER]]] B[%[[REGISTER]], %[[REGISTER]]] C[%[[A0]],
// CHECK-SAME:          multiplicandAPtxType = #nvvm.mma_type<bf16>
// CHECK-SAME:          shape = #nvvm.shape<m = 16, n = 8, k = 16>
// CHECK-NOT:       nvvm.mma.sync
// CHECK:         return
func.func @bf16(%n: index, %x: memref<4x32x4xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  bgpu.kernel blocks(%block in %n) threads(128) {
    %a, %b = bgpu.for_each [4, 32] -> tensor<4x32xvector<8xf32>>, tensor<4x32xvector<4xf32>> {
    ^bb0(%warp: index, %lane: index):
      %0 = memref.load %x[%warp, %lane, %c0] : memref<4x32x4xf32>
      %1 = memref.load %x[%warp, %lane, %c1] : memref<4x32x4xf32>
      %2 = vector.from_elements %0, %1, %0, %1, %0, %1, %0, %1 : vector<8xf32>
      %3 = vector.from_elements %0, %1, %0, %1 : vector<4xf32>
      bgpu.yield %2, %3 : vector<8xf32>, vector<4xf32>
    }
    %sums = bgpu.mma %a, %b, %b precision(bf16) : tensor<4x32xvector<8xf32>>, tensor<4x32xvector<4xf32>>, tensor<4x32xvector<4xf32>>
    bgpu.for_each [4, 32] %sums : tensor<4x32xvector<4xf32>> {
    ^bb0(%warp: index, %lane: index, %own: vector<4xf32>):
      %0 = vector.extract %own[0] : f32 from vector<4xf32>
      memref.store %0, %x[%warp, %lane, %c0] : memref<4x32x4xf32>
    }
  }
  return
}

// A loop-invariant fragment is rounded before the loop; a carried fragment is rounded at the start
// of each iteration.

// CHECK-LABEL: func @loop(
// CHECK:           memref.load
// CHECK-NEXT:      %[[ROUNDED:.*]] = nvvm.convert.float.to.tf32
// CHECK-NOT:       nvvm.convert.float.to.tf32
// CHECK:           scf.for {{.*}} iter_args(%[[C0:[^ ]*]] =
// CHECK-COUNT-2:     nvvm.convert.float.to.tf32
// CHECK:             nvvm.mma.sync A[%[[ROUNDED]], %[[ROUNDED]], %[[ROUNDED]], %[[ROUNDED]]] B[{{.*}} C[%[[C0]],
// CHECK-NOT:         nvvm.convert.float.to.tf32
// CHECK:             scf.yield
// CHECK:         return
func.func @loop(%n: index, %x: memref<4x32x4xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  bgpu.kernel blocks(%block in %n) threads(128) {
    %a, %b = bgpu.for_each [4, 32] -> tensor<4x32xvector<4xf32>>, tensor<4x32xvector<2xf32>> {
    ^bb0(%warp: index, %lane: index):
      %0 = memref.load %x[%warp, %lane, %c0] : memref<4x32x4xf32>
      %1 = vector.broadcast %0 : f32 to vector<4xf32>
      %2 = vector.broadcast %0 : f32 to vector<2xf32>
      bgpu.yield %1, %2 : vector<4xf32>, vector<2xf32>
    }
    %sums, %last = scf.for %i = %c0 to %n step %c1 iter_args(%running = %a, %factor = %b)
        -> (tensor<4x32xvector<4xf32>>, tensor<4x32xvector<2xf32>>) {
      %next = bgpu.mma %a, %factor, %running precision(tf32) : tensor<4x32xvector<4xf32>>, tensor<4x32xvector<2xf32>>, tensor<4x32xvector<4xf32>>
      %other = bgpu.for_each [4, 32] %factor : tensor<4x32xvector<2xf32>> -> tensor<4x32xvector<2xf32>> {
      ^bb0(%warp: index, %lane: index, %own: vector<2xf32>):
        %0 = arith.addf %own, %own : vector<2xf32>
        bgpu.yield %0 : vector<2xf32>
      }
      scf.yield %next, %other : tensor<4x32xvector<4xf32>>, tensor<4x32xvector<2xf32>>
    }
    bgpu.for_each [4, 32] %sums : tensor<4x32xvector<4xf32>> {
    ^bb0(%warp: index, %lane: index, %own: vector<4xf32>):
      %0 = vector.extract %own[0] : f32 from vector<4xf32>
      memref.store %0, %x[%warp, %lane, %c1] : memref<4x32x4xf32>
    }
  }
  return
}
