//===- Passes.td - differentiation passes ------------------*- tablegen -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_DIFFERENTIATION_PASSES
#define BPPSA_DIFFERENTIATION_PASSES

include "mlir/Pass/PassBase.td"

def AddLoss : Pass<"bppsa-add-loss", "::mlir::ModuleOp"> {
  let summary = "Add a function that computes the loss of a model";
  let description = [{
    Adds `@loss`, which consists of the body of `@forward` and the mean of a loss over all positions
    of one of its results. `output` selects the result by its attribute `bppsa.output`; the default
    is the first one. With several outputs, `@loss` returns the sum of their losses, weighted by
    `factors`, followed by the individual losses; targets, weights and counts of correct positions
    have this order. A loss is zero if all its positions have weight zero and the model has several
    losses, a `dist.rank_mean` or `shares`.

    | loss | value for one position of output x and target t |
    |---|---|
    | `cross-entropy` | `log(sum(exp(x))) - x[t]` along the last axis of x |
    | `nll` | `-x[t]`, where x holds log-probabilities |
    | `mse` | `(x - t)^2` |
    | `l1` | `abs(x - t)` |
    | `huber` | `(x - t)^2 / 2` up to a distance of 1, then `abs(x - t) - 1/2` |
    | `bce-with-logits` | `log(1 + exp(x)) - t x` |
    | `vjp` | `x t`, summed over all outputs and not divided by the number of positions |
    | `none` | x itself, which must be the only element of the output; no target |

    The target of `cross-entropy` and `nll` holds classes (i64) and has the shape of the output
    without its last axis. `@loss` then also returns the number of positions at which the class
    with the largest output is the target. All other targets have the shape of the output. Sums over
    positions are accumulated in f64.

    With `weights`, `@loss` takes a weight for each position, with the attribute `bppsa.weight` and
    the shape of the target. The loss becomes the weighted mean, and correct positions are counted
    by weight. A class weight multiplies the weight of every position with this target. With
    `label-smoothing=s` and C classes, a position with target t has the loss
    `(1 - s) w[t] loss(t) + s / C * sum(w[c] loss(c))`.

    For `loss=cross-entropy` and an output `tensor<?x10xf32>`, the pass adds
    ```mlir
    func.func @loss(%x: tensor<?x4xf32>, %target: tensor<?xi64> {bppsa.target})
        -> (tensor<f32> {bppsa.loss}, tensor<f64> {bppsa.correct})
    ```
  }];
  let options = [
    ListOption<"losses", "loss", "std::string",
               "loss types as of --loss: one for all outputs, or one per output; default cross- "
               "entropy">,
    ListOption<"outputs", "output", "std::string",
               "names of the results to compute losses from">,
    ListOption<"factors", "factors", "double",
               "weight of each output's loss in the sum; default 1">,
    Option<"weights", "weights", "bool", /*default=*/"false",
           "take a weight for each position">,
    ListOption<"classWeights", "class-weights", "double",
               "weight of each class; requires weights=true">,
    Option<"labelSmoothing", "label-smoothing", "double", /*default=*/"0",
           "share of each target that is spread over all classes; requires weights=true">,
    Option<"shares", "shares", "bool", /*default=*/"false",
           "compute losses of shares of a batch, in which all weights may be zero">,
  ];
  let dependentDialects = [
    "::bppsa::dist::DistDialect", "::mlir::arith::ArithDialect", "::mlir::linalg::LinalgDialect", "::mlir::math::MathDialect",
    "::mlir::tensor::TensorDialect", "::bppsa::BPPSADialect"
  ];
}

