// RUN: bppsa-opt %s --convert-graph-to-gpu --canonicalize --cse | FileCheck %s

// CHECK: #[[$SUM:.*]] = affine_map<(d0, d1) -> (d0 + d1)>

// One thread per element.

// CHECK-LABEL: func private @elementwise(
// CHECK-SAME:      %[[A:.*]]: memref<?x4xf32>, %[[B:.*]]: memref<?x4xf32>)
// CHECK:         %[[N:.*]] = memref.dim %[[A]], %c0
// CHECK:         %[[COUNT:.*]] = arith.muli %[[N]], %c4
// CHECK:         %[[BLOCKS:.*]] = arith.ceildivui %[[COUNT]], %c128
// CHECK:         gpu.launch blocks(%[[BLOCK:[^,]*]], {{.*}}) in (%{{[^ ]*}} = %[[BLOCKS]], {{.*}}) threads(%[[THREAD:[^,]*]], {{.*}}) in (%{{[^ ]*}} = %c128,
// CHECK:           %[[BEFORE:.*]] = arith.muli %[[BLOCK]], %c128
// CHECK:           %[[NUMBER:.*]] = arith.addi %[[BEFORE]], %[[THREAD]]
// CHECK:           %[[EXISTS:.*]] = arith.cmpi ult, %[[NUMBER]], %[[COUNT]]
// CHECK:           scf.if %[[EXISTS]] {
// CHECK-DAG:         %[[J:.*]] = arith.remui %[[NUMBER]], %c4
// CHECK-DAG:         %[[I:.*]] = arith.divui %[[NUMBER]], %c4
// CHECK:             %[[X:.*]] = memref.load %[[A]][%[[I]], %[[J]]]
// CHECK:             %[[Y:.*]] = arith.negf %[[X]]
// CHECK:             memref.store %[[Y]], %[[B]][%[[I]], %[[J]]]
func.func private @elementwise(%a: memref<?x4xf32>, %b: memref<?x4xf32>) {
  linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>],
                  iterator_types = ["parallel", "parallel"]}
      ins(%a : memref<?x4xf32>) outs(%b : memref<?x4xf32>) {
  ^bb0(%x: f32, %y: f32):
    %0 = arith.negf %x : f32
    linalg.yield %0 : f32
  }
  return
}

// One thread runs a short reduction.

// CHECK-LABEL: func private @short_reduction(
// CHECK:         gpu.launch
// CHECK-NOT:         workgroup
// CHECK:           %[[TOTAL:.*]] = scf.for %{{.*}} = %c0 to %c7 step %c1
// CHECK:           memref.store %[[TOTAL]]
func.func private @short_reduction(%a: memref<7x4xf32>, %b: memref<4xf32>) {
  linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (j)>],
                  iterator_types = ["reduction", "parallel"]}
      ins(%a : memref<7x4xf32>) outs(%b : memref<4xf32>) {
  ^bb0(%x: f32, %sum: f32):
    %0 = arith.addf %x, %sum : f32
    linalg.yield %0 : f32
  }
  return
}

// A reduction of dynamic length runs on one block: each thread takes every 128th term, and a tree
// of fixed shape adds the partial sums.

