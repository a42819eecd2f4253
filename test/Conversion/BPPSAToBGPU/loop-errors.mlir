// RUN: bppsa-opt %s --bppsa-hoist-input-products --bppsa-choose-gpu-mapping --convert-bppsa-to-bgpu --split-input-file --verify-diagnostics -o /dev/null

func.func private @too_many_rows(%x: memref<?x?x1025xf32>, %y: memref<?x?x1025xf32>) {
  // expected-error @below {{has a vector of 1025 rows, but a thread block has at most 1024 threads; use --target=cpu}}
  bppsa.recurrence sequences(%x : memref<?x?x1025xf32>) into(%y : memref<?x?x1025xf32>) {
  ^bb0(%xt: vector<1025xf32>):
    %0 = math.tanh %xt : vector<1025xf32>
    bppsa.yield %0 : vector<1025xf32>
  }
  return
}

// -----

// 1024 rows are accepted: one per thread of the largest block.

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
  bppsa.chain saved(%a : memref<?x?x4xf32>) seeds(%g : memref<?x4xf32>) into(%out : memref<?x4xf32>) {
  ^bb0(%at: vector<4xf32>, %gt: vector<4xf32>):
    // expected-error @below {{has no row-wise evaluation; a body holds elementwise operations, bppsa.matvec and strided slices}}
    %0 = vector.shuffle %gt, %at [3, 2, 1, 0] : vector<4xf32>, vector<4xf32>
    bppsa.yield %0 : vector<4xf32>
  }
  return
}

// -----

func.func private @tree(%a: memref<?x?x3xf32>, %g: memref<?x3xf32>, %out: memref<?x3xf32>) {
  // expected-error @below {{has the plan hybrid:2; run bppsa-expand-scan with whole-levels first}}
  bppsa.chain plan <hybrid, 2> saved(%a : memref<?x?x3xf32>) seeds(%g : memref<?x3xf32>)
      into(%out : memref<?x3xf32>) {
  ^bb0(%at: vector<3xf32>, %gt: vector<3xf32>):
    bppsa.yield %gt : vector<3xf32>
  }
  return
}

// -----

func.func private @transition_of_some_rows(%a: memref<8x6x3xf32>, %maps: memref<8x4x1x3xf32>) {
  scf.forall (%k) in (8) {
    %a_k = memref.subview %a[%k, 2, 0] [1, 4, 3] [1, 1, 1] : memref<8x6x3xf32> to memref<1x4x3xf32, strided<[18, 3, 1], offset: ?>>
    %m_k = memref.subview %maps[%k, 0, 0, 0] [1, 4, 1, 3] [1, 1, 1, 1] : memref<8x4x1x3xf32> to memref<4x1x3xf32, strided<[3, 3, 1], offset: ?>>
    // expected-error @below {{takes some rows only in an iteration of a parallel loop; run bppsa-expand-scan with whole-levels}}
    bppsa.transition diagonal states [3] saved(%a_k : memref<1x4x3xf32, strided<[18, 3, 1], offset: ?>>)
        into(%m_k : memref<4x1x3xf32, strided<[3, 3, 1], offset: ?>>) {
    ^bb0(%at: vector<3xf32>, %gt: vector<3xf32>):
      %0 = arith.mulf %at, %gt : vector<3xf32>
      bppsa.yield %0 : vector<3xf32>
    }
  }
  return
}

// -----

func.func private @transition_of_two_runs(%a: memref<8x4x3xf32>, %b: memref<8x4x3xf32>, %maps: memref<8x4x1x3xf32>) {
  %c7 = arith.constant 7 : index
  scf.forall (%k) in (8) {
    %l = arith.subi %c7, %k : index
    %a_k = memref.subview %a[%k, 0, 0] [1, 4, 3] [1, 1, 1] : memref<8x4x3xf32> to memref<1x4x3xf32, strided<[12, 3, 1], offset: ?>>
    %b_l = memref.subview %b[%l, 0, 0] [1, 4, 3] [1, 1, 1] : memref<8x4x3xf32> to memref<1x4x3xf32, strided<[12, 3, 1], offset: ?>>
    %m_k = memref.subview %maps[%k, 0, 0, 0] [1, 4, 1, 3] [1, 1, 1, 1] : memref<8x4x1x3xf32> to memref<4x1x3xf32, strided<[3, 3, 1], offset: ?>>
    // expected-error @below {{reads different steps or rows of two sequences; run bppsa-expand-scan with whole-levels}}
    bppsa.transition diagonal states [3] saved(%a_k, %b_l : memref<1x4x3xf32, strided<[12, 3, 1], offset: ?>>, memref<1x4x3xf32, strided<[12, 3, 1], offset: ?>>)
        into(%m_k : memref<4x1x3xf32, strided<[3, 3, 1], offset: ?>>) {
    ^bb0(%at: vector<3xf32>, %bt: vector<3xf32>, %gt: vector<3xf32>):
      %0 = arith.mulf %at, %gt : vector<3xf32>
      bppsa.yield %0 : vector<3xf32>
    }
  }
  return
}

