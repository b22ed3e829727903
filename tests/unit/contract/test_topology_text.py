import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.contract.matrices import topologies, topology
from workers.contract.errors import TopologyError
from workers.contract.topology import Topology, parse_topology


@st.composite
def prints(draw: st.DrawFn, drawn: Topology) -> str:
    """The topology as some driver or paste would show it."""
    num_gpus = len(drawn.links)
    cards = draw(st.sampled_from([[], ["NIC0", "NIC1"], ["mlx5_0", "mlx5_bond_1"], ["ibp33s0"]]))
    affinity = draw(
        st.sampled_from(
            [
                ([], []),
                (["CPU Affinity"], ["0-15,32-47"]),
                (["CPU Affinity", "NUMA Affinity"], ["0,2,4", "N/A"]),
                (["CPU Affinity", "NUMA Affinity", "GPU NUMA ID"], ["0-31", "0", "", "N/A"]),
            ]
        )
    )
    gap = draw(st.sampled_from(["\t", "   ", " \t"]))
    names = [f"GPU{index}" for index in range(num_gpus)]
    header = ["", *names, *cards, *affinity[0]]
    rows = [
        [name, *(" X " if link == "X" else link for link in links), *["SYS"] * len(cards)]
        + affinity[1]
        for name, links in zip(names, drawn.links, strict=True)
    ]
    rows += [
        [card, *["SYS"] * num_gpus, *(" X " if card == other else "PIX" for other in cards)]
        for card in cards
    ]
    first = gap.join(header)
    if draw(st.booleans()):
        first = f"{gap}\x1b[4m{first.strip()}\x1b[0m"
    ending = draw(st.sampled_from(["", "\n\nLegend:\n\n  X    = Self\n  NV#  = NVLinks\n"]))
    text = "\n".join([first, *(gap.join(row) for row in rows)]) + ending
    return text.replace("\n", draw(st.sampled_from(["\n", "\r\n"])))


@given(st.data())
def test_every_way_of_printing_a_matrix_reads_back_the_same(data: st.DataObject) -> None:
    drawn = data.draw(topologies())
    assert parse_topology(data.draw(prints(drawn))).links == drawn.links


def test_rows_cut_between_gpus_are_filled_from_the_other_row_and_the_rest_is_unknown() -> None:
    found = parse_topology(
        "     GPU0 GPU1 ... \nGPU0  X NV4 ...\nGPU1 NV4 X ...\nGPU2 SYS NODE ...\nGPU3 SYS SYS ..."
    )
    assert found.links[0] == ("X", "NV4", "SYS", "SYS")
    assert found.links[2] == ("SYS", "NODE", "X", "?")
    assert found.remarks == (
        "the text is cut",
        "unknown pairs: 1, the first is GPU2-GPU3",
    )


def test_rows_cut_out_of_the_middle_leave_their_gpus_unknown() -> None:
    found = parse_topology(
        "     GPU0 GPU1 ... GPU3\nGPU0 X NV4 ... SYS\nGPU1 NV4 X ... SYS\n...\nGPU3 SYS SYS ... X"
    )
    assert found.links[2] == ("?", "?", "X", "?")
    assert found.links[0] == ("X", "NV4", "?", "SYS")


def test_a_cut_the_header_does_not_have_ends_its_row() -> None:
    found = parse_topology("GPU0 GPU1 GPU2\nGPU0 X ... SYS\nGPU1 NV4 X ...\nGPU2 ? ? X")
    assert found.links[0] == ("X", "NV4", "?")


@pytest.mark.parametrize(
    "text",
    [
        "GPU0 GPU1 GPU2 CPU Affinity\nGPU0 X 0-3\nGPU1 NV1 X 0-3\nGPU2 SYS PIX X 0-3",
        "GPU0 GPU1 GPU2 NIC0\nGPU0 X NV1 SYS PXB\nGPU1 X PIX PXB\nGPU2 X PXB",
        "\tGPU0\tGPU1\tGPU2\tNIC0\nGPU0\tX\t\tSYS\tPXB\nGPU1\tNV1\tX\t\tPXB\nGPU2\t\tPIX\tX",
        "GPU0 GPU1 GPU2\nGPU0 X NV1 SYS\nGPU2 SYS PIX X",
    ],
    ids=["lower half", "upper half", "blank cells between tabs", "row missing"],
)
def test_half_a_matrix_is_enough(text: str) -> None:
    found = parse_topology(text)
    assert found == topology("X NV1 SYS", "NV1 X PIX", "SYS PIX X")


