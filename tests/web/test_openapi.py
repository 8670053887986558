"""The OpenAPI description is true: schemathesis makes requests from it, right and wrong ones,
and looks at every answer.
"""

import json
import sqlite3

import pytest
import requests
import schemathesis
from hypothesis import HealthCheck, settings

import sugenet as sg
from sugenet.web.api import app
from tests.thinned import examples
from tests.web.serving import JSON, serving

SAMPLE = sg.models.samples("digits")[0][7].tolist()
SOON = {"kind": "verify", "sample": SAMPLE, "region": {"kind": "L0", "radius": "1"}}


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """With the results of a sweep that has not come to its end."""
    path, (X, y) = tmp_path_factory.mktemp("openapi") / "results.db", sg.models.samples("digits")
    question = sg.Robust(sg.each, sg.L0(1))
    sg.sweep(sg.models.digits(), X, question, y=y, store=path, jobs=1, engine="bounds").close()
    with sqlite3.connect(path) as connection:
        connection.execute("DELETE FROM answers WHERE sample >= 300")
    connection.close()
    with serving(results=str(path)) as client:
        yield client
        assert client.process.poll() is None


CONFIG = schemathesis.Config.from_dict(
    {
        # whether a text is a rule, no schema says
        "checks": {"positive_data_acceptance": {"expected-statuses": ["2xx", "404", "422", "429"]}},
        "generation": {"deterministic": True},
        "phases": {"coverage": {"enabled": settings.default.max_examples > 25}},  # thousands
    }
)
api = schemathesis.openapi.from_dict(
    app(sg.models.digits(), *sg.models.samples("digits"), token="secret").openapi(), config=CONFIG
)


@api.exclude(path="/api/predict").parametrize()  # lists of samples take long to make; see test_serving
@settings(
    max_examples=examples(9),
    derandomize=True,
    deadline=None,
    database=None,
    suppress_health_check=list(HealthCheck),
)
def test_every_answer_is_as_described(case, server):
    reply = case.call_and_validate(base_url=server.address, headers=server.bearer)
    if (
        case.operation.label == "POST /api/questions"
        and case.meta.generation.mode.is_positive
        and case.body["kind"] != "rule"
    ):
        assert reply.status_code == 202, reply.text
    if reply.status_code == 202:  # so that the next question finds an open desk
        server.cancel(reply.json()["id"])


def test_the_description_is_served(server):
    assert json.loads(server.get("/openapi.json").body) == api.raw_schema


def test_answers_to_real_questions_are_as_described(server):
    address, headers = f"{server.address}api/questions", JSON | server.bearer
    taken = requests.post(address, json=SOON, headers=headers, timeout=60)
    api["/api/questions"]["POST"].validate_response(taken)
    number = taken.json()["id"]
    server.end_of(number)
    for method in ("GET", "DELETE"):
        reply = requests.request(method, f"{address}/{number}", headers=headers, timeout=60)
        assert reply.status_code == 200
        api["/api/questions/{id}"][method].validate_response(reply)
    certificate = reply.json()["answer"]["certificate"]
    checked = requests.post(
        f"{server.address}api/check", json={"certificate": certificate}, headers=headers, timeout=60
    )
    assert checked.json()["holds"] is True
    api["/api/check"]["POST"].validate_response(checked)
    predicted = requests.post(
        f"{server.address}api/predict", json={"samples": [SAMPLE, SAMPLE]}, headers=headers, timeout=60
    )
    assert [one["label"] for one in predicted.json()["predictions"]] == ["3", "3"]
    api["/api/predict"]["POST"].validate_response(predicted)


def test_results_are_as_described(server):
    for address, path in [
        ("api/results", "/api/results"),
        ("api/results/3", "/api/results/{sample}"),
        ("api/results/330", "/api/results/{sample}"),
    ]:
        reply = requests.get(server.address + address, headers=server.bearer, timeout=60)
        assert reply.status_code == 200
        api[path]["GET"].validate_response(reply)
    assert reply.json() == {"sample": 330, "row": None, "answer": None}


def test_each_operation_names_its_errors():
    paths = api.raw_schema["paths"]
    assert sorted(paths) == [
        "/",
        "/api/check",
        "/api/model",
        "/api/predict",
        "/api/questions",
        "/api/questions/{id}",
        "/api/results",
        "/api/results/{sample}",
        "/api/samples/{index}",
    ]
    for operations in paths.values():
        for method, operation in operations.items():
            wanted = {"400", "401", "403", "405", "415", "421", "422"} | {
                "get": set(),
                "delete": {"408", "413", "503"},
                "post": {"408", "413", "503"},
            }[method]
            assert wanted <= set(operation["responses"])
