// RUN: bppsa-opt %s --bppsa-hoist-input-products --bppsa-choose-gpu-mapping --convert-bppsa-to-gpu --canonicalize --cse | FileCheck %s

// One launch for all steps, a block for each sample. A thread keeps its row of the
// weights; the state is in shared memory twice, and a barrier ends each step. What
// seven steps ahead reads from memory is asked for while the step waits for the state. There are no
// branches: threads without a row use spare rows of shared arrays, and store the last row of others
// again. The loop carries the place that it stores to, which ends with the last step.

// CHECK-LABEL: func private @rnn(
// CHECK-SAME:      %[[X:.*]]: memref<?x?x4xf32>, %[[H0:.*]]: memref<?x4xf32>, %[[R:.*]]: memref<4x4xf32>, %[[B:.*]]: memref<4xf32>, %[[H:.*]]: memref<?x?x4xf32>)
// CHECK-DAG:     %[[T:.*]] = memref.dim %[[X]], %c0
// CHECK-DAG:     %[[SAMPLES:.*]] = memref.dim %[[X]], %c1
// CHECK:         gpu.launch blocks(%[[SAMPLE:[^,]*]], {{.*}}) in (%{{[^ ]*}} = %[[SAMPLES]], {{.*}}) threads(%[[UNIT:[^,]*]], {{.*}}) in (%{{[^ ]*}} = %c32,
// CHECK-SAME:        module(@device) function(@rnn) workgroup(%[[RING:[^ ]*]] : memref<8x32xf32, #gpu.address_space<workgroup>>, %[[STATE:[^ ]*]] : memref<2x36xf32, #gpu.address_space<workgroup>>)
// CHECK:           %[[ROW:.*]] = arith.minui %[[UNIT]], %c3
// CHECK:           %[[R0:.*]] = memref.load %[[R]][%[[ROW]], %c0]
// CHECK:           %[[R1:.*]] = memref.load %[[R]][%[[ROW]], %c1]
// CHECK:           %[[R2:.*]] = memref.load %[[R]][%[[ROW]], %c2]
// CHECK:           %[[R3:.*]] = memref.load %[[R]][%[[ROW]], %c3]
// CHECK:           %[[FLAT:.*]] = memref.reinterpret_cast %[[X]] to offset: [0],
// CHECK:           scf.for %{{.*}} = %c0 to %c6 step %c1 {
// CHECK:             nvgpu.device_async_copy %[[FLAT]]
// CHECK:           nvgpu.device_async_wait %{{.*}} {numGroups = 6 : i32}
// CHECK-NEXT:      gpu.barrier
// CHECK:           %[[OWNS:.*]] = arith.cmpi ult, %[[UNIT]], %c4
// CHECK:           scf.if %[[OWNS]] {
// CHECK:             %[[INITIAL:.*]] = memref.load %[[H0]][%[[SAMPLE]], %[[UNIT]]]
// CHECK:             memref.store %[[INITIAL]], %[[STATE]][%c0, %[[UNIT]]]
// CHECK:             memref.store %[[INITIAL]], %[[H]][%c0, %[[SAMPLE]], %[[UNIT]]]
// CHECK:           }
// CHECK-NEXT:      gpu.barrier
// CHECK:           %[[OF_STEP:.*]] = arith.muli %{{.*}}, %c4
// CHECK:           %[[OF_SAMPLE:.*]] = arith.muli %[[SAMPLE]], %c4
// CHECK:           %[[BEHIND:.*]] = memref.reinterpret_cast %[[H]] to offset: [%[[OF_STEP]]],
// CHECK:           scf.for %[[STEP:.*]] = %c0 to %[[T]] step %c1 iter_args(%[[PLACE:.*]] = %[[OF_SAMPLE]]) -> (index) {
// CHECK-NEXT:        %[[BEFORE:.*]] = arith.andi %[[STEP]], %c1
// CHECK-NEXT:        %[[AFTER:.*]] = arith.xori %[[BEFORE]], %c1
// CHECK-NEXT:        %[[FILLED:.*]] = arith.andi %[[STEP]], %c7
// CHECK-NEXT:        %[[S0:.*]] = memref.load %[[STATE]][%[[BEFORE]], %c0]
// CHECK-NEXT:        memref.load %[[STATE]][%[[BEFORE]], %c1]
// CHECK-NEXT:        memref.load %[[STATE]][%[[BEFORE]], %c2]
// CHECK-NEXT:        %[[S3:.*]] = memref.load %[[STATE]][%[[BEFORE]], %c3]
// CHECK-NEXT:        %[[AHEAD:.*]] = arith.addi %[[STEP]], %c7
// CHECK-NEXT:        %[[FREE:.*]] = arith.andi %[[AHEAD]], %c7
// CHECK-NEXT:        %[[FROM:.*]] = arith.minui %[[AHEAD]], %{{.*}}
// CHECK-NEXT:        %[[FIRST:.*]] = arith.muli %[[FROM]], %[[SAMPLES]]
// CHECK-NEXT:        %[[VECTOR:.*]] = arith.addi %[[FIRST]], %[[SAMPLE]]
// CHECK-NEXT:        %[[ELEMENT:.*]] = arith.muli %[[VECTOR]], %c4
// CHECK-NEXT:        %[[OWN:.*]] = arith.addi %[[ELEMENT]], %[[ROW]]
// CHECK-NEXT:        nvgpu.device_async_copy %[[FLAT]][%[[OWN]]], %[[RING]][%[[FREE]], %[[UNIT]]], 1
// CHECK-NEXT:        %[[ASKED:.*]] = nvgpu.device_async_create_group
// CHECK-NOT:         memref.load %[[R]]
// CHECK-DAG:         math.fma %[[R0]], %[[S0]]
// CHECK-DAG:         math.fma %[[R3]], %[[S3]]
// CHECK-DAG:         memref.load %[[RING]][%[[FILLED]], %[[ROW]]]
// CHECK-NOT:         gpu.barrier
// CHECK:             %[[NEXT:.*]] = math.tanh
// CHECK-NEXT:        memref.store %[[NEXT]], %[[STATE]][%[[AFTER]], %[[UNIT]]]
// CHECK-NEXT:        %[[AT:.*]] = arith.addi %[[PLACE]], %[[ROW]]
// CHECK-NEXT:        memref.store %[[NEXT]], %[[BEHIND]][%[[AT]]]
// CHECK-NEXT:        nvgpu.device_async_wait %[[ASKED]] {numGroups = 6 : i32}
// CHECK-NEXT:        gpu.barrier
// CHECK-NEXT:        %[[NEXT_STEP:.*]] = arith.addi %[[STEP]], %c1
// CHECK-NEXT:        %[[GOES_ON:.*]] = arith.cmpi ult, %[[NEXT_STEP]], %[[T]]
// CHECK-NEXT:        %[[WAY:.*]] = arith.select %[[GOES_ON]], %[[OF_STEP]], %c0
// CHECK-NEXT:        %[[NEXT_PLACE:.*]] = arith.addi %[[PLACE]], %[[WAY]]
// CHECK-NEXT:        scf.yield %[[NEXT_PLACE]]
// CHECK-NEXT:      }
// CHECK-NEXT:      gpu.terminator
// CHECK-NEXT:    }
// CHECK-NEXT:    return
func.func private @rnn(%x: memref<?x?x4xf32>, %h0: memref<?x4xf32>, %r: memref<4x4xf32>, %b: memref<4xf32>,
    %h: memref<?x?x4xf32>) {
  bppsa.recurrence sequences(%x : memref<?x?x4xf32>) initial(%h0 : memref<?x4xf32>)
      captures(%r, %b : memref<4x4xf32>, memref<4xf32>) into(%h : memref<?x?x4xf32>) {
  ^bb0(%xt: vector<4xf32>, %ht: vector<4xf32>, %rc: vector<4x4xf32>, %bc: vector<4xf32>):
    %0 = bppsa.matvec %rc, %ht plus %bc : vector<4xf32> : vector<4x4xf32>, vector<4xf32> -> vector<4xf32>
    %1 = arith.addf %0, %xt : vector<4xf32>
    %2 = math.tanh %1 : vector<4xf32>
    bppsa.yield %2 : vector<4xf32>
  }
  return
}

