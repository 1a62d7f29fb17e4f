import { ConnectionError, readError, SlipboxError } from './errors.js'

/** How a client reaches a gateway. */
export interface Settings {
  /**
   * Address of the gateway, such as `http://127.0.0.1:8080`; it may have a path. Default: SLIPBOX_URL, in a browser the page's own, or
   * else `http://127.0.0.1:8080`.
   */
  url?: string
  /**
   * API key or token. A function is asked before each attempt, and again after a 401: a request whose key was refused is sent once
   * more if there is another one by then. Default: SLIPBOX_KEY.
   */
  key?: string | (() => string | Promise<string>)
  /**
   * Milliseconds that one attempt may take until its answer begins; default 60,000. A body has a second more for each 100 kB, and
   * streams have no limit once they began.
   */
  timeout?: number
  /** Further attempts after a failed one; default 3. */
  retries?: number
  /** Headers of every request. */
  headers?: Record<string, string>
  /** Replaces the global fetch. */
  fetch?: typeof fetch
  /** Waits; for tests. Default a timer. */
  sleep?: (ms: number, signal?: AbortSignal) => Promise<void>
  /** A number in [0, 1); for tests. Default Math.random. */
  random?: () => number
}

/** A request to be sent, perhaps several times. */
export interface Outgoing {
  method: string
  /** Path and query, beginning with a slash. */
  target: string
  headers: Record<string, string>
  body?: string | Uint8Array | Blob | FormData | undefined
  signal?: AbortSignal | undefined
  timeout?: number | undefined
  retries?: number | undefined
  /** Whether the request may be sent again when it is not known if the gateway acted on it. */
  repeatable: boolean
}

/** An answer whose body is to be read. The caller's signal ends it until `done` is called. */
export interface Opened {
  response: Response
  done: () => void
}

/** Statuses that do not say whether something was done. */
const unclear = new Set([502, 504])

/** First wait of our own, in milliseconds. */
const firstPause = 250

/** Longest wait of our own between two attempts, and longest that a gateway may ask for, in milliseconds. */
const longestPause = 8_000
const longestRetryAfter = 60_000

/** The slowest upload that is waited for, in bytes a millisecond: fetch does not tell when a body was sent. */
const slowestUpload = 100

/** Sends requests, and sends them again where that is safe and of use. */
export class Transport {
  readonly #settings: Settings
  readonly #base: string

  constructor(settings: Settings) {
    this.#settings = { ...settings, key: settings.key ?? environment('SLIPBOX_KEY') ?? '' }
    const own = typeof location === 'undefined' ? 'http://127.0.0.1:8080' : location.origin
    const base = (settings.url ?? environment('SLIPBOX_URL') ?? own).trim()
    this.#base = base.replace(/\/+$/, '')
  }

  /** Returns the successful answer, or throws SlipboxError, ConnectionError, or the signal's reason. */
  async send(out: Outgoing): Promise<Opened> {
    const retries = out.retries ?? this.#settings.retries ?? 3
    let key = await this.#key()
    for (let failed = 0, renewed = false; ; failed++) {
      let error: SlipboxError | ConnectionError
      try {
        const opened = await this.#attempt(out, key)
        if (opened.response.ok) return opened
        error = await readError(opened.response).finally(opened.done)
      } catch (cause) {
        if (out.signal?.aborted) throw out.signal.reason
        if (!(cause instanceof ConnectionError)) throw cause
        error = cause
      }
      if (error instanceof SlipboxError && error.status === 401 && !renewed) {
        const refused = key
        key = await this.#key()
        if (key === refused) throw error
        renewed = true
        failed--
        continue
      }
      const wait = failed < retries ? this.#pause(error, failed, out.repeatable) : undefined
      if (wait === undefined) throw error
      await (this.#settings.sleep ?? sleep)(wait, out.signal)
      key = await this.#key()
    }
  }

  async #key(): Promise<string | undefined> {
    const { key } = this.#settings
    return (typeof key === 'function' ? await key() : key)?.trim()
  }

