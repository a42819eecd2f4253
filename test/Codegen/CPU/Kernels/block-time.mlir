// RUN: bppsa-opt --bppsa-block-time %s | FileCheck %s
// RUN: bppsa-opt --bppsa-block-time=max-bytes=1000 %s | FileCheck %s --check-prefix=SMALL
// RUN: bppsa-opt --bppsa-block-time=max-bytes=300 %s | FileCheck %s --check-prefix=FEW
// RUN: bppsa-opt --bppsa-block-time --bppsa-outline-kernels %s | FileCheck %s --check-prefix=KERNEL

// A chain and its sums share a scope. An emitted sequence with no other reader is allocated in the
// scope; the second emitted sequence is returned. The sum of an unrelated sequence stays outside.

// CHECK-LABEL: func.func @sums(
// CHECK-SAME:      %[[X:[^:]*]]: memref<?x?x3x16xf32>, {{.*}}, %[[E:[^:]*]]: memref<?x?x4x16xf32>, %[[DW:[^:]*]]: memref<4x3xf32>, %[[DB:[^:]*]]: memref<4xf32>
// CHECK:         %[[COPY:.*]] = memref.alloc() : memref<4x3xf32>
// CHECK-NEXT:    memref.alloca_scope {
// CHECK-NEXT:      %[[D:.*]] = memref.alloc(%{{.*}}) : memref<?x?x4x16xf32>
// CHECK-NEXT:      bppsa.chain lanes 16 {{.*}} into(%{{.*}}, %[[D]], %[[E]] :
// CHECK:           bppsa.outer_sum lanes 16 %[[D]], %[[X]] batch %{{.*}} into %[[COPY]]
// CHECK-NEXT:      bppsa.step_sum lanes 16 %[[E]] batch %{{.*}} into %[[DB]]
// CHECK-NEXT:      memref.dealloc %[[D]]
// CHECK-NEXT:    }
// CHECK-NEXT:    bppsa.step_sum lanes 16 %[[X]]

// SMALL-LABEL: func.func @sums(
// SMALL-NOT:     alloca_scope
// SMALL:         bppsa.chain
// SMALL-LABEL: func.func @written(

// KERNEL-LABEL: func.func @sums(
// KERNEL:         call @chain_kernel_0(
// KERNEL-NEXT:    call @step_sum_kernel_1(
// KERNEL-LABEL: func.func @written(
// KERNEL:       func.func private @chain_kernel_0(
// KERNEL:         memref.alloca_scope {
func.func @sums(%x: memref<?x?x3x16xf32>, %a: memref<?x?x4x16xf32>, %g: memref<?x4x16xf32>,
    %w: memref<4x4xf32>, %n: index, %blocks: index, %steps: index, %e: memref<?x?x4x16xf32>,
    %dw: memref<4x3xf32>, %db: memref<4xf32>, %sx: memref<3xf32>) {
  %d = memref.alloc(%blocks, %steps) : memref<?x?x4x16xf32>
  bppsa.chain lanes 16 saved(%a : memref<?x?x4x16xf32>) seeds(%g : memref<?x4x16xf32>)
      captures(%w : memref<4x4xf32>)
      into(%g, %d, %e : memref<?x4x16xf32>, memref<?x?x4x16xf32>, memref<?x?x4x16xf32>) {
  ^bb0(%at: vector<4xf32>, %gt: vector<4xf32>, %wc: vector<4x4xf32>):
    %0 = arith.mulf %at, %gt : vector<4xf32>
    %1 = bppsa.matvec transposed %wc, %0 : vector<4x4xf32>, vector<4xf32> -> vector<4xf32>
    %2 = arith.mulf %0, %0 : vector<4xf32>
    bppsa.yield %1, %0, %2 : vector<4xf32>, vector<4xf32>, vector<4xf32>
  }
  bppsa.step_sum lanes 16 %x batch %n into %sx : memref<?x?x3x16xf32> into memref<3xf32>
  %copy = memref.alloc() : memref<4x3xf32>
  bppsa.outer_sum lanes 16 %d, %x batch %n into %copy : memref<?x?x4x16xf32>, memref<?x?x3x16xf32> into memref<4x3xf32>
  memref.dealloc %d : memref<?x?x4x16xf32>
  bppsa.step_sum lanes 16 %e batch %n into %db : memref<?x?x4x16xf32> into memref<4xf32>
  memref.copy %copy, %dw : memref<4x3xf32> to memref<4x3xf32>
  memref.dealloc %copy : memref<4x3xf32>
  return
}

