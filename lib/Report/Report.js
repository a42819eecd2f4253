//===- Report.js - plans and the page of a report -------------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

//--- Plans ---

const ROWS = [
  ["depth", "depth"], ["steps", "steps"], ["compose", "compose"], ["apply", "apply"],
  ["FLOP", "flops"], ["FLOP on the critical path", "critical_path_flops"],
  ["FLOP of the longest path without barriers", "span_flops"],
  ["FLOP of the largest product", "max_flops"], ["bytes moved", "bytes"],
  ["bytes of stored links", "link_bytes"], ["bytes of memory besides links", "peak_bytes"],
];

/* A row of the table of plans; the smallest number stands out. */
function drawRow(name, numbers) {
  const best = Math.min(...numbers);
  const cells = numbers.map((number) =>
    html`<td${number === best ? html` class="best"` : ""} title="${number}">${formatCount(number)}</td>`);
  return html`<tr><th>${name}</th>${cells}</tr>
`;
}

/* "1, 2 and 4 workers". */
function formatWorkers(workers) {
  if (workers.length === 1) return workers[0] === 1 ? "1 worker" : `${workers[0]} workers`;
  return `${workers.slice(0, -1).join(", ")} and ${workers.at(-1)} workers`;
}

/* The fastest plan for each number of workers, and the plans of the program. */
function drawRecommendation(chain, compiled) {
  const workersOf = new Map();
  for (const { workers, plan } of chain.fastest)
    workersOf.set(plan, [...workersOf.get(plan) ?? [], workers]);
  const parts = [...workersOf].map(([plan, workers], i) =>
    html`${i > 0 ? ", " : ""}<b>${plan}</b> for ${formatWorkers(workers)}`);
  return html`<p class="recommended">By its counted work this chain is fastest with ${parts}.${
    compiled.length > 0 ? ` The program has ${compiled.join(" and ")}.` : ""}</p>
`;
}

function drawPlans(chain, compiled) {
  const { plans } = chain;
  const names = plans.map(({ plan }) => compiled.includes(plan)
    ? html`<th class="compiled" title="in the program">${plan}</th>` : html`<th>${plan}</th>`);
  const rows = ROWS.map(([name, key]) => drawRow(name, plans.map((plan) => plan[key])));
  const times = plans[0].makespans.map(({ workers }, i) => drawRow(
    workers === 1 ? "time of 1 worker, in its FLOP" : `time of ${workers} workers, in FLOP of one`,
    plans.map((plan) => plan.makespans[i].flops)));
  return html`<h3>Plans</h3>
${drawRecommendation(chain, compiled)}<div class="wide"><table><thead><tr><th></th>${
  names}</tr></thead><tbody>
${rows}${times}</tbody></table></div>
`;
}

/* Products whose structure its name does not tell. */
function drawProducts(plan) {
  const products = plan.levels.flatMap((level) => level.operations ?? [])
    .filter(({ kind, picture }) => picture && kind === "compose");
  if (products.length === 0) return "";
  const figures = products.map((product) => html`<figure>${
    drawPattern({ ...product, structure: product.result })}<figcaption>${product.left}, ${
    product.right}<br>${product.rows} x ${product.cols}<br>${formatNonzeros(product)}<br>${
    formatCount(product.flops)} FLOP</figcaption></figure>
`);
  return html`<p>Zero patterns of products:</p><div class="patterns">
${figures}</div>`;
}

function drawPlan(chain, plan, compiled) {
  const isCompiled = compiled.includes(plan.plan);
  const summary = `: depth ${plan.depth}, ${formatCount(plan.compose)} compose, ${
    formatCount(plan.apply)} apply, ${formatCount(plan.flops)} FLOP, ${
    formatCount(plan.critical_path_flops)} on the critical path`;
  return html`<details${isCompiled || compiled.length === 0 ? " open" : ""}><summary><b>${plan.plan}</b>${
    isCompiled ? ", in the program" : ""}${summary}</summary>
${drawTree(chain, plan)}${drawLevels(plan)}${drawProducts(plan)}</details>
`;
}

//--- GPUs ---

