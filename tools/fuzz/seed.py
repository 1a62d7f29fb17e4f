"""Fills a new gateway with data for the fuzz, always the same.

Most generated ids lead to a 404, which tests little. This program creates collections, notes,
reviews, jobs, keys, agents and tenants, and writes settings for schemathesis that use their ids.
Objects that an operation consumes (a key to revoke, a job to cancel) are created for that
operation only, several of each.

Usage: seed.py tenant|operator FILE, with FUZZ_URL, and FUZZ_KEY (a tenant's key with all scopes,
or an operator's). FILE is the schemathesis.toml to write. It prints the ids that must survive the
run, one per line.
"""

import base64
import hashlib
import json
import os
import re
import sys
import time
import urllib.error
import urllib.parse
import urllib.request
import uuid

URL = os.environ["FUZZ_URL"]
KEY = os.environ["FUZZ_KEY"]
EACH = 16  # objects per operation that consumes them

FILTERS = [
    '{"field":"tags","op":"contains","value":"bicycles"}', '{"field":"importance","op":"gte","value":0.5}',
    '{"not":{"field":"kind","op":"in","value":["note","message"]}}', '{"field":"attributes.a.b","op":"exists","value":false}',
    '{"and":[{"field":"occurred_at","op":"lt","value":"2026-03-01T00:00:00Z"},{"or":[{"field":"state","op":"eq","value":"raw"}]}]}',
    '{"field":"content","op":"eq","value":"a"}', '{"field":"tags","op":"like","value":"%"}', '{"field":"importance","op":"in","value":"high"}',
    '{"field":"created_at","op":"gt","value":"yesterday"}', '{"and":[]}', '{"and":[', '[]', '"\\ud800"',
    '{"not":' * 17 + '{"field":"kind","op":"eq","value":"note"}' + "}" * 17, '{"not":' * 2000 + "{}" + "}" * 2000,
]


def call(method, path, body=None, media="application/json"):
    """Sends a request and returns the JSON of the answer. It exits unless the status is 2xx."""
    if body is not None and not isinstance(body, bytes):
        body = json.dumps(body).encode()
    headers = {"Authorization": f"Bearer {KEY}"}
    if body is not None:
        headers["Content-Type"] = media
    request = urllib.request.Request(URL + path, method=method, data=body, headers=headers)
    try:
        with urllib.request.urlopen(request, timeout=300) as response:
            raw = response.read()
            return json.loads(raw) if response.headers.get_content_type() == "application/json" else raw
    except urllib.error.HTTPError as e:
        sys.exit(f"fuzz: {method} {path} answered {e.code}: {e.read().decode(errors='replace')}")


def wait_for(what, done):
    """Waits until done() is true, for at most 90 seconds."""
    end = time.monotonic() + 90
    while not done():
        if time.monotonic() > end:
            sys.exit(f"fuzz: waited too long for {what}")
        time.sleep(0.2)


class Settings:
    """Builds a schemathesis.toml."""

    def __init__(self):
        self.dictionaries = []
        self.defaults = []
        self.operations = []

    def dictionary(self, name, values):
        assert values, f"nothing to draw for {name}"
        self.dictionaries.append(f"[dictionaries.{name}]\nvalues = {json.dumps(values)}\n")

    @staticmethod
    def _draw(parameter, dictionary, probability):
        return f'"{parameter}" = {{ dictionary = "{dictionary}", probability = {probability} }}'

    def everywhere(self, parameter, dictionary, probability=0.6):
        self.defaults.append(self._draw(parameter, dictionary, probability))

    def operation(self, operation_id, probability=0.9, **draws):
        """Parameters of one operation: path_note="old" draws the path parameter note from old."""
        parameters = [self._draw(k.replace("_", ".", 1).replace("If_", "If-"), v, probability) for k, v in draws.items()]
        self.operations.append(
            f'[[operations]]\ninclude-operation-id = "{operation_id}"\n[operations.parameters]\n' + "\n".join(parameters) + "\n"
        )

    def lightly(self, filter_key, pattern):
        """Runs only a few cases of these operations."""
        self.operations.append(
            f"[[operations]]\n{filter_key} = {json.dumps(pattern)}\ngeneration.max-examples = 2\n"
            "phases.coverage.enabled = false\nphases.stateful.enabled = false\n"
        )

    def write(self, path):
        with open(path, "w", encoding="utf-8") as f:
            f.write("\n".join([*self.dictionaries, "[parameters]", *self.defaults, "", *self.operations]))