// A sum that reads an array written between the chain and the sum cannot move up. Vectors of hidden
// units are not blocked.

// CHECK-LABEL: func.func @written(
// CHECK-NOT:     alloca_scope
func.func @written(%a: memref<?x?x4x16xf32>, %g: memref<?x4x16xf32>, %w: memref<4x4xf32>,
    %d: memref<?x?x4x16xf32>, %x: memref<?x?x4x16xf32>, %dw: memref<4x4xf32>,
    %b: memref<?x?x4x1xf32>, %k: memref<?x4x1xf32>, %e: memref<?x?x4x1xf32>, %db: memref<4xf32>) {
  bppsa.chain lanes 16 saved(%a : memref<?x?x4x16xf32>) seeds(%g : memref<?x4x16xf32>)
      captures(%w : memref<4x4xf32>) into(%g, %d : memref<?x4x16xf32>, memref<?x?x4x16xf32>) {
  ^bb0(%at: vector<4xf32>, %gt: vector<4xf32>, %wc: vector<4x4xf32>):
    %0 = arith.mulf %at, %gt : vector<4xf32>
    %1 = bppsa.matvec transposed %wc, %0 : vector<4x4xf32>, vector<4xf32> -> vector<4xf32>
    bppsa.yield %1, %0 : vector<4xf32>, vector<4xf32>
  }
  bppsa.recurrence lanes 16 sequences(%a : memref<?x?x4x16xf32>) into(%x : memref<?x?x4x16xf32>) {
  ^bb0(%at: vector<4xf32>):
    %0 = arith.mulf %at, %at : vector<4xf32>
    bppsa.yield %0 : vector<4xf32>
  }
  bppsa.outer_sum lanes 16 %d, %x into %dw : memref<?x?x4x16xf32>, memref<?x?x4x16xf32> into memref<4x4xf32>
  bppsa.chain lanes 1 saved(%b : memref<?x?x4x1xf32>) seeds(%k : memref<?x4x1xf32>)
      captures(%w : memref<4x4xf32>) into(%k, %e : memref<?x4x1xf32>, memref<?x?x4x1xf32>) {
  ^bb0(%bt: vector<4xf32>, %kt: vector<4xf32>, %wc: vector<4x4xf32>):
    %0 = arith.mulf %bt, %kt : vector<4xf32>
    %1 = bppsa.matvec transposed %wc, %0 : vector<4x4xf32>, vector<4xf32> -> vector<4xf32>
    bppsa.yield %1, %0 : vector<4xf32>, vector<4xf32>
  }
  bppsa.step_sum lanes 1 %e into %db : memref<?x?x4x1xf32> into memref<4xf32>
  return
}

// Running sums continue after the chain; their initialization moves before it.

