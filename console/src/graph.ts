import { shorten } from './text.ts'

/** A note of a graph, and where it is drawn; x and y are undefined until it has a place. */
export interface Vertex {
  id: string
  kind: string
  /** The beginning of its text. */
  label: string
  /** How many links it has. */
  degree: number
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
  notes: readonly { id: string; kind: string; content: string }[]
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
    byId.set(n.id, { id: n.id, kind: n.kind, label, degree: 0, ...(old?.x !== undefined && { x: old.x, y: old.y! }) })
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
  for (let d = 0; d < depth; d++) {
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

/** How a graph is seen: the point in the middle, and how many pixels one unit has. */
export interface Camera {
  x: number
  y: number
  scale: number
}

/** Returns the camera that shows all of these notes in a window of this size, in pixels. */
export function fit(vertices: readonly Vertex[], width: number, height: number): Camera {
  let [left, right, top, bottom] = [Infinity, -Infinity, Infinity, -Infinity]
  for (const { x, y } of vertices) {
    if (x === undefined || y === undefined) continue
    left = Math.min(left, x)
    right = Math.max(right, x)
    top = Math.min(top, y)
    bottom = Math.max(bottom, y)
  }
  if (left > right) return { x: 0, y: 0, scale: 1 }
  const margin = 60
  const scale = Math.min((width - margin) / Math.max(right - left, 1), (height - margin) / Math.max(bottom - top, 1), 2)
  return { x: (left + right) / 2, y: (top + bottom) / 2, scale: Math.max(scale, 0.02) }
}

/** Returns the note that is nearest to a point, if one is at most `reach` away. Units are those of the notes. */
export function nearest(vertices: readonly Vertex[], x: number, y: number, reach: number): Vertex | undefined {
  let best: Vertex | undefined
  let least = reach * reach
  for (const v of vertices) {
    if (v.x === undefined || v.y === undefined) continue
    const d = (v.x - x) ** 2 + (v.y - y) ** 2
    if (d <= least) {
      least = d
      best = v
    }
  }
  return best
}