def test_rows_that_contradict_each_other_count_as_the_slower_and_say_so() -> None:
    found = parse_topology("GPU0 GPU1\nGPU0 X NV4\nGPU1 SYS X")
    assert found.links[0][1] == "SYS"
    assert found.remarks == ("GPU0-GPU1 is NV4 and SYS in its two rows: took SYS",)


def test_cells_without_a_known_link_and_names_of_old_drivers_are_understood() -> None:
    found = parse_topology("GPU0 GPU1 GPU2\nGPU0 X SOC N/A\nGPU1 SOC X PSB\nGPU2 N/A PSB X")
    assert found.links == topology("X SYS ?", "SYS X PIX", "? PIX X").links


def test_cards_that_run_into_each_other_do_not_hide_the_gpus() -> None:
    found = parse_topology("GPU0 GPU1 NIC0 NIC1 CPU Affinity\nGPU0 X NV4 NODENODE 0-3\nGPU1 NV4 X")
    assert found == topology("X NV4", "NV4 X")


@pytest.mark.parametrize("escape", ["\x1b[4m", "[4m", "^[[4m", "\\x1b[4m", "\\u001b[1;4m", "␛[4m"])
def test_terminal_codes_are_dropped_also_where_a_paste_has_mangled_them(escape: str) -> None:
    found = parse_topology(f"\t{escape}GPU0\tGPU1\nGPU0\tX\tPIX\nGPU1\tPIX\tX")
    assert found == topology("X PIX", "PIX X")


def test_text_before_and_after_the_matrix_is_passed_over() -> None:
    found = parse_topology(
        "# a host\n$ nvidia-smi topo -m\n  GPU0 GPU1\nGPU0 X PHB\nGPU1 PHB X\n"
        "  GPU0 GPU1\nGPU0 X GNS\nGPU1 GNS X"
    )
    assert found == topology("X PHB", "PHB X")


@pytest.mark.parametrize(
    "prefix", ["0: ", "[1,0]<stdout>:", "2026-01-02T03:04:05Z stdout F ", "> ", "worker-0 | "]
)
def test_what_launchers_and_quotes_put_before_each_line_is_dropped(prefix: str) -> None:
    lines = [
        "\tGPU0\tGPU1\tNIC0",
        "GPU0\t X \tPHB\tSYS",
        "GPU1\tPHB\t X \tSYS",
        "NIC0\tSYS\tSYS\t X",
    ]
    assert parse_topology("\n".join(prefix + line for line in lines)) == topology("X PHB", "PHB X")


def test_matrix_in_a_comment_is_read() -> None:
    found = parse_topology("#   GPU0 GPU1 GPU2\n# GPU0 X NV4 NV4\n# ...\n#\n# Legend:\n#  X = Self")
    assert found.links[0] == ("X", "NV4", "NV4")


def test_lines_that_a_terminal_broke_behind_the_gpus_are_read() -> None:
    found = parse_topology(
        "  GPU0 GPU1 NIC0 CPU Affini\nty  NUMA Affinity\n"
        "GPU0 X NV4 PXB 0-15,3\n2-47 0\nGPU1 NV4 X\n PXB 16-31 1"
    )
    assert found == topology("X NV4", "NV4 X")


@pytest.mark.parametrize("end", ["NV1", "N", "NV18"])
def test_last_cell_of_a_text_that_ends_in_the_matrix_is_not_trusted(end: str) -> None:
    text = f"GPU0 GPU1 GPU2\nGPU0 X NV18 NV18\nGPU1 NV18 X NV18\nGPU2 {end}"
    found = parse_topology(text)
    assert found.links == topology("X NV18 NV18", "NV18 X NV18", "NV18 NV18 X").links
    assert found.remarks == ("the text is cut",)