KEPT = []  # Names and ids of collections that no operation of the fuzz may change or delete as a whole.


def collection(name, used_up=False, **rest):
    """Creates a collection and returns its id. An operation may use it up, or it is kept."""
    made = call("POST", "/v1/collections", {"name": name, **rest})["id"]
    if not used_up:
        KEPT.extend((name, made))
    return made


def add(ref, content, wait=False, **rest):
    return call("POST", f"/v1/collections/{ref}/notes" + ("?wait=evolved" if wait else ""), {"content": content, **rest})


def seed_shared_blocks(settings, paged):
    """Creates blocks that belong to no collection. Undo, redo, attach, detach and deletion use up what they need."""
    def block(label):
        return call("POST", "/v1/blocks", {"label": label, "value": "The words before."})["id"]

    kept = [block(f"kept-{n}") for n in range(2)]
    settings.dictionary("blocks", kept)
    settings.everywhere("path.block", "blocks")
    for operation_id, reverted in (("undoSharedBlock", False), ("redoSharedBlock", True)):
        ids = [block(f"{operation_id}-{n}") for n in range(EACH)]
        for i in ids:
            call("PATCH", f"/v1/blocks/{i}", {"value": "The words after."})
            if reverted:
                call("POST", f"/v1/blocks/{i}/undo")
        settings.dictionary(operation_id, ids)
        settings.operation(operation_id, path_block=operation_id)
    settings.dictionary("blocks_to_delete", [block(f"brief-{n}") for n in range(EACH)])
    settings.operation("deleteSharedBlock", path_block="blocks_to_delete")
    settings.dictionary("blocks_to_attach", [block(f"attached-{n}") for n in range(EACH)])
    settings.operation("attachBlock", path_collection="paged", body_block="blocks_to_attach")
    labels = [f"detached-{n}" for n in range(EACH)]
    for label in labels:
        call("POST", f"/v1/collections/{paged}/blocks/attach", {"block": block(label)})
    settings.dictionary("blocks_to_detach", labels)
    settings.operation("detachBlock", path_collection="paged", path_label="blocks_to_detach")


def seed_folders(settings, paged):
    """Creates folders with files."""
    def folder(name):
        return call("POST", "/v1/folders", {"name": name})["id"]

    def upload(into, name):
        form = f'--form\r\nContent-Disposition: form-data; name="file"; filename="{name}"\r\n\r\nRosa repairs the bicycle of {name}.\r\n--form--\r\n'
        return call("POST", f"/v1/{into}/files", form.encode(), "multipart/form-data; boundary=form")["file"]["id"]

    shelf = folder("shelf")
    settings.dictionary("shelf", [shelf])
    settings.everywhere("path.folder", "shelf")
    for where, of, get, delete in (("collections", paged, "getCollectionFile", "deleteCollectionFile"), ("folders", shelf, "getFile", "deleteFile")):
        settings.dictionary(f"files_of_{where}", [upload(f"{where}/{of}", "kept.txt")])
        settings.operation(get, path_file=f"files_of_{where}", **({"path_collection": "paged"} if of == paged else {}))
        settings.dictionary(f"{where}_files_to_delete", [upload(f"{where}/{of}", f"brief-{n}.txt") for n in range(EACH)])
        settings.operation(delete, path_file=f"{where}_files_to_delete", **({"path_collection": "paged"} if of == paged else {}))
    settings.dictionary("folders_to_delete", [folder(f"shelf-{n}") for n in range(EACH)])
    settings.operation("deleteFolder", path_folder="folders_to_delete")
    settings.dictionary("folders_to_attach", [folder(f"lent-{n}") for n in range(EACH)])
    settings.operation("attachFolder", path_collection="paged", body_folder="folders_to_attach")
    attached = [folder(f"returned-{n}") for n in range(EACH)]
    for i in attached:
        call("POST", f"/v1/collections/{paged}/folders/attach", {"folder": i})
    settings.dictionary("folders_to_detach", attached)
    settings.operation("detachFolder", path_collection="paged", body_folder="folders_to_detach")


