"""The control: fixed work that takes turns with every point, so that it tells how the host was."""

CONTROL_VERSION = 1
"""Raised when what follows changes; controls of different versions must not be compared. 0 stands
for a trial that had none.

Version 1: the GEMM is one float32 product of two square matrices of normal values, into memory that
is there already. The collective copies 64 KiB of normal float32 values into the message and sums it
over the ranks, through the implementation that the point uses: where the points of a pair differ in
it that is the first one's, and the second has no control of this kind."""

CONTROL_GEMM_EXTENT = {"cpu": 256, "cuda": 1024}
"""Rows and columns by kind of device: some 0.5 ms on one core, some 0.05 ms on a GPU."""

CONTROL_MESSAGE_BYTES = 1 << 16
