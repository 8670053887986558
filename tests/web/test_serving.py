"""The server over real HTTP: answers, refusals, and bad requests after each of which it goes on."""

import asyncio
import json
import os
import re
import shlex
import signal
import socket
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPConnection
from itertools import pairwise
from pathlib import Path

import pytest

import sugenet as sg
from sugenet.errors import SugenetError
from sugenet.web import content_policy
from sugenet.web.api import PORT
from sugenet.web.guards import HEADERS, MOST_BYTES, Guard
from sugenet.web.jobs import OPEN_MOST
from sugenet.web.predicting import Predictor
from sugenet.web.serving import _run, serve
from tests.web.serving import HAS_PROC, JSON, LONG, children, folder_of, is_there, serving, wait_until

NETWORK = sg.models.digits()
X, y = sg.models.samples("digits")
SAMPLE = X[7].tolist()
L0 = {"kind": "L0", "radius": "2"}
ANYTHING = {"kind": "AnyInput"}
FOREVER = {"kind": "why", "sample": SAMPLE, "region": ANYTHING, "minimal": "size", "n": 50, "time_limit": 600}
"""Reasons of least size over all inputs: far more than minutes of work."""
SETTLED = {"kind": "verify", "sample": SAMPLE, "region": {"kind": "L0", "radius": "1"}, "target": None}


@pytest.fixture(scope="module")
def server():
    with serving() as client:
        yield client
        assert client.process.poll() is None, "the server must not have ended by itself"


@pytest.fixture
def goes_on(server):
    """After the test the server still answers."""
    yield
    assert server.get("/api/samples/7").json == {"index": 7, "values": SAMPLE, "truth": 3}


# -- the page and what it is about ---------------------------------------------------------------------------


def test_the_page_comes_with_headers_that_browsers_obey(server):
    page = server.get("/")
    assert page.status == 200
    assert page.headers["content-type"] == "text/html; charset=utf-8"
    assert page.headers["content-security-policy"] == content_policy(server=True) + "; frame-ancestors 'none'"
    wanted = {
        "x-content-type-options": "nosniff",
        "referrer-policy": "no-referrer",
        "cross-origin-opener-policy": "same-origin",
        "cross-origin-resource-policy": "same-origin",
        "cache-control": "no-store",
    }
    assert wanted.items() <= page.headers.items()
    assert "server" not in page.headers
    assert b'"server":true' in page.body


def test_head_is_get_without_a_body(server):
    head, get = server.send("HEAD", "/api/model"), server.get("/api/model")
    assert (head.status, head.body) == (200, b"")
    assert head.headers["content-length"] == str(len(get.body)) == get.headers["content-length"]
    assert server.send("HEAD", "/nowhere").status == 404
    assert server.send("HEAD", "/api/questions").status == 405


def test_the_model_has_no_samples(server):
    model = server.get("/api/model").json
    assert model["fingerprint"] == NETWORK.fingerprint
    assert model["server"] is True
    assert not {"samples", "answers", "start"} & set(model)


def test_samples_by_number(server):
    assert server.get("/api/samples/358").json["truth"] == int(y[358])
    missing = server.get("/api/samples/359")
    assert (missing.status, missing.json) == (
        404,
        {"error": "there is no sample 359: there are 359, numbered from 0."},
    )
    assert server.get("/api/samples/-1").status == 422
    assert "index" in server.get("/api/samples/two").json["error"]


def test_unknown_addresses_and_methods_are_named(server):
    assert server.get("/nowhere").json == {"error": "there is nothing at '/nowhere'."}
    assert server.get("/docs").status == server.get("/redoc").status == 404
    put = server.send("PUT", f"/api/questions/{'0' * 32}")
    assert (put.status, put.headers["allow"]) == (405, "DELETE, GET, HEAD")
    assert put.json == {"error": "PUT is not possible here, only DELETE, GET, HEAD."}


# -- questions -----------------------------------------------------------------------------------------------


def test_an_answer_whose_certificate_holds_until_it_is_tampered_with(server):
    answer = server.ask(**SETTLED)["answer"]
    assert (answer["kind"], answer["outcome"]) == ("verify", "proved")
    assert answer["sentence"].startswith("the class stays 3, with up to 1 feature changed: proved")
    assert "193 sets of changes" in sg.check(answer["certificate"], NETWORK)
    said = server.post("/api/check", {"certificate": answer["certificate"]}).json
    assert said == {"holds": True, "said": sg.check(answer["certificate"], NETWORK)}
    tampered = json.loads(json.dumps(answer["certificate"]).replace('"radius": "1"', '"radius": "2"'))
    said = server.post("/api/check", {"certificate": tampered}).json
    assert said["holds"] is False
    assert "a change that the certificate excludes is a violation" in said["said"]


def test_numbers_and_texts_ask_the_same(server):
    wanted = server.ask(**SETTLED)["answer"]["certificate"]["question"]
    for radius, first in ((1, "0"), ("1.0", 0), ("2/2", "0.0"), (1.0, 0.0)):
        asked = SETTLED | {"sample": [first, *SAMPLE[1:]], "region": {"kind": "L0", "radius": radius}}
        assert server.ask(**asked)["answer"]["certificate"]["question"] == wanted


