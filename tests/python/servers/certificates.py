"""Certificates of an authority of the tests' own, good and bad, made by the program openssl."""

from __future__ import annotations

import shutil
import ssl
import subprocess
from dataclasses import dataclass
from pathlib import Path

HERE = "IP:127.0.0.1,DNS:localhost"
# A folder is an authority's: openssl keeps there what it has signed.
CONFIG = """
[ca]
default_ca = here
[here]
dir = .
database = index.txt
new_certs_dir = .
serial = serial
default_md = sha256
policy = any
unique_subject = no
[any]
commonName = supplied
"""


@dataclass
class Certificate:
    """The files of a certificate and its key."""

    certificate: Path
    key: Path

    def context(self) -> ssl.SSLContext:
        """What a server needs to answer with it."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.certificate, self.key)
        return context


@dataclass
class Certificates:
    """`ca_file` vouches for all but `unknown`; only `good` is to be trusted."""

    ca_file: Path
    good: Certificate
    expired: Certificate
    other_host: Certificate
    unknown: Certificate


def has_openssl() -> bool:
    return shutil.which("openssl") is not None


def make_certificates(folder: Path) -> Certificates:
    """Makes all of them in a folder; takes about a second."""
    ours, others = _Authority(folder / "ours"), _Authority(folder / "others")
    return Certificates(
        ca_file=ours.own.certificate,
        good=ours.sign("good", HERE),
        expired=ours.sign("expired", HERE, ("20200101000000Z", "20200201000000Z")),
        other_host=ours.sign("other_host", "DNS:elsewhere.example"),
        unknown=others.sign("unknown", HERE),
    )


class _Authority:
    """Signs certificates in a folder of its own."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True)
        self._folder = folder
        (folder / "index.txt").touch()
        (folder / "serial").write_text("01\n")
        (folder / "ca.conf").write_text(CONFIG)
        self.own = self._key_and("ca", "-x509", "-days", "3650", "-subj", f"/CN={folder.name}")

    def sign(self, name: str, hosts: str, valid: tuple[str, str] | None = None) -> Certificate:
        """A certificate for hosts, valid now, or from one time to another."""
        request = self._key_and(f"{name}-request", "-subj", f"/CN={name}")
        extensions = self._folder / f"{name}.ext"
        extensions.write_text(f"subjectAltName = {hosts}\n")
        begin, end = valid or ("20200101000000Z", "20491231235959Z")
        made = self._folder / f"{name}.pem"
        self._openssl("ca", "-batch", "-notext", "-config", "ca.conf", "-extfile", extensions.name,
                      "-cert", self.own.certificate.name, "-keyfile", self.own.key.name,
                      "-startdate", begin, "-enddate", end,
                      "-in", request.certificate.name, "-out", made.name)  # fmt: skip
        return Certificate(made, request.key)

    def _key_and(self, name: str, *arguments: str) -> Certificate:
        """A new key with its own certificate, or with the request for one."""
        made = Certificate(self._folder / f"{name}.pem", self._folder / f"{name}.key")
        self._openssl("req", "-new", "-newkey", "rsa:2048", "-nodes", *arguments,
                      "-keyout", made.key.name, "-out", made.certificate.name)  # fmt: skip
        return made

    def _openssl(self, *arguments: str) -> None:
        subprocess.run(["openssl", *arguments], cwd=self._folder, check=True, capture_output=True)
