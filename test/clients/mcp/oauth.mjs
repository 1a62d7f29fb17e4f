// The official TypeScript client's OAuth flow: it finds the server, registers, is allowed by a user, and refreshes.
import assert from "node:assert/strict";
import { UnauthorizedError } from "@modelcontextprotocol/sdk/client/auth.js";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";

const { SLIPBOX_URL, SLIPBOX_API_KEY } = process.env;

// consent is a browser's part: it opens the page, fills in the form, and returns where it is sent.
async function consent(address, user) {
  const page = await fetch(address);
  const text = await page.text();
  assert.equal(page.status, 200, text);
  const nonce = /name="nonce" value="([^"]+)"/.exec(text)[1];
  const sent = await fetch(address, {
    method: "POST", redirect: "manual",
    headers: { Cookie: page.headers.get("set-cookie").split(";")[0], Origin: new URL(address).origin },
    body: new URLSearchParams({ nonce, decision: "allow", key: SLIPBOX_API_KEY, whose: "user", user, access: "write" }),
  });
  assert.equal(sent.status, 303, await sent.text());
  return new URL(sent.headers.get("location"));
}

class Provider {
  redirectUrl = "http://localhost:3031/callback";
  clientMetadata = { client_name: "TypeScript test", redirect_uris: [this.redirectUrl], grant_types: ["authorization_code", "refresh_token"], response_types: ["code"] };
  state() { return "a state"; }
  clientInformation() { return this.client; }
  saveClientInformation(client) { this.client = client; }
  tokens() { return this.saved; }
  saveTokens(tokens) { this.saved = tokens; }
  saveCodeVerifier(verifier) { this.verifier = verifier; }
  codeVerifier() { return this.verifier; }
  async redirectToAuthorization(address) { this.answer = await consent(address, "olga@example.com"); }
}

const provider = new Provider();
const connection = () => new StreamableHTTPClientTransport(new URL("/mcp", SLIPBOX_URL), { authProvider: provider });

const first = connection();
await assert.rejects(new Client({ name: "test", version: "1" }).connect(first), UnauthorizedError);
assert.equal(provider.answer.searchParams.get("state"), "a state");
assert.equal(provider.answer.searchParams.get("iss"), new URL(SLIPBOX_URL).origin);
await first.finishAuth(provider.answer.searchParams.get("code"), provider.answer.searchParams.get("iss") ?? undefined);
const client = new Client({ name: "test", version: "1" });
await client.connect(connection());
const said = await client.callTool({ name: "remember", arguments: { content: "Olga paints ships.", policy: "none" } });
assert.ok(!said.isError, JSON.stringify(said));

// A token that is refused is refreshed.
const before = provider.saved;
provider.saved = { ...before, access_token: `${before.access_token.slice(0, -4)}AAAA` };
const found = await client.callTool({ name: "search_notes", arguments: { query: "ships" } });
assert.match(found.content[0].text, /Olga paints ships/);
assert.notEqual(provider.saved.refresh_token, before.refresh_token);
await client.close();
