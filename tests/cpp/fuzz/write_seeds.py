#!/usr/bin/env python3
"""Writes what fuzzing starts from, for the targets whose inputs are text: write_seeds.py <folder>.

It runs with PYTHONPATH=tests/python/chat. Each target has its folder there. Templates are those of
tests/python/chat (random ones of the grammar, our own) and those beside tokenizers, also in
../shared where that is.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from chats import CHATS, OPTIONS
from own_templates import OWN_TEMPLATES
from pitfalls import PITFALLS
from template_grammar import random_case

_ROOT = Path(__file__).resolve().parents[3]
_RANDOM_TEMPLATES = 400
_TOKENIZERS = (_ROOT / "tests/data/tokenizers", _ROOT.parent / "shared/data/tokenizers")

Seeds = Iterator[tuple[str, bytes]]


def _with_variables(source: str, variables: dict[str, Any] | None) -> bytes:
    text = source.encode("utf-8", "surrogatepass")
    if variables is None:
        return text
    try:
        return text + b"\0" + json.dumps(variables, allow_nan=False).encode()
    except (TypeError, ValueError):  # what JSON has no form for
        return text


def _templates_of_tokenizers() -> Iterator[tuple[str, str]]:
    for root in _TOKENIZERS:
        for path in sorted(root.glob("*/tokenizer_config.json")):
            found = json.loads(path.read_text(encoding="utf-8")).get("chat_template")
            for at, each in enumerate(found if isinstance(found, list) else [found]):
                source = each.get("template") if isinstance(each, dict) else each
                if isinstance(source, str):
                    yield f"{path.parent.name}-{at}", source
        for path in sorted(root.glob("*/*.jinja")):
            yield f"{path.parent.name}-{path.stem}", path.read_text(encoding="utf-8")


def template_fuzz() -> Seeds:
    """Templates: with variables where they have their own."""
    for seed in range(_RANDOM_TEMPLATES):
        source, variables = random_case(seed, 1)
        yield f"random-{seed}", _with_variables(source, variables[0])
    for at, source in enumerate(PITFALLS):
        yield f"pitfall-{at}", _with_variables(source, None)
    whole = [*OWN_TEMPLATES.items(), *_templates_of_tokenizers()]
    chats = list(CHATS.values())
    options = list(OPTIONS.values())
    for at, (name, source) in enumerate(whole):
        for k in range(3):
            chat = chats[(3 * at + k) % len(chats)]
            variables = {"messages": chat, **options[(at + k) % len(options)]}
            yield f"{name.replace(' ', '-')}-{k}", _with_variables(source, variables)


_CONVERSATIONS = (
    "[]",
    "1",
    '"text"',
    '[{"role": "user", "content": "a", "x": null}, {"role": "assistant", "content": "b"}]',
    '"[{\\"role\\": \\"user\\", \\"content\\": \\"a\\"}]"',
    '[{"from": " GPT ", "value": "a", "weight": 0}, {"from": "human", "value": ["a", "b"]}]',
    '[{"role": "user", "content": [{"type": "text", "text": "a"}, "b", {"text": "\\u00e9"}]}]',
    '[{"role": "user", "content": [{"type": "image", "url": "x"}]}]',
    '[{"role": "assistant", "tool_calls": "[{\\"name\\": \\"f\\"}]", "train": false}]',
    '[{"role": "assistant", "content": "", "tool_calls": [{"type": "function", "function":'
    ' {"name": "f", "arguments": "{\\"a\\": [1, 2.5, null]}"}}]}]',
    '[{"role": "assistant", "content": "a", "thinking": "t", "reasoning": "r"}]',
    '[[1, 2], [], [1.5, null]]',
    '[{"a": {"b": [true, false]}, "input_ids": [1, 2]}, {"a": null, "c": "\\ud83d\\ude42"}]',
    "[18446744073709551615, -9223372036854775808, 1e400, 0.1, -0.0, 1E5]",
    '[{"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}]',
)  # fmt: skip


def conversation_fuzz() -> Seeds:
    """Conversations in all forms, and those that templates are tested with."""
    chats = [json.dumps(chat) for chat in CHATS.values()]
    chats += ['{"system": "s", "instruction": "i", "input": "x", "output": "o"}']
    chats += ['{"query": "q", "response": "r", "history": [["a", "b"]], "tools": "[{}]"}']
    for at, text in enumerate((*_CONVERSATIONS, *chats)):
        for options in (0, 1):
            yield f"{at}-{options}", bytes([options]) + text.encode()


_CSV = (
    b"a,b\n1,2\n",
    b'\xef\xbb\xbfa,b\r\n"x""y","1\n2"\r\n\r\n,\r\n3',
    b"a,a,b\n1,2,3,4,5\n1\n",
    b'a,b\n"x"y,z\nx"y",z\n"",""\n"open,\n',
    b'a,b\n"x"y,z\nx"y",z\n"",""\n""x,\n',
    b"a\tb\n1\t2\r3\t4",
    b'"a\nb",c\n"\xc3\xa9","\xff"\n1,2\n',
    b"\n\r\n\ra,b\n\n\n1,2\n" + b"x,yz\n" * 30,
)


def csv_fuzz() -> Seeds:
    """Files, with all that their first three bytes choose."""
    for at, text in enumerate(_CSV):
        for flags in (0, 1, 3, 6, 0x38, 0x3D):
            for third in (0, 1, 9):
                delimiter = 1 if b"\t" in text else 0
                yield f"{at}-{flags}-{third}", bytes([delimiter, flags, third]) + text


def _answer(status: str, body: str = "", **headers: str) -> str:
    lines = [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    lines.append(f"Content-Length: {len(body.encode())}")
    return "\r\n".join([f"HTTP/1.1 {status}", *lines, "", body])


_TIMES = {"Last_Modified": "Sun, 06 Nov 1994 08:49:37 GMT", "Date": "Fri, 27 Nov 2026 08:00:00 GMT"}
_FAR_DATE = "Fri, 31 Dec 9999 23:59:59 GMT"
_S3_PAGE = """<?xml version="1.0"?><ListBucketResult><EncodingType>url</EncodingType>
<IsTruncated>false</IsTruncated><Contents><Key>a/b+c%20d.jsonl</Key><Size>12</Size>
<ETag>&quot;tag&quot;</ETag><LastModified>2026-11-25T10:00:00.000Z</LastModified></Contents>
<CommonPrefixes><Prefix>a/b&amp;/</Prefix></CommonPrefixes></ListBucketResult>"""
_S3_MORE = _S3_PAGE.replace(
    "<IsTruncated>false</IsTruncated>",
    "<IsTruncated>true</IsTruncated><NextContinuationToken>t/+=</NextContinuationToken>",
)
_S3_ERROR = "<Error><Code>SlowDown</Code><Message>Reduce &#x61; rate &#233;</Message></Error>"
_GCS_PAGE = json.dumps(
    {
        "items": [
            {"name": "a/b", "size": "12", "generation": "7", "updated": "2026-11-25T10:00:00+02:00"}
        ],
        "prefixes": ["a/c/"],
    }
)
_GCS_MORE = _GCS_PAGE.replace('"prefixes"', '"nextPageToken": "t", "prefixes"')
_GCS_ERROR = json.dumps({"error": {"code": 403, "message": "no access"}})
_RANGE = _answer("206 Partial Content", "x" * 20, Content_Range="bytes 10-29/40", ETag='"tag"')
_S3_UPLOADS = """<ListMultipartUploadsResult><IsTruncated>false</IsTruncated><Upload><Key>a</Key>
<UploadId>1</UploadId></Upload></ListMultipartUploadsResult>"""

# By the call: what it may be answered with.
_ANSWERS: dict[int, list[list[str]]] = {
    0: [
        [_answer("200 OK", _S3_PAGE)],
        [_S3_MORE, _S3_PAGE],
        [_answer("503 Slow Down", _S3_ERROR, Retry_After="0"), _S3_PAGE],
        [_answer("403 Forbidden", _S3_ERROR, x_amz_bucket_region="eu-west-1"), _S3_PAGE],
        [_answer("403 Forbidden", "", **_TIMES), _S3_PAGE],
        [_answer("403 Forbidden", "", Date=_FAR_DATE), _S3_PAGE],
        [_answer("503 Slow Down", "", Retry_After=_FAR_DATE), _S3_PAGE],
        [_GCS_PAGE],
        [_GCS_MORE, _GCS_PAGE],
        [_answer("403 Forbidden", _GCS_ERROR)],
    ],
    1: [
        [_answer("200 OK", "", ETag='"tag"', x_goog_generation="7", **_TIMES)],
        [_answer("405 No"), _answer("206 Partial Content", "x", Content_Range="bytes 0-0/40")],
        [_answer("404 Not Found")],
        [_answer("200 OK", "", Last_Modified=_FAR_DATE)],
        [_answer("416 Range", "", Content_Range="bytes */0")],
        [_answer("301 Moved", "", Location="//other.example/x"), _answer("200 OK", "", ETag="W/")],
    ],
    3: [
        [_RANGE],
        [_answer("200 OK", "x" * 40, **_TIMES)],
        [_answer("206 Partial Content", "xx", Content_Range="bytes 10-29/*"), _RANGE],
        [_answer("206 Partial Content", "x" * 20, Content_Encoding="gzip")],
        [_answer("412 Precondition Failed")],
    ],
    5: [
        [_answer("200 OK")] * 5,
        [_answer("200 OK"), _answer("412 There"), "content", _answer("200 OK", '{"done": true}')],
        [_answer("200 OK")] * 2 + [json.dumps({"done": False, "rewriteToken": "t"})],
        [_answer("200 OK")] * 2 + [json.dumps({"done": "no"})],
        [_answer("501 Not Implemented", _S3_ERROR)] * 5,
    ],
    6: [
        [
            "<InitiateMultipartUploadResult><UploadId>u</UploadId></InitiateMultipartUploadResult>",
            _answer("200 OK", "", ETag='"1"'),
            _answer("200 OK", "", ETag='"2"'),
            "<CompleteMultipartUploadResult/>",
            _S3_UPLOADS,
        ],
        [
            _answer("200 OK", "", Location="http://store.example/session"),
            _answer("308 Resume Incomplete", "", Range="bytes=0-9"),
            _answer("200 OK"),
        ],
        [
            _answer("200 OK", "", Location="http://store.example/session"),
            _answer("308 Resume Incomplete", "", Range=f"bytes=0-{2**63 - 1}"),
        ],
    ],
    7: [
        [_S3_PAGE, "/other"],
        ["2026-11-25T10:00:00.123+02:00"],
        ["0001-01-01T00:00:00Z"],
        [_FAR_DATE],
        ["https://user:pass@host:80/a/b?q#f", "../c"],
        ["s3a://bucket/key"],
        ["file:///a%20b"],
        [_GCS_ERROR],
        ["hf://datasets/org/name@refs/convert/parquet/default/train/0000.parquet"],
        ["org/name@a%2Fb/c@d.jsonl"],
        ["https://cdn.example/a?X-Amz-Expires=3600&Expires=1900000000"],
    ],
}  # fmt: skip
_ANSWERS[2] = _ANSWERS[1]
_KEPT = {"X_Repo_Commit": "a" * 40, "X_Linked_Size": "40", "X_Linked_Etag": f'"{"b" * 64}"'}
_MOVED = _answer("302 Found", "", Location="http://cdn.example/a?X-Amz-Expires=9", **_KEPT)
_SERVED = {"X_Repo_Commit": "a" * 40, "ETag": f'"{"b" * 40}"'}
_ANSWERS[4] = [
    *_ANSWERS[3],
    [_MOVED, _RANGE],
    [_MOVED, _answer("403 Forbidden", _S3_ERROR), _MOVED, _RANGE],
    [_answer("307 Moved", "", Location="/new"), _MOVED, _RANGE],
    [_answer("401 No", "", X_Error_Code="GatedRepo", X_Error_Message="ask")],
    [_answer("206 Partial Content", "x" * 20, Content_Range="bytes 10-29/40", **_SERVED)],
]


def answer_fuzz() -> Seeds:
    """Answers, for each store that a call may go to."""
    for call, cases in _ANSWERS.items():
        for at, answers in enumerate(cases):
            for options in (0, 3, 8, 11, 0x15, 0x35, 0x68):
                text = "\0".join(answers).encode()
                yield f"{call}-{at}-{options}", bytes([call, options]) + text


_CONFIG = """[default]
region = eu-west-1
s3 =
  endpoint_url = http://a
