// RUN: bppsa-opt %s -split-input-file -verify-diagnostics

func.func @no_jacobian(%g: tensor<?x4xf32>, %r: tensor<?x3xf32>, %m: tensor<12xf32>) {
  // expected-error @below {{'jacobian.link' op the region 'jacobian' must yield the transposed jacobian first; create it with jacobian.assemble}}
  %0 = jacobian.link %g : (tensor<?x4xf32>) -> tensor<?x3xf32> {
  ^bb0(%gy: tensor<?x4xf32>):
    jacobian.yield %r : tensor<?x3xf32>
  } jacobian {
  ^bb0(%gy: tensor<?x4xf32>):
    %1 = arith.constant 0 : i32
    jacobian.yield %r : tensor<?x3xf32>
  }
  return
}

// -----

func.func @argument(%g: tensor<?x4xf32>, %r: tensor<?x3xf32>, %m: tensor<12xf32>) {
  // expected-error @below {{'jacobian.link' op the region 'rule' must have one argument, the cotangent 'tensor<?x4xf32>', found 1 arguments of another type}}
  %0 = jacobian.link %g : (tensor<?x4xf32>) -> tensor<?x3xf32> {
  ^bb0(%gy: tensor<?x3xf32>):
    jacobian.yield %r : tensor<?x3xf32>
  } jacobian {
  ^bb0(%gy: tensor<?x4xf32>):
    %1 = jacobian.assemble %m : tensor<12xf32> -> !jacobian.matrix<3x4xf32, dense>
    jacobian.yield %1 : !jacobian.matrix<3x4xf32, dense>
  }
  return
}

// -----

func.func @arguments(%g: tensor<?x4xf32>, %r: tensor<?x3xf32>, %m: tensor<12xf32>) {
  // expected-error @below {{'jacobian.link' op the region 'jacobian' must have one argument, the cotangent 'tensor<?x4xf32>', found 0 arguments}}
  %0 = jacobian.link %g : (tensor<?x4xf32>) -> tensor<?x3xf32> {
  ^bb0(%gy: tensor<?x4xf32>):
    jacobian.yield %r : tensor<?x3xf32>
  } jacobian {
    %1 = jacobian.assemble %m : tensor<12xf32> -> !jacobian.matrix<3x4xf32, dense>
    jacobian.yield %1 : !jacobian.matrix<3x4xf32, dense>
  }
  return
}

// -----

func.func @yielded(%g: tensor<?x4xf32>, %r: tensor<?x3xf32>, %m: tensor<12xf32>) {
  // expected-error @below {{'jacobian.link' op the region 'rule' must yield 'tensor<?x3xf32>', found 'tensor<?x4xf32>'}}
  %0 = jacobian.link %g : (tensor<?x4xf32>) -> tensor<?x3xf32> {
  ^bb0(%gy: tensor<?x4xf32>):
    jacobian.yield %gy : tensor<?x4xf32>
  } jacobian {
  ^bb0(%gy: tensor<?x4xf32>):
    %1 = jacobian.assemble %m : tensor<12xf32> -> !jacobian.matrix<3x4xf32, dense>
    jacobian.yield %1 : !jacobian.matrix<3x4xf32, dense>
  }
  return
}

// -----

func.func @columns(%g: tensor<?x5xf32>, %r: tensor<?x3xf32>, %m: tensor<12xf32>) {
  // expected-error @below {{'jacobian.link' op the cotangent must be [samples, ...] with the 4 elements of the jacobian for each sample, found 'tensor<?x5xf32>'}}
  %0 = jacobian.link %g : (tensor<?x5xf32>) -> tensor<?x3xf32> {
  ^bb0(%gy: tensor<?x5xf32>):
    jacobian.yield %r : tensor<?x3xf32>
  } jacobian {
  ^bb0(%gy: tensor<?x5xf32>):
    %1 = jacobian.assemble %m : tensor<12xf32> -> !jacobian.matrix<3x4xf32, dense>
    jacobian.yield %1 : !jacobian.matrix<3x4xf32, dense>
  }
  return
}

// -----