def seed_tools(settings, paged):
    """Creates tools that callers run, and attaches some."""
    def tool(name):
        parameters = {"type": "object", "properties": {"city": {"type": "string"}}}
        return call("POST", "/v1/tools", {"name": name, "description": "The weather in a city.", "parameters": parameters})["id"]

    kept = tool("forecast")
    settings.dictionary("own_tools", [kept, "forecast"])
    settings.everywhere("path.tool", "own_tools")
    settings.operation("patchOwnTool", path_tool="own_tools")
    settings.dictionary("tools_to_delete", [tool(f"brief-{n}") for n in range(EACH)])
    settings.operation("deleteOwnTool", path_tool="tools_to_delete")
    settings.dictionary("tools_to_attach", [tool(f"lent-{n}") for n in range(EACH)])
    settings.operation("attachTool", path_collection="paged", body_tool="tools_to_attach")
    call("POST", f"/v1/collections/{paged}/tools/attach", {"tool": kept})
    attached = [tool(f"returned-{n}") for n in range(EACH)]
    for i in attached:
        call("POST", f"/v1/collections/{paged}/tools/attach", {"tool": i})
    settings.dictionary("tools_to_detach", attached)
    settings.operation("detachTool", path_collection="paged", body_tool="tools_to_detach")


def seed_runs(settings, paged):
    """Creates runs of agents, some of which wait for an approval."""
    done = call("POST", f"/v1/collections/{paged}/events", {"content": "Hello.", "wait": "done"})["id"]
    settings.dictionary("runs", [done])
    settings.everywhere("path.run", "runs")
    settings.everywhere("query.run", "runs")
    for operation_id in ("listRuns", "getRun", "listSteps", "listWaitingCalls", "postEvent", "flushContext"):
        settings.operation(operation_id, path_collection="paged")
    settings.dictionary("beating", [collection("beating", policy="memgpt", policy_config={"heartbeat_minutes": 60})])
    settings.operation("pauseHeartbeats", path_collection="beating")

    asking = collection("asking", policy="memgpt", policy_config={"approve": ["conversation_search"]})
    events, calls = f"/v1/collections/{asking}/events", f"/v1/collections/{asking}/calls"
    runs = [call("POST", events, {"content": f"Do I live in Porto, at number {n}?"})["run"] for n in range(EACH + 1)]
    wait_for("the calls", lambda: len(call("GET", calls)["items"]) == len(runs))
    settings.dictionary("asking", [asking])
    settings.dictionary("runs_to_cancel", runs[:EACH])
    settings.operation("cancelRun", path_collection="asking", path_run="runs_to_cancel")
    # The same answer again changes nothing, so one run serves for all.
    settings.dictionary("run_to_answer", runs[EACH:])
    KEPT.extend("answer:" + c["id"] for c in call("GET", calls)["items"] if c["run"] == runs[EACH])  # hooks.py answers it
    settings.operation("postResults", path_collection="asking", path_run="run_to_answer")
    return asking