// CHECK-LABEL: func private @reduction(
// CHECK-SAME:      %[[A:.*]]: memref<?x4xf32>, %[[B:.*]]: memref<4xf32>)
// CHECK:         %[[N:.*]] = memref.dim %[[A]], %c0
// CHECK:         gpu.launch blocks(%[[J:[^,]*]], {{.*}}) in (%{{[^ ]*}} = %c4, {{.*}}) threads(%[[THREAD:[^,]*]], {{.*}}) in (%{{[^ ]*}} = %c128,
// CHECK-SAME:        workgroup(%[[PARTS:[^ ]*]] : memref<128xf32, #gpu.address_space<workgroup>>)
// CHECK:           %[[PART:.*]] = scf.for %[[I:.*]] = %[[THREAD]] to %[[N]] step %c128 iter_args(%{{.*}} = %cst)
// CHECK:             memref.load %[[A]][%[[I]], %[[J]]]
// CHECK:           memref.store %[[PART]], %[[PARTS]][%[[THREAD]]]
// CHECK-NEXT:      gpu.barrier
// CHECK-NEXT:      %[[IN_64:.*]] = arith.cmpi ult, %[[THREAD]], %c64
// CHECK-NEXT:      scf.if %[[IN_64]] {
// CHECK-NEXT:        %[[OTHER:.*]] = arith.addi %[[THREAD]], %c64
// CHECK-NEXT:        %[[X:.*]] = memref.load %[[PARTS]][%[[THREAD]]]
// CHECK-NEXT:        %[[Y:.*]] = memref.load %[[PARTS]][%[[OTHER]]]
// CHECK-NEXT:        %[[SUM:.*]] = arith.addf %[[X]], %[[Y]]
// CHECK-NEXT:        memref.store %[[SUM]], %[[PARTS]][%[[THREAD]]]
// CHECK-NEXT:      }
// CHECK-NEXT:      gpu.barrier
// CHECK-NEXT:      arith.cmpi ult, %[[THREAD]], %c32
// CHECK:           gpu.barrier
// CHECK-NEXT:      arith.cmpi ult, %[[THREAD]], %c16
// CHECK:           gpu.barrier
// CHECK-NEXT:      arith.cmpi ult, %[[THREAD]], %c8
// CHECK:           gpu.barrier
// CHECK-NEXT:      arith.cmpi ult, %[[THREAD]], %c4
// CHECK:           gpu.barrier
// CHECK-NEXT:      arith.cmpi ult, %[[THREAD]], %c2
// CHECK:           gpu.barrier
// CHECK-NEXT:      arith.cmpi ult, %[[THREAD]], %c1
// CHECK-NOT:       gpu.barrier
// CHECK:           %[[IS_FIRST:.*]] = arith.cmpi eq, %[[THREAD]], %c0
// CHECK:           scf.if %[[IS_FIRST]] {
// CHECK:             %[[TOTAL:.*]] = memref.load %[[PARTS]][%c0]
// CHECK:             %[[BEFORE:.*]] = memref.load %[[B]][%[[J]]]
// CHECK:             %[[RESULT:.*]] = arith.addf %[[BEFORE]], %[[TOTAL]]
// CHECK:             memref.store %[[RESULT]], %[[B]][%[[J]]]
func.func private @reduction(%a: memref<?x4xf32>, %b: memref<4xf32>) {
  linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (j)>],
                  iterator_types = ["reduction", "parallel"]}
      ins(%a : memref<?x4xf32>) outs(%b : memref<4xf32>) {
  ^bb0(%x: f32, %sum: f32):
    %0 = arith.addf %x, %sum : f32
    linalg.yield %0 : f32
  }
  return
}

// A long static reduction, with any combiner that has a neutral element, runs on one block too.

// CHECK-LABEL: func private @long_maximum(
// CHECK:         %[[LEAST:.*]] = arith.constant 0xFF800000 : f32
// CHECK:         gpu.launch
// CHECK:           scf.for %{{.*}} = %{{.*}} to %c1024 step %c512 iter_args(%{{.*}} = %[[LEAST]])
// CHECK-COUNT-9: arith.maximumf
func.func private @long_maximum(%a: memref<1024xf32>, %b: memref<f32>) {
  linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> ()>], iterator_types = ["reduction"]}
      ins(%a : memref<1024xf32>) outs(%b : memref<f32>) {
  ^bb0(%x: f32, %most: f32):
    %0 = arith.maximumf %x, %most : f32
    linalg.yield %0 : f32
  }
  return
}

// A body that uses the accumulator outside the combiner runs in order.

// CHECK-LABEL: func private @no_combination(
// CHECK:         gpu.launch
// CHECK-NOT:       gpu.barrier
// CHECK:           scf.for %{{.*}} = %c0 to %{{[^ ]*}} step %c1
// CHECK-NOT:       gpu.barrier
// CHECK:         return
func.func private @no_combination(%a: memref<?xf32>, %b: memref<f32>) {
  linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> ()>], iterator_types = ["reduction"]}
      ins(%a : memref<?xf32>) outs(%b : memref<f32>) {
  ^bb0(%x: f32, %sum: f32):
    %0 = arith.mulf %sum, %sum : f32
    %1 = arith.addf %x, %0 : f32
    linalg.yield %1 : f32
  }
  return
}

