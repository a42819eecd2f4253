// RUN: bppsa-opt %s --convert-graph-to-gpu --split-input-file --verify-diagnostics -o /dev/null


func.func @reads_on_the_host(%a: memref<?xf32>, %i: index) -> f32 {
  // expected-error @below {{depends on elements of an array outside of any kernel, which a program for GPUs cannot do; use --target=cpu}}
  %0 = memref.load %a[%i] : memref<?xf32>
  return %0 : f32
}

// -----

func.func private @reads_in_a_kernel_function(%n: memref<index>, %a: memref<?xf32>) {
  %zero = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  // expected-error @below {{depends on elements of an array outside of any kernel, which a program for GPUs cannot do; use --target=cpu}}
  %end = memref.load %n[] : memref<index>
  scf.parallel (%i) = (%c0) to (%end) step (%c1) {
    memref.store %zero, %a[%i] : memref<?xf32>
  }
  return
}

// -----

func.func private @writes_with_vectors(%a: memref<?xf32>, %v: vector<4xf32>, %i: index) {
  // expected-error @below {{depends on elements of an array outside of any kernel, which a program for GPUs cannot do; use --target=cpu}}
  vector.store %v, %a[%i] : memref<?xf32>, vector<4xf32>
  return
}
