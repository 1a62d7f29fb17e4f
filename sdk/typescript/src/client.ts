import { ConnectionError, SlipboxError, type Problem } from './errors.js'
import { events, type StreamEvent } from './events.js'
import { BODIES, CREATES, HARMLESS, KEYED } from './routes.js'
import { Transport, type Outgoing, type Settings } from './transport.js'
import type { Answer, CallOptions, Full, Method, Operation, PathOf, Request, Schemas } from './types.js'

/** Ids of an application: a collection can be named by them. */
export interface External {
  user?: string
  agent?: string
  app?: string
  run?: string
}

type Loose = CallOptions & {
  path?: Record<string, string | number> | undefined
  query?: Record<string, unknown> | undefined
  ifMatch?: string | undefined
  idempotencyKey?: string | undefined
  headers?: Record<string, string> | undefined
  body?: unknown
}

/**
 * A client of one gateway. `call` reaches every operation of the contract, with its types;
 * `collection`, `collections`, `jobs` and `reviews` are shorter forms of the usual ones.
 */
export class Slipbox {
  readonly #transport: Transport
  readonly jobs: Jobs
  readonly reviews: Reviews

  constructor(settings: Settings = {}) {
    this.#transport = new Transport(settings)
    this.jobs = new Jobs(this)
    this.reviews = new Reviews(this)
  }

  /** Sends a request of the contract and returns the body of its answer. */
  async call<M extends Method, P extends PathOf<M>>(method: M, path: P, request?: Request<Operation<M, P>>): Promise<Answer<Operation<M, P>>> {
    return (await this.full(method, path, request)).body
  }

  /** Like call, with status and headers. */
  async full<M extends Method, P extends PathOf<M>>(
    method: M, path: P, request?: Request<Operation<M, P>>,
  ): Promise<Full<Answer<Operation<M, P>>>> {
    const out = outgoing(method, path, (request ?? {}) as Loose)
    const { response, done } = await this.#transport.send(out)
    const body = await readBody(response, out.signal).finally(done)
    const revision = response.headers.get('Slipbox-Revision')
    return {
      body: body as Answer<Operation<M, P>>,
      status: response.status,
      headers: response.headers,
      etag: response.headers.get('ETag') ?? undefined,
      revision: revision === null ? undefined : Number(revision),
    }
  }

  /**
   * Sends a request whose answer is a stream of server-sent events, and yields them. An `error` event is
   * thrown as SlipboxError. `opened` is called when the answer begins.
   */
  async *stream<M extends 'get' | 'post', P extends PathOf<M>>(
    method: M, path: P, request?: Request<Operation<M, P>>, opened?: () => void,
  ): AsyncGenerator<StreamEvent, void, undefined> {
    const out = outgoing(method, path, (request ?? {}) as Loose)
    out.headers.Accept = 'text/event-stream'
    const { response, done } = await this.#transport.send(out)
    opened?.()
    try {
      for await (const event of events(response, out.signal)) {
        if (event.event === 'error') {
          const problem = event.data as Problem
          throw new SlipboxError(problem.status, problem)
        }
        yield event
      }
    } finally {
      done()
    }
  }

  /** Yields the items of all pages of a listing. A page is asked for when the one before is used up. */
  async *list<P extends PathOf<'get'>>(path: P, request?: Request<Operation<'get', P>>): AsyncGenerator<Item<Answer<Operation<'get', P>>>, void, undefined> {
    let cursor: string | undefined
    do {
      const query = { ...(request as Loose | undefined)?.query, ...(cursor === undefined ? {} : { cursor }) }
      const page = (await this.call('get', path, { ...request, query } as Request<Operation<'get', P>>)) as {
        items: Item<Answer<Operation<'get', P>>>[]
        next_cursor?: string
      }
      yield* page.items
      cursor = page.next_cursor
    } while (cursor !== undefined)
  }

  /** Waits before a stream is opened again. */
  rest(signal?: AbortSignal): Promise<void> {
    return this.#transport.rest(signal)
  }

