// RUN: bppsa-opt %s --bppsa-vectorize-sums | FileCheck %s
// RUN: bppsa-opt %s --bppsa-vectorize-sums=registers=16 | FileCheck %s --check-prefix=SHORT

#all = affine_map<(t, b) -> (t, b)>
#turned = affine_map<(t, b) -> (b, t)>
#one = affine_map<(t, b) -> ()>

// CHECK-LABEL: @loss
// CHECK-SAME:    %[[X:.*]]: memref<?x?xf32>, %[[SCALE:.*]]: memref<f32>, %[[SUM:.*]]: memref<f64>
// CHECK-DAG:     %[[FLAT:.*]] = memref.collapse_shape %[[X]] {{\[}}[0, 1]] : memref<?x?xf32> into memref<?xf32>
// CHECK-DAG:     %[[FACTOR:.*]] = memref.load %[[SCALE]][] : memref<f32>
// CHECK:         %[[SIZE:.*]] = memref.dim %[[FLAT]]
// CHECK:         %[[REST:.*]] = arith.remui %[[SIZE]], %{{.*}} : index
// CHECK:         %[[WHOLE:.*]] = arith.subi %[[SIZE]], %[[REST]] : index
// CHECK:         %[[SUMS:.*]] = scf.for %{{.*}} to %[[WHOLE]] {{.*}} -> (vector<16xf64>)
// CHECK:           vector.load %[[FLAT]]{{.*}} vector<16xf32>
// CHECK:           math.log %{{.*}} : vector<16xf32>
// CHECK:           vector.broadcast %[[FACTOR]] : f32 to vector<16xf32>
// CHECK:           arith.extf %{{.*}} : vector<16xf32> to vector<16xf64>
// CHECK:           arith.addf %{{.*}} : vector<16xf64>
// CHECK:         %[[TOTAL:.*]] = vector.reduction <add>, %[[SUMS]] fastmath<reassoc> : vector<16xf64> into f64
// CHECK:         %[[ALL:.*]] = scf.for %{{.*}} = %[[WHOLE]] to %[[SIZE]] {{.*}} iter_args(%{{.*}} = %[[TOTAL]]) -> (f64)
// CHECK:           math.log %{{.*}} : f32
// CHECK:         %[[OLD:.*]] = memref.load %[[SUM]][]
// CHECK:         %[[NEW:.*]] = arith.addf %[[OLD]], %[[ALL]] : f64
// CHECK:         memref.store %[[NEW]], %[[SUM]][]
// SHORT-LABEL: @loss
// SHORT:         vector<8xf64>
func.func @loss(%x: memref<?x?xf32>, %scale: memref<f32>, %sum: memref<f64>) {
  linalg.generic {indexing_maps = [#all, #one, #one], iterator_types = ["reduction", "reduction"]}
      ins(%x, %scale : memref<?x?xf32>, memref<f32>) outs(%sum : memref<f64>) {
  ^bb0(%in: f32, %factor: f32, %out: f64):
    %0 = math.log %in : f32
    %1 = arith.mulf %0, %factor : f32
    %2 = arith.extf %1 : f32 to f64
    %3 = arith.addf %out, %2 : f64
    linalg.yield %3 : f64
  }
  return
}

// Not vectorized: maxima, permuted arrays, partial arrays, and sums with fewer terms than vector
// lanes.
// CHECK-LABEL: @stays
// CHECK-COUNT-4: linalg.generic
// CHECK-NOT:     vector.load
func.func @stays(%x: memref<?x?xf32>, %part: memref<?x?xf32, strided<[?, 1]>>, %few: memref<3x5xf32>,
                 %sum: memref<f32>) {
  linalg.generic {indexing_maps = [#all, #one], iterator_types = ["reduction", "reduction"]}
      ins(%x : memref<?x?xf32>) outs(%sum : memref<f32>) {
  ^bb0(%in: f32, %out: f32):
    %0 = arith.maximumf %in, %out : f32
    linalg.yield %0 : f32
  }
  linalg.generic {indexing_maps = [#turned, #one], iterator_types = ["reduction", "reduction"]}
      ins(%x : memref<?x?xf32>) outs(%sum : memref<f32>) {
  ^bb0(%in: f32, %out: f32):
    %0 = arith.addf %in, %out : f32
    linalg.yield %0 : f32
  }
  linalg.generic {indexing_maps = [#all, #one], iterator_types = ["reduction", "reduction"]}
      ins(%part : memref<?x?xf32, strided<[?, 1]>>) outs(%sum : memref<f32>) {
  ^bb0(%in: f32, %out: f32):
    %0 = arith.addf %in, %out : f32
    linalg.yield %0 : f32
  }
  linalg.generic {indexing_maps = [#all, #one], iterator_types = ["reduction", "reduction"]}
      ins(%few : memref<3x5xf32>) outs(%sum : memref<f32>) {
  ^bb0(%in: f32, %out: f32):
    %0 = arith.addf %in, %out : f32
    linalg.yield %0 : f32
  }
  return
}
