// RUN: bppsa-opt %s --bppsa-hoist-input-products --bppsa-choose-gpu-mapping --convert-bppsa-to-gpu --canonicalize --cse | FileCheck %s

// One launch runs all steps, the last one first. The link reads one copy of the
// cotangent and writes the other; its matrix is loaded once, by columns. Saved and
// injected vectors are copied to shared memory seven positions ahead.

// CHECK-LABEL: func private @chain(
// CHECK-SAME:      %[[A:.*]]: memref<?x?x4xf32>, %[[G:.*]]: memref<?x4xf32>, %[[S:.*]]: memref<?x?x4xf32>, %[[W:.*]]: memref<4x4xf32>, %[[OUT:.*]]: memref<?x4xf32>, %[[EMITTED:.*]]: memref<?x?x4xf32>)
// CHECK-DAG:     %[[T:.*]] = memref.dim %[[A]], %c0
// CHECK-DAG:     %[[SAMPLES:.*]] = memref.dim %[[G]], %c0
// CHECK:         gpu.launch blocks(%[[SAMPLE:[^,]*]], {{.*}}) in (%{{[^ ]*}} = %[[SAMPLES]], {{.*}}) threads(%[[UNIT:[^,]*]],
// CHECK-SAME:        function(@chain) workgroup(%[[SCRATCH:[^ ]*]] : memref<36xf32, #gpu.address_space<workgroup>>, %[[SAVED:[^ ]*]] : memref<8x32xf32, #gpu.address_space<workgroup>>, %[[INJECTED:[^ ]*]] : memref<8x32xf32, #gpu.address_space<workgroup>>, %[[STATE:[^ ]*]] : memref<2x36xf32, #gpu.address_space<workgroup>>)
// CHECK:           %[[W0:.*]] = memref.load %[[W]][%c0, %[[ROW:.*]]]
// CHECK:           %[[W3:.*]] = memref.load %[[W]][%c3, %[[ROW]]]
// CHECK:           %[[SEED:.*]] = memref.load %[[G]][%[[SAMPLE]],
// CHECK:           memref.store %[[SEED]], %[[STATE]][%c0, %[[UNIT]]]
// CHECK-DAG:       %[[FLAT_A:.*]] = memref.reinterpret_cast %[[A]] to offset: [0],
// CHECK-DAG:       %[[FLAT_S:.*]] = memref.reinterpret_cast %[[S]] to offset: [0],
// CHECK:           nvgpu.device_async_wait
// CHECK-NEXT:      gpu.barrier
// CHECK-NEXT:      %[[COPY:.*]] = scf.for %[[POSITION:.*]] = %c0 to %[[T]] step %c1 iter_args(%[[BEFORE:.*]] = %c0) -> (index) {
// CHECK-NEXT:        %[[AFTER:.*]] = arith.xori %[[BEFORE]], %c1
// CHECK-NEXT:        %[[SLOT:.*]] = arith.andi %[[POSITION]], %c7
// CHECK-NEXT:        %[[LEFT:.*]] = arith.subi %[[T]], %[[POSITION]]
// CHECK-NEXT:        %[[STEP:.*]] = arith.addi %[[LEFT]], %c-1
// CHECK-DAG:         %[[AT:.*]] = memref.load %[[SAVED]][%[[SLOT]], %[[ROW]]]
// CHECK-DAG:         %[[COTANGENT:.*]] = memref.load %[[STATE]][%[[BEFORE]], %[[ROW]]]
// CHECK-DAG:         %[[ST:.*]] = memref.load %[[INJECTED]][%[[SLOT]], %[[ROW]]]
// CHECK:             %[[ALL:.*]] = arith.addf %[[COTANGENT]], %[[ST]]
// CHECK:             %[[PRODUCT:.*]] = arith.mulf %[[AT]], %[[ALL]]
// CHECK:             memref.store %[[PRODUCT]], %[[SCRATCH]][%[[UNIT]]]
// CHECK:             memref.store %[[PRODUCT]], %[[EMITTED]][%[[STEP]], %[[SAMPLE]], %[[ROW]]]
// CHECK:             gpu.barrier
// CHECK-NOT:         memref.load %[[W]]
// CHECK:             %[[FIRST:.*]] = memref.load %[[SCRATCH]][%c0]
// CHECK:             %[[AHEAD:.*]] = arith.addi %[[POSITION]], %c7
// CHECK-NEXT:        %[[FREE:.*]] = arith.andi %[[AHEAD]], %c7
// CHECK-NEXT:        %[[FROM:.*]] = arith.minui %[[AHEAD]],
// CHECK:             %[[STEP_AHEAD:.*]] = arith.addi %{{.*}}, %c-1
// CHECK-NEXT:        arith.muli %[[STEP_AHEAD]],
// CHECK:             nvgpu.device_async_copy %[[FLAT_A]][%[[ELEMENT:.*]]], %[[SAVED]][%[[FREE]], %[[UNIT]]], 1
// CHECK-NEXT:        nvgpu.device_async_copy %[[FLAT_S]][%[[ELEMENT]]], %[[INJECTED]][%[[FREE]], %[[UNIT]]], 1
// CHECK-NEXT:        nvgpu.device_async_create_group
// CHECK:             math.fma %[[W0]], %[[FIRST]]
// CHECK:             memref.store %{{.*}}, %[[STATE]][%[[AFTER]], %[[UNIT]]]
// CHECK-NEXT:        nvgpu.device_async_wait
// CHECK-NEXT:        gpu.barrier
// CHECK-NEXT:        scf.yield %[[AFTER]]
// CHECK:           %[[LAST:.*]] = memref.load %[[STATE]][%[[COPY]], %[[UNIT]]]
// CHECK:           memref.store %[[LAST]], %[[OUT]][%[[SAMPLE]], %[[UNIT]]]
// CHECK-NOT:     gpu.launch
// CHECK:         return
func.func private @chain(%a: memref<?x?x4xf32>, %g: memref<?x4xf32>, %s: memref<?x?x4xf32>, %w: memref<4x4xf32>,
    %out: memref<?x4xf32>, %emitted: memref<?x?x4xf32>) {
  bppsa.chain saved(%a : memref<?x?x4xf32>) seeds(%g : memref<?x4xf32>) injected(%s : memref<?x?x4xf32>)
      inject_into [0] captures(%w : memref<4x4xf32>) into(%out, %emitted : memref<?x4xf32>, memref<?x?x4xf32>) {
  ^bb0(%at: vector<4xf32>, %gt: vector<4xf32>, %wc: vector<4x4xf32>):
    %0 = arith.mulf %at, %gt : vector<4xf32>
    %1 = bppsa.matvec transposed %wc, %0 : vector<4x4xf32>, vector<4xf32> -> vector<4xf32>
    bppsa.yield %1, %0 : vector<4xf32>, vector<4xf32>
  }
  return
}

