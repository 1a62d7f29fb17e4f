// Loaded with the graph: which notes belong together, and where they lie.
import { UndirectedGraph } from 'graphology'
import louvain from 'graphology-communities-louvain'
import forceAtlas2 from 'graphology-layout-forceatlas2'
import defaults from 'graphology-layout-forceatlas2/defaults.js'
import helpers from 'graphology-layout-forceatlas2/helpers.js'
import iterate from 'graphology-layout-forceatlas2/iterate.js'

/** A note as a layout knows it. */
export interface Point {
  id: string
  x?: number
  y?: number
}

/** Two notes that belong together. */
export interface Line {
  source: Point
  target: Point
}

/** The time that a layout may take of a core, in milliseconds, and the most steps that it takes. */
const time = 1500
const mostSteps = 300

/** The same graph is laid out and parted in the same way each time. */
function dice(): () => number {
  let seed = 1
  return () => {
    seed = (seed * 1103515245 + 12345) % 2147483648
    return seed / 2147483648
  }
}

function graphOf(points: readonly Point[], lines: readonly Line[]): UndirectedGraph {
  const graph = new UndirectedGraph()
  for (const p of points) graph.addNode(p.id)
  for (const l of lines) if (graph.hasNode(l.source.id) && graph.hasNode(l.target.id)) graph.mergeEdge(l.source.id, l.target.id)
  return graph
}

/** Returns the community of each note, as a number. */
export function communitiesOf(points: readonly Point[], lines: readonly Line[]): Map<string, number> {
  const graph = graphOf(points, lines)
  if (graph.size === 0) return new Map(points.map((p, i) => [p.id, i]))
  return new Map(Object.entries(louvain(graph, { rng: dice() })))
}

/** Lays out notes in small steps, between which a page can draw and answer. Places that notes have already are begun with. */
export class Layout {
  readonly #graph: UndirectedGraph
  readonly #points: Map<string, Point>
  readonly #settings: object
  readonly #arrays: { nodes: Float32Array; edges: Float32Array }
  #left: number
  #spent = 0

  constructor(points: readonly Point[], lines: readonly Line[], communities: ReadonlyMap<string, number>) {
    this.#graph = graphOf(points, lines)
    this.#points = new Map(points.map(p => [p.id, p]))
    this.#settings = { ...defaults, ...forceAtlas2.inferSettings(this.#graph), barnesHutTheta: 1.2 }
    const placed = points.filter(p => p.x !== undefined).length
    if (placed < points.length) begin(this.#graph, communities, this.#points)
    this.#graph.updateEachNodeAttributes((id, a) => ({ ...a, x: this.#points.get(id)!.x ?? a.x ?? 0, y: this.#points.get(id)!.y ?? a.y ?? 0 }))
    this.#arrays = helpers.graphToByteArrays(this.#graph, () => 1)
    this.#left = points.length < 2 || placed === points.length ? 0 : mostSteps
    this.#write()
  }

  /** Works for so many milliseconds, and reports whether the layout is at rest. */
  step(budget: number): boolean {
    const began = performance.now()
    for (let now = began; this.#left > 0 && now - began < budget && this.#spent + now - began < time; now = performance.now()) {
      iterate(this.#settings, this.#arrays.nodes, this.#arrays.edges)
      this.#left--
    }
    this.#spent += performance.now() - began
    if (this.#spent >= time) this.#left = 0
    helpers.assignLayoutChanges(this.#graph, this.#arrays.nodes, null)
    this.#write()
    return this.#left <= 0
  }

  #write(): void {
    this.#graph.forEachNode((id, { x, y }) => Object.assign(this.#points.get(id)!, { x, y }))
  }
}

/** The angle at which seeds lie in a sunflower: a disc of them has no gaps. */
const golden = Math.PI * (3 - Math.sqrt(5))

/** A first place for each note: communities are laid out as points, and each is a disc around its own, with its most linked note in the middle. */
function begin(graph: UndirectedGraph, communities: ReadonlyMap<string, number>, points: ReadonlyMap<string, Point>): void {
  const members = new Map<number, string[]>()
  for (const id of graph.nodes()) {
    const c = communities.get(id) ?? -1
    members.set(c, [...(members.get(c) ?? []), id])
  }
  const whole = new UndirectedGraph()
  const order = [...members.keys()].sort((a, b) => members.get(b)!.length - members.get(a)!.length || a - b)
  order.forEach((c, i) => whole.addNode(c, { x: Math.sqrt(i) * Math.cos(i * golden), y: Math.sqrt(i) * Math.sin(i * golden), size: Math.sqrt(members.get(c)!.length) }))
  graph.forEachEdge((_, __, a, b) => {
    const [from, to] = [communities.get(a) ?? -1, communities.get(b) ?? -1]
    if (from !== to) whole.mergeEdge(from, to)
  })
  const arrays = helpers.graphToByteArrays(whole, () => 1)
  const settings = { ...defaults, ...forceAtlas2.inferSettings(whole), adjustSizes: true, barnesHutOptimize: whole.order > 500, barnesHutTheta: 1.2 }
  const until = performance.now() + time / 5
  for (let i = 0; i < 100 && performance.now() < until; i++) iterate(settings, arrays.nodes, arrays.edges)
  helpers.assignLayoutChanges(whole, arrays.nodes, null)
  const spread = 8
  for (const [c, ids] of members) {
    const at = whole.getNodeAttributes(c) as { x: number; y: number }
    ids.sort((a, b) => graph.degree(b) - graph.degree(a))
    ids.forEach((id, i) => {
      const p = points.get(id)!
      const radius = spread * 0.4 * Math.sqrt(i)
      graph.mergeNodeAttributes(id, { x: p.x ?? at.x * spread + radius * Math.cos(i * golden), y: p.y ?? at.y * spread + radius * Math.sin(i * golden) })
    })
  }
}

/** Places notes without links in rows below the others. */
export function placeAlone(alone: readonly Point[], others: readonly Point[]): void {
  let [left, right, bottom] = [Infinity, -Infinity, Infinity]
  for (const { x = 0, y = 0 } of others) {
    left = Math.min(left, x)
    right = Math.max(right, x)
    bottom = Math.min(bottom, y)
  }
  if (left > right) [left, right, bottom] = [0, Math.sqrt(alone.length) * 10, 0]
  const columns = Math.max(8, Math.ceil(Math.sqrt(alone.length * 4)))
  const step = Math.max(right - left, 1) / columns
  alone.forEach((p, i) => Object.assign(p, { x: left + (i % columns) * step, y: bottom - step * (3 + Math.floor(i / columns)) }))
}
