// RUN: bppsa-opt %s --verify-roundtrip | FileCheck %s

// CHECK-LABEL: func.func @recurrence
// CHECK: bppsa.recurrence sequences(%{{.*}} : tensor<?x?x3xf32>) initial(%{{.*}} : tensor<?x4xf32>)
// CHECK-SAME: captures(%{{.*}} : tensor<4x3xf32>) -> (tensor<?x?x4xf32>) outputs(tensor<?x?x4xf32>)
// CHECK: bppsa.matvec %{{.*}}, %{{.*}} plus %{{.*}} : vector<4x3xf32>, vector<3xf32> plus vector<4xf32> -> vector<4xf32>
// CHECK: bppsa.yield %{{.*}}, %{{.*}} : vector<4xf32>, vector<4xf32>
func.func @recurrence(%x: tensor<?x?x3xf32>, %h0: tensor<?x4xf32>, %w: tensor<4x3xf32>)
    -> (tensor<?x?x4xf32>, tensor<?x?x4xf32>) {
  %h, %z = bppsa.recurrence sequences(%x : tensor<?x?x3xf32>) initial(%h0 : tensor<?x4xf32>)
      captures(%w : tensor<4x3xf32>) -> (tensor<?x?x4xf32>) outputs(tensor<?x?x4xf32>) {
  ^bb0(%xt: vector<3xf32>, %ht: vector<4xf32>, %wc: vector<4x3xf32>):
    %0 = bppsa.matvec %wc, %xt plus %ht : vector<4x3xf32>, vector<3xf32> plus vector<4xf32> -> vector<4xf32>
    %1 = bppsa.sigmoid %0 : vector<4xf32>
    bppsa.yield %1, %0 : vector<4xf32>, vector<4xf32>
  }
  return %h, %z : tensor<?x?x4xf32>, tensor<?x?x4xf32>
}

// CHECK-LABEL: func.func @stateless
// CHECK: bppsa.recurrence sequences(%{{.*}} : tensor<5x2x3xf32>) outputs(tensor<5x2x3xf32>)
func.func @stateless(%x: tensor<5x2x3xf32>) -> tensor<5x2x3xf32> {
  %y = bppsa.recurrence sequences(%x : tensor<5x2x3xf32>) outputs(tensor<5x2x3xf32>) {
  ^bb0(%xt: vector<3xf32>):
    bppsa.yield %xt : vector<3xf32>
  }
  return %y : tensor<5x2x3xf32>
}

// CHECK-LABEL: func.func @chain
// CHECK: bppsa.chain reverse saved(%{{.*}} : tensor<?x?x4xf32>) seeds(%{{.*}} : tensor<?x4xf32>)
// CHECK-SAME: injected(%{{.*}} : tensor<?x?x4xf32>) inject_into [0]
// CHECK-SAME: -> (tensor<?x4xf32>) emitted(tensor<?x?x4xf32>)
func.func @chain(%a: tensor<?x?x4xf32>, %g: tensor<?x4xf32>, %s: tensor<?x?x4xf32>)
    -> (tensor<?x4xf32>, tensor<?x?x4xf32>) {
  %0, %d = bppsa.chain reverse saved(%a : tensor<?x?x4xf32>) seeds(%g : tensor<?x4xf32>)
      injected(%s : tensor<?x?x4xf32>) inject_into [0] -> (tensor<?x4xf32>)
      emitted(tensor<?x?x4xf32>) {
  ^bb0(%at: vector<4xf32>, %gt: vector<4xf32>):
    %1 = arith.mulf %at, %gt : vector<4xf32>
    bppsa.yield %1, %gt : vector<4xf32>, vector<4xf32>
  }
  return %0, %d : tensor<?x4xf32>, tensor<?x?x4xf32>
}

