/** A stretch of text, or a mark in it that refers to a citation by its number, from 1. */
export interface Marked {
  text: string
  mark?: number
}

/**
 * Splits a text at marks such as [2] or [1, 3]. A number above `most` refers to nothing, and a mark after a
 * backslash is part of what a note says: both stay text.
 */
export function splitMarks(text: string, most: number): Marked[] {
  const out: Marked[] = []
  const say = (piece: string) => {
    if (piece === '') return
    const last = out[out.length - 1]
    if (last && last.mark === undefined) last.text += piece
    else out.push({ text: piece })
  }
  let at = 0
  for (const found of text.matchAll(/(?<!\\)\[(\d{1,3})((?:\s*,\s*\d{1,3})*)\]/g)) {
    say(text.slice(at, found.index))
    at = found.index + found[0].length
    const single = found[2] === ''
    for (const part of single ? [found[0]] : found[0].split(/(\d+)/)) {
      const mark = Number(/\d+/.exec(part)?.[0])
      if (mark >= 1 && mark <= most) out.push({ text: part, mark })
      else say(part)
    }
  }
  say(text.slice(at))
  return out
}

/**
 * Returns the messages of a request that has a context: as instructions, or behind what the user asks, where the gateway puts it in a chat.
 */
export function messagesWith(context: string, question: string, as: 'system' | 'user'): string {
  const messages = as === 'system' ? [{ role: 'system', content: context }, { role: 'user', content: question }] : [{ role: 'user', content: `${question}\n\n${context}` }]
  return JSON.stringify(messages, null, 2)
}

/** Returns which citations of a context another one has not, by their places. */
export function beyond(some: readonly { note: string }[], others: readonly { note: string }[]): number[] {
  const known = new Set(others.map(c => c.note))
  return some.flatMap((c, i) => (known.has(c.note) ? [] : [i]))
}

/** A part of a prompt with its tokens. */
export interface Part {
  name: string
  tokens: number
}

/** Where a part lies in the drawing of a budget, in percent of its width. */
export interface Share extends Part {
  from: number
  width: number
}

/** Lays parts side by side. The whole width is the budget, or what the parts have if that is more. */
export function sharesOf(parts: readonly Part[], budget: number): Share[] {
  const used = parts.reduce((sum, p) => sum + p.tokens, 0)
  const whole = Math.max(budget, used, 1)
  let from = 0
  return parts.map(p => {
    const width = (p.tokens / whole) * 100
    const share = { ...p, from, width }
    from += width
    return share
  })
}

/** Most turns of a conversation that are sent again; the API takes 100 messages. */
const mostTurns = 40

/** A question and what was answered so far. */
export interface Spoken {
  question: string
  reply: string
}

/** Returns the messages that ask a question within its conversation. A question without a reply is left out. */
export function dialogueOf(before: readonly Spoken[], question: string): { role: 'user' | 'assistant'; content: string }[] {
  const turns = before.filter(t => t.reply.trim() !== '').slice(-mostTurns)
  return [
    ...turns.flatMap(t => [{ role: 'user' as const, content: t.question }, { role: 'assistant' as const, content: t.reply }]),
    { role: 'user', content: question },
  ]
}
