import { barsFrom, barsOf, type Bar } from './text.ts'

/** What each signal of a ranking says of a hit. Several may say the same. */
const sayings: Record<string, string> = {
  vector: 'means the same', late: 'means the same', late_lead: 'means the same', late_around: 'stands beside what means the same',
  lexical: 'has words of the question', covered: 'has words of the question', verbatim: 'says it in the same words', window: 'stands beside words of the question', session: 'is of a conversation about it',
  names: 'names who or what is asked for', speaker: 'is said by who is asked for', attribute: 'is about what is asked for', subject: 'is about who is asked for', time: 'is of the time that is asked for', date: 'is of the time that is asked for',
  recency: 'is recent', importance: 'is important', heat: 'is used often', use: 'is used often', reply: 'answers what was said before', opening: 'begins a conversation about it', links: 'is linked to other hits', link: 'is linked to other hits', graph: 'is linked to other hits',
  question: 'is itself a question', length: 'by its length', confidence: 'is held for sure',
}

/** What a signal says, in words; one that has none is called by its name. */
export const sayingOf = (signal: string): string => sayings[signal] ?? signal.replaceAll('_', ' ')

/** What counts for a hit in words, each once with all that it adds, the strongest first; at most `most` of them. */
export function sayingsOf(explain: unknown, most = 8): Bar[] {
  const sums = new Map<string, number>()
  for (const b of barsOf(explain, 64)) sums.set(sayingOf(b.name), (sums.get(sayingOf(b.name)) ?? 0) + b.adds)
  return barsFrom([...sums].map(([name, adds]) => ({ name, adds })), most)
}

/** Why a note was found, in a few words: what counts most for it first. */
export function reasonsOf(explain: unknown, most = 3): string[] {
  const ranked = sayingsOf(explain, 64).filter(b => b.adds > 0)
  const least = (ranked[0]?.adds ?? 0) / 20
  return ranked.filter(b => b.adds >= least).slice(0, most).map(b => b.name)
}
