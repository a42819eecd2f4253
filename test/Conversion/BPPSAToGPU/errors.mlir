// RUN: bppsa-opt %s --convert-bppsa-to-gpu --split-input-file --verify-diagnostics -o /dev/null

func.func private @too_many_rows(%x: memref<?x?x1025xf32>, %y: memref<?x?x1025xf32>) {
  // expected-error @below {{has a vector of 1025 rows, and a block of a GPU has at most 1024 threads; use --target=cpu}}
  bppsa.recurrence sequences(%x : memref<?x?x1025xf32>) into(%y : memref<?x?x1025xf32>) {
  ^bb0(%xt: vector<1025xf32>):
    %0 = math.tanh %xt : vector<1025xf32>
    bppsa.yield %0 : vector<1025xf32>
  }
  return
}

// -----

// 1024 rows are as many as a block has threads.

func.func private @most_rows(%x: memref<?x?x1024xf32>, %y: memref<?x?x1024xf32>) {
  bppsa.recurrence sequences(%x : memref<?x?x1024xf32>) into(%y : memref<?x?x1024xf32>) {
  ^bb0(%xt: vector<1024xf32>):
    %0 = math.tanh %xt : vector<1024xf32>
    bppsa.yield %0 : vector<1024xf32>
  }
  return
}

// -----

func.func private @mixes_rows(%a: memref<?x?x4xf32>, %g: memref<?x4xf32>, %out: memref<?x4xf32>) {
  bppsa.chain saved(%a : memref<?x?x4xf32>) seeds(%g : memref<?x4xf32>) inject_into [] into(%out : memref<?x4xf32>) {
  ^bb0(%at: vector<4xf32>, %gt: vector<4xf32>):
    // expected-error @below {{has no row-wise evaluation; a body holds elementwise operations, bppsa.matvec and strided slices}}
    %0 = vector.shuffle %gt, %at [3, 2, 1, 0] : vector<4xf32>, vector<4xf32>
    bppsa.yield %0 : vector<4xf32>
  }
  return
}

// -----

func.func private @sums_of_tree(%a: memref<?x?x3xf32>, %g: memref<?x3xf32>, %out: memref<?x3xf32>, %sum: memref<3xf32>) {
  // expected-error @below {{sums what it yields, which only chains and chunked scans for GPUs do; leave bppsa-fuse-gradients out}}
  bppsa.chain plan <blelloch> saved(%a : memref<?x?x3xf32>) seeds(%g : memref<?x3xf32>) inject_into [] sum_with [-1]
      into(%out, %sum : memref<?x3xf32>, memref<3xf32>) {
  ^bb0(%at: vector<3xf32>, %gt: vector<3xf32>):
    bppsa.yield %gt, %gt : vector<3xf32>, vector<3xf32>
  }
  return
}

// -----

func.func private @too_many_sums(%a: memref<?x?x3xf32>, %x: memref<?x?x1999xf32>, %g: memref<?x3xf32>,
    %out: memref<?x3xf32>, %sum: memref<3x1999xf32>) {
  // expected-error @below {{has more sums than fit into registers beside its matrices; leave bppsa-fuse-gradients out}}
  bppsa.chain saved(%a : memref<?x?x3xf32>) seeds(%g : memref<?x3xf32>) inject_into []
      factors(%x : memref<?x?x1999xf32>) sum_with [0] into(%out, %sum : memref<?x3xf32>, memref<3x1999xf32>) {
  ^bb0(%at: vector<3xf32>, %gt: vector<3xf32>):
    bppsa.yield %gt, %gt : vector<3xf32>, vector<3xf32>
  }
  return
}

// -----

func.func private @lanes(%x: memref<?x?x4x16xf32>, %y: memref<?x?x4x16xf32>) {
  // expected-error @below {{has lanes, which a GPU has no use for; leave bppsa-pack-batch out}}
  bppsa.recurrence lanes 16 sequences(%x : memref<?x?x4x16xf32>) into(%y : memref<?x?x4x16xf32>) {
  ^bb0(%xt: vector<4xf32>):
    bppsa.yield %xt : vector<4xf32>
  }
  return
}

// -----

func.func private @pack(%x: memref<?x?x4xf32>, %y: memref<?x?x4x16xf32>) {
  // expected-error @below {{has lanes, which a GPU has no use for; leave bppsa-pack-batch out}}
  bppsa.pack_lanes 16, %x into %y : memref<?x?x4x16xf32> : memref<?x?x4xf32>
  return
}

// -----

func.func private @sparse(%v: memref<6x?xf32>, %g: memref<2x?xf32>, %out: memref<3x?xf32>) {
  // expected-error @below {{has no kernels for GPUs; use --target=cpu}}
  bppsa.sparse_apply %v : memref<6x?xf32> cotangent %g : memref<2x?xf32> into %out : memref<3x?xf32>
  return
}

// -----

func.func private @sparse_product(%a: memref<4xf32>, %b: memref<6x?xf32>, %out: memref<6x?xf32>) {
  // expected-error @below {{has no kernels for GPUs; use --target=cpu}}
  bppsa.sparse_compose 3 x 2 x 2 first %a : memref<4xf32> second %b : memref<6x?xf32> into %out : memref<6x?xf32>
  return
}

// -----

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