// -----

func.func private @two_transitions(%a: memref<8x4x3xf32>, %maps: memref<8x4x1x3xf32>) {
  scf.forall (%k) in (8) {
    %a_k = memref.subview %a[%k, 0, 0] [1, 4, 3] [1, 1, 1] : memref<8x4x3xf32> to memref<1x4x3xf32, strided<[12, 3, 1], offset: ?>>
    %m_k = memref.subview %maps[%k, 0, 0, 0] [1, 4, 1, 3] [1, 1, 1, 1] : memref<8x4x1x3xf32> to memref<4x1x3xf32, strided<[3, 3, 1], offset: ?>>
    bppsa.transition diagonal states [3] saved(%a_k : memref<1x4x3xf32, strided<[12, 3, 1], offset: ?>>)
        into(%m_k : memref<4x1x3xf32, strided<[3, 3, 1], offset: ?>>) {
    ^bb0(%at: vector<3xf32>, %gt: vector<3xf32>):
      bppsa.yield %gt : vector<3xf32>
    }
    // expected-error @below {{cannot share a parallel loop with other kernels in 'bppsa.transition'; run bppsa-expand-scan with whole-levels}}
    bppsa.transition diagonal states [3] saved(%a_k : memref<1x4x3xf32, strided<[12, 3, 1], offset: ?>>)
        into(%m_k : memref<4x1x3xf32, strided<[3, 3, 1], offset: ?>>) {
    ^bb0(%at: vector<3xf32>, %gt: vector<3xf32>):
      bppsa.yield %at : vector<3xf32>
    }
  }
  return
}

// -----

func.func private @copy_among_chains(%a: memref<8x4x3xf32>, %g: memref<1x3xf32>, %out: memref<1x3xf32>) {
  scf.forall (%b, %k) in (4, 8) {
    %a_k = memref.subview %a[%k, %b, 0] [1, 1, 3] [1, 1, 1] : memref<8x4x3xf32> to memref<1x1x3xf32, strided<[12, 3, 1], offset: ?>>
    bppsa.chain saved(%a_k : memref<1x1x3xf32, strided<[12, 3, 1], offset: ?>>) seeds(%g : memref<1x3xf32>) into(%out : memref<1x3xf32>) {
    ^bb0(%at: vector<3xf32>, %gt: vector<3xf32>):
      bppsa.yield %gt : vector<3xf32>
    }
    // expected-error @below {{cannot share a parallel loop with other kernels in 'bppsa.chain'; run bppsa-expand-scan with whole-levels}}
    memref.copy %g, %out : memref<1x3xf32> to memref<1x3xf32>
  }
  return
}

// -----

func.func private @chain_of_whole_sequences(%a: memref<?x1x3xf32>, %g: memref<1x3xf32>, %out: memref<1x3xf32>) {
  scf.forall (%b, %k) in (4, 8) {
    // expected-error @below {{reads or writes an array that is not a window of whole rows; run bppsa-expand-scan with whole-levels}}
    bppsa.chain saved(%a : memref<?x1x3xf32>) seeds(%g : memref<1x3xf32>) into(%out : memref<1x3xf32>) {
    ^bb0(%at: vector<3xf32>, %gt: vector<3xf32>):
      bppsa.yield %gt : vector<3xf32>
    }
  }
  return
}

// -----

func.func private @chain_of_two_rows(%a: memref<8x4x3xf32>, %g: memref<2x3xf32>, %out: memref<2x3xf32>) {
  scf.forall (%k) in (8) {
    %a_k = memref.subview %a[%k, 2, 0] [1, 2, 3] [1, 1, 1] : memref<8x4x3xf32> to memref<1x2x3xf32, strided<[12, 3, 1], offset: ?>>
    // expected-error @below {{takes more than one row in an iteration of a parallel loop; run bppsa-expand-scan with whole-levels}}
    bppsa.chain saved(%a_k : memref<1x2x3xf32, strided<[12, 3, 1], offset: ?>>) seeds(%g : memref<2x3xf32>)
        into(%out : memref<2x3xf32>) {
    ^bb0(%at: vector<3xf32>, %gt: vector<3xf32>):
      bppsa.yield %gt : vector<3xf32>
    }
  }
  return
}

