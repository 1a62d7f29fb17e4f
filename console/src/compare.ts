/** What of a note counts when two collections are compared. */
export interface Comparable {
  id: string
  content: string
  context: string
  keywords: readonly string[]
  tags: readonly string[]
  category?: string
  links: readonly { target: string; relation: string }[]
}

/** A note of which two collections have different versions; one that only one has lacks the other side. */
export interface Differing<T> {
  base?: T
  fork?: T
}

/** Returns the notes in which a fork differs from its base: first those that both have, then those of one alone. */
export function compare<T extends Comparable>(base: readonly T[], fork: readonly T[]): Differing<T>[] {
  const own = new Map(fork.map(n => [n.id, n]))
  const changed: Differing<T>[] = []
  const gone: Differing<T>[] = []
  for (const n of base) {
    const other = own.get(n.id)
    own.delete(n.id)
    if (!other) gone.push({ base: n })
    else if (essence(n) !== essence(other)) changed.push({ base: n, fork: other })
  }
  return [...changed, ...[...own.values()].map(n => ({ fork: n })), ...gone]
}

function essence(n: Comparable): string {
  const links = n.links.map(l => `${l.target} ${l.relation}`).sort()
  return JSON.stringify([n.content, n.context, n.keywords, n.tags, n.category, links])
}
