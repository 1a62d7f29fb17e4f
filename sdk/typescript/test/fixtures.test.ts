// The client does what sdk/fixtures says that every client does. The README there says what the fields mean.
import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { Collection, ConnectionError, Jobs, Reviews, Slipbox, SlipboxError } from '../src/index.js'
import { double, type Received, type Reply } from './double.js'

// What it is depends on the operation of a case.
type Json = any

interface Case {
  name: string
  operation: string
  arguments: Arguments
  keys?: string[]
  exchanges: { request: Expected; answer: Given }[]
  same?: string[]
  returns?: Json
  items?: Json[]
  error?: Record<string, Json>
}

interface Expected {
  method: string
  path: string
  query?: Record<string, string>
  headers: Record<string, string>
  body?: Json
  lines?: Json[]
  file?: Json
}

interface Given {
  status: number
  headers?: Record<string, string>
  body?: Json
  lines?: Json[]
  text?: string
  lost?: boolean
}

type Arguments = Record<string, Json>

// Tests of a copy of this folder are told where the tree is.
const folder = join(process.env.SLIPBOX_TREE ?? '../..', 'sdk/fixtures')
const files = readdirSync(folder).filter(name => name.endsWith('.json')).sort()
const cases = files.flatMap(file =>
  (JSON.parse(readFileSync(join(folder, file), 'utf8')) as Case[]).map(one => ({ ...one, name: `${file}: ${one.name}` })),
)

/** The methods that the cases have called, such as `Jobs.get`. */
const called = new Set<string>()
const classes = [Slipbox, Collection, Jobs, Reviews]

/** Returns the methods of a class. */
function methods(of: (typeof classes)[number]): string[] {
  return Object.getOwnPropertyNames(of.prototype).filter(name => name !== 'constructor')
}

for (const of of classes) {
  const prototype = of.prototype as unknown as Record<string, (...values: unknown[]) => unknown>
  for (const name of methods(of)) {
    const method = prototype[name]
    prototype[name] = function (...values) {
      called.add(`${of.name}.${name}`)
      return method?.apply(this, values)
    }
  }
}

type Operation = (api: Slipbox, a: Arguments) => unknown

/** Returns the collection of a case. */
function within(api: Slipbox, { collection, create }: Arguments): Collection {
  return api.collection(collection, create === undefined ? {} : { create })
}

/** Returns the options of a write. */
function options(a: Arguments) {
  return {
    ...(a.wait && { wait: a.wait }),
    ...(a.idempotency_key && { idempotencyKey: a.idempotency_key }),
    ...(a.if_match && { ifMatch: a.if_match }),
  }
}

/** Returns what remains of the arguments: the query of a listing. */
function query({ collection: _, note: __, filter, ...rest }: Arguments) {
  return { ...rest, ...(filter && { filter: JSON.stringify(filter) }) }
}

