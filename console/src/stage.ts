import { forceCollide, forceLink, forceManyBody, forceSimulation, forceX, forceY, type Simulation } from 'd3-force'
import { fit, nearest, type Camera, type Edge, type Vertex } from './graph.ts'
import { reveal, shorten } from './text.ts'

/** What the stage tells the view. */
interface Told {
  /** A note was chosen; undefined: none. */
  pick: (id: string | undefined) => void
  /** The chosen note shall be opened. */
  open: () => void
}

/** Pixels: how near to a note a click counts, how far a pointer moves before it drags, how far an arrow key moves. */
const reach = 14
const slack = 4
const stride = 60

/** Most notes that are named at once, and how long a name is. */
const mostNames = 14
const nameLength = 28

/** Above this number the layout is cooled faster, so that it comes to rest as soon. */
const many = 1500

/**
 * Draws a graph on a canvas and lays it out, one small step between two frames, so that the page answers meanwhile.
 * Frames end when nothing moves.
 */
export class Stage {
  readonly #canvas: HTMLCanvasElement
  readonly #told: Told
  readonly #ends = new AbortController()
  readonly #size: ResizeObserver
  readonly #theme = new MutationObserver(() => this.redraw())
  readonly #pointers = new Map<number, { x: number; y: number }>()
  readonly #still = matchMedia('(prefers-reduced-motion: reduce)')
  #vertices: Vertex[] = []
  #edges: Edge[] = []
  #chosen: string | undefined
  #layout: Simulation<Vertex, undefined> | undefined
  #camera: Camera = { x: 0, y: 0, scale: 1 }
  #fits = true // the camera follows the layout until a person moves it
  #moved = false
  #stale = true
  #frame = 0

