import { shorten } from './text.ts'

/** A note of a graph, and where it is drawn; x and y are undefined until it has a place. */
export interface Vertex {
  id: string
  kind: string
  /** The beginning of its text. */
  label: string
  /** How many links it has. */
  degree: number
  /** Its tags and keywords. */
  words: readonly string[]
  /** When it happened. */
  time: string
  /** Who said it; empty: nobody. */
  speaker: string
  x?: number
  y?: number
}

/** A link of a graph. */
export interface Edge {
  source: Vertex
  target: Vertex
  relation: string
}

/** Notes with the links between them. */
export interface Graph {
  vertices: Vertex[]
  edges: Edge[]
  byId: Map<string, Vertex>
  /** Links of a note in both directions. */
  of: Map<string, Edge[]>
}

/** What a graph is made of. */
export interface Raw {
  notes: readonly { id: string; kind: string; content: string; words?: readonly string[]; time?: string; speaker?: string }[]
  links: readonly { source: string; target: string; relation: string }[]
}

/** Most characters of a label. */
const labelLength = 90

/** Makes a graph. Notes keep the places of an earlier one; a new note begins beside one that it is linked to. */
export function graphOf(raw: Raw, earlier?: Graph): Graph {
  const byId = new Map<string, Vertex>()
  for (const n of raw.notes) {
    const old = earlier?.byId.get(n.id)
    const label = shorten(n.content.replace(/\s+/g, ' ').trim(), labelLength)
    byId.set(n.id, { id: n.id, kind: n.kind, label, degree: 0, words: n.words ?? [], time: n.time ?? '', speaker: n.speaker ?? '', ...(old?.x !== undefined && { x: old.x, y: old.y! }) })
  }
  const of = new Map<string, Edge[]>()
  const edges: Edge[] = []
  for (const l of raw.links) {
    const source = byId.get(l.source)
    const target = byId.get(l.target)
    if (!source || !target || source === target) continue
    const edge = { source, target, relation: l.relation }
    edges.push(edge)
    for (const end of [source, target]) {
      end.degree++
      const list = of.get(end.id)
      if (list) list.push(edge)
      else of.set(end.id, [edge])
    }
  }
  for (const v of byId.values()) {
    if (v.x !== undefined) continue
    const near = of.get(v.id)?.map(e => (e.source === v ? e.target : e.source)).find(o => o.x !== undefined)
    if (near) {
      v.x = near.x! + 8
      v.y = near.y! + 8
    }
  }
  return { vertices: [...byId.values()], edges, byId, of }
}

/** Returns the notes at most so many links away from one, with itself. */
export function around(graph: Graph, id: string, depth: number): Set<Vertex> {
  const center = graph.byId.get(id)
  const found = new Set<Vertex>(center ? [center] : [])
  let edge = [...found]
  for (let d = 0; d < depth && edge.length > 0; d++) {
    const next: Vertex[] = []
    for (const v of edge) {
      for (const e of graph.of.get(v.id) ?? []) {
        const other = e.source === v ? e.target : e.source
        if (found.has(other)) continue
        found.add(other)
        next.push(other)
      }
    }
    edge = next
  }
  return found
}

/** Returns the part of a graph with these notes, and the links between them. */
export function part(graph: Graph, keep: ReadonlySet<Vertex>): { vertices: Vertex[]; edges: Edge[] } {
  return { vertices: graph.vertices.filter(v => keep.has(v)), edges: graph.edges.filter(e => keep.has(e.source) && keep.has(e.target)) }
}

/** Returns the notes whose text has all words, those with the most links first. Without words: all. */
export function find(graph: Graph, words: string, most: number): Vertex[] {
  const wanted = words.toLowerCase().split(/\s+/).filter(w => w !== '')
  return graph.vertices
    .filter(v => wanted.every(w => v.label.toLowerCase().includes(w)))
    .sort((a, b) => b.degree - a.degree)
    .slice(0, most)
}