// In reverse, position p is step p.

// CHECK-LABEL: func private @reverse(
// CHECK-SAME:      %[[A:[^:]*]]: memref<?x?x4xf32>
// CHECK-DAG:     %[[SAMPLES:.*]] = memref.dim %[[A]], %c1
// CHECK:         %[[FLAT:.*]] = memref.reinterpret_cast %[[A]] to offset: [0],
// CHECK:         scf.for %[[POSITION:.*]] = %c0 to %c6
// CHECK:           %[[STEP:.*]] = arith.minui %[[POSITION]],
// CHECK:           arith.muli %[[STEP]], %[[SAMPLES]]
// CHECK:           nvgpu.device_async_copy %[[FLAT]][
func.func private @reverse(%a: memref<?x?x4xf32>, %g: memref<?x4xf32>, %out: memref<?x4xf32>) {
  bppsa.chain reverse saved(%a : memref<?x?x4xf32>) seeds(%g : memref<?x4xf32>) inject_into []
      into(%out : memref<?x4xf32>) {
  ^bb0(%at: vector<4xf32>, %gt: vector<4xf32>):
    %0 = arith.mulf %at, %gt : vector<4xf32>
    bppsa.yield %0 : vector<4xf32>
  }
  return
}

// Two states lie one after the other.

// CHECK-LABEL: func private @two_states(
// CHECK-SAME:      %[[DC:[^:]*]]: memref<?x4xf32>, %[[DN:[^:]*]]: memref<?x3xf32>)
// CHECK:         gpu.launch
// CHECK-SAME:        workgroup({{.*}}%[[STATE:[^ ]*]] : memref<2x40xf32, #gpu.address_space<workgroup>>)
// CHECK:           %[[COPY:.*]] = scf.for
// CHECK:           %[[VALUE:.*]] = memref.load %[[STATE]][%[[COPY]], %[[ROW:.*]]]
// CHECK:           scf.if
// CHECK:             memref.store %[[VALUE]], %[[DC]][%{{.*}}, %[[ROW]]]
// CHECK:           %[[IN_STATE:.*]] = arith.subi %[[ROW]], %c4
// CHECK:           memref.store %[[VALUE]], %[[DN]][%{{.*}}, %[[IN_STATE]]]
func.func private @two_states(%f: memref<?x?x4xf32>, %i: memref<?x?x3xf32>, %c: memref<?x4xf32>, %n: memref<?x3xf32>,
    %dc: memref<?x4xf32>, %dn: memref<?x3xf32>) {
  bppsa.chain saved(%f, %i : memref<?x?x4xf32>, memref<?x?x3xf32>) seeds(%c, %n : memref<?x4xf32>, memref<?x3xf32>)
      inject_into [] into(%dc, %dn : memref<?x4xf32>, memref<?x3xf32>) {
  ^bb0(%ft: vector<4xf32>, %it: vector<3xf32>, %ct: vector<4xf32>, %nt: vector<3xf32>):
    %0 = arith.mulf %ft, %ct : vector<4xf32>
    %1 = arith.mulf %it, %nt : vector<3xf32>
    bppsa.yield %0, %1 : vector<4xf32>, vector<3xf32>
  }
  return
}
