// RUN: bppsa-opt %s --convert-bppsa-to-vector --canonicalize --cse | FileCheck %s

// Rows are distributed over threads. Vectors hold sixteen samples, then four, then one. The indices
// of an entry are read once for all samples, and four sums are independent.

// CHECK-LABEL: func.func @apply(
// CHECK-SAME:    %[[V:.*]]: memref<4xf32>, %[[R:.*]]: memref<4xi32>, %[[C:.*]]: memref<4xi32>, %[[P:.*]]: memref<4xi32>, %[[G:.*]]: memref<2x?xf32>, %[[OUT:.*]]: memref<3x?xf32>)
// CHECK-DAG:     %[[SAMPLES:.*]] = memref.dim %[[G]], %c1
// CHECK:         scf.parallel
// CHECK:           scf.for %[[ROW:.*]] =
// CHECK:             memref.load %[[R]][%[[ROW]]]
// CHECK:             scf.for %[[B:.*]] = %c0 to %{{.*}} step %c16 {
// CHECK:               %[[SUMS:.*]]:4 = scf.for %[[ENTRY:.*]] = %{{.*}} step %c4 iter_args({{.*}}) -> (vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32>) {
// CHECK-NEXT:            %[[C0:.*]] = memref.load %[[C]][%[[ENTRY]]]
// CHECK-NEXT:            %[[COLUMN:.*]] = arith.index_cast %[[C0]]
// CHECK-NEXT:            %[[P0:.*]] = memref.load %[[P]][%[[ENTRY]]]
// CHECK-NEXT:            %[[POSITION:.*]] = arith.index_cast %[[P0]]
// CHECK-NEXT:            %[[V0:.*]] = memref.load %[[V]][%[[POSITION]]]
// CHECK-NEXT:            %[[VALUE:.*]] = vector.broadcast %[[V0]] : f32 to vector<16xf32>
// CHECK-NEXT:            %[[COTANGENT:.*]] = vector.load %[[G]][%[[COLUMN]], %[[B]]] : memref<2x?xf32>, vector<16xf32>
// CHECK-NEXT:            vector.fma %[[VALUE]], %[[COTANGENT]], %{{.*}} : vector<16xf32>
// CHECK:               }
// CHECK:               %[[REST:.*]] = scf.for {{.*}} step %c1 iter_args(%{{.*}} = %[[SUMS]]#0) -> (vector<16xf32>) {
// CHECK:               }
// CHECK-NEXT:          %[[S1:.*]] = arith.addf %[[REST]], %[[SUMS]]#1
// CHECK-NEXT:          %[[S2:.*]] = arith.addf %[[S1]], %[[SUMS]]#2
// CHECK-NEXT:          %[[S3:.*]] = arith.addf %[[S2]], %[[SUMS]]#3
// CHECK-NEXT:          vector.store %[[S3]], %[[OUT]][%[[ROW]], %[[B]]]
// CHECK:             scf.for {{.*}} step %c4 {
// CHECK:               vector.store {{.*}}, %[[OUT]][{{.*}}] : memref<3x?xf32>, vector<4xf32>
// CHECK:             scf.for {{.*}} to %[[SAMPLES]] step %c1 {
// CHECK:               memref.store {{.*}}, %[[OUT]]
func.func @apply(%v: memref<4xf32>, %r: memref<4xi32>, %c: memref<4xi32>, %p: memref<4xi32>, %g: memref<2x?xf32>, %out: memref<3x?xf32>) {
  jacobian.sparse_apply values(%v : memref<4xf32>) rows(%r : memref<4xi32>) columns(%c : memref<4xi32>) at(%p : memref<4xi32>)
      cotangent(%g : memref<2x?xf32>) into(%out : memref<3x?xf32>)
  return
}

// Without indices, the column of an entry is its position in the row.

