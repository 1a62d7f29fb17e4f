import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Slipbox, type Settings } from '../src/index.js'

/** A request as it arrived. */
export interface Received {
  method: string
  url: string
  headers: IncomingHttpHeaders
  body: string
}

export type Reply = (response: ServerResponse, request: Received) => void

/** An HTTP server that gives its replies in order, and keeps what it was asked. The last reply is repeated. */
export async function double(...replies: Reply[]) {
  const received: Received[] = []
  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      const got = { method: request.method ?? '', url: request.url ?? '', headers: request.headers, body: Buffer.concat(chunks).toString() }
      received.push(got)
      replies[Math.min(received.length, replies.length) - 1]?.(response, got)
    })
  })
  await new Promise<void>(listening => server.listen(0, '127.0.0.1', listening))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const waits: number[] = []
  /** A client whose waits take no time, and are kept in waits. */
  const client = (settings: Settings = {}) =>
    new Slipbox({
      url, key: 'sb_test', random: () => 0,
      sleep: async ms => {
        waits.push(ms)
      },
      ...settings,
    })
  return {
    url, received, waits, client,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise(closed => server.close(closed))
    },
  }
}

/** Replies with JSON. */
export function json(status: number, body: unknown, headers: Record<string, string> = {}): Reply {
  return response => {
    response.writeHead(status, { 'Content-Type': status < 400 ? 'application/json' : 'application/problem+json', ...headers })
    response.end(JSON.stringify(body))
  }
}

/** Replies with a problem document. */
export function problem(status: number, code: string, headers: Record<string, string> = {}, errors?: { field: string; reason: string }[]): Reply {
  return json(status, { type: 'about:blank', title: code, status, code, request_id: 'req-1', ...(errors && { errors }) }, headers)
}

/** Ends the connection without a reply. */
export const hangUp: Reply = response => {
  response.destroy()
}

/** Replies with an event stream, piece by piece. */
export function stream(...pieces: (string | Uint8Array)[]): Reply {
  return response => {
    response.writeHead(200, { 'Content-Type': 'text/event-stream' })
    for (const piece of pieces) response.write(piece)
    response.end()
  }
}
