// The official JavaScript client: all methods.
import assert from "node:assert/strict";

process.env.MEM0_TELEMETRY = "false"; // before the import, which reads it
const { MemoryClient, MemoryError, MemoryNotFoundError, AuthenticationError, ValidationError } = await import("mem0ai");

const { SLIPBOX_URL, SLIPBOX_API_KEY } = process.env;
const host = SLIPBOX_URL + "/mem0";
const absent = "0190b5a0-0000-7000-8000-000000000000";

// So that what is learned does not depend on what the fake model says.
const created = await fetch(SLIPBOX_URL + "/v1/collections", {
  method: "POST",
  headers: { Authorization: `Bearer ${SLIPBOX_API_KEY}`, "Content-Type": "application/json" },
  body: JSON.stringify({ name: "nora", policy: "mem0", external: { user: "nora" }, policy_config: { analyst: "heuristic" } }),
});
assert.equal(created.status, 201);

const client = new MemoryClient({ apiKey: SLIPBOX_API_KEY, host });
const called = new Set();
const m = new Proxy(client, {
  get(target, name) {
    called.add(name);
    const value = target[name];
    return typeof value === "function" ? value.bind(target) : value;
  },
});

// learned waits until what was added is learned; no method of the client asks for an event.
async function learned(added) {
  assert.equal(added.status, "PENDING", JSON.stringify(added));
  for (const end = Date.now() + 600_000; Date.now() < end; await new Promise((done) => setTimeout(done, 50))) {
    const event = await (await fetch(`${host}/v1/event/${added.eventId}/`, { headers: { "X-API-Key": SLIPBOX_API_KEY } })).json();
    if (["SUCCEEDED", "FAILED"].includes(event.status)) {
      assert.equal(event.status, "SUCCEEDED", JSON.stringify(event));
      return event.results;
    }
  }
  assert.fail(`not learned: ${JSON.stringify(added)}`);
}

const says = (content) => [{ role: "user", content }];
const texts = (answer) => answer.results.map((one) => one.memory);
const refused = (call, kind, code) =>
  assert.rejects(call, (error) => {
    assert.equal(error.constructor, kind, String(error));
    if (code) assert.equal(error.errorCode, code, String(error));
    return true;
  });

await m.ping();
const oslo = await learned(await m.add(says("I live in Oslo."), { userId: "nora", agentId: "guide" }));
assert.deepEqual(oslo.map((one) => one.event), ["ADD"]);
const rome = await learned(await m.add(says("I moved to Rome."), { userId: "nora", metadata: { source: "chat" }, customInstructions: "Be brief." }));
assert.deepEqual(rome.map((one) => one.event), ["ADD"]); // without a model nothing is replaced
// The client sends filters as they are written.
for (const filters of [{ userId: "nora" }, { user_id: "nora" }]) {
  const found = await m.search("Where does Nora live?", { filters });
  assert.deepEqual(texts(await m.search("Who moved to Rome or to Oslo?", { filters, topK: 5, rerank: true })).sort(), texts(found).sort());
  assert.equal(found.results.length, 2, JSON.stringify(found));
  assert.match(JSON.stringify(found), /Rome/);
  assert.match(JSON.stringify(found), /Oslo/);
}

