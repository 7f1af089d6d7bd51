"""The engine, as an installed package finds it (engines.py); _native.pyi describes it."""

from easydata.engines import load

load(__name__)
