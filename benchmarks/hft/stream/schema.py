"""The row of a quote, as the replay source delivers it and every stage after it expects it.

`seq` is the quote's place in the whole stream, from 0 and without gaps, so that order (per symbol,
too) and exactly-once can be checked from the rows alone. `ts` is when the quote was due on the
wall clock, not when it was read: completion minus ts is the true latency, with all waiting in it.
"""

import pyarrow as pa

SEQ = "seq"
TS = "ts"
SYMBOL = "symbol"
BID = "bid"
ASK = "ask"
BID_SIZE = "bid_size"
ASK_SIZE = "ask_size"

QUOTE_SCHEMA = pa.schema(
    [
        # Index in the stream. A micro-batch holds one contiguous range of it, cut into contiguous
        # partitions that are ascending inside; a shuffle loses that order, sorting by seq gives
        # it back.
        (SEQ, pa.int64()),
        # Due time, never decreasing with seq. The stream starts on a whole second, so
        # milliseconds of ts are milliseconds of the replay, whenever it was started.
        (TS, pa.timestamp("us", tz="UTC")),
        # 0, 1, …: most frequent first when generated, alphabetical in a file.
        (SYMBOL, pa.int32()),
        # US dollars; null on the side that a one-sided quote does not have, never both.
        (BID, pa.float64()),
        (ASK, pa.float64()),
        # Shares; null exactly where the price is.
        (BID_SIZE, pa.int32()),
        (ASK_SIZE, pa.int32()),
    ]
)

QUOTE_DDL = (
    f"{SEQ} BIGINT, {TS} TIMESTAMP, {SYMBOL} INT, {BID} DOUBLE, {ASK} DOUBLE, "
    f"{BID_SIZE} INT, {ASK_SIZE} INT"
)
"""The same for Spark."""