def Interlock : Pass<"bppsa-interlock", "::mlir::ModuleOp"> {
  let summary = "Restrict the losses that train each module to those of nearby modules";
  let description = [{
    Adds a copy of the function `of` with losses l1, ..., lK, named `name`, for interlocking
    backpropagation (Gomez et al., JMLR 23, 2022). `bppsa-differentiate` differentiates its last
    result, `bppsa.objective`, instead of the losses.

    Module i consists of the operations that lead to loss i and to a later loss, but to no earlier
    loss. Operations that lead to no other loss form the head of loss i, or for the last loss a part
    of module K.

    | `combine` | objective of the parameters of module i |
    |---|---|
    | `last` | the loss of module min(i + window - 1, K), the last one whose cotangents reach the module |
    | `sum` | the sum of the losses of modules i to min(i + window - 1, K) |
    | `mean` | the mean of these losses |

    The parameters of a head are trained by its loss only. `window=1` is local, 2 pairwise, and K or
    more end-to-end back-propagation. `bppsa.stage` of a parameter of the copy is the index, from 0,
    of the first module that uses it, itself or in its head. Example result:
    ```mlir
    func.func private @interlocked_loss(...) -> (tensor<f32> {bppsa.loss}, tensor<f32> {bppsa.loss},
                                                 tensor<f32> {bppsa.loss}, tensor<f32> {bppsa.objective})
    ```
  }];
  let options = [
    Option<"of", "of", "std::string", /*default=*/"\"loss\"", "function to copy">,
    Option<"name", "name", "std::string", /*default=*/"\"interlocked_loss\"",
           "name of the copy">,
    Option<"window", "window", "int64_t", /*default=*/"1",
           "number of modules whose losses reach a module: its own and those after it">,
    Option<"combine", "combine", "std::string", /*default=*/"\"last\"",
           "combination of these losses: last, sum or mean">,
    ListOption<"factors", "factors", "double", "weight of each loss; default 1">,
  ];
  let dependentDialects = [
    "::bppsa::dist::DistDialect", "::mlir::arith::ArithDialect", "::mlir::linalg::LinalgDialect", "::bppsa::BPPSADialect"
  ];
}

def ShardTime : Pass<"bppsa-shard-time", "::mlir::ModuleOp"> {
  let summary = "Add the objective of a rank that computes a share of the time steps";
  let description = [{
    Adds a copy of the function `of`, named `name`, for a rank that computes a share of the time
    steps of all sequences. Its last result, `bppsa.objective`, is differentiated instead of the
    rank's loss. It is the loss times `dist.rank_weight`, plus the contribution of this rank's
    states to the losses of the following ranks.

    A streaming function has final states as results (`bppsa.carried`). For each such f32 state the
    copy takes an argument with `bppsa.cotangent`: the cotangent of the state with respect to the
    losses of all later steps. The objective contains the products of states and cotangents. Its
    gradients with respect to the initial states (`bppsa-differentiate` with `wrt=states`) are the
    cotangents of the preceding rank.

    In all other functions the dimensions with the symbol of `bppsa.time_axis` are divided among
    ranks:

    * The initial state of each recurrence is received from the preceding rank (`dist.shard_enter`),
      and the final state is sent to the following rank (`dist.shard_leave`). Reversed recurrences
      use the opposite direction.
    * Values read from the first step, and sums over steps, are passed on to the last rank.
    * Step indices and counts refer to the whole sequence (`dist.shard_first_step`,
      `dist.shard_all_steps`).
    * Forward recurrences start on the first rank and reversed ones on the last. Ranks with late
      steps run the copy made with `reversed-first`, so that both directions run at the same time.

    Other operations that combine different steps are errors. Example result:
    ```mlir
    %first = dist.shard_enter %h0 channel 0 : tensor<?x4xf32> -> tensor<?x4xf32>
    %h = bppsa.recurrence sequences(%x : tensor<?x?x3xf32>) initial(%first : tensor<?x4xf32>) ...
    %last = tensor.extract_slice %h[%t, 0, 0] [1, %b, 4] [1, 1, 1] : tensor<?x?x4xf32> to tensor<?x4xf32>
    %rest = dist.shard_leave %last channel 0 : tensor<?x4xf32> -> tensor<f32>
    ```
  }];
  let options = [
    Option<"of", "of", "std::string", /*default=*/"\"training_loss\"", "function to copy">,
    Option<"name", "name", "std::string", /*default=*/"\"sharded_loss\"", "name of the copy">,
    Option<"reversedFirst", "reversed-first", "bool", /*default=*/"false",
           "run reversed recurrences before forward ones that do not depend on them">,
  ];
  let dependentDialects = [
    "::bppsa::dist::DistDialect", "::mlir::arith::ArithDialect", "::mlir::linalg::LinalgDialect", "::mlir::tensor::TensorDialect",
    "::bppsa::BPPSADialect"
  ];
}

