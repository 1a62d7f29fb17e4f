// Loaded with the graph: draws it.
import { UndirectedGraph } from 'graphology'
import Sigma from 'sigma'
import type { Edge, Vertex } from './graph.ts'
import { communitiesOf, Layout, placeAlone } from './layout.ts'

export { communitiesOf }

/** What the stage tells the view. */
interface Told {
  /** A note was chosen; undefined: none. */
  pick: (id: string | undefined) => void
  /** The chosen note shall be opened. */
  open: () => void
}

/** What is drawn: notes that have links or none, which color each has, and the names of groups by the note in the middle of each. */
export interface Scene {
  vertices: readonly Vertex[]
  edges: readonly Edge[]
  communities: ReadonlyMap<string, number>
  /** A number of a color; undefined: that of what belongs to no group. */
  hue: (v: Vertex) => number | undefined
  names: readonly { name: string; members: readonly Vertex[] }[]
  /** The notes that are in sight at first. */
  begin: readonly Vertex[]
}

/** Typed colors of the page, by the number of a color. */
const hues = ['--kind-note', '--kind-fact', '--kind-entity', '--kind-summary', '--kind-session', '--kind-profile', '--kind-knowledge', '--kind-block']

/** Milliseconds of a frame that the layout takes, so that the page answers meanwhile. */
const slice = 20

/** The time between two drawings of a large graph while it is laid out, in milliseconds: to draw it takes longer than a step. */
const pause = 200

/** How far an arrow key moves, of what is in sight, and how long a movement takes, in milliseconds. */
const stride = 0.12
const glide = 200

/** Most notes of a group whose name is above them: in a larger one it is in the middle, as on a map. */
const mostBelow = 40

/** Most letters of the name of a note. */
const mostLetters = 34

interface Box { x: number; y: number; width: number; height: number }

const over = (a: Box, b: Box): boolean => a.x < b.x + b.width && b.x < a.x + a.width && a.y < b.y + b.height && b.y < a.y + a.height

/** A canvas with a graph. Frames end when nothing moves. */
export class Stage {
  readonly #host: HTMLElement
  readonly #told: Told
  readonly #sigma: Sigma
  #graph = new UndirectedGraph()
  readonly #ends = new AbortController()
  readonly #theme = new MutationObserver(() => this.#paint())
  readonly #still = matchMedia('(prefers-reduced-motion: reduce)')
  #scene: Scene | undefined
  #chosen: string | undefined
  #near = new Set<string>()
  #colors: Record<string, string> = {}
  readonly #font: string
  /** What is written already in this frame: names of notes, and of groups. */
  #taken: Box[] = []
  #named: (Box & { name: string })[] | undefined
  #frame = 0

