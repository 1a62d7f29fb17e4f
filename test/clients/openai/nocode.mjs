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
/** Waits until what is remembered is enough: an exchange is stored after its answer is sent. */
async function messages(enough) {
  for (let end = Date.now() + 120_000; ; await new Promise(resolve => setTimeout(resolve, 20))) {
    const said = (await call('GET', '/v1/collections/home/messages')).items.map(m => m.content)
    if (enough(said)) return
    assert.ok(Date.now() < end, JSON.stringify(said))
  }
}
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

await messages(said => said.length >= 2)

// AnythingLLM, "Generic OpenAI": its versions send the setting of tokens in quotes or as a number. It stops reading when an answer has its
// finish_reason, before the stream ends, and the exchange is stored all the same.
const agent = { 'user-agent': 'AnythingLLM/1.9.0', accept: 'application/json' }
const chatted = { model, stream: true, temperature: 0.7, max_tokens: '1024' }
const read = new AbortController()
const stream = await fetch(url + '/v1/chat/completions', {
  method: 'POST', headers: { ...headers, ...agent }, signal: read.signal,
  body: JSON.stringify({ ...chatted, messages: [system, { role: 'user', content: 'Where do I live, and since when?' }] }),
})
let told = ''
for await (const part of stream.body.pipeThrough(new TextDecoderStream())) {
  told += part
  if (told.includes('"finish_reason":"stop"')) break
}
read.abort()
assert.match(text(deltas(told)).split('Memory:').slice(1).join(), /Lisbon/)
await messages(said => said.includes('Where do I live, and since when?'))
const picture = { type: 'image_url', image_url: { url: 'data:image/png;base64,iVBORw0KGgo=', detail: 'high' } }
const shown = await chat({ ...chatted, max_tokens: 1024, messages: [system, { role: 'user', content: [{ type: 'text', text: 'What is this?' }, picture] }] }, agent)
assert.match(text(deltas(shown)), /^You said: What is this\?/)

// Its agents call one function after another; the call goes back without content. Its documents are embedded in batches.
const weather = { type: 'function', function: { name: 'weather', description: 'In a city.', parameters: { type: 'object', properties: { city: { type: 'string' } } } } }
const asking = { ...chatted, stream_options: { include_usage: true }, tools: [weather] }
const question = { role: 'user', content: 'How is the weather in Lisbon?' }
const round = deltas(await chat({ ...asking, messages: [system, question] }, agent))
const [made, ...more] = round.flatMap(e => e.choices[0]?.delta.tool_calls ?? [])
made.function.arguments += more.map(part => part.function.arguments).join('')
assert.deepEqual([made.index, made.function.name, JSON.parse(made.function.arguments)], [0, 'weather', { city: 'Lisbon' }])
const called = { role: 'assistant', content: null, tool_calls: [{ id: made.id, type: 'function', function: made.function }] }
const answered = await chat({ ...asking, messages: [system, question, called, { role: 'tool', tool_call_id: made.id, content: 'sunny' }] }, agent)
assert.equal(text(deltas(answered)), 'The tool said: sunny')
const vectors = await call('POST', '/v1/embeddings', { model: 'slipbox', input: ['a ferry', 'a boat'], encoding_format: 'base64' }, agent)
assert.deepEqual(vectors.data.map(d => [d.index, typeof d.embedding]), [[0, 'string'], [1, 'string']])

// Nothing of what a program asks for itself is remembered.
const listed = await call('GET', '/v1/collections/home/messages')
assert.ok(!listed.items.some(m => m.content.includes('### Task')), JSON.stringify(listed.items))