def test_links_are_read_where_peer_states_come_first() -> None:
    peers = "\tGPU0\tGPU1\n GPU0\tX\tOK\n GPU1\tOK\tX\n\nLegend:\n  OK   = Status Ok\n"
    links = "\tGPU0\tGPU1\nGPU0\tX\tPHB\nGPU1\tPHB\tX\n"
    assert parse_topology(peers + links) == topology("X PHB", "PHB X")


def test_matrices_of_other_nodes_are_not_read_which_is_said() -> None:
    node = "GPU0 GPU1\nGPU0 X {0}\nGPU1 {0} X\n\nLegend:\n  X = Self\n"
    found = parse_topology(node.format("NV4") + node.format("SYS"))
    assert found.links[0] == ("X", "NV4")
    assert found.remarks == ("only the first of 2 matrices in the text was read",)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "line 1: expected the header of a matrix"),
        ("# note\n\nNo devices were found", "line 3: expected the header .* 'No devices were"),
        ("GPU0 X\nGPU1 X", "line 1: expected the header"),
        ("  GPU0 GPU1\n", "line 1: expected rows GPU#"),
        ("GPU0 GPU1\nGPU0 X GNS\nGPU1 GNS X", "line 1: .* `nvidia-smi topo -m` .* peer states"),
        ("GPU0 GPU1\nGPU0 X NV4\nGPU1 OK X", "line 3: expected X, NV#, .* found 'OK' in row GPU1"),
        ("GPU0 GPU1\nGPU0 X NV0\nGPU1 NV0 X", "line 2: .* found 'NV0' in row GPU0"),
        ("GPU0 GPU1\nGPU0 NV4 X\nGPU1 NV4 X", "line 2: expected X in column GPU0"),
        ("GPU0 GPU1\nGPU0 X X\nGPU1 NV4 X", "line 2: .* only there, found X in column GPU1"),
        ("GPU0 GPU1\nGPU0 X NV4\nGPU0 X NV4", "line 3: expected one row GPU0, as on line 2"),
        ("GPU0 GPU1\nGPU0 X NV4\nGPU2 X NV4", "line 3: expected a column GPU2"),
        ("GPU0 GPU1\nGPU0 X NV4\nwhat\nGPU1 NV4 X", "line 3: expected a row of the matrix"),
        ("GPU0 GPU0\nGPU0 X NV4", "line 1: .* every column once"),
        ("GPU0 GPU2\nGPU0 X NV4\nGPU2 NV4 X", "line 1: .* without a gap"),
        ("GPU0 ... GPU9999\nGPU0 X ...", "line 1: .* without a gap"),
        ("GPU0 GPU1\nGPU0 X NV4\nGPU1", "line 3: expected X in column GPU1"),
        ("GPU0 MIG0\nGPU0 X SYS\nMIG0 SYS X", "line 1: expected whole GPUs, .*MIG slices"),
        ("GPU0\nMIG0 X", "line 2: .*MIG slices have no links"),
        ("GPU 0: A100\n  MIG 1g.5gb Device 0", "line 1: .*MIG slices have no links"),
        (
            "=== Weight between two GPUs ===\n\n   GPU0  GPU1\nGPU0  0  15\nGPU1  15  0\n",
            "line 4: expected X in column GPU0, .*AMD's matrix",
        ),
        ("  GPU0 GPU1\nGPU0 0 XGMI\nGPU1 XGMI 0", "line 2: .*AMD's matrix"),
    ],
)
def test_what_is_no_matrix_is_refused_by_line_and_expectation(text: str, message: str) -> None:
    with pytest.raises(TopologyError, match=message) as caught:
        parse_topology(text)
    assert caught.value.code == "topology_unreadable"
    assert isinstance(caught.value, ValueError)
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)  # noqa: S301 - our own bytes


WORDS = st.sampled_from(
    ["GPU0", "GPU1", "GPU2", "X", "NV4", "SYS", "...", "N/A", "0-3", "CPU", "NIC0", "?", "\t", "\n"]
)


@given(st.one_of(st.text(), st.lists(WORDS).map(" ".join), st.lists(WORDS).map("\t".join)))
def test_any_text_is_read_or_refused_and_nothing_else(text: str) -> None:
    try:
        found = parse_topology(text)
    except TopologyError:
        return
    assert found.links
