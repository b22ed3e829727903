from collections.abc import Mapping
from types import MappingProxyType

from workers.contract.axes import Arrangement
from workers.tp.arrangements.column_column import COLUMN_COLUMN
from workers.tp.arrangements.column_row import COLUMN_ROW
from workers.tp.arrangements.products import Products
from workers.tp.arrangements.replicated import REPLICATED
from workers.tp.arrangements.row_column import ROW_COLUMN
from workers.tp.arrangements.row_row import ROW_ROW
from workers.tp.arrangements.sequence_parallel import SEQUENCE_PARALLEL
from workers.tp.arrangements.sequence_parallel_kept import SEQUENCE_PARALLEL_KEPT

ARRANGEMENTS: Mapping[Arrangement, Products] = MappingProxyType(
    {
        Arrangement.COLUMN_COLUMN: COLUMN_COLUMN,
        Arrangement.COLUMN_ROW: COLUMN_ROW,
        Arrangement.LAYER_SPLIT: REPLICATED,
        Arrangement.REPLICATED: REPLICATED,
        Arrangement.ROW_COLUMN: ROW_COLUMN,
        Arrangement.ROW_ROW: ROW_ROW,
        Arrangement.SEQUENCE_PARALLEL: SEQUENCE_PARALLEL,
        Arrangement.SEQUENCE_PARALLEL_KEPT: SEQUENCE_PARALLEL_KEPT,
    }
)
"""One for each arrangement of the contract, whose layouts say what each of them sends.

Within a layer that is whole on its rank nothing is: what passes between layers is `tp.stage`'s.
"""
