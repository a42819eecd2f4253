// RUN: bppsa-opt %s --bppsa-vectorize-rows | FileCheck %s
// RUN: bppsa-opt %s --bppsa-vectorize-rows=registers=16 --canonicalize --cse | FileCheck %s --check-prefix=TILES

#row = affine_map<(b, c) -> (b, c)>
#same = affine_map<(b, c) -> (b)>

// Seven rows are too few for a tile, so lanes are the elements of a row. Values that are constant
// along the row are read once.

// CHECK-LABEL: func.func @elementwise(
// CHECK-SAME:    %[[X:.*]]: memref<7x10xf32>, %[[MOST:.*]]: memref<7xf32>, %[[T:.*]]: memref<7xi64>, %[[Y:.*]]: memref<7x10xf32>)
// CHECK:         scf.for %[[B:.*]] = %c0
// CHECK-DAG:       %[[ROW:.*]] = vector.load %[[X]][%[[B]], %c0{{.*}}] : memref<7x10xf32>, vector<10xf32>
// CHECK-DAG:       %[[ONE:.*]] = memref.load %[[MOST]][%[[B]]]
// CHECK:           %[[ALL:.*]] = vector.broadcast %[[ONE]] : f32 to vector<10xf32>
// CHECK:           arith.subf %[[ROW]], %[[ALL]] : vector<10xf32>
// CHECK:           math.exp %{{.*}} : vector<10xf32>
// CHECK:           %[[C:.*]] = vector.step : vector<10xindex>
// CHECK:           arith.index_cast %[[C]] : vector<10xindex> to vector<10xi64>
// CHECK:           %[[IS:.*]] = arith.cmpi eq, %{{.*}} : vector<10xi64>
// CHECK:           %[[CHOSEN:.*]] = arith.select %[[IS]], %{{.*}} : vector<10xi1>, vector<10xf32>
// CHECK:           vector.store %[[CHOSEN]], %[[Y]][%[[B]], %c0{{.*}}]
// CHECK-NOT:     linalg
func.func @elementwise(%x: memref<7x10xf32>, %most: memref<7xf32>, %t: memref<7xi64>, %y: memref<7x10xf32>) {
  %zero = arith.constant 0.0 : f32
  linalg.generic {indexing_maps = [#row, #same, #same, #row], iterator_types = ["parallel", "parallel"]}
      ins(%x, %most, %t : memref<7x10xf32>, memref<7xf32>, memref<7xi64>) outs(%y : memref<7x10xf32>) {
  ^bb0(%in: f32, %max: f32, %class: i64, %out: f32):
    %0 = arith.subf %in, %max : f32
    %1 = math.exp %0 : f32
    %2 = linalg.index 1 : index
    %3 = arith.index_cast %2 : index to i64
    %4 = arith.cmpi eq, %3, %class : i64
    %5 = arith.select %4, %1, %zero : f32
    linalg.yield %5 : f32
  }
  return
}

// A row sum is reduced in any order and added to the existing value.

// CHECK-LABEL: func.func @sum(
// CHECK:           %[[E:.*]] = math.exp %{{.*}} : vector<10xf32>
// CHECK:           %[[SUM:.*]] = vector.reduction <add>, %[[E]] fastmath<reassoc> : vector<10xf32> into f32
// CHECK:           %[[OLD:.*]] = memref.load %[[S:.*]][%[[B:.*]]] : memref<7xf32>
// CHECK:           %[[NEW:.*]] = arith.addf %[[OLD]], %[[SUM]] : f32
// CHECK:           memref.store %[[NEW]], %[[S]][%[[B]]]
func.func @sum(%x: memref<7x10xf32>, %s: memref<7xf32>) {
  linalg.generic {indexing_maps = [#row, #same], iterator_types = ["parallel", "reduction"]}
      ins(%x : memref<7x10xf32>) outs(%s : memref<7xf32>) {
  ^bb0(%in: f32, %out: f32):
    %0 = math.exp %in : f32
    %1 = arith.addf %out, %0 : f32
    linalg.yield %1 : f32
  }
  return
}

// CHECK-LABEL: func.func @maximum(
// CHECK:           vector.reduction <maximumf>, %{{.*}} : vector<10xf32> into f32
func.func @maximum(%x: memref<7x10xf32>, %s: memref<7xf32>) {
  linalg.generic {indexing_maps = [#row, #same], iterator_types = ["parallel", "reduction"]}
      ins(%x : memref<7x10xf32>) outs(%s : memref<7xf32>) {
  ^bb0(%in: f32, %out: f32):
    %0 = arith.maximumf %in, %out : f32
    linalg.yield %0 : f32
  }
  return
}

// Long rows, rows with non-contiguous elements, and sums in a fixed order are not vectorized.

// CHECK-LABEL: func.func @others(
// CHECK-COUNT-3: linalg.generic
// CHECK-NOT:     vector
func.func @others(%long: memref<7x33xf32>, %x: memref<7x10xf32>, %apart: memref<7x10xf32, strided<[1, ?]>>, %s: memref<7xf32>) {
  linalg.generic {indexing_maps = [#row], iterator_types = ["parallel", "parallel"]} outs(%long : memref<7x33xf32>) {
  ^bb0(%out: f32):
    %0 = math.exp %out : f32
    linalg.yield %0 : f32
  }
  linalg.generic {indexing_maps = [#row, #row], iterator_types = ["parallel", "parallel"]}
      ins(%apart : memref<7x10xf32, strided<[1, ?]>>) outs(%x : memref<7x10xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  }
  linalg.generic {indexing_maps = [#row, #same], iterator_types = ["parallel", "reduction"]}
      ins(%x : memref<7x10xf32>) outs(%s : memref<7xf32>) {
  ^bb0(%in: f32, %out: f32):
    %0 = arith.mulf %in, %out : f32
    %1 = arith.addf %out, %0 : f32
    linalg.yield %1 : f32
  }
  return
}

// Lanes are eight rows. The last strip of six elements overlaps the first and is read before the
// first is written. Rows past the last one repeat it.

// CHECK-LABEL: func.func @tiles(
// TILES-LABEL: func.func @tiles(
// TILES-SAME:    %[[X:.*]]: memref<?x6xf32>, %[[S:.*]]: memref<?xf32>)
// TILES:         %[[N:.*]] = memref.dim %[[S]], %c0
// TILES:         %[[LAST:.*]] = arith.subi %[[N]], %c1
// TILES:         scf.for %[[B:.*]] = %c0 to %[[N]] step %c8
// TILES:           %[[ROW0:.*]] = arith.minui %[[B]], %[[LAST]]
// TILES:           %[[WHOLE:.*]] = arith.cmpi ule, %{{.*}}, %[[N]]
// TILES:           %[[ALL:.*]] = scf.if %[[WHOLE]] -> (vector<8xf32>)
// TILES:             vector.load %[[S]][%[[ROW0]]] : memref<?xf32>, vector<8xf32>
// TILES:           } else {
// TILES-COUNT-8:     memref.load %[[S]]
// TILES:             vector.from_elements
// TILES-COUNT-8:   vector.load %[[X]][%{{.*}}, %c0] : memref<?x6xf32>, vector<4xf32>
// TILES-COUNT-4:   arith.mulf %{{.*}}, %[[ALL]] : vector<8xf32>
// TILES-COUNT-8:   vector.load %[[X]][%{{.*}}, %c2] : memref<?x6xf32>, vector<4xf32>
// TILES-COUNT-8:   vector.store %{{.*}}, %[[X]][%{{.*}}, %c0] : memref<?x6xf32>, vector<4xf32>
// TILES-COUNT-2:   arith.mulf %{{.*}}, %[[ALL]] : vector<8xf32>
// TILES-NOT:       arith.mulf
// TILES-COUNT-8:   vector.store %{{.*}}, %[[X]][%{{.*}}, %c2] : memref<?x6xf32>, vector<4xf32>
func.func @tiles(%x: memref<?x6xf32>, %s: memref<?xf32>) {
  linalg.generic {indexing_maps = [#same, #row], iterator_types = ["parallel", "parallel"]}
      ins(%s : memref<?xf32>) outs(%x : memref<?x6xf32>) {
  ^bb0(%in: f32, %out: f32):
    %0 = arith.mulf %out, %in : f32
    linalg.yield %0 : f32
  }
  return
}

// Each row is summed in order.

// TILES-LABEL: func.func @sums_of_tiles(
// TILES:         %[[OLD:.*]] = scf.if
// TILES-COUNT-8: vector.load %{{.*}} : memref<?x4xf32>, vector<4xf32>
// TILES:         %[[FIRST:.*]] = arith.addf %[[OLD]], %{{.*}} : vector<8xf32>
// TILES-NEXT:    arith.addf %[[FIRST]], %{{.*}} : vector<8xf32>
// TILES-COUNT-2: arith.addf %{{.*}} : vector<8xf32>
// TILES:         scf.if
// TILES-NEXT:      vector.store
// TILES-NEXT:    } else {
// TILES-COUNT-8:   memref.store
func.func @sums_of_tiles(%x: memref<?x4xf32>, %s: memref<?xf32>) {
  linalg.generic {indexing_maps = [#row, #same], iterator_types = ["parallel", "reduction"]}
      ins(%x : memref<?x4xf32>) outs(%s : memref<?xf32>) {
  ^bb0(%in: f32, %out: f32):
    %0 = arith.addf %out, %in : f32
    linalg.yield %0 : f32
  }
  return
}
