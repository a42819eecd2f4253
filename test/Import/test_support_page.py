"""docs/Reference/ONNXSupport.md matches the importer's table."""

import harness


def test_page_is_up_to_date():
    translate = harness.require_tool("bppsa-translate")
    printed = harness.check_succeeded(harness.run(translate, "--list-onnx-support")).stdout
    committed = (harness.ROOT / "docs" / "Reference" / "ONNXSupport.md").read_text()
    assert committed == printed, "run bppsa-translate --list-onnx-support > docs/Reference/ONNXSupport.md"