// CHECK-LABEL: func.func @sums
// CHECK: bppsa.chain saved(%{{.*}} : tensor<?x?x4xf32>) seeds(%{{.*}} : tensor<?x4xf32>)
// CHECK-SAME: factors(%{{.*}} : tensor<?x?x3xf32>) sum_with [0, -1]
// CHECK-SAME: -> (tensor<?x4xf32>) sums(tensor<4x3xf32>, tensor<4xf32>)
func.func @sums(%a: tensor<?x?x4xf32>, %g: tensor<?x4xf32>, %x: tensor<?x?x3xf32>)
    -> (tensor<?x4xf32>, tensor<4x3xf32>, tensor<4xf32>) {
  %0, %w, %b = bppsa.chain saved(%a : tensor<?x?x4xf32>) seeds(%g : tensor<?x4xf32>)
      factors(%x : tensor<?x?x3xf32>) sum_with [0, -1]
      -> (tensor<?x4xf32>) sums(tensor<4x3xf32>, tensor<4xf32>) {
  ^bb0(%at: vector<4xf32>, %gt: vector<4xf32>):
    %1 = arith.mulf %at, %gt : vector<4xf32>
    bppsa.yield %1, %1, %gt : vector<4xf32>, vector<4xf32>, vector<4xf32>
  }
  return %0, %w, %b : tensor<?x4xf32>, tensor<4x3xf32>, tensor<4xf32>
}

// CHECK-LABEL: func.func @parts_of_sums
// CHECK: bppsa.chain saved(
// CHECK-SAME: sum_with [0, -1] flat_sums -> (tensor<?x4xf32>) sums(tensor<16xf32>)
// CHECK: bppsa.reduce_sums %{{.*}} : tensor<?x?x16xf32> -> tensor<4x3xf32>, tensor<4xf32>
func.func @parts_of_sums(%a: tensor<?x?x4xf32>, %g: tensor<?x4xf32>, %x: tensor<?x?x3xf32>, %parts: tensor<?x?x16xf32>)
    -> (tensor<16xf32>, tensor<4x3xf32>, tensor<4xf32>) {
  %0, %sums = bppsa.chain saved(%a : tensor<?x?x4xf32>) seeds(%g : tensor<?x4xf32>)
      factors(%x : tensor<?x?x3xf32>) sum_with [0, -1] flat_sums
      -> (tensor<?x4xf32>) sums(tensor<16xf32>) {
  ^bb0(%at: vector<4xf32>, %gt: vector<4xf32>):
    %1 = arith.mulf %at, %gt : vector<4xf32>
    bppsa.yield %1, %1, %gt : vector<4xf32>, vector<4xf32>, vector<4xf32>
  }
  %w, %b = bppsa.reduce_sums %parts : tensor<?x?x16xf32> -> tensor<4x3xf32>, tensor<4xf32>
  return %sums, %w, %b : tensor<16xf32>, tensor<4x3xf32>, tensor<4xf32>
}

// CHECK-LABEL: func.func @scan
// CHECK: bppsa.chain plan <chunked, 32> lanes 16 saved(%{{.*}} : tensor<?x?x4x16xf32>)
func.func @scan(%a: tensor<?x?x4x16xf32>, %g: tensor<?x4x16xf32>) -> tensor<?x4x16xf32> {
  %0 = bppsa.chain plan <chunked, 32> lanes 16 saved(%a : tensor<?x?x4x16xf32>)
      seeds(%g : tensor<?x4x16xf32>) -> (tensor<?x4x16xf32>) {
  ^bb0(%at: vector<4xf32>, %gt: vector<4xf32>):
    %1 = arith.mulf %at, %gt : vector<4xf32>
    bppsa.yield %1 : vector<4xf32>
  }
  return %0 : tensor<?x4x16xf32>
}

// CHECK-LABEL: func.func @buffers
// CHECK: bppsa.recurrence sequences(%{{.*}} : memref<?x?x3xf32>) initial(%{{.*}} : memref<?x3xf32>)
// CHECK-SAME: into(%{{.*}} : memref<?x?x3xf32>)
func.func @buffers(%x: memref<?x?x3xf32>, %h0: memref<?x3xf32>, %h: memref<?x?x3xf32>) {
  bppsa.recurrence sequences(%x : memref<?x?x3xf32>) initial(%h0 : memref<?x3xf32>)
      into(%h : memref<?x?x3xf32>) {
  ^bb0(%xt: vector<3xf32>, %ht: vector<3xf32>):
    %0 = arith.addf %xt, %ht : vector<3xf32>
    bppsa.yield %0 : vector<3xf32>
  }
  return
}

