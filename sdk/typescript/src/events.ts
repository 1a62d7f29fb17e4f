import { ConnectionError } from './errors.js'

/** A server-sent event. `data` is decoded where it is JSON, and text elsewhere. */
export interface StreamEvent {
  /** `message` where the stream names none. */
  event: string
  data: unknown
  id: string | undefined
}

/** Yields the events of an answer as they arrive. Leaving the loop ends the stream; the signal's reason is thrown. */
export async function* events(response: Response, signal?: AbortSignal): AsyncGenerator<StreamEvent, void, undefined> {
  if (!response.body) return
  const reader = response.body.getReader()
  const decoder = new TextDecoder()
  let rest = ''
  let lines: string[] = []
  let ended = false
  try {
    for (;;) {
      let chunk: ReadableStreamReadResult<Uint8Array>
      try {
        chunk = await reader.read()
      } catch (cause) {
        ended = true
        throw signal?.aborted ? signal.reason : new ConnectionError('the stream broke off', { cause })
      }
      // A last carriage return may be half of a line's end.
      rest += chunk.done ? decoder.decode() : decoder.decode(chunk.value, { stream: true })
      const parts = rest.split(/\r\n|\n|\r(?!$)/)
      rest = parts.pop() ?? ''
      for (const line of parts) {
        if (line !== '') {
          lines.push(line)
          continue
        }
        const event = parse(lines)
        lines = []
        if (event) yield event
      }
      if (chunk.done) {
        ended = true
        return // an event without its empty line is not whole
      }
    }
  } finally {
    if (!ended) await reader.cancel().catch(() => undefined)
  }
}

/** Returns the event of these lines; undefined for comments alone, which keep a connection open. */
function parse(lines: string[]): StreamEvent | undefined {
  let event = 'message'
  let id: string | undefined
  const data: string[] = []
  for (const line of lines) {
    const colon = line.indexOf(':')
    const field = colon < 0 ? line : line.slice(0, colon)
    const value = colon < 0 ? '' : line.slice(colon + 1).replace(/^ /, '')
    if (field === 'event') event = value
    else if (field === 'data') data.push(value)
    else if (field === 'id') id = value
  }
  if (data.length === 0) return undefined
  const text = data.join('\n')
  try {
    return { event, data: JSON.parse(text), id }
  } catch {
    return { event, data: text, id }
  }
}