def ScanShards : Pass<"bppsa-scan-shards", "::mlir::ModuleOp"> {
  let summary = "Scan the cotangents of time shards over ranks";
  let description = [{
    In functions with the role `shard` or `late_shard` (`bppsa-shard-time`), a chain waits for the
    cotangents of its last states from the following rank, so only one rank runs its backward pass
    at a time.

    This pass adds copies with the roles `scan_shard` and `scan_late_shard`, in which each rank
    computes the affine map of these cotangents: its matrix by a `bppsa.transition` over the share,
    and its offset by a chain from zero that emits nothing. `dist.shard_scan` composes the maps of
    the following ranks and returns the cotangent from which the chain starts. All ranks execute
    scans of reversed loops before scans of forward loops that do not depend on them. A chain in
    graph form is an error. Example result:
    ```mlir
    %m = bppsa.transition states [4] saved(%a : tensor<?x?x4xf32>) ... -> tensor<?x4x4xf32>
    %o = bppsa.chain saved(%a : tensor<?x?x4xf32>) seeds(%zeros : tensor<?x4xf32>) ...
    %g = dist.shard_scan %m, %o : tensor<?x4x4xf32>, tensor<?x4xf32> -> tensor<?x4xf32>
    %c, %e = bppsa.chain saved(%a : tensor<?x?x4xf32>) seeds(%g : tensor<?x4xf32>) ...
    ```
  }];
  let dependentDialects = [
    "::bppsa::dist::DistDialect", "::mlir::arith::ArithDialect", "::mlir::linalg::LinalgDialect", "::mlir::tensor::TensorDialect",
    "::bppsa::BPPSADialect"
  ];
}

def TraceNaNs : Pass<"bppsa-trace-nans", "::mlir::ModuleOp"> {
  let summary = "Add copies of functions that locate the first NaN";
  let description = [{
    Adds copies of the functions with the roles `step` and `grad`, with the roles `nans_step` and
    `nans_grad`, that report where each op first computes a NaN. The result is one `tensor<Kxi64>`,
    the output `first_nans`. Element k belongs to entry k of the attribute `traced_nodes` of the
    copy. In a loop it is the step, negated if the loop runs from the last step to the first.
    Elsewhere it is 0. The largest i64 means that no NaN occurred. The entry with the smallest
    `group`, then the smallest element, then the smallest index produced the first NaN.

    ```mlir
    func.func @nans_grad(...) -> (tensor<2xi64> {bppsa.output = "first_nans"})
        attributes {traced_nodes = [{backward = false, group = 1 : i64, in_loop = false,
                                     node = "/Log", op = "Log"}, ...]}
    ```
  }];
  let dependentDialects = ["::bppsa::BPPSADialect", "::mlir::arith::ArithDialect",
                           "::mlir::linalg::LinalgDialect", "::mlir::tensor::TensorDialect"];
}

