// RUN: bppsa-opt %s --bppsa-plan-arena --canonicalize --cse --split-input-file | FileCheck %s

// Temporaries with disjoint lifetimes share a slot of the larger size. Offsets and the total size
// are computed from the symbols T and B. Helpers that allocate are inlined.

// CHECK-DAG: func.func private @bppsa_rt_arena_take(index, index) -> memref<?xi8> attributes {llvm.emit_c_interface}
// CHECK-DAG: func.func private @bppsa_rt_arena_drop(memref<?xi8>) attributes {llvm.emit_c_interface}

// CHECK-LABEL: func.func private @f_arena(
// CHECK-SAME:      %[[T:.*]]: index, %[[B:.*]]: index) -> (index, index, index)
// CHECK-DAG:     %[[C0:.*]] = arith.constant 0 : index
// CHECK-DAG:     %[[C4:.*]] = arith.constant 4 : index
// CHECK-DAG:     %[[C255:.*]] = arith.constant 255 : index
// CHECK-DAG:     %[[MASK:.*]] = arith.constant -256 : index
// CHECK:         %[[TB:.*]] = arith.muli %[[T]], %[[B]]
// CHECK:         %[[LARGE:.*]] = arith.muli %[[TB]], %[[C4]]
// CHECK:         math.sqrt
// CHECK:         %[[CHUNKS:.*]] = arith.ceildivui %[[T]],
// CHECK:         %[[SMALL:.*]] = arith.muli %[[CHUNKS]], %[[C4]]
// CHECK:         %[[B4:.*]] = arith.muli %[[B]], %[[C4]]
// CHECK:         %[[RAISED0:.*]] = arith.addi %[[LARGE]], %[[C255]]
// CHECK:         %[[SLOT0:.*]] = arith.andi %[[RAISED0]], %[[MASK]]
// CHECK:         %[[RAISED1:.*]] = arith.addi %[[SMALL]], %[[C255]]
// CHECK:         %[[ROUNDED1:.*]] = arith.andi %[[RAISED1]], %[[MASK]]
// CHECK:         %[[RAISED2:.*]] = arith.addi %[[B4]], %[[C255]]
// CHECK:         %[[ROUNDED2:.*]] = arith.andi %[[RAISED2]], %[[MASK]]
// CHECK:         %[[SLOT1:.*]] = arith.maxui %[[ROUNDED1]], %[[ROUNDED2]]
// CHECK:         %[[ALL:.*]] = arith.addi %[[SLOT0]], %[[SLOT1]]
// CHECK:         return %[[C0]], %[[SLOT0]], %[[ALL]] : index, index, index

// CHECK-LABEL: func.func @f(
// CHECK-SAME:      %[[X:.*]]: memref<?x?xf32>
// CHECK:         %[[PLAN:.*]]:3 = call @f_arena(%{{.*}}, %{{.*}})
// CHECK:         %[[S0:.*]] = call @bppsa_rt_arena_take(%[[PLAN]]#0, %{{.*}})
// CHECK:         %[[A:.*]] = memref.view %[[S0]][%{{.*}}][%{{.*}}, %{{.*}}] : memref<?xi8> to memref<?x?xf32>
// CHECK:         call @use(%{{.*}})
// CHECK:         %[[S1:.*]] = call @bppsa_rt_arena_take(%[[PLAN]]#1, %{{.*}})
// CHECK:         %[[M:.*]] = memref.view %[[S1]]
// CHECK:         call @use_flat(%[[M]])
// CHECK:         call @bppsa_rt_arena_drop(%[[S1]])
// CHECK:         call @bppsa_rt_arena_drop(%[[S0]])
// CHECK:         %[[S2:.*]] = call @bppsa_rt_arena_take(%[[PLAN]]#0, %{{.*}})
// CHECK:         %[[S3:.*]] = call @bppsa_rt_arena_take(%[[PLAN]]#1, %{{.*}})
// CHECK:         call @bppsa_rt_arena_drop(%[[S2]])
// CHECK-NOT:   @helper
module attributes {bppsa.symbols = #bppsa.symbols<"T", "B">} {
  func.func private @use(memref<?xf32>)
  func.func private @use_flat(memref<?xf32>)
  func.func @f(%x: memref<?x?xf32> {bppsa.shape = affine_map<()[s0, s1] -> (s0, s1)>, bppsa.time_axis = 0 : i64}) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %t = memref.dim %x, %c0 : memref<?x?xf32>
    %b = memref.dim %x, %c1 : memref<?x?xf32>
    %a = memref.alloc(%t, %b) : memref<?x?xf32>
    %flat = memref.collapse_shape %a [[0, 1]] : memref<?x?xf32> into memref<?xf32>
    call @use(%flat) : (memref<?xf32>) -> ()
    call @helper(%x) : (memref<?x?xf32>) -> ()
    memref.dealloc %a : memref<?x?xf32>
    // Its size equals the size of the first temporary, read from a view of it.
    %n = memref.dim %flat, %c0 : memref<?xf32>
    %large = memref.alloc(%n) : memref<?xf32>
    %small = memref.alloc(%b) : memref<?xf32>
    call @use(%small) : (memref<?xf32>) -> ()
    memref.dealloc %small : memref<?xf32>
    call @use(%large) : (memref<?xf32>) -> ()
    memref.dealloc %large : memref<?xf32>
    return
  }
  // The runtime chooses this chunk length.
  func.func private @helper(%x: memref<?x?xf32>) {
    %c0 = arith.constant 0 : index
    %t = memref.dim %x, %c0 : memref<?x?xf32>
    %word = arith.index_cast %t : index to i64
    %real = arith.sitofp %word : i64 to f64
    %root = math.sqrt %real : f64
    %whole = arith.fptosi %root : f64 to i64
    %length = arith.index_cast %whole : i64 to index
    %chunks = arith.ceildivui %t, %length : index
    %maps = memref.alloc(%chunks) : memref<?xf32>
    func.call @use_flat(%maps) : (memref<?xf32>) -> ()
    memref.dealloc %maps : memref<?xf32>
    return
  }
}

