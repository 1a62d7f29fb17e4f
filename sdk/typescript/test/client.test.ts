import assert from 'node:assert/strict'
import { getEventListeners } from 'node:events'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { ConnectionError, Slipbox, SlipboxError } from '../src/index.js'
import { double, hangUp, json, problem, stream, type Reply } from './double.js'

const job = (state: string) => `event: job\ndata: ${JSON.stringify({ id: 'j', kind: 'note', state })}\n\n`

async function all<T>(items: AsyncIterable<T>): Promise<T[]> {
  const out: T[] = []
  for await (const item of items) out.push(item)
  return out
}

test('a request has the key, the path, the query and the body of the contract', async () => {
  await using server = await double(json(201, { note: { id: 'n' }, revision: 3 }, { ETag: '"v"', 'Slipbox-Revision': '3' }))
  const full = await server.client().full('post', '/v1/collections/{collection}/notes', {
    path: { collection: 'a/b ü' }, query: { wait: 'evolved' }, body: { content: 'x' },
  })
  assert.equal(full.etag, '"v"')
  assert.equal(full.revision, 3)
  assert.equal(full.body.note.id, 'n')
  const [got] = server.received
  assert.equal(got?.method, 'POST')
  assert.equal(got?.url, '/v1/collections/a%2Fb%20%C3%BC/notes?wait=evolved')
  assert.equal(got?.headers.authorization, 'Bearer sb_test')
  assert.equal(got?.headers['content-type'], 'application/json')
  assert.match(String(got?.headers['idempotency-key']), /^[0-9a-f]{32}$/)
  assert.equal(got?.body, '{"content":"x"}')
})

test('names that would be another route are refused before anything is sent', async () => {
  await using server = await double(json(200, {}))
  const api = server.client()
  for (const collection of ['', '.', '..']) {
    await assert.rejects(api.call('get', '/v1/collections/{collection}', { path: { collection } }), TypeError)
  }
  assert.throws(() => api.collection(''), TypeError)
  assert.throws(() => api.collection({}), TypeError)
  assert.equal(server.received.length, 0)
})

test('a body is sent as the contract has it: JSON, lines, the bytes of a file, or a form', async () => {
  await using server = await double(json(202, {}))
  const api = server.client()
  const path = { collection: 'c' }
  const form = new FormData()
  form.append('file', new Blob(['two wheels']), 'mühle.txt')
  await api.call('post', '/v1/collections/{collection}/notes/bulk', { path, body: '{"content":"x"}\n' })
  await api.call('post', '/v1/collections/{collection}/history', { path, body: new TextEncoder().encode('Nora: hi') })
  await api.call('post', '/v1/collections/{collection}/history', { path, body: new Blob(['Nora: hi']) })
  await api.call('post', '/v1/collections/{collection}/files', { path, body: form })
  const [lines, bytes, blob, file] = server.received
  assert.equal(lines?.headers['content-type'], 'application/x-ndjson')
  for (const sent of [bytes, blob]) {
    assert.equal(sent?.headers['content-type'], 'application/octet-stream')
    assert.equal(sent?.body, 'Nora: hi')
  }
  assert.match(String(file?.headers['content-type']), /^multipart\/form-data; boundary=/)
  assert.match(String(file?.body), /filename="mühle.txt"[^]*two wheels/)
})

test('a header that cannot be sent is named, and its value is not', async () => {
  await using server = await double(json(200, {}))
  const wrong = { name: 'TypeError', message: 'the header Authorization has a character that cannot be sent' }
  await assert.rejects(server.client({ key: 'sb_\u200btest' }).collection('c').get(), wrong)
  await assert.rejects(server.client({ key: 'sb_\ntest' }).collection('c').get(), wrong)
  await assert.rejects(server.client().collection('c').add('x', { idempotencyKey: 'ключ' }), { ...wrong, message: /Idempotency-Key/ })
  assert.equal(server.received.length, 0)
})

test('ids of an application name a collection in every call, and create it where the contract says so', async () => {
  await using server = await double(json(200, { items: [], hits: [] }))
  const nora = server.client().collection({ user: 'nora@example.com', agent: 'a b' }, { create: 'mem0' })
  await nora.search('x')
  await all(nora.notes({ limit: 5 }))
  assert.equal(server.received[0]?.url, '/v1/collections/by/search?user=nora%40example.com&agent=a+b')
  assert.equal(server.received[0]?.headers['slipbox-create'], 'mem0')
  assert.equal(server.received[1]?.url, '/v1/collections/by/notes?user=nora%40example.com&agent=a+b&limit=5')
  assert.equal(server.received[1]?.headers['slipbox-create'], undefined)
})