// In reverse, the last slot is the initial state's and a step writes its own.

// CHECK-LABEL: func private @reverse(
// CHECK-SAME:      %[[X:.*]]: memref<?x?x4xf32>, %{{.*}}: memref<?x4xf32>, %[[H:.*]]: memref<?x?x4xf32>)
// CHECK:         %[[T:.*]] = memref.dim %[[X]], %c0
// CHECK:         gpu.launch blocks(%[[SAMPLE:[^,]*]],
// CHECK:           memref.store %{{.*}}, %[[H]][%[[T]], %[[SAMPLE]],
// CHECK:           %[[OF_STEP:.*]] = arith.muli %{{.*}}, %c4
// CHECK:           %[[BACK:.*]] = arith.subi %c0, %[[OF_STEP]]
// CHECK:           %[[VECTORS:.*]] = memref.reinterpret_cast %[[H]] to offset: [0],
// CHECK:           scf.for %[[POSITION:.*]] = %c0 to %[[T]]
// CHECK:             memref.store %{{.*}}, %[[VECTORS]][
// CHECK:             %[[AHEAD:.*]] = arith.addi %[[POSITION]], %c7
// CHECK:             %[[FROM:.*]] = arith.minui %[[AHEAD]],
// CHECK:             %[[LEFT_AHEAD:.*]] = arith.subi %[[T]], %[[FROM]]
// CHECK:             %[[STEP_AHEAD:.*]] = arith.addi %[[LEFT_AHEAD]], %c-1
// CHECK:             arith.muli %[[STEP_AHEAD]],
// CHECK:             nvgpu.device_async_copy
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

