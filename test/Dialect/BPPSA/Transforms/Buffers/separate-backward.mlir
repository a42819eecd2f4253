// RUN: bppsa-opt %s --split-input-file --bppsa-separate-backward --canonicalize | FileCheck %s
// RUN: bppsa-opt %s --split-input-file --bppsa-separate-backward="clear-unwritten=false" --canonicalize | FileCheck %s --check-prefix=UNWRITTEN

// Values that the backward part reads are stored in the residual block, at offsets that both parts
// compute. Values that the backward part overwrites are copied. Sizes that follow from its
// arguments are not stored.

module attributes {bppsa.symbols = #bppsa.symbols<"B">} {
// CHECK-LABEL: func.func @pullback_residuals(
// CHECK-SAME:    %[[B:.*]]: index) -> index
// CHECK:         %[[BYTES:.*]] = arith.muli %[[B]], %c16
// CHECK:         %[[RAISED:.*]] = arith.addi %[[BYTES]], %c63
// CHECK:         %[[ONE:.*]] = arith.andi %[[RAISED]], %c-64
// CHECK:         %[[BOTH:.*]] = arith.addi %[[ONE]], %
// CHECK:         return %[[BOTH]]

// CHECK-LABEL: func.func @pullback_forward(
// CHECK-SAME:    %[[X:[a-z0-9]+]]: memref<?x4xf32> {bppsa.input = "x"
// CHECK-SAME:    %[[Y:[a-z0-9]+]]: memref<?x4xf32> {bppsa.output = "y"
// CHECK-SAME:    %[[BLOCK:[a-z0-9]+]]: memref<?xi8>)
// CHECK-NOT:     mark_phase
// CHECK:         %[[EXP:.*]] = memref.view %[[BLOCK]][%c0][%{{.*}}] : memref<?xi8> to memref<?x4xf32>
// CHECK:         linalg.exp ins(%[[X]] : memref<?x4xf32>) outs(%[[EXP]] : memref<?x4xf32>)
// CHECK:         %[[LOG:.*]] = memref.view %[[BLOCK]][%{{.*}}][%{{.*}}] : memref<?xi8> to memref<?x4xf32>
// CHECK:         linalg.log ins(%[[X]] : memref<?x4xf32>) outs(%[[LOG]] : memref<?x4xf32>)
// CHECK:         %[[OWN:.*]] = memref.alloc
// CHECK:         memref.dealloc %[[OWN]]
// CHECK:         memref.copy %[[EXP]], %[[Y]]
// CHECK-NOT:     linalg.mul
// CHECK:         %[[FIRST:.*]] = memref.subview %[[BLOCK]]
// CHECK:         linalg.fill ins(%c0_i8 : i8) outs(%[[FIRST]] : {{.*}})
// CHECK:         %[[SECOND:.*]] = memref.subview %[[BLOCK]]
// CHECK:         linalg.fill ins(%c0_i8 : i8) outs(%[[SECOND]] : {{.*}})
// CHECK-NOT:     linalg.fill
// CHECK:         return

// CHECK-LABEL: func.func @pullback_backward(
// CHECK-SAME:    %[[X:[a-z0-9]+]]: memref<?x4xf32> {bppsa.input = "x"
// CHECK-SAME:    %[[G:[a-z0-9]+]]: memref<?x4xf32> {bppsa.target}
// CHECK-SAME:    %[[D:[a-z0-9]+]]: memref<?x4xf32> {bppsa.gradient = "x"}
// CHECK-SAME:    %[[BLOCK:[a-z0-9]+]]: memref<?xi8>)
// CHECK:         %[[EXP:.*]] = memref.view %[[BLOCK]][%c0][%{{.*}}] : memref<?xi8> to memref<?x4xf32>
// CHECK:         %[[LOG:.*]] = memref.view %[[BLOCK]][%{{.*}}][%{{.*}}] : memref<?xi8> to memref<?x4xf32>
// CHECK:         %[[CHANGED:.*]] = memref.alloc
// CHECK:         memref.copy %[[LOG]], %[[CHANGED]]
// CHECK-NOT:     linalg.exp
// CHECK:         linalg.mul ins(%[[G]], %[[EXP]] : {{.*}}) outs(%[[CHANGED]] : memref<?x4xf32>)
// CHECK:         memref.copy %[[CHANGED]], %[[D]]
// CHECK:         memref.dealloc %[[CHANGED]]
// CHECK-NOT:     dealloc
// CHECK:         return

func.func @pullback(%x: memref<?x4xf32> {bppsa.input = "x", bppsa.shape = affine_map<()[s0] -> (s0, 4)>},
                    %g: memref<?x4xf32> {bppsa.target},
                    %y: memref<?x4xf32> {bppsa.output = "y", bppsa.shape = affine_map<()[s0] -> (s0, 4)>},
                    %d: memref<?x4xf32> {bppsa.gradient = "x"}) {
  %c0 = arith.constant 0 : index
  bppsa.mark_phase 0
  %n = memref.dim %x, %c0 : memref<?x4xf32>
  %exp = memref.alloc(%n) : memref<?x4xf32>
  linalg.exp ins(%x : memref<?x4xf32>) outs(%exp : memref<?x4xf32>)
  %log = memref.alloc(%n) : memref<?x4xf32>
  linalg.log ins(%x : memref<?x4xf32>) outs(%log : memref<?x4xf32>)
  %own = memref.alloc(%n) : memref<?x4xf32>
  linalg.abs ins(%x : memref<?x4xf32>) outs(%own : memref<?x4xf32>)
  memref.dealloc %own : memref<?x4xf32>
  bppsa.mark_phase 1
  linalg.mul ins(%g, %exp : memref<?x4xf32>, memref<?x4xf32>) outs(%log : memref<?x4xf32>)
  memref.copy %log, %d : memref<?x4xf32> to memref<?x4xf32>
  memref.dealloc %log : memref<?x4xf32>
  memref.copy %exp, %y : memref<?x4xf32> to memref<?x4xf32>
  memref.dealloc %exp : memref<?x4xf32>
  return
}
}