def test_the_request_that_the_docs_show_is_taken(server):
    text = (Path(__file__).parents[2] / "docs" / "http.md").read_text()
    line, shown = re.search(r"^\$ (curl .*)\n(.*)$", text, re.MULTILINE).groups()
    words = shlex.split(line)
    given = {option: value for option, value in pairwise(words) if option in ("-X", "-d")}
    headers = dict(value.split(": ", 1) for option, value in pairwise(words) if option == "-H")
    assert headers.pop("Authorization") == "Bearer $TOKEN"
    path = next(word for word in words if word.startswith("localhost")).partition("/")[2]
    taken = server.send(given["-X"], f"/{path}", given["-d"], headers)
    assert taken.status == 202
    assert taken.json.keys() == json.loads(shown).keys()
    assert len(taken.json["id"]) == len(json.loads(shown)["id"])
    assert server.end_of(taken.json["id"])["state"] == "done"


@pytest.mark.usefixtures("goes_on")
@pytest.mark.parametrize("certificate", [{}, {"format": "sugenet certificate", "version": 3}, {"a": [[[]]]}])
def test_what_is_no_certificate_does_not_hold(server, certificate):
    assert server.post("/api/check", {"certificate": certificate}).json["holds"] is False


def test_a_body_without_a_certificate_is_refused(server):
    broken, other = server.post("/api/check", b"{"), server.post("/api/check", {"proof": {}})
    assert (broken.status, broken.json["error"][:20]) == (400, "the body is not JSON")
    assert (other.status, other.json) == (422, {"error": 'the body must be {"certificate": {...}}.'})


def test_reasons_come_one_at_a_time(server):
    standing = server.ask(kind="why", sample=SAMPLE, region=L0, minimal="size", n=3)
    assert [part["status"] for part in standing["parts"]] == ["minimum"] * 3
    assert standing["parts"] == standing["answer"]["reasons"]
    for part in standing["parts"]:
        sg.check(part["certificate"], NETWORK)


def test_parts_that_were_seen_are_not_sent_again(server):
    taken = server.post(
        "/api/questions", {"kind": "why", "sample": SAMPLE, "region": L0, "minimal": "size", "n": 3}
    ).json["id"]
    whole = server.end_of(taken)
    assert server.get(f"/api/questions/{taken}?seen=2").json["parts"] == whole["parts"][2:]


def test_each_kind_of_question_is_answered(server):
    assert server.ask(kind="whatif", sample=SAMPLE, cost="L0", target="5")["answer"]["label"] == "5"
    assert server.ask(kind="count", sample=SAMPLE, region=L0)["answer"]["outcome"] == "counted"
    fixed = zip(NETWORK.encoder.names[2:], SAMPLE[2:], strict=True)  # two pixels are left, so that it ends
    rule = server.ask(kind="rule", text=" and ".join(f"{name} = {v}" for name, v in fixed) + " -> 5")[
        "answer"
    ]
    assert (rule["outcome"], rule["rule"].endswith(" -> 5")) == ("refuted", True)


@pytest.mark.usefixtures("goes_on")
@pytest.mark.parametrize(
    ("question", "words"),
    [
        ([], "a question is a JSON object"),
        ({}, "kind is None, but must be one of verify, whatif, why, rule, count"),
        ({"kind": ["verify"]}, "kind is"),
        ({"kind": "verify", "sample": SAMPLE}, "a verify question needs the field region"),
        (SETTLED | {"sample": SAMPLE[1:]}, "sample is 63 values, but must be a list of 64 values"),
        (SETTLED | {"sample": "abc"}, "sample is 'abc'"),
        (SETTLED | {"sample": [17, *SAMPLE[1:]]}, "pixel (0,0) is 17"),
        (SETTLED | {"sample": [True, *SAMPLE[1:]]}, "pixel (0,0) is True, which is not a number"),
        (SETTLED | {"sample": ["0x1", *SAMPLE[1:]]}, "pixel (0,0) is '0x1', which is not a number"),
        (SETTLED | {"sample": [10**400, *SAMPLE[1:]]}, "pixel (0,0)"),
        (SETTLED | {"region": "L0"}, "region is 'L0', but must be an object"),
        (SETTLED | {"region": {"kind": "L0", "radius": True}}, "radius is True, which is not a number"),
        (SETTLED | {"region": {"kind": "L0", "radius": "1_0"}}, "radius is '1_0', which is not a number"),
        (SETTLED | {"region": {"kind": "L0", "radius": -2}}, "radius is -2"),
        (SETTLED | {"region": {"kind": "L0", "radius": "-2"}}, "radius is '-2'"),
        (SETTLED | {"region": {"kind": "L7", "radius": "2"}}, "kind is 'L7', but must be one of Hamming"),
        (
            SETTLED | {"region": {"kind": "Free", "features": ["pixel (9,9)"]}},
            "there is no feature 'pixel (9,9)'",
        ),
        (SETTLED | {"region": {"kind": "AnyInput", "radius": "2"}}, "AnyInput has the fields kind"),
        (SETTLED | {"target": "ten"}, "target is 'ten', which is not a class"),
        (SETTLED | {"target": 3}, "target is 3, which is not a class"),
        (SETTLED | {"time_limit": 601}, "time_limit is 601, but must be a number from 0 to 600"),
        (SETTLED | {"seed": 0.5}, "seed is 0.5, but must be an integer"),
        (SETTLED | {"n": 1}, "a verify question has no field 'n'"),
        ({"kind": "whatif", "sample": SAMPLE, "cost": "L3"}, "cost is 'L3', but must be one of"),
        ({"kind": "whatif", "sample": SAMPLE, "n": 51}, "n is 51, but must be an integer from 1 to 50"),
        (
            {"kind": "whatif", "sample": SAMPLE, "keep": "pixel"},
            "keep is 'pixel', but must be a list",
        ),
        ({"kind": "why", "sample": SAMPLE, "region": L0, "minimal": "both"}, "minimal is 'both'"),
        ({"kind": "rule", "text": "3"}, "has no '->'"),
        ({"kind": "rule", "text": 3}, "text is 3, but must be a rule"),
        ({"kind": "rule", "text": "\ud800 -> 3"}, "\\ud800"),
    ],
)
def test_a_wrong_question_is_answered_with_a_sentence_that_names_the_field(server, question, words):
    reply = server.post("/api/questions", question)
    assert reply.status == 422
    assert set(reply.json) == {"error"}
    assert words in reply.json["error"]


