// RUN: bppsa-opt %s --bppsa-evaluate-plan="algorithms=linear,hybrid:1,hybrid:2 workers=1,4 output=%t.json" -o /dev/null
// RUN: bppsa-translate --evaluation-to-html %t.json -o %t.html
// RUN: FileCheck %s < %t.html
// The page has no external references.
// RUN: not grep -E "(src=|href=.[^#]|url\(|@import)" %t.html
// RUN: echo '{"format": 1, "chains": [{"name": "a"}]}' > %t.bad
// RUN: not bppsa-translate --evaluation-to-html %t.bad -o %t.absent 2>&1 | FileCheck %s --check-prefix=FIELD
// RUN: not ls %t.absent
// RUN: echo '{"format": 1, "chains": [{"name": "a", "links": 1, "batch": 1, "structures": [], "fastest": [], "plans": [], "begins": "", "ends": "", "layers": [{"operation": "o", "name": "n", "operand": [1], "result": [1], "structure": "dense", "rows": 1, "cols": 1, "nonzeros": 1, "shared": true, "link": 2}]}]}' > %t.link
// RUN: not bppsa-translate --evaluation-to-html %t.link 2>&1 | FileCheck %s --check-prefix=LINK
// RUN: echo '{"format": 1, "chains": [{"name": "a", "links": 1, "batch": 1, "structures": [], "fastest": [], "plans": [], "layers": []}]}' | not bppsa-translate --evaluation-to-html - 2>&1 | FileCheck %s --check-prefix=ENDS
// RUN: echo '{"format": 1, "chains": [{"name": 2}]}' | not bppsa-translate --evaluation-to-html - 2>&1 | FileCheck %s --check-prefix=TYPE
// RUN: echo '{"format": 2, "chains": []}' | not bppsa-translate --evaluation-to-html - 2>&1 | FileCheck %s --check-prefix=FORMAT
// RUN: echo 'no' | not bppsa-translate --evaluation-to-html - 2>&1 | FileCheck %s --check-prefix=TEXT
// RUN: not bppsa-translate --evaluation-to-html %t.absent 2>&1 | FileCheck %s --check-prefix=FILE

// FIELD: bad: error: no evaluation of plans: missing value at evaluation.chains[0].{{[a-z]+}}
// LINK: error: no evaluation of plans: expected a link of the chain at evaluation.chains[0].layers[0].link
// ENDS: error: no evaluation of plans: missing value at evaluation.chains[0].begins
// TYPE: error: no evaluation of plans: {{expected string|missing value}} at evaluation.chains[0].{{[a-z]+}}
// FORMAT: -: error: no evaluation of plans: expected format 1 at evaluation.format
// TEXT: -: error: no evaluation of plans: {{.*}}Invalid JSON value
// FILE: absent: error: No such file or directory

// The page holds the evaluation as one line of JSON, escaped so that it cannot end the script
// element.
// CHECK: <!DOCTYPE html>
// CHECK: <style>
// CHECK: <script type="application/json" id="data">{"evaluation":{"chains":[
// CHECK-SAME: "name":"step#0"
// CHECK-SAME: "injected":[{"shape":[2],"state":1}]
// CHECK-SAME: "name":"\u003c/script>#0"
// CHECK-SAME: "plans_of_layers":[],"plans_over_time":[],"title":"Scan plans"}</script>
// CHECK: function drawReport(
// CHECK: </html>
func.func @"</script>"(%a: !jacobian.matrix<3x5xf32, dense>, %b: !jacobian.matrix<3x3xf32, diagonal>,
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
