// RUN: bppsa-opt %s --convert-bppsa-to-vector | FileCheck %s

// Twenty units form a tile of 16 and one of 4. Each element of the state is multiplied by a
// contiguous row of the transposed matrix.

// CHECK-LABEL: func.func @cell
// CHECK:         memref.collapse_shape
// CHECK:         scf.for
// CHECK:           %[[H:.*]] = memref.load {{.*}} : memref<?x?x20xf32>
// CHECK:           %[[WIDE:.*]] = vector.broadcast %[[H]] : f32 to vector<16xf32>
// CHECK:           %[[TAIL:.*]] = vector.broadcast %[[H]] : f32 to vector<4xf32>
// CHECK:           %[[ROW:.*]] = vector.load {{.*}} : memref<20x20xf32>, vector<16xf32>
// CHECK:           vector.fma %[[ROW]], %[[WIDE]], {{.*}} : vector<16xf32>
// CHECK:           %[[REST:.*]] = vector.load {{.*}} : memref<20x20xf32>, vector<4xf32>
// CHECK:           vector.fma %[[REST]], %[[TAIL]], {{.*}} : vector<4xf32>
// CHECK:         math.tanh {{.*}} : vector<16xf32>
// CHECK:         math.tanh {{.*}} : vector<4xf32>
func.func @cell(%x: memref<?x?x20x1xf32>, %h0: memref<?x20x1xf32>, %r: memref<20x20xf32>,
    %h: memref<?x?x20x1xf32>) {
  bppsa.recurrence lanes 1 sequences(%x : memref<?x?x20x1xf32>)
      initial(%h0 : memref<?x20x1xf32>) captures(%r : memref<20x20xf32>)
      into(%h : memref<?x?x20x1xf32>) {
  ^bb0(%xt: vector<20xf32>, %ht: vector<20xf32>, %rc: vector<20x20xf32>):
    %0 = bppsa.matvec transposed %rc, %ht plus %xt : vector<20x20xf32>, vector<20xf32> plus vector<20xf32> -> vector<20xf32>
    %1 = math.tanh %0 : vector<20xf32>
    bppsa.yield %1 : vector<20xf32>
  }
  return
}

// Consecutive elements of a row of the sum share a vector, so lanes need no reduction.

// CHECK-LABEL: func.func @outer
// CHECK:         vector.broadcast {{.*}} : f32 to vector<16xf32>
// CHECK:         vector.fma {{.*}} : vector<16xf32>
// CHECK-NOT:     vector.reduction
// CHECK:         return
func.func @outer(%a: memref<?x?x2x1xf32>, %b: memref<?x?x16x1xf32>, %c: memref<2x16xf32>) {
  bppsa.outer_sum lanes 1 %a, %b into %c : memref<?x?x2x1xf32>, memref<?x?x16x1xf32> into memref<2x16xf32>
  return
}

// Two samples share each row of the matrix. The runtime chooses the number of samples per task, and
// the last sample may be processed separately.

// CHECK-LABEL: func.func @together
// CHECK:         call @bppsa_rt_task_size(%{{.*}}, %c1{{.*}}, %c2{{.*}}) : (index, index, index) -> index
// CHECK:         scf.parallel
// CHECK:           %[[ROW:.*]] = vector.load {{.*}} : memref<16x16xf32>, vector<16xf32>
// CHECK-NOT:       memref<16x16xf32>
// CHECK:           vector.fma %[[ROW]],
// CHECK-NOT:       memref<16x16xf32>
// CHECK:           vector.fma %[[ROW]],
// CHECK:           vector.store {{.*}} : memref<2x16xf32>, vector<16xf32>
// CHECK:           %[[ALONE:.*]] = vector.load {{.*}} : memref<16x16xf32>, vector<16xf32>
// CHECK-NOT:       memref<16x16xf32>
// CHECK:           vector.fma %[[ALONE]],
// CHECK-NOT:       vector.fma %[[ALONE]],
// CHECK:         return
func.func @together(%x: memref<?x?x16x1xf32>, %h0: memref<?x16x1xf32>, %r: memref<16x16xf32>,
    %h: memref<?x?x16x1xf32>) {
  bppsa.recurrence lanes 1 sequences(%x : memref<?x?x16x1xf32>)
      initial(%h0 : memref<?x16x1xf32>) captures(%r : memref<16x16xf32>)
      into(%h : memref<?x?x16x1xf32>) attributes {bppsa.mapping = #bppsa.task_mapping<most = 2>} {
  ^bb0(%xt: vector<16xf32>, %ht: vector<16xf32>, %rc: vector<16x16xf32>):
    %0 = bppsa.matvec transposed %rc, %ht plus %xt : vector<16x16xf32>, vector<16xf32> plus vector<16xf32> -> vector<16xf32>
    bppsa.yield %0 : vector<16xf32>
  }
  return
}