@pytest.mark.usefixtures("goes_on")
@pytest.mark.parametrize(
    ("body", "status", "words"),
    [
        (b"", 400, "not JSON"),
        (b"{", 400, "not JSON"),
        (b"\xff\xfe", 400, "not UTF-8: byte 0"),
        (b'{"kind": NaN}', 400, "NaN is not a JSON number"),
        (b'{"kind": -Infinity}', 400, "Infinity is not a JSON number"),
        (b"1" * 5000, 400, "too many digits"),
        (b"[" * 100_000, 400, "nested too deeply"),
        (b'{"a":' * 50_000, 400, "nested too deeply"),
        (b"null", 422, "a question is a JSON object"),
        (json.dumps(SETTLED).replace("[0,", "[1e400,").encode(), 400, "1e400 is not a JSON number"),
        (b'"' + b"x" * (MOST_BYTES + 1) + b'"', 413, "bytes"),
    ],
)
def test_a_bad_body_is_refused(server, body, status, words):
    reply = server.post("/api/questions", body)
    assert (reply.status, reply.headers["content-type"]) == (status, "application/json")
    assert words in reply.json["error"]


@pytest.mark.usefixtures("goes_on")
def test_a_body_without_a_length_is_cut_off_too(server):
    def pieces():
        for _ in range(MOST_BYTES // 65536 + 2):
            yield b"x" * 65536

    reply = server.send(
        "POST", "/api/questions", pieces(), JSON | {"Transfer-Encoding": "chunked"}, encode_chunked=True
    )
    assert reply.status == 413
    assert "more than 1,048,576 bytes" in reply.json["error"]


def test_questions_of_another_number_are_not_there(server):
    reply = server.get(f"/api/questions/{'0' * 32}")
    assert reply.status == 404
    assert "no question of this number" in reply.json["error"]
    assert server.get("/api/questions/7").status == 422
    assert server.cancel("0" * 32).status == 404


@pytest.mark.parametrize(
    "query", ["wait=26", "wait=nan", "wait=inf", "wait=x", "seen=-1", "seen=1.5", "seen=99999999999999999999"]
)
def test_wrong_parameters_are_named(server, query):
    reply = server.get(f"/api/questions/{'0' * 32}?{query}")
    assert reply.status == 422
    assert reply.json["error"].startswith(query.partition("=")[0])


# -- who may ask ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "evil.example:{port}",
        "127.0.0.1",
        "127.0.0.1:1",
        "localhost.evil:{port}",
        "0.0.0.0:{port}",
        "",
    ],
)
def test_other_hosts_are_refused(server, host):
    reply = server.get("/", Host=host.format(port=server.port))
    assert reply.status == 421
    assert "this server answers for 127.0.0.1" in reply.json["error"]


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "LOCALHOST", "[::1]"])
def test_names_of_this_machine_are_answered(server, host):
    assert server.get("/api/model", Host=f"{host}:{server.port}").status == 200


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Origin": "http://127.0.0.1:1"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
        {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "iframe"},
    ],
)
@pytest.mark.parametrize("path", ["/", "/api/model"])
def test_requests_from_other_sites_are_refused(server, headers, path):
    reply = server.send("GET", path, headers=headers)
    assert reply.status == 403
    assert "only the page of this server may ask" in reply.json["error"]


def test_a_link_elsewhere_may_open_the_page_but_nothing_else(server):
    followed = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}
    assert server.send("GET", "/", headers=followed).status == 200
    assert server.send("GET", "/api/model", headers=followed).status == 403


