"""What schemathesis needs to know about this API beyond its contract.

Loaded through SCHEMATHESIS_HOOKS. Settings: FUZZ_CALLS, the file that each call is
noted in; FUZZ_KEPT, ids and names (one to a line) that no operation may destroy, so
that the rest of the run has something to find; FUZZ_SCOPES, the scopes of the key.
"""

import json
import os

import schemathesis

NDJSON = "application/x-ndjson"
DIMENSION = 384  # of the embedder in gateway.yaml

LINES = {"bulkNotes": "BulkNote", "importNotes": "ImportNote"}  # schema of a line, by operation

INVALID_UTF8 = "<bytes that are no UTF-8>"

# Broken lines: each is refused without affecting the others.
BROKEN_LINES = [
    "", " ", "{", "}", "null", "[]", "1e999", "\"\"", "\x00", "{\"content\":", "{\"content\":\"a\"}}", "{\"content\":\"a\"} {\"content\":\"b\"}",
    "{\"content\":\"a\",\"content\":\"b\"}", "{\"content\":\"\\ud800\"}", "{\"content\":\"\\u0000\"}", INVALID_UTF8,
    "\ufeff{\"content\":\"a\"}", "{\"content\":\"a\"}\r", "{\"content\":\"cr\rlf\"}", "[" * 5000, "{\"content\":" * 200, "{\"id\":\"x\",\"content\":\"a\"}",
]

TIMES = [
    "2026-03-01T09:30:00Z", "202603010930", "1900-01-01T00:00:00Z", "1899-12-31T23:59:59Z", "2024-02-29T23:59:60Z", "9999-12-31T23:59:59.999999Z",
    "2026-03-01T09:30:00.123456789+23:59", "0000-00-00T00:00:00Z", "202613450999",
]

DESTROYING = {
    "deleteCollection", "patchCollection", "rollbackCollection", "deleteAPIKey", "revokeAPIKey", "rotateAPIKey",
    "deleteTenant", "suspendTenant", "patchTenant",
}

# Ids of an application that seed.py gives to collections, in every combination.
EXTERNAL = {"user": "nora@example.com", "agent": "auth0|x", "app": "a/b", "run": "\u65e5\u672c"}

with open(os.environ["FUZZ_KEPT"], encoding="utf-8") as f:
    KEPT = set(f.read().split())
ANSWERED = sorted(k.removeprefix("answer:") for k in KEPT if k.startswith("answer:"))  # the call of a run that waits
SCOPES = set(os.environ["FUZZ_SCOPES"].split(","))
CALLS = open(os.environ["FUZZ_CALLS"], "a", encoding="utf-8", buffering=1)


def ref(name):
    return {"$ref": f"#/components/schemas/{name}"}