  /**
   * Names a collection by its id, its name, or the ids of an application. With `create`, the name of a
   * policy, a collection with these ids is made on first use.
   */
  collection(ref: string | External, options: { create?: string } = {}): Collection {
    return new Collection(this, ref, options.create)
  }

  /** Creates a collection. */
  createCollection(input: Schemas['CollectionInput'], options?: CallOptions): Promise<Schemas['Collection']> {
    return this.call('post', '/v1/collections', { ...options, body: input })
  }

  /** Yields the collections that the key reaches, by name. */
  collections(query: Request<Operation<'get', '/v1/collections'>>['query'] = {}, options?: CallOptions): AsyncGenerator<Schemas['Collection'], void, undefined> {
    return this.list('/v1/collections', { ...options, query })
  }

  /** Exchanges an API key for a token that expires. */
  token(input: Schemas['TokenRequest'] = {}, options?: CallOptions): Promise<Schemas['Token']> {
    return this.call('post', '/v1/auth/token', { ...options, body: input })
  }
}

type Item<A> = A extends { items: (infer I)[] } ? I : never

/** What a collection's write takes. */
export interface WriteOptions extends CallOptions {
  /** The `ETag` that the thing must still have; another is 412. */
  ifMatch?: string
  /** Makes the write safe to repeat for 24 hours, also by another process. */
  idempotencyKey?: string
  /** `evolved` answers when the policy has run, within limits. */
  wait?: 'none' | 'evolved'
}

/** What an upload takes. */
export interface FileOptions extends CallOptions {
  /** Has the extension of the format; default that of the file. */
  name?: string
  /** `done` answers when the file is read. */
  wait?: 'none' | 'done'
  expires_at?: string
  ttl_seconds?: number
}

/** What the deletion of a note takes. */
export interface DeleteOptions {
  /** What happens to the notes that it was derived from: by default, the sentences that say a fact are taken out of them. */
  sources?: 'keep' | 'delete'
  /** Removes every version, also in forks; nothing can be restored. */
  erase?: boolean
}

/** A collection of a gateway. Making one sends nothing. */
export class Collection {
  readonly #api: Slipbox
  readonly #create: string | undefined
  /** What stands in the path. */
  readonly ref: string
  /** What stands in every query: the ids of an application. */
  readonly #external: External

  constructor(api: Slipbox, ref: string | External, create?: string) {
    this.#api = api
    this.#create = create
    this.ref = typeof ref === 'string' ? ref : 'by'
    this.#external = typeof ref === 'string' ? {} : ref
    if (ref === '' || (typeof ref !== 'string' && Object.values(ref).every(v => v === undefined))) {
      throw new TypeError('a collection needs an id, a name, or an id of an application')
    }
  }

  /** Sends a request of the contract on this collection, whose path begins with `/v1/collections/{collection}`. */
  async full<M extends Method, P extends PathOf<M> & `/v1/collections/{collection}${string}`>(
    method: M, path: P, request?: Omit<Request<Operation<M, P>>, 'path'> & { path?: Record<string, string> },
  ): Promise<Full<Answer<Operation<M, P>>>> {
    return this.#api.full(method, path, this.#here(method, path, request as Loose | undefined) as unknown as Request<Operation<M, P>>)
  }

  /** Like full, without status and headers. */
  async call<M extends Method, P extends PathOf<M> & `/v1/collections/{collection}${string}`>(
    method: M, path: P, request?: Omit<Request<Operation<M, P>>, 'path'> & { path?: Record<string, string> },
  ): Promise<Answer<Operation<M, P>>> {
    return (await this.full(method, path, request)).body
  }

  #here(method: Method, path: string, request: Loose = {}): Loose {
    const headers = { ...request.headers }
    if (this.#create !== undefined && method === 'post' && CREATES.has(path)) headers['Slipbox-Create'] = this.#create
    return {
      ...request, headers,
      path: { ...request.path, collection: this.ref },
      query: { ...this.#external, ...request.query },
    }
  }

  #list<P extends PathOf<'get'> & `/v1/collections/{collection}${string}`>(path: P, request: Loose) {
    return this.#api.list(path, this.#here('get', path, request) as Request<Operation<'get', P>>)
  }

