// RUN: bppsa-opt %s -split-input-file -verify-diagnostics

// Assembled Jacobians

func.func @element_type(%v: tensor<3xf64>) {
  // expected-error @below {{'jacobian.assemble' op needs a source of 'f32', found 'tensor<3xf64>'}}
  %0 = jacobian.assemble %v : tensor<3xf64> -> !jacobian.matrix<3x3xf32, diagonal>
  return
}

// -----

func.func @identity(%v: tensor<3xf32>) {
  // expected-error @below {{an identity has no values to assemble}}
  %0 = jacobian.assemble %v : tensor<3xf32> -> !jacobian.matrix<3x3xf32, identity>
  return
}

// -----

func.func @source_rank(%v: tensor<3xf32>) {
  // expected-error @below {{a jacobian with a batch needs a source of shape [batch, values], found 'tensor<3xf32>'}}
  %0 = jacobian.assemble %v : tensor<3xf32> -> !jacobian.matrix<3x3xf32, diagonal, batch = ?>
  return
}

// -----

func.func @dynamic_values(%v: tensor<3x?xf32>) {
  // expected-error @below {{needs a static number of values, found 'tensor<3x?xf32>'}}
  %0 = jacobian.assemble %v : tensor<3x?xf32> -> !jacobian.matrix<3x3xf32, diagonal, batch = 3>
  return
}

// -----

func.func @values(%v: tensor<2x2xf32>) {
  // expected-error @below {{needs a source of 3 values, found 4}}
  %0 = jacobian.assemble %v : tensor<2x2xf32> -> !jacobian.matrix<3x3xf32, diagonal>
  return
}

// -----

func.func @position_count(%v: tensor<2xf32>) {
  // expected-error @below {{needs a position for each of 3 entries, found 2}}
  %0 = jacobian.assemble %v at [0, 1] : tensor<2xf32> -> !jacobian.matrix<3x3xf32, diagonal>
  return
}

// -----

func.func @position(%v: tensor<?x2xf32>) {
  // expected-error @below {{position 2 is not one of 2 values of the source}}
  %0 = jacobian.assemble %v at [0, 1, 2] : tensor<?x2xf32> -> !jacobian.matrix<3x3xf32, diagonal, batch = ?>
  return
}

// -----

func.func @negative_position(%v: tensor<2xf32>) {
  // expected-error @below {{position -1 is not one of 2 values of the source}}
  %0 = jacobian.assemble %v at [0, -1, 1] : tensor<2xf32> -> !jacobian.matrix<3x3xf32, diagonal>
  return
}

// -----

// A matrix and cotangents

func.func @no_columns(%v: tensor<4xf32>, %rows: tensor<4xi32>, %g: tensor<2x?xf32>) {
  // expected-error @below {{'jacobian.sparse_apply' op the matrix needs starts of rows and columns, or neither}}
  %0 = jacobian.sparse_apply values(%v : tensor<4xf32>) rows(%rows : tensor<4xi32>) cotangent(%g : tensor<2x?xf32>) -> tensor<3x?xf32>
  return
}

// -----

func.func @starts(%v: tensor<4xf32>, %rows: tensor<3xi32>, %columns: tensor<4xi32>, %g: tensor<2x?xf32>) {
  // expected-error @below {{starts of rows must have rank 1 and size 4, found 'tensor<3xi32>'}}
  %0 = jacobian.sparse_apply values(%v : tensor<4xf32>) rows(%rows : tensor<3xi32>) columns(%columns : tensor<4xi32>) cotangent(%g : tensor<2x?xf32>) -> tensor<3x?xf32>
  return
}

// -----

func.func @columns(%v: tensor<4xf32>, %rows: tensor<4xi32>, %columns: tensor<2x2xi32>, %g: tensor<2x?xf32>) {
  // expected-error @below {{columns must have rank 1, found 'tensor<2x2xi32>'}}
  %0 = jacobian.sparse_apply values(%v : tensor<4xf32>) rows(%rows : tensor<4xi32>) columns(%columns : tensor<2x2xi32>) cotangent(%g : tensor<2x?xf32>) -> tensor<3x?xf32>
  return
}

// -----

