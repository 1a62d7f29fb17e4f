import type { components } from './schema.js'

/** An RFC 9457 problem document. `code` is stable and meant for programs. */
export type Problem = components['schemas']['Problem']

/** An answer that is not a success. It has the problem document of the gateway. */
export class SlipboxError extends Error {
  /** HTTP status. */
  readonly status: number
  /** Stable code, such as `not_found`; `unknown` if the answer was no problem document. */
  readonly code: string
  /** The document as it came; absent if the answer was none, for example that of a proxy. */
  readonly problem: Problem | undefined
  /** Id of the request in the gateway's logs. */
  readonly requestId: string | undefined
  /** The invalid fields of the request. */
  readonly fields: { field: string; reason: string }[]
  /** How long the gateway asks to wait before the request is sent again, in milliseconds. */
  readonly retryAfter: number | undefined

  constructor(status: number, problem: Problem | undefined, retryAfter?: number, requestId?: string) {
    const fields = problem?.errors ?? []
    const told = problem?.detail ?? problem?.title ?? `the gateway answered ${status}`
    const more = fields.map(f => `${f.field}: ${f.reason}`).filter(said => !told.includes(said)) // the first is often the detail
    super(more.length === 0 ? told : `${told} (${more.join('; ')})`)
    this.name = 'SlipboxError'
    this.status = status
    this.code = problem?.code ?? 'unknown'
    this.problem = problem
    this.requestId = problem?.request_id ?? requestId
    this.fields = fields
    this.retryAfter = retryAfter
  }
}

/** The gateway could not be reached, the answer broke off, or an attempt took longer than `timeout`. */
export class ConnectionError extends Error {
  constructor(message: string, options?: { cause?: unknown }) {
    super(message, options)
    this.name = 'ConnectionError'
  }
}

/** Reads the error of an answer whose status is 400 or more. */
export async function readError(response: Response): Promise<SlipboxError> {
  let problem: Problem | undefined
  try {
    const body: unknown = JSON.parse(await response.text())
    if (isProblem(body)) problem = body
    else problem = fromOpenAI(body, response.status)
  } catch {
    // A body that is no JSON is that of something between the client and the gateway.
  }
  return new SlipboxError(response.status, problem, retryAfter(response.headers), response.headers.get('X-Request-Id') ?? undefined)
}

function isProblem(body: unknown): body is Problem {
  return typeof body === 'object' && body !== null && typeof (body as Problem).code === 'string'
}

/** Routes in OpenAI's form answer errors in OpenAI's form: `{"error": {"message", "code"}}`. */
function fromOpenAI(body: unknown, status: number): Problem | undefined {
  const error = (body as { error?: { message?: unknown; code?: unknown } } | null)?.error
  if (typeof error?.message !== 'string') return undefined
  const code = typeof error.code === 'string' ? error.code : 'unknown'
  return { type: 'about:blank', title: error.message, detail: error.message, status, code, request_id: '' }
}

/** Returns the wait of a Retry-After header (seconds or a date) in milliseconds; undefined without one. */
export function retryAfter(headers: Headers, now: number = Date.now()): number | undefined {
  const value = headers.get('Retry-After')
  if (value === null) return undefined
  const seconds = Number(value)
  const wait = Number.isFinite(seconds) ? seconds * 1000 : Date.parse(value) - now
  return Number.isFinite(wait) ? Math.max(0, wait) : undefined
}