// Output windows overlap: one thread runs all overlapping iterations in order.

// CHECK-LABEL: func private @windows(
// CHECK-SAME:      %[[X:[^:]*]]: memref<?x10xf32>)
// CHECK:         gpu.launch
// CHECK:           scf.for %[[I:.*]] = %c0 to %c8 step %c1 {
// CHECK-NEXT:        scf.for %[[J:.*]] = %c0 to %c3 step %c1 {
// CHECK-NEXT:          %[[AT:.*]] = affine.apply #[[$SUM]](%[[I]], %[[J]])
// CHECK-NEXT:          memref.load %[[X]][%[[SAMPLE:.*]], %[[AT]]]
// CHECK:               memref.store %{{.*}}, %[[X]][%[[SAMPLE]], %[[AT]]]
func.func private @windows(%g: memref<?x8xf32>, %k: memref<3xf32>, %x: memref<?x10xf32>) {
  linalg.generic {indexing_maps = [affine_map<(n, i, j) -> (n, i)>, affine_map<(n, i, j) -> (j)>,
                                   affine_map<(n, i, j) -> (n, i + j)>],
                  iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%g, %k : memref<?x8xf32>, memref<3xf32>) outs(%x : memref<?x10xf32>) {
  ^bb0(%gi: f32, %kj: f32, %sum: f32):
    %0 = arith.mulf %gi, %kj : f32
    %1 = arith.addf %sum, %0 : f32
    linalg.yield %1 : f32
  }
  return
}

// CHECK-LABEL: func private @copy(
// CHECK-SAME:      %[[A:.*]]: memref<?x4xf32>, %[[B:.*]]: memref<?x4xf32>)
// CHECK:         gpu.launch
// CHECK:           %[[X:.*]] = memref.load %[[A]][%[[I:.*]], %[[J:.*]]]
// CHECK:           memref.store %[[X]], %[[B]][%[[I]], %[[J]]]
// CHECK-NOT:     memref.copy
func.func private @copy(%a: memref<?x4xf32>, %b: memref<?x4xf32>) {
  memref.copy %a, %b : memref<?x4xf32> to memref<?x4xf32>
  return
}

// Parallel iterations, and iterations in order.

// CHECK-LABEL: func private @parallel(
// CHECK:         gpu.launch
// CHECK:           arith.cmpi ult, %{{.*}}, %{{.*}}
// CHECK:           scf.if
// CHECK:             memref.store
// CHECK-LABEL: func private @sequential(
// CHECK:         gpu.launch blocks(%{{.*}}) in (%{{[^ ]*}} = %c1, {{.*}}) threads(%[[THREAD:[^,]*]],
// CHECK:           arith.cmpi ult, %[[THREAD]], %c1
// CHECK:           scf.if
// CHECK-NEXT:        scf.for
func.func private @parallel(%a: memref<?xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  scf.parallel (%i) = (%c0) to (%n) step (%c1) {
    memref.store %zero, %a[%i] : memref<?xf32>
  }
  return
}
func.func private @sequential(%a: memref<?xf32>, %n: index) {
  %c1 = arith.constant 1 : index
  scf.for %i = %c1 to %n step %c1 {
    %before = arith.subi %i, %c1 : index
    %x = memref.load %a[%before] : memref<?xf32>
    memref.store %x, %a[%i] : memref<?xf32>
  }
  return
}

// The host runs a loop around existing launches.

// CHECK-LABEL: func private @launched(
// CHECK-NEXT:    %[[C0:.*]] = arith.constant 0
// CHECK-NEXT:    %[[C1:.*]] = arith.constant 1
// CHECK-NEXT:    scf.for
// CHECK-NEXT:      gpu.launch
// CHECK-NOT:     gpu.launch
func.func private @launched(%a: memref<?xindex>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %n step %c1 {
    gpu.launch blocks(%bx, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1)
               threads(%tx, %ty, %tz) in (%sx = %c1, %sy = %c1, %sz = %c1) {
      memref.store %i, %a[%i] : memref<?xindex>
      gpu.terminator
    }
  }
  return
}

