// RUN: bppsa-opt %s --bppsa-choose-gpu-mapping --convert-bppsa-to-bgpu --canonicalize --cse | FileCheck %s

// One kernel runs all steps, with one block per sample. Each thread loads its row of the weights
// into registers before the first step. The loop over steps carries the state as a tile, shared
// because a product reads all of it, and the store index. Sequence elements are prefetched seven
// steps ahead.

// CHECK-LABEL: func private @rnn(
// CHECK-SAME:      %[[X:.*]]: memref<?x?x4xf32>, %[[H0:.*]]: memref<?x4xf32>, %[[R:.*]]: memref<4x4xf32>, %[[B:.*]]: memref<4xf32>, %[[H:.*]]: memref<?x?x4xf32>)
// CHECK-DAG:     %[[T:.*]] = memref.dim %[[X]], %c0
// CHECK-DAG:     %[[SAMPLES:.*]] = memref.dim %[[X]], %c1
// CHECK:         bgpu.kernel blocks(%[[SAMPLE:.*]] in %[[SAMPLES]]) threads(32) {
// CHECK:           %[[APART:.*]]:5 = memref.distinct_objects %[[X]], %[[H0]], %[[R]], %[[B]], %[[H]]
// CHECK:           %[[BIAS:.*]] = bgpu.for_each [4] -> tensor<4xf32> {
// CHECK:           %[[ROWS:.*]] = bgpu.for_each [4] -> tensor<4xvector<4xf32>> {
// CHECK:             memref.load %[[APART]]#2[%{{.*}}, %c3]
// CHECK:           %[[START:.*]] = bgpu.for_each [4] -> tensor<4xf32> {
// CHECK:             memref.load %[[APART]]#1[%[[SAMPLE]], %{{.*}}]
// CHECK:           bgpu.for_each [4] %[[START]]
// CHECK:             memref.store %{{.*}}, %[[APART]]#4[%c0, %[[SAMPLE]], %{{.*}}]
// CHECK:           %[[VECTORS:.*]] = memref.collapse_shape %[[X]] {{\[\[}}0, 1], [2]]
// CHECK:           %[[OF_STEP:.*]] = arith.muli %{{.*}}, %c4
// CHECK:           %[[OF_SAMPLE:.*]] = arith.muli %[[SAMPLE]], %c4
// CHECK:           %[[BEHIND:.*]] = memref.reinterpret_cast %[[APART]]#4 to offset: [%[[OF_STEP]]],
// CHECK:           scf.for %[[STEP:.*]] = %c0 to %[[T]] step %c1 iter_args(%[[STATE:.*]] = %[[START]], %[[PLACE:.*]] = %[[OF_SAMPLE]])
// CHECK:             %[[FIRST:.*]] = arith.muli %[[STEP]], %[[SAMPLES]]
// CHECK:             %[[VECTOR:.*]] = arith.addi %[[FIRST]], %[[SAMPLE]]
// CHECK:             %[[INPUT:.*]] = bgpu.fetch %[[VECTORS]][%[[VECTOR]]] stages(8)
// CHECK:             %[[WHOLE:.*]] = bgpu.share %[[STATE]] : tensor<4xf32>
// CHECK:             %[[FACTORS:.*]] = bgpu.for_each [4] -> tensor<4xvector<4xf32>> {
// CHECK-COUNT-4:       memref.load %[[WHOLE]]
// CHECK:             %[[PRODUCT:.*]] = bgpu.for_each [4] %[[ROWS]], %[[FACTORS]]
// CHECK-COUNT-4:       math.fma
// CHECK:             %[[SUM:.*]] = arith.addf %[[PRODUCT]], %[[BIAS]] : tensor<4xf32>
// CHECK:             %[[OWN:.*]] = bgpu.for_each [4] -> tensor<4xf32> {
// CHECK:               memref.load %[[INPUT]]
// CHECK:             } {repeat_last}
// CHECK:             %[[BOTH:.*]] = arith.addf %[[SUM]], %[[OWN]] : tensor<4xf32>
// CHECK:             %[[NEXT:.*]] = math.tanh %[[BOTH]] : tensor<4xf32>
// CHECK:             bgpu.for_each [4] %[[NEXT]]
// CHECK:               memref.store %{{.*}}, %[[BEHIND]]
// CHECK:             %[[GOES_ON:.*]] = arith.cmpi ult, %{{.*}}, %[[T]]
// CHECK:             %[[WAY:.*]] = arith.select %[[GOES_ON]], %[[OF_STEP]], %c0
// CHECK:             %[[NEXT_PLACE:.*]] = arith.addi %[[PLACE]], %[[WAY]]
// CHECK:             scf.yield %[[NEXT]], %[[NEXT_PLACE]]
// CHECK:         } {repeat_last}
func.func private @rnn(%x: memref<?x?x4xf32>, %h0: memref<?x4xf32>, %r: memref<4x4xf32>, %b: memref<4xf32>,
    %h: memref<?x?x4xf32>) {
  bppsa.recurrence sequences(%x : memref<?x?x4xf32>) initial(%h0 : memref<?x4xf32>)
      captures(%r, %b : memref<4x4xf32>, memref<4xf32>) into(%h : memref<?x?x4xf32>) {
  ^bb0(%xt: vector<4xf32>, %ht: vector<4xf32>, %rc: vector<4x4xf32>, %bc: vector<4xf32>):
    %0 = bppsa.matvec %rc, %ht plus %bc : vector<4x4xf32>, vector<4xf32> plus vector<4xf32> -> vector<4xf32>
    %1 = arith.addf %0, %xt : vector<4xf32>
    %2 = math.tanh %1 : vector<4xf32>
    bppsa.yield %2 : vector<4xf32>
  }
  return
}