func.func @positions(%v: tensor<2xf32>, %rows: tensor<4xi32>, %columns: tensor<4xi32>, %positions: tensor<5xi32>, %g: tensor<2x?xf32>) {
  // expected-error @below {{positions must have rank 1 and size 4, found 'tensor<5xi32>'}}
  %0 = jacobian.sparse_apply values(%v : tensor<2xf32>) rows(%rows : tensor<4xi32>) columns(%columns : tensor<4xi32>) at(%positions : tensor<5xi32>) cotangent(%g : tensor<2x?xf32>) -> tensor<3x?xf32>
  return
}

// -----

func.func @positions_of_every_element(%v: tensor<2xf32>, %positions: tensor<4xi32>, %g: tensor<2x?xf32>) {
  // expected-error @below {{positions must have rank 1 and size 6, found 'tensor<4xi32>'}}
  %0 = jacobian.sparse_apply values(%v : tensor<2xf32>) at(%positions : tensor<4xi32>) cotangent(%g : tensor<2x?xf32>) -> tensor<3x?xf32>
  return
}

// -----

func.func @values_rank(%v: tensor<2x3x8xf32>, %g: tensor<2x8xf32>) {
  // expected-error @below {{values of the matrix must have shape [values] or [values, batch], found 'tensor<2x3x8xf32>'}}
  %0 = jacobian.sparse_apply values(%v : tensor<2x3x8xf32>) cotangent(%g : tensor<2x8xf32>) -> tensor<3x8xf32>
  return
}

// -----

func.func @entries(%v: tensor<5x?xf32>, %g: tensor<2x?xf32>) {
  // expected-error @below {{the matrix has 6 entries, found 5 values}}
  %0 = jacobian.sparse_apply values(%v : tensor<5x?xf32>) cotangent(%g : tensor<2x?xf32>) -> tensor<3x?xf32>
  return
}

// -----

func.func @written_twice(%v: memref<6xf32>, %g: memref<2x?xf32>, %out: memref<3x?xf32>) {
  // expected-error @below {{'jacobian.sparse_apply' op must have either a result or a destination}}
  %0 = jacobian.sparse_apply values(%v : memref<6xf32>) cotangent(%g : memref<2x?xf32>) into(%out : memref<3x?xf32>) -> tensor<3x?xf32>
  return
}

// -----

func.func @written_nowhere(%v: memref<6xf32>, %g: memref<2x?xf32>) {
  // expected-error @below {{'jacobian.sparse_apply' op must have either a result or a destination}}
  jacobian.sparse_apply values(%v : memref<6xf32>) cotangent(%g : memref<2x?xf32>)
  return
}

// -----

func.func @samples(%v: tensor<6xf32>, %g: tensor<2x4xf32>) {
  // expected-error @below {{needs a cotangent and a result of shape [values, batch], found 'tensor<2x4xf32>' and 'tensor<3x5xf32>'}}
  %0 = jacobian.sparse_apply values(%v : tensor<6xf32>) cotangent(%g : tensor<2x4xf32>) -> tensor<3x5xf32>
  return
}

// -----

// Two matrices

func.func @first(%a: tensor<5xf32>, %b: tensor<6xf32>) {
  // expected-error @below {{'jacobian.sparse_compose' op the first matrix has 4 entries, found 5 values}}
  %0 = jacobian.sparse_compose 3 x 2 x 2 first(%a : tensor<5xf32>) second(%b : tensor<6xf32>) -> tensor<6xf32>
  return
}

// -----

func.func @second(%a: tensor<4xf32>, %b: tensor<6xf32>, %columns: tensor<6xi32>) {
  // expected-error @below {{the second matrix needs starts of rows and columns, or neither}}
  %0 = jacobian.sparse_compose 3 x 2 x 2 first(%a : tensor<4xf32>) second(%b : tensor<6xf32>) columns(%columns : tensor<6xi32>) -> tensor<6xf32>
  return
}

// -----

