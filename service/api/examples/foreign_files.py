"""Files as other programs print them."""

TOPOLOGY = """\
        GPU0    GPU1    GPU2    GPU3
GPU0     X      NV4     NODE    NODE
GPU1    NV4      X      NODE    NODE
GPU2    NODE    NODE     X      NV4
GPU3    NODE    NODE    NV4      X
"""

NCCL_TESTS_TEXT = """\
# Collective test starting: all_reduce_perf
#       size         count    type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong
     1048576        262144   float     sum      -1    28.56   36.71   64.24      0    28.37   36.96   64.68      0
     2097152        524288   float     sum      -1    43.45   48.27   84.47      0    43.39   48.34   84.59      0
"""  # noqa: E501 - as it is printed

NCCL_TESTS_JSON: dict[str, object] = {
    "version": 3,
    "args": ["all_reduce_perf", "-J", "out.json"],
    "results": [
        {
            "size": 1048576,
            "count": 262144,
            "type": "float",
            "redop": "sum",
            "root": "    -1",
            "out_of_place": {"time": 28.56, "alg_bw": 36.714846, "bus_bw": 64.25098, "nwrong": 0},
            "in_place": {"time": 28.37, "alg_bw": 36.960733, "bus_bw": 64.681283, "nwrong": 0},
        }
    ],
}