// In reverse, the initial state is in the last slot, and each step writes its own slot. A state
// that no product reads stays in registers.

// CHECK-LABEL: func private @reverse(
// CHECK-SAME:      %[[X:.*]]: memref<?x?x4xf32>, %{{.*}}: memref<?x4xf32>, %[[H:.*]]: memref<?x?x4xf32>)
// CHECK:         %[[T:.*]] = memref.dim %[[X]], %c0
// CHECK:         bgpu.kernel blocks(%[[SAMPLE:.*]] in
// CHECK:           memref.store %{{.*}}, %{{.*}}[%[[T]], %[[SAMPLE]],
// CHECK:           %[[OF_STEP:.*]] = arith.muli %{{.*}}, %c4
// CHECK:           %[[BACK:.*]] = arith.subi %c0, %[[OF_STEP]]
// CHECK:           memref.reinterpret_cast %{{.*}} to offset: [0],
// CHECK:           scf.for %[[POSITION:.*]] = %c0 to %[[T]]
// CHECK:             %[[LEFT:.*]] = arith.subi %[[T]], %[[POSITION]]
// CHECK:             %[[STEP:.*]] = arith.addi %[[LEFT]], %c-1
// CHECK:             arith.muli %[[STEP]],
// CHECK:             bgpu.fetch
// CHECK-NOT:         bgpu.share
// CHECK:             arith.select %{{.*}}, %[[BACK]], %c0
func.func private @reverse(%x: memref<?x?x4xf32>, %h0: memref<?x4xf32>, %h: memref<?x?x4xf32>) {
  bppsa.recurrence reverse sequences(%x : memref<?x?x4xf32>) initial(%h0 : memref<?x4xf32>)
      into(%h : memref<?x?x4xf32>) {
  ^bb0(%xt: vector<4xf32>, %ht: vector<4xf32>):
    %0 = arith.addf %xt, %ht : vector<4xf32>
    bppsa.yield %0 : vector<4xf32>
  }
  return
}

// A value that a product of the same step reads is written to shared memory when it is computed.

// CHECK-LABEL: func private @two_products(
// CHECK:           scf.for {{.*}} iter_args(%[[STATE:[^ ]*]] =
// CHECK:             bgpu.share %[[STATE]]
// CHECK:             %[[FIRST:.*]] = math.tanh
// CHECK:             %[[WHOLE:.*]] = bgpu.share %[[FIRST]]
// CHECK:             memref.load %[[WHOLE]]
// CHECK-NOT:         bgpu.share
// CHECK:             scf.yield
func.func private @two_products(%x: memref<?x?x3xf32>, %h0: memref<?x3xf32>, %r: memref<3x3xf32>,
    %h: memref<?x?x3xf32>) {
  bppsa.recurrence sequences(%x : memref<?x?x3xf32>) initial(%h0 : memref<?x3xf32>)
      captures(%r : memref<3x3xf32>) into(%h : memref<?x?x3xf32>) {
  ^bb0(%xt: vector<3xf32>, %ht: vector<3xf32>, %rc: vector<3x3xf32>):
    %0 = bppsa.matvec %rc, %ht : vector<3x3xf32>, vector<3xf32> -> vector<3xf32>
    %1 = math.tanh %0 : vector<3xf32>
    %2 = bppsa.matvec %rc, %1 plus %xt : vector<3x3xf32>, vector<3xf32> plus vector<3xf32> -> vector<3xf32>
    bppsa.yield %2 : vector<3xf32>
  }
  return
}