  /** Reads the collection itself: its policy, its counts, what it is a fork of. */
  get(options?: CallOptions): Promise<Schemas['Collection']> {
    return this.call('get', '/v1/collections/{collection}', { ...options })
  }

  /** Changes its settings (JSON Merge Patch). */
  patch(change: Schemas['CollectionPatch'], options?: CallOptions): Promise<Schemas['Collection']> {
    return this.call('patch', '/v1/collections/{collection}', { ...options, body: change })
  }

  /**
   * Deletes it. With forks it is 409, unless they are made independent. With `wait` it waits until all rows are gone, within
   * limits; `removed` of the report says whether they are.
   */
  async delete(options: CallOptions & { forks?: 'materialise'; wait?: 'removed' } = {}): Promise<Schemas['RemovalReport'] | undefined> {
    const { forks, wait, ...rest } = options
    return (await this.call('delete', '/v1/collections/{collection}', { ...rest, query: { ...(forks && { forks }), ...(wait && { wait }) } })) ?? undefined
  }

  /** Makes a fork: one row, whatever the size. A copy is `api.call('post', '/v1/collections/{collection}/clone', …)`. */
  async fork(input: Omit<Schemas['CloneRequest'], 'mode'> = {}, options?: WriteOptions): Promise<Schemas['Collection']> {
    return (await this.call('post', '/v1/collections/{collection}/clone', { ...options, body: input })) as Schemas['Collection']
  }

  /**
   * Yields the pages of what leads from another view to the collection: from its parent, or the one that `against` and `against_at`
   * name. All pages read the same revisions.
   */
  async *diff(query: Request<Operation<'get', '/v1/collections/{collection}/diff'>>['query'] = {}, options?: CallOptions): AsyncGenerator<Schemas['Diff'], void, undefined> {
    let cursor: string | undefined
    do {
      const page: Schemas['Diff'] = await this.call('get', '/v1/collections/{collection}/diff', { ...options, query: { ...query, ...(cursor !== undefined && { cursor }) } })
      yield page
      cursor = page.next_cursor
    } while (cursor !== undefined)
  }

  /**
   * Takes over what another collection of the lineage has changed. Where both changed a field, it throws a SlipboxError, whose
   * `problem.conflicts` say which, unless `strategy` decides. A large merge is a job, which the answer names. With `wait: 'done'`
   * it is waited for: the answer is then what the job did, with the state in which it ended.
   */
  async merge(input: Schemas['MergeRequest'], options?: CallOptions): Promise<Schemas['MergeResult']> {
    return this.#outcome(await this.call('post', '/v1/collections/{collection}/merge', { ...options, body: input }), input.wait, options)
  }

  /**
   * Makes it show what it showed at a revision, a time or a snapshot, as one more change. A large rollback is a job, as a large
   * merge is; `wait: 'done'` waits for it.
   */
  async rollback(to: Schemas['RollbackRequest'], options?: CallOptions): Promise<Schemas['RollbackResult']> {
    return this.#outcome(await this.call('post', '/v1/collections/{collection}/rollback', { ...options, body: to }), to.wait, options)
  }

  /** The answer, or what its job did when it is waited for. */
  async #outcome<A extends { job?: Schemas['Job'] }>(answer: A, wait: 'none' | 'done' | undefined, options?: CallOptions): Promise<A> {
    if (!answer.job || wait !== 'done') return answer
    let job = answer.job
    for await (const state of this.#api.jobs.follow(answer.job.id, options)) job = state
    return { ...answer, ...(job.result as Partial<A> | undefined), job }
  }

