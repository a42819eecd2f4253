// RUN: bppsa-opt %s --split-input-file --bppsa-differentiate="wrt=all links=true" --bppsa-scan-links=algorithm=linear --canonicalize --cse | FileCheck %s
// RUN: bppsa-opt %s --split-input-file --bppsa-differentiate="wrt=all links=true" --remarks-filter=links -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK

#window = affine_map<(b, i, k) -> (b, i + k)>
#tap = affine_map<(b, i, k) -> (k)>
#place = affine_map<(b, i, k) -> (b, i)>
#id = affine_map<(b, i) -> (b, i)>
#scalar = affine_map<(b, i) -> ()>

// The slopes of tanh are the result of its rule for ones. The matrix of the convolution is built
// from its weights, and the gradient of the weights is computed from the list of links.

// CHECK-LABEL: func.func @step(
// CHECK-SAME:    %[[X:.*]]: tensor<?x4xf32> {{.*}}, %[[K:.*]]: tensor<2xf32> {{.*}}, %{{.*}}: tensor<?x3xf32>, %{{.*}}: tensor<f32>)
// CHECK:         bppsa.mark_phase 1
// CHECK:         %[[G:.*]] = linalg.generic {{.*}} ins(%{{.*}} : tensor<f32>)
// CHECK:         %[[ONES:.*]] = linalg.fill ins(%cst{{.*}}) outs({{.*}}) -> tensor<?x3xf32>
// CHECK:         %[[SLOPES:.*]] = linalg.generic {{.*}} ins(%[[ONES]], %{{.*}} :
// CHECK-NEXT:    ^bb0
// CHECK-NEXT:      math.tanh
// CHECK:         %[[TANH:.*]] = jacobian.assemble %[[SLOPES]] : tensor<?x3xf32> -> <3x3xf32, diagonal, batch = ?>
// CHECK-NEXT:    %[[CONV:.*]] = jacobian.assemble %[[K]] at [0, 1, 0, 1, 0, 1] : tensor<2xf32> -> <4x3xf32, csr(#jacobian.pattern<4x3, {{\[\[}}0], [0, 1], [1, 2], [2]], [0 to 3]>)>
// CHECK-NEXT:    %[[H:.*]] = jacobian.apply %[[TANH]], %[[G]]
// CHECK-NEXT:    %[[DX:.*]] = jacobian.apply %[[CONV]], %[[H]]
// CHECK:         %[[DK:.*]] = linalg.generic {{.*}} ins(%[[H]], %[[X]] :
// CHECK:         return %{{.*}}, %[[DX]], %[[DK]]