// A kernel loads scalars such as the learning rate from device memory.

// CHECK-LABEL: func private @read(
// CHECK-SAME:      %[[RATE:.*]]: memref<f32>, %[[A:.*]]: memref<?xf32>)
// CHECK-NOT:     memref.load
// CHECK:         gpu.launch
// CHECK:           %[[VALUE:.*]] = memref.load %[[RATE]][]
// CHECK:           memref.store %[[VALUE]], %[[A]]
func.func private @read(%rate: memref<f32>, %a: memref<?xf32>) {
  %v = memref.load %rate[] : memref<f32>
  linalg.generic {indexing_maps = [affine_map<(i) -> ()>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
      ins(%v : f32) outs(%a : memref<?xf32>) {
  ^bb0(%x: f32, %y: f32):
    linalg.yield %x : f32
  }
  return
}

// Several copies are one launch; each thread selects the array of the element that it copies.

// CHECK-LABEL: func private @copies(
// CHECK-SAME:      %[[A:[^:]*]]: memref<4xf32>, %[[B:[^:]*]]: memref<4xf32>, %[[C:[^:]*]]: memref<3x2xf32>, %[[D:[^:]*]]: memref<3x2xf32>)
// CHECK:         gpu.launch {{.*}} threads(%[[THREAD:[^,]*]],
// CHECK:           arith.cmpi ult, %[[THREAD]], %c10
// CHECK:             %[[IS_FIRST:.*]] = arith.cmpi ult, %[[THREAD]], %c4
// CHECK:             scf.if %[[IS_FIRST]]
// CHECK:               memref.load %[[A]][%[[THREAD]]]
// CHECK:             %[[IN_SECOND:.*]] = arith.subi %[[THREAD]], %c4
// CHECK:             %[[IS_SECOND:.*]] = arith.cmpi ult, %[[IN_SECOND]], %c6
// CHECK:             scf.if %[[IS_SECOND]]
// CHECK-DAG:           %[[J:.*]] = arith.remui %[[IN_SECOND]], %c2
// CHECK-DAG:           %[[I:.*]] = arith.divui %[[IN_SECOND]], %c2
// CHECK:               %[[X:.*]] = memref.load %[[C]][%[[I]], %[[J]]]
// CHECK:               memref.store %[[X]], %[[D]][%[[I]], %[[J]]]
// CHECK-NOT:     gpu.launch
// CHECK:         return
func.func private @copies(%a: memref<4xf32>, %b: memref<4xf32>, %c: memref<3x2xf32>, %d: memref<3x2xf32>) {
  memref.copy %a, %b : memref<4xf32> to memref<4xf32>
  memref.copy %c, %d : memref<3x2xf32> to memref<3x2xf32>
  return
}

// The value that fills the result of a reduction initializes the accumulators of the threads.

// CHECK-LABEL: func private @filled_sum(
// CHECK-SAME:      %[[A:.*]]: memref<?x10xf32>, %[[B:.*]]: memref<?xf32>)
// CHECK:         %[[ONE:.*]] = arith.constant 1.0
// CHECK:         gpu.launch
// CHECK:           %[[SUM:.*]] = scf.for {{.*}} iter_args(%{{.*}} = %[[ONE]])
// CHECK:           memref.store %[[SUM]], %[[B]]
// CHECK-NOT:     gpu.launch
// CHECK:         return
func.func private @filled_sum(%a: memref<?x10xf32>, %b: memref<?xf32>) {
  %one = arith.constant 1.0 : f32
  linalg.fill ins(%one : f32) outs(%b : memref<?xf32>)
  linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>],
                  iterator_types = ["parallel", "reduction"]}
      ins(%a : memref<?x10xf32>) outs(%b : memref<?xf32>) {
  ^bb0(%x: f32, %sum: f32):
    %0 = arith.addf %x, %sum : f32
    linalg.yield %0 : f32
  }
  return
}
