// RUN: bppsa-opt %s --bgpu-stage-copies --split-input-file --verify-diagnostics

func.func @steps(%n: index, %x: memref<?x?x20xf32>) {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  bgpu.kernel blocks(%block in %n) threads(32) {
    // expected-error @below {{fetches vectors, and needs steps of 1 for that}}
    scf.for %i = %c0 to %n step %c2 {
      %vector = bgpu.fetch %x[%i, %block] stages(4) : memref<?x?x20xf32>
    }
  }
  return
}

// -----

func.func @stages(%n: index, %x: memref<?x?x20xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  bgpu.kernel blocks(%block in %n) threads(32) {
    scf.for %i = %c0 to %n step %c1 {
      %a = bgpu.fetch %x[%i, %block] stages(4) : memref<?x?x20xf32>
      // expected-error @below {{has 8 stages, and another one in its loop 4; give all of a loop the same}}
      %b = bgpu.fetch %x[%i, %block] stages(8) : memref<?x?x20xf32>
    }
  }
  return
}

// -----

func.func @position(%n: index, %x: memref<?x?x20xf32>, %order: memref<?xindex>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  bgpu.kernel blocks(%block in %n) threads(32) {
    scf.for %i = %c0 to %n step %c1 {
      %at = memref.load %order[%i] : memref<?xindex>
      // expected-error @below {{has a position that is not a function of the iteration number; load the vector at its use}}
      %vector = bgpu.fetch %x[%at, %block] stages(4) : memref<?x?x20xf32>
    }
  }
  return
}

// -----

func.func @uses(%n: index, %x: memref<?x?x20xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  bgpu.kernel blocks(%block in %n) threads(32) {
    scf.for %i = %c0 to %n step %c1 {
      // expected-error @below {{is read by 'memref.dim'; use memref.load}}
      %vector = bgpu.fetch %x[%i, %block] stages(4) : memref<?x?x20xf32>
      %size = memref.dim %vector, %c0 : memref<20xf32, strided<[1], offset: ?>>
    }
  }
  return
}