  constructor(canvas: HTMLCanvasElement, told: Told) {
    this.#canvas = canvas
    this.#told = told
    const options = { signal: this.#ends.signal }
    canvas.addEventListener('wheel', e => {
      e.preventDefault()
      this.zoom(Math.exp(-e.deltaY / 400), e.offsetX, e.offsetY)
    }, { ...options, passive: false })
    canvas.addEventListener('pointerdown', e => this.#press(e), options)
    canvas.addEventListener('pointermove', e => this.#drag(e), options)
    canvas.addEventListener('pointerup', e => this.#release(e), options)
    canvas.addEventListener('pointercancel', e => this.#pointers.delete(e.pointerId), options)
    canvas.addEventListener('dblclick', () => this.#told.open(), options)
    canvas.addEventListener('keydown', e => this.#key(e), options)
    this.#size = new ResizeObserver(() => this.#resize())
    this.#size.observe(canvas)
    this.#theme.observe(document.documentElement, { attributeFilter: ['data-theme'] })
    matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => this.redraw(), options)
  }

  /** Shows these notes and links. Notes that have places begin there. */
  show(vertices: Vertex[], edges: Edge[]): void {
    const placed = vertices.filter(v => v.x !== undefined).length
    this.#vertices = vertices
    this.#edges = edges
    this.#layout?.stop()
    this.#layout = forceSimulation<Vertex>(vertices).stop()
      .alpha(placed === vertices.length ? 0.1 : 1).alphaDecay(vertices.length > many ? 0.05 : 0.03)
      .force('links', forceLink<Vertex, { source: Vertex; target: Vertex }>(edges.map(e => ({ source: e.source, target: e.target }))).distance(34).strength(0.3))
      .force('apart', forceManyBody<Vertex>().strength(-42).theta(1.2))
      .force('touch', vertices.length > many ? null : forceCollide<Vertex>(v => radius(v) + 3))
      .force('x', forceX<Vertex>().strength(0.05))
      .force('y', forceY<Vertex>().strength(0.05))
    if (placed < vertices.length / 2) this.#fits = true
    this.redraw()
  }

  choose(id: string | undefined): void {
    this.#chosen = id
    this.redraw()
  }

  /** Shows everything. */
  whole(): void {
    this.#fits = true
    this.redraw()
  }

  /** Looks closer (above 1) or from farther away, around a point of the canvas in pixels. */
  zoom(by: number, x = this.#canvas.clientWidth / 2, y = this.#canvas.clientHeight / 2): void {
    const scale = Math.min(Math.max(this.#camera.scale * by, 0.01), 8)
    const at = this.#place(x, y)
    this.#fits = false
    this.#camera = { x: at.x - (at.x - this.#camera.x) * (this.#camera.scale / scale), y: at.y - (at.y - this.#camera.y) * (this.#camera.scale / scale), scale }
    this.redraw()
  }

  end(): void {
    cancelAnimationFrame(this.#frame)
    this.#ends.abort()
    this.#size.disconnect()
    this.#theme.disconnect()
  }

  redraw(): void {
    this.#stale = true
    this.#frame ||= requestAnimationFrame(() => this.#next())
  }

  #next(): void {
    this.#frame = 0
    const layout = this.#layout
    const settling = layout !== undefined && layout.alpha() > layout.alphaMin()
    this.#canvas.dataset.state = settling ? 'settling' : 'still'
    if (settling) layout.tick()
    if (this.#fits) this.#camera = fit(this.#vertices, this.#canvas.clientWidth, this.#canvas.clientHeight)
    // Who wants no motion sees the graph when it has come to rest.
    if (this.#stale || (settling && !this.#still.matches)) this.#draw()
    this.#stale = settling && layout.alpha() <= layout.alphaMin()
    if (settling || this.#stale) this.#frame = requestAnimationFrame(() => this.#next())
  }

  #draw(): void {
    const pen = this.#canvas.getContext('2d')
    if (!pen) return
    const style = getComputedStyle(this.#canvas)
    const color = (name: string) => style.getPropertyValue(name)
    const ratio = devicePixelRatio
    const { clientWidth: width, clientHeight: height } = this.#canvas
    const { x, y, scale } = this.#camera
    pen.setTransform(ratio, 0, 0, ratio, 0, 0)
    pen.clearRect(0, 0, width, height)
    pen.setTransform(ratio * scale, 0, 0, ratio * scale, ratio * (width / 2 - x * scale), ratio * (height / 2 - y * scale))
    const near = new Set<Vertex>()
    const line = (edges: Edge[], stroke: string, thick: number) => {
      pen.beginPath()
      for (const { source, target } of edges) {
        pen.moveTo(source.x ?? 0, source.y ?? 0)
        pen.lineTo(target.x ?? 0, target.y ?? 0)
      }
      pen.strokeStyle = stroke
      pen.lineWidth = thick / scale
      pen.stroke()
    }
    const chosen = this.#edges.filter(e => e.source.id === this.#chosen || e.target.id === this.#chosen)
    for (const e of chosen) near.add(e.source).add(e.target)
    // Many links are a cloud; a few must be seen one by one.
    pen.globalAlpha = this.#edges.length > many ? 0.3 : 0.6
    line(this.#edges, color('--soft'), 1)
    pen.globalAlpha = 1
    line(chosen, color('--accent'), 2)
    const kinds = new Map<string, Vertex[]>()
    for (const v of this.#vertices) {
      const list = kinds.get(v.kind)
      if (list) list.push(v)
      else kinds.set(v.kind, [v])
    }
    // Shapes, not colors alone, tell kinds apart: entities are squares.
    const least = 1.6 / scale
    for (const [kind, list] of kinds) {
      pen.beginPath()
      for (const v of list) {
        const r = Math.max(radius(v), least)
        if (kind === 'entity') pen.rect(v.x! - r, v.y! - r, 2 * r, 2 * r)
        else {
          pen.moveTo(v.x! + r, v.y!)
          pen.arc(v.x!, v.y!, r, 0, 7)
        }
      }
      pen.fillStyle = color(`--kind-${kind}`) || color('--soft')
      pen.fill()
    }
    const focus = this.#vertices.find(v => v.id === this.#chosen)
    if (focus?.x !== undefined) {
      pen.beginPath()
      pen.arc(focus.x, focus.y!, radius(focus) + 5 / scale, 0, 7)
      pen.strokeStyle = color('--accent')
      pen.lineWidth = 3 / scale
      pen.stroke()
    }
    this.#names(pen, focus ? [focus, ...[...near].filter(v => v !== focus)] : [...this.#vertices].sort((a, b) => b.degree - a.degree), color('--text'), color('--bg'))
  }

  /** Writes the beginnings of some notes beside them, each only where no other name is. */
  #names(pen: CanvasRenderingContext2D, candidates: Vertex[], ink: string, paper: string): void {
    const ratio = devicePixelRatio
    const { clientWidth: width, clientHeight: height } = this.#canvas
    const { x, y, scale } = this.#camera
    pen.setTransform(ratio, 0, 0, ratio, 0, 0)
    pen.font = `12px ${getComputedStyle(this.#canvas).fontFamily}`
    pen.textBaseline = 'middle'
    pen.lineWidth = 3
    pen.lineJoin = 'round'
    pen.strokeStyle = paper
    pen.fillStyle = ink
    const taken: { left: number; right: number; y: number }[] = []
    for (const v of candidates.slice(0, 5 * mostNames)) {
      if (v.x === undefined || taken.length === mostNames) continue
      const name = shorten(reveal(v.label), nameLength)
      const center = (v.x - x) * scale + width / 2
      const middle = (v.y! - y) * scale + height / 2
      const room = radius(v) * scale + 4
      const long = pen.measureText(name).width
      const left = center + room + long <= width ? center + room : center - room - long
      const right = left + long
      if (left < 0 || right > width || middle < 8 || middle > height - 8) continue
      if (taken.some(t => Math.abs(t.y - middle) < 15 && t.left < right && left < t.right)) continue
      taken.push({ left, right, y: middle })
      pen.strokeText(name, left, middle)
      pen.fillText(name, left, middle)
    }
  }

  #resize(): void {
    this.#canvas.width = Math.round(this.#canvas.clientWidth * devicePixelRatio)
    this.#canvas.height = Math.round(this.#canvas.clientHeight * devicePixelRatio)
    this.redraw()
  }

  /** Returns where a point of the canvas is in the graph. */
  #place(x: number, y: number): { x: number; y: number } {
    return { x: this.#camera.x + (x - this.#canvas.clientWidth / 2) / this.#camera.scale, y: this.#camera.y + (y - this.#canvas.clientHeight / 2) / this.#camera.scale }
  }

  #move(x: number, y: number): void {
    this.#fits = false
    this.#camera = { ...this.#camera, x: this.#camera.x - x / this.#camera.scale, y: this.#camera.y - y / this.#camera.scale }
    this.redraw()
  }

  #press(e: PointerEvent): void {
    this.#canvas.setPointerCapture(e.pointerId)
    if (this.#pointers.size === 0) this.#moved = false
    this.#pointers.set(e.pointerId, { x: e.offsetX, y: e.offsetY })
  }

  #drag(e: PointerEvent): void {
    const before = this.#pointers.get(e.pointerId)
    if (!before) return
    const other = [...this.#pointers].find(([id]) => id !== e.pointerId)?.[1]
    if (other) {
      const apart = (p: { x: number; y: number }) => Math.hypot(p.x - other.x, p.y - other.y)
      this.zoom(apart({ x: e.offsetX, y: e.offsetY }) / Math.max(apart(before), 1), (e.offsetX + other.x) / 2, (e.offsetY + other.y) / 2)
      this.#moved = true
    } else if (this.#moved || Math.hypot(e.offsetX - before.x, e.offsetY - before.y) > slack) {
      this.#moved = true
      this.#move(e.offsetX - before.x, e.offsetY - before.y)
    } else return
    this.#pointers.set(e.pointerId, { x: e.offsetX, y: e.offsetY })
  }

  #release(e: PointerEvent): void {
    if (!this.#pointers.delete(e.pointerId) || this.#moved) return
    const at = this.#place(e.offsetX, e.offsetY)
    this.#told.pick(nearest(this.#vertices, at.x, at.y, reach / this.#camera.scale)?.id)
  }

  #key(e: KeyboardEvent): void {
    if (e.ctrlKey || e.metaKey || e.altKey) return
    switch (e.key) {
      case 'ArrowLeft': this.#move(stride, 0); break
      case 'ArrowRight': this.#move(-stride, 0); break
      case 'ArrowUp': this.#move(0, stride); break
      case 'ArrowDown': this.#move(0, -stride); break
      case '+': case '=': this.zoom(1.3); break
      case '-': this.zoom(1 / 1.3); break
      case '0': this.whole(); break
      case 'Enter': this.#told.open(); break
      case 'Escape': this.#told.pick(undefined); break
      default: return
    }
    e.preventDefault()
  }
}

function radius(v: Vertex): number {
  return Math.min(3 + Math.sqrt(v.degree) * 1.4, 14)
}