def narrow(schemas):
    """Makes values valid more often where the contract states rules in words. Invalid ones stay possible."""
    values = {"anyOf": [{"type": "string"}, {"type": "number"}, {"type": "boolean"}, {"type": "array", "items": {"type": "string"}}]}
    text, number, times = {"type": "string", "maxLength": 64}, {"type": "number"}, {"enum": TIMES}
    leaf = {"anyOf": [
        {
            "type": "object", "additionalProperties": False, "required": ["field", "op", "value"],
            "properties": {"field": {"enum": fields}, "op": {"enum": ops}, "value": value},
        }
        for fields, ops, value in (
            (["category", "attributes.a", "attributes.a.b"], ["eq", "ne"], text),
            (["tags", "keywords"], ["contains"], text),
            (["kind", "category", "attributes.a"], ["in"], {"type": "array", "minItems": 1, "maxItems": 4, "items": text}),
            (["importance", "attributes.a"], ["eq", "ne", "gt", "gte", "lt", "lte"], number),
            (["occurred_at", "created_at"], ["gt", "gte", "lt", "lte"], times),
            (["tags", "category", "attributes.a"], ["exists"], {"type": "boolean"}),
        )
    ]}
    nested = [
        {"type": "object", "additionalProperties": False, "required": [k], "properties": {k: {"type": "array", "minItems": 1, "maxItems": 3, "items": leaf}}}
        for k in ("and", "or")
    ]
    schemas["FilterInWords"] = schemas["Filter"]
    schemas["Filter"]["properties"]["value"] = values
    schemas["Filter"] = {"anyOf": [leaf, *nested, {"type": "object", "required": ["not"], "properties": {"not": leaf}}, ref("FilterInWords")]}
    schemas["SearchQuery"]["properties"]["filter"] = leaf
    schemas["TimeInWords"] = schemas["EventTime"]
    schemas["EventTime"] = {"anyOf": [{"enum": TIMES}, {"type": "string", "format": "date-time"}, ref("TimeInWords")]}
    schemas["NotePatch"]["properties"]["occurred_at"] = {"anyOf": [{"type": "null"}, ref("EventTime")]}
    schemas["MessageInWords"] = schemas["Message"]
    schemas["Message"] = {"anyOf": [
        {
            "type": "object", "additionalProperties": False, "required": ["role", "content"],
            "properties": {"role": {"enum": ["user", "assistant"]}, "content": {"enum": ["Who repairs bicycles?", "Rosa does, in Porto."]}},
        },
        ref("MessageInWords"),
    ]}
    if ANSWERED:
        answer = {"call": {"enum": ANSWERED}, "approve": {"enum": [True]}}
        answer = {"type": "object", "additionalProperties": False, "required": ["call", "approve"], "properties": answer}
        properties = schemas["CallResults"]["properties"]
        properties["results"] = {"anyOf": [{"type": "array", "minItems": 1, "maxItems": 1, "items": answer}, properties["results"]]}
    knobs = {
        "k_neighbours": {"type": "integer", "minimum": 1, "maximum": 50}, "confidence_gate": {"type": "number", "minimum": 0, "maximum": 1},
        "analyst": {"enum": ["auto", "heuristic"]}, "split": {"type": "boolean"}, "max_links": {"type": "integer", "minimum": 0, "maximum": 50},
    }
    for name in ("CollectionInput", "CollectionPatch"):
        properties = schemas[name]["properties"]
        properties["policy"] = {"anyOf": [{"enum": ["amem", "none"]}, properties["policy"]]}
        properties["policy_config"] = {"anyOf": [{"type": "object", "additionalProperties": False, "properties": knobs}, properties["policy_config"]]}
    properties = schemas["CollectionInput"]["properties"]
    properties["embedder"] = {"anyOf": [{"enum": ["hash-384-v2"]}, properties["embedder"]]}


@schemathesis.hook
def before_load_schema(context, raw_schema):
    """Sets the schema of lines for bodies whose lines the contract describes in words."""
    narrow(raw_schema["components"]["schemas"])
    results = {"type": "array", "items": {"anyOf": [ref("BulkResult"), ref("BulkEnd")]}}
    for path, methods in raw_schema["paths"].items():
        for method, operation in methods.items():
            if not isinstance(operation, dict) or "responses" not in operation:
                continue
            CALLS.write(f"operation {method.upper()} {path}\n")
            for response in operation["responses"].values():
                if NDJSON in response.get("content", {}):
                    exported = operation.get("operationId") == "exportCollection"
                    response["content"][NDJSON]["schema"] = {"type": "array", "items": ref("ImportNote")} if exported else results
            if operation.get("operationId") == "findCollection":  # any of these together name a collection
                operation["parameters"] = [
                    {"name": name, "in": "query", "required": name == "user", "schema": {"type": "string", "enum": [value]}}
                    for name, value in EXTERNAL.items()
                ]
            line = LINES.get(operation.get("operationId"))
            if line:
                operation["requestBody"]["content"][NDJSON]["schema"] = {
                    "type": "array",
                    "maxItems": 8,
                    "items": {"anyOf": [ref(line), {"type": "string", "maxLength": 40}, {"type": "string", "enum": BROKEN_LINES}]},
                }


