// The calls of programs without code, which docs/nocode.md is about, as their documentation and sources have them: Open WebUI,
// n8n and AnythingLLM. Their calls of MCP are those of the official client, which ../mcp has.
import assert from 'node:assert/strict'

const { SLIPBOX_URL: url, SLIPBOX_API_KEY: key } = process.env
const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }

async function call(method, path, body, more = {}, status = 200) {
  const answer = await fetch(url + path, { method, headers: { ...headers, ...more }, ...(body && { body: JSON.stringify(body) }) })
  const text = await answer.text()
  assert.equal(answer.status, status, `${method} ${path}: ${text}`)
  return answer.headers.get('content-type').startsWith('application/json') ? JSON.parse(text) : text
}
const chat = (body, more) => call('POST', '/v1/chat/completions', body, more)
const deltas = stream => stream.split('\n\n').filter(e => e.startsWith('data: {')).map(e => JSON.parse(e.slice(6)))
const text = events => events.map(e => e.choices[0]?.delta.content ?? '').join('')

await call('POST', '/v1/collections', { name: 'home', policy: 'none' }, {}, 201)

// All of them list the models when a connection is saved, and take ids from it.
const { object, data } = await call('GET', '/v1/models')
assert.equal(object, 'list')
assert.ok(data.some(model => model.id === 'slipbox' && model.object === 'model'), JSON.stringify(data))

// Open WebUI: a stream with its parameters, and what it asks for itself after an answer.
const model = 'slipbox@home'
const system = { role: 'system', content: 'Be brief.' }
const webui = await chat({
  model, stream: true, stream_options: { include_usage: true }, messages: [system, { role: 'user', content: 'I live in Lisbon now.' }],
})
assert.match(text(deltas(webui)), /^You said: I live in Lisbon now\./)
assert.ok(webui.endsWith('data: [DONE]\n\n') && deltas(webui).at(-1).usage.total_tokens > 0)

// Its task model, in a connection whose key may only read, remembers nothing.
const reading = await call('POST', '/v1/auth/token', { scopes: ['notes:read'], ttl_seconds: 600 })
const titles = await chat({
  model, stream: false, max_completion_tokens: 1000,
  messages: [{ role: 'user', content: '### Task:\nGenerate a concise, 3-5 word title with an emoji.\n### Chat History:\nUSER: I live in Lisbon now.' }],
}, { authorization: `Bearer ${reading.access_token}` })
assert.equal(titles.choices[0].message.role, 'assistant')

// n8n: its chat model reads one model, and its node of OpenAI asks for responses.
assert.equal((await call('GET', `/v1/models/${encodeURIComponent('slipbox@home')}`)).id, 'slipbox@home')
const answer = await call('POST', '/v1/responses', { model, input: [{ role: 'user', content: [{ type: 'input_text', text: 'Where do I live?' }] }] })
assert.equal(answer.status, 'completed')

// An exchange is stored after its answer is sent.
for (let end = Date.now() + 120_000; (await call('GET', '/v1/collections/home/messages')).items.length < 2;) {
  assert.ok(Date.now() < end, 'nothing is stored')
  await new Promise(resolve => setTimeout(resolve, 20))
}

// AnythingLLM: a temperature, a stream, and embeddings of documents in batches.
const anything = await chat({ model, stream: true, temperature: 0.7, max_tokens: 1024, messages: [system, { role: 'user', content: 'Where do I live?' }] })
assert.match(text(deltas(anything)).split('Memory:')[1], /Lisbon/)
const vectors = await call('POST', '/v1/embeddings', { model: 'slipbox', input: ['a ferry', 'a boat'] })
assert.deepEqual(vectors.data.map(d => d.index), [0, 1])

// Nothing of what a program asks for itself is remembered.
const listed = await call('GET', '/v1/collections/home/messages')
assert.ok(!listed.items.some(m => m.content.includes('### Task')), JSON.stringify(listed.items))
