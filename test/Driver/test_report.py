"""`bppsa-compile --emit=report`: the data of the page and the diagrams that its scripts draw."""

import html.parser
import re
import shutil

import harness
import images
import models
import pages
import pytest

draws = pytest.mark.skipif(not shutil.which("node"), reason="Node.js is not installed")
PLANS = ["linear", "blelloch", "hybrid:1", "hybrid:2", "hybrid:3", "chunked:32", "chunked:64"]


class Tags(html.parser.HTMLParser):
    """Checks that tags nest, and collects references and ids."""

    VOID = {"meta", "br", "hr", "img", "link", "input"}

    def __init__(self):
        super().__init__()
        self.open, self.references, self.names = [], [], []

    def collect(self, attributes):
        self.references += [v for k, v in attributes if k in ("src", "href", "xlink:href")]
        self.names += [v for k, v in attributes if k == "id"]

    def handle_starttag(self, tag, attributes):
        self.collect(attributes)
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.collect(attributes)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def check_markup(text):
    """Checks that tags nest and that all references are internal."""
    tags = Tags()
    tags.feed(text)
    assert tags.open == []
    assert len(set(tags.names)) == len(tags.names)
    assert {reference.removeprefix("#") for reference in tags.references} <= set(tags.names)


def compile_page(source, tmp_path, *options):
    """Compiles a report and returns its text."""
    page = tmp_path / "page.html"
    compiler = harness.require_tool("bppsa-compile")
    harness.check_succeeded(harness.run(compiler, source, "-o", page, "--emit=report", *options))
    text = page.read_text()
    check_markup(text)
    return text


def draw(source, tmp_path, *options):
    """Returns the body of a page after its scripts have run."""
    text = pages.draw(compile_page(source, tmp_path, *options))
    check_markup(text)
    return text


def find_chain(text, name):
    """Returns the data of the first chain whose name starts with `name`."""
    report, _ = pages.parse(text)
    chains = report["evaluation"]["chains"]
    return next(chain for chain in chains if chain["name"].startswith(name))


def find_boxes(text):
    """Returns the names of the drawn layers and the labels at the ends of chains."""
    return (
        re.findall(r'class="box layer [^>]*><b>(.*?)</b>', text),
        re.findall(r'class="box cut">(.*?)</span>', text),
    )


def write_model(tmp_path, cell):
    source = tmp_path / "model.onnx"
    source.write_bytes(models.build(models.Spec(cell)).SerializeToString())
    return source


def test_data(tmp_path):
    source = write_model(tmp_path, "GRU")
    text = compile_page(source, tmp_path, "--scan=hybrid:4", "--report-length=32")
    report, _ = pages.parse(text)
    facts = dict(report["facts"])
    assert report["title"] == "Scan plans for model.onnx"
    assert facts["model"] == "model.onnx" and facts["target"] == "cpu"
    assert facts["T, if the model leaves it dynamic"] == "32"
    assert report["plans_over_time"] == ["linear", "hybrid:4"]
    chain = find_chain(text, "step_")
    assert chain["links"] == 32 and chain["batch"] == 16
    assert [plan["plan"] for plan in chain["plans"]] == [*PLANS, "hybrid:4"]
    assert chain["step"]["states"] and chain["structures"][0]["repeat"] == 32


def test_data_of_layers(tmp_path):
    chain = find_chain(compile_page(harness.ROOT / "examples" / "lenet5.onnx", tmp_path), "loss")
    assert chain["links"] == 11 == len(chain["layers"])
    assert chain["layers"][0]["name"] == "/0/Conv" and chain["layers"][0]["link"] == 11


def test_data_of_gpus(tmp_path):
    text = compile_page(write_model(tmp_path, "GRU"), tmp_path, "--target=cuda")
    gpu = find_chain(text, "step_")["gpu"]
    assert [plan["plan"] for plan in gpu["plans"]][:2] == ["sequential", "chunked"]
    assert len(gpu["ratios"]) == len(gpu["batches"]) == len(gpu["crossovers"])


@draws
def test_chain_over_time(tmp_path):
    source = write_model(tmp_path, "GRU")
    text = draw(source, tmp_path, "--scan=hybrid:4", "--report-length=32")
    # A chain of 32 links, and the plan of the command line next to the usual ones.
    for word in ("model.onnx", "hybrid:4", "blelloch", "chunked:32", "32 links"):
        assert word in text, word
    ports = ("cotangents of states after the step", "saved", "captures of all steps", "emitted")
    for port in ports:
        assert f'<span class="box port"><b>{port}</b>' in text, port


@draws
def test_long_chain_is_drawn_shortened(tmp_path):
    source = write_model(tmp_path, "RNN")
    text = draw(source, tmp_path, "--scan=blelloch", "--report-length=1000")
    drawn = re.findall(r"<p>1000 links are too many to be drawn: this is (.*?) on the first 16", text)
    kinds = ["blelloch", "hybrid:1", "hybrid:2", "hybrid:3", "chunked:4", "chunked:4"]
    assert drawn == ["hybrid:0", *kinds] or drawn == ["linear", *kinds]
    assert text.count('<svg class="tree"') == len(drawn)
    # Elements 0 to 16 of each.
    assert text.count('<text class="number"') == 17 * len(drawn)


@draws
def test_plans_of_the_program_are_marked(tmp_path):
    source = write_model(tmp_path, "RNN")
    text = draw(source, tmp_path, "--scan=blelloch", "--report-length=40")
    marked = re.findall(r'<th class="compiled"[^>]*>(.*?)</th>', text)
    assert marked == ["linear", "blelloch"]
    opened = re.findall(r"<details open><summary><b>(.*?)</b>, in the program:", text)
    assert opened == marked
    assert text.count("<details") == 7
    assert "The program has linear and blelloch." in text
    recommended = re.search(r"fastest with (.*?)\. The program", text).group(1)
    # With one worker, the linear plan is the fastest.
    assert re.match(r"<b>linear</b> for 1\b", recommended)


@draws
def test_gpu_report(tmp_path):
    """A report for GPUs shows predicted times and the crossover points of plans."""
    source = write_model(tmp_path, "GRU")
    text = draw(source, tmp_path, "--target=cuda", "--report-length=500")
    assert "predicted, not measured" in text
    assert "T = 500, B = 16." in text
    assert '<svg class="crossover"' in text


@draws
def test_layers(tmp_path):
    text = draw(harness.ROOT / "examples" / "lenet5.onnx", tmp_path)
    names, ends = find_boxes(text)
    kinds = ["Conv", "Relu", "MaxPool", "Conv", "Relu", "MaxPool"]
    # The sixth node is a Flatten, which is not a link.
    nodes = [*enumerate(kinds), (7, "Gemm"), (8, "Relu"), (9, "Gemm"), (10, "Relu"), (11, "Gemm")]
    # The chains after the model's chain belong to the loss.
    assert names[:11] == [f"/{i}/{kind}" for i, kind in nodes]
    assert "<p>11 links, 16 samples.</p>" in text
    assert ends[:2] == ["graph input", "several operations use the result of linalg.generic"]


@draws
def test_skip_connections_split_chains(tmp_path):
    source = tmp_path / "model.onnx"
    source.write_bytes(images.residual().SerializeToString())
    text = draw(source, tmp_path)
    names, ends = find_boxes(text)
    assert len(names) == sum(int(count) for count in re.findall(r"<p>(\d+) links,", text))
    assert len(ends) == 2 * text.count('<div class="layers">')
    assert any(end.startswith("several operations use") for end in ends)
    assert "linalg.generic joins 2 values" in ends
