"""The paths of outputs."""

import os


def path_in(folder: str, *names: str) -> str:
    """The path of names in a folder, which may be a prefix of an object store."""
    return (
        "/".join([folder.rstrip("/"), *names]) if "://" in folder else os.path.join(folder, *names)
    )