test('a write is repeated with the same idempotency key', async () => {
  await using server = await double(hangUp, problem(504, 'timeout'), json(201, { note: { id: 'n' }, revision: 1 }))
  await server.client().collection('c').add('x')
  assert.equal(server.received.length, 3)
  assert.equal(new Set(server.received.map(r => r.headers['idempotency-key'])).size, 1)
  assert.deepEqual(server.waits, [125, 250])
})

test('a write that may not be repeated is sent once, unless it was refused unread', async () => {
  for (const reply of [hangUp, problem(502, 'model_failed'), problem(504, 'timeout')]) {
    await using server = await double(reply)
    await assert.rejects(server.client().collection('c').chat({ message: 'x' }), error => error instanceof SlipboxError || error instanceof ConnectionError)
    assert.equal(server.received.length, 1)
  }
  await using server = await double(problem(429, 'rate_limited', { 'Retry-After': '2' }), problem(503, 'unavailable', { 'Retry-After': '1' }), json(200, { id: 'n' }))
  await server.client().collection('c').chat({ message: 'x' })
  assert.equal(server.received.length, 3)
  assert.deepEqual(server.waits, [2012.5, 1025])
})

test('an error of the gateway, and 503 without Retry-After, are final also for reads', async () => {
  for (const [status, code] of [[500, 'internal'], [503, 'model_not_configured']] as const) {
    await using server = await double(problem(status, code))
    await assert.rejects(server.client().collection('c').get(), (e: unknown) => e instanceof SlipboxError && e.status === status)
    assert.equal(server.received.length, 1)
  }
})

test('reads by POST are repeated, and a refused request never', async () => {
  await using reads = await double(problem(502, 'model_failed'), json(200, { hits: [], mode: 'hybrid', took_ms: 1 }))
  assert.deepEqual((await reads.client().collection('c').search('x')).hits, [])
  await using refused = await double(problem(422, 'invalid', {}, [{ field: 'k', reason: 'too large' }]))
  await assert.rejects(refused.client().collection('c').search({ query: 'x', k: 1000 }), (error: unknown) => {
    assert.ok(error instanceof SlipboxError)
    assert.equal(error.code, 'invalid')
    assert.equal(error.requestId, 'req-1')
    assert.deepEqual(error.fields, [{ field: 'k', reason: 'too large' }])
    assert.match(error.message, /k: too large/)
    return true
  })
  assert.equal(refused.received.length, 1)
})

test('attempts end: by their number, by a wait that is too long, and by the signal', async () => {
  await using down = await double(problem(503, 'unavailable', { 'Retry-After': '0' }))
  await assert.rejects(down.client().collection('c').get(), (e: unknown) => e instanceof SlipboxError && e.status === 503)
  assert.equal(down.received.length, 4)
  await using later = await double(problem(429, 'quota', { 'Retry-After': '3600' }))
  await assert.rejects(later.client().collection('c').get(), (e: unknown) => e instanceof SlipboxError && e.retryAfter === 3_600_000)
  assert.equal(later.received.length, 1)
  await using left = await double(problem(504, 'timeout'))
  const control = new AbortController()
  const api = left.client({
    sleep: async () => {
      control.abort(new Error('left'))
    },
  })
  await assert.rejects(api.collection('c').get({ signal: control.signal }), /left/)
  assert.equal(left.received.length, 1)
})

test('a signal that outlives its requests keeps nothing of them', async () => {
  const { signal } = new AbortController()
  await using server = await double(
    json(200, { id: 'c' }), problem(504, 'timeout'), problem(404, 'not_found'), stream(job('running'), job('done')), hangUp,
  )
  const api = server.client({ retries: 1 })
  await api.collection('c').get({ signal })
  await assert.rejects(api.collection('c').get({ signal }), SlipboxError)
  await all(api.jobs.follow('j', { signal }))
  await assert.rejects(api.collection('c').get({ signal }), ConnectionError)
  assert.equal(server.received.length, 6)
  assert.equal(getEventListeners(signal, 'abort').length, 0)
})

