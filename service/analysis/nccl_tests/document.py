"""Reading the JSON that nccl-tests writes with `-J` (its layout version 3).

Its flags are text, NaN is the text "nan", `root` is padded text. Its `env` holds the whole
environment of the run, secrets included: nothing of it is read.
"""

import json
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from service.analysis.nccl_tests.operation import NOT_READ, Operation
from service.analysis.nccl_tests.table import (
    ELEMENT_BYTES,
    Cells,
    Figure,
    NcclTestsError,
    PrintedRow,
    Skipped,
)
from service.analysis.nccl_tests.table_maker import Section, is_footer_mean, mean_busbw

MOST_RESULTS = 20_000
MOST_RANKS = 1 << 20

_SLACK = 1e-6
"""Numbers have six decimals."""


_Count = Annotated[int, Field(ge=0, lt=10**18)]
_Degree = Annotated[int, Field(ge=1, le=10**6)]


class _Read(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True)


class _Device(_Read):
    hostname: str = ""
    device_info: str = ""


class _Config(_Read):
    nthreads: _Degree = 1
    ngpus: _Degree = 1
    devices: tuple[_Device, ...] = ()


class _Placement(_Read):
    time: float | None = None
    cpu_time: float | None = None
    alg_bw: float
    bus_bw: float
    nwrong: float | None = None


class _Result(_Read):
    size: _Count
    count: _Count
    type: str
    redop: str | None = ""
    root: str | int | None = None
    out_of_place: _Placement | None = None
    in_place: _Placement | None = None


class _Mean(_Read):
    bandwidth: float


class _OutOfBounds(_Read):
    count: int = 0


class _Document(_Read):
    args: tuple[str, ...] = ()
    config: _Config = _Config()
    results: tuple[object, ...]
    average_bus_bandwidth: _Mean | None = None
    out_of_bounds: _OutOfBounds | None = None


def read_document(text: str) -> Section:
    """Read one run; NcclTestsError where the text is not such a document."""
    document = _parsed(text)
    if not document.results:
        raise NcclTestsError("/results is empty: nccl-tests failed before it measured anything")
    if len(document.results) > MOST_RESULTS:
        raise NcclTestsError(
            f"/results has {len(document.results)} items, more than {MOST_RESULTS}"
        )
    section = _section(document)
    for number, result in enumerate(document.results, start=1):
        try:
            section.rows.append(_row(number, _Result.model_validate(result)))
        except (ValidationError, ValueError) as error:
            reason = _first(error) if isinstance(error, ValidationError) else str(error)
            section.skipped.append(Skipped(number, f"result {number}: {reason}"))
    _note_footer(section, document)
    return section


def _parsed(text: str) -> _Document:
    try:
        return _Document.model_validate(json.loads(text))
    except json.JSONDecodeError as error:
        raise NcclTestsError(f"line {error.lineno}: no JSON: {error.msg}") from None
    except ValidationError as error:
        raise NcclTestsError(f"no JSON of nccl-tests: {_first(error)}") from None
    except ValueError:
        raise NcclTestsError("no JSON of nccl-tests: a number of too many digits") from None
    except RecursionError:
        raise NcclTestsError("no JSON of nccl-tests: nested too deeply") from None


def _section(document: _Document) -> Section:
    section = Section()
    config = document.config
    program = document.args[0].replace("\\", "/").rpartition("/")[2] if document.args else ""
    name = program.partition("_perf")[0]
    section.named = Operation(name) if name in set(Operation) else None
    section.not_read = name if name in NOT_READ else ""
    if config.devices:
        # One device of each process is listed, whatever it drives.
        num_ranks = len(config.devices) * config.nthreads * config.ngpus
        if num_ranks > MOST_RANKS:
            raise NcclTestsError(f"/config lists {num_ranks} ranks, more than {MOST_RANKS}")
        section.num_ranks = num_ranks
        section.hosts = {device.hostname for device in config.devices}
        section.accelerator = config.devices[0].device_info
    return section


def _row(number: int, result: _Result) -> PrintedRow:
    if result.type not in ELEMENT_BYTES:
        raise ValueError(f"type {result.type!r} is not one of {', '.join(ELEMENT_BYTES)}")
    root = int(result.root) if result.root not in (None, "") else None
    return PrintedRow(
        line=number,
        message_bytes=result.size,
        count=result.count,
        dtype=result.type,
        redop=result.redop or "",
        root=root,
        out_of_place=_cells(result.out_of_place),
        in_place=_cells(result.in_place),
    )


def _cells(placement: _Placement | None) -> Cells | None:
    if placement is None:
        return None
    time_us = placement.time if placement.time is not None else placement.cpu_time
    if time_us is None:
        raise ValueError("neither time nor cpu_time")
    figures = (time_us, placement.alg_bw, placement.bus_bw)
    if not all(0 <= figure < float("inf") for figure in figures):
        raise ValueError("a time or a bandwidth is not a number")
    time, algbw, busbw = (Figure(figure, _SLACK) for figure in figures)
    is_checked = placement.nwrong is not None
    return Cells(time, algbw, busbw, num_wrong=placement.nwrong or 0, is_checked=is_checked)


def _note_footer(section: Section, document: _Document) -> None:
    mean = document.average_bus_bandwidth
    if mean and section.rows and not is_footer_mean(section.rows, mean.bandwidth):
        section.warnings.append(
            f"the mean bus bandwidth is said to be {mean.bandwidth:g}, that of the results is "
            f"{mean_busbw(section.rows):.6g}: results are missing"
        )
    if document.out_of_bounds and document.out_of_bounds.count:
        section.warnings.append(f"{document.out_of_bounds.count} values were out of bounds")


def _first(error: ValidationError) -> str:
    first = error.errors(include_url=False)[0]
    return f"/{'/'.join(map(str, first['loc']))}: {first['msg']}"
