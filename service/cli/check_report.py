"""A comparison as CI systems read it: JUnit's XML, and annotations of GitHub Actions."""

from collections.abc import Iterator
from xml.etree import ElementTree as ET

from service.cli.escaping import printable
from service.cli.verdicts import INCONCLUSIVE, SLOWER, ratio_with_interval
from service.cli.wire.comparison import ComparedPoint, Comparison
from service.cli.wire.spec import Spec
from service.figures import microseconds

MOST_ANNOTATIONS = 10
"""GitHub shows no more of one kind for a step."""


def junit(found: Comparison, *, baseline: str, candidate: str, problem: str | None) -> bytes:
    """One test case for each point: failed where it is slower, skipped where one side lacks it.

    The format is that of Ant's JUnit task, which CI systems agree on. `problem` is what speaks
    against the sweep as a whole.
    """
    suite = ET.Element("testsuite", name=f"tpsweep {candidate} against {baseline}")
    for point in found.points:
        case = _case(suite, point.spec, seconds=point.candidate.step_time_us / 1e6)
        if point.verdict == SLOWER:
            ET.SubElement(case, "failure", message=_said(point), type=SLOWER)
        ET.SubElement(case, "system-out").text = _said(point)
    for spec, reason in _one_sided(found):
        ET.SubElement(_case(suite, spec, seconds=0), "skipped", message=reason)
    if problem is not None:
        case = ET.SubElement(suite, "testcase", classname="tpsweep", name="sweep", time="0")
        ET.SubElement(case, "failure", message=printable(problem), type="sweep")
    suite.set("tests", str(len(suite)))
    for count, tag in (("failures", "failure"), ("skipped", "skipped")):
        suite.set(count, str(len(suite.findall(f"testcase/{tag}"))))
    suite.set("errors", "0")
    root = ET.Element("testsuites")
    root.append(suite)
    ET.indent(root)
    written: bytes = ET.tostring(root, encoding="utf-8", xml_declaration=True)
    return written + b"\n"


def annotations(found: Comparison, *, problem: str | None) -> Iterator[str]:
    """Workflow commands: an error for each slower point, the worst first, and a notice for all."""
    slower = [point for point in found.points if point.verdict == SLOWER]
    shown = sorted(slower, key=lambda point: -point.ratio)[:MOST_ANNOTATIONS]
    for point in shown:
        yield _command("error", f"slower: {point.spec.label}", _said(point))
    if problem is not None:
        yield _command("error", "tpsweep", problem)
    missing = len(found.unmatched_baseline)
    if missing:
        yield _command("warning", "tpsweep", f"{missing} points of the baseline were not measured")
    unsure = sum(point.verdict == INCONCLUSIVE for point in found.points)
    if unsure:
        yield _command("warning", "tpsweep", f"{unsure} points cannot be told; use more replicates")
    yield _command("notice", "tpsweep", found.sentence)


def _case(suite: ET.Element, spec: Spec, *, seconds: float) -> ET.Element:
    group = f"tpsweep.{spec.model.label}.{spec.block}"
    return ET.SubElement(
        suite,
        "testcase",
        classname=printable(group),
        name=printable(spec.label),
        time=f"{seconds:.9f}",
    )


def _one_sided(found: Comparison) -> Iterator[tuple[Spec, str]]:
    for one in found.unmatched_baseline:
        yield one.spec, "not measured now, only in the baseline"
    for one in found.unmatched_candidate:
        yield one.spec, "new: not in the baseline"


def _said(point: ComparedPoint) -> str:
    before, after = point.baseline.step_time_us, point.candidate.step_time_us
    return (
        f"{point.verdict}: {microseconds(before)} -> {microseconds(after)}, "
        f"ratio {ratio_with_interval(point)}"
    )


def _command(kind: str, title: str, message: str) -> str:
    """Escaped as GitHub's toolkit does it, so that no label can begin a command of its own."""
    text = printable(message).replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")
    name = printable(title).replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")
    name = name.replace(":", "%3A").replace(",", "%2C")
    return f"::{kind} title={name}::{text}"