test('a signal ends an answer, a stream and the wait for a run with its own reason', async () => {
  for (const use of [
    (api: Slipbox, signal: AbortSignal) => api.collection('c').get({ signal }),
    (api: Slipbox, signal: AbortSignal) => all(api.collection('c').chatStream('x', { signal })),
    (api: Slipbox, signal: AbortSignal) => all(api.jobs.follow('j', { signal })),
    (api: Slipbox, signal: AbortSignal) => all(api.collection('c').changes(0, { signal })),
    (api: Slipbox, signal: AbortSignal) => api.collection('c').postEvent('x', { signal }),
    (api: Slipbox, signal: AbortSignal) => api.collection('c').postResults('r', [], { signal }),
  ]) {
    const control = new AbortController()
    /** Begins an answer, which the caller leaves. */
    const begun = (type: string): Reply => response => {
      response.writeHead(200, { 'Content-Type': type })
      response.write('{')
      control.abort(new Error('left'))
    }
    await using server = await double((response, request) => {
      if (request.url.endsWith('/events') && request.method === 'POST') json(202, { event: 'e', run: 'r', job: { id: 'j' } })(response, request)
      else if (request.url.endsWith('/results')) json(200, { id: 'r', state: 'running', job: 'j' })(response, request)
      else begun(request.headers.accept ?? '')(response, request)
    })
    await assert.rejects(use(server.client(), control.signal), /^Error: left$/)
  }
})

test('a gateway that cannot be reached, or does not answer, is a ConnectionError', async () => {
  const api = new Slipbox({ url: 'http://127.0.0.1:1', retries: 0 })
  await assert.rejects(api.collection('c').get(), ConnectionError)
  const noScheme = new Slipbox({ url: 'localhost:8080', retries: 0 })
  await assert.rejects(noScheme.collection('c').get(), { name: 'ConnectionError', message: 'localhost:8080 cannot be reached: unknown scheme' })
  let asked = 0
  const silent: typeof fetch = (_, init) =>
    new Promise((_, reject) => {
      asked++
      init?.signal?.addEventListener('abort', () => reject(init.signal?.reason))
    })
  const waiting = new Slipbox({ url: 'http://x', fetch: silent, sleep: async () => undefined, timeout: 5, retries: 1 })
  await assert.rejects(waiting.collection('c').get(), /no answer within 5 ms/)
  assert.equal(asked, 2)
  const form = new FormData()
  form.append('file', new Blob(['x'.repeat(1_000)]))
  for (const body of ['x'.repeat(1_000), new TextEncoder().encode('x'.repeat(1_000)), form])
    await assert.rejects(waiting.call('post', '/v1/collections/{collection}/history', { path: { collection: 'c' }, body } as never), /no answer within 15 ms/, 'a body needs time of its own')
})

test('errors that are no problem documents keep their status', async () => {
  await using proxy = await double(response => {
    response.writeHead(403, { 'Content-Type': 'text/html' })
    response.end('<h1>no</h1>')
  })
  await assert.rejects(proxy.client().collection('c').get(), (e: unknown) => e instanceof SlipboxError && e.status === 403 && e.code === 'unknown')
  await using openai = await double(json(404, { error: { message: 'no such model', code: 'not_found' } }))
  await assert.rejects(openai.client().call('get', '/v1/models'), (e: unknown) => e instanceof SlipboxError && e.code === 'not_found' && e.message === 'no such model')
})

test('pages are asked for one after the other, when they are needed', async () => {
  await using server = await double(
    json(200, { items: [{ id: '1' }, { id: '2' }], next_cursor: 'c/2', revision: 1 }),
    json(200, { items: [{ id: '3' }], revision: 1 }),
  )
  const notes = server.client().collection('c').notes({ limit: 2 })
  assert.equal(server.received.length, 0)
  await notes.next()
  assert.equal(server.received.length, 1)
  assert.deepEqual((await all(notes)).map(n => n.id), ['2', '3'])
  assert.equal(server.received[1]?.url, '/v1/collections/c/notes?limit=2&cursor=c%2F2')
})

