"""The object stores and web servers that tests of remote files may use."""

from stores import certificates, ftp, gcs, moto, nginx, nginx_tls, seaweed

__all__ = ["certificates", "ftp", "gcs", "moto", "nginx", "nginx_tls", "seaweed"]
