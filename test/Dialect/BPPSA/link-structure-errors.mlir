// RUN: bppsa-opt %s -split-input-file -verify-diagnostics

func.func @terms_alone(%a: tensor<?x?x4xf32>, %g: tensor<?x4xf32>) -> tensor<?x4xf32> {
  // expected-error @below {{'bppsa.chain' op has terms and must have their structure; run bppsa-infer-structure}}
  %0 = bppsa.chain terms [#bppsa.term<row = 0, col = 0>] saved(%a : tensor<?x?x4xf32>) seeds(%g : tensor<?x4xf32>) -> (tensor<?x4xf32>) {
  ^bb0(%at: vector<4xf32>, %gt: vector<4xf32>):
    bppsa.yield %gt : vector<4xf32>
  }
  return %0 : tensor<?x4xf32>
}

// -----

func.func @shape(%a: tensor<?x?x4xf32>, %g: tensor<?x4xf32>) -> tensor<?x4xf32> {
  // expected-error-re @below {{'bppsa.chain' op {{.*}}4{{.*}}}}
  %0 = bppsa.chain structure <blocks([2, 1], [2, 1], [identity, zero, zero, diagonal])> saved(%a : tensor<?x?x4xf32>) seeds(%g : tensor<?x4xf32>) -> (tensor<?x4xf32>) {
  ^bb0(%at: vector<4xf32>, %gt: vector<4xf32>):
    bppsa.yield %gt : vector<4xf32>
  }
  return %0 : tensor<?x4xf32>
}

// -----

func.func @state(%a: tensor<?x?x4xf32>, %g: tensor<?x4xf32>) -> tensor<?x4xf32> {
  // expected-error @below {{'bppsa.chain' op a term must name one of the 1 states, found 1}}
  %0 = bppsa.chain structure <identity> terms [#bppsa.term<row = 0, col = 1>] saved(%a : tensor<?x?x4xf32>) seeds(%g : tensor<?x4xf32>) -> (tensor<?x4xf32>) {
  ^bb0(%at: vector<4xf32>, %gt: vector<4xf32>):
    bppsa.yield %gt : vector<4xf32>
  }
  return %0 : tensor<?x4xf32>
}

// -----

func.func @capture(%a: tensor<?x?x4xf32>, %g: tensor<?x4xf32>) -> tensor<?x4xf32> {
  // expected-error @below {{'bppsa.chain' op a term must name one of the 0 captures by its number, or -1 for none, found 0}}
  %0 = bppsa.chain structure <shared_dense> terms [#bppsa.term<row = 0, col = 0, matrix = 0>] saved(%a : tensor<?x?x4xf32>) seeds(%g : tensor<?x4xf32>) -> (tensor<?x4xf32>) {
  ^bb0(%at: vector<4xf32>, %gt: vector<4xf32>):
    bppsa.yield %gt : vector<4xf32>
  }
  return %0 : tensor<?x4xf32>
}

// -----

func.func @graph(%a: tensor<?x?x4xf32>, %g: tensor<?x4xf32>) -> tensor<?x4xf32> {
  // expected-error @below {{'bppsa.chain' op must have no structure in graph form; structures describe vectors}}
  %0 = bppsa.chain structure <identity> saved(%a : tensor<?x?x4xf32>) seeds(%g : tensor<?x4xf32>) -> (tensor<?x4xf32>) {
  ^bb0(%at: tensor<4xf32>, %gt: tensor<4xf32>):
    bppsa.yield %gt : tensor<4xf32>
  }
  return %0 : tensor<?x4xf32>
}