  /**
   * Yields the changes after a revision: those that there are, then each new one. A stream that ends or breaks off is opened
   * again after the last change, until the gateway refuses or cannot be reached: none is missed, and none comes twice. To continue
   * in another process, keep the revision of the last change.
   */
  async *changes(after = 0, options: CallOptions = {}): AsyncGenerator<Schemas['Change'], void, undefined> {
    const path = '/v1/collections/{collection}/changes'
    for (let open = false; ; ) {
      try {
        open = false
        const request = this.#here('get', path, { ...options, query: { after } }) as Request<Operation<'get', typeof path>>
        for await (const event of this.#api.stream('get', path, request, () => (open = true))) {
          if (event.event !== 'change') continue
          const change = event.data as Schemas['Change']
          after = change.revision
          yield change
        }
      } catch (error) {
        if (!open || !(error instanceof ConnectionError)) throw error
      }
      await this.#api.rest(options.signal)
    }
  }

  /** Adds a note. */
  add(note: Schemas['NoteInput'] | string, options: WriteOptions = {}): Promise<Schemas['NoteCreated']> {
    const { wait, ...rest } = options
    const body = typeof note === 'string' ? { content: note } : note
    return this.call('post', '/v1/collections/{collection}/notes', { ...rest, ...(wait && { query: { wait } }), body })
  }

  /** Adds messages of a conversation; the policy learns from them. */
  addMessages(messages: Schemas['MessageInput'][] | Schemas['MessagesInput'], options: WriteOptions = {}): Promise<Schemas['MessagesAccepted']> {
    const { wait, ...rest } = options
    const body = Array.isArray(messages) ? { messages } : messages
    return this.call('post', '/v1/collections/{collection}/messages', { ...rest, ...(wait && { query: { wait } }), body })
  }