  /** Waits before a stream is opened again that ended. */
  rest(signal?: AbortSignal): Promise<void> {
    return (this.#settings.sleep ?? sleep)(firstPause, signal)
  }

  /** Returns how long to wait before the next attempt, or undefined when there must be none. */
  #pause(error: SlipboxError | ConnectionError, failed: number, repeatable: boolean): number | undefined {
    // A quarter of a second, doubled each time, and of that a random part, so that clients that failed
    // together do not come back together.
    const random = this.#settings.random ?? Math.random
    const own = Math.min(longestPause, firstPause * 2 ** failed) * (0.5 + random() / 2)
    if (error instanceof ConnectionError) return repeatable ? own : undefined
    // The gateway did nothing. A 503 without Retry-After is final: a part that is not configured, for example.
    const refused = error.status === 429 || (error.status === 503 && error.retryAfter !== undefined)
    if (!refused && !(unclear.has(error.status) && repeatable)) return undefined
    if (error.retryAfter === undefined) return own
    // A longer wait is the caller's decision; the error has it.
    return error.retryAfter > longestRetryAfter ? undefined : error.retryAfter + own * 0.1
  }

  async #attempt(out: Outgoing, key: string | undefined): Promise<Opened> {
    const { headers, timeout } = this.#settings
    const sent = headersOf({ ...headers, ...out.headers, ...(key && { Authorization: `Bearer ${key}` }) })
    // Only the beginning of the answer is timed: a stream goes on for long.
    let limit = out.timeout ?? timeout ?? 60_000
    if (limit > 0) limit += Math.round(sizeOf(out.body) / slowestUpload)
    const control = new AbortController()
    const leave = () => control.abort(out.signal?.reason)
    if (out.signal?.aborted) throw out.signal.reason
    out.signal?.addEventListener('abort', leave, { once: true })
    const done = () => out.signal?.removeEventListener('abort', leave)
    const timer = limit > 0 ? setTimeout(() => control.abort(new ConnectionError(`no answer within ${limit} ms`)), limit) : undefined
    try {
      const send = this.#settings.fetch ?? globalThis.fetch
      const init: RequestInit = { method: out.method, headers: sent, signal: control.signal, redirect: 'error' }
      if (out.body !== undefined) init.body = out.body as BodyInit
      return { response: await send(this.#base + out.target, init), done }
    } catch (cause) {
      done()
      if (out.signal?.aborted) throw out.signal.reason
      if (control.signal.aborted) throw control.signal.reason
      throw new ConnectionError(`${this.#base} cannot be reached: ${reason(cause)}`, { cause })
    } finally {
      clearTimeout(timer)
    }
  }
}

/** Returns why fetch failed, which it puts into the cause of its error. */
function reason(error: unknown): string {
  const { message, cause } = error as { message?: string; cause?: { message?: string; code?: string } }
  return cause?.message || cause?.code || message || String(error)
}

/** Returns the bytes of a body, about. */
function sizeOf(body: unknown): number {
  if (body instanceof FormData) return [...body.values()].reduce((sum, v) => sum + sizeOf(v), 0)
  const { size, length } = (body ?? {}) as { size?: number; length?: number }
  return size ?? length ?? 0
}

/** Returns headers as fetch takes them. A value that no request can carry is a TypeError, which does not show it. */
function headersOf(values: Record<string, string>): Headers {
  const headers = new Headers()
  for (const [name, value] of Object.entries(values)) {
    try {
      headers.set(name, value)
    } catch {
      throw new TypeError(`the header ${name} has a character that cannot be sent`)
    }
  }
  return headers
}

/** Returns a variable of the environment; undefined where there is none, as in a browser. */
function environment(name: string): string | undefined {
  const program = (globalThis as { process?: { env?: Record<string, string | undefined> } }).process
  return program?.env?.[name] || undefined
}

/** Waits, and throws the signal's reason when that comes first. */
function sleep(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) {
      reject(signal.reason)
      return
    }
    const end = () => {
      clearTimeout(timer)
      reject(signal?.reason)
    }
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', end)
      resolve()
    }, ms)
    signal?.addEventListener('abort', end, { once: true })
  })
}