func.func @rows(%g: tensor<?x4xf32>, %r: tensor<?x2xf32>, %m: tensor<12xf32>) {
  // expected-error @below {{'jacobian.link' op the result must be [samples, ...] with the 3 elements of the jacobian for each sample, found 'tensor<?x2xf32>'}}
  %0 = jacobian.link %g : (tensor<?x4xf32>) -> tensor<?x2xf32> {
  ^bb0(%gy: tensor<?x4xf32>):
    jacobian.yield %r : tensor<?x2xf32>
  } jacobian {
  ^bb0(%gy: tensor<?x4xf32>):
    %1 = jacobian.assemble %m : tensor<12xf32> -> !jacobian.matrix<3x4xf32, dense>
    jacobian.yield %1 : !jacobian.matrix<3x4xf32, dense>
  }
  return
}

// -----

func.func @samples(%g: tensor<?x4xf32>, %r: tensor<2x3xf32>, %m: tensor<12xf32>) {
  // expected-error @below {{'jacobian.link' op the cotangent and the result must have the same samples, found 'tensor<?x4xf32>' and 'tensor<2x3xf32>'}}
  %0 = jacobian.link %g : (tensor<?x4xf32>) -> tensor<2x3xf32> {
  ^bb0(%gy: tensor<?x4xf32>):
    jacobian.yield %r : tensor<2x3xf32>
  } jacobian {
  ^bb0(%gy: tensor<?x4xf32>):
    %1 = jacobian.assemble %m : tensor<12xf32> -> !jacobian.matrix<3x4xf32, dense>
    jacobian.yield %1 : !jacobian.matrix<3x4xf32, dense>
  }
  return
}

// -----

func.func @elements(%g: tensor<?x4xf32>, %r: tensor<?x3xf64>, %m: tensor<12xf32>) {
  // expected-error @below {{'jacobian.link' op the cotangent and the result must have the elements of the jacobian, 'f32', found 'tensor<?x3xf64>'}}
  %0 = jacobian.link %g : (tensor<?x4xf32>) -> tensor<?x3xf64> {
  ^bb0(%gy: tensor<?x4xf32>):
    jacobian.yield %r : tensor<?x3xf64>
  } jacobian {
  ^bb0(%gy: tensor<?x4xf32>):
    %1 = jacobian.assemble %m : tensor<12xf32> -> !jacobian.matrix<3x4xf32, dense>
    jacobian.yield %1 : !jacobian.matrix<3x4xf32, dense>
  }
  return
}

// -----

func.func @gradients(%g: tensor<?x4xf32>, %r: tensor<?x3xf32>, %w: tensor<2xf32>, %m: tensor<12xf32>) {
  // expected-error @below {{'jacobian.link' op the region 'jacobian' must yield '!jacobian.matrix<3x4xf32, dense>', 'tensor<2xf32>', found '!jacobian.matrix<3x4xf32, dense>'}}
  %0:2 = jacobian.link %g : (tensor<?x4xf32>) -> (tensor<?x3xf32>, tensor<2xf32>) {
  ^bb0(%gy: tensor<?x4xf32>):
    jacobian.yield %r, %w : tensor<?x3xf32>, tensor<2xf32>
  } jacobian {
  ^bb0(%gy: tensor<?x4xf32>):
    %1 = jacobian.assemble %m : tensor<12xf32> -> !jacobian.matrix<3x4xf32, dense>
    jacobian.yield %1 : !jacobian.matrix<3x4xf32, dense>
  }
  return
}

// -----

func.func @dependent(%g: tensor<?x4xf32>) {
  // expected-error @below {{'jacobian.link' op the jacobian must not depend on the cotangent, which it is applied to}}
  %0 = jacobian.link %g : (tensor<?x4xf32>) -> tensor<?x4xf32> {
  ^bb0(%gy: tensor<?x4xf32>):
    jacobian.yield %gy : tensor<?x4xf32>
  } jacobian {
  ^bb0(%gy: tensor<?x4xf32>):
    %1 = jacobian.assemble %gy : tensor<?x4xf32> -> !jacobian.matrix<4x4xf32, diagonal, batch = ?>
    jacobian.yield %1 : !jacobian.matrix<4x4xf32, diagonal, batch = ?>
  }
  return
}