// A slice is written to shared memory if its rows become rows of another value.

// CHECK-LABEL: func private @slices(
// CHECK:           scf.for {{.*}} iter_args(%[[STATE:[^ ]*]] =
// CHECK:             %[[WHOLE:.*]] = bgpu.share %[[STATE]] : tensor<4xf32>
// CHECK:             %[[UPPER:.*]] = bgpu.for_each [2] -> tensor<2xf32> {
// CHECK-NEXT:        ^bb0(%[[ROW:.*]]: index):
// CHECK-NEXT:          %[[AT:.*]] = arith.addi %[[ROW]], %c2
// CHECK-NEXT:          memref.load %[[WHOLE]][%[[AT]]]
// CHECK:             %[[NEGATED:.*]] = arith.negf %[[UPPER]] : tensor<2xf32>
// CHECK:             %[[PART:.*]] = bgpu.share %[[NEGATED]] : tensor<2xf32>
// CHECK:             bgpu.for_each [4] %[[STATE]] : tensor<4xf32> -> tensor<4xf32> {
// CHECK:               memref.load %[[PART]]
func.func private @slices(%x: memref<?x?x4xf32>, %h0: memref<?x4xf32>, %h: memref<?x?x4xf32>) {
  bppsa.recurrence sequences(%x : memref<?x?x4xf32>) initial(%h0 : memref<?x4xf32>) into(%h : memref<?x?x4xf32>) {
  ^bb0(%xt: vector<4xf32>, %ht: vector<4xf32>):
    %0 = vector.extract_strided_slice %ht {offsets = [2], sizes = [2], strides = [1]} : vector<4xf32> to vector<2xf32>
    %1 = arith.negf %0 : vector<2xf32>
    %2 = vector.insert_strided_slice %1, %ht {offsets = [1], strides = [1]} : vector<2xf32> into vector<4xf32>
    bppsa.yield %2 : vector<4xf32>
  }
  return
}

// Two threads share a row of 256 columns, in alternating groups of four. Both hold the sum and
// compute all values derived from it.

// CHECK-LABEL: func private @shared_rows(
// CHECK:         bgpu.kernel blocks({{.*}}) threads(256) {
// CHECK:           bgpu.for_each [128, 2] -> tensor<128x2xvector<64xf32>> {
// CHECK-NEXT:      ^bb0(%[[ROW:.*]]: index, %[[PART:.*]]: index):
// CHECK:             %[[FIRST:.*]] = arith.muli %[[PART]], %c4
// CHECK:             memref.load %{{.*}}[%{{.*}}, %[[FIRST]]]
// CHECK:           %[[START:.*]] = bgpu.for_each [128] replicas(2) -> tensor<128xf32, #bgpu.replicated<2>> {
// CHECK:           scf.for
// CHECK:             bgpu.share %{{.*}} : tensor<128xf32, #bgpu.replicated<2>>
// CHECK:             %[[FACTORS:.*]] = bgpu.for_each [128, 2] ->
// CHECK:             %[[SUM:.*]] = bgpu.for_each [128, 2] %{{.*}}, %[[FACTORS]], %{{.*}}, %[[FACTORS]] :
// CHECK-COUNT-128:     math.fma
// CHECK-NOT:           math.fma
// CHECK:             %[[TOTAL:.*]] = bgpu.reduce_across <add> %[[SUM]] : tensor<128x2xf32> -> tensor<128xf32, #bgpu.replicated<2>>
// CHECK-NOT:         bgpu.reduce_across
// CHECK:             %[[NEXT:.*]] = arith.addf %[[TOTAL]], %{{.*}} : tensor<128xf32, #bgpu.replicated<2>>
// CHECK:             bgpu.for_each [128] replicas(2) %[[NEXT]]
// CHECK:             scf.yield %[[NEXT]]
func.func private @shared_rows(%x: memref<?x?x128xf32>, %h0: memref<?x128xf32>, %w: memref<128x128xf32>,
    %r: memref<128x128xf32>, %h: memref<?x?x128xf32>) {
  bppsa.recurrence sequences(%x : memref<?x?x128xf32>) initial(%h0 : memref<?x128xf32>)
      captures(%w, %r : memref<128x128xf32>, memref<128x128xf32>) into(%h : memref<?x?x128xf32>) {
  ^bb0(%xt: vector<128xf32>, %ht: vector<128xf32>, %wc: vector<128x128xf32>, %rc: vector<128x128xf32>):
    %0 = bppsa.matvec %wc, %ht plus %xt : vector<128x128xf32>, vector<128xf32> plus vector<128xf32> -> vector<128xf32>
    %1 = bppsa.matvec %rc, %ht plus %0 : vector<128x128xf32>, vector<128xf32> plus vector<128xf32> -> vector<128xf32>
    bppsa.yield %1 : vector<128xf32>
  }
  return
}