// -----

// Outputs are copied because callers may overwrite them. Scalars read from memory are stored before
// the arrays, and an upper bound is used for arrays whose size depends on them. Their actual size
// is known only at the end.

module attributes {bppsa.symbols = #bppsa.symbols<"B">} {
// CHECK-LABEL: func.func @pullback_residuals(
// CHECK-SAME:    %[[B:.*]]: index) -> index
// CHECK:         arith.muli %[[B]], %c4

// CHECK-LABEL: func.func @pullback_forward(
// CHECK-SAME:    %[[Y:[a-z0-9]+]]: memref<?xf32> {bppsa.output = "y"
// CHECK-SAME:    %[[BLOCK:[a-z0-9]+]]: memref<?xi8>)
// CHECK:         %[[KEPT:.*]] = memref.view %[[BLOCK]][%c64][%{{.*}}] : memref<?xi8> to memref<?xf32>
// CHECK:         %[[COUNT:.*]] = memref.load
// CHECK:         %[[PLACE:.*]] = memref.view %[[BLOCK]][%c0][] : memref<?xi8> to memref<index>
// CHECK:         memref.store %[[COUNT]], %[[PLACE]][]
// CHECK:         linalg.exp ins(%{{.*}}) outs(%[[KEPT]] : memref<?xf32>)
// CHECK:         memref.copy %[[KEPT]], %[[Y]]
// CHECK:         memref.subview %[[BLOCK]][8] [56] [1]
// CHECK-COUNT-3: linalg.fill
// CHECK-NOT:     linalg.fill
// CHECK:         call @bppsa_rt_residuals(%{{.*}}) : (index) -> ()
// CHECK-NEXT:    return

// CHECK-LABEL: func.func @pullback_backward(
// CHECK-SAME:    %[[BLOCK:[a-z0-9]+]]: memref<?xi8>)
// CHECK:         %[[PLACE:.*]] = memref.view %[[BLOCK]][%c0][] : memref<?xi8> to memref<index>
// CHECK:         memref.load %[[PLACE]][]
// CHECK:         memref.view %[[BLOCK]][%c64]

func.func @pullback(%x: memref<?xf32> {bppsa.input = "x", bppsa.shape = affine_map<()[s0] -> (s0)>},
                    %counts: memref<1xindex>,
                    %g: memref<?xf32> {bppsa.target},
                    %y: memref<?xf32> {bppsa.output = "y", bppsa.shape = affine_map<()[s0] -> (s0)>},
                    %d: memref<?xf32> {bppsa.gradient = "x"}) {
  %c0 = arith.constant 0 : index
  %n = memref.dim %x, %c0 : memref<?xf32>
  %count = memref.load %counts[%c0] : memref<1xindex>
  %less = arith.minsi %count, %n : index
  %some = memref.alloc(%less) : memref<?xf32>
  %part = memref.subview %x[0] [%less] [1] : memref<?xf32> to memref<?xf32, strided<[1]>>
  linalg.abs ins(%part : memref<?xf32, strided<[1]>>) outs(%some : memref<?xf32>)
  linalg.exp ins(%x : memref<?xf32>) outs(%y : memref<?xf32>)
  bppsa.mark_phase 1
  linalg.mul ins(%g, %y : memref<?xf32>, memref<?xf32>) outs(%d : memref<?xf32>)
  %slice = memref.subview %d[0] [%less] [1] : memref<?xf32> to memref<?xf32, strided<[1]>>
  linalg.add ins(%slice, %some : memref<?xf32, strided<[1]>>, memref<?xf32>) outs(%slice : memref<?xf32, strided<[1]>>)
  memref.dealloc %some : memref<?xf32>
  return
}
}