// Operations without a short form go through `call`.
const operations: Record<string, Operation> = {
  createCollection: (api, a) => api.createCollection(a.body, options(a)),
  listCollections: (api, a) => api.collections(query(a)),
  getCollection: (api, a) => within(api, a).get(),
  patchCollection: (api, a) => within(api, a).patch(a.body),
  deleteCollection: (api, a) => within(api, a).delete({ ...(a.forks && { forks: a.forks }), ...(a.wait && { wait: a.wait }) }),
  forgetExternal: (api, a) => api.call('delete', '/v1/collections/by', { query: { ...a.external, ...(a.wait && { wait: a.wait }) } }),
  cloneCollection: async (api, a) => {
    if (a.body.mode !== 'copy') return within(api, a).fork(a.body)
    const accepted = await within(api, a).call('post', '/v1/collections/{collection}/clone', { body: a.body })
    return 'job' in accepted ? accepted.collection : accepted
  },
  diffCollection: (api, a) => within(api, a).diff(query(a)),
  mergeCollection: (api, a) => within(api, a).merge(a.body),
  rollbackCollection: (api, a) => within(api, a).rollback(a.body),
  followChanges: (api, a) => within(api, a).changes(a.after),
  createNote: (api, a) => within(api, a).add(a.body, options(a)),
  bulkNotes: async (api, a) => {
    const lines = a.notes.map((note: Json) => JSON.stringify(note) + '\n').join('')
    const answer = await within(api, a).call('post', '/v1/collections/{collection}/notes/bulk', { body: lines })
    return answer.trimEnd().split('\n').map(line => JSON.parse(line)).filter(line => !('summary' in line))
  },
  listNotes: (api, a) => within(api, a).notes(query(a)),
  getNote: async (api, a) => (await within(api, a).note(a.note, a.as_of === undefined ? {} : { asOf: a.as_of })).body,
  patchNote: async (api, a) => (await within(api, a).patchNote(a.note, a.body, options(a))).body,
  deleteNote: (api, a) => within(api, a).deleteNote(a.note, { ...options(a), ...(a.erase && { erase: a.erase }), ...(a.sources && { sources: a.sources }) }),
  getNoteHistory: (api, a) => within(api, a).history(a.note, query(a)),
  addMessages: (api, a) => within(api, a).addMessages(a.body, options(a)),
  addFile: (api, { file, wait, ...a }) =>
    within(api, a).addFile(new Blob([file.text]), { name: file.name, ...(wait && { wait }), ...(a.ttl_seconds && { ttl_seconds: a.ttl_seconds }) }),
  listMessages: (api, a) => within(api, a).messages(query(a)),
  search: (api, a) => within(api, a).search(a.body),
  searchBatch: async (api, a) => {
    const answer = await within(api, a).call('post', '/v1/collections/{collection}/search', { body: a.body })
    return 'results' in answer ? answer.results : answer
  },
  searchAll: (api, a) => api.call('post', '/v1/search', { body: a.body }),
  buildContext: (api, a) => within(api, a).context(a.body),
  buildContextAll: (api, a) => api.call('post', '/v1/context', { body: a.body }),
  listFacts: (api, a) => within(api, a).facts(query(a)),
  chat: (api, a) => within(api, a).chat(a.body),
  streamChat: async function* (api, a) {
    for await (const event of within(api, a).chatStream(a.body)) yield event.data
  },
  postEvent: (api, a) => within(api, a).postEvent(a.body, options(a)),
  postResults: (api, a) => within(api, a).postResults(a.run, a.results),
  getRun: (api, a) => within(api, a).run(a.run),
  listJobs: (api, a) => api.jobs.list({ ...query(a), collection: a.collection }),
  getJob: (api, a) => api.jobs.get(a.job),
  retryJob: (api, a) => api.jobs.retry(a.job),
  cancelJob: (api, a) => api.jobs.cancel(a.job),
  streamJob: (api, a) => api.jobs.follow(a.job),
  waitForJob: async (api, a) => (await all(api.jobs.follow(a.job))).at(-1),
  request: (api, a) => {
    for (const [route, form] of forms) {
      const match = route.exec(`${a.method} ${a.path}`)
      if (match) return form(api, a, ...match.slice(1))
    }
    return (api as Json).call(a.method.toLowerCase(), a.path, { query: a.query, body: a.body, ...options(a) })
  },
}

/** Short forms of operations that the other clients reach by `request`. */
const forms: [RegExp, (api: Slipbox, a: Arguments, ...names: Json[]) => unknown][] = [
  [/^POST \/v1\/auth\/token$/, (api, a) => api.token(a.body)],
  [/^POST \/v1\/collections\/(.+)\/notes\/(.+)\/restore$/, async (api, a, collection, note) =>
    (await api.collection(collection).restoreNote(note, a.body.revision, options(a))).body],
  [/^GET \/v1\/reviews$/, async (api, a) => ({ items: await all(api.reviews.list(a.query)) })],
  [/^GET \/v1\/reviews\/(.+)$/, (api, _, review) => api.reviews.get(review)],
  [/^POST \/v1\/reviews\/(.+)\/(approve|reject|undo)$/, (api, a, review, what: 'approve' | 'reject' | 'undo') => api.reviews[what](review, a.body)],
]

