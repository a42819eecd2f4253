// RUN: bppsa-opt %s --bppsa-build-optimizer=optimizer=momentum | FileCheck %s
// RUN: bppsa-opt %s --bppsa-build-optimizer=optimizer=adam | FileCheck %s --check-prefix=ADAM
// RUN: not bppsa-opt %s --bppsa-build-optimizer=optimizer=lion 2>&1 | FileCheck %s --check-prefix=ERROR

// ERROR: error: unknown optimizer 'lion'; there are sgd, momentum, adam, adamw and rmsprop

// CHECK-LABEL: func.func @update(
// CHECK-SAME:    %[[PARAMS:.*]]: memref<?xf32>, %[[GRADS:.*]]: memref<?xf32>, %[[STATE:.*]]: memref<?xf32>, %{{.*}}: memref<?xf32>, %[[HYPER:.*]]: memref<8xf32>)
// CHECK:         scf.for %[[I:.*]] = %{{.*}} to %{{.*}} step %{{.*}} {
// CHECK:           %[[P:.*]] = vector.load %[[PARAMS]][%[[I]]] : memref<?xf32>, vector<16xf32>
// CHECK:           %[[G:.*]] = vector.load %[[GRADS]][%[[I]]]
// CHECK:           %[[SCALED:.*]] = arith.mulf %[[G]]
// CHECK:           %[[OLD:.*]] = vector.load %[[STATE]][%[[I]]]
// CHECK:           %[[DECAYED:.*]] = math.fma %{{.*}}, %[[P]], %[[SCALED]]
// CHECK:           %[[NEW:.*]] = math.fma %{{.*}}, %[[OLD]], %[[DECAYED]]
// CHECK:           vector.store %{{.*}}, %[[PARAMS]][%[[I]]]
// CHECK:           vector.store %[[NEW]], %[[STATE]][%[[I]]]

// CHECK-LABEL: func.func @sumsq(
// CHECK-SAME:    %[[GRADS:.*]]: memref<?xf32>, %[[OUT:.*]]: memref<f64>)
// CHECK:         scf.for {{.*}} -> (vector<16xf64>)
// CHECK:           arith.extf %{{.*}} : vector<16xf32> to vector<16xf64>
// CHECK:           math.fma
// CHECK-COUNT-15:  arith.addf %{{.*}} : f64
// CHECK:         memref.store %{{.*}}, %[[OUT]][]

// ADAM-LABEL: func.func @update(
// ADAM-COUNT-2: scf.for %{{.*}} -> (f64, f64, i32)
// ADAM-NOT:     math.powf
// ADAM:         scf.for
// ADAM:           math.sqrt
// ADAM-COUNT-3:   vector.store
module {}
