from collections.abc import Sequence

from service.analysis.nccl_tests.document import read_document
from service.analysis.nccl_tests.stream import decode
from service.analysis.nccl_tests.table import NcclTestsError, Reading, Skipped, Told
from service.analysis.nccl_tests.table_maker import Section, tables
from service.analysis.nccl_tests.text import read_sections


def read(body: bytes, told: Told | None = None) -> Reading:
    """Read what nccl-tests printed, text in any of its layouts or `-J` JSON.

    A row that is cut, contradicts itself or came out wrong is skipped with the reason;
    NcclTestsError where none is left.
    """
    text = decode(body)
    is_json = text.lstrip().startswith("{")
    sections = [read_document(text)] if is_json else read_sections(text)
    return _judged(sections, told or Told())


def _judged(sections: Sequence[Section], told: Told) -> Reading:
    taken = [table for section in sections for table in tables(section, told)]
    skipped = tuple(sorted(_all_skipped(sections), key=lambda one: one.line))
    if not taken:
        why = f"; line {skipped[0].line}: {skipped[0].reason}" if skipped else ""
        raise NcclTestsError(f"no row of nccl-tests could be taken{why}", skipped=skipped)
    warnings = tuple(warning for section in sections for warning in section.warnings)
    return Reading(tuple(taken), skipped, warnings)


def _all_skipped(sections: Sequence[Section]) -> list[Skipped]:
    return [one for section in sections for one in section.skipped]