// REMARK: [Passed] LayerLinks | Category:links | Function=step | Remark="chain of 2 links"
// REMARK-NOT: the chain is cut
func.func @loss(%x: tensor<?x4xf32> {bppsa.input = "x", bppsa.batch_axis = 0}, %k: tensor<2xf32> {bppsa.parameter = "k"},
    %zeros: tensor<?x3xf32>, %zero: tensor<f32>) -> (tensor<f32> {bppsa.loss}) {
  %conv = linalg.generic {indexing_maps = [#window, #tap, #place], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %k : tensor<?x4xf32>, tensor<2xf32>) outs(%zeros : tensor<?x3xf32>) {
    ^bb0(%a: f32, %w: f32, %o: f32):
      %p = arith.mulf %a, %w : f32
      %s = arith.addf %o, %p : f32
      linalg.yield %s : f32
  } -> tensor<?x3xf32>
  %t = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%conv : tensor<?x3xf32>) outs(%zeros : tensor<?x3xf32>) {
    ^bb0(%a: f32, %o: f32):
      %0 = math.tanh %a : f32
      linalg.yield %0 : f32
  } -> tensor<?x3xf32>
  %loss = linalg.generic {indexing_maps = [#id, #scalar], iterator_types = ["reduction", "reduction"]}
      ins(%t : tensor<?x3xf32>) outs(%zero : tensor<f32>) {
    ^bb0(%a: f32, %o: f32):
      %s = arith.addf %o, %a : f32
      linalg.yield %s : f32
  } -> tensor<f32>
  return %loss : tensor<f32>
}

// -----

#id = affine_map<(b, i) -> (b, i)>
#scalar = affine_map<(b, i) -> ()>
#window = affine_map<(b, i, k) -> (b, i * 2 + k)>
#tap = affine_map<(b, i, k) -> (k)>
#place = affine_map<(b, i, k) -> (b, i)>
#first = affine_map<()[i] -> (i * 2)>
#number = affine_map<()[i, k] -> (i * 2 + k)>

// An entry of a pool is one if the index found by the forward pass is its row, and zero elsewhere.
// The padding is part of the pool: its rows are the elements that it moves.

// CHECK-LABEL: func.func @step(
// CHECK-DAG:     %[[ROWS:.*]] = arith.constant dense<[1, 2, 3]> : tensor<3xi32>
// CHECK-DAG:     %[[COLUMNS:.*]] = arith.constant dense<[0, 1, 1]> : tensor<3xi32>
// CHECK:         %[[FOUND:.*]]:2 = linalg.generic
// CHECK:         bppsa.mark_phase 1
// CHECK:         %[[CHOICE:.*]] = linalg.generic {{.*}} ins(%[[COLUMNS]], %[[ROWS]] : tensor<3xi32>, tensor<3xi32>) outs({{.*}} : tensor<?x3xf32>) {
// CHECK-NEXT:    ^bb0(%[[COLUMN:.*]]: i32, %[[ROW:.*]]: i32, %{{.*}}: f32):
// CHECK-DAG:       %[[SAMPLE:.*]] = linalg.index 0 : index
// CHECK-DAG:       %[[AT:.*]] = arith.index_cast %[[COLUMN]] : i32 to index
// CHECK:           %[[PLACE:.*]] = tensor.extract %[[FOUND]]#1[%[[SAMPLE]], %[[AT]]] : tensor<?x2xi64>
// CHECK:           %[[OWN:.*]] = arith.extsi %[[ROW]] : i32 to i64
// CHECK:           %[[SAME:.*]] = arith.cmpi eq, %[[PLACE]], %[[OWN]] : i64
// CHECK:           arith.select %[[SAME]], %cst{{.*}}, %cst{{.*}} : f32
// CHECK:         %[[POOL:.*]] = jacobian.assemble %[[CHOICE]] : tensor<?x3xf32> -> <3x2xf32, csr(#jacobian.pattern<3x2, {{\[\[}}0], [1]], [0, 1, 1]>), batch = ?>
// CHECK:         %[[G:.*]] = jacobian.apply {{.*}} diagonal
// CHECK:         jacobian.apply %[[POOL]], %[[G]]
// CHECK-NOT:     jacobian.apply
func.func @loss(%x: tensor<?x3xf32> {bppsa.input = "x", bppsa.batch_axis = 0}, %zeros: tensor<?x4xf32>, %lowest: tensor<?x2xf32>,
    %places: tensor<?x2xi64>, %taps: tensor<2xf32>, %zero: tensor<f32>) -> (tensor<f32> {bppsa.loss}) {
  %c0 = arith.constant 0 : index
  %b = tensor.dim %x, %c0 : tensor<?x3xf32>
  %padded = tensor.insert_slice %x into %zeros[0, 1] [%b, 3] [1, 1] : tensor<?x3xf32> into tensor<?x4xf32>
  %start = linalg.generic {indexing_maps = [#id], iterator_types = ["parallel", "parallel"]} outs(%places : tensor<?x2xi64>) {
    ^bb0(%o: i64):
      %i = linalg.index 1 : index
      %0 = affine.apply #first()[%i]
      %1 = arith.index_cast %0 : index to i64
      linalg.yield %1 : i64
  } -> tensor<?x2xi64>
  %found:2 = linalg.generic {indexing_maps = [#window, #tap, #place, #place], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%padded, %taps : tensor<?x4xf32>, tensor<2xf32>) outs(%lowest, %start : tensor<?x2xf32>, tensor<?x2xi64>) {
    ^bb0(%a: f32, %t: f32, %best: f32, %at: i64):
      %more = arith.cmpf ogt, %a, %best : f32
      %i = linalg.index 1 : index
      %k = linalg.index 2 : index
      %0 = affine.apply #number()[%i, %k]
      %1 = arith.index_cast %0 : index to i64
      %2 = arith.select %more, %a, %best : f32
      %3 = arith.select %more, %1, %at : i64
      linalg.yield %2, %3 : f32, i64
  } -> (tensor<?x2xf32>, tensor<?x2xi64>)
  %pool = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%found#1 : tensor<?x2xi64>) outs(%lowest : tensor<?x2xf32>) {
    ^bb0(%at: i64, %o: f32):
      %i = linalg.index 0 : index
      %place = arith.index_cast %at : i64 to index
      %e = tensor.extract %padded[%i, %place] : tensor<?x4xf32>
      linalg.yield %e : f32
  } -> tensor<?x2xf32>
  %tanh = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%pool : tensor<?x2xf32>) outs(%lowest : tensor<?x2xf32>) {
    ^bb0(%a: f32, %o: f32):
      %0 = math.tanh %a : f32
      linalg.yield %0 : f32
  } -> tensor<?x2xf32>
  %loss = linalg.generic {indexing_maps = [#id, #scalar], iterator_types = ["reduction", "reduction"]}
      ins(%tanh : tensor<?x2xf32>) outs(%zero : tensor<f32>) {
    ^bb0(%a: f32, %o: f32):
      %s = arith.addf %o, %a : f32
      linalg.yield %s : f32
  } -> tensor<f32>
  return %loss : tensor<f32>
}

// -----

#id = affine_map<(b, i) -> (b, i)>
#scalar = affine_map<(b, i) -> ()>

// An elementwise function does not absorb padding, because the result would not be diagonal.
// Padding moves elements, so all its entries are the same element.

// CHECK-LABEL: func.func @step(
// CHECK-DAG:     %[[ONE:.*]] = arith.constant dense<1.000000e+00> : tensor<1xf32>
// CHECK:         %[[TANH:.*]] = jacobian.assemble {{.*}} -> <4x4xf32, diagonal, batch = ?>
// CHECK:         %[[BORDER:.*]] = jacobian.assemble %[[ONE]] at [0, 0] : tensor<1xf32> -> <2x4xf32, csr(#jacobian.pattern<2x4, {{\[\[}}1], [2]], [0, 1]>)>
// CHECK:         %[[H:.*]] = jacobian.apply %[[TANH]], %{{.*}}
// CHECK:         jacobian.apply %[[BORDER]], %[[H]]
func.func @loss(%x: tensor<?x2xf32> {bppsa.input = "x", bppsa.batch_axis = 0}, %zeros: tensor<?x4xf32>, %zero: tensor<f32>)
    -> (tensor<f32> {bppsa.loss}) {
  %c0 = arith.constant 0 : index
  %b = tensor.dim %x, %c0 : tensor<?x2xf32>
  %padded = tensor.insert_slice %x into %zeros[0, 1] [%b, 2] [1, 1] : tensor<?x2xf32> into tensor<?x4xf32>
  %tanh = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%padded : tensor<?x4xf32>) outs(%zeros : tensor<?x4xf32>) {
    ^bb0(%a: f32, %o: f32):
      %0 = math.tanh %a : f32
      linalg.yield %0 : f32
  } -> tensor<?x4xf32>
  %loss = linalg.generic {indexing_maps = [#id, #scalar], iterator_types = ["reduction", "reduction"]}
      ins(%tanh : tensor<?x4xf32>) outs(%zero : tensor<f32>) {
    ^bb0(%a: f32, %o: f32):
      %s = arith.addf %o, %a : f32
      linalg.yield %s : f32
  } -> tensor<f32>
  return %loss : tensor<f32>
}

// -----

#id = affine_map<(b, i) -> (b, i)>
#scalar = affine_map<(b, i) -> ()>

// A sum with a skip connection joins two values. The chain between the sum and the loss starts with
// the result of the sum; the layer parallel to the skip connection has no matrix to compose with.

// CHECK-LABEL: func.func @step(
// CHECK:         bppsa.mark_phase 1
// CHECK-COUNT-2: jacobian.assemble
// CHECK-NOT:     jacobian.assemble
// CHECK:         jacobian.apply
// CHECK-NEXT:    %[[SUM:.*]] = jacobian.apply
// CHECK-NOT:     jacobian.apply
// CHECK:         %[[TANH:.*]] = linalg.generic {{.*}} ins(%[[SUM]], %{{.*}} : tensor<?x3xf32>, tensor<?x3xf32>)
// CHECK-NEXT:    ^bb0
// CHECK-NEXT:      math.tanh
// CHECK:         linalg.generic {{.*}} ins(%[[SUM]], %[[TANH]] :
// CHECK-NEXT:    ^bb0
// CHECK-NEXT:      arith.addf

// REMARK: [Passed] LayerLinks | Category:links | Function=step | Remark="chain of 2 links"
// REMARK: [Analysis] LayerLinks | Category:links | Function=step | Remark="the chain is cut at its beginning: linalg.generic joins 2 values"
// REMARK-NOT: [Passed]
func.func @loss(%x: tensor<?x3xf32> {bppsa.input = "x", bppsa.batch_axis = 0}, %out: tensor<?x3xf32>, %zero: tensor<f32>)
    -> (tensor<f32> {bppsa.loss}) {
  %inner = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<?x3xf32>) outs(%out : tensor<?x3xf32>) {
    ^bb0(%a: f32, %o: f32):
      %0 = math.tanh %a : f32
      linalg.yield %0 : f32
  } -> tensor<?x3xf32>
  %sum = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%inner, %x : tensor<?x3xf32>, tensor<?x3xf32>) outs(%out : tensor<?x3xf32>) {
    ^bb0(%a: f32, %b: f32, %o: f32):
      %0 = arith.addf %a, %b : f32
      linalg.yield %0 : f32
  } -> tensor<?x3xf32>
  %exp = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%sum : tensor<?x3xf32>) outs(%out : tensor<?x3xf32>) {
    ^bb0(%a: f32, %o: f32):
      %0 = math.exp %a : f32
      linalg.yield %0 : f32
  } -> tensor<?x3xf32>
  %tanh = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%exp : tensor<?x3xf32>) outs(%out : tensor<?x3xf32>) {
    ^bb0(%a: f32, %o: f32):
      %0 = math.tanh %a : f32
      linalg.yield %0 : f32
  } -> tensor<?x3xf32>
  %loss = linalg.generic {indexing_maps = [#id, #scalar], iterator_types = ["reduction", "reduction"]}
      ins(%tanh : tensor<?x3xf32>) outs(%zero : tensor<f32>) {
    ^bb0(%a: f32, %o: f32):
      %s = arith.addf %o, %a : f32
      linalg.yield %s : f32
  } -> tensor<f32>
  return %loss : tensor<f32>
}
// -----

#id = affine_map<(b, i) -> (b, i)>
#scalar = affine_map<(b, i) -> ()>

// A single matrix has nothing to compose with, so its rule is kept.

// CHECK-LABEL: func.func @step(
// CHECK-NOT:     jacobian.assemble
// CHECK:         return
func.func @loss(%x: tensor<?x3xf32> {bppsa.input = "x", bppsa.batch_axis = 0}, %out: tensor<?x3xf32>, %zero: tensor<f32>)
    -> (tensor<f32> {bppsa.loss}) {
  %tanh = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<?x3xf32>) outs(%out : tensor<?x3xf32>) {
    ^bb0(%a: f32, %o: f32):
      %0 = math.tanh %a : f32
      linalg.yield %0 : f32
  } -> tensor<?x3xf32>
  %shift = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%tanh : tensor<?x3xf32>) outs(%out : tensor<?x3xf32>) {
    ^bb0(%a: f32, %o: f32):
      %one = arith.constant 1.0 : f32
      %0 = arith.addf %a, %one : f32
      linalg.yield %0 : f32
  } -> tensor<?x3xf32>
  %loss = linalg.generic {indexing_maps = [#id, #scalar], iterator_types = ["reduction", "reduction"]}
      ins(%shift : tensor<?x3xf32>) outs(%zero : tensor<f32>) {
    ^bb0(%a: f32, %o: f32):
      %s = arith.addf %o, %a : f32
      linalg.yield %s : f32
  } -> tensor<f32>
  return %loss : tensor<f32>
}

// -----

#id = affine_map<(b, i) -> (b, i)>
#scalar = affine_map<(b, i) -> ()>

// The chain over time is the longest: its cotangents pass through a bppsa.chain, and the cotangents
// of the following two layers through their rules.

// CHECK-LABEL: func.func @step(
// CHECK-NOT:     jacobian.assemble
// CHECK:         bppsa.chain
// CHECK-NOT:     jacobian.assemble
// CHECK:         return
func.func @loss(%x: tensor<4x?x3xf32> {bppsa.input = "x", bppsa.batch_axis = 1}, %h: tensor<?x3xf32>, %out: tensor<?x3xf32>,
    %zero: tensor<f32>) -> (tensor<f32> {bppsa.loss}) {
  %c0 = arith.constant 0 : index
  %b = tensor.dim %h, %c0 : tensor<?x3xf32>
  %y = bppsa.recurrence sequences(%x : tensor<4x?x3xf32>) initial(%h : tensor<?x3xf32>) -> (tensor<5x?x3xf32>) {
  ^bb0(%xt: vector<3xf32>, %ht: vector<3xf32>):
    %0 = arith.mulf %xt, %ht : vector<3xf32>
    bppsa.yield %0 : vector<3xf32>
  }
  %last = tensor.extract_slice %y[4, 0, 0] [1, %b, 3] [1, 1, 1] : tensor<5x?x3xf32> to tensor<?x3xf32>
  %tanh = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%last : tensor<?x3xf32>) outs(%out : tensor<?x3xf32>) {
    ^bb0(%a: f32, %o: f32):
      %0 = math.tanh %a : f32
      linalg.yield %0 : f32
  } -> tensor<?x3xf32>
  %exp = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%tanh : tensor<?x3xf32>) outs(%out : tensor<?x3xf32>) {
    ^bb0(%a: f32, %o: f32):
      %0 = math.exp %a : f32
      linalg.yield %0 : f32
  } -> tensor<?x3xf32>
  %loss = linalg.generic {indexing_maps = [#id, #scalar], iterator_types = ["reduction", "reduction"]}
      ins(%exp : tensor<?x3xf32>) outs(%zero : tensor<f32>) {
    ^bb0(%a: f32, %o: f32):
      %s = arith.addf %o, %a : f32
      linalg.yield %s : f32
  } -> tensor<f32>
  return %loss : tensor<f32>
}

// -----

#id = affine_map<(i, b) -> (i, b)>
#scalar = affine_map<(i, b) -> ()>

// Cotangents of a list have shape [B, N], so a batch in another dimension would require a
// transpose.

// CHECK-LABEL: func.func @step(
// CHECK-NOT:     jacobian.assemble
// CHECK:         return

// REMARK-COUNT-2: [Missed] LayerLinks | Category:links | Function=step | Remark="linalg.generic is not a link of a chain: its first dimension does not hold the samples, or it has no other dimension"
func.func @loss(%x: tensor<3x?xf32> {bppsa.input = "x", bppsa.batch_axis = 1}, %out: tensor<3x?xf32>, %zero: tensor<f32>)
    -> (tensor<f32> {bppsa.loss}) {
  %tanh = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<3x?xf32>) outs(%out : tensor<3x?xf32>) {
    ^bb0(%a: f32, %o: f32):
      %0 = math.tanh %a : f32
      linalg.yield %0 : f32
  } -> tensor<3x?xf32>
  %exp = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%tanh : tensor<3x?xf32>) outs(%out : tensor<3x?xf32>) {
    ^bb0(%a: f32, %o: f32):
      %0 = math.exp %a : f32
      linalg.yield %0 : f32
  } -> tensor<3x?xf32>
  %loss = linalg.generic {indexing_maps = [#id, #scalar], iterator_types = ["reduction", "reduction"]}
      ins(%exp : tensor<3x?xf32>) outs(%zero : tensor<f32>) {
    ^bb0(%a: f32, %o: f32):
      %s = arith.addf %o, %a : f32
      linalg.yield %s : f32
  } -> tensor<f32>
  return %loss : tensor<f32>
}