// -----

// Memory of a loop body is live for the whole loop. Sizes that depend on a non-symbol argument or
// on a loop counter keep their own allocation.

// CHECK-LABEL: func.func private @loop_arena(
// CHECK-SAME:      %{{.*}}: index) -> (index, index, index)
// CHECK-DAG:     %[[C1024:.*]] = arith.constant 1024 : index
// CHECK-DAG:     %[[C768:.*]] = arith.constant 768 : index
// CHECK:         return %{{.*}}, %[[C768]], %[[C1024]]
// CHECK-LABEL: func.func @loop(
// CHECK:         %[[PLAN:.*]]:3 = call @loop_arena
// CHECK:         scf.for
// CHECK:           func.call @bppsa_rt_arena_take(%[[PLAN]]#0, %{{.*}})
// CHECK:           memref.alloc(%{{.*}}) : memref<?xf32>
// CHECK:           func.call @bppsa_rt_arena_take(%[[PLAN]]#1, %{{.*}})
// CHECK:           memref.alloc(%{{.*}}) : memref<?xi8>
module attributes {bppsa.symbols = #bppsa.symbols<"B">} {
  func.func private @use(memref<?xf32>)
  func.func private @use_bytes(memref<?xi8>)
  func.func @loop(%x: memref<?xf32> {bppsa.shape = affine_map<()[s0] -> (s0)>}, %other: memref<?xf32>) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %n = memref.dim %x, %c0 : memref<?xf32>
    %unknown = memref.dim %other, %c0 : memref<?xf32>
    scf.for %i = %c1 to %n step %c1 {
      %a = memref.alloc() : memref<3x64xf32>
      %a_flat = memref.collapse_shape %a [[0, 1]] : memref<3x64xf32> into memref<192xf32>
      %a_cast = memref.cast %a_flat : memref<192xf32> to memref<?xf32>
      func.call @use(%a_cast) : (memref<?xf32>) -> ()
      %counted = memref.alloc(%i) : memref<?xf32>
      func.call @use(%counted) : (memref<?xf32>) -> ()
      memref.dealloc %counted : memref<?xf32>
      memref.dealloc %a : memref<3x64xf32>
      %b = memref.alloc() : memref<8xf32>
      %b_cast = memref.cast %b : memref<8xf32> to memref<?xf32>
      func.call @use(%b_cast) : (memref<?xf32>) -> ()
      memref.dealloc %b : memref<8xf32>
      %bytes = memref.alloc(%unknown) : memref<?xi8>
      func.call @use_bytes(%bytes) : (memref<?xi8>) -> ()
      memref.dealloc %bytes : memref<?xi8>
    }
    return
  }
}

// -----

// Memory allocated and freed by a call on the sub stream is live until the main stream has waited
// for the call. Later allocations before the wait cannot reuse it; allocations after the wait can.
// Calls on the sub stream run in order and may share memory.

// CHECK-LABEL: func.func private @streams_arena(
// CHECK-DAG:     %[[C0:.*]] = arith.constant 0 : index
// CHECK-DAG:     %[[C512:.*]] = arith.constant 512 : index
// CHECK-DAG:     %[[C1024:.*]] = arith.constant 1024 : index
// CHECK:         return %[[C0]], %[[C512]], %[[C1024]]
// CHECK-LABEL: func.func @streams(
// CHECK:         %[[PLAN:.*]]:3 = call @streams_arena
// CHECK:         bgpu.select_stream 1
// CHECK:         call @bppsa_rt_arena_take(%[[PLAN]]#0, %{{.*}})
// CHECK:         call @bppsa_rt_arena_drop
// CHECK:         call @bppsa_rt_arena_take(%[[PLAN]]#0, %{{.*}})
// CHECK:         call @bppsa_rt_arena_drop
// CHECK:         bgpu.select_stream 0
// CHECK:         call @bppsa_rt_arena_take(%[[PLAN]]#1, %{{.*}})
// CHECK:         call @bppsa_rt_arena_drop
// CHECK:         bgpu.wait_event 1
// CHECK:         call @bppsa_rt_arena_take(%[[PLAN]]#{{[01]}}, %{{.*}})
module attributes {bppsa.symbols = #bppsa.symbols<"B">} {
  func.func private @use(memref<128xf32>)
  func.func private @helper() {
    %a = memref.alloc() : memref<128xf32>
    func.call @use(%a) : (memref<128xf32>) -> ()
    memref.dealloc %a : memref<128xf32>
    return
  }
  func.func @streams(%x: memref<?xf32> {bppsa.shape = affine_map<()[s0] -> (s0)>}) {
    bgpu.record_event 0
    bgpu.select_stream 1
    bgpu.wait_event 0
    call @helper() : () -> ()
    call @helper() : () -> ()
    bgpu.record_event 1
    bgpu.select_stream 0
    call @helper() : () -> ()
    bgpu.wait_event 1
    call @helper() : () -> ()
    return
  }
}

// -----

// Nothing to plan.

// CHECK-LABEL: module
// CHECK-NOT:     arena
module {
  func.func @none(%x: memref<4xf32>) {
    return
  }
}
