"""EasyDeL's trainers ask for sources by a class of their own: ours are known to it."""

from __future__ import annotations

import sys

# Where EasyDeL has the base of its sources; it is imported by whoever uses it, never here.
_PROTOCOLS = "easydel.data.core.protocols"


def known_to_easydel(sources: type) -> bool:
    """Makes `sources` a virtual subclass of EasyDeL's base, where that is imported.

    Returns:
        Whether it is: False until EasyDeL's module is imported whole.
    """
    base = getattr(sys.modules.get(_PROTOCOLS), "ShardedDataSource", None)
    if base is None:
        return False
    base.register(sources)
    return True
