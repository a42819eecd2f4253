// RUN: bppsa-opt %s --bppsa-choose-task-mapping=cache=100 | FileCheck %s
// RUN: bppsa-opt %s --bppsa-choose-task-mapping | FileCheck %s --check-prefix=WHOLE
// RUN: bppsa-opt %s --bppsa-choose-task-mapping=cache=100 --remarks-filter=mapping 2>&1 >/dev/null | FileCheck %s --check-prefix=REMARK

// Six rows of six elements exceed a cache of 100 bytes but fit in 32 KiB.
// CHECK-LABEL: func.func @large(
// CHECK: bppsa.recurrence lanes 1 {{.*}}bppsa.mapping = #bppsa.task_mapping<most = 4>
// CHECK: bppsa.chain lanes 1 {{.*}}bppsa.mapping = #bppsa.task_mapping<most = 4>
// WHOLE-LABEL: func.func @large(
// WHOLE-NOT: bppsa.mapping
// REMARK-DAG: Function=large {{.*}}"recurrence: tasks of up to 4 samples or independent steps, as a step reads 144 bytes of matrices and the cache has 100"
// REMARK-DAG: Function=large {{.*}}"chain: tasks of up to 4 samples or independent steps, as a step reads 144 bytes of matrices and the cache has 100"
func.func @large(%x: memref<?x?x6x1xf32>, %h: memref<?x6x1xf32>, %r: memref<6x6xf32>,
    %y: memref<?x?x6x1xf32>, %g: memref<?x6x1xf32>) {
  bppsa.recurrence lanes 1 sequences(%x : memref<?x?x6x1xf32>) initial(%h : memref<?x6x1xf32>)
      captures(%r : memref<6x6xf32>) into(%y : memref<?x?x6x1xf32>) {
  ^bb0(%xt: vector<6xf32>, %ht: vector<6xf32>, %rc: vector<6x6xf32>):
    %0 = bppsa.matvec %rc, %ht plus %xt : vector<6x6xf32>, vector<6xf32> plus vector<6xf32> -> vector<6xf32>
    %1 = bppsa.matvec transposed %rc, %0 : vector<6x6xf32>, vector<6xf32> -> vector<6xf32>
    bppsa.yield %1 : vector<6xf32>
  }
  bppsa.chain lanes 1 saved(%x : memref<?x?x6x1xf32>) seeds(%h : memref<?x6x1xf32>)
      captures(%r : memref<6x6xf32>) into(%g : memref<?x6x1xf32>) {
  ^bb0(%at: vector<6xf32>, %gt: vector<6xf32>, %rc: vector<6x6xf32>):
    %0 = arith.mulf %at, %gt : vector<6xf32>
    %1 = bppsa.matvec transposed %rc, %0 : vector<6x6xf32>, vector<6xf32> -> vector<6xf32>
    bppsa.yield %1 : vector<6xf32>
  }
  return
}

// Two vectors of samples share each entry, except in a chain with fused sums.
// CHECK-LABEL: func.func @samples(
// CHECK: bppsa.recurrence lanes 16 {{.*}}bppsa.mapping = #bppsa.task_mapping<most = 2>
// CHECK: memref.alloca_scope
// CHECK-NOT: bppsa.mapping
// CHECK: bppsa.chain lanes 16
// WHOLE-LABEL: func.func @samples(
// REMARK-DAG: Function=samples {{.*}}"recurrence: tasks of up to 2 vectors of samples or independent steps, as a step reads 144 bytes of matrices and the cache has 100"
func.func @samples(%x: memref<?x?x6x16xf32>, %h: memref<?x6x16xf32>, %r: memref<6x6xf32>,
    %y: memref<?x?x6x16xf32>, %g: memref<?x6x16xf32>, %s: memref<6xf32>) {
  bppsa.recurrence lanes 16 sequences(%x : memref<?x?x6x16xf32>) initial(%h : memref<?x6x16xf32>)
      captures(%r : memref<6x6xf32>) into(%y : memref<?x?x6x16xf32>) {
  ^bb0(%xt: vector<6xf32>, %ht: vector<6xf32>, %rc: vector<6x6xf32>):
    %0 = bppsa.matvec %rc, %ht plus %xt : vector<6x6xf32>, vector<6xf32> plus vector<6xf32> -> vector<6xf32>
    bppsa.yield %0 : vector<6xf32>
  }
  memref.alloca_scope {
    bppsa.chain lanes 16 saved(%x : memref<?x?x6x16xf32>) seeds(%h : memref<?x6x16xf32>)
        captures(%r : memref<6x6xf32>) into(%g : memref<?x6x16xf32>) {
    ^bb0(%at: vector<6xf32>, %gt: vector<6xf32>, %rc: vector<6x6xf32>):
      %0 = arith.mulf %at, %gt : vector<6xf32>
      %1 = bppsa.matvec transposed %rc, %0 : vector<6x6xf32>, vector<6xf32> -> vector<6xf32>
      bppsa.yield %1 : vector<6xf32>
    }
    bppsa.step_sum lanes 16 %x into %s : memref<?x?x6x16xf32> into memref<6xf32>
  }
  return
}

// Without states, several steps are processed together.
// CHECK-LABEL: func.func @steps(
// CHECK: bppsa.mapping = #bppsa.task_mapping<most = 4>
func.func @steps(%a: memref<?x?x6x1xf32>, %r: memref<6x6xf32>, %b: memref<?x?x6x1xf32>) {
  bppsa.recurrence lanes 1 sequences(%a : memref<?x?x6x1xf32>)
      captures(%r : memref<6x6xf32>) into(%b : memref<?x?x6x1xf32>) {
  ^bb0(%at: vector<6xf32>, %rc: vector<6x6xf32>):
    %0 = bppsa.matvec %rc, %at : vector<6x6xf32>, vector<6xf32> -> vector<6xf32>
    bppsa.yield %0 : vector<6xf32>
  }
  return
}

// An existing mapping is kept.
// CHECK-LABEL: func.func @by_hand(
// CHECK: bppsa.mapping = #bppsa.task_mapping<most = 2>
func.func @by_hand(%x: memref<?x?x6x1xf32>, %h: memref<?x6x1xf32>, %r: memref<6x6xf32>,
    %y: memref<?x?x6x1xf32>) {
  bppsa.recurrence lanes 1 sequences(%x : memref<?x?x6x1xf32>) initial(%h : memref<?x6x1xf32>)
      captures(%r : memref<6x6xf32>)
      into(%y : memref<?x?x6x1xf32>) attributes {bppsa.mapping = #bppsa.task_mapping<most = 2>} {
  ^bb0(%xt: vector<6xf32>, %ht: vector<6xf32>, %rc: vector<6x6xf32>):
    %0 = bppsa.matvec %rc, %ht plus %xt : vector<6x6xf32>, vector<6xf32> plus vector<6xf32> -> vector<6xf32>
    bppsa.yield %0 : vector<6xf32>
  }
  return
}