// -----

// A function with a loss is not split.

// CHECK-LABEL: func.func @grad(
// CHECK:         bppsa.mark_phase 1
func.func @grad(%x: memref<4xf32> {bppsa.input = "x"}, %l: memref<f32> {bppsa.loss},
                %y: memref<4xf32> {bppsa.output = "y"}, %d: memref<4xf32> {bppsa.gradient = "x"}) {
  bppsa.mark_phase 1
  memref.copy %x, %d : memref<4xf32> to memref<4xf32>
  return
}

// -----

// Without gradients of inputs, operations that only these gradients need are removed.

// CHECK-LABEL: func.func @pullback_backward_parameters(
// CHECK-SAME:    %[[X:[a-z0-9]+]]: memref<4xf32> {bppsa.input = "x"}
// CHECK-SAME:    %[[G:[a-z0-9]+]]: memref<4xf32> {bppsa.target}
// CHECK-SAME:    %[[DW:[a-z0-9]+]]: memref<4xf32> {bppsa.gradient = "w"}
// CHECK-SAME:    %{{[a-z0-9]+}}: memref<?xi8>)
// CHECK-NEXT:    linalg.mul ins(%[[X]], %[[G]] : {{.*}}) outs(%[[DW]]
// CHECK-NEXT:    return

// CHECK-LABEL: func.func @pullback_backward(
// CHECK-SAME:    {bppsa.gradient = "x"}
func.func @pullback(%x: memref<4xf32> {bppsa.input = "x"}, %w: memref<4xf32> {bppsa.parameter = "w"},
                    %g: memref<4xf32> {bppsa.target}, %y: memref<4xf32> {bppsa.output = "y"},
                    %dx: memref<4xf32> {bppsa.gradient = "x"}, %dw: memref<4xf32> {bppsa.gradient = "w"}) {
  linalg.mul ins(%x, %w : memref<4xf32>, memref<4xf32>) outs(%y : memref<4xf32>)
  bppsa.mark_phase 1
  %products = memref.alloc() : memref<4xf32>
  linalg.mul ins(%w, %g : memref<4xf32>, memref<4xf32>) outs(%products : memref<4xf32>)
  memref.copy %products, %dx : memref<4xf32> to memref<4xf32>
  memref.dealloc %products : memref<4xf32>
  linalg.mul ins(%x, %g : memref<4xf32>, memref<4xf32>) outs(%dw : memref<4xf32>)
  return
}

