// RUN: bppsa-opt %s --bgpu-insert-barriers --split-input-file --verify-diagnostics

func.func @regions(%n: index, %tile: tensor<4x8xf32>) {
  bgpu.kernel blocks(%block in %n) threads(32) {
    %a = memref.alloc() : memref<4x8xf32, #gpu.address_space<workgroup>>
    // expected-error @below {{holds accesses of a block, which only scf.for and scf.if can have}}
    scf.execute_region {
      bgpu.put %tile, %a[0] : tensor<4x8xf32>, memref<4x8xf32, #gpu.address_space<workgroup>>
      scf.yield
    }
  }
  return
}

// -----

func.func private @f(index)
func.func @effects(%n: index) {
  bgpu.kernel blocks(%block in %n) threads(32) {
    bgpu.for_each [32] {
    ^bb0(%i: index):
      // expected-error @below {{has unknown memory effects in a kernel; use operations that declare their reads and writes}}
      func.call @f(%i) : (index) -> ()
    }
  }
  return
}