// What a product reads of a value of the same step is in shared memory, and a
// barrier is between writing and reading it.

// CHECK-LABEL: func private @two_products(
// CHECK:         gpu.launch
// CHECK-SAME:        workgroup(%[[SCRATCH:[^ ]*]] : memref<36xf32, #gpu.address_space<workgroup>>, %{{.*}} : memref<8x32xf32, #gpu.address_space<workgroup>>, %[[STATE:[^ ]*]] : memref<2x36xf32, #gpu.address_space<workgroup>>)
// CHECK:           gpu.barrier
// CHECK:           gpu.barrier
// CHECK:           scf.for
// CHECK:             memref.store %{{.*}}, %[[SCRATCH]][
// CHECK:             gpu.barrier
// CHECK:             memref.load %[[SCRATCH]][%c0]
// CHECK:             memref.store %{{.*}}, %[[STATE]][
// CHECK:             gpu.barrier
// CHECK-NOT:         gpu.barrier
// CHECK:           gpu.terminator
func.func private @two_products(%x: memref<?x?x3xf32>, %h0: memref<?x3xf32>, %r: memref<3x3xf32>,
    %h: memref<?x?x3xf32>) {
  bppsa.recurrence sequences(%x : memref<?x?x3xf32>) initial(%h0 : memref<?x3xf32>)
      captures(%r : memref<3x3xf32>) into(%h : memref<?x?x3xf32>) {
  ^bb0(%xt: vector<3xf32>, %ht: vector<3xf32>, %rc: vector<3x3xf32>):
    %0 = bppsa.matvec %rc, %ht : vector<3x3xf32>, vector<3xf32> -> vector<3xf32>
    %1 = math.tanh %0 : vector<3xf32>
    %2 = bppsa.matvec %rc, %1 plus %xt : vector<3xf32> : vector<3x3xf32>, vector<3xf32> -> vector<3xf32>
    bppsa.yield %2 : vector<3xf32>
  }
  return
}

// Two threads share a row of 256 columns: each has every second four, and both have
// the sum.