def BuildOptimizer : Pass<"bppsa-build-optimizer", "::mlir::ModuleOp"> {
  let summary = "Add a function that updates the parameters";
  let description = [{
    Adds `@update`, one step of an optimizer on flat arrays: all trained parameters, each padded
    with zeros to a multiple of 16 floats, their gradients, and two state arrays of the same length.
    `momentum` and `rmsprop` use one state array, `sgd` none. States start at zero.

    `%hyper` holds the learning rate, the weight decay, the step number (from 1), a factor for the
    gradients, beta1 (the momentum of `momentum`, the smoothing constant of `rmsprop`), beta2 and
    epsilon. The formulas are those of PyTorch's optimizers.

    Also adds `@sumsq`, the sum of squares of an array in f64, in an order that depends only on the
    length.

    If function arguments have `bppsa.nonzeros`, pruned elements and their states remain zero. Both
    functions then take the indices of all blocks of `lanes` elements that are not completely pruned
    as a last argument, and access only these blocks. Example result:
    ```mlir
    func.func @update(%params: memref<?xf32>, %grads: memref<?xf32>, %state0: memref<?xf32>,
                      %state1: memref<?xf32>, %hyper: memref<8xf32>)
    func.func @sumsq(%grads: memref<?xf32>, %out: memref<f64>)
    ```
  }];
  let options = [
    Option<"optimizer", "optimizer", "std::string", /*default=*/"\"adam\"",
           "optimizer, as of --optimizer">,
    Option<"lanes", "lanes", "int64_t", /*default=*/"16",
           "elements of one vector, a divisor of 16; 1 distributes elements to parallel threads "
           "and leaves the order of the sum of squares to the target">,
  ];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::func::FuncDialect", "::mlir::linalg::LinalgDialect",
    "::mlir::math::MathDialect", "::mlir::memref::MemRefDialect", "::mlir::scf::SCFDialect", "::mlir::vector::VectorDialect"
  ];
}

def Differentiate : Pass<"bppsa-differentiate", "::mlir::ModuleOp"> {
  let summary = "Add a function that computes a loss and its gradients";
  let description = [{
    Adds a function `name` that consists of a copy of the function `of` and the reverse-mode
    derivative of its first result, a `tensor<f32>`. It returns the loss and one gradient for each
    differentiated argument, in the order of the arguments: those with `bppsa.parameter` and without
    `bppsa.frozen`, with `wrt=states` also every f32 argument with `bppsa.carried`, and with
    `wrt=all` every argument with `bppsa.input`. The result attribute `bppsa.gradient` holds the
    argument's name.

    If a result has `bppsa.objective` (`bppsa-interlock`), that result is differentiated instead of
    the first one, and it is not returned.

    `bppsa.nonzeros` of an argument, an array of i1, is false for elements that are known to be
    zero. The gradient of these elements is also zero.

    Each op on a path from a differentiated argument to the loss propagates its cotangent by its
    `VJPOpInterface`; an op without this interface is an error. A `bppsa.recurrence` becomes a
    `bppsa.chain`. `bppsa.mark_phase` separates the forward from the backward part.

    With `cotangents`, the names of results with `bppsa.output`, the function computes
    vector-Jacobian products instead of the gradients of a loss. It takes a cotangent for each of
    these outputs (`bppsa.target`) after the other arguments, and returns all results of `of`, then
    the gradients of the sum of the outputs times their cotangents.

    With `links`, cotangents propagate through each chain of layers by a list of `jacobian.link`
    ops. A chain is split where a value has several users, an operation has several active inputs,
    or the structure is unknown; remarks of the category `links` give the reason. Functions with a
    `bppsa.recurrence` have no such chains. Example result:
    ```mlir
    func.func @step(%x: tensor<4xf32> {bppsa.input = "x"}, %w: tensor<4xf32> {bppsa.parameter = "w"})
        -> (tensor<f32> {bppsa.loss}, tensor<4xf32> {bppsa.gradient = "w"})
    ```
  }];
  let options = [
    Option<"of", "of", "std::string", /*default=*/"\"loss\"", "function to differentiate">,
    Option<"name", "name", "std::string", /*default=*/"\"step\"", "name of a new function without a role">,
    Option<"role", "role", "std::string", /*default=*/"\"\"",
           "role of the new function in `bppsa.entry`; empty for a function without a role">,
    Option<"variant", "variant", "std::string", /*default=*/"\"\"",
           "variant of the new function in `bppsa.entry`">,
    Option<"wrt", "wrt", "std::string", /*default=*/"\"parameters\"",
           "parameters; states: also the states before the first step; all: also the inputs">,
    Option<"links", "links", "bool", /*default=*/"false",
           "differentiate chains of layers into lists of jacobian.link">,
    ListOption<"cotangents", "cotangents", "std::string",
               "outputs that take cotangents instead of a loss">,
  ];
  let dependentDialects = [
    "::bppsa::dist::DistDialect", "::mlir::affine::AffineDialect", "::mlir::arith::ArithDialect",
    "::mlir::linalg::LinalgDialect", "::mlir::math::MathDialect", "::mlir::scf::SCFDialect",
    "::mlir::tensor::TensorDialect", "::bppsa::BPPSADialect"
  ];
}

