# Part of the bppsa project, under the MIT License.
"""Calibrates programs on the GPU: the constants by which they select a variant.

The answer of `bench --calibrate` contains measured and predicted times of every variant at a grid
of sizes, the worst ratio of the two, and the worst slowdown of the selected variant relative to
the best.
"""

import json


def run(results, variants, folder, call, save):
    """Calibrates the programs that select a variant; returns the files of constants by program."""
    files = {}
    for variant in variants:
        if variant.name != "auto":
            continue
        path = folder / f"{variant.cell}-h{variant.hidden}.calibration.json"
        answers = results.setdefault("calibrations", {})
        if "constants" not in answers.get(variant.key, {}):
            answers[variant.key] = _calibrate(variant, path, call)
            save()
        answer = answers[variant.key]
        if "constants" in answer:
            path.write_text(json.dumps(answer))
            files[variant.program] = path
            verdict = f"choice within {answer['worst_choice']:.3f} x"
        else:
            verdict = f"skipped: {answer['skipped']}"
        print(f"calibration of {variant.key}: {verdict}", flush=True)
    return files


def _calibrate(variant, path, call):
    try:
        text = call([variant.program, "bench", "--calibrate", "--calibration", path])
    except RuntimeError as reason:
        return {"skipped": str(reason)}
    return json.loads(text)


def lines(results):
    """Yields Markdown lines of the calibration results."""
    answers = results.get("calibrations", {})
    if not answers:
        return
    yield from ("", "Calibrations:", "", "| program | points | prediction | choice |", "|---|---|---|---|")
    for key, answer in answers.items():
        if "constants" not in answer:
            yield f"| {key} | | skipped: {answer['skipped']} | |"
            continue
        numbers = f"{answer['worst_prediction']:.2f} x | {answer['worst_choice']:.3f} x"
        yield f"| {key} | {len(answer['points'])} | {numbers} |"
    yield ""
    yield (
        "`prediction` is the worst ratio of predicted and measured backward passes, `choice` the worst ratio of "
        "the selected to the better variant."
    )