// CHECK-LABEL: func.func @parameter_gradients
// CHECK: bppsa.outer_sum %{{.*}}, %{{.*}} : tensor<?x?x4xf32>, tensor<?x?x3xf32> -> tensor<4x3xf32>
// CHECK: bppsa.step_sum %{{.*}} : tensor<?x?x4xf32> -> tensor<4xf32>
// CHECK: bppsa.step_sum lanes 16 %{{.*}} batch %{{.*}} : tensor<?x?x4x16xf32> -> tensor<4xf32>
func.func @parameter_gradients(%d: tensor<?x?x4xf32>, %x: tensor<?x?x3xf32>, %p: tensor<?x?x4x16xf32>, %n: index)
    -> (tensor<4x3xf32>, tensor<4xf32>, tensor<4xf32>) {
  %w = bppsa.outer_sum %d, %x : tensor<?x?x4xf32>, tensor<?x?x3xf32> -> tensor<4x3xf32>
  %b = bppsa.step_sum %d : tensor<?x?x4xf32> -> tensor<4xf32>
  %c = bppsa.step_sum lanes 16 %p batch %n : tensor<?x?x4x16xf32> -> tensor<4xf32>
  return %w, %b, %c : tensor<4x3xf32>, tensor<4xf32>, tensor<4xf32>
}

// CHECK-LABEL: func.func @layout
// CHECK: bppsa.pack_lanes 16, %{{.*}} : tensor<?x?x3xf32> -> tensor<?x?x3x16xf32>
// CHECK: bppsa.unpack_lanes 16, %{{.*}}, %{{.*}} : tensor<2x3x16xf32> -> tensor<20x3xf32>
func.func @layout(%x: tensor<?x?x3xf32>, %h: tensor<2x3x16xf32>)
    -> (tensor<?x?x3x16xf32>, tensor<20x3xf32>) {
  %c20 = arith.constant 20 : index
  %0 = bppsa.pack_lanes 16, %x : tensor<?x?x3xf32> -> tensor<?x?x3x16xf32>
  %1 = bppsa.unpack_lanes 16, %h, %c20 : tensor<2x3x16xf32> -> tensor<20x3xf32>
  return %0, %1 : tensor<?x?x3x16xf32>, tensor<20x3xf32>
}

// CHECK-LABEL: func.func @tree
// CHECK: jacobian.linearize saved(%{{.*}} : tensor<?x4xf32>) states [4] -> <4x4xf32, dense, batch = ?>
// CHECK: jacobian.compose %[[J:.*]], %[[J]] : <4x4xf32, dense, batch = ?>
// CHECK: jacobian.apply %{{.*}}, %{{.*}} : <4x4xf32, dense, batch = ?>, tensor<?x4xf32> -> tensor<?x4xf32>
func.func @tree(%a: tensor<?x4xf32>, %g: tensor<?x4xf32>) -> tensor<?x4xf32> {
  %j = jacobian.linearize saved(%a : tensor<?x4xf32>) states [4] -> !jacobian.matrix<4x4xf32, dense, batch = ?> {
  ^bb0(%at: vector<4xf32>, %gt: vector<4xf32>):
    %1 = arith.mulf %at, %gt : vector<4xf32>
    jacobian.yield %1 : vector<4xf32>
  }
  %k = jacobian.compose %j, %j : !jacobian.matrix<4x4xf32, dense, batch = ?>, !jacobian.matrix<4x4xf32, dense, batch = ?> -> !jacobian.matrix<4x4xf32, dense, batch = ?>
  %0 = jacobian.apply %k, %g : !jacobian.matrix<4x4xf32, dense, batch = ?>, tensor<?x4xf32> -> tensor<?x4xf32>
  return %0 : tensor<?x4xf32>
}