def SpecializeTraining : Pass<"bppsa-specialize-training", "::mlir::ModuleOp"> {
  let summary = "Specialize dropout and batch statistics for training and inference";
  let description = [{
    Adds a copy of `function`, named `result`, for training. In the copy each `bppsa.dropout` drops
    elements, and each `bppsa.running_statistic` is the statistic of the batch. In all other
    functions dropout becomes the identity and the statistic the running statistic.

    Dropped elements are selected by a hash of the argument `bppsa.seed` (added if there is a
    dropout), the dropout's `stream` and the position of the element, so the backward pass
    recomputes the mask.

    The copy has an additional result `bppsa.updated = "name"` for each parameter with
    `bppsa.statistic` that a normalization uses: its value after the step. A running statistic
    without this attribute is frozen and is also used in the copy.

    If the copy contains means over ranks (`dist.rank_mean`), its last result is `bppsa.objective`:
    the loss times `dist.rank_weight`. Example result:
    ```mlir
    func.func @training_loss(%x: tensor<?xf32>, %seed: tensor<i64> {bppsa.seed}) -> tensor<f32>
    ```
  }];
  let options = [
    Option<"function", "function", "std::string", /*default=*/"\"loss\"", "function to copy">,
    Option<"result", "result", "std::string", /*default=*/"\"training_loss\"",
           "name of the copy">,
  ];
  let dependentDialects = [
    "::bppsa::dist::DistDialect", "::mlir::arith::ArithDialect", "::mlir::linalg::LinalgDialect",
    "::mlir::tensor::TensorDialect"
  ];
}

def RaiseProducts : Pass<"bppsa-raise-products", "::mlir::func::FuncOp"> {
  let summary = "Convert per-step matrix products to recurrences without states";
  let description = [{
    Converts a `linalg.generic` that multiplies a `[T, B, K]` array by a matrix, and a subsequent
    addition of a vector, to a `bppsa.recurrence` without states. Example result:
    ```mlir
    %1 = bppsa.recurrence sequences(%x : tensor<?x?x32xf32>) captures(%w : tensor<5x32xf32>)
        outputs(tensor<?x?x5xf32>) {
    ^bb0(%row: vector<32xf32>, %matrix: vector<5x32xf32>):
      %2 = bppsa.matvec %matrix, %row : vector<5x32xf32>, vector<32xf32> -> vector<5xf32>
    ```
  }];
  let dependentDialects = ["::bppsa::BPPSADialect"];
}

def SliceEarly : Pass<"bppsa-slice-early", "::mlir::func::FuncOp"> {
  let summary = "Move slices before elementwise operations and reshapes";
  let description = [{
    Moves each `tensor.extract_slice` before the transpositions, reshapes and elementwise ops that
    compute its source, if nothing else uses their results. A loss that reads one time step slices
    the trajectory of a recurrence directly, so its cotangent enters the chain as a seed and not as
    a sequence of zeros. Example result:
    ```mlir
    %0 = tensor.extract_slice %x[7, 0, 0] [1, %b, 8] [1, 1, 1]
    %1 = linalg.transpose ins(%0 : tensor<1x?x8xf32>) ... permutation = [1, 0, 2]
    ```
  }];
  let dependentDialects = [
    "::mlir::affine::AffineDialect", "::mlir::linalg::LinalgDialect",
    "::mlir::tensor::TensorDialect"
  ];
}

#endif // BPPSA_DIFFERENTIATION_PASSES
