import type { Schemas } from '@slipbox/client'

/** Characters that are not seen but change what is: control characters, and marks that turn the direction of text. */
const unseen = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]/g

/** Returns a text with unseen characters written out, such as ⟨U+202E⟩, so that a text cannot pose as another. */
export function reveal(text: string): string {
  return text.replace(unseen, c => `⟨U+${c.charCodeAt(0).toString(16).toUpperCase().padStart(4, '0')}⟩`)
}

/** Writes a text as a string of JSON or Python, with unseen characters as their numbers. */
export function quoted(text: string): string {
  return JSON.stringify(text).replace(unseen, c => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`)
}

/** Returns an error without the advice that it has for programs, such as "; GET /v1/collections lists them". */
export function plainly(message: string): string {
  const kept = message.split(/(?<=[;.]) /).filter(part => !/\b(GET|POST|PUT|PATCH|DELETE) \/|\/v1\//.test(part)).join(' ')
  return kept === '' ? message : kept.replace(/;$/, '')
}

/** Returns the beginning of a text, without cutting a character. */
export function shorten(text: string, length: number): string {
  if (text.length <= length) return text
  const cut = text.charCodeAt(length - 1) >= 0xd800 && text.charCodeAt(length - 1) < 0xdc00 ? length - 1 : length
  return `${text.slice(0, cut)}…`
}

const numbers = new Intl.NumberFormat('en')
export const count = (n: number): string => numbers.format(n)

/** Returns "1 note" or "2 notes". */
export function plural(n: number, word: string, many = `${word}s`): string {
  return `${count(n)} ${n === 1 ? word : many}`
}

/** What is said of an erasure. */
export type Erased = Pick<Schemas['ErasureReport'], 'erased' | 'versions' | 'waiting' | 'kept' | 'traces'>

/** Says what erasures took, and where something is left. */
export function erasedText(reports: readonly Erased[]): string {
  const notes = new Set(reports.flatMap(r => r.erased)).size
  const versions = reports.reduce((n, r) => n + r.versions, 0)
  const kept = new Map(reports.flatMap(r => r.kept).map(k => [k.id, reveal(k.name)]))
  const traces = reports.at(-1)?.traces
  return [
    `Erased ${plural(notes, 'note')} with ${plural(versions, 'version')}.`,
    reports.some(r => r.waiting.length > 0) && 'Summaries are made again first.',
    traces === 'pending' && 'Gaps of the database\'s file may keep pieces until the gateway vacuums it, in some minutes.',
    traces === 'vacuum_needed' && 'Gaps of the database\'s file may keep pieces until an operator runs gateway vacuum.',
    kept.size > 0 && `Something is left in ${[...kept.values()].join(', ')}: erase it there.`,
  ].filter(Boolean).join(' ')
}

const dayParts: Intl.DateTimeFormatOptions = { year: 'numeric', month: 'short', day: 'numeric' }

/** Returns a time in the reader's zone, which it names, to the minute. It is one word for what breaks lines. */
export function formatTime(time: string | undefined): string {
  return format(time, { ...dayParts, hour: '2-digit', minute: '2-digit', timeZoneName: 'short' })
}

/** Returns the day of a time in the reader's zone. */
export function formatDay(time: string | undefined): string {
  return format(time, dayParts)
}

/** Returns a time as a field of date and time has it, in the zone of the reader. */
export function localMinute(at: Date): string {
  const two = (n: number) => String(n).padStart(2, '0')
  return `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())}T${two(at.getHours())}:${two(at.getMinutes())}`
}

/** Returns how long ago a time was, in the words of the reader's language; a day for what is older than a week. */
export function formatAgo(time: string | undefined, now: number): string {
  const at = time === undefined ? NaN : new Date(time).getTime()
  if (Number.isNaN(at)) return '—'
  const minutes = Math.round((now - at) / 60_000)
  if (Math.abs(minutes) >= 7 * 24 * 60) return formatDay(time)
  const words = new Intl.RelativeTimeFormat(undefined, { numeric: 'auto' })
  if (minutes < 60) return words.format(-minutes, 'minute')
  return minutes < 48 * 60 ? words.format(-Math.round(minutes / 60), 'hour') : words.format(-Math.round(minutes / 1440), 'day')
}

/** Returns a length of time in the unit that people read. */
export function formatSpan(ms: number): string {
  if (!(ms >= 0)) return '—'
  if (ms < 1000) return `${Math.round(ms)} ms`
  if (ms < 60_000) return `${(ms / 1000).toFixed(ms < 10_000 ? 1 : 0)} s`
  const minutes = Math.round(ms / 60_000)
  return minutes < 120 ? `${minutes} min` : minutes < 2880 ? `${Math.round(minutes / 60)} h` : `${Math.round(minutes / 1440)} days`
}

function format(time: string | undefined, parts: Intl.DateTimeFormatOptions): string {
  const date = time === undefined ? undefined : new Date(time)
  if (!date || Number.isNaN(date.getTime())) return '—'
  return new Intl.DateTimeFormat(undefined, parts).format(date).replaceAll(' ', '\u00a0')
}

/** Signal of a ranking as the API explains it. */
export interface Signal {
  signal: string
  raw: number
  normalized: number
  weight: number
}

/** A signal with what it adds to the score, and the share of the largest one in percent. */
export interface Bar {
  name: string
  adds: number
  share: number
}

/** Returns the signals that count, the strongest first; at most `most` of them. */
export function barsOf(explain: unknown, most = 8): Bar[] {
  const list = (explain as { signals?: unknown } | undefined)?.signals
  if (!Array.isArray(list)) return []
  return barsFrom((list as Signal[]).map(s => ({ name: s.signal, adds: s.normalized * s.weight })), most)
}

/** Orders what adds to a score, the strongest first, and leaves out what adds nothing. */
export function barsFrom(parts: readonly { name: string; adds: number }[], most: number): Bar[] {
  const bars = parts.filter(b => Number.isFinite(b.adds) && b.adds !== 0).sort((a, b) => Math.abs(b.adds) - Math.abs(a.adds))
  const largest = Math.abs(bars[0]?.adds ?? 0)
  return bars.slice(0, most).map(b => ({ ...b, share: Math.round((Math.abs(b.adds) / largest) * 100) }))
}

/** Splits a pasted conversation into messages: a line "Name: text" begins one; the first name is the user's. */
export function parseConversation(text: string): { role: 'user' | 'assistant'; name: string; content: string }[] {
  const messages: { role: 'user' | 'assistant'; name: string; content: string }[] = []
  let user: string | undefined
  for (const line of text.split(/\r?\n/)) {
    const begins = /^\s*(\p{L}[\p{L}\p{M}\p{N} .'’_-]{0,39})(?::\s+|：\s*)(\S.*)$/u.exec(line)
    const last = messages[messages.length - 1]
    if (begins) {
      const name = begins[1]!.trim()
      const assistant = /^(assistant|ai|bot|agent|model)$/i.test(name)
      if (!assistant) user ??= name
      messages.push({ role: assistant || (user !== undefined && name !== user) ? 'assistant' : 'user', name, content: begins[2]! })
    } else if (line.trim() !== '') {
      if (last) last.content += `\n${line.trim()}`
      else messages.push({ role: 'user', name: 'user', content: line.trim() })
    }
  }
  return messages
}
