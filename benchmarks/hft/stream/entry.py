"""What makes the quotes source countable: the entry point of the group `foresight.sources`."""

from runtime.spark.sensing.sources.catalogue import SourceEntry

ENTRY = SourceEntry("quotes", "benchmarks.hft.stream.counter:QuotesCounter")
