// RUN: bppsa-opt %s --bppsa-evaluate-plan="algorithms=linear,hybrid:1,hybrid:2 workers=1,4 output=%t.json" -o /dev/null
// RUN: bppsa-translate --evaluation-to-html %t.json -o %t.html
// RUN: %python %bppsa_src/test/pages.py %t.html | FileCheck %s
// REQUIRES: node, python

// This test checks the content that the scripts of a report draw in a browser.

// Chains of time loops come first.
// CHECK: <h2>step#0</h2>
// CHECK: <div class="step">
// CHECK: <b>cotangents of states after the step</b><span>3, 2</span>
// CHECK: <b>injected into state 1</b><span>2</span>
// CHECK: <b>saved</b><span>3</span>
// CHECK-NOT: captures of all steps
// CHECK: <a class="box layer s-diagonal" href="#chain-0-link-1"><b>bppsa.chain</b><span>diagonal, 5 x 5</span>
// CHECK-SAME: <span>1 arith.mulf</span><span>1 arith.negf</span></a>
// CHECK: <b>cotangents of states before it</b><span>3, 2</span>
// CHECK: <b>emitted</b><span>2</span>
// CHECK: <figure id="chain-0-link-1">
// CHECK: <h2>&lt;b&gt;&amp;&#39;#0</h2>
// CHECK: <p>4 links, 2 samples.</p>
// CHECK: <svg class="pattern s-dense"
// CHECK: <figcaption>1: shared-dense<br>3 x 5<br>15 nonzeros, 0.00 % zero</figcaption>
// CHECK: <svg class="pattern s-diagonal"
// CHECK: <figcaption>2: shared-diagonal<br>3 x 3<br>3 nonzeros, 66.67 % zero</figcaption>
// The critical path of the trees is as long as the critical path of the linear scan, which comes
// first.
// CHECK: <p class="recommended">By its counted work this chain is fastest with <b>linear</b> for 1 and 4 workers.</p>
// CHECK: <th>linear</th><th>hybrid:1</th><th>hybrid:2</th>
// The last link is applied, too.
// CHECK: <tr><th>depth</th><td title="4">4</td><td class="best" title="3">3</td>
// CHECK: <tr><th>time of 4 workers, in FLOP of one</th>
// CHECK: <details open><summary><b>hybrid:1</b>: depth 3, 1 compose, 4 apply,
// CHECK: <svg class="tree"
// CHECK-SAME: <text class="label" {{[^>]*}}>elements</text>
// CHECK-SAME: <text class="number" {{[^>]*}}>0</text>
// CHECK-SAME: <text class="number" {{[^>]*}}>4</text>
// CHECK-SAME: <text class="label" {{[^>]*}}>up 1</text>
// CHECK-SAME: <text class="label" {{[^>]*}}>down 1</text>
// CHECK-SAME: <rect class="s-dense" {{.*}}<title>compose 2, 3: dense 3 x 3, 9 nonzeros, 0.00 % zero, 9 FLOP</title>
// CHECK: <svg class="levels"
func.func @"<b>&'"(%a: !jacobian.matrix<3x5xf32, dense>, %b: !jacobian.matrix<3x3xf32, diagonal>,
                   %c: !jacobian.matrix<3x3xf32, dense, batch = 2>, %g: tensor<2x5xf32>) -> tensor<2x3xf32> {
  %0 = jacobian.apply %a, %g : !jacobian.matrix<3x5xf32, dense>, tensor<2x5xf32> -> tensor<2x3xf32>
  %1 = jacobian.apply %b, %0 : !jacobian.matrix<3x3xf32, diagonal>, tensor<2x3xf32> -> tensor<2x3xf32>
  %2 = jacobian.apply %c, %1 : !jacobian.matrix<3x3xf32, dense, batch = 2>, tensor<2x3xf32> -> tensor<2x3xf32>
  %3 = jacobian.apply %c, %2 : !jacobian.matrix<3x3xf32, dense, batch = 2>, tensor<2x3xf32> -> tensor<2x3xf32>
  return %3 : tensor<2x3xf32>
}

func.func @step(%a: tensor<4x2x3xf32>, %g: tensor<2x3xf32>, %h: tensor<2x2xf32>, %i: tensor<4x2x2xf32>) -> tensor<4x2x2xf32> {
  %0:2, %1 = bppsa.chain saved(%a : tensor<4x2x3xf32>) seeds(%g, %h : tensor<2x3xf32>, tensor<2x2xf32>)
      injected(%i : tensor<4x2x2xf32>) inject_into [1]
      -> (tensor<2x3xf32>, tensor<2x2xf32>) emitted(tensor<4x2x2xf32>) {
  ^bb0(%at: vector<3xf32>, %gt: vector<3xf32>, %ht: vector<2xf32>):
    %2 = arith.mulf %at, %gt : vector<3xf32>
    %3 = arith.negf %ht : vector<2xf32>
    bppsa.yield %2, %3, %ht : vector<3xf32>, vector<2xf32>, vector<2xf32>
  }
  return %1 : tensor<4x2x2xf32>
}