@schemathesis.serializer(NDJSON)
def lines_of(context, value):
    """Writes objects as JSON lines. Strings are written as they are; some are broken lines."""
    if isinstance(value, (bytes, bytearray)):
        return {"data": bytes(value)}
    if not isinstance(value, list):
        value = [value]
    return {"data": b"".join(as_bytes(line) + b"\n" for line in value)}


def as_bytes(line):
    if line == INVALID_UTF8:
        return b'{"content":"\xff"}'
    # Generated strings may contain lone surrogates, which cannot be encoded.
    return (line if isinstance(line, str) else json.dumps(line, ensure_ascii=False)).encode(errors="replace")


@schemathesis.deserializer(NDJSON)
def read_lines(context, response):
    """Reports whether every line is JSON. An empty line is not."""
    return [json.loads(line) for line in response.content.decode().splitlines()]


@schemathesis.deserializer("text/markdown")
def read_markdown(context, response):
    return response.content.decode()


@schemathesis.serializer("application/octet-stream")
def file_of(context, value):
    return {"data": value if isinstance(value, (bytes, bytearray)) else str(value).encode(errors="replace")}


QUERIES = ("query", "vector", "messages", "queries")


def aim(operation_id, case):
    """Makes some requests follow the rules that the contract states in words, so that they pass the
    first checks. The choice depends only on the request."""
    body = case.body if isinstance(case.body, dict) else {}
    size = len(json.dumps(case.body, default=str))
    path, headers = case.path_parameters or {}, case.headers or {}
    if operation_id in ("createNote", "importNotes", "search", "cloneCollection", "getGraph") and size % 4:
        path["collection"] = "fuzz"
    if operation_id == "importHistory" and size % 4:  # most files are refused, and so is most of what is said of them
        path["collection"] = "fuzz"
        for name in ("format", "timezone", "since"):
            (case.query or {}).pop(name, None)
    if operation_id == "forget" and size % 4:
        path["collection"] = "bank"  # its policy can forget
    if operation_id == "createChatCompletion" and isinstance(case.body, dict) and size % 2:
        if size % 4 == 1:
            body.clear()  # most fields that are passed on are refused
        if "Slipbox-Collection" in headers:
            headers["Slipbox-Collection"] = "fuzz"
        body.update(model="slipbox@fuzz", messages=[{"role": "user", "content": "Who repairs bicycles?"}])
    if operation_id == "createResponse" and isinstance(case.body, dict) and size % 2:
        if size % 4 == 1:
            body.clear()
        if "Slipbox-Collection" in headers:
            headers["Slipbox-Collection"] = "fuzz"
        body.update(model="slipbox@fuzz", input="Who repairs bicycles?")
    if operation_id in ("createChatCompletion", "createResponse") and size % 3:
        for name in ("Slipbox-External", "Slipbox-Create"):  # most values are refused
            headers.pop(name, None)
    if operation_id == "createEmbeddings" and isinstance(case.body, dict) and size % 2:
        body.pop("dimensions", None)
        body.update(model="slipbox", input=["Who repairs bicycles?"])
    if len(headers.get("If-Match") or "") == 1 and size % 2:
        headers["If-Match"] = "*"
    if 0 < len(headers.get("Idempotency-Key") or "") < 200 and size % 4:
        headers["Idempotency-Key"] += f"-{size}"  # the same key with another body is a conflict
    query = case.query or {}
    for holder in (query, body):
        # The gateway waits for a future revision. Most requests should not wait.
        if isinstance(holder.get("min_revision"), int) and holder["min_revision"] > 1 and len(f"{path}{query}{size}") % 8:
            holder["min_revision"] = 1
    if operation_id == "search" and size % 8:
        for part in [body, *[q for q in body.get("queries") or [] if isinstance(q, dict)]]:
            vector = part.get("vector")
            if isinstance(vector, list) and vector:
                part["vector"] = (vector * DIMENSION)[:DIMENSION] if any(vector) else [0.5] * DIMENSION
            asked = [k for k in QUERIES if k in part]
            if not asked:
                part["query"] = "bicycles in Porto"
            if size % 3 == 0:
                part.pop("filter", None)
            for i, k in enumerate(asked):
                if i != size % len(asked):
                    del part[k]