// -----

// Arrays that the forward part may write only partially, in slices or under a condition, are filled
// first. A reshaped array is written completely. Arrays whose size is a multiple of 64 bytes need
// no padding.

// CHECK-LABEL: func.func @partial_forward(
// CHECK-SAME:    %[[BLOCK:[a-z0-9]+]]: memref<?xi8>)
// CHECK:         %[[WHOLE:.*]] = memref.view %[[BLOCK]][%c0][] : memref<?xi8> to memref<2x16xf32>
// CHECK:         memref.collapse_shape %[[WHOLE]]
// CHECK-NEXT:    linalg.fill ins(%{{.*}} : f32) outs(%{{.*}} : memref<32xf32>)
// CHECK:         %[[SLICED:.*]] = memref.view %[[BLOCK]]
// CHECK-NEXT:    linalg.fill ins(%{{.*}} : f32) outs(%[[SLICED]] : memref<2x16xf32>)
// CHECK-NEXT:    memref.subview %[[SLICED]]
// CHECK:         %[[PERHAPS:.*]] = memref.view %[[BLOCK]]
// CHECK-NEXT:    linalg.fill ins(%{{.*}} : f32) outs(%[[PERHAPS]] : memref<2x16xf32>)
// CHECK-NEXT:    scf.if
// CHECK-NOT:     linalg.fill
// CHECK:         memref.copy %[[PERHAPS]]
// CHECK-NEXT:    }
// CHECK-NEXT:    return

// UNWRITTEN-LABEL: func.func @partial_forward(
// UNWRITTEN-NOT:     linalg.fill
// UNWRITTEN:         linalg.fill ins(%{{.*}} : f32) outs(%{{.*}} : memref<32xf32>)
// UNWRITTEN-NOT:     linalg.fill
// UNWRITTEN-LABEL: func.func @partial_backward_parameters(
func.func @partial(%x: memref<2x16xf32> {bppsa.input = "x"}, %y: memref<2x16xf32> {bppsa.output = "y"},
                    %g: memref<2x16xf32> {bppsa.target}, %is: i1, %d: memref<2x16xf32> {bppsa.gradient = "x"}) {
  %one = arith.constant 1.0 : f32
  %whole = memref.alloc() : memref<2x16xf32>
  %flat = memref.collapse_shape %whole [[0, 1]] : memref<2x16xf32> into memref<32xf32>
  linalg.fill ins(%one : f32) outs(%flat : memref<32xf32>)
  %sliced = memref.alloc() : memref<2x16xf32>
  %row = memref.subview %sliced[0, 0] [1, 16] [1, 1] : memref<2x16xf32> to memref<1x16xf32, strided<[16, 1]>>
  %given = memref.subview %x[0, 0] [1, 16] [1, 1] : memref<2x16xf32> to memref<1x16xf32, strided<[16, 1]>>
  memref.copy %given, %row : memref<1x16xf32, strided<[16, 1]>> to memref<1x16xf32, strided<[16, 1]>>
  %perhaps = memref.alloc() : memref<2x16xf32>
  scf.if %is {
    memref.copy %x, %perhaps : memref<2x16xf32> to memref<2x16xf32>
    memref.copy %perhaps, %y : memref<2x16xf32> to memref<2x16xf32>
  }
  bppsa.mark_phase 1
  linalg.mul ins(%g, %whole : memref<2x16xf32>, memref<2x16xf32>) outs(%d : memref<2x16xf32>)
  linalg.add ins(%d, %sliced : memref<2x16xf32>, memref<2x16xf32>) outs(%d : memref<2x16xf32>)
  linalg.add ins(%d, %perhaps : memref<2x16xf32>, memref<2x16xf32>) outs(%d : memref<2x16xf32>)
  memref.dealloc %whole : memref<2x16xf32>
  memref.dealloc %sliced : memref<2x16xf32>
  memref.dealloc %perhaps : memref<2x16xf32>
  return
}
