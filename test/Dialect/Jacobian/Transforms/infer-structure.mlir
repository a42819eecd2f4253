// RUN: bppsa-opt %s --bppsa-infer-structure | FileCheck %s
// RUN: bppsa-opt %s --bppsa-infer-structure --remarks-filter=structure -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK

#image = affine_map<(n, o, y, x, i, ky, kx) -> (n, i, y + ky, x + kx)>
#weight = affine_map<(n, o, y, x, i, ky, kx) -> (o, i, ky, kx)>
#feature = affine_map<(n, o, y, x, i, ky, kx) -> (n, o, y, x)>
#id4 = affine_map<(a, b, c, d) -> (a, b, c, d)>
#id3 = affine_map<(a, b, c) -> (a, b, c)>
#window = affine_map<(n, c, y, ky) -> (n, c, y * 2 + ky)>
#kernel = affine_map<(n, c, y, ky) -> (ky)>
#place = affine_map<(n, c, y, ky) -> (n, c, y)>

// The entries of a convolution are its weights, shared by all samples; padding selects rows.

// CHECK-LABEL: func.func @conv
// CHECK: tensor.insert_slice
// CHECK-SAME: jacobian.operands = #jacobian.operands<!jacobian.matrix<4x16xf32, csr(#jacobian.pattern<4x16, {{\[\[}}5], [6], [9], [10{{\]\]}}, [0 to 3]>)>, none, none>
// CHECK: linalg.generic
// CHECK-SAME: jacobian.operands = #jacobian.operands<!jacobian.matrix<16x8xf32, csr(#jacobian.pattern<16x8, {{\[\[}}0, 4], [0, 1, 4, 5], [1, 5],
// CHECK: linalg.generic
// CHECK-SAME: jacobian.operands = #jacobian.operands<!jacobian.matrix<8x8xf32, diagonal, batch = ?>, none>
// CHECK: tensor.collapse_shape
// CHECK-SAME: jacobian.operands = #jacobian.operands<!jacobian.matrix<8x8xf32, identity>>