func.func @product(%a: tensor<4xf32>, %b: tensor<6xf32>) {
  // expected-error @below {{the product has 6 entries, found 4 values}}
  %0 = jacobian.sparse_compose 3 x 2 x 2 first(%a : tensor<4xf32>) second(%b : tensor<6xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @product_rank(%a: tensor<4x?xf32>, %b: tensor<6xf32>) {
  // expected-error @below {{needs a result of rank 2, found 'tensor<6xf32>'}}
  %0 = jacobian.sparse_compose 3 x 2 x 2 first(%a : tensor<4x?xf32>) second(%b : tensor<6xf32>) -> tensor<6xf32>
  return
}

// -----

func.func @product_written_nowhere(%a: memref<4xf32>, %b: memref<6xf32>) {
  // expected-error @below {{'jacobian.sparse_compose' op must have either a result or a destination}}
  jacobian.sparse_compose 3 x 2 x 2 first(%a : memref<4xf32>) second(%b : memref<6xf32>)
  return
}

// -----

// Samples and types of several arrays

func.func @samples_of_a_jacobian(%v: tensor<4x3xf32>) {
  // expected-error @below {{'jacobian.assemble' op needs a source of as many samples as the jacobian has, found 'tensor<4x3xf32>' for 5}}
  %0 = jacobian.assemble %v : tensor<4x3xf32> -> !jacobian.matrix<3x3xf32, diagonal, batch = 5>
  return
}

// -----

func.func @dynamic_columns(%v: tensor<?xf32>, %rows: tensor<4xi32>, %columns: tensor<?xi32>, %g: tensor<2x?xf32>) {
  // expected-error @below {{needs a static number of columns of entries, found 'tensor<?xi32>'}}
  %0 = jacobian.sparse_apply values(%v : tensor<?xf32>) rows(%rows : tensor<4xi32>) columns(%columns : tensor<?xi32>) cotangent(%g : tensor<2x?xf32>) -> tensor<3x?xf32>
  return
}

// -----

func.func @types_of_a_product(%v: tensor<6xf64>, %g: tensor<2x?xf32>) {
  // expected-error @below {{'jacobian.sparse_apply' op needs values of one type, found 'tensor<6xf64>' and 'tensor<2x?xf32>'}}
  %0 = jacobian.sparse_apply values(%v : tensor<6xf64>) cotangent(%g : tensor<2x?xf32>) -> tensor<3x?xf32>
  return
}

// -----

func.func @samples_of_a_product(%a: tensor<4x4xf32>, %b: tensor<6x5xf32>) {
  // expected-error @below {{'jacobian.sparse_compose' op needs as many samples in every array, found 4 and 5}}
  %0 = jacobian.sparse_compose 3 x 2 x 2 first(%a : tensor<4x4xf32>) second(%b : tensor<6x5xf32>) -> tensor<6x5xf32>
  return
}

// -----

// Sums of outer products

func.func @sum_written_nowhere(%x: memref<4x?xf32>, %g: memref<3x?xf32>, %s: memref<3xi32>, %l: memref<5xi32>, %r: memref<5xi32>, %p: memref<2xi32>) {
  // expected-error @below {{'jacobian.sparse_outer_sum' op must have either a result or a destination}}
  jacobian.sparse_outer_sum lhs(%x : memref<4x?xf32>) rhs(%g : memref<3x?xf32>)
      starts(%s : memref<3xi32>) rows(%l, %r : memref<5xi32>, memref<5xi32>) at(%p : memref<2xi32>)
  return
}

// -----

func.func @sum_of_vectors(%x: tensor<4xf32>, %g: tensor<3x?xf32>, %s: tensor<3xi32>, %l: tensor<5xi32>, %r: tensor<5xi32>, %p: tensor<2xi32>) {
  // expected-error @below {{needs operands of shape [values, batch], found 'tensor<4xf32>' and 'tensor<3x?xf32>'}}
  %0 = jacobian.sparse_outer_sum lhs(%x : tensor<4xf32>) rhs(%g : tensor<3x?xf32>)
      starts(%s : tensor<3xi32>) rows(%l, %r : tensor<5xi32>, tensor<5xi32>) at(%p : tensor<2xi32>) -> tensor<6xf32>
  return
}

// -----

func.func @sum_of_other_samples(%x: tensor<4x8xf32>, %g: tensor<3x4xf32>, %s: tensor<3xi32>, %l: tensor<5xi32>, %r: tensor<5xi32>, %p: tensor<2xi32>) {
  // expected-error @below {{needs operands of shape [values, batch], found 'tensor<4x8xf32>' and 'tensor<3x4xf32>'}}
  %0 = jacobian.sparse_outer_sum lhs(%x : tensor<4x8xf32>) rhs(%g : tensor<3x4xf32>)
      starts(%s : tensor<3xi32>) rows(%l, %r : tensor<5xi32>, tensor<5xi32>) at(%p : tensor<2xi32>) -> tensor<6xf32>
  return
}

// -----

func.func @sum_of_other_types(%x: tensor<4x?xf32>, %g: tensor<3x?xf64>, %s: tensor<3xi32>, %l: tensor<5xi32>, %r: tensor<5xi32>, %p: tensor<2xi32>) {
  // expected-error @below {{needs values of one type, found 'tensor<4x?xf32>' and 'tensor<3x?xf64>'}}
  %0 = jacobian.sparse_outer_sum lhs(%x : tensor<4x?xf32>) rhs(%g : tensor<3x?xf64>)
      starts(%s : tensor<3xi32>) rows(%l, %r : tensor<5xi32>, tensor<5xi32>) at(%p : tensor<2xi32>) -> tensor<6xf32>
  return
}

// -----

func.func @sum_rank(%x: tensor<4x?xf32>, %g: tensor<3x?xf32>, %s: tensor<3xi32>, %l: tensor<5xi32>, %r: tensor<5xi32>, %p: tensor<2xi32>) {
  // expected-error @below {{needs a result of rank 1, found 'tensor<2x3xf32>'}}
  %0 = jacobian.sparse_outer_sum lhs(%x : tensor<4x?xf32>) rhs(%g : tensor<3x?xf32>)
      starts(%s : tensor<3xi32>) rows(%l, %r : tensor<5xi32>, tensor<5xi32>) at(%p : tensor<2xi32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @sum_right_rows(%x: tensor<4x?xf32>, %g: tensor<3x?xf32>, %s: tensor<3xi32>, %l: tensor<5xi32>, %r: tensor<4xi32>, %p: tensor<2xi32>) {
  // expected-error @below {{rows of the right operand must have rank 1 and size 5, found 'tensor<4xi32>'}}
  %0 = jacobian.sparse_outer_sum lhs(%x : tensor<4x?xf32>) rhs(%g : tensor<3x?xf32>)
      starts(%s : tensor<3xi32>) rows(%l, %r : tensor<5xi32>, tensor<4xi32>) at(%p : tensor<2xi32>) -> tensor<6xf32>
  return
}

// -----

func.func @sum_left_rows(%x: tensor<4x?xf32>, %g: tensor<3x?xf32>, %s: tensor<3xi32>, %l: tensor<5x1xi32>, %r: tensor<5xi32>, %p: tensor<2xi32>) {
  // expected-error @below {{rows of the left operand must have rank 1, found 'tensor<5x1xi32>'}}
  %0 = jacobian.sparse_outer_sum lhs(%x : tensor<4x?xf32>) rhs(%g : tensor<3x?xf32>)
      starts(%s : tensor<3xi32>) rows(%l, %r : tensor<5x1xi32>, tensor<5xi32>) at(%p : tensor<2xi32>) -> tensor<6xf32>
  return
}

// -----

func.func @sum_positions(%x: tensor<4x?xf32>, %g: tensor<3x?xf32>, %s: tensor<3xi32>, %l: tensor<5xi32>, %r: tensor<5xi32>, %p: tensor<2x1xi32>) {
  // expected-error @below {{positions must have rank 1, found 'tensor<2x1xi32>'}}
  %0 = jacobian.sparse_outer_sum lhs(%x : tensor<4x?xf32>) rhs(%g : tensor<3x?xf32>)
      starts(%s : tensor<3xi32>) rows(%l, %r : tensor<5xi32>, tensor<5xi32>) at(%p : tensor<2x1xi32>) -> tensor<6xf32>
  return
}

// -----

func.func @sum_starts(%x: tensor<4x?xf32>, %g: tensor<3x?xf32>, %s: tensor<2xi32>, %l: tensor<5xi32>, %r: tensor<5xi32>, %p: tensor<2xi32>) {
  // expected-error @below {{starts must have rank 1 and size 3, found 'tensor<2xi32>'}}
  %0 = jacobian.sparse_outer_sum lhs(%x : tensor<4x?xf32>) rhs(%g : tensor<3x?xf32>)
      starts(%s : tensor<2xi32>) rows(%l, %r : tensor<5xi32>, tensor<5xi32>) at(%p : tensor<2xi32>) -> tensor<6xf32>
  return
}