// Ten units form a tile of 8 and one of 2, because LLVM scalarizes vectors of ten elements.

// CHECK-LABEL: func.func @ten
// CHECK-NOT:     vector<10xf32>
// CHECK:         vector.fma {{.*}} : vector<8xf32>
// CHECK:         vector.fma {{.*}} : vector<2xf32>
// CHECK-NOT:     vector<10xf32>
// CHECK:         return
func.func @ten(%a: memref<?x?x4x1xf32>, %b: memref<?x?x10x1xf32>, %c: memref<4x10xf32>, %d: memref<10xf32>) {
  bppsa.outer_sum lanes 1 %a, %b into %c : memref<?x?x4x1xf32>, memref<?x?x10x1xf32> into memref<4x10xf32>
  bppsa.step_sum lanes 1 %b into %d : memref<?x?x10x1xf32> into memref<10xf32>
  return
}

// The runtime chooses how many quarters of the rows a task gets; a task has running sums for all of
// them. For each slab it processes one quarter after the other and copies the rows contiguously.

// CHECK-LABEL: func.func @large
// CHECK:         %[[PARTS:.*]] = call @bppsa_rt_task_size(%c4{{.*}}, %c1{{.*}}, %c4{{.*}})
// CHECK:         %[[ROWS:.*]] = arith.muli %c128{{.*}}, %[[PARTS]]
// CHECK:         %[[TASKS:.*]] = arith.ceildivui %c512{{.*}}, %[[ROWS]]
// CHECK:         scf.parallel (%{{.*}}) = (%c0{{.*}}) to (%[[TASKS]])
// CHECK:           memref.alloca() {alignment = 64 : i64} : memref<512x128xf32>
// CHECK:           %[[LEFT:.*]] = memref.alloca() {alignment = 64 : i64} : memref<32x128xf32>
// CHECK:           scf.for %{{.*}} to %{{.*}} step %c128
// CHECK:             vector.store {{.*}}, %[[LEFT]]
// CHECK:             memref.load %[[LEFT]]
// CHECK:             vector.fma {{.*}} : vector<16xf32>
func.func @large(%a: memref<?x?x512x1xf32>, %b: memref<?x?x128x1xf32>, %c: memref<512x128xf32>) {
  bppsa.outer_sum lanes 1 %a, %b into %c : memref<?x?x512x1xf32>, memref<?x?x128x1xf32> into memref<512x128xf32>
  return
}

// Without states, four steps share each row of the matrix; the remaining steps of a task are
// processed one by one.

// CHECK-LABEL: func.func @steps
// CHECK:         scf.parallel
// CHECK:           %[[ROW:.*]] = vector.load {{.*}} : memref<16x16xf32>, vector<16xf32>
// CHECK-COUNT-4:   vector.fma %[[ROW]],
// CHECK:           vector.store {{.*}} : memref<4x16xf32>, vector<16xf32>
// CHECK:           scf.for {{.*}} step %c1
// CHECK:             %[[ALONE:.*]] = vector.load {{.*}} : memref<16x16xf32>, vector<16xf32>
// CHECK-NEXT:        vector.fma %[[ALONE]],
// CHECK-NOT:         vector.fma %[[ALONE]],
// CHECK:         return
func.func @steps(%x: memref<?x?x16x1xf32>, %w: memref<16x16xf32>, %y: memref<?x?x16x1xf32>) {
  bppsa.recurrence lanes 1 sequences(%x : memref<?x?x16x1xf32>) captures(%w : memref<16x16xf32>)
      into(%y : memref<?x?x16x1xf32>) attributes {bppsa.mapping = #bppsa.task_mapping<most = 4>} {
  ^bb0(%xt: vector<16xf32>, %wc: vector<16x16xf32>):
    %0 = bppsa.matvec transposed %wc, %xt : vector<16x16xf32>, vector<16xf32> -> vector<16xf32>
    bppsa.yield %0 : vector<16xf32>
  }
  return
}