def test_the_own_page_may_ask(server):
    own = {"Origin": f"http://127.0.0.1:{server.port}", "Sec-Fetch-Site": "same-origin"}
    assert server.send("POST", "/api/questions", json.dumps(SETTLED), JSON | own).status == 202


def test_writing_needs_the_header_and_json(server):
    body = json.dumps(SETTLED)
    assert server.send("POST", "/api/questions", body, {"Content-Type": "application/json"}).status == 403
    assert (
        server.send("POST", "/api/questions", body, {"X-Sugenet": "1", "Content-Type": "text/plain"}).status
        == 415
    )
    assert (
        server.send(
            "POST", "/api/questions", body, JSON | {"Content-Type": "application/json; charset=utf-8"}
        ).status
        == 202
    )
    assert server.send("DELETE", f"/api/questions/{'0' * 32}").status == 403
    assert server.send("OPTIONS", "/api/questions", headers={"Origin": "http://evil.example"}).status == 403
    assert (
        "X-Sugenet: 1 is missing"
        in server.send("POST", "/api/check", body, {"Content-Type": "application/json"}).json["error"]
    )


def test_every_address_wants_the_token(server):
    paths = [*server.get("/openapi.json").json["paths"], "/openapi.json", "/nowhere"]
    for path in paths:
        for method in ("GET", "HEAD", "POST", "DELETE", "OPTIONS"):
            for headers in (
                {},
                {"Authorization": "Bearer wrong"},
                {"Authorization": f"Basic {server.token}"},
            ):
                reply = server.plain(method, path, "{}" if method == "POST" else None, JSON | headers)
                assert (reply.status, reply.headers["www-authenticate"]) == (401, "Bearer")
                assert method == "HEAD" or "Open the link that the server printed" in reply.json["error"]
    assert (
        server.plain("GET", "/api/model", headers={"Authorization": f"bearer {server.token}"}).status == 200
    )
    assert server.plain("GET", f"/api/model?token={server.token}").status == 401  # in a link to the page only


def test_the_link_gives_a_cookie_and_takes_the_token_out_of_the_address(server):
    assert len(server.token) == 32
    first, second = (server.plain("GET", f"/?token={server.token}") for _ in range(2))
    assert (first.status, first.headers["location"], first.body) == (303, "/", b"")
    cookie, *rest = first.headers["set-cookie"].split("; ")
    assert rest == ["Path=/", "HttpOnly", "SameSite=Strict"]
    assert cookie.startswith(f"sugenet-{server.port}=")  # two servers of one machine share their cookies
    assert server.token not in cookie
    assert second.headers["set-cookie"] != first.headers["set-cookie"]  # each browser is a client
    assert server.plain("GET", "/", headers={"Cookie": f"a=b; {cookie}; c"}).status == 200
    assert server.plain("GET", "/api/model", headers={"Cookie": cookie}).status == 200
    number = cookie.partition("=")[2].partition(".")[0]
    other = f"sugenet-{server.port + 1}" + cookie[cookie.index("=") :]
    for wrong in (
        cookie[:-1],
        cookie.replace(number, number[::-1]),
        other,
        f"sugenet-{server.port}={server.token}",
    ):
        assert server.plain("GET", "/api/model", headers={"Cookie": wrong}).status == 401
    for wrong in ("", "x", server.token[:-1], "%ff%00", f"{server.token}x"):
        assert server.plain("GET", f"/?token={wrong}").status == 401


def test_a_link_elsewhere_leads_to_the_page_by_a_visit_of_its_own(server):
    """A browser keeps the cookie back from a request that another site began."""
    followed = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}
    with_token = server.plain("GET", f"/?token={server.token}", headers=followed)
    without = server.plain("GET", "/", headers=followed)
    assert with_token.status == without.status == 200
    assert with_token.body == without.body
    assert len(without.body) < 200
    assert "set-cookie" in with_token.headers
    assert "set-cookie" not in without.headers
    assert server.plain("GET", "/?token=wrong", headers=followed).status == 401


def test_without_a_token_it_is_said_aloud():
    with serving(token=False) as client:
        assert "warning: there is no token, so every user of this machine can see the model" in client.told
        assert client.token is None
        assert client.get("/api/model").status == 200
        assert client.get("/api/model", Host=f"evil.example:{client.port}").status == 421
        assert client.get("/api/model", Sec_Fetch_Site="cross-site").status == 403


# -- bodies --------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("goes_on")
@pytest.mark.parametrize("has_length", [True, False])
@pytest.mark.parametrize("path", ["/api/check", "/api/questions", "/api/predict", "/nowhere"])
def test_a_body_that_is_far_too_large_gets_its_sentence(server, path, has_length):
    """Sent by a client that reads nothing before all is sent."""
    size = 48 << 20

    def pieces():
        for _ in range(size >> 20):
            yield bytes(1 << 20)

    headers = JSON | ({"Content-Length": str(size)} if has_length else {"Transfer-Encoding": "chunked"})
    reply = server.send("POST", path, pieces(), headers, encode_chunked=not has_length)
    assert reply.status == 413
    assert "bytes" in reply.json["error"]
    assert reply.headers["connection"] == "close"