def seed_forks(settings):
    """Creates a base, a fork of it that learned something, and snapshots to delete."""
    base = collection("trunk", policy="none")
    add(base, "Rosa repairs bicycles.")
    fork = call("POST", f"/v1/collections/{base}/clone", {"name": "branch"})["id"]
    add(fork, "She repairs violins too.")
    for n in range(EACH):
        call("POST", f"/v1/collections/{base}/snapshots", {"name": f"brief-{n}"})
    settings.dictionary("trunk", [base, "trunk"])
    settings.dictionary("branch", [fork, "branch"])
    settings.dictionary("heads", [1, 2])
    settings.dictionary("snapshots_to_delete", [f"brief-{n}" for n in range(EACH)])
    settings.operation("diffCollection", path_collection="branch", query_against="trunk", query_at="heads", query_against_at="heads")
    settings.dictionary("rolled", [collection("rolled", used_up=True, policy="none")])
    for n in range(12):
        add("rolled", f"Rosa repairs bicycle number {n}.")
    settings.operation("rollbackCollection", path_collection="rolled", body_revision="revisions")
    settings.operation("mergeCollection", probability=1, path_collection="trunk", body_from="branch")
    settings.operation("deleteSnapshot", probability=1, path_collection="trunk", path_snapshot="snapshots_to_delete")


class Stay(urllib.request.HTTPRedirectHandler):
    """Answers redirects as they are."""

    def redirect_request(self, *_):
        return None


def grant(client):
    """Lets a program use the memory of a user, as the page for it does, and returns its tokens."""
    browser = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(), Stay)
    verifier = "v" * 43
    challenge = base64.urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).decode().rstrip("=")
    back = "http://127.0.0.1/cb"
    asked = {
        "response_type": "code", "client_id": client, "redirect_uri": back, "code_challenge": challenge,
        "code_challenge_method": "S256", "resource": URL + "/mcp",
    }
    address = URL + "/oauth/authorize?" + urllib.parse.urlencode(asked)
    with browser.open(address, timeout=300) as page:
        nonce = re.search(r'name="nonce" value="([^"]+)"', page.read().decode())[1]
    form = {"nonce": nonce, "decision": "allow", "key": KEY, "whose": "user", "user": "ida@example.com", "access": "write"}
    try:
        browser.open(address, data=urllib.parse.urlencode(form).encode(), timeout=300)
        sys.exit("fuzz: the consent was not taken")
    except urllib.error.HTTPError as e:
        code = urllib.parse.parse_qs(urllib.parse.urlsplit(e.headers.get("Location", "")).query)["code"][0]
    form = {"grant_type": "authorization_code", "code": code, "client_id": client, "redirect_uri": back, "code_verifier": verifier}
    return call("POST", "/oauth/token", urllib.parse.urlencode(form).encode(), "application/x-www-form-urlencoded")


def seed_grants(settings):
    """Lets a program connect, several times."""
    client = call("POST", "/oauth/register", {"client_name": "fuzz", "redirect_uris": ["http://127.0.0.1/cb"]})["client_id"]
    for _ in range(EACH):
        grant(client)
    settings.dictionary("grants", [g["id"] for g in call("GET", "/v1/oauth/grants")["items"]])
    settings.operation("deleteGrant", path_grant="grants")


def seed_webhooks(settings):
    """Creates webhooks, whose receiver does not answer, and messages that were tried."""
    watched = collection("watched", policy="none")
    hook = call("POST", "/v1/webhooks", {"url": "http://127.0.0.1:9/", "collection": watched})["id"]
    add(watched, "Rosa repairs bicycles.")

    def deliveries():
        return call("GET", f"/v1/webhooks/{hook}/deliveries")["items"]

    wait_for("a message to a webhook", deliveries)
    settings.dictionary("webhooks", [hook])
    settings.everywhere("path.webhook", "webhooks")
    settings.dictionary("deliveries", [d["id"] for d in deliveries()])
    settings.operation("retryDelivery", path_delivery="deliveries")
    brief = [call("POST", "/v1/webhooks", {"url": "http://127.0.0.1:9/", "collection": watched})["id"] for _ in range(EACH)]
    settings.dictionary("webhooks_to_delete", brief)
    settings.operation("deleteWebhook", path_webhook="webhooks_to_delete")
    settings.dictionary("webhook_urls", ["http://127.0.0.1:9/"])
    settings.dictionary("watched", [watched])
    settings.operation("createWebhook", body_url="webhook_urls", body_collection="watched")