  /**
   * Adds a file: a Blob with a name, a File, or the path of one in Node. A job reads its text, which searches and contexts then
   * find. With `wait: 'done'` the answer has the file as it is when the job has ended: `ready`, or `failed` with a reason.
   */
  async addFile(file: Blob | string, options: FileOptions = {}): Promise<Schemas['FileAccepted']> {
    const { name, wait, expires_at, ttl_seconds, ...rest } = options
    const body = new FormData()
    const known = typeof file === 'string' ? file.split(/[\\/]/).pop() : (file as Partial<File>).name
    if (!(name ?? known)) throw new TypeError('a Blob needs a name, with the extension of its format')
    body.append('file', typeof file === 'string' ? await readFile(file) : file, name ?? known)
    const query = { ...(expires_at !== undefined && { expires_at }), ...(ttl_seconds !== undefined && { ttl_seconds }) }
    const answer = await this.call('post', '/v1/collections/{collection}/files', { ...rest, query, body })
    if (!answer.job || wait !== 'done') return answer
    for await (const _ of this.#api.jobs.follow(answer.job.id, rest));
    return { ...answer, file: await this.call('get', '/v1/collections/{collection}/files/{file}', { ...rest, path: { file: answer.file.id } }) }
  }

  /** Yields its notes, oldest first. */
  notes(query: Request<Operation<'get', '/v1/collections/{collection}/notes'>>['query'] = {}, options?: CallOptions): AsyncGenerator<Schemas['Note'], void, undefined> {
    return this.#list('/v1/collections/{collection}/notes', { ...options, query })
  }

  /** Yields its messages by event time. */
  messages(query: Request<Operation<'get', '/v1/collections/{collection}/messages'>>['query'] = {}, options?: CallOptions): AsyncGenerator<Schemas['StoredMessage'], void, undefined> {
    return this.#list('/v1/collections/{collection}/messages', { ...options, query })
  }

  /** Yields its facts. */
  facts(query: Request<Operation<'get', '/v1/collections/{collection}/facts'>>['query'] = {}, options?: CallOptions): AsyncGenerator<Schemas['Fact'], void, undefined> {
    return this.#list('/v1/collections/{collection}/facts', { ...options, query })
  }

  /** Reads a note, with the `etag` that guards a change of it. */
  async note(id: string, options?: CallOptions & { asOf?: Schemas['AsOf'] }): Promise<Full<Schemas['Note']>> {
    const { asOf, ...rest } = options ?? {}
    return this.full('get', '/v1/collections/{collection}/notes/{note}', { ...rest, path: { note: id }, ...(asOf !== undefined && { query: { as_of: asOf } }) })
  }

  /** Changes a note (JSON Merge Patch). */
  patchNote(id: string, change: Schemas['NotePatch'], options?: WriteOptions): Promise<Full<Schemas['Note']>> {
    return this.full('patch', '/v1/collections/{collection}/notes/{note}', { ...options, path: { note: id }, body: change })
  }

  /** Deletes a note; its versions remain in its history. With erase they are removed for good, and the report says what was. */
  async deleteNote(id: string, options: WriteOptions & DeleteOptions = {}): Promise<Schemas['ErasureReport'] | undefined> {
    const { sources, erase, ...rest } = options
    const query = { ...(sources && { sources }), ...(erase && { erase }) }
    return (await this.call('delete', '/v1/collections/{collection}/notes/{note}', { ...rest, path: { note: id }, query })) ?? undefined
  }

  /** Makes the version that begins at this revision the current one again. */
  restoreNote(id: string, revision: number, options?: WriteOptions): Promise<Full<Schemas['Note']>> {
    return this.full('post', '/v1/collections/{collection}/notes/{note}/restore', { ...options, path: { note: id }, body: { revision } })
  }

  /** Yields the versions of a note, newest first. */
  history(id: string, query: Request<Operation<'get', '/v1/collections/{collection}/notes/{note}/history'>>['query'] = {}, options?: CallOptions): AsyncGenerator<Schemas['HistoryEntry'], void, undefined> {
    return this.#list('/v1/collections/{collection}/notes/{note}/history', { ...options, path: { note: id }, query })
  }

  /** Searches it. A batch is `call('post', '/v1/collections/{collection}/search', …)`. */
  async search(query: string | Omit<Schemas['SearchRequest'], 'queries'>, options?: CallOptions): Promise<Schemas['SearchResult']> {
    const body = typeof query === 'string' ? { query } : query
    return (await this.call('post', '/v1/collections/{collection}/search', { ...options, body })) as Schemas['SearchResult']
  }

  /** Builds a text for a prompt from what belongs to the query. */
  context(request: string | Schemas['ContextRequest'], options?: CallOptions): Promise<Schemas['ContextAnswer']> {
    const body = typeof request === 'string' ? { query: request } : request
    return this.call('post', '/v1/collections/{collection}/context', { ...options, body })
  }

  /** Answers from memory. */
  async chat(request: string | Omit<Schemas['ChatRequest'], 'stream'>, options?: CallOptions): Promise<Schemas['ChatAnswer']> {
    const body = typeof request === 'string' ? { message: request } : request
    return (await this.call('post', '/v1/collections/{collection}/chat', { ...options, body })) as Schemas['ChatAnswer']
  }

  /**
   * Answers from memory, piece by piece: `delta` with `ChatDelta`, then one `done` with `ChatAnswer`. An
   * answer that ends before `done` is a ConnectionError.
   */
  async *chatStream(request: string | Omit<Schemas['ChatRequest'], 'stream'>, options?: CallOptions): AsyncGenerator<StreamEvent, void, undefined> {
    const body = { ...(typeof request === 'string' ? { message: request } : request), stream: true }
    const path = '/v1/collections/{collection}/chat'
    const sent = this.#here('post', path, { ...options, body }) as Request<Operation<'post', typeof path>>
    for await (const event of this.#api.stream('post', path, sent)) {
      if (event.event !== 'delta' && event.event !== 'done') continue // of a later gateway
      yield event
      if (event.event === 'done') return
    }
    throw new ConnectionError('the answer broke off before its end')
  }

  /** Makes an agent act now, and returns the run when it has ended or requires action. */
  async postEvent(event: string | Omit<Schemas['EventInput'], 'wait'>, options?: WriteOptions): Promise<Schemas['Run']> {
    const body = { ...(typeof event === 'string' ? { content: event } : event), wait: 'done' as const }
    const answer = await this.call('post', '/v1/collections/{collection}/events', { ...options, body })
    if ('state' in answer) return this.#settled(answer, options)
    if (answer.run === undefined || answer.job === undefined) throw new TypeError('an event for later has no run yet: post it with call')
    return this.#ended(answer.run, answer.job.id, options)
  }

  /** Answers calls of a run, and returns the run when it has ended or requires action again. */
  async postResults(run: string, results: Schemas['CallResult'][], options?: CallOptions): Promise<Schemas['Run']> {
    const path = '/v1/collections/{collection}/runs/{run}/results'
    return this.#settled(await this.call('post', path, { ...options, path: { run }, body: { results, wait: 'done' } }), options)
  }

  /** Reads a run of an agent. */
  run(id: string, options?: CallOptions): Promise<Schemas['Run']> {
    return this.call('get', '/v1/collections/{collection}/runs/{run}', { ...options, path: { run: id } })
  }

  /** Returns a run when its job has ended. */
  async #settled(run: Schemas['Run'], options: CallOptions | undefined): Promise<Schemas['Run']> {
    if (run.job === undefined || (run.state !== 'queued' && run.state !== 'running')) return run
    return this.#ended(run.id, run.job, options)
  }