def upload(case, kwargs):
    """Sends some of the forms as a browser does: with a file that has a name."""
    size = len(json.dumps(case.body, default=str))
    body = case.body if isinstance(case.body, dict) else {}
    if isinstance(body.get("file"), (str, bytes)) and size % 4:
        kwargs["files"] = [("file", (f"file-{size}.txt", b"Rosa repairs bicycles."))]


@schemathesis.hook
def before_call(context, case, kwargs):
    """Redirects requests that would delete the objects to keep to objects that do not exist."""
    operation_id = context.operation.definition.raw.get("operationId")
    aim(operation_id, case)
    if operation_id in ("uploadFile", "addFile"):
        upload(case, kwargs)
    if operation_id == "importHistory" and len(json.dumps(case.body, default=str)) % 4:
        kwargs["data"] = b'{"role":"user","content":"I repair bicycles.","id":"1"}'
    if operation_id in DESTROYING:
        for name, value in (case.path_parameters or {}).items():
            if value in KEPT:
                case.path_parameters[name] = "kept-by-the-fuzz"


@schemathesis.hook
def after_call(context, case, response):
    CALLS.write(f"{response.status_code} {case.operation.label}\n")


@schemathesis.hook
def filter_failure(context, failure, case, response):
    """A body of lines is accepted although a line is bad: only that line is refused. And a bad body that is too
    large is refused as such (413). A stream of events is declared as the text that it is, and its events are objects
    to the tester."""
    lines = LINES.get(case.operation.definition.raw.get("operationId"))
    if failure.title == "SSE event violates schema":
        return False
    lines = lines or case.operation.definition.raw.get("operationId") == "importHistory"  # a file is refused for what it says
    return not (type(failure).__name__ == "AcceptedNegativeData" and (lines or response.status_code == 413))


@schemathesis.check
def line_results(ctx, response, case):
    """Result lines have the numbers of the sent lines, and the last one is a summary."""
    exported = case.operation.definition.raw.get("operationId") == "exportCollection"
    if exported or response.status_code != 200 or not any(v.startswith(NDJSON) for v in response.headers.get("content-type", [])):
        return
    *results, end = [json.loads(line) for line in response.content.decode().splitlines()]
    assert "summary" in end, "the last line is no summary"
    failed = [r for r in results if "error" in r]
    assert end["summary"] == {"created": len(results) - len(failed), "failed": len(failed)}, "the summary does not fit its lines"
    for r in results:
        if "error" in r:
            assert "id" not in r and r["status"] == r["error"]["status"] and 400 <= r["status"] < 500, f"line {r['line']} is at odds with itself"
        else:
            assert "id" in r and "revision" in r and r["status"] == 201, f"line {r['line']} lacks its id or revision"
    numbers = [r["line"] for r in results]
    if case.operation.definition.raw["operationId"] == "bulkNotes":
        body = response.request.body or b""
        body = (body.encode() if isinstance(body, str) else body).removesuffix(b"\n")
        assert numbers == list(range(1, body.count(b"\n") + 2 if body else 1)), "lines are missing or in another order"
    else:
        assert numbers == sorted(set(numbers)), "results are repeated or in another order"


@schemathesis.check
def scope_needed(ctx, response, case):
    """Every operation refuses a key that lacks its scope."""
    needed = case.operation.definition.raw.get("x-scope")
    if needed and needed not in SCOPES:
        assert response.status_code >= 400, f"needs {needed}, and answered {response.status_code} without it"