  constructor(host: HTMLElement, told: Told) {
    this.#host = host
    this.#told = told
    this.#font = getComputedStyle(host).fontFamily
    const signal = this.#ends.signal
    this.#sigma = new Sigma(this.#graph, host, {
      allowInvalidContainer: true, labelFont: this.#font, labelSize: 12, labelDensity: 2, labelGridCellSize: 120, labelRenderedSizeThreshold: 4, stagePadding: 40, zIndex: true,
      minCameraRatio: 0.005, maxCameraRatio: 4, defaultEdgeType: 'line', hideEdgesOnMove: false,
      nodeReducer: (id, data) => this.#dress(id, data), edgeReducer: (id, data) => this.#bind(id, data),
      defaultDrawNodeLabel: (context, data) => this.#label(context, String(data.label ?? ''), data),
      defaultDrawNodeHover: (context, data) => this.#label(context, String(data.label ?? ''), data, true),
    })
    this.#sigma.on('clickNode', ({ node }) => told.pick(node))
    this.#sigma.on('clickStage', () => told.pick(undefined))
    this.#sigma.on('doubleClickNode', ({ node, preventSigmaDefault }) => {
      preventSigmaDefault()
      told.pick(node)
      told.open()
    })
    this.#sigma.on('beforeRender', () => {
      this.#taken = []
      this.#named = undefined
    })
    this.#sigma.on('afterRender', () => this.#nameGroups())
    host.addEventListener('keydown', e => this.#key(e), { signal })
    matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => this.#paint(), { signal })
    this.#theme.observe(document.documentElement, { attributeFilter: ['data-theme'] })
    for (const canvas of Object.values(this.#sigma.getCanvases())) canvas.setAttribute('aria-hidden', 'true')
  }

  /** Draws a scene, and lays out what has no place yet. */
  show(scene: Scene): void {
    cancelAnimationFrame(this.#frame)
    this.#scene = scene
    const linked = scene.vertices.filter(v => v.degree > 0)
    const alone = scene.vertices.filter(v => v.degree === 0)
    this.#host.dataset.state = 'settling'
    const layout = new Layout(linked, scene.edges, scene.communities)
    placeAlone(alone, linked)
    this.#graph = new UndirectedGraph()
    const small = scene.vertices.length > 1000 ? 0.55 : 1
    for (const v of scene.vertices) this.#graph.addNode(v.id, { x: v.x ?? 0, y: v.y ?? 0, label: v.label, size: small * Math.min(16, 3.5 + 1.4 * Math.sqrt(v.degree)) })
    for (const e of scene.edges) if (this.#graph.hasNode(e.source.id) && this.#graph.hasNode(e.target.id)) this.#graph.mergeEdge(e.source.id, e.target.id, { size: 0.7 })
    this.#sigma.setGraph(this.#graph)
    this.#paint()
    let drawn = 0
    const frame = () => {
      const rest = layout.step(slice)
      if (rest) placeAlone(alone, linked)
      if (rest || !this.#still.matches && performance.now() - drawn >= (small < 1 ? pause : 0)) {
        this.#place(scene.vertices)
        drawn = performance.now()
      }
      if (!rest) this.#frame = requestAnimationFrame(frame)
      else {
        this.#host.dataset.state = 'still'
        this.#begin()
      }
    }
    frame()
  }

  #place(vertices: readonly Vertex[]): void {
    const at = new Map(vertices.map(v => [v.id, v]))
    this.#graph.updateEachNodeAttributes((id, a) => Object.assign(a, { x: at.get(id)?.x ?? 0, y: at.get(id)?.y ?? 0 }), { attributes: ['x', 'y'] })
  }

  choose(id: string | undefined): void {
    this.#chosen = id !== undefined && this.#graph.hasNode(id) ? id : undefined
    this.#near = new Set(this.#chosen === undefined ? [] : this.#graph.neighbors(this.#chosen))
    this.#sigma.refresh({ skipIndexation: true })
  }

  zoom(by: number): void {
    const camera = this.#sigma.getCamera()
    void camera.animate({ ratio: camera.getBoundedRatio(camera.ratio / by) }, { duration: this.#still.matches ? 0 : glide })
  }

  /** Shows everything. */
  whole(): void {
    void this.#sigma.getCamera().animate({ x: 0.5, y: 0.5, ratio: 1, angle: 0 }, { duration: this.#still.matches ? 0 : glide })
  }

  /** Shows the notes that the scene begins with. */
  #begin(): void {
    const places = (this.#scene?.begin ?? []).map(v => this.#sigma.getNodeDisplayData(v.id)).filter(d => d !== undefined)
    if (places.length < 2 || places.length === this.#graph.order) return
    const [xs, ys] = [places.map(p => p.x), places.map(p => p.y)]
    const [left, right, top, bottom] = [Math.min(...xs), Math.max(...xs), Math.min(...ys), Math.max(...ys)]
    this.#sigma.getCamera().setState({ x: (left + right) / 2, y: (top + bottom) / 2, ratio: Math.max(0.05, Math.min(1, 1.15 * Math.max(right - left, bottom - top))) })
  }

  end(): void {
    cancelAnimationFrame(this.#frame)
    this.#theme.disconnect()
    this.#ends.abort()
    this.#sigma.kill()
  }

  /** Reads the colors of the theme, and draws again. */
  #paint(): void {
    const style = getComputedStyle(this.#host)
    for (const name of [...hues, '--kind-message', '--line', '--text', '--soft', '--bg', '--accent']) this.#colors[name] = style.getPropertyValue(name).trim()
    const by = new Map(this.#scene?.vertices.map(v => [v.id, this.#scene!.hue(v)]))
    this.#graph.updateEachNodeAttributes((id, a) => Object.assign(a, { color: this.#colors[by.get(id) === undefined ? '--kind-message' : hues[by.get(id)! % hues.length]!] }), { attributes: ['color'] })
    this.choose(this.#chosen)
  }

  #dress(id: string, data: Record<string, unknown>) {
    if (this.#chosen === undefined) return data
    if (id === this.#chosen) return { ...data, highlighted: false, forceLabel: true, zIndex: 2, size: Number(data.size) + 3, color: this.#colors['--accent'] }
    return this.#near.has(id) ? { ...data, zIndex: 1, forceLabel: this.#near.size < 30 } : { ...data, color: this.#colors['--line'], label: '' }
  }

  #bind(id: string, data: Record<string, unknown>) {
    const own = this.#chosen !== undefined && this.#graph.hasExtremity(id, this.#chosen)
    return { ...data, color: this.#colors[own ? '--accent' : '--line'] ?? '', size: own ? 1.5 : 0.7, zIndex: own ? 1 : 0 }
  }

  /** Writes the name of a note where there is no other yet: right of it, or left where it would be cut off. */
  #label(context: CanvasRenderingContext2D, name: string, node: { x: number; y: number; size: number }, above = false): void {
    if (name === '') return
    const letters = [...name]
    const short = letters.length > mostLetters ? `${letters.slice(0, mostLetters - 1).join('')}…` : name
    context.font = `12px ${this.#font}`
    const width = context.measureText(short).width
    const [right, left] = [node.x + node.size + 3, node.x - node.size - 3 - width]
    const x = right + width > this.#sigma.getDimensions().width && left > 0 ? left : right
    const y = node.y + 4
    const box = { x: x - 2, y: y - 12, width: width + 4, height: 17 }
    this.#named ??= this.#groups()
    if (!above && [...this.#named, ...this.#taken].some(t => over(t, box))) return
    this.#taken.push(box)
    this.#write(context, short, x, y, '--soft', `12px ${this.#font}`)
  }

  #write(context: CanvasRenderingContext2D, text: string, x: number, y: number, color: string, font: string): void {
    context.font = font
    context.lineJoin = 'round'
    context.lineWidth = 4
    context.strokeStyle = this.#colors['--bg'] ?? ''
    context.strokeText(text, x, y)
    context.fillStyle = this.#colors[color] ?? ''
    context.fillText(text, x, y)
  }

  /** Where the names of groups are, the largest first, and none on another. */
  #groups(): (Box & { name: string })[] {
    const context = this.#sigma.getCanvases().labels!.getContext('2d')!
    context.font = `600 14px ${this.#font}`
    const out: (Box & { name: string })[] = []
    for (const { name, members } of this.#chosen === undefined ? this.#scene?.names ?? [] : []) {
      let [x, y, top] = [0, 0, -Infinity]
      for (const m of members) {
        x += (m.x ?? 0) / members.length
        y += (m.y ?? 0) / members.length
        top = Math.max(top, m.y ?? 0)
      }
      const small = members.length <= mostBelow
      const at = this.#sigma.graphToViewport({ x, y: small ? top : y })
      if (small) at.y = Math.max(12, at.y - 24)
      const width = context.measureText(name).width + 8
      const box = { name, x: at.x - width / 2, y: at.y - 10, width, height: 20 }
      if (!out.some(o => over(o, box))) out.push(box)
    }
    return out
  }

  #nameGroups(): void {
    const context = this.#sigma.getCanvases().labels!.getContext('2d')!
    for (const g of (this.#named ??= this.#groups())) this.#write(context, g.name, g.x + 4, g.y + 15, '--text', `600 14px ${this.#font}`)
  }

  #key(e: KeyboardEvent): void {
    const camera = this.#sigma.getCamera()
    const by = stride * camera.ratio
    const move = { ArrowLeft: { x: -by, y: 0 }, ArrowRight: { x: by, y: 0 }, ArrowUp: { x: 0, y: by }, ArrowDown: { x: 0, y: -by } }[e.key]
    if (move) camera.setState({ x: camera.x + move.x, y: camera.y + move.y })
    else if (e.key === '+' || e.key === '=') this.zoom(1.3)
    else if (e.key === '-') this.zoom(1 / 1.3)
    else if (e.key === '0') this.whole()
    else if (e.key === 'Enter') this.#told.open()
    else if (e.key === 'Escape') this.#told.pick(undefined)
    else return
    e.preventDefault()
  }
}