  /** Waits for the job of a run, and returns the run. */
  async #ended(run: string, job: string, { signal, timeout, retries }: CallOptions = {}): Promise<Schemas['Run']> {
    const options = { ...(signal && { signal }), ...(timeout !== undefined && { timeout }), ...(retries !== undefined && { retries }) }
    for await (const _ of this.#api.jobs.follow(job, options));
    return this.run(run, options)
  }
}

const over: ReadonlySet<string> = new Set(['done', 'failed', 'dead', 'cancelled'])

/** Work that goes on after an answer. */
export class Jobs {
  readonly #api: Slipbox
  constructor(api: Slipbox) {
    this.#api = api
  }

  /** Yields jobs, newest first. */
  list(query: Request<Operation<'get', '/v1/jobs'>>['query'] = {}, options?: CallOptions): AsyncGenerator<Schemas['Job'], void, undefined> {
    return this.#api.list('/v1/jobs', { ...options, query })
  }

  get(id: string, options?: CallOptions): Promise<Schemas['Job']> {
    return this.#api.call('get', '/v1/jobs/{job}', { ...options, path: { job: id } })
  }

  retry(id: string, options?: CallOptions): Promise<Schemas['Job']> {
    return this.#api.call('post', '/v1/jobs/{job}/retry', { ...options, path: { job: id } })
  }

  cancel(id: string, options?: CallOptions): Promise<Schemas['Job']> {
    return this.#api.call('post', '/v1/jobs/{job}/cancel', { ...options, path: { job: id } })
  }

  /**
   * Yields a job now and at each change, until it has ended. A stream that ends or breaks off before is opened again, until the
   * gateway refuses or cannot be reached.
   */
  async *follow(id: string, options: CallOptions = {}): AsyncGenerator<Schemas['Job'], void, undefined> {
    for (;;) {
      try {
        for await (const event of this.#api.stream('get', '/v1/jobs/{job}/events', { ...options, path: { job: id } })) {
          if (event.event !== 'job') continue
          const job = event.data as Schemas['Job']
          yield job
          if (over.has(job.state)) return
        }
      } catch (error) {
        if (!(error instanceof ConnectionError)) throw error
      }
      // Tries as often as any request, and says when the gateway is away.
      const job = await this.get(id, options)
      if (over.has(job.state)) {
        yield job
        return
      }
      await this.#api.rest(options.signal)
    }
  }
}

/** Changes that wait for a person's decision, and risky ones that were made without asking. */
export class Reviews {
  readonly #api: Slipbox
  constructor(api: Slipbox) {
    this.#api = api
  }

  list(query: Request<Operation<'get', '/v1/reviews'>>['query'] = {}, options?: CallOptions): AsyncGenerator<Schemas['Review'], void, undefined> {
    return this.#api.list('/v1/reviews', { ...options, query })
  }

  get(id: string, options?: CallOptions): Promise<Schemas['Review']> {
    return this.#api.call('get', '/v1/reviews/{review}', { ...options, path: { review: id } })
  }

