// RUN: bppsa-opt %s --bgpu-insert-barriers --verify-diagnostics

func.func @branch(%n: index, %condition: i1, %tile: tensor<4x8xf32>) {
  bgpu.kernel blocks(%block in %n) threads(32) {
    %a = memref.alloc() : memref<4x8xf32, #gpu.address_space<workgroup>>
    // expected-error @below {{holds accesses of shared memory, which only scf.for can have}}
    scf.if %condition {
      bgpu.put %tile, %a[0] : tensor<4x8xf32>, memref<4x8xf32, #gpu.address_space<workgroup>>
    }
  }
  return
}