@pytest.mark.usefixtures("goes_on")
def test_who_has_no_token_gets_a_sentence_too_and_no_memory(server):
    reply = server.plain("POST", "/api/check", bytes(8 << 20), JSON)
    assert (reply.status, reply.json["error"][:20]) == (401, "the token is missing")


@pytest.mark.usefixtures("goes_on")
@pytest.mark.parametrize("coding", ["gzip", "deflate", "br", "zstd", "gzip, identity", "x" * 900])
def test_compressed_bodies_are_refused(server, coding):
    reply = server.send("POST", "/api/questions", json.dumps(SETTLED), JSON | {"Content-Encoding": coding})
    assert reply.status == 415
    assert "Send it as it is." in reply.json["error"]


def test_all_bodies_together_are_limited():
    with serving("guards.MOST_HELD = 100_000") as client:
        head = (
            f"POST /api/questions HTTP/1.1\r\nHost: 127.0.0.1:{client.port}\r\n"
            f"Authorization: Bearer {client.token}\r\nX-Sugenet: 1\r\nContent-Type: application/json\r\n"
        )
        body = json.dumps(SETTLED) + " " * 60_000
        with socket.create_connection((client.host, client.port), timeout=LONG) as slow:
            slow.sendall(f"{head}Content-Length: 70000\r\n\r\n{' ' * 60_000}".encode())
            wait_until(lambda: client.post("/api/questions", body).status == 503)
            refused = b"\r\n\r\n" + b"x" * 60_000
            with socket.create_connection((client.host, client.port), timeout=LONG) as drained:
                drained.sendall(f"{head}Content-Length: 70000".encode() + refused)
                assert drained.recv(1000).startswith(b"HTTP/1.1 503 ")
                slow.sendall(b" " * 9_999)  # what was refused is let go at once, though more may come
                small = client.post("/api/questions", json.dumps(SETTLED) + " " * 20_000)
                assert small.status == 202
            assert client.post("/api/questions", SETTLED).status == 202  # a small one finds room
            certificate = client.post("/api/check", b'{"certificate": {}}' + b" " * 60_000)
            assert certificate.status == 200  # these are counted apart
        wait_until(lambda: client.post("/api/questions", body).status == 202)  # what is held was let go


# -- predictions ---------------------------------------------------------------------------------------------


def test_predictions_are_those_of_the_network(server):
    many = server.post("/api/predict", {"samples": X[:50].tolist()}).json["predictions"]
    assert [one["index"] for one in many] == NETWORK.predict(X[:50]).tolist()
    assert [one["scores"] for one in many] == NETWORK.logits(X[:50]).tolist()
    assert all(one["label"] == NETWORK.classes[one["index"]] for one in many)
    named = dict(zip(NETWORK.encoder.names, SAMPLE, strict=True))
    texts = [str(value) for value in SAMPLE]
    for asked in (
        {"sample": SAMPLE},
        {"sample": named},
        {"sample": texts},
        {"samples": [SAMPLE]},
        {"sample": [float(value) for value in SAMPLE]},
    ):
        assert server.post("/api/predict", asked).json == {"predictions": [many[7]]}


@pytest.mark.usefixtures("goes_on")
@pytest.mark.parametrize(
    ("asked", "status", "words"),
    [
        (b"{", 400, "not JSON"),
        ([], 422, 'the body must be {"sample": [...]} or {"samples": [[...], ...]}.'),
        ({"sample": SAMPLE, "samples": [SAMPLE]}, 422, "the body must be"),
        ({"samples": []}, 422, "samples must be a list of at least one sample"),
        ({"samples": SAMPLE}, 422, "number 0: sample is 0"),
        ({"samples": [SAMPLE, SAMPLE[1:]]}, 422, "number 1: sample is 63 values"),
        ({"sample": [17, *SAMPLE[1:]]}, 422, "pixel (0,0) is 17"),
        ({"sample": [True, *SAMPLE[1:]]}, 422, "pixel (0,0) is True, which is not a number"),
        ({"sample": [2**70, *SAMPLE[1:]]}, 422, "pixel (0,0) is 1180591620717411303424"),
        ({"sample": [None, *SAMPLE[1:]]}, 422, "pixel (0,0) is None"),
    ],
)
def test_wrong_samples_are_named(server, asked, status, words):
    reply = server.post("/api/predict", asked)
    assert (reply.status, words in reply.json["error"]) == (status, True), reply.json


def test_requests_that_are_evaluated_together_fail_alone():
    predictor = Predictor(NETWORK)
    wrong = {"sample": [17, *SAMPLE[1:]]}
    asked = [{"samples": X[k : k + 2].tolist()} for k in range(20)] + [wrong] + [{"sample": SAMPLE}]

    async def together():
        return await asyncio.gather(*map(predictor.answer, asked), return_exceptions=True)

    with ThreadPoolExecutor(1) as thread:  # a browser's event loop may run in this one
        found = thread.submit(asyncio.run, together()).result()
    classes = [[one["index"] for one in json.loads(said)["predictions"]] for said in found[:20]]
    assert classes == [NETWORK.predict(X[k : k + 2]).tolist() for k in range(20)]
    assert "pixel (0,0) is 17 in sample 0" in str(found[20])
    assert json.loads(found[21])["predictions"][0]["index"] == 3


