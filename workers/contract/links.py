import re

SELF = "X"
UNKNOWN = "?"

_NVLINK = re.compile(r"NV([1-9]\d?)")
_PCIE_BEST_FIRST = ("PIX", "PXB", "PHB", "NODE", "SYS")
_NAMES_OF_OLD_DRIVERS = {"PSB": "PIX", "SOC": "SYS"}
_UNKNOWN_MARKS = frozenset({UNKNOWN, "N/A", "UNK"})


def read_link(word: str) -> str | None:
    """The link a cell names, in today's vocabulary; None for a word that is no cell."""
    if word in _UNKNOWN_MARKS:
        return UNKNOWN
    link = _NAMES_OF_OLD_DRIVERS.get(word, word)
    is_link = link == SELF or link in _PCIE_BEST_FIRST or is_nvlink(link)
    return link if is_link else None


def is_nvlink(link: str) -> bool:
    """A bonded set of NVLinks, direct or through a switch."""
    return _NVLINK.fullmatch(link) is not None


def badness(link: str) -> int:
    """Rank of a link, higher is slower; what is unknown promises nothing and ranks last."""
    if link == SELF:
        return -100
    nvlink = _NVLINK.fullmatch(link)
    if nvlink:
        return -int(nvlink[1])
    return _PCIE_BEST_FIRST.index(link) if link in _PCIE_BEST_FIRST else len(_PCIE_BEST_FIRST)
