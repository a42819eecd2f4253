// RUN: bppsa-opt %s --bppsa-hoist-input-products --bppsa-choose-gpu-mapping --convert-bppsa-to-gpu --canonicalize --cse | FileCheck %s

// Five blocks of 8 warps of 8 rows share 300 rows, for four samples each; counters and what all
// blocks read begin with zeros. There are as many launches as the multiprocessors leave.

// CHECK-LABEL: func private @rnn(
// CHECK-SAME:      %[[X:.*]]: memref<?x?x300xf32>, %[[H0:.*]]: memref<?x300xf32>, %[[R:.*]]: memref<300x300xf32>, %[[H:.*]]: memref<?x?x300xf32>)
// CHECK-DAG:     %[[T:.*]] = memref.dim %[[X]], %c0
// CHECK-DAG:     %[[SAMPLES:.*]] = memref.dim %[[X]], %c1
// CHECK:         %[[GROUPS:.*]] = arith.ceildivui %[[SAMPLES]], %c4
// CHECK:         %[[COUNTERS:.*]] = memref.alloc(%[[GROUPS]]) {{.*}} : memref<?x32xi32>
// CHECK:         gpu.launch
// CHECK:           memref.store %c0_i32, %[[COUNTERS]]
// CHECK:         %[[STATES:.*]] = memref.alloc(%{{.*}}) {{.*}} : memref<2x?x384xf32>
// CHECK:         gpu.launch
// CHECK:           memref.store %{{.*}}, %[[STATES]]
// CHECK:         %[[ROOM:.*]] = call @bppsa_rt_multiprocessors()
// CHECK:         arith.divui %{{.*}}, %c5
// CHECK:         scf.for
// CHECK:           gpu.launch blocks({{.*}}) in {{.*}} threads(%[[THREAD:[^,]*]], {{.*}}) in (%{{[^ ]*}} = %c256,
// CHECK-SAME:          workgroup(%[[SUMS:[^ ]*]] : memref<8x32xf32, #gpu.address_space<workgroup>>)
// CHECK:             %[[FIRST:.*]] = arith.cmpi eq, %[[THREAD]], %c0
// CHECK:             memref.load %[[R]]
// CHECK:             memref.store %{{.*}}, %[[STATES]][%c0,
// CHECK:             %{{.*}}:2 = scf.for %[[STEP:.*]] = %c0 to %[[T]] step %c1 iter_args(%[[XT:.*]] = %{{.*}}, %[[PASSED:.*]] = %c5_i32)
// CHECK-NOT:           memref.load %[[R]]
// CHECK:               %[[BEFORE:.*]] = arith.andi %[[STEP]], %c1
// CHECK:               %[[AFTER:.*]] = arith.xori %[[BEFORE]], %c1
// CHECK:               vector.load %[[STATES]][%[[BEFORE]], %{{.*}}, %{{.*}}] {alignment = 16 : i64}
// CHECK-COUNT-31:      gpu.shuffle
// CHECK-NOT:           gpu.shuffle
// CHECK:               %[[TOTAL:.*]] = memref.load %[[SUMS]]
// CHECK:               %[[SUM:.*]] = arith.addf %[[TOTAL]], %[[XT]]
// CHECK:               %[[NEXT:.*]] = math.tanh %[[SUM]]
// CHECK:               memref.store %[[NEXT]], %[[STATES]][%[[AFTER]],
// CHECK:               memref.store %[[NEXT]], %[[H]]
// The next step's input is asked for before the barrier of the blocks.
// CHECK:               %[[AHEAD:.*]] = memref.load %[[X]]
// CHECK:               %[[COUNT:.*]] = arith.addi %[[PASSED]], %c5_i32
// CHECK-NEXT:          gpu.barrier
// CHECK-NEXT:          scf.if %[[FIRST]]
// CHECK:                 llvm.fence syncscope("device") acq_rel
// CHECK-NEXT:            llvm.atomicrmw add %[[COUNTER:.*]], %c1_i32 syncscope("device") monotonic
// CHECK:                 %[[FOUND:.*]] = llvm.load %[[COUNTER]] atomic syncscope("device") acquire
// CHECK-NEXT:            arith.cmpi ult, %[[FOUND]], %[[COUNT]]
// CHECK:               gpu.barrier
// CHECK-NEXT:          scf.yield %[[AHEAD]], %[[COUNT]]
func.func private @rnn(%x: memref<?x?x300xf32>, %h0: memref<?x300xf32>, %r: memref<300x300xf32>,
    %h: memref<?x?x300xf32>) {
  bppsa.recurrence sequences(%x : memref<?x?x300xf32>) initial(%h0 : memref<?x300xf32>)
      captures(%r : memref<300x300xf32>) into(%h : memref<?x?x300xf32>) {
  ^bb0(%xt: vector<300xf32>, %ht: vector<300xf32>, %rc: vector<300x300xf32>):
    %0 = bppsa.matvec %rc, %ht : vector<300x300xf32>, vector<300xf32> -> vector<300xf32>
    %1 = arith.addf %0, %xt : vector<300xf32>
    %2 = math.tanh %1 : vector<300xf32>
    bppsa.yield %2 : vector<300xf32>
  }
  return
}

// A link computes what its product reads, so that its one barrier is in the middle of a step, and
// the cotangent stays in registers.

// CHECK-LABEL: func private @chain(
// CHECK-SAME:      %{{.*}}: memref<?x?x300xf32>, %[[SEED:.*]]: memref<?x300xf32>, %{{.*}}: memref<300x300xf32>, %[[OUT:.*]]: memref<?x300xf32>)
// CHECK:         %[[VECTORS:.*]] = memref.alloc(%{{.*}}) {{.*}} : memref<2x?x384xf32>
// CHECK:           %[[START:.*]] = memref.load %[[SEED]]
// CHECK-NOT:       gpu.barrier
// CHECK:           %[[LAST:.*]]:3 = scf.for {{.*}} iter_args(%[[G:[^ ]*]] = %[[START]], %[[A:[^ ]*]] = %{{.*}}, %{{.*}} = %c0_i32)
// CHECK:             %[[D:.*]] = arith.mulf %[[A]], %[[G]]
// CHECK:             memref.store %[[D]], %[[VECTORS]]
// CHECK:             llvm.load {{.*}} acquire
// CHECK:             gpu.barrier
// CHECK:             vector.load %[[VECTORS]]
// CHECK:             %[[NEXT:.*]] = memref.load {{.*}} memref<8x32xf32
// CHECK-NOT:         gpu.barrier
// CHECK:             scf.yield %[[NEXT]],
// CHECK:           memref.store %[[LAST]]#0, %[[OUT]]
func.func private @chain(%a: memref<?x?x300xf32>, %g: memref<?x300xf32>, %w: memref<300x300xf32>,
    %out: memref<?x300xf32>) {
  bppsa.chain saved(%a : memref<?x?x300xf32>) seeds(%g : memref<?x300xf32>) inject_into []
      captures(%w : memref<300x300xf32>) into(%out : memref<?x300xf32>) {
  ^bb0(%at: vector<300xf32>, %gt: vector<300xf32>, %wc: vector<300x300xf32>):
    %0 = arith.mulf %at, %gt : vector<300xf32>
    %1 = bppsa.matvec transposed %wc, %0 : vector<300x300xf32>, vector<300xf32> -> vector<300xf32>
    bppsa.yield %1 : vector<300xf32>
  }
  return
}