// CHECK-LABEL: func.func @dense(
// CHECK-SAME:    %[[V:.*]]: memref<6x?xf32>, %[[G:.*]]: memref<2x?xf32>
// CHECK:           scf.for %[[ROW:.*]] =
// CHECK:             %[[FIRST:.*]] = arith.muli %[[ROW]], %c2
// CHECK:             scf.for %[[B:.*]] = %c0
// CHECK:               scf.for %[[ENTRY:.*]] = %[[FIRST]] to
// CHECK-NEXT:            %[[COLUMN:.*]] = arith.subi %[[ENTRY]], %[[FIRST]]
// CHECK-NEXT:            vector.load %[[V]][%[[ENTRY]], %[[B]]]
// CHECK-NEXT:            vector.load %[[G]][%[[COLUMN]], %[[B]]]
func.func @dense(%v: memref<6x?xf32>, %g: memref<2x?xf32>, %out: memref<3x?xf32>) {
  jacobian.sparse_apply values(%v : memref<6x?xf32>) cotangent(%g : memref<2x?xf32>) into(%out : memref<3x?xf32>)
  return
}

// A task accumulates a row in a dense array of all columns: it clears the possible nonzeros, adds
// the rows of the first matrix selected by the row of the second, and reads the possible nonzeros.

// CHECK-LABEL: func.func @compose(
// CHECK-SAME:    %[[A:.*]]: memref<2x?xf32>, %[[AR:.*]]: memref<3xi32>, %[[AC:.*]]: memref<2xi32>, %[[B:.*]]: memref<4xf32>, %[[R:.*]]: memref<4xi32>, %[[C:.*]]: memref<4xi32>, %[[OUT:.*]]: memref<4x?xf32>)
// CHECK:         scf.parallel
// CHECK:           %[[SUMS:.*]] = memref.alloc() {alignment = 64 : i64} : memref<32xf32>
// CHECK:             scf.for %[[S:.*]] = %c0 to %{{.*}} step %c16 {
// CHECK:               scf.for
// CHECK:                 vector.store %{{.*}}, %[[SUMS]][%{{.*}}] : memref<32xf32>, vector<16xf32>
// CHECK:               scf.for %[[ENTRY:.*]] =
// CHECK:                 %[[INNER32:.*]] = memref.load %[[C]][%[[ENTRY]]]
// CHECK:                 %[[INNER:.*]] = arith.index_cast %[[INNER32]]
// CHECK:                 memref.load %[[B]][%[[ENTRY]]]
// CHECK:                 memref.load %[[AR]][%[[INNER]]]
// CHECK:                 scf.for %[[OTHER:.*]] =
// CHECK:                   %[[COLUMN32:.*]] = memref.load %[[AC]][%[[OTHER]]]
// CHECK:                   %[[COLUMN:.*]] = arith.index_cast %[[COLUMN32]]
// CHECK:                   %[[OWN:.*]] = vector.load %[[A]][%[[OTHER]], %[[S]]]
// CHECK:                   %[[AT:.*]] = arith.muli %[[COLUMN]], %c16
// CHECK:                   %[[OLD:.*]] = vector.load %[[SUMS]][%[[AT]]]
// CHECK:                   %[[NEW:.*]] = vector.fma %{{.*}}, %[[OWN]], %[[OLD]]
// CHECK:                   vector.store %[[NEW]], %[[SUMS]][%[[AT]]]
// CHECK:               scf.for %[[ENTRY:.*]] =
// CHECK:                 %[[SUM:.*]] = vector.load %[[SUMS]]
// CHECK:                 vector.store %[[SUM]], %[[OUT]][%[[ENTRY]], %[[S]]]
// CHECK:           memref.dealloc %[[SUMS]]
func.func @compose(%a: memref<2x?xf32>, %ar: memref<3xi32>, %ac: memref<2xi32>, %b: memref<4xf32>, %r: memref<4xi32>, %c: memref<4xi32>, %out: memref<4x?xf32>) {
  jacobian.sparse_compose 3 x 2 x 2 first(%a : memref<2x?xf32>) rows(%ar : memref<3xi32>) columns(%ac : memref<2xi32>)
      second(%b : memref<4xf32>) rows(%r : memref<4xi32>) columns(%c : memref<4xi32>)
      result_rows(%r : memref<4xi32>) result_columns(%c : memref<4xi32>) into(%out : memref<4x?xf32>)
  return
}

// A product shared by all samples is computed once.

// CHECK-LABEL: func.func @shared(
// CHECK-NOT:     vector
// CHECK:         math.fma {{.*}} : f32
// CHECK-NOT:     vector
// CHECK:         return
func.func @shared(%a: memref<4xf32>, %b: memref<6xf32>, %out: memref<6xf32>) {
  jacobian.sparse_compose 3 x 2 x 2 first(%a : memref<4xf32>) second(%b : memref<6xf32>) into(%out : memref<6xf32>)
  return
}