// Rows that exceed the registers are read from memory in each step, unless several blocks share
// them or tensor cores multiply all steps at once.

// CHECK-LABEL: func private @long_rows(
// CHECK-SAME:      %[[R:[^:]*]]: memref<600x600xf32>
// CHECK:         bgpu.kernel blocks({{.*}}) threads(608) {
// CHECK:           %[[APART:.*]]:3 = memref.distinct_objects %{{.*}}, %[[R]], %{{.*}}
// CHECK-NOT:       memref.load %[[APART]]#1
// CHECK:           scf.for
// CHECK:             bgpu.for_each [600]
// CHECK:               scf.for %[[COLUMN:.*]] = %c0 to %c600 step %c1 iter_args(%[[SUM:.*]] = %{{.*}})
// CHECK:                 %[[ENTRY:.*]] = memref.load %[[APART]]#1[%{{.*}}, %[[COLUMN]]]
// CHECK:                 math.fma %[[ENTRY]], %{{.*}}, %[[SUM]]
// CHECK:             math.tanh
func.func private @long_rows(%x: memref<?x?x600xf32>, %r: memref<600x600xf32>, %y: memref<?x?x600xf32>) {
  bppsa.recurrence sequences(%x : memref<?x?x600xf32>) captures(%r : memref<600x600xf32>)
      into(%y : memref<?x?x600xf32>) {
  ^bb0(%xt: vector<600xf32>, %rc: vector<600x600xf32>):
    %0 = bppsa.matvec %rc, %xt : vector<600x600xf32>, vector<600xf32> -> vector<600xf32>
    %1 = math.tanh %0 : vector<600xf32>
    bppsa.yield %1 : vector<600xf32>
  }
  return
}

// Without a state, steps are independent. If products are small, a block takes 32 steps of one
// sample.

// CHECK-LABEL: func private @independent_steps(
// CHECK-SAME:      %[[X:.*]]: memref<?x?x3xf32>, %[[W:.*]]: memref<4x3xf32>, %[[Y:.*]]: memref<?x?x4xf32>)
// CHECK-DAG:     %[[T:.*]] = memref.dim %[[X]], %c0
// CHECK-DAG:     %[[SAMPLES:.*]] = memref.dim %[[X]], %c1
// CHECK-DAG:     %[[GROUPS:.*]] = arith.ceildivui %[[T]], %c32
// CHECK:         %[[BLOCKS:.*]] = arith.muli %[[SAMPLES]], %[[GROUPS]]
// CHECK:         bgpu.kernel blocks(%[[BLOCK:.*]] in %[[BLOCKS]]) threads(32) {
// CHECK:           %[[APART:.*]]:3 = memref.distinct_objects %[[X]], %[[W]], %[[Y]]
// CHECK-DAG:       %[[SAMPLE:.*]] = arith.remui %[[BLOCK]], %[[SAMPLES]]
// CHECK-DAG:       %[[GROUP:.*]] = arith.divui %[[BLOCK]], %[[SAMPLES]]
// CHECK:           %[[FIRST:.*]] = arith.muli %[[GROUP]], %c32
// CHECK:           %[[END:.*]] = arith.addi %[[FIRST]], %c32
// CHECK:           %[[LAST:.*]] = arith.minui %[[END]], %[[T]]
// CHECK:           scf.for %[[STEP:.*]] = %[[FIRST]] to %[[LAST]] step %c1 {
// CHECK-NOT:         bgpu.fetch
// CHECK:             memref.load %[[APART]]#0[%[[STEP]], %[[SAMPLE]], %c0]
// CHECK:             memref.store %{{.*}}, %[[APART]]#2[%[[STEP]], %[[SAMPLE]],
// CHECK:         return
func.func private @independent_steps(%x: memref<?x?x3xf32>, %w: memref<4x3xf32>, %y: memref<?x?x4xf32>) {
  bppsa.recurrence sequences(%x : memref<?x?x3xf32>) captures(%w : memref<4x3xf32>)
      into(%y : memref<?x?x4xf32>) {
  ^bb0(%xt: vector<3xf32>, %wc: vector<4x3xf32>):
    %0 = bppsa.matvec %wc, %xt : vector<4x3xf32>, vector<3xf32> -> vector<4xf32>
    bppsa.yield %0 : vector<4xf32>
  }
  return
}