// CHECK-LABEL: func.func @running(
// CHECK-SAME:      {{.*}}: index, %[[OLD:[^:]*]]: memref<?x4x16xf32>, %[[ZERO:[^:]*]]: f32
// CHECK:         %[[NEW:.*]] = memref.alloc(%{{.*}}) : memref<?x4x16xf32>
// CHECK-NEXT:    linalg.fill ins(%[[ZERO]] : f32) outs(%[[NEW]]
// CHECK-NEXT:    memref.alloca_scope {
// CHECK-NEXT:      memref.alloc
// CHECK-NEXT:      bppsa.chain
// CHECK:           bppsa.add_to_sums 16 %{{.*}} into %[[OLD]]
// CHECK-NEXT:      bppsa.add_to_sums 16 %{{.*}} into %[[NEW]]
func.func @running(%a: memref<?x?x4x16xf32>, %g: memref<?x4x16xf32>, %w: memref<4x4xf32>,
    %blocks: index, %steps: index, %old: memref<?x4x16xf32>, %zero: f32, %db: memref<4xf32>) {
  %d = memref.alloc(%blocks, %steps) : memref<?x?x4x16xf32>
  bppsa.chain lanes 16 saved(%a : memref<?x?x4x16xf32>) seeds(%g : memref<?x4x16xf32>)
      captures(%w : memref<4x4xf32>) into(%g, %d : memref<?x4x16xf32>, memref<?x?x4x16xf32>) {
  ^bb0(%at: vector<4xf32>, %gt: vector<4xf32>, %wc: vector<4x4xf32>):
    %0 = arith.mulf %at, %gt : vector<4xf32>
    %1 = bppsa.matvec transposed %wc, %0 : vector<4x4xf32>, vector<4xf32> -> vector<4xf32>
    bppsa.yield %1, %0 : vector<4xf32>, vector<4xf32>
  }
  bppsa.add_to_sums 16 %d into %old : memref<?x?x4x16xf32> into memref<?x4x16xf32>
  %new = memref.alloc(%blocks) : memref<?x4x16xf32>
  linalg.fill ins(%zero : f32) outs(%new : memref<?x4x16xf32>)
  bppsa.add_to_sums 16 %d into %new : memref<?x?x4x16xf32> into memref<?x4x16xf32>
  bppsa.finish_sums 16 %new into %db : memref<?x4x16xf32> into memref<4xf32>
  memref.dealloc %d : memref<?x?x4x16xf32>
  memref.dealloc %new : memref<?x4x16xf32>
  return
}

// Sums of a sequence read by the chain join the other sums if their running sums fit as well: the
// sums of %x take 192 bytes, the sums of %e 256.

// CHECK-LABEL: func.func @read(
// CHECK-SAME:      %[[X:[^:]*]]: memref<?x?x3x16xf32>
// CHECK:         memref.alloca_scope {
// CHECK-NEXT:      bppsa.chain lanes 16
// CHECK:           bppsa.step_sum lanes 16 %[[X]]
// CHECK-NEXT:      bppsa.step_sum lanes 16
// CHECK-NEXT:    }
// FEW-LABEL:   func.func @read(
// FEW-SAME:        %[[X:[^:]*]]: memref<?x?x3x16xf32>, {{.*}}, %[[E:[^:]*]]: memref<?x?x4x16xf32>,
// FEW:           memref.alloca_scope {
// FEW-NEXT:        bppsa.chain lanes 16
// FEW:             bppsa.step_sum lanes 16 %[[E]]
// FEW-NEXT:      }
// FEW-NEXT:      bppsa.step_sum lanes 16 %[[X]]
func.func @read(%x: memref<?x?x3x16xf32>, %g: memref<?x4x16xf32>, %w: memref<4x3xf32>, %n: index,
    %e: memref<?x?x4x16xf32>, %dx: memref<3xf32>, %db: memref<4xf32>) {
  bppsa.chain lanes 16 saved(%x : memref<?x?x3x16xf32>) seeds(%g : memref<?x4x16xf32>)
      captures(%w : memref<4x3xf32>) into(%g, %e : memref<?x4x16xf32>, memref<?x?x4x16xf32>) {
  ^bb0(%xt: vector<3xf32>, %gt: vector<4xf32>, %wc: vector<4x3xf32>):
    %0 = bppsa.matvec %wc, %xt plus %gt : vector<4x3xf32>, vector<3xf32> plus vector<4xf32> -> vector<4xf32>
    bppsa.yield %0, %0 : vector<4xf32>, vector<4xf32>
  }
  bppsa.step_sum lanes 16 %x batch %n into %dx : memref<?x?x3x16xf32> into memref<3xf32>
  bppsa.step_sum lanes 16 %e batch %n into %db : memref<?x?x4x16xf32> into memref<4xf32>
  return
}
