// RUN: bppsa-opt %s --convert-graph-to-gpu --canonicalize --cse | FileCheck %s

// One warp per row. With 5 samples, 8 lanes have different samples and groups of 4 lanes share the
// entries of a row. The host computes these counts.

// CHECK-LABEL: func private @apply(
// CHECK-SAME:      %[[VALUES:[^:]*]]: memref<30xf32>, %[[STARTS:[^:]*]]: memref<12xi32>, %[[COLUMNS:[^:]*]]: memref<30xi32>, %[[G:[^:]*]]: memref<7x?xf32>, %[[OUT:[^:]*]]: memref<11x?xf32>)
// CHECK:         %[[SAMPLES:.*]] = memref.dim %[[G]], %c1
// CHECK:         %[[OVER_16:.*]] = arith.cmpi ugt, %[[SAMPLES]], %c16
// CHECK:         %[[BITS:.*]] = arith.select %[[OVER_16]], %c5, %{{.*}}
// CHECK:         gpu.launch blocks(%[[BLOCK:[^,]*]], {{.*}} in (%{{[^ ]*}} = %c3, {{.*}} threads(%[[THREAD:[^,]*]], {{.*}} in (%{{[^ ]*}} = %c128
// CHECK:           %[[LANE:.*]] = arith.remui %[[THREAD]], %c32
// CHECK:           arith.cmpi ult, %[[ROW:.*]], %c11
// CHECK:             %[[LANES:.*]] = arith.shli %c1, %[[BITS]]
// CHECK:             %[[MASK:.*]] = arith.addi %[[LANES]], %c-1
// CHECK:             %[[OWN:.*]] = arith.andi %[[LANE]], %[[MASK]]
// CHECK:             %[[PARTS:.*]] = arith.shrui %c32, %[[BITS]]
// CHECK:             %[[PART:.*]] = arith.shrui %[[LANE]], %[[BITS]]
// CHECK:             memref.load %[[STARTS]][%[[ROW]]]
// CHECK:             scf.for %{{.*}} = %c0 to %[[SAMPLES]] step %[[LANES]]
// CHECK:               %[[SUM:.*]] = scf.for %[[ENTRY:.*]] = %{{.*}} to %{{.*}} step %[[PARTS]] iter_args
// CHECK:                 memref.load %[[COLUMNS]][%[[ENTRY]]]
// CHECK:                 math.fma
// CHECK:               gpu.shuffle xor %[[SUM]], %c16_i32, %c32_i32
// CHECK:               arith.select
// CHECK-COUNT-4:       gpu.shuffle xor
// CHECK:               memref.store %{{.*}}, %[[OUT]][%[[ROW]], %{{.*}}]
func.func private @apply(%values: memref<30xf32>, %starts: memref<12xi32>, %columns: memref<30xi32>,
                         %g: memref<7x?xf32>, %out: memref<11x?xf32>) {
  jacobian.sparse_apply values(%values : memref<30xf32>) rows(%starts : memref<12xi32>) columns(%columns : memref<30xi32>)
    cotangent(%g : memref<7x?xf32>) into(%out : memref<11x?xf32>)
  return
}

// All samples share both matrices, so all lanes share the entries of a row. Entries of the result
// are looked up by column; rows of the first matrix are added one after the other.

// CHECK-LABEL: func private @compose(
// CHECK-SAME:      %{{[^:]*}}: memref<9xf32>, %{{[^:]*}}: memref<4xi32>, %[[INNER:[^:]*]]: memref<9xi32>, %{{[^:]*}}: memref<6xf32>, %{{[^:]*}}: memref<3xi32>, %{{[^:]*}}: memref<6xi32>, %{{[^:]*}}: memref<3xi32>, %[[FOUND:[^:]*]]: memref<8xi32>, %[[RESULT:[^:]*]]: memref<8xf32>)
// CHECK:         gpu.launch
// CHECK:           scf.for %[[ENTRY:.*]] = %{{.*}} to %{{.*}} step %c32
// CHECK:             memref.store %{{.*}}, %[[RESULT]][%[[ENTRY]]]
// CHECK:           nvvm.bar.warp.sync
// CHECK:           scf.for
// CHECK:             scf.for %[[OTHER:.*]] = %{{.*}} to %{{.*}} step %c32
// CHECK:               memref.load %[[INNER]][%[[OTHER]]]
// CHECK:               %[[PLACE:.*]]:2 = scf.for %{{.*}} = %c0 to %c3 step %c1
// CHECK:                 memref.load %[[FOUND]]
// CHECK:               memref.load %[[RESULT]][%[[PLACE]]#0]
// CHECK:               memref.store %{{.*}}, %[[RESULT]][%[[PLACE]]#0]
// CHECK:             nvvm.bar.warp.sync
func.func private @compose(%first: memref<9xf32>, %first_starts: memref<4xi32>, %first_columns: memref<9xi32>,
                           %second: memref<6xf32>, %second_starts: memref<3xi32>, %second_columns: memref<6xi32>,
                           %starts: memref<3xi32>, %columns: memref<8xi32>, %result: memref<8xf32>) {
  jacobian.sparse_compose 2 x 3 x 5
    first(%first : memref<9xf32>) rows(%first_starts : memref<4xi32>) columns(%first_columns : memref<9xi32>)
    second(%second : memref<6xf32>) rows(%second_starts : memref<3xi32>) columns(%second_columns : memref<6xi32>)
    result_rows(%starts : memref<3xi32>) result_columns(%columns : memref<8xi32>) into(%result : memref<8xf32>)
  return
}

// The result is cleared first. Each warp then computes one weight; its lanes reduce over samples
// and over rows of both factors.

// CHECK-LABEL: func private @outer_sum(
// CHECK-SAME:      %[[LHS:[^:]*]]: memref<6x?xf32>, %[[RHS:[^:]*]]: memref<4x?xf32>, %{{[^:]*}}: memref<6xi32>, %[[ROWS:[^:]*]]: memref<9xi32>, %{{[^:]*}}: memref<9xi32>, %[[AT:[^:]*]]: memref<5xi32>, %[[OUT:[^:]*]]: memref<24xf32>)
// CHECK:         gpu.launch
// CHECK:           memref.store %cst, %[[OUT]]
// CHECK:         gpu.launch
// CHECK:           %[[SUM:.*]] = scf.for
// CHECK:             scf.for %[[ENTRY:[^ ]*]] =
// CHECK:               memref.load %[[ROWS]][%[[ENTRY]]]
// CHECK:               math.fma
// CHECK:           gpu.shuffle xor %[[SUM]], %c16_i32
// CHECK-NOT:       arith.select
// CHECK-COUNT-4:   gpu.shuffle xor
// CHECK:           scf.if
// CHECK:             %[[PLACE:.*]] = memref.load %[[AT]]
// CHECK:             %[[INDEX:.*]] = arith.index_cast %[[PLACE]]
// CHECK:             memref.store %{{.*}}, %[[OUT]][%[[INDEX]]]
func.func private @outer_sum(%lhs: memref<6x?xf32>, %rhs: memref<4x?xf32>, %starts: memref<6xi32>,
                             %lhs_rows: memref<9xi32>, %rhs_rows: memref<9xi32>,
                             %positions: memref<5xi32>, %out: memref<24xf32>) {
  jacobian.sparse_outer_sum lhs(%lhs : memref<6x?xf32>) rhs(%rhs : memref<4x?xf32>)
    starts(%starts : memref<6xi32>) rows(%lhs_rows, %rhs_rows : memref<9xi32>, memref<9xi32>) at(%positions : memref<5xi32>) into(%out : memref<24xf32>)
  return
}