// CHECK-LABEL: func.func @link
// CHECK: jacobian.link %{{.*}} : (tensor<?x2x2xf32>) -> tensor<?x4xf32> {
// CHECK-NEXT: ^bb0(%[[G:.*]]: tensor<?x2x2xf32>):
// CHECK-NEXT:   %[[FLAT:.*]] = tensor.collapse_shape %[[G]]
// CHECK-NEXT:   jacobian.yield %[[FLAT]] : tensor<?x4xf32>
// CHECK-NEXT: } jacobian {
// CHECK-NEXT: ^bb0(%{{.*}}: tensor<?x2x2xf32>):
// CHECK-NEXT:   %[[J:.*]] = jacobian.assemble
// CHECK-NEXT:   jacobian.yield %[[J]] : !jacobian.matrix<4x4xf32, diagonal>
// CHECK: jacobian.link %{{.*}} : (tensor<3x2xf32>) -> (tensor<3x2xf32>, tensor<2xf32>) {
// CHECK: jacobian.yield %{{.*}}, %{{.*}} : !jacobian.matrix<2x2xf32, diagonal, batch = 3>, tensor<2xf32>
func.func @link(%g: tensor<?x2x2xf32>, %ones: tensor<4xf32>, %h: tensor<3x2xf32>, %s: tensor<3x2xf32>, %w: tensor<2xf32>)
    -> (tensor<?x4xf32>, tensor<3x2xf32>, tensor<2xf32>) {
  %0 = jacobian.link %g : (tensor<?x2x2xf32>) -> tensor<?x4xf32> {
  ^bb0(%gy: tensor<?x2x2xf32>):
    %2 = tensor.collapse_shape %gy [[0], [1, 2]] : tensor<?x2x2xf32> into tensor<?x4xf32>
    jacobian.yield %2 : tensor<?x4xf32>
  } jacobian {
  ^bb0(%gy: tensor<?x2x2xf32>):
    %2 = jacobian.assemble %ones : tensor<4xf32> -> !jacobian.matrix<4x4xf32, diagonal>
    jacobian.yield %2 : !jacobian.matrix<4x4xf32, diagonal>
  }
  %1:2 = jacobian.link %h : (tensor<3x2xf32>) -> (tensor<3x2xf32>, tensor<2xf32>) {
  ^bb0(%gy: tensor<3x2xf32>):
    jacobian.yield %gy, %w : tensor<3x2xf32>, tensor<2xf32>
  } jacobian {
  ^bb0(%gy: tensor<3x2xf32>):
    %2 = jacobian.assemble %s : tensor<3x2xf32> -> !jacobian.matrix<2x2xf32, diagonal, batch = 3>
    jacobian.yield %2, %w : !jacobian.matrix<2x2xf32, diagonal, batch = 3>, tensor<2xf32>
  }
  return %0, %1#0, %1#1 : tensor<?x4xf32>, tensor<3x2xf32>, tensor<2xf32>
}