  approve(id: string, decision: Schemas['ReviewDecision'] = {}, options?: CallOptions): Promise<Schemas['Review']> {
    return this.#api.call('post', '/v1/reviews/{review}/approve', { ...options, path: { review: id }, body: decision })
  }

  reject(id: string, decision: Schemas['ReviewDecision'] = {}, options?: CallOptions): Promise<Schemas['Review']> {
    return this.#api.call('post', '/v1/reviews/{review}/reject', { ...options, path: { review: id }, body: decision })
  }

  undo(id: string, decision: Schemas['ReviewDecision'] = {}, options?: CallOptions): Promise<Schemas['Review']> {
    return this.#api.call('post', '/v1/reviews/{review}/undo', { ...options, path: { review: id }, body: decision })
  }
}

/** Returns the request of a call: its target, its headers, its body, and whether it may be repeated. */
function outgoing(method: Method, path: string, request: Loose): Outgoing {
  const { signal, timeout, retries } = request
  const headers: Record<string, string> = { Accept: 'application/json', ...request.headers }
  if (request.ifMatch !== undefined) headers['If-Match'] = request.ifMatch
  const keyed = method === 'post' && KEYED.has(path)
  if (request.idempotencyKey !== undefined) headers['Idempotency-Key'] = request.idempotencyKey
  else if (keyed) headers['Idempotency-Key'] = newKey()
  let body: Outgoing['body']
  if (request.body instanceof FormData) body = request.body // its type has a boundary that fetch chooses
  else if (request.body !== undefined) {
    const raw = typeof request.body === 'string' || request.body instanceof Uint8Array || request.body instanceof Blob
    body = raw ? (request.body as string | Uint8Array | Blob) : JSON.stringify(request.body)
    headers['Content-Type'] ??= BODIES.get(path) ?? 'application/json'
  }
  const repeatable = method !== 'post' || HARMLESS.has(path) || (keyed && headers['Idempotency-Key'] !== undefined)
  return { method: method.toUpperCase(), target: target(path, request.path ?? {}, request.query ?? {}), headers, body, signal, timeout, retries, repeatable }
}

/** Returns the bytes of a file in Node. */
async function readFile(path: string): Promise<Blob> {
  const node = 'node:fs/promises' // a name that no bundler for browsers looks for
  const files = (await import(/* webpackIgnore: true */ /* @vite-ignore */ node)) as { readFile(path: string): Promise<Uint8Array<ArrayBuffer>> }
  return new Blob([await files.readFile(path)])
}

/** Returns a random key. `crypto.randomUUID` is missing from pages that are not served by HTTPS or from this machine. */
function newKey(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), b => b.toString(16).padStart(2, '0')).join('')
}

/** Returns path and query. A name of the path that is missing or empty is a TypeError: it would be another route. */
function target(path: string, names: Record<string, string | number>, query: Record<string, unknown>): string {
  const filled = path.replace(/\{(\w+)\}/g, (_, name: string) => {
    const value = names[name]
    if (value === undefined || value === '') throw new TypeError(`${name} is required in ${path}`)
    // A browser takes "." and ".." out of a path, also encoded ones.
    if (value === '.' || value === '..') throw new TypeError(`${name} cannot be ${value}`)
    return encodeURIComponent(value)
  })
  const values = new URLSearchParams()
  for (const [name, value] of Object.entries(query)) {
    if (value === undefined) continue
    for (const one of Array.isArray(value) ? value : [value]) values.append(name, String(one))
  }
  const text = values.toString()
  return text === '' ? filled : `${filled}?${text}`
}

/** Reads the body of a successful answer: JSON, text, or nothing. */
async function readBody(response: Response, signal: AbortSignal | undefined): Promise<unknown> {
  const type = response.headers.get('Content-Type') ?? ''
  try {
    if (response.status === 204) return undefined
    return /\bjson\b/.test(type) && !/ndjson/.test(type) ? await response.json() : await response.text()
  } catch (cause) {
    throw signal?.aborted ? signal.reason : new ConnectionError('the answer broke off', { cause })
  }
}
