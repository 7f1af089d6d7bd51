"""Frames of zstd that say what a test wants them to say."""


def zstd_frame(data: bytes, window: int = 0, dictionary: int | None = None) -> bytes:
    """A frame of zstd that stores up to 128 KiB as they are, by RFC 8878.

    Args:
        data: Its content.
        window: The byte that says how large a window the decoder needs.
        dictionary: The number of the dictionary that it needs.
    """
    number = b"" if dictionary is None else dictionary.to_bytes(4, "little")
    head = bytes([3 if number else 0, window]) + number
    return b"\x28\xb5\x2f\xfd" + head + (len(data) << 3 | 1).to_bytes(3, "little") + data