[profile p]
role_arn = arn:aws:iam::1:role/r
source_profile = q
[profile "q"]
aws_access_key_id = AKIA
aws_secret_access_key: s3cr3t
# note
[services all]
sts =
  endpoint_url = http://sts
"""
_KEYS = "[default]\naws_access_key_id = AKIA\naws_secret_access_key = s3cr3t\n"
_WEB_IDENTITY = "[default]\nweb_identity_token_file = /etc/hostname\nrole_arn = r\nservices = all\n"
_SSO = (
    "[default]\nsso_session = s\n[profile p]\ncredential_source = Ec2InstanceMetadata\nrole_arn=r"
)
_ROLES = (
    "[default]\nrole_arn = r\nsource_profile = p\n[profile p]\nrole_arn = r\nsource_profile = q\n"
    "[profile q]\naws_access_key_id = AKIA\naws_secret_access_key = s\n"
)
_STS = """<AssumeRoleResponse><Credentials><AccessKeyId>AKIA</AccessKeyId><SecretAccessKey>s3cr3t
</SecretAccessKey><SessionToken>t</SessionToken><Expiration>2026-11-25T10:00:00Z</Expiration>
</Credentials></AssumeRoleResponse>"""
_KEYS_JSON = json.dumps(
    {
        "Version": 1,
        "AccessKeyId": "AKIA",
        "SecretAccessKey": "s3cr3t",
        "Token": "t",
        "Expiration": "2026-11-25T10:00:00Z",
    }
)
_USER = json.dumps(
    {"type": "authorized_user", "client_id": "c", "client_secret": "s", "refresh_token": "r"}
)
_ACCOUNT = json.dumps(
    {
        "type": "service_account",
        "client_email": "e",
        "private_key": "-----BEGIN PRIVATE KEY-----\nMIIB\n-----END PRIVATE KEY-----\n",
    }
)
_TOKEN = json.dumps({"access_token": "t0ken", "expires_in": 3599})


def credentials_fuzz() -> Seeds:
    """Settings and answers, for each chain."""
    aws = [
        [_CONFIG, "", _STS],
        [_CONFIG, _KEYS],
        [_WEB_IDENTITY, "", _STS],
        [_SSO, "", "token", "role", _KEYS_JSON],
        [_ROLES, "", _STS],
        [_ROLES.replace("aws_", "source_profile = default\nrole_arn = r\naws_"), "", _STS],
        ["", "", _KEYS_JSON],
        ["", "", _answer("403 No"), "role\n", _KEYS_JSON],
        [_KEYS_JSON, ""],
        ['aws \'a b\' "c\\"d" e\\ f', ""],
    ]
    google = [[_USER, _TOKEN], [_ACCOUNT, _TOKEN], ["{}"], [_USER, _answer("400 Bad", _GCS_ERROR)]]
    for options in (0, 2, 4, 6):
        for at, parts in enumerate(aws):
            yield f"aws-{at}-{options}", bytes([options]) + "\0".join(parts).encode()
    for at, parts in enumerate(google):
        yield f"google-{at}", b"\1" + "\0".join(parts).encode()


def main() -> None:
    """Writes the folders."""
    folder = Path(sys.argv[1])
    for target in (template_fuzz, conversation_fuzz, csv_fuzz, answer_fuzz, credentials_fuzz):
        seeds = folder / target.__name__
        seeds.mkdir(parents=True, exist_ok=True)
        for name, content in target():
            (seeds / name.replace("/", "-")).write_bytes(content)


if __name__ == "__main__":
    main()