/* A cell for each T and B in the colour of the faster plan, stronger the larger its lead. */
function drawRatios({ lengths, batches, ratios }) {
  const left = 64, top = 24, cell = { width: 84, height: 26 };
  const width = left + cell.width * lengths.length + 4, height = top + cell.height * batches.length + 4;
  const heads = lengths.map((length, i) =>
    html`<text x="${left + cell.width * i + 8}" y="16">T = ${length}</text>`);
  const rows = batches.map((batch, row) => {
    const y = top + cell.height * row;
    const cells = ratios[row].map((ratio, i) => {
      const x = left + cell.width * i, lead = Math.min(1, Math.abs(Math.log2(ratio)) / 4);
      return html`<rect class="${ratio > 1 ? "s-csr" : "s-dense"}" fill-opacity="${
        (0.1 + 0.6 * lead).toFixed(2)}" x="${x}" y="${y}" width="${cell.width - 2}" height="${
        cell.height - 2}"/><text x="${x + 8}" y="${y + 17}">${formatDigits(ratio)}</text>`;
    });
    return html`<text x="4" y="${y + 17}">B = ${batch}</text>${cells}`;
  });
  return html`<div class="wide"><svg class="crossover" width="${width}" height="${height}" viewBox="0 0 ${
    width} ${height}" role="img"><title>the time of sequential divided by that of chunked</title>${
    heads}${rows}</svg></div>
`;
}

function drawDevice(gpu) {
  const best = Math.min(...gpu.plans.map(({ us }) => us));
  const times = gpu.plans.map(({ us }) =>
    html`<td${us === best ? html` class="best"` : ""}>${formatDigits(us)}</td>`);
  const crossovers = gpu.crossovers.map(({ length }) => html`<td>${length > 0 ? length : "nowhere"}</td>`);
  return html`<h3>On a GPU: predicted, not measured</h3>
<p>Backward passes over this chain by the constants of ${gpu.constants}.</p>
<p>T = ${gpu.length}, B = ${gpu.batch}.</p>
<div class="wide"><table><thead><tr><th></th>${
  gpu.plans.map(({ plan }) => html`<th>${plan}</th>`)}</tr></thead><tbody><tr><th>predicted us</th>${
  times}</tr></tbody></table></div>
<p>The time of sequential divided by that of chunked: where it is above 1, in blue, chunked is faster.</p>
${drawRatios(gpu)}<div class="wide"><table><thead><tr><th>B</th>${
  gpu.crossovers.map(({ batch }) => html`<th>${batch}</th>`)}</tr></thead><tbody><tr><th>chunked is faster from T =</th>${
  crossovers}</tr></tbody></table></div>
`;
}

//--- The page ---

function drawLegend() {
  const names = ["dense", "csr", "block", "diagonal", "identity", "cotangent"];
  const entries = names.map((name) => html`<span><svg width="11" height="11"><rect class="${
    name === "cotangent" ? "vector" : getStyle(name)}" width="11" height="11"/></svg> ${name}</span>`);
  return html`<p class="legend">${entries}</p>
<p>In a tree a row is a level and a column an element of the scanned array: 0 is the seed, k the link
number k, and a product stands at its last element. A product is as wide as the square root of its
FLOP. The bar of a level is as long as its FLOP.</p>
`;
}

function drawChain(chain, report) {
  const compiled = chain.step ? report.plans_over_time : report.plans_of_layers;
  return html`<section>
<h2>${chain.name}</h2>
<p>${chain.links} links, ${chain.batch} ${chain.batch === 1 ? "sample" : "samples"}.</p>
${chain.layers ? drawLayers(chain) : ""}${chain.step ? drawStep(chain) : ""}${drawLinks(chain)}${
  chain.gpu ? drawDevice(chain.gpu) : ""}${chain.plans.length > 0 ? drawPlans(chain, compiled) : ""}${
  chain.plans.map((plan) => drawPlan(chain, plan, compiled))}</section>
`;
}

function drawReport(report) {
  const { title, facts, evaluation: { chains } } = report;
  const rows = facts.map(([name, text]) => html`<tr><th>${name}</th><td>${text}</td></tr>
`);
  const sections = chains.map((chain, number) => drawChain({ ...chain, number }, report));
  return html`<h1>${title}</h1>
${rows.length > 0 ? html`<table><tbody>
${rows}</tbody></table>
` : ""}${drawLegend()}${
  sections.length > 0 ? sections : html`<p>There is no chain.</p>
`}`.text;
}

if (typeof document !== "undefined") {
  const report = JSON.parse(document.getElementById("data").textContent);
  document.title = report.title;
  document.getElementById("report").innerHTML = drawReport(report);
}