test('events are read whatever the pieces they arrive in', async () => {
  const text = ': hello\n\nevent: delta\r\ndata: {"text":"é"}\r\n\r\nevent: delta\rdata: {"text":\rdata: "b"}\r\rdata: [DONE]\n\nevent: cut\ndata: 1\n'
  const bytes = Buffer.from(text)
  for (const size of [1, 2, 3, 7, bytes.length]) {
    const pieces: Buffer[] = []
    for (let at = 0; at < bytes.length; at += size) pieces.push(bytes.subarray(at, at + size))
    const body = new ReadableStream<Uint8Array>({
      start(control) {
        for (const piece of pieces) control.enqueue(new Uint8Array(piece))
        control.close()
      },
    })
    const api = new Slipbox({ url: 'http://x', fetch: async () => new Response(body) })
    const events = await all(api.stream('post', '/v1/collections/{collection}/chat', { path: { collection: 'c' }, body: { message: 'hello' } }))
    assert.deepEqual(
      events.map(e => [e.event, e.data]),
      [['delta', { text: 'é' }], ['delta', { text: 'b' }], ['message', '[DONE]']], `pieces of ${size}`,
    )
  }
})

test('an error in a stream is thrown', async () => {
  await using server = await double(stream('event: delta\ndata: {"text":"a"}\n\nevent: error\ndata: {"status":502,"code":"model_failed","title":"t","type":"x","request_id":"r"}\n\n'))
  const got: unknown[] = []
  await assert.rejects(async () => {
    for await (const event of server.client().collection('c').chatStream('x')) got.push(event.data)
  }, (e: unknown) => e instanceof SlipboxError && e.code === 'model_failed')
  assert.deepEqual(got, [{ text: 'a' }])
})

test('a job is followed over a stream that breaks off', async () => {
  await using server = await double(
    response => {
      response.writeHead(200, { 'Content-Type': 'text/event-stream' })
      response.write(job('running'), () => response.destroy())
    },
    json(200, { id: 'j', kind: 'note', state: 'running' }),
    stream(job('running'), job('done'), job('never')),
  )
  assert.deepEqual((await all(server.client().jobs.follow('j'))).map(j => j.state), ['running', 'running', 'done'])
  await using missed = await double(stream(''), json(200, { id: 'j', kind: 'note', state: 'failed' }))
  assert.deepEqual((await all(missed.client().jobs.follow('j'))).map(j => j.state), ['failed'])
})

test('a client without settings reads the environment', async () => {
  await using server = await double(json(200, { items: [] }), json(200, { items: [] }))
  const { SLIPBOX_URL, SLIPBOX_KEY } = process.env
  try {
    process.env.SLIPBOX_URL = `${server.url}/`
    process.env.SLIPBOX_KEY = 'sb_env'
    await new Slipbox().full('get', '/v1/collections', {})
    await new Slipbox({ key: 'sb_given' }).full('get', '/v1/collections', {})
  } finally {
    for (const [name, value] of Object.entries({ SLIPBOX_URL, SLIPBOX_KEY })) {
      if (value === undefined) delete process.env[name]
      else process.env[name] = value
    }
  }
  assert.deepEqual(server.received.map(got => got.headers.authorization), ['Bearer sb_env', 'Bearer sb_given'])
})

test('leaving a stream closes its connection', async () => {
  let closed: () => void = () => undefined
  const ended = new Promise<void>(resolve => {
    closed = resolve
  })
  await using server = await double(response => {
    response.on('close', closed)
    response.writeHead(200, { 'Content-Type': 'text/event-stream' })
    response.write(job('running'))
  })
  for await (const _ of server.client().jobs.follow('j')) break
  await ended
})

test('the loop of README.md answers the calls of a run', async () => {
  const page = readFileSync(join(process.env.SLIPBOX_TREE ?? '../..', 'sdk/typescript/README.md'), 'utf8')
  const code = /```ts\n(let run = await otto\.postEvent[^]*?)```/.exec(page)?.[1]
  assert.ok(code)
  const call = { run: 'r', tool: 'forecast', arguments: { city: 'Lisbon' } }
  const waits = { id: 'r', state: 'requires_action', required_calls: [{ ...call, id: 'a', answer: 'result' }, { ...call, id: 'b', answer: 'approval' }] }
  await using server = await double(json(200, waits), json(200, { id: 'r', state: 'done', reply: 'Sunny.' }))
  const said: string[] = []
  const loop = new Function('otto', 'tools', 'console', `return (async () => {${code}})()`) as (...given: unknown[]) => Promise<void>
  await loop(server.client().collection('otto'), { forecast: ({ city }: { city: string }) => `sunny in ${city}` }, { log: (text: string) => said.push(text) })
  assert.deepEqual(said, ['Sunny.'])
  assert.deepEqual(JSON.parse(server.received[1]?.body ?? ''), { results: [{ call: 'a', result: 'sunny in Lisbon' }, { call: 'b', approve: true }], wait: 'done' })
})
