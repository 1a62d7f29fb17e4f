"""The five calls of programs for mem0's open-source server, such as Hermes: they write with an agent, and read without."""

import os

import httpx

URL, KEY = os.environ["SLIPBOX_URL"], os.environ["SLIPBOX_API_KEY"]

collection = {"name": "nora", "policy": "mem0", "external": {"user": "nora"}, "policy_config": {"analyst": "heuristic"}}
httpx.post(URL + "/v1/collections", json=collection, headers={"Authorization": "Bearer " + KEY}, timeout=300).raise_for_status()

with httpx.Client(base_url=URL + "/mem0", headers={"X-API-Key": KEY}, timeout=300) as http:

    def call(method, path, **more):
        return http.request(method, path, **more).raise_for_status().json()

    def add(text):
        return call("POST", "/memories", json={"messages": [{"role": "user", "content": text}], "user_id": "nora", "agent_id": "hermes", "infer": True})["results"]

    oslo, rome = add("I live in Oslo."), add("I moved to Rome.")
    assert [one["event"] for one in oslo + rome] == ["ADD", "ADD"], (oslo, rome)  # without a model nothing is replaced
    found = call("POST", "/search", json={"query": "Where does Nora live?", "filters": {"user_id": "nora"}, "top_k": 5})["results"]
    assert {one["id"] for one in found} == {one["id"] for one in oslo + rome} and found[0]["agent_id"] == "hermes", found
    listed = call("GET", "/memories", params={"user_id": "nora", "top_k": 100})["results"]
    assert {one["id"] for one in listed} == {one["id"] for one in found}, listed
    call("DELETE", "/memories/" + oslo[0]["id"])
    memory = "/memories/" + rome[0]["id"]
    call("PUT", memory, json={"text": "Nora lives in Trastevere."})
    assert call("GET", memory)["memory"] == "Nora lives in Trastevere."
    call("DELETE", memory)
    for method, path, body, status in (
        ("GET", memory, None, 404), ("POST", "/search", {"query": "Nora"}, 400), ("DELETE", "/memories", None, 400), ("POST", "/reset", None, 403),
    ):
        answer = http.request(method, path, json=body)
        assert answer.status_code == status and answer.headers["Content-Type"] == "application/json" and set(answer.json()) == {"detail", "code"}, answer.text
    assert http.get("/memories", params={"user_id": "nora"}, headers={"X-API-Key": "sbx_nobody"}).status_code == 401
