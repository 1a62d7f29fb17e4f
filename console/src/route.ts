/** Where in the console one is. The address has all of it, after the #, so that no server sees it. */
export interface Route {
  /** The view of the gateway, for those who run it; then there is no collection. */
  gateway?: true
  /** The list of users. */
  users?: true
  /** Id of the collection; absent in the list of collections. */
  collection?: string
  /** What is shown of it. */
  tab: Tab
  /** Id of the note that is shown. */
  note?: string
  /** What else the address says, such as the query of a search. */
  query: Record<string, string>
}

export const tabs = ['notes', 'graph', 'search', 'chat', 'context', 'facts', 'memory', 'reviews', 'jobs', 'usage', 'compare', 'past'] as const
export type Tab = (typeof tabs)[number]

/** Reads the part of an address from its #. An address that says nothing is the list of collections. */
export function parseRoute(hash: string): Route {
  const [path = '', search = ''] = hash.replace(/^#\/?/, '').split(/\?(.*)/s, 2)
  const query = Object.fromEntries(new URLSearchParams(search))
  const [kind, collection, tab, note] = path.split('/').map(unescapePart)
  if (kind === 'gateway') return { gateway: true, tab: 'notes', query }
  if (kind === 'users') return { users: true, tab: 'notes', query }
  if (kind !== 'c' || !collection) return { tab: 'notes', query }
  const known = tabs.find(t => t === tab) ?? 'notes'
  return { collection, tab: known, query, ...(note && known === 'notes' ? { note } : {}) }
}

/** Writes a route as the part of an address from its #. */
export function formatRoute(route: Partial<Route>): string {
  const { collection, tab = 'notes', note, query = {} } = route
  const parts = route.gateway ? ['gateway'] : route.users ? ['users'] : collection ? ['c', collection, tab, ...(note ? [note] : [])] : []
  const search = new URLSearchParams(Object.entries(query).filter(([, value]) => value !== '')).toString()
  return `#/${parts.map(encodeURIComponent).join('/')}${search === '' ? '' : `?${search}`}`
}

/** Returns the key that a link hands over (#key=…), and undefined for every other address. */
export function keyInLink(hash: string): string | undefined {
  const key = new URLSearchParams(hash.replace(/^#/, '')).get('key')
  return hash.startsWith('#key=') && key ? key : undefined
}

function unescapePart(part: string): string {
  try {
    return decodeURIComponent(part)
  } catch {
    return part // an address that was cut off
  }
}
