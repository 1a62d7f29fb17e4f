/** What the tree reads of a collection. */
export interface Leaf {
  id: string
  name: string
  display_name?: string
  external?: Ids
  agent?: string
  parent?: { collection: string; revision: number }
}

/** A collection with its forks below it. */
export interface Node<T> {
  item: T
  depth: number
  children: Node<T>[]
}

/** Orders collections as a tree of forks, by name. A fork whose base is not among them stands at the top. */
export function treeOf<T extends Leaf>(collections: readonly T[]): Node<T>[] {
  const nodes = new Map<string, Node<T>>(collections.map(item => [item.id, { item, depth: 0, children: [] }]))
  const roots: Node<T>[] = []
  for (const node of nodes.values()) {
    const base = node.item.parent && nodes.get(node.item.parent.collection)
    if (base && base !== node) base.children.push(node)
    else roots.push(node)
  }
  const settle = (list: Node<T>[], depth: number): Node<T>[] => {
    list.sort((a, b) => titleIn(a.item, nodes).localeCompare(titleIn(b.item, nodes)) || a.item.id.localeCompare(b.item.id))
    for (const node of list) {
      node.depth = depth
      settle(node.children, depth + 1)
    }
    return list
  }
  return settle(roots, 0)
}

/** What an application calls a collection by. */
export interface Ids {
  user?: string
  agent?: string
  app?: string
  run?: string
}

/** What a collection is called by. */
export interface Called {
  name: string
  external?: Ids
}

/** Returns the ids of an application as one text, the user first; undefined without any. */
export function idsOf(c: { external?: Ids }): string | undefined {
  const { user, agent, app, run } = c.external ?? {}
  const rest = [agent && `agent ${agent}`, app && `app ${app}`, run && `run ${run}`].filter(id => id !== undefined && id !== '')
  return user || rest.length > 0 ? [...(user ? [user] : []), ...rest].join(' · ') : undefined
}

/**
 * Returns how a collection is called beside others: by its title, else by the ids that an application gave it, else by its name. A fork
 * begins with the title of its base: until it has its own, its name tells it apart.
 */
export function titleOf(c: { name: string; display_name?: string; external?: Ids }, base?: { display_name?: string }): string {
  return c.display_name === undefined || c.display_name === base?.display_name ? idsOf(c) ?? c.name : c.display_name
}

/** Returns how the name of what is made of a collection may begin: with the ids of an application, as far as a name can have them. */
export function nameFor(c: Called): string {
  const plain = (idsOf(c) ?? '').normalize('NFKD').toLowerCase().replace(/\p{M}+/gu, '').replace(/[^a-z0-9_.]+/g, '-').replace(/^[^a-z0-9]+|-+$/g, '').slice(0, 100)
  return plain || c.name
}

/** Returns the name of the model by which a client of OpenAI's gets the memory of a collection. */
export function modelOf(c: Called): string {
  const { user, agent, app, run } = c.external ?? {}
  const ids = Object.entries({ user, agent, app, run }).filter(([, id]) => id !== undefined && id !== '')
  return `slipbox@${ids.map(([kind, id]) => `${kind}=${encodeURIComponent(id!).replaceAll('%40', '@')}`).join('&') || c.name}`
}

function titleIn<T extends Leaf>(c: T, nodes: ReadonlyMap<string, Node<T>>): string {
  return titleOf(c, c.parent && nodes.get(c.parent.collection)?.item)
}

/** Returns how many changes a fork has made since it parted from its base, and how many its base has made; undefined while that is not known. */
export function partedBy(c: { head_revision: number; parent?: { revision: number } }, base?: { head_revision: number }): { ahead: number; behind: number } | undefined {
  return c.parent && base && { ahead: c.head_revision - c.parent.revision, behind: base.head_revision - c.parent.revision }
}

/** Lists what has one origin with a collection, from top to bottom. */
export function familyOf<T extends Leaf>(collections: readonly T[], id: string): T[] {
  const all = flatten(treeOf(collections))
  const at = all.findIndex(n => n.item.id === id)
  if (at < 0) return []
  const begin = all.findLastIndex((n, i) => i <= at && n.depth === 0)
  const end = all.findIndex((n, i) => i > at && n.depth === 0)
  return all.slice(begin, end < 0 ? all.length : end).map(n => n.item)
}

/** Lists a tree from top to bottom. */
export function flatten<T>(nodes: readonly Node<T>[]): Node<T>[] {
  return nodes.flatMap(node => [node, ...flatten(node.children)])
}
