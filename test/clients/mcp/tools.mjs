// The official TypeScript client: tools, resources, prompts, refusals.
import assert from "node:assert/strict";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";

const { SLIPBOX_URL, SLIPBOX_API_KEY } = process.env;

function connection(key) {
  return new StreamableHTTPClientTransport(new URL("/mcp", SLIPBOX_URL), { requestInit: { headers: { Authorization: `Bearer ${key}` } } });
}

function text(result) {
  assert.ok(!result.isError, JSON.stringify(result));
  return result.content[0].text;
}

const client = new Client({ name: "test", version: "1" });
await client.connect(connection(SLIPBOX_API_KEY));
const { tools } = await client.listTools();
assert.equal(tools.length, 17);
assert.ok(tools.find((tool) => tool.name === "search_notes").annotations.readOnlyHint);
const use = (name, args) => client.callTool({ name, arguments: args });

const said = await use("remember", { external: { user: "nora@example.com" }, content: "Nora plays the cello.", policy: "none" });
assert.match(text(said), /^Remembered/);
const { note, collection } = said.structuredContent;
assert.match(text(await use("search_notes", { collection, query: "cello" })), /Nora plays the cello/);
assert.match(text(await use("build_context", { collection, query: "cello" })), /^<slipbox-memory>/);
assert.match(text(await use("correct", { collection, note, content: "Nora plays the viola." })), /^Corrected/);
assert.equal((await use("note_history", { collection, note })).structuredContent.versions.length, 2);
const refused = await use("search_notes", { collection, query: { text: "cello" } });
assert.ok(refused.isError && refused.content[0].text.includes("Fix:"));
await assert.rejects(use("absent", {}), /unknown tool/);
const { resources } = await client.listResources();
assert.ok(resources.some((resource) => resource.uri.endsWith(collection)));
const read = await client.readResource({ uri: `slipbox://collections/${collection}/notes/${note}` });
assert.match(read.contents[0].text, /viola/);
const prompt = await client.getPrompt({ name: "recall", arguments: { collection, question: "What does Nora play?" } });
assert.match(prompt.messages[0].content.text, /viola/);
await client.close();

await assert.rejects(new Client({ name: "test", version: "1" }).connect(connection("nobody")));