// REMARK: jacobian of tensor.insert_slice: 4x16, csr with 4 entries, 93.7500 % of it zero, shared by all samples
// REMARK: jacobian of linalg.generic: 16x8, csr with 72 entries, 43.7500 % of it zero, shared by all samples
// REMARK: jacobian of linalg.generic: 8x8, diagonal, 87.5000 % of it zero, one for each sample
// The padding is part of the convolution, and the reshape is not a link.
// REMARK: link 1 of 2, linalg.generic: 8x8, diagonal, 87.5000 % of it zero, one for each sample
// REMARK: link 2 of 2, linalg.generic: 4x8, shared_dense, 0.0000 % of it zero, shared by all samples
func.func @conv(%x: tensor<?x1x2x2xf32> {bppsa.input = "x"}, %w: tensor<2x1x3x3xf32>)
    -> tensor<?x8xf32> {
  %zero = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : tensor<?x1x2x2xf32>
  %e0 = tensor.empty(%n) : tensor<?x1x4x4xf32>
  %f0 = linalg.fill ins(%zero : f32) outs(%e0 : tensor<?x1x4x4xf32>) -> tensor<?x1x4x4xf32>
  %p = tensor.insert_slice %x into %f0[0, 0, 1, 1] [%n, 1, 2, 2] [1, 1, 1, 1] : tensor<?x1x2x2xf32> into tensor<?x1x4x4xf32>
  %e1 = tensor.empty(%n) : tensor<?x2x2x2xf32>
  %f1 = linalg.fill ins(%zero : f32) outs(%e1 : tensor<?x2x2x2xf32>) -> tensor<?x2x2x2xf32>
  %c = linalg.generic {indexing_maps = [#image, #weight, #feature],
      iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]}
      ins(%p, %w : tensor<?x1x4x4xf32>, tensor<2x1x3x3xf32>) outs(%f1 : tensor<?x2x2x2xf32>) {
    ^bb0(%a: f32, %b: f32, %sum: f32):
      %0 = arith.mulf %a, %b : f32
      %1 = arith.addf %sum, %0 : f32
      linalg.yield %1 : f32
  } -> tensor<?x2x2x2xf32>
  %r = linalg.generic {indexing_maps = [#id4, #id4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%c : tensor<?x2x2x2xf32>) outs(%e1 : tensor<?x2x2x2xf32>) {
    ^bb0(%a: f32, %out: f32):
      %0 = arith.maximumf %a, %zero : f32
      linalg.yield %0 : f32
  } -> tensor<?x2x2x2xf32>
  %flat = tensor.collapse_shape %r [[0], [1, 2, 3]] : tensor<?x2x2x2xf32> into tensor<?x8xf32>
  return %flat : tensor<?x8xf32>
}

// All channels have the same window, so the matrix has one repeated block. Entries of the window
// are ones.

// CHECK-LABEL: func.func @average
// CHECK: linalg.generic
// CHECK-SAME: jacobian.operands = #jacobian.operands<!jacobian.matrix<12x6xf32, block_diagonal(3, csr(#jacobian.pattern<4x2, {{\[\[}}0], [1{{\]\]}}, [0, 0, 1, 1]>))>, none, none>
// CHECK: linalg.generic
// CHECK-SAME: jacobian.operands = #jacobian.operands<!jacobian.matrix<6x6xf32, diagonal>, none>
func.func @average(%x: tensor<?x3x4xf32> {bppsa.input = "x"}) -> tensor<?x3x2xf32> {
  %zero = arith.constant 0.0 : f32
  %two = arith.constant 2.0 : f32
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : tensor<?x3x4xf32>
  %k = tensor.empty() : tensor<2xf32>
  %e = tensor.empty(%n) : tensor<?x3x2xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<?x3x2xf32>) -> tensor<?x3x2xf32>
  %s = linalg.generic {indexing_maps = [#window, #kernel, #place],
      iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
      ins(%x, %k : tensor<?x3x4xf32>, tensor<2xf32>) outs(%f : tensor<?x3x2xf32>) {
    ^bb0(%a: f32, %b: f32, %sum: f32):
      %0 = arith.addf %sum, %a : f32
      linalg.yield %0 : f32
  } -> tensor<?x3x2xf32>
  %m = linalg.generic {indexing_maps = [#id3, #id3], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%s : tensor<?x3x2xf32>) outs(%e : tensor<?x3x2xf32>) {
    ^bb0(%a: f32, %out: f32):
      %0 = arith.divf %a, %two : f32
      linalg.yield %0 : f32
  } -> tensor<?x3x2xf32>
  return %m : tensor<?x3x2xf32>
}

// A max pool searches for the index of each maximum and reads that element; windows of 3 overlap.

// CHECK-LABEL: func.func @max_pool
// CHECK: jacobian.operands = #jacobian.operands<none, none, !jacobian.matrix<10x4xf32, csr(#jacobian.pattern<10x4, {{\[\[}}0], [0, 1], [1], [2], [2, 3], [3{{\]\]}}, [0, 0 to 2, 2, 3, 3 to 5, 5]>), batch = ?>>
func.func @max_pool(%x: tensor<?x2x5xf32> {bppsa.input = "x"}) -> tensor<?x2x2xf32> {
  %lowest = arith.constant 0xFF800000 : f32
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : tensor<?x2x5xf32>
  %k = tensor.empty() : tensor<3xf32>
  %e = tensor.empty(%n) : tensor<?x2x2xf32>
  %ei = tensor.empty(%n) : tensor<?x2x2xi64>
  %max = linalg.fill ins(%lowest : f32) outs(%e : tensor<?x2x2xf32>) -> tensor<?x2x2xf32>
  %first = linalg.generic {indexing_maps = [#id3], iterator_types = ["parallel", "parallel", "parallel"]}
      outs(%ei : tensor<?x2x2xi64>) {
    ^bb0(%out: i64):
      %y = linalg.index 2 : index
      %0 = affine.apply affine_map<(d0) -> (d0 * 2)>(%y)
      %1 = arith.index_cast %0 : index to i64
      linalg.yield %1 : i64
  } -> tensor<?x2x2xi64>
  %search:2 = linalg.generic {indexing_maps = [#window, #kernel, #place, #place],
      iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
      ins(%x, %k : tensor<?x2x5xf32>, tensor<3xf32>) outs(%max, %first : tensor<?x2x2xf32>, tensor<?x2x2xi64>) {
    ^bb0(%a: f32, %b: f32, %largest: f32, %found: i64):
      %better = arith.cmpf ogt, %a, %largest : f32
      %y = linalg.index 2 : index
      %ky = linalg.index 3 : index
      %0 = affine.apply affine_map<(d0, d1) -> (d0 * 2 + d1)>(%y, %ky)
      %1 = arith.index_cast %0 : index to i64
      %2 = arith.select %better, %a, %largest : f32
      %3 = arith.select %better, %1, %found : i64
      linalg.yield %2, %3 : f32, i64
  } -> (tensor<?x2x2xf32>, tensor<?x2x2xi64>)
  %r = linalg.generic {indexing_maps = [#id3, #id3], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%search#1 : tensor<?x2x2xi64>) outs(%e : tensor<?x2x2xf32>) {
    ^bb0(%position: i64, %out: f32):
      %i = linalg.index 0 : index
      %c = linalg.index 1 : index
      %p = arith.index_cast %position : i64 to index
      %0 = tensor.extract %x[%i, %c, %p] : tensor<?x2x5xf32>
      linalg.yield %0 : f32
  } -> tensor<?x2x2xf32>
  return %r : tensor<?x2x2xf32>
}

// The same matrix applies at every position of a sequence whose second dimension is the batch.

// CHECK-LABEL: func.func @positions
// CHECK: linalg.generic
// CHECK-SAME: jacobian.operands = #jacobian.operands<!jacobian.matrix<15x10xf32, block_diagonal(5, shared_dense)>, none, none>
func.func @positions(%x: tensor<5x?x3xf32> {bppsa.input = "x", bppsa.batch_axis = 1 : i64}, %w: tensor<2x3xf32>)
    -> tensor<5x?x2xf32> {
  %zero = arith.constant 0.0 : f32
  %c1 = arith.constant 1 : index
  %n = tensor.dim %x, %c1 : tensor<5x?x3xf32>
  %e = tensor.empty(%n) : tensor<5x?x2xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<5x?x2xf32>) -> tensor<5x?x2xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(t, n, o, i) -> (t, n, i)>, affine_map<(t, n, o, i) -> (o, i)>, affine_map<(t, n, o, i) -> (t, n, o)>],
      iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
      ins(%x, %w : tensor<5x?x3xf32>, tensor<2x3xf32>) outs(%f : tensor<5x?x2xf32>) {
    ^bb0(%a: f32, %b: f32, %sum: f32):
      %0 = arith.mulf %a, %b : f32
      %1 = arith.addf %sum, %0 : f32
      linalg.yield %1 : f32
  } -> tensor<5x?x2xf32>
  return %y : tensor<5x?x2xf32>
}

// A residual connection; a sum over samples has no structure.

// CHECK-LABEL: func.func @residual
// CHECK: linalg.generic
// CHECK-SAME: jacobian.operands = #jacobian.operands<!jacobian.matrix<4x4xf32, identity>, !jacobian.matrix<4x4xf32, identity>, none>
// CHECK: linalg.generic
// CHECK-NOT: jacobian.operands
// CHECK: return
// REMARK: no structure of linalg.generic is known: its result mixes samples
func.func @residual(%x: tensor<?x4xf32> {bppsa.input = "x"}, %y: tensor<?x4xf32> {bppsa.input = "y"}) -> tensor<4xf32> {
  %zero = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : tensor<?x4xf32>
  %e = tensor.empty(%n) : tensor<?x4xf32>
  %s = linalg.generic {indexing_maps = [affine_map<(a, b) -> (a, b)>, affine_map<(a, b) -> (a, b)>, affine_map<(a, b) -> (a, b)>], iterator_types = ["parallel", "parallel"]}
      ins(%x, %y : tensor<?x4xf32>, tensor<?x4xf32>) outs(%e : tensor<?x4xf32>) {
    ^bb0(%a: f32, %b: f32, %out: f32):
      %0 = arith.addf %a, %b : f32
      linalg.yield %0 : f32
  } -> tensor<?x4xf32>
  %e1 = tensor.empty() : tensor<4xf32>
  %f1 = linalg.fill ins(%zero : f32) outs(%e1 : tensor<4xf32>) -> tensor<4xf32>
  %t = linalg.generic {indexing_maps = [affine_map<(a, b) -> (a, b)>, affine_map<(a, b) -> (b)>], iterator_types = ["reduction", "parallel"]}
      ins(%s : tensor<?x4xf32>) outs(%f1 : tensor<4xf32>) {
    ^bb0(%a: f32, %sum: f32):
      %0 = arith.addf %sum, %a : f32
      linalg.yield %0 : f32
  } -> tensor<4xf32>
  return %t : tensor<4xf32>
}

// A cell without a recurrent matrix is diagonal; tanh(R h) scales the columns of R transposed.

// CHECK-LABEL: func.func @recurrences
// CHECK: bppsa.recurrence
// CHECK-SAME: jacobian.operands = #jacobian.operands<!jacobian.matrix<3x3xf32, diagonal, batch = ?>>
// CHECK: bppsa.recurrence
// CHECK-SAME: jacobian.operands = #jacobian.operands<!jacobian.matrix<3x3xf32, column_scaled, batch = ?>>
// REMARK: jacobian of bppsa.recurrence: 3x3, diagonal
func.func @recurrences(%x: tensor<?x?x3xf32> {bppsa.input = "x", bppsa.batch_axis = 1 : i64}, %h: tensor<?x3xf32>, %r: tensor<3x3xf32>)
    -> (tensor<?x?x3xf32>, tensor<?x?x3xf32>) {
  %0 = bppsa.recurrence sequences(%x : tensor<?x?x3xf32>) initial(%h : tensor<?x3xf32>) -> (tensor<?x?x3xf32>) {
  ^bb0(%xt: vector<3xf32>, %ht: vector<3xf32>):
    %g = bppsa.sigmoid %xt : vector<3xf32>
    %d = arith.subf %xt, %ht : vector<3xf32>
    %u = arith.mulf %g, %d : vector<3xf32>
    %n = arith.addf %ht, %u : vector<3xf32>
    bppsa.yield %n : vector<3xf32>
  }
  %1 = bppsa.recurrence sequences(%x : tensor<?x?x3xf32>) initial(%h : tensor<?x3xf32>) captures(%r : tensor<3x3xf32>) -> (tensor<?x?x3xf32>) {
  ^bb0(%xt: vector<3xf32>, %ht: vector<3xf32>, %rc: vector<3x3xf32>):
    %a = bppsa.matvec %rc, %ht plus %xt : vector<3x3xf32>, vector<3xf32> plus vector<3xf32> -> vector<3xf32>
    %n = math.tanh %a : vector<3xf32>
    bppsa.yield %n : vector<3xf32>
  }
  return %0, %1 : tensor<?x?x3xf32>, tensor<?x?x3xf32>
}

// In an LSTM, the old output reaches the new one only through gates; the cell state passes through
// a diagonal. The chain has the form that differentiation emits.

// CHECK-LABEL: func.func @lstm
// CHECK: bppsa.recurrence
// CHECK-SAME: jacobian.operands = #jacobian.operands<!jacobian.matrix<4x4xf32, blocks([2, 2], [2, 2], [sum(column_scaled, column_scaled), column_scaled, diagonal, diagonal]), batch = ?>>
// CHECK: bppsa.chain
// CHECK-SAME: structure <blocks([2, 2], [2, 2], [shared_dense, column_scaled, zero, diagonal])>
// CHECK-SAME: terms [#bppsa.term<row = 0, col = 0, matrix = 0, transposed = true>, #bppsa.term<row = 0, col = 1, matrix = 0, right = 0, transposed = true>,
// CHECK-SAME: #bppsa.term<row = 1, col = 1, right = 0>]
func.func @lstm(%x: tensor<?x?x2xf32> {bppsa.input = "x", bppsa.batch_axis = 1 : i64}, %h: tensor<?x2xf32>,
                %ro: tensor<2x2xf32>, %rf: tensor<2x2xf32>) -> (tensor<?x?x2xf32>, tensor<?x?x2xf32>, tensor<?x2xf32>, tensor<?x2xf32>) {
  %0, %1 = bppsa.recurrence sequences(%x : tensor<?x?x2xf32>) initial(%h, %h : tensor<?x2xf32>, tensor<?x2xf32>)
      captures(%ro, %rf : tensor<2x2xf32>, tensor<2x2xf32>) -> (tensor<?x?x2xf32>, tensor<?x?x2xf32>) {
  ^bb0(%xt: vector<2xf32>, %ht: vector<2xf32>, %ct: vector<2xf32>, %roc: vector<2x2xf32>, %rfc: vector<2x2xf32>):
    %f0 = bppsa.matvec %rfc, %ht plus %xt : vector<2x2xf32>, vector<2xf32> plus vector<2xf32> -> vector<2xf32>
    %f = bppsa.sigmoid %f0 : vector<2xf32>
    %c = arith.mulf %f, %ct : vector<2xf32>
    %o0 = bppsa.matvec %roc, %ht plus %xt : vector<2x2xf32>, vector<2xf32> plus vector<2xf32> -> vector<2xf32>
    %o = bppsa.sigmoid %o0 : vector<2xf32>
    %t = math.tanh %c : vector<2xf32>
    %n = arith.mulf %o, %t : vector<2xf32>
    bppsa.yield %n, %c : vector<2xf32>, vector<2xf32>
  }
  %2, %3 = bppsa.chain saved(%x : tensor<?x?x2xf32>) seeds(%h, %h : tensor<?x2xf32>, tensor<?x2xf32>)
      captures(%ro : tensor<2x2xf32>) -> (tensor<?x2xf32>, tensor<?x2xf32>) {
  ^bb0(%a: vector<2xf32>, %gh: vector<2xf32>, %gc: vector<2xf32>, %roc: vector<2x2xf32>):
    %d = arith.mulf %a, %gc : vector<2xf32>
    %s = bppsa.matvec transposed %roc, %d : vector<2x2xf32>, vector<2xf32> -> vector<2xf32>
    %u = bppsa.matvec transposed %roc, %gh plus %s : vector<2x2xf32>, vector<2xf32> plus vector<2xf32> -> vector<2xf32>
    bppsa.yield %u, %d : vector<2xf32>, vector<2xf32>
  }
  return %0, %1, %2, %3 : tensor<?x?x2xf32>, tensor<?x?x2xf32>, tensor<?x2xf32>, tensor<?x2xf32>
}