/** Returns the components of a graph, the largest first: notes that are linked with each other, over any number of links. */
export function componentsOf(graph: Graph): Vertex[][] {
  const seen = new Set<Vertex>()
  const out: Vertex[][] = []
  for (const v of graph.vertices) {
    if (seen.has(v) || v.degree === 0) continue
    const all = [...around(graph, v.id, Infinity)]
    for (const o of all) seen.add(o)
    out.push(all)
  }
  return out.sort((a, b) => b.length - a.length)
}

/** A group of notes with one color. */
export interface Group {
  name: string
  members: Vertex[]
}

/** What notes can be colored by. */
export const colorings = { cluster: 'cluster', kind: 'kind', tag: 'tag', time: 'time', speaker: 'speaker' } as const
export type Coloring = keyof typeof colorings

/** Most groups that have a color of their own, and are in the legend. */
export const mostGroups = 8

/** Puts notes into groups, the largest first; what is in none has no color of its own. Clusters lie apart, so that more of them than there are colors can be told. */
export function groupsOf(vertices: readonly Vertex[], by: Coloring, communities: ReadonlyMap<string, number>): Group[] {
  if (by === 'cluster') return clustersOf(vertices, communities)
  if (by === 'time') return spansOf(vertices)
  const wordsIn = countsOf(vertices)
  const best = (v: Vertex) => v.words.reduce<string | undefined>((a, b) => (a !== undefined && wordsIn.get(a)! >= wordsIn.get(b)! ? a : b), undefined)
  const key = { kind: (v: Vertex) => v.kind, speaker: (v: Vertex) => v.speaker || undefined, tag: best }[by]
  const groups = new Map<string, Vertex[]>()
  for (const v of vertices) {
    const name = key(v)
    if (name !== undefined) groups.set(name, [...(groups.get(name) ?? []), v])
  }
  return [...groups].map(([name, members]) => ({ name, members })).sort((a, b) => b.members.length - a.members.length).slice(0, mostGroups)
}

function countsOf(vertices: readonly Vertex[]): Map<string, number> {
  const counts = new Map<string, number>()
  for (const v of vertices) for (const w of new Set(v.words)) counts.set(w, (counts.get(w) ?? 0) + 1)
  return counts
}

/** Communities with names: the word that most of one share and few others have, else what its most linked note says. */
export function clustersOf(vertices: readonly Vertex[], communities: ReadonlyMap<string, number>): Group[] {
  const members = new Map<number, Vertex[]>()
  for (const v of vertices) {
    const c = communities.get(v.id)
    if (c === undefined || v.degree === 0) continue
    const list = members.get(c)
    if (list) list.push(v)
    else members.set(c, [v])
  }
  const all = countsOf(vertices)
  const taken = new Set<string>()
  return [...members.values()].filter(m => m.length > 1).sort((a, b) => b.length - a.length).map(m => {
    const ranked = [...countsOf(m)].filter(([w, n]) => n >= 2 && n * 6 >= m.length && !taken.has(w)).sort(([a, n], [b, o]) => o / Math.sqrt(all.get(b)!) - n / Math.sqrt(all.get(a)!))
    const hub = m.reduce((a, b) => (b.degree > a.degree ? b : a))
    const name = ranked[0]?.[0] ?? shorten(hub.label, 28)
    taken.add(name)
    return { name, members: m }
  })
}

/** Spans of time with as many notes each, the earliest first. */
function spansOf(vertices: readonly Vertex[]): Group[] {
  const dated = vertices.filter(v => v.time !== '').sort((a, b) => a.time.localeCompare(b.time))
  const size = Math.max(1, Math.ceil(dated.length / 5))
  const day = (v: Vertex | undefined) => v?.time.slice(0, 10) ?? ''
  const out: Group[] = []
  for (let i = 0; i < dated.length; i += size) {
    const members = dated.slice(i, i + size)
    const [from, to] = [day(members[0]), day(members[members.length - 1])]
    out.push({ name: from === to ? from : `${from} to ${to}`, members })
  }
  return out
}