// Pruned weights are zero, and threads share the others. The gradient of a weight is a sum over
// samples of a sum over entries; vector lanes are reduced last.

// CHECK-LABEL: func.func @outer_sum(
// CHECK-SAME:    %[[X:.*]]: memref<4x?xf32>, %[[G:.*]]: memref<3x?xf32>, %[[S:.*]]: memref<3xi32>, %[[L:.*]]: memref<5xi32>, %[[R:.*]]: memref<5xi32>, %[[P:.*]]: memref<2xi32>, %[[OUT:.*]]: memref<6xf32>)
// CHECK-DAG:     %[[SAMPLES:.*]] = memref.dim %[[X]], %c1
// CHECK:         scf.parallel
// CHECK:           memref.store %cst{{.*}}, %[[OUT]]
// CHECK:         scf.parallel
// CHECK:           scf.for %[[WEIGHT:.*]] =
// CHECK:             memref.load %[[S]][%[[WEIGHT]]]
// CHECK:             %[[NEXT:.*]] = arith.addi %[[WEIGHT]], %c1
// CHECK:             memref.load %[[S]][%[[NEXT]]]
// CHECK:             %[[LANES:.*]] = scf.for %[[B:.*]] = %c0 to %{{.*}} step %c16 iter_args({{.*}}) -> (vector<16xf32>) {
// CHECK-NEXT:          %{{.*}} = scf.for %[[ENTRY:[^ ]*]] =
// CHECK-NEXT:            %[[L32:.*]] = memref.load %[[L]][%[[ENTRY]]]
// CHECK-NEXT:            %[[LROW:.*]] = arith.index_cast %[[L32]]
// CHECK-NEXT:            %[[LEFT:.*]] = vector.load %[[X]][%[[LROW]], %[[B]]]
// CHECK-NEXT:            %[[R32:.*]] = memref.load %[[R]][%[[ENTRY]]]
// CHECK-NEXT:            %[[RROW:.*]] = arith.index_cast %[[R32]]
// CHECK-NEXT:            %[[RIGHT:.*]] = vector.load %[[G]][%[[RROW]], %[[B]]]
// CHECK-NEXT:            vector.fma %[[LEFT]], %[[RIGHT]], %{{.*}} : vector<16xf32>
// CHECK:             vector.reduction <add>, %[[LANES]]
// CHECK:             scf.for {{.*}} step %c4 iter_args({{.*}}) -> (vector<4xf32>) {
// CHECK:             scf.for {{.*}} to %[[SAMPLES]] step %c1 iter_args({{.*}}) -> (f32) {
// CHECK:             %[[P32:.*]] = memref.load %[[P]][%[[WEIGHT]]]
// CHECK:             %[[PLACE:.*]] = arith.index_cast %[[P32]]
// CHECK:             memref.store %{{.*}}, %[[OUT]][%[[PLACE]]]
func.func @outer_sum(%x: memref<4x?xf32>, %g: memref<3x?xf32>, %s: memref<3xi32>, %l: memref<5xi32>, %r: memref<5xi32>, %p: memref<2xi32>, %out: memref<6xf32>) {
  jacobian.sparse_outer_sum lhs(%x : memref<4x?xf32>) rhs(%g : memref<3x?xf32>)
      starts(%s : memref<3xi32>) rows(%l, %r : memref<5xi32>, memref<5xi32>) at(%p : memref<2xi32>) into(%out : memref<6xf32>)
  return
}

// If every weight is pruned, only zeros are written.

// CHECK-LABEL: func.func @nothing_left(
// CHECK:         memref.store %cst{{.*}}
// CHECK-NOT:     vector.load
// CHECK:         return
func.func @nothing_left(%x: memref<4x?xf32>, %g: memref<3x?xf32>, %s: memref<1xi32>, %r: memref<0xi32>, %p: memref<0xi32>, %out: memref<6xf32>) {
  jacobian.sparse_outer_sum lhs(%x : memref<4x?xf32>) rhs(%g : memref<3x?xf32>)
      starts(%s : memref<1xi32>) rows(%r, %r : memref<0xi32>, memref<0xi32>) at(%p : memref<0xi32>) into(%out : memref<6xf32>)
  return
}
