import type { components, paths } from './schema.js'

/** The bodies of the contract by name, such as `Schemas['Note']`. */
export type Schemas = components['schemas']

export type Method = 'get' | 'post' | 'put' | 'patch' | 'delete'

/** The paths of the contract that have this method. */
export type PathOf<M extends Method> = {
  [P in keyof paths]: paths[P] extends { [K in M]: { responses: unknown } } ? P : never
}[keyof paths]

/** The operation of a method and a path. */
export type Operation<M extends Method, P> = P extends keyof paths ? (M extends keyof paths[P] ? NonNullable<paths[P][M]> : never) : never

type Parameters<O, In extends string> = O extends { parameters: infer A } ? (In extends keyof A ? NonNullable<A[In]> : never) : never

/** The query of an operation. */
export type Query<O> = [Parameters<O, 'query'>] extends [never] ? Record<string, never> : Parameters<O, 'query'>

/** The names in the path of an operation. */
export type PathNames<O> = Parameters<O, 'path'>

/** The body of an operation; text or bytes where the contract has lines of JSON or a file, and a form where it has one. */
export type Body<O> = O extends { requestBody?: infer B }
  ? NonNullable<B> extends { content: infer C }
    ? 'application/json' extends keyof C
      ? C['application/json']
      : 'multipart/form-data' extends keyof C ? FormData : string | Uint8Array | Blob
    : never
  : never

type Success<R> = { [S in keyof R]: S extends 200 | 201 | 202 | 204 ? R[S] : never }[keyof R]
type Content<A> = A extends { content: infer C }
  ? 'application/json' extends keyof C ? C['application/json'] : [C] extends [never] ? undefined : string
  : undefined

/** The body of a successful answer of an operation; undefined where it has none. */
export type Answer<O> = O extends { responses: infer R } ? Content<Success<R>> : never

/** What every call takes. */
export interface CallOptions {
  /** Ends the call, its waits and its attempts. */
  signal?: AbortSignal
  /** Milliseconds that one attempt may take; default that of the client. 0: no limit. */
  timeout?: number
  /** Further attempts after a failed one; default that of the client. */
  retries?: number
}

/** What a call of an operation takes: its path names, its query, its body, and headers. */
export type Request<O> = CallOptions & {
  query?: Query<O>
  /** The `ETag` that the thing must still have; another is 412. */
  ifMatch?: string
  /** Makes a POST safe to repeat. A client that retries makes one itself where the operation takes one. */
  idempotencyKey?: string
  headers?: Record<string, string>
} & ([PathNames<O>] extends [never] ? { path?: undefined } : { path: PathNames<O> }) &
  ([Body<O>] extends [never] ? { body?: undefined } : { body?: Body<O> })

/** An answer with what its headers say. */
export interface Full<T> {
  body: T
  status: number
  headers: Headers
  /** The version of what was read or written, for `ifMatch`. */
  etag: string | undefined
  /** The revision that was read or written. */
  revision: number | undefined
}