def test_large_integers_are_not_rounded():
    """Beside floats of another request, 2**53 + 3 would become 2**53 + 4."""
    cut = 2**53 + 4
    layer, head = sg.nn.DenseLayer([[1]], [1]), sg.nn.Head([[-1], [1]])
    encoder = sg.nn.Encoder.of_thresholds([cut], low=0, high=2**60, whole=True)
    predictor = Predictor(sg.Network(encoder, [layer], head))
    for sample, label in ((cut, 1), (cut - 1, 0), (float(cut), 1), (cut + 1, 1), (str(cut - 1), 0)):
        rows = [predictor._rows([[value]]) for value in (sample, 0.0, 1)]
        found = [json.loads(said)["predictions"][0]["index"] for said in predictor._evaluate(rows)]
        assert found == [label, 0, 0]


# -- what is hardly HTTP -------------------------------------------------------------------------------------

RAW = {
    "nothing": b"",
    "noise": bytes(range(256)),
    "tls": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(64),
    "no version": b"GET /\r\n\r\n",
    "no host": b"GET / HTTP/1.0\r\n\r\n",
    "two hosts": b"GET / HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nHost: evil\r\n\r\n",
    "half a request": b"POST /api/questions HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n",
    "half a body": (
        b"POST /api/questions HTTP/1.1\r\n"
        b"Host: 127.0.0.1:{port}\r\n"
        b"X-Sugenet: 1\r\n"
        b"Content-Type: application/json\r\n"
        b"Content-Length: 99\r\n"
        b"\r\n"
        b"{"
    ),
    "negative length": (
        b"POST /api/questions HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nContent-Length: -1\r\n\r\n"
    ),
    "two lengths": (
        b"POST / HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n{}"
    ),
    "endless head": b"GET / HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nX: " + b"x" * 200_000,
    "broken chunk": (
        b"POST /api/questions HTTP/1.1\r\n"
        b"Host: 127.0.0.1:{port}\r\n"
        b"X-Sugenet: 1\r\n"
        b"Content-Type: application/json\r\n"
        b"Transfer-Encoding: chunked\r\n"
        b"\r\n"
        b"zz\r\n"
    ),
    "web socket": (
        b"GET / HTTP/1.1\r\n"
        b"Host: 127.0.0.1:{port}\r\n"
        b"Connection: Upgrade\r\n"
        b"Upgrade: websocket\r\n"
        b"Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n"
        b"Sec-WebSocket-Version: 13\r\n"
        b"\r\n"
    ),
    "more than announced": (
        b"POST /api/questions HTTP/1.1\r\n"
        b"Host: 127.0.0.1:{port}\r\n"
        b"X-Sugenet: 1\r\n"
        b"Content-Type: application/json\r\n"
        b"Content-Length: 2\r\n"
        b"\r\n"
        b"{}" + b"x" * 100_000
    ),
    "strange letters": b"GET /\xff%00%ff%2e%2e/..%2f HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n",
    "another address": b"GET http://evil.example/ HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n",
}


@pytest.mark.usefixtures("goes_on")
@pytest.mark.parametrize("data", RAW.values(), ids=RAW)
def test_what_is_hardly_http_stops_nothing(server, data):
    host = f"Host: 127.0.0.1:{server.port}\r\n"
    shown = f"{host}Authorization: Bearer {server.token}\r\n"
    found = server.raw(data.replace(b"Host: 127.0.0.1:{port}\r\n", shown.encode()))
    assert b" 500 " not in found.partition(b"\r\n")[0]
    if found.startswith(b"HTTP/1.1 4"):
        head, _, body = found.partition(b"\r\n\r\n")
        assert set(json.loads(body.partition(b"HTTP/1.1 4")[0])) == {"error"}
        assert b"\r\ncontent-security-policy: default-src 'none'" in head
        assert all(b"\r\n%b: %b" % header in head for header in HEADERS)