const added = await m.add(says("I like tea."), { userId: "nora", runId: "r1", infer: false, metadata: { topic: "drinks" } });
assert.deepEqual(texts(added), ["I like tea."]);
const tea = added.results[0].id;
const first = await m.getAll({ filters: { user_id: "nora" }, page: 1, pageSize: 1 });
assert.equal(first.count, 3);
assert.ok(first.next);
assert.deepEqual(texts(first), ["I like tea."]);
const one = await m.get(tea);
assert.deepEqual([one.memory, one.userId, one.runId, one.agentId, one.metadata], ["I like tea.", "nora", "r1", null, { topic: "drinks" }]);
assert.equal((await m.update(tea, { text: "I like green tea.", expirationDate: "2099-12-31" })).memory, "I like green tea.");
assert.equal((await m.update(tea, { expirationDate: null })).expirationDate, null);
assert.deepEqual((await m.history(tea)).slice(0, 2).map((h) => [h.event, h.oldMemory, h.newMemory]), [
  ["ADD", null, "I like tea."],
  ["UPDATE", "I like tea.", "I like green tea."],
]);
await m.batchUpdate([{ memoryId: tea, text: "I like black tea." }]);
assert.equal((await m.get(tea)).memory, "I like black tea.");
await m.batchDelete([tea]);
await refused(m.get(tea), MemoryNotFoundError);
for (const gone of [...rome, ...oslo]) await m.delete(gone.id, { deleteLinked: true });
assert.equal((await m.getAll({ filters: { user_id: "nora" } })).count, 0);

assert.equal((await m.getProfile({ entityId: "nora" })).entityId, "nora");
assert.ok((await m.getProfileSettings()).entities);
assert.ok((await m.getProject({ fields: ["customInstructions"] })).id);

for (const userId of ["a/b", "bea", "dan"]) await m.add(says("I stay."), { userId, infer: false });
assert.deepEqual((await m.users()).results.map((e) => `${e.type} ${e.name}`).sort(), ["user a/b", "user bea", "user dan", "user nora"]);
await m.deleteUsers({ userId: "a/b" });
await m.deleteAll({ userId: "bea" });
for (const user_id of ["a/b", "bea"]) assert.equal((await m.getAll({ filters: { user_id } })).count, 0, user_id);
await refused(m.deleteAll(), ValidationError);
await refused(m.deleteAll({ userId: "*" }), ValidationError);
for (const filters of [{}, { user_id: "*" }, { AND: [{ user_id: "*" }] }, { OR: [{ user_id: "dan" }, { agent_id: "*" }] }, { NOT: [{ user_id: "dan" }] }]) {
  await refused(m.search("Who stays?", { filters }), ValidationError);
  await refused(m.getAll({ filters }), ValidationError);
}
await refused(m.add(says("I am nobody.")), ValidationError);
await refused(m.update(absent, { text: "x" }), MemoryNotFoundError);
assert.deepEqual(texts(await m.getAll({ filters: { user_id: "dan" } })), ["I stay."]);

// What is not there says so.
for (const call of [
  () => m.updateProject({ customInstructions: "Be brief." }),
  () => m.getWebhooks(),
  () => m.createWebhook({ name: "w", url: "http://localhost/", eventTypes: ["memory_add"] }),
  () => m.updateWebhook({ webhookId: "7", name: "w" }),
  () => m.deleteWebhook({ webhookId: "7" }),
  () => m.feedback({ memoryId: absent, feedback: "POSITIVE" }),
  () => m.generateProfile({ entityId: "dan" }),
  () => m.updateProfileSettings({ enabled: true }),
  () => m.sampleProfiles({ limit: 2 }),
  () => m.getProfileJob(absent),
  () => m.createMemoryExport({ schema: {}, filters: { user_id: "dan" } }),
  () => m.getMemoryExport({ filters: { user_id: "dan" } }),
]) {
  await refused(call(), MemoryError, "HTTP_501");
}
await m.deleteUser({ entity_id: "dan", entity_type: "user" });
assert.equal((await m.getAll({ filters: { user_id: "dan" } })).count, 0);
await refused(m.deleteUser({ entity_id: 7, entity_type: "user" }), MemoryNotFoundError);

await m.deleteUsers();
assert.equal((await m.users()).count, 0);
const methods = Object.getOwnPropertyNames(MemoryClient.prototype).filter((name) => name !== "constructor" && !name.startsWith("_"));
assert.deepEqual(methods.filter((name) => !called.has(name)), []);

await refused(new MemoryClient({ apiKey: "sbx_nobody", host }).users(), AuthenticationError);