// CHECK-LABEL: func private @shared_rows(
// CHECK-SAME:      %[[W:[^:]*]]: memref<128x128xf32>, %[[R:[^:]*]]: memref<128x128xf32>
// CHECK:         gpu.launch blocks(%{{.*}}) in {{.*}} threads(%[[THREAD:[^,]*]], {{.*}}) in (%{{[^ ]*}} = %c256,
// CHECK:           %[[PART:.*]] = arith.remui %[[THREAD]], %c2
// CHECK:           %[[UNIT:.*]] = arith.divui %[[THREAD]], %c2
// CHECK:           %[[ROW:.*]] = arith.minui %[[UNIT]], %c127
// CHECK:           %[[FIRST:.*]] = arith.muli %[[PART]], %c4
// CHECK:           memref.load %{{.*}}[%[[ROW]], %[[FIRST]]] : memref<128x128xf32>
// CHECK:           scf.for
// CHECK-COUNT-128:   math.fma
// CHECK-NOT:         math.fma
// CHECK:             %[[OTHER:.*]], %{{.*}} = gpu.shuffle xor %[[SUM:.*]], %c1_i32, %c32_i32
// CHECK:             %[[TOTAL:.*]] = arith.addf %[[SUM]], %[[OTHER]]
// CHECK-NOT:         gpu.shuffle
// CHECK:             gpu.barrier
func.func private @shared_rows(%x: memref<?x?x128xf32>, %h0: memref<?x128xf32>, %w: memref<128x128xf32>,
    %r: memref<128x128xf32>, %h: memref<?x?x128xf32>) {
  bppsa.recurrence sequences(%x : memref<?x?x128xf32>) initial(%h0 : memref<?x128xf32>)
      captures(%w, %r : memref<128x128xf32>, memref<128x128xf32>) into(%h : memref<?x?x128xf32>) {
  ^bb0(%xt: vector<128xf32>, %ht: vector<128xf32>, %wc: vector<128x128xf32>, %rc: vector<128x128xf32>):
    %0 = bppsa.matvec %wc, %ht plus %xt : vector<128xf32> : vector<128x128xf32>, vector<128xf32> -> vector<128xf32>
    %1 = bppsa.matvec %rc, %ht plus %0 : vector<128xf32> : vector<128x128xf32>, vector<128xf32> -> vector<128xf32>
    bppsa.yield %1 : vector<128xf32>
  }
  return
}

// Rows that no registers hold are read from memory in each step, where several blocks do not
// share them (grid.mlir) and tensor cores do not multiply all steps at a time (products.mlir).

// CHECK-LABEL: func private @long_rows(
// CHECK-SAME:      %[[R:[^:]*]]: memref<600x600xf32>
// CHECK:         gpu.launch blocks(%{{.*}}) in {{.*}} threads(%{{.*}}) in (%{{[^ ]*}} = %c608,
// CHECK:           scf.for
// CHECK:             scf.for %[[COLUMN:.*]] = %c0 to %c600 step %c1 iter_args(%[[SUM:.*]] = %{{.*}})
// CHECK:               %[[ENTRY:.*]] = memref.load %[[R]][%{{.*}}, %[[COLUMN]]]
// CHECK:               math.fma %[[ENTRY]], %{{.*}}, %[[SUM]]
// CHECK-NOT:         gpu.shuffle
// CHECK:             gpu.barrier
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

// Without a state, steps are independent: a block takes 32 of one sample where products are small.

// CHECK-LABEL: func private @independent_steps(
// CHECK-SAME:      %[[X:.*]]: memref<?x?x3xf32>, %[[W:.*]]: memref<4x3xf32>, %[[Y:.*]]: memref<?x?x4xf32>)
// CHECK-DAG:     %[[T:.*]] = memref.dim %[[X]], %c0
// CHECK-DAG:     %[[SAMPLES:.*]] = memref.dim %[[X]], %c1
// CHECK-DAG:     %[[GROUPS:.*]] = arith.ceildivui %[[T]], %c32
// CHECK:         %[[BLOCKS:.*]] = arith.muli %[[SAMPLES]], %[[GROUPS]]
// CHECK:         gpu.launch blocks(%[[BLOCK:[^,]*]], {{.*}}) in (%{{[^ ]*}} = %[[BLOCKS]],
// CHECK-DAG:       %[[SAMPLE:.*]] = arith.remui %[[BLOCK]], %[[SAMPLES]]
// CHECK-DAG:       %[[GROUP:.*]] = arith.divui %[[BLOCK]], %[[SAMPLES]]
// CHECK:           %[[FIRST:.*]] = arith.muli %[[GROUP]], %c32
// CHECK:           %[[END:.*]] = arith.addi %[[FIRST]], %c32
// CHECK:           %[[LAST:.*]] = arith.minui %[[END]], %[[T]]
// CHECK:           scf.for %[[STEP:.*]] = %[[FIRST]] to %[[LAST]] step %c1 {
// CHECK:             memref.load %[[X]][%[[STEP]], %[[SAMPLE]], %c0]
// CHECK:             memref.store %{{.*}}, %[[Y]][%[[STEP]], %[[SAMPLE]],
// CHECK-NOT:     gpu.launch
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
