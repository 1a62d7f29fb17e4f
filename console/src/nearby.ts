import type { Schemas, Slipbox } from '@slipbox/client'

type Collection = Schemas['Collection']

/** Most forks that are read; of a larger family, others are not shown. */
const most = 200

/** Most collections whose forks are looked for. */
const mostAsked = 40

/** Reads the forks of a collection, theirs, and so on, nearest first; `more` says that there are more than were read. */
export async function descend(api: Slipbox, id: string, signal: AbortSignal): Promise<{ found: Collection[]; more: boolean }> {
  const found: Collection[] = []
  const next = [id]
  for (let asked = 0; next.length > 0; asked++) {
    if (asked === mostAsked || found.length >= most) return { found, more: true }
    const page = await api.call('get', '/v1/collections', { signal, query: { parent: next.shift()!, limit: most } })
    found.push(...page.items)
    next.push(...page.items.map(c => c.id))
    if (page.next_cursor !== undefined) return { found, more: true }
  }
  return { found, more: false }
}

/** Reads what has one origin with a collection, that collection included. */
export async function familyAround(api: Slipbox, c: Collection, signal: AbortSignal): Promise<Collection[]> {
  const self = await api.collection(c.id).get({ signal })
  // An ancestor of another agent is not this key's to read.
  const above = await Promise.all((self.lineage ?? []).filter(l => l.collection !== c.id).map(l => api.collection(l.collection).get({ signal, retries: 0 }).catch(() => undefined)))
  const all = new Map([self, ...above.filter(o => o !== undefined)].map(o => [o.id, o]))
  const top = [...all.values()].find(o => o.parent === undefined || !all.has(o.parent.collection)) ?? self
  for (const o of (await descend(api, top.id, signal)).found) all.set(o.id, o)
  return [...all.values()]
}
