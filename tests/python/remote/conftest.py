"""The object stores and web servers that tests of remote files may use."""

from stores import gcs, moto, seaweed

__all__ = ["gcs", "moto", "seaweed"]
