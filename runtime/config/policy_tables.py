"""The tables `[policies.NAME]`, one for each policy of the catalogue with options of its own."""

from typing import TYPE_CHECKING

import msgspec

from mpc.policies.catalogue import policy_entries

if TYPE_CHECKING:
    PolicyTables = msgspec.Struct
else:
    PolicyTables = msgspec.defstruct(
        "PolicyTables",
        [
            (
                entry.attribute,
                entry.options_type(),
                msgspec.field(name=entry.name, default=entry.default_options()),
            )
            for entry in policy_entries()
            if entry.has_table
        ],
        module=__name__,
        frozen=True,
        forbid_unknown_fields=True,
    )
    PolicyTables.__doc__ = "Options of single policies; only the table of the one in use is read."