// CHECK-LABEL: func.func private @types
// CHECK-SAME: !jacobian.matrix<2x3xf32, zero>, !jacobian.matrix<3x3xf32, identity>, !jacobian.matrix<3x3xf32, diagonal, batch = 16>
// CHECK-SAME: #bppsa.plan<hybrid, 2>
// CHECK-SAME: #jacobian.structure<diagonal>
func.func private @types(!jacobian.matrix<2x3xf32, zero>, !jacobian.matrix<3x3xf32, identity>, !jacobian.matrix<3x3xf32, diagonal, batch = 16>)
    attributes {plan = #bppsa.plan<hybrid, 2>, structure = #jacobian.structure<diagonal>}

// CHECK-LABEL: func.func @graph
// CHECK: bppsa.mark_phase 1
// CHECK: bppsa.stop_gradient %{{.*}} : tensor<?xf32>
// CHECK: bppsa.dropout %{{.*}} ratio 5.000000e-01 stream 3 : tensor<?xf32>
// CHECK: bppsa.running_statistic %{{.*}} of %{{.*}} momentum 7.500000e-01 : tensor<?xf32>
func.func @graph(%x: tensor<?xf32>) -> tensor<?xf32> {
  bppsa.mark_phase 1
  %0 = bppsa.stop_gradient %x : tensor<?xf32>
  %1 = bppsa.dropout %0 ratio 5.000000e-01 stream 3 : tensor<?xf32>
  %2, %3 = bppsa.running_statistic %1 of %x momentum 7.5e-01 : tensor<?xf32>
  return %2 : tensor<?xf32>
}

// CHECK-LABEL: func.func private @structures
// CHECK-SAME: !jacobian.matrix<2x3xf32, shared_dense>
// CHECK-SAME: !jacobian.matrix<3x3xf32, sum(diagonal, row_scaled, column_scaled), batch = ?>
// CHECK-SAME: !jacobian.matrix<4x6xf32, csr(#jacobian.pattern<4x6, {{\[\[}}1 to 3], [0, 2], []], [0, 1, 0, 2]>)>
// CHECK-SAME: !jacobian.matrix<4x6xf32, block_diagonal(2, csr(#jacobian.pattern<2x3, {{\[\[}}2], [0]], [0, 1]>))>
// CHECK-SAME: !jacobian.matrix<3x5xf32, blocks([1, 2], [3, 2], [zero, dense, dense, identity]), batch = 8>
// CHECK-SAME: #jacobian.pattern<0x0, [], []>
func.func private @structures(
    !jacobian.matrix<2x3xf32, shared_dense>,
    !jacobian.matrix<3x3xf32, sum(diagonal, row_scaled, column_scaled), batch = ?>,
    // One row without outputs, and two equal rows.
    !jacobian.matrix<4x6xf32, csr(#jacobian.pattern<4x6, [[5], [1, 2, 3], [0, 2], [1 to 3], []], [1, 2, 3, 4]>)>,
    !jacobian.matrix<4x6xf32, block_diagonal(2, csr(#jacobian.pattern<2x3, [[2], [0]], [0, 1]>))>,
    !jacobian.matrix<3x5xf32, blocks([1, 2], [3, 2], [zero, dense, dense, identity]), batch = 8>)
    attributes {empty = #jacobian.pattern<0x0, [], []>}

// CHECK-LABEL: func.func @products
// CHECK: jacobian.compose {{.*}} -> <4x4xf32, diagonal, batch = ?>
// CHECK: jacobian.compose {{.*}} -> <4x2xf32, csr(#jacobian.pattern<4x2, {{\[\[}}0], [1], []], [0, 0 to 2]>), batch = ?>
func.func @products(%d: !jacobian.matrix<4x4xf32, diagonal, batch = ?>,
                    %p: !jacobian.matrix<4x2xf32, csr(#jacobian.pattern<4x2, [[0], [1], []], [0, 0, 1, 2]>)>)
    -> (!jacobian.matrix<4x4xf32, diagonal, batch = ?>, !jacobian.matrix<4x2xf32, csr(#jacobian.pattern<4x2, [[0], [1], []], [0, 0, 1, 2]>), batch = ?>) {
  %0 = jacobian.compose %d, %d : !jacobian.matrix<4x4xf32, diagonal, batch = ?>, !jacobian.matrix<4x4xf32, diagonal, batch = ?> -> !jacobian.matrix<4x4xf32, diagonal, batch = ?>
  %1 = jacobian.compose %p, %d : !jacobian.matrix<4x2xf32, csr(#jacobian.pattern<4x2, [[0], [1], []], [0, 0, 1, 2]>)>, !jacobian.matrix<4x4xf32, diagonal, batch = ?> -> !jacobian.matrix<4x2xf32, csr(#jacobian.pattern<4x2, [[0], [1], []], [0, 0, 1, 2]>), batch = ?>
  return %0, %1 : !jacobian.matrix<4x4xf32, diagonal, batch = ?>, !jacobian.matrix<4x2xf32, csr(#jacobian.pattern<4x2, [[0], [1], []], [0, 0, 1, 2]>), batch = ?>
}

// CHECK-LABEL: func.func @assemble
// CHECK: jacobian.assemble %{{.*}} at [0, 1, 0, 1] : tensor<2xf32> -> <3x2xf32, csr(#jacobian.pattern<3x2, {{\[\[}}0], [0, 1], [1]], [0 to 2]>)>
// CHECK: jacobian.assemble %{{.*}} : tensor<2x3xf32> -> <3x2xf32, dense>
// CHECK: jacobian.assemble %{{.*}} : tensor<?x3xf32> -> <3x3xf32, diagonal, batch = ?>
// CHECK: jacobian.assemble %{{.*}} at [1, 0, 1] : tensor<8x2xf32> -> <3x3xf32, diagonal, batch = 8>
func.func @assemble(%w: tensor<2xf32>, %m: tensor<2x3xf32>, %s: tensor<?x3xf32>, %p: tensor<8x2xf32>) {
  %0 = jacobian.assemble %w at [0, 1, 0, 1] : tensor<2xf32> -> !jacobian.matrix<3x2xf32, csr(#jacobian.pattern<3x2, [[0], [0, 1], [1]], [0 to 2]>)>
  %1 = jacobian.assemble %m : tensor<2x3xf32> -> !jacobian.matrix<3x2xf32, dense>
  %2 = jacobian.assemble %s : tensor<?x3xf32> -> !jacobian.matrix<3x3xf32, diagonal, batch = ?>
  %3 = jacobian.assemble %p at [1, 0, 1] : tensor<8x2xf32> -> !jacobian.matrix<3x3xf32, diagonal, batch = 8>
  return
}

// CHECK-LABEL: func.func @sparse_apply
// CHECK: jacobian.sparse_apply values(%{{.*}} : tensor<4xf32>) rows(%{{.*}} : tensor<4xi32>) columns(%{{.*}} : tensor<4xi32>) cotangent(%{{.*}} : tensor<2x?xf32>) -> tensor<3x?xf32>
// CHECK: jacobian.sparse_apply values(%{{.*}} : tensor<2x?xf32>) rows(%{{.*}} : tensor<4xi32>) columns(%{{.*}} : tensor<4xi32>) at(%{{.*}} : tensor<4xi32>) cotangent(%{{.*}} : tensor<2x?xf32>) -> tensor<3x?xf32>
// CHECK: jacobian.sparse_apply values(%{{.*}} : memref<6x?xf32>) cotangent(%{{.*}} : memref<2x?xf32>) into(%{{.*}} : memref<3x?xf32>)
func.func @sparse_apply(%shared: tensor<4xf32>, %own: tensor<2x?xf32>, %rows: tensor<4xi32>, %columns: tensor<4xi32>,
    %positions: tensor<4xi32>, %g: tensor<2x?xf32>, %dense: memref<6x?xf32>, %h: memref<2x?xf32>, %out: memref<3x?xf32>)
    -> (tensor<3x?xf32>, tensor<3x?xf32>) {
  %0 = jacobian.sparse_apply values(%shared : tensor<4xf32>) rows(%rows : tensor<4xi32>) columns(%columns : tensor<4xi32>) cotangent(%g : tensor<2x?xf32>) -> tensor<3x?xf32>
  %1 = jacobian.sparse_apply values(%own : tensor<2x?xf32>) rows(%rows : tensor<4xi32>) columns(%columns : tensor<4xi32>) at(%positions : tensor<4xi32>) cotangent(%g : tensor<2x?xf32>) -> tensor<3x?xf32>
  jacobian.sparse_apply values(%dense : memref<6x?xf32>) cotangent(%h : memref<2x?xf32>) into(%out : memref<3x?xf32>)
  return %0, %1 : tensor<3x?xf32>, tensor<3x?xf32>
}

// CHECK-LABEL: func.func @sparse_compose
// CHECK: jacobian.sparse_compose 3 x 2 x 2 first(%{{.*}} : tensor<4xf32>) second(%{{.*}} : tensor<4xf32>) rows(%{{.*}} : tensor<4xi32>) columns(%{{.*}} : tensor<4xi32>) -> tensor<6xf32>
// CHECK: jacobian.sparse_compose 3 x 2 x 2 first(%{{.*}} : tensor<2x?xf32>) rows(%{{.*}} : tensor<3xi32>) columns(%{{.*}} : tensor<2xi32>) second(%{{.*}} : tensor<4xf32>) rows(%{{.*}} : tensor<4xi32>) columns(%{{.*}} : tensor<4xi32>) at(%{{.*}} : tensor<4xi32>) result_rows(%{{.*}} : tensor<4xi32>) result_columns(%{{.*}} : tensor<4xi32>) -> tensor<4x?xf32>
// CHECK: jacobian.sparse_compose 3 x 2 x 2 first(%{{.*}} : memref<4xf32>) second(%{{.*}} : memref<6x?xf32>) into(%{{.*}} : memref<6x?xf32>)
func.func @sparse_compose(%shared: tensor<4xf32>, %own: tensor<2x?xf32>, %rows: tensor<4xi32>, %columns: tensor<4xi32>,
    %positions: tensor<4xi32>, %starts: tensor<3xi32>, %diagonal: tensor<2xi32>, %a: memref<4xf32>, %b: memref<6x?xf32>, %out: memref<6x?xf32>)
    -> (tensor<6xf32>, tensor<4x?xf32>) {
  %0 = jacobian.sparse_compose 3 x 2 x 2 first(%shared : tensor<4xf32>) second(%shared : tensor<4xf32>) rows(%rows : tensor<4xi32>) columns(%columns : tensor<4xi32>) -> tensor<6xf32>
  %1 = jacobian.sparse_compose 3 x 2 x 2 first(%own : tensor<2x?xf32>) rows(%starts : tensor<3xi32>) columns(%diagonal : tensor<2xi32>) second(%shared : tensor<4xf32>) rows(%rows : tensor<4xi32>) columns(%columns : tensor<4xi32>) at(%positions : tensor<4xi32>) result_rows(%rows : tensor<4xi32>) result_columns(%columns : tensor<4xi32>) -> tensor<4x?xf32>
  jacobian.sparse_compose 3 x 2 x 2 first(%a : memref<4xf32>) second(%b : memref<6x?xf32>) into(%out : memref<6x?xf32>)
  return %0, %1 : tensor<6xf32>, tensor<4x?xf32>
}

// CHECK-LABEL: func.func @sparse_outer_sum
// CHECK: jacobian.sparse_outer_sum lhs(%{{.*}} : tensor<4x?xf32>) rhs(%{{.*}} : tensor<3x?xf32>) starts(%{{.*}} : tensor<3xi32>) rows(%{{.*}}, %{{.*}} : tensor<5xi32>, tensor<5xi32>) at(%{{.*}} : tensor<2xi32>) -> tensor<6xf32>
// CHECK: jacobian.sparse_outer_sum lhs(%{{.*}} : memref<4x8xf32>) rhs(%{{.*}} : memref<3x8xf32>) starts(%{{.*}} : memref<3xi32>) rows(%{{.*}}, %{{.*}} : memref<5xi32>, memref<5xi32>) at(%{{.*}} : memref<2xi32>) into(%{{.*}} : memref<6xf32>){{$}}
func.func @sparse_outer_sum(%x: tensor<4x?xf32>, %g: tensor<3x?xf32>, %starts: tensor<3xi32>, %rows: tensor<5xi32>, %positions: tensor<2xi32>,
    %y: memref<4x8xf32>, %h: memref<3x8xf32>, %s: memref<3xi32>, %r: memref<5xi32>, %p: memref<2xi32>, %out: memref<6xf32>) -> tensor<6xf32> {
  %0 = jacobian.sparse_outer_sum lhs(%x : tensor<4x?xf32>) rhs(%g : tensor<3x?xf32>)
      starts(%starts : tensor<3xi32>) rows(%rows, %rows : tensor<5xi32>, tensor<5xi32>) at(%positions : tensor<2xi32>) -> tensor<6xf32>
  jacobian.sparse_outer_sum lhs(%y : memref<4x8xf32>) rhs(%h : memref<3x8xf32>)
      starts(%s : memref<3xi32>) rows(%r, %r : memref<5xi32>, memref<5xi32>) at(%p : memref<2xi32>) into(%out : memref<6xf32>)
  return %0 : tensor<6xf32>
}