def test_a_bug_is_answered_with_all_headers_and_reported():
    sent = []

    async def app(*_given):
        raise ZeroDivisionError

    async def send(message):
        sent.append(message)

    scope = {"type": "http", "method": "GET", "path": "/", "headers": [(b"host", b"127.0.0.1:80")]}
    guard = Guard(app, host="127.0.0.1", port=80, policy="default-src 'none'", token=None)
    with (
        ThreadPoolExecutor(1) as thread,
        pytest.raises(ZeroDivisionError),
    ):  # a browser's event loop may run in this one
        thread.submit(asyncio.run, guard(scope, None, send)).result()
    assert (sent[0]["status"], json.loads(sent[1]["body"])) == (
        500,
        {"error": "a bug in sugenet, please report it: ZeroDivisionError."},
    )
    assert {*HEADERS, (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'")} <= set(
        sent[0]["headers"]
    )


def test_many_connections_that_ask_nothing_keep_nobody_out():
    with serving("serving._CONNECTIONS = 5", workers=1) as client:
        idle = [socket.create_connection((client.host, client.port), timeout=LONG) for _ in range(100)]
        assert client.get("/api/samples/7").status == 200
        closed = 0
        for connection in idle:
            connection.settimeout(0.01)
            try:
                closed += connection.recv(1) == b""
            except ConnectionResetError:
                closed += 1
            except TimeoutError:
                pass
            connection.close()
        assert closed >= 95


def test_who_is_too_slow_is_not_waited_for():
    with serving("guards.BODY_SECONDS = serving._REQUEST_SECONDS = 0.2", workers=1) as client:
        patient = HTTPConnection(client.host, client.port, timeout=LONG)
        for _ in range(4):  # each request in time, on a connection that is older than one may take
            patient.request("GET", "/api/samples/7", headers=client.bearer)
            assert patient.getresponse().read()
            time.sleep(0.1)
        patient.close()
        head = f"HTTP/1.1\r\nHost: 127.0.0.1:{client.port}\r\nAuthorization: Bearer {client.token}\r\n"
        with socket.create_connection((client.host, client.port), timeout=LONG) as deaf:
            deaf.sendall(f"GET / {head}\r\n".encode() * 200)
            time.sleep(1)
            found = 0
            try:
                while piece := deaf.recv(1 << 20):
                    found += len(piece)
            except ConnectionResetError:
                pass
            assert found < 100 * len(client.get("/").body)
        head = f"POST /api/questions {head}".encode()
        with socket.create_connection((client.host, client.port), timeout=LONG) as slow:
            slow.sendall(head)
            assert slow.recv(100) == b""  # closed
        with socket.create_connection((client.host, client.port), timeout=LONG) as slow:
            slow.sendall(
                head + b"X-Sugenet: 1\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n{"
            )
            assert slow.recv(1000).startswith(b"HTTP/1.1 408 ")


# -- work that takes long ------------------------------------------------------------------------------------


def test_a_long_question_that_is_cancelled_gives_what_is_known(server):
    taken = server.post("/api/questions", FOREVER).json["id"]
    wait_until(
        lambda: (
            server.get(f"/api/questions/{taken}?wait=1")
            .json["progress"]
            .startswith("every reason has at least")
        )
    )
    assert server.cancel(taken).status == 200
    standing = server.end_of(taken)
    assert standing["state"] == "cancelled"
    assert standing["error"] is None
    known = standing["answer"]["reasons"][0]
    assert known["status"] in ("sufficient", "minimal")
    sg.check(known["certificate"], NETWORK)
    assert server.cancel(taken).json["state"] == "cancelled"  # a second time changes nothing


def test_too_many_open_questions_of_one_client_are_not_taken(server):
    taken = [server.post("/api/questions", FOREVER) for _ in range(OPEN_MOST + 1)]
    try:
        assert [reply.status for reply in taken] == [202] * OPEN_MOST + [429]
        assert taken[-1].json == {"error": "you have 64 open questions. Ask again when one is done."}
        assert server.post("/api/check", {"certificate": {}}).status == 429
        waiting = taken[9].json["id"]
        assert server.cancel(waiting).json["state"] == "cancelled"
        assert [reply.json["place"] for reply in taken[2:9]] == list(range(2, 9))
        other = server.send(
            "POST", "/api/questions", json.dumps(SETTLED), JSON | {"X-Sugenet-Client": "other"}
        )
        assert other.json["place"] <= 2  # it does not wait for all of those
        wait_until(lambda: server.get(f"/api/questions/{taken[0].json['id']}").json["state"] == "working")
        assert server.get(f"/api/questions/{other.json['id']}").json["place"] <= 2
        assert server.cancel(other.json["id"]).json["place"] is None
    finally:
        for reply in taken[:-1]:
            server.cancel(reply.json["id"])
    assert server.end_of(taken[0].json["id"])["state"] == "cancelled"
    assert server.ask(**SETTLED)["state"] == "done"


@pytest.mark.skipif(not HAS_PROC, reason="children are found in /proc")
def test_a_killed_worker_fails_its_own_question_only(server):
    taken = server.post("/api/questions", FOREVER).json["id"]
    after = server.post("/api/questions", SETTLED).json["id"]
    wait_until(
        lambda: server.get(f"/api/questions/{taken}?wait=1").json["progress"].startswith("every reason")
    )
    for worker in children(server.process.pid):
        os.kill(worker, signal.SIGKILL)
    standing = server.end_of(taken)
    assert (standing["state"], standing["answer"]) == ("failed", None)
    assert "the worker process ended before it had an answer" in standing["error"]
    assert server.end_of(after)["answer"]["outcome"] == "proved"


def test_whoever_waits_is_told_when_the_server_ends():
    with serving() as client, ThreadPoolExecutor() as pool:
        taken = client.post("/api/questions", FOREVER).json["id"]
        wait_until(
            lambda: client.get(f"/api/questions/{taken}?wait=1").json["progress"].startswith("every reason")
        )
        waiting = pool.submit(client.end_of, taken)
        client.process.send_signal(signal.SIGINT)
        assert waiting.result(LONG)["error"] == "the server is being shut down."


@pytest.mark.skipif(not HAS_PROC, reason="children are found in /proc")
@pytest.mark.parametrize("how", ["SIGINT", "SIGTERM", "SIGHUP", "SIGKILL"])
def test_a_server_that_ends_leaves_no_process_and_no_file_behind(how):
    how = signal.Signals[how]
    with serving(workers=2) as client:
        taken = client.post("/api/questions", FOREVER).json["id"]
        wait_until(lambda: client.get(f"/api/questions/{taken}?wait=1").json["state"] == "working")
        workers = children(client.process.pid)
        assert len(workers) == 2
        folder = folder_of(workers[0])
        assert (folder / "model.sugenet").is_file()
        client.process.send_signal(how)
        code = client.process.wait(LONG)
        assert code == (0 if how == signal.SIGINT else -signal.SIGTERM if how == signal.SIGHUP else -how)
        wait_until(lambda: not any(map(is_there, workers)))
        assert not folder.exists()


HANGS = """
import sys, tempfile
from pathlib import Path
folder = tempfile.TemporaryDirectory()
Path(folder.name, "sugenet.py").write_text("import time; time.sleep(600)")
sys.path.insert(0, folder.name)
"""
"""Workers that import something for minutes."""


@pytest.mark.skipif(not HAS_PROC, reason="children are found in /proc")
def test_workers_that_still_start_end_with_a_server_that_is_killed():
    with serving(HANGS, workers=2) as client:
        workers = children(client.process.pid)
        assert len(workers) == 2
        folders = {folder_of(worker) for worker in workers}
        client.process.kill()
        client.process.wait(LONG)
        wait_until(lambda: not any(map(is_there, workers)))
        assert not any(folder.exists() for folder in folders)


# -- where it listens ----------------------------------------------------------------------------------------


def test_where_the_usual_port_is_taken_a_free_one_is_used():
    with socket.socket() as other:
        try:
            other.bind(("127.0.0.1", PORT))
            other.listen()
        except OSError:
            pass  # somebody else has it, which is as good
        with serving(port=PORT) as client:
            assert client.port != PORT
            assert client.get("/api/model").status == 200


def test_a_port_that_was_asked_for_must_be_free():
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        with pytest.raises(SugenetError, match="Choose another port, or 0 for any free one"):
            serve(NETWORK, port=other.getsockname()[1])


@pytest.mark.parametrize(
    ("options", "words"),
    [({"port": 70_000}, "port=70000 must be"), ({"host": "no such host"}, "not an address of this machine")],
)
def test_wrong_addresses_are_named(options, words):
    with pytest.raises(SugenetError, match=words):
        serve(NETWORK, **options)


def test_another_address_is_served_with_a_warning_and_to_its_own_names_only():
    with serving(host="0.0.0.0", allow_hosts=["Ours.example", "far.example:99"]) as client:
        assert "warning: 0.0.0.0 is not this machine alone, and HTTP is not encrypted." in client.told
        assert client.plain("GET", "/api/model").status == 401
        hosts = {
            "127.0.0.1:{port}": 200,
            "localhost:{port}": 200,
            f"{socket.gethostname()}:{{port}}": 200,
            "ours.example": 200,
            "OURS.example:{port}": 200,
            "far.example:99": 200,
            "far.example:{port}": 421,
            "evil.example:{port}": 421,
            "127.0.0.1:1": 421,
            "127.0.0.2:{port}": 421,  # an address, but not the one that the connection came to
            "192.0.2.1:{port}": 421,
            "0.0.0.0:{port}": 421,
        }
        found = {host: client.get("/api/model", Host=host.format(port=client.port)).status for host in hosts}
        assert found == hosts


@pytest.mark.slow
def test_it_runs_inside_an_event_loop_too():
    """As in a notebook."""
    last = (
        "import asyncio\n"
        "async def main(): call()\n"
        "loop = asyncio.new_event_loop(); loop.run_until_complete(main()); loop.close()"
    )
    with serving(last=last) as client:
        assert client.ask(**SETTLED)["state"] == "done"


def test_ctrl_c_inside_an_event_loop_waits_for_the_server_to_end():
    class Slow:
        """A server that takes a while to end."""

        should_exit = ended = False

        def run(self, **_options):
            os.kill(os.getpid(), signal.SIGINT)
            while not self.should_exit:
                time.sleep(0.01)
            time.sleep(0.2)
            self.ended = True

    server = Slow()

    def interrupted():
        with pytest.raises(KeyboardInterrupt):
            _run(server, None)

    async def main():
        interrupted()

    try:
        asyncio.get_running_loop()  # that of a browser, which an earlier test has started
    except RuntimeError:
        loop = asyncio.new_event_loop()
        loop.run_until_complete(main())
        loop.close()
    else:
        interrupted()
    assert server.ended


def test_without_the_web_libraries_the_extra_is_named():
    code = "import sys; sys.modules['fastapi'] = None\nfrom sugenet.web import serve"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert 'pip install ".[web]"' in done.stderr.splitlines()[-1]
    assert "SugenetError" in done.stderr.splitlines()[-1]