async function all<T>(items: AsyncIterable<T>, into: T[] = []): Promise<T[]> {
  for await (const item of items) into.push(item)
  return into
}

/** Returns a reply that gives the answer of a case. */
function reply({ status, headers, body, lines, text, lost }: Given): Reply {
  return response => {
    if (lost) {
      response.destroy()
      return
    }
    response.writeHead(status, headers)
    response.end(body !== undefined ? JSON.stringify(body) : (lines?.map(line => JSON.stringify(line) + '\n').join('') ?? text))
  }
}

/** Fails unless a request is the expected one. */
async function same(got: Received, want: Expected): Promise<void> {
  const [path, search] = got.url.split('?')
  assert.equal(`${got.method} ${path}`, `${want.method} ${want.path}`)
  assert.deepEqual(Object.fromEntries(new URLSearchParams(search)), want.query ?? {})
  if (want.file) {
    const form = await new Response(got.body, { headers: { 'Content-Type': String(got.headers['content-type']) } }).formData()
    const file = form.get('file') as File
    assert.deepEqual({ name: file.name, text: await file.text() }, want.file)
  } else if (want.lines) assert.deepEqual(got.body.trimEnd().split('\n').map(line => JSON.parse(line)), want.lines)
  else assert.deepEqual(got.body === '' ? undefined : JSON.parse(got.body), want.body)
  for (const [name, value] of Object.entries(want.headers)) {
    const sent = got.headers[name]
    assert.ok(sent && (value === '*' || sent === value), `header ${name} is ${sent} instead of ${value}`)
  }
  for (const name of ['idempotency-key', 'if-match', 'slipbox-create']) {
    assert.ok(name in want.headers || !(name in got.headers), `header ${name} was sent`)
  }
}

/** Fails unless want is contained in got. */
function contains(got: Json, want: Json, at = ''): void {
  if (Array.isArray(want)) {
    assert.equal(got?.length, want.length, `${at}: the number of items`)
    want.forEach((value, i) => contains(got[i], value, `${at}[${i}]`))
  } else if (want !== null && typeof want === 'object') {
    assert.ok(got !== null && typeof got === 'object', `${at} is ${got}`)
    for (const [name, value] of Object.entries(want)) contains(got[name], value, `${at}.${name}`)
  } else {
    assert.deepEqual(got ?? null, want ?? null, at)
  }
}

for (const one of cases) {
  test(one.name, async () => {
    await using server = await double(...one.exchanges.map(exchange => reply(exchange.answer)))
    const operation = operations[one.operation]
    assert.ok(operation, `no operation ${one.operation}`)
    const items: unknown[] = []
    let returned: unknown
    let error: unknown
    try {
      const keys = [...(one.keys ?? ['test-key'])]
      const key = one.keys ? () => String(keys.length > 1 ? keys.shift() : keys[0]) : 'test-key'
      const result = operation(server.client({ key, retries: 3 }), one.arguments)
      if (Symbol.asyncIterator in Object(result)) await all(result as AsyncIterable<unknown>, items)
      else returned = await result
    } catch (e) {
      error = e
    }
    if (!one.error) assert.ifError(error)
    else if (one.error.connection) assert.ok(error instanceof ConnectionError, String(error))
    else {
      assert.ok(error instanceof SlipboxError, String(error))
      contains({ ...error.problem, status: error.status, code: error.code }, one.error)
    }
    if (one.items) contains(items, one.items)
    else if (!one.error) contains(returned, 'returns' in one ? one.returns : one.exchanges.at(-1)?.answer.body)
    assert.equal(server.received.length, one.exchanges.length, 'the number of requests')
    for (const [i, exchange] of one.exchanges.entries()) await same(server.received[i] as Received, exchange.request)
    for (const name of one.same ?? []) assert.equal(new Set(server.received.map(r => r.headers[name])).size, 1, name)
  })
}

test('every method has a case', () => {
  const missing = classes.flatMap(of => methods(of).map(name => `${of.name}.${name}`)).filter(name => !called.has(name))
  assert.deepEqual(missing, [])
})