def seed_external(settings):
    """Creates collections with ids of an application: with every set of the ids of the dictionaries, so that a call finds one."""
    ids = {"user": "nora@example.com", "agent": "auth0|x", "app": "a/b", "run": "\u65e5\u672c"}
    for chosen in range(1, 1 << len(ids)):
        collection(f"external-{chosen}", external={name: value for n, (name, value) in enumerate(ids.items()) if chosen >> n & 1})
    gone = {name: f"forgotten-{name}" for name in ids}
    for n in range(EACH):
        collection(f"forgotten-{n}", used_up=True, external={**gone, "user": f"forgotten-{n}"})
    settings.dictionary("forgotten_users", [f"forgotten-{n}" for n in range(EACH)])
    for name, value in gone.items():
        settings.dictionary(f"forgotten_{name}", [value])
    settings.operation("forgetExternal", probability=1, query_user="forgotten_users", **{f"query_{name}": f"forgotten_{name}" for name in ids if name != "user"})


def seed_tenant(settings):
    """Creates what a tenant's key can reach."""
    # Jobs of this collection ask a model that does not exist. The first ones fail and pause, then the
    # circuit breaker opens and later ones stay queued.
    stalled = collection("stalled", policy_config={"model": "down"})
    paused = [add(stalled, f"Nobody will look at this, number {n}.")["job"]["id"] for n in range(6)]
    settings.dictionary("with_a_model", [stalled])
    settings.operation("refreshCollection", path_collection="with_a_model")

    kept = [collection("fuzz"), collection("fuzz-2", policy="none")]
    settings.dictionary("collections", ["fuzz", "fuzz-2", *kept])
    settings.everywhere("path.collection", "collections")
    settings.everywhere("query.collection", "collections", 0.4)
    settings.everywhere("query.against", "collections", 0.4)

    bank = collection("bank", policy="memorybank")
    settings.dictionary("bank", [bank])
    settings.operation("putProfile", path_collection="bank")
    call("POST", f"/v1/collections/{bank}/messages", {"messages": [{"user": "I repair bicycles.", "assistant": "Where?", "occurred_at": "2026-03-01T09:30:00Z"}]})

    layered = collection("layered", policy="layered")
    for text in ("My name is Rosa and I live in Porto.", "I live in Lisbon.", "I like bicycles."):
        call("POST", f"/v1/collections/{layered}/remember", {"content": text, "role": "user"})
    settings.dictionary("layered", [layered, "layered"])
    settings.dictionary("layer_queries", ["What is my name?", "bicycles", "\u6211\u53eb\u4ec0\u4e48\uff1f", "yesterday"])
    settings.operation("remember", path_collection="layered")
    settings.operation("recallLayers", path_collection="layered", body_query="layer_queries")
    settings.operation("listLayers", path_collection="layered")
    settings.operation("listFacts", path_collection="layered", probability=0.5)

    tiered = collection("tiered", policy="memoryos", policy_config={"short_capacity": 1, "heat_threshold": 2})
    for text in ("My name is Rosa and I repair bicycles.", "I like to sail.", "I read old maps.", "Good night."):
        call("POST", f"/v1/collections/{tiered}/messages?wait=evolved", {"messages": [{"user": text, "assistant": "Tell me more."}]})
    settings.dictionary("tiered", [tiered, "tiered"])
    settings.dictionary("sessions", [s["id"] for s in call("GET", f"/v1/collections/{tiered}/sessions")["items"]])
    for name in ("listSessions", "listKnowledge", "getTiers", "listMoves"):
        settings.operation(name, path_collection="tiered")
    settings.dictionary("tiered_revisions", [call("GET", f"/v1/collections/{tiered}")["head_revision"]])
    settings.operation("getSession", path_collection="tiered", path_session="sessions", query_as_of="tiered_revisions")

    people = ["Rosa", "Ines", "Tomas", "Bela", "Duarte", "Alma"]
    notes = [add("fuzz", f"{p} repairs old bicycles in Porto.", wait=True)["note"]["id"] for p in people]
    for note in notes[:3]:
        call("PUT", f"/v1/collections/fuzz/notes/{note}/links", {"links": [{"target": notes[4]}, {"target": notes[5]}]})
    settings.dictionary("notes", notes)
    settings.everywhere("path.note", "notes")
    settings.everywhere("query.center", "notes")
    settings.everywhere("query.target", "notes", 0.4)
    settings.everywhere("body.links[*].target", "notes")
    settings.dictionary("revisions", list(range(1, 13)))
    settings.everywhere("query.as_of", "revisions", 0.4)
    settings.everywhere("body.as_of", "revisions", 0.4)
    settings.everywhere("body.at_revision", "revisions", 0.4)
    settings.dictionary("shared", ["fuzz", kept[0]])
    for operation_id in ("getNote", "getNoteHistory", "listLinks", "putLinks"):
        settings.operation(operation_id, path_collection="shared", path_note="notes")
    for operation_id in ("getGraph", "listHotNotes", "createNote", "bulkNotes", "importNotes", "exportCollection", "importHistory", "cloneCollection", "consolidateCollection", "reembedCollection", "getCollection"):
        settings.operation(operation_id, path_collection="shared")
    settings.dictionary("matches", ["*"])
    settings.operation("patchNote", path_collection="shared", path_note="notes", header_If_Match="matches")
    settings.dictionary("filters", FILTERS)
    settings.operation("listNotes", path_collection="shared", query_filter="filters")
    settings.dictionary("queries", ["bicycles in Porto", "Rosa", "who repairs what?", "\u81ea\u8ee2\u8eca", "\u0130\u0131\u1e9e", "a" * 4000])
    settings.operation("search", path_collection="shared", body_query="queries")
    collection("bicycles", policy="none")  # in the examples of the contract
    add("bicycles", "Rosa repairs bicycles.")

    unlinked = [add("fuzz", f"This stays for a while, number {n}.", infer=False)["note"]["id"] for n in range(EACH)]
    settings.dictionary("notes_to_delete", unlinked)
    settings.operation("deleteNote", path_collection="shared", path_note="notes_to_delete")
    linked = [add("fuzz", f"This points elsewhere, number {n}.", infer=False)["note"]["id"] for n in range(4)]
    for note in linked:
        call("PUT", f"/v1/collections/fuzz/notes/{note}/links", {"links": [{"target": n} for n in notes]})
    settings.dictionary("notes_to_unlink", linked)
    settings.operation("deleteLinks", path_collection="shared", path_note="notes_to_unlink", query_target="notes")

    # A note with a version at every revision of the dictionary.
    old = collection("restored", policy="none")
    first = add(old, "The first words.")["note"]["id"]
    for n in range(12):
        call("PATCH", f"/v1/collections/{old}/notes/{first}", {"content": f"Other words, number {n}."})
    settings.dictionary("restored_collection", [old, "restored"])
    settings.dictionary("restored_note", [first])
    settings.operation("restoreNote", path_collection="restored_collection", path_note="restored_note", body_revision="revisions")

    settings.dictionary("collections_to_delete", [collection(f"brief-{n}", used_up=True) for n in range(EACH)])
    settings.operation("deleteCollection", path_collection="collections_to_delete")
    settings.dictionary("collections_to_patch", [collection(f"patched-{n}", used_up=True) for n in range(EACH)])
    settings.operation("patchCollection", path_collection="collections_to_patch")

    # An agent that pages its memory. A replacement, an undo, a redo and a deletion use up what they need.
    paged = collection("paged", policy="memgpt")
    blocks = f"/v1/collections/{paged}/blocks"
    for n in range(EACH):
        for value in ("The words before.", "The words after."):
            call("PUT", f"{blocks}/redone-{n}", {"value": value})
        call("POST", f"{blocks}/redone-{n}/undo")
        call("PUT", f"{blocks}/replaced-{n}", {"value": "The old words."})
        for value in ("The words before.", "The words after."):
            call("PUT", f"{blocks}/undone-{n}", {"value": value})
        call("PUT", f"{blocks}/brief-{n}", {"value": "The words."})
    call("PUT", f"{blocks}/known", {"value": "The words."})
    settings.dictionary("paged", [paged, "paged"])
    settings.dictionary("redone", [f"redone-{n}" for n in range(EACH)])
    settings.dictionary("replaced", [f"replaced-{n}" for n in range(EACH)])
    settings.dictionary("replaced_words", ["old"])
    settings.dictionary("tool", ["send_message"])
    settings.dictionary("tool_arguments", ['{"message": "Hello."}'])
    settings.dictionary("undone", [f"undone-{n}" for n in range(EACH)])
    settings.dictionary("labels_to_delete", [f"brief-{n}" for n in range(EACH)])
    settings.dictionary("known", ["known"])
    for operation_id in ("putBlock", "appendBlock", "insertBlock"):  # a block that is written may become read-only
        call("PUT", f"{blocks}/{operation_id}", {"value": "The words."})
        settings.dictionary(operation_id, [operation_id])
        settings.operation(operation_id, path_collection="paged", path_label=operation_id)
    settings.dictionary("paged_revisions", [call("GET", f"/v1/collections/{paged}")["head_revision"]])
    settings.operation("getBlock", path_collection="paged", path_label="known", query_as_of="paged_revisions")
    settings.operation("undoBlock", path_collection="paged", path_label="undone")
    settings.operation("deleteBlock", path_collection="paged", path_label="labels_to_delete")
    settings.operation("redoBlock", path_collection="paged", path_label="redone")
    settings.operation("replaceBlock", path_collection="paged", path_label="replaced", body_old="replaced_words")
    settings.operation("step", path_collection="paged", body_tool="tool", body_arguments="tool_arguments")
    for operation_id in ("getMainContext", "listTools", "exportAgentFile"):
        settings.operation(operation_id, path_collection="paged")
    carried = collection("carried", policy="memgpt")
    call("POST", f"/v1/collections/{carried}/agent-file", call("GET", f"/v1/collections/{paged}/agent-file"))
    settings.dictionary("carried", [carried])
    settings.operation("importAgentFile", path_collection="carried")

    settings.dictionary("model_names", ["slipbox", "down", "slipbox@fuzz"])
    settings.operation("getModel", path_model="model_names")
    seed_forks(settings)
    seed_webhooks(settings)
    seed_grants(settings)
    seed_external(settings)
    seed_shared_blocks(settings, paged)
    seed_folders(settings, paged)
    seed_tools(settings, paged)
    asking = seed_runs(settings, paged)

    # Each pair of notes leads to one proposal, independent of the others.
    careful = collection("careful", policy_config={"strengthen_gate": 1, "k_neighbours": 1})
    things = "crane bread tide violin lantern orchard glacier compass beehive saddle kettle meteor anchor loom quarry ferry " \
        "chimney falcon mosaic harvest turbine pepper cellar prism walnut harpoon thistle bellows pulley trellis gondola abacus " \
        "vineyard sundial kiln almanac windmill locket hammock barley parchment cobbler tunnel pigment satchel tractor oboe sextant".split()
    others = "ladder mirror blanket candle carpet drawer engine fountain garden hammer island jacket keyboard lemon magnet needle onion " \
        "painting quilt ribbon saucer teapot umbrella valve wagon yacht zipper anvil barrel cactus dagger easel feather goblet helmet " \
        "inkwell javelin kayak lobster mandolin napkin orchid pillow raft spindle trumpet urn vase".split()
    for thing, other in zip(things, others, strict=True):
        add(careful, f"The {thing} and the {other}", wait=True)
        add(careful, f"A {other} with that {thing}", wait=True)
    reviews = [r["id"] for r in reversed(call("GET", f"/v1/reviews?collection={careful}&state=open&limit=200")["items"])]
    if len(reviews) < 3 * EACH - 8:
        sys.exit(f"fuzz: only {len(reviews)} reviews were created")
    third = len(reviews) // 3
    for review in reviews[:third]:
        call("POST", f"/v1/reviews/{review}/approve")
    settings.dictionary("reviews", reviews)
    settings.everywhere("path.review", "reviews")
    for operation_id, ids in (("undoReview", reviews[:third]), ("approveReview", reviews[third : 2 * third]), ("rejectReview", reviews[2 * third :])):
        settings.dictionary(operation_id, ids)
        settings.operation(operation_id, path_review=operation_id)

    imports = []
    for n in range(2):
        body = b"".join(
            json.dumps({"id": str(uuid.UUID(int=(7 << 76) | (2 << 62) | (n << 8) | line)), "content": f"Imported line {line}."}).encode() + b"\n"
            for line in range(5)
        )
        imports.append(call("POST", "/v1/collections/fuzz-2/import", body + b"{broken\n", "application/x-ndjson")["job"]["id"])
    settings.dictionary("imports", imports)
    settings.operation("getJobResults", path_job="imports")

    settings.dictionary("agents", ["agent-0", *(call("POST", "/v1/agents", {"name": f"agent-{n}"})["id"] for n in range(2))])
    settings.everywhere("path.agent", "agents")
    settings.everywhere("query.agent", "agents", 0.4)
    settings.dictionary("agents_to_delete", [call("POST", "/v1/agents", {"name": f"brief-{n}"})["id"] for n in range(EACH)])
    settings.operation("deleteAgent", path_agent="agents_to_delete")

    for operation_id in ("deleteAPIKey", "revokeAPIKey", "rotateAPIKey"):
        settings.dictionary(operation_id, [call("POST", "/v1/api-keys", {"scopes": ["notes:read"]})["id"] for _ in range(EACH)])
        settings.operation(operation_id, **{"path_api_key": operation_id})

    def ended(job, *states):
        return call("GET", f"/v1/jobs/{job}")["state"] in states

    wait_for("the imports", lambda: all(ended(j, "done") for j in imports))
    wait_for("the jobs without a model to fail", lambda: all(call("GET", f"/v1/jobs/{j}")["attempts"] > 0 for j in paused))
    queued = [add(stalled, f"This waits for a model, number {n}.")["job"]["id"] for n in range(EACH)]
    settings.dictionary("paused_jobs", paused)
    settings.operation("retryJob", path_job="paused_jobs")
    settings.dictionary("queued_jobs", queued)
    settings.operation("cancelJob", path_job="queued_jobs")
    settings.dictionary("jobs", [*imports, *paused, *queued])
    settings.everywhere("path.job", "jobs")
    settings.lightly("include-path-regex", "^/v1/tenants")
    return KEPT


def seed_operator(settings):
    """Creates what an operator's key can reach."""
    default = call("GET", "/v1/tenants/default")
    settings.dictionary("tenants", [call("POST", "/v1/tenants", {"name": f"tenant-{n}"})["name"] for n in range(3)])
    settings.everywhere("path.tenant", "tenants", 0.8)
    for operation_id in ("deleteTenant", "suspendTenant"):
        ids = [call("POST", "/v1/tenants", {"name": f"{operation_id.lower()}-{n}"})["id"] for n in range(EACH)]
        settings.dictionary(operation_id, ids)
        settings.operation(operation_id, path_tenant=operation_id)
    settings.lightly("exclude-path-regex", "^/v1/tenants")
    return ["default", default["id"]]


def main():
    settings = Settings()
    kept = {"tenant": seed_tenant, "operator": seed_operator}[sys.argv[1]](settings)
    settings.write(sys.argv[2])
    print("\n".join(kept))


if __name__ == "__main__":
    main()
