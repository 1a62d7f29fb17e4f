import type { Schemas, Slipbox } from '@slipbox/client'

/** Most collections that are read to find the family of one: those that were last written. Of a tenant with more, others are not shown. */
const most = 200

/** Reads a collection's ancestors and what was last written, where its family is; `more` says that there is more than that. */
export async function nearby(api: Slipbox, c: Schemas['Collection'], signal: AbortSignal): Promise<{ all: Schemas['Collection'][]; more: boolean }> {
  const [page, self] = await Promise.all([api.call('get', '/v1/collections', { signal, query: { order: 'updated', limit: most } }), api.collection(c.id).get({ signal })])
  const known = new Set(page.items.map(o => o.id))
  // An ancestor of another agent is not this key's to read.
  const above = await Promise.all((self.lineage ?? []).filter(l => !known.has(l.collection)).map(l => api.collection(l.collection).get({ signal, retries: 0 }).catch(() => undefined)))
  return { all: [...page.items, ...above.filter(o => o !== undefined)], more: page.next_cursor !== undefined }
}