// -----

func.func private @sums_of_one_place(%a: memref<8x4x3xf32>, %g: memref<1x3xf32>, %out: memref<1x3xf32>, %s: memref<3xf32>) {
  scf.forall (%b, %k) in (4, 8) {
    %a_k = memref.subview %a[%k, %b, 0] [1, 1, 3] [1, 1, 1] : memref<8x4x3xf32> to memref<1x1x3xf32, strided<[12, 3, 1], offset: ?>>
    // expected-error @below {{accumulates sums in a parallel loop, in which each iteration needs its own partial sums; use flat_sums}}
    bppsa.chain saved(%a_k : memref<1x1x3xf32, strided<[12, 3, 1], offset: ?>>) seeds(%g : memref<1x3xf32>) sum_with [-1]
        into(%out, %s : memref<1x3xf32>, memref<3xf32>) {
    ^bb0(%at: vector<3xf32>, %gt: vector<3xf32>):
      bppsa.yield %gt, %gt : vector<3xf32>, vector<3xf32>
    }
  }
  return
}

// -----

func.func private @flat_sums_alone(%a: memref<8x4x3xf32>, %g: memref<4x3xf32>, %out: memref<4x3xf32>, %s: memref<3xf32>) {
  // expected-error @below {{has flat_sums outside of a parallel loop; remove flat_sums}}
  bppsa.chain saved(%a : memref<8x4x3xf32>) seeds(%g : memref<4x3xf32>) sum_with [-1] flat_sums
      into(%out, %s : memref<4x3xf32>, memref<3xf32>) {
  ^bb0(%at: vector<3xf32>, %gt: vector<3xf32>):
    bppsa.yield %gt, %gt : vector<3xf32>, vector<3xf32>
  }
  return
}

// -----

func.func private @too_many_sums(%a: memref<?x?x3xf32>, %x: memref<?x?x1999xf32>, %g: memref<?x3xf32>,
    %out: memref<?x3xf32>, %sum: memref<3x1999xf32>) {
  // expected-error @below {{has more sums than fit into registers next to its matrices; do not run bppsa-fuse-gradients}}
  bppsa.chain saved(%a : memref<?x?x3xf32>) seeds(%g : memref<?x3xf32>)
      factors(%x : memref<?x?x1999xf32>) sum_with [0] into(%out, %sum : memref<?x3xf32>, memref<3x1999xf32>) {
  ^bb0(%at: vector<3xf32>, %gt: vector<3xf32>):
    bppsa.yield %gt, %gt : vector<3xf32>, vector<3xf32>
  }
  return
}

// -----

func.func private @lanes(%x: memref<?x?x4x16xf32>, %y: memref<?x?x4x16xf32>) {
  // expected-error @below {{has lanes, which GPUs do not support; do not run bppsa-pack-batch}}
  bppsa.recurrence lanes 16 sequences(%x : memref<?x?x4x16xf32>) into(%y : memref<?x?x4x16xf32>) {
  ^bb0(%xt: vector<4xf32>):
    bppsa.yield %xt : vector<4xf32>
  }
  return
}

// -----

func.func private @pack(%x: memref<?x?x4xf32>, %y: memref<?x?x4x16xf32>) {
  // expected-error @below {{has lanes, which GPUs do not support; do not run bppsa-pack-batch}}
  bppsa.pack_lanes 16, %x into %y : memref<?x?x4xf32> into memref<?x?x4x16xf32>
  return
}

// -----

func.func private @direction(%reverse: i1, %x: memref<?x?x4xf32>, %h0: memref<?x4xf32>, %h: memref<?x?x4xf32>) {
  // expected-error @below {{has no kernels for GPUs; use --target=cpu}}
  bppsa.reverse_if %reverse {
    bppsa.recurrence sequences(%x : memref<?x?x4xf32>) initial(%h0 : memref<?x4xf32>) into(%h : memref<?x?x4xf32>) {
    ^bb0(%xt: vector<4xf32>, %ht: vector<4xf32>):
      %0 = arith.addf %xt, %ht : vector<4xf32>
      bppsa.yield %0 : vector<4xf32>
    }
  }
  return
}
