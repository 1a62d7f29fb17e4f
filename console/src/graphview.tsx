import type { Schemas } from '@slipbox/client'
import { useEffect, useMemo, useRef, useState } from 'preact/hooks'
import type { Go } from './collection.tsx'
import { around, clustersOf, colorings, componentsOf, find, graphOf, groupsOf, mostGroups, part, type Coloring, type Graph, type Group, type Raw, type Vertex } from './graph.ts'
import { Empty, Problem, Reading, Waiting } from './parts.tsx'
import { formatRoute, type Route } from './route.ts'
import type * as staging from './stage.ts'
import { useLoad, useShared } from './state.ts'
import { count, plural, reveal } from './text.ts'

/** Most notes that are drawn; of a larger collection the first ones, and what is around a chosen one. */
const most = 5000

/** Most notes around a chosen one, as the API gives them. */
const mostAround = 1000

/** A graph of no more notes is seen whole at once; a larger one begins with its largest part. */
const fewest = 150

/** Most notes that are listed beside the graph. */
const listed = 40

/** The notes of a collection and the links between them, at any revision. */
export function GraphView({ collection: c, route, go, fresh }: { collection: Schemas['Collection']; route: Route; go: Go; fresh: number }) {
  const { api } = useShared()
  const { focus = '', depth = '', find: words = '', at = '', alone = '', cluster = '' } = route.query
  const by = (Object.keys(colorings) as Coloring[]).find(k => k === route.query.by) ?? 'cluster'
  const kit = useLoad(() => import('./stage.ts'), [])
  const [done, setDone] = useState(0)
  const large = (c.counts?.notes ?? 0) > most
  // Of a large collection, what is around the chosen note is read; else everything, once.
  const center = large && focus !== '' && depth !== '' ? focus : ''
  const load = useLoad(async signal => center === '' ? readAll(signal) : readAround(signal), [c.id], [center, center && depth, at, fresh].join('/'))
  const readAround = (signal: AbortSignal) => api.call('get', '/v1/collections/{collection}/graph', {
    signal, path: { collection: c.id }, query: { center, depth: Number(depth), limit: mostAround, ...(at && { as_of: Number(at) }) },
  }).then(g => ({ notes: g.nodes.map(n => nodeOf(n as Schemas['Note'])), links: g.links, revision: g.revision, truncated: g.truncated ?? false }))
  const readAll = async (signal: AbortSignal): Promise<Raw & { revision: number; truncated: boolean }> => {
    const notes: Raw['notes'][number][] = []
    const links: Raw['links'][number][] = []
    let [cursor, revision]: [string | undefined, number] = [undefined, 0]
    do {
      const page: Schemas['NoteList'] = await api.call('get', '/v1/collections/{collection}/notes', {
        signal, path: { collection: c.id }, query: { limit: 200, ...(cursor !== undefined && { cursor }), ...(at && { as_of: Number(at) }) },
      })
      for (const n of page.items) {
        notes.push(nodeOf(n))
        for (const l of linksOf(n)) links.push(l)
      }
      cursor = page.next_cursor
      revision = page.revision
      setDone(notes.length)
    } while (cursor !== undefined && notes.length < most)
    return { notes, links, revision, truncated: cursor !== undefined }
  }
  const last = useRef<Graph>(undefined)
  const graph = useMemo(() => load.data && (last.current = graphOf(load.data, last.current)), [load.data])
  const communities = useMemo(() => graph && kit.data?.communitiesOf(graph.vertices, graph.edges), [graph, kit.data])
  const clusters = useMemo(() => graph && communities && clustersOf(graph.vertices, communities), [graph, communities])
  const only = clusters?.find(c => c.members.some(m => m.id === cluster))
  const shown = useMemo(() => {
    if (!graph) return undefined
    if (focus !== '' && depth !== '' && graph.byId.has(focus)) return part(graph, around(graph, focus, Number(depth)))
    if (only) return part(graph, new Set(only.members))
    return alone ? graph : { vertices: graph.vertices.filter(v => v.degree > 0), edges: graph.edges }
  }, [graph, focus, depth, only, alone])
  const set = (change: Record<string, string>, replace = false) => go({ collection: route.collection ?? c.id, tab: 'graph', query: { ...route.query, ...change } }, replace)
  const chosen = graph?.byId.get(focus)
  if (load.state === 'failed' && !load.data) return <Reading of={load} />
  if (kit.state === 'failed') return <Problem error={new Error('The part of the page that draws could not be loaded')} again={() => location.reload()} />
  if (!graph || !shown || !kit.data || !communities || !clusters) return <><p class="soft" role="status">{count(done)} of {c.counts ? count(Math.min(c.counts.notes, most)) : '…'} notes</p><Waiting /></>
  if (graph.vertices.length === 0 && at === '') return <Empty title="Nothing to draw"><p>Notes and the links between them show up here. Add a note first.</p></Empty>
  const unlinked = graph.vertices.length - graph.vertices.filter(v => v.degree > 0).length
  const whole = focus === '' || depth === ''
  const taken = shown.edges.filter(e => e.relation === takenFrom).length
  const drawn = { taken, links: shown.edges.length - taken }
  return (
    <>
      <Reading of={load} />
      <Revisions c={c} at={at} set={value => set({ at: value }, true)} />
      <div class="row small soft graphline">
        <p role="status">
          {load.state === 'loading' ? `Reading: ${plural(done, 'note')}…`
            : <>{plural(shown.vertices.length, 'note')}{drawn.taken > 0 ? <>, {plural(drawn.links, 'link')} and {plural(drawn.taken, 'source')}</> : <> and {plural(drawn.links, 'link')}</>} at revision {count(load.data?.revision ?? 0)}
              {whole && !only && <>, in {plural(componentsOf(graph).length, 'part')} and {plural(clusters.length, 'cluster')}</>}
              {load.data?.truncated && (center === '' ? `: the first of ${count(c.counts?.notes ?? 0)} notes. Choose one and a distance to see what is around it.` : ': there is more around it.')}</>}
        </p>
        <span class="grow" />
        {only && <button type="button" class="link" onClick={() => set({ cluster: '' })}>All clusters</button>}
        {unlinked > 0 && whole && !only && <label class="check"><input type="checkbox" checked={alone !== ''} onChange={e => set({ alone: e.currentTarget.checked ? '1' : '' }, true)} /> {count(unlinked)} without links</label>}
        <label>Colors by <select value={by} onChange={e => set({ by: e.currentTarget.value }, true)}>{(Object.keys(colorings) as Coloring[]).map(k => <option key={k}>{colorings[k]}</option>)}</select></label>
      </div>
      <div class="graph">
        {shown.vertices.length === 0 ? <Unlinked c={c} show={() => set({ alone: '1' }, true)} />
          : <Drawing kit={kit.data} graph={graph} shown={shown} communities={communities} by={by} focus={focus} pick={id => set({ focus: id ?? '' })} open={() => { if (chosen) go({ collection: c.id, note: chosen.id }) }} />}
        <section class="beside" aria-label="The graph as a list">
          <input type="search" data-find aria-label="Find in the graph" placeholder="Find in the graph" value={words} onInput={e => set({ find: e.currentTarget.value }, true)} />
          <label>Show <select value={depth} disabled={!chosen} onChange={e => set({ depth: e.currentTarget.value })}>
            <option value="">everything</option><option value="1">1 link around it</option><option value="2">2 links around it</option><option value="3">3 links around it</option>
          </select></label>
          {chosen && words === '' ? <Chosen graph={graph} vertex={chosen} collection={c.id} pick={id => set({ focus: id })} clear={() => set({ focus: '', depth: '' })} />
            : <>
              {words === '' && !only && clusters.length > 1 && <Clusters clusters={clusters} pick={g => set({ cluster: g.members[0]!.id })} />}
              <List vertices={only && words === '' ? [...only.members].sort((a, b) => b.degree - a.degree).slice(0, listed) : find(graph, words, listed)} title={words !== '' ? 'Found' : only ? only.name : graph.edges.length === 0 ? 'Notes' : 'Most linked'} pick={id => set({ focus: id, find: '' })} />
            </>}
        </section>
      </div>
    </>
  )
}

/** What the graph knows of a note. */
function nodeOf(n: Schemas['Note']): Raw['notes'][number] {
  const said = (n.attributes ?? {}) as { name?: unknown; role?: unknown }
  const speaker = [said.name, said.role].find(s => typeof s === 'string' && s !== '') as string | undefined
  return { id: n.id, kind: n.kind, content: n.content.slice(0, 400), words: [...new Set([...(n.tags ?? []), ...(n.keywords ?? [])])], time: n.occurred_at ?? n.created_at ?? '', speaker: speaker ?? '' }
}

/** The relation of a note to what it was taken from, which the collection does not count as a link. */
const takenFrom = 'taken from'

/** The links of a note, and as such what it was taken from. */
function linksOf(n: Schemas['Note']): Raw['links'][number][] {
  const linked = new Set(n.links.map(l => l.target))
  return [...n.links.map(l => ({ source: n.id, target: l.target, relation: l.relation })),
    ...(n.provenance?.sources ?? []).filter(s => !linked.has(s)).map(s => ({ source: n.id, target: s, relation: takenFrom }))]
}

/** Says why there is no line to draw, and what can be done. */
function Unlinked({ c, show }: { c: Schemas['Collection']; show: () => void }) {
  return (
    <Empty title="No note is linked to another">
      <p>{c.policy === 'none' ? 'This memory links nothing by itself. Links that a client sets show up here.' : 'The policy links notes that have to do with each other, when it finds any. Add more, or look again when it has worked on what was added.'}</p>
      <p class="row center"><a href={formatRoute({ collection: c.id })}>See the notes as a list</a> <button type="button" onClick={show}>Draw them without links</button></p>
    </Empty>
  )
}

function Clusters({ clusters, pick }: { clusters: readonly Group[]; pick: (g: Group) => void }) {
  return (
    <>
      <h2>Clusters</h2>
      <ul class="picks" aria-label="Clusters">
        {clusters.slice(0, 12).map(g => <li key={g.members[0]!.id}><button type="button" onClick={() => pick(g)}><bdi class="text" dir="auto">{reveal(g.name) || '(no words)'}</bdi><span class="small soft">{plural(g.members.length, 'note')}</span></button></li>)}
      </ul>
    </>
  )
}

interface DrawingProps {
  kit: typeof staging
  graph: Graph
  shown: { vertices: Vertex[]; edges: Graph['edges'] }
  communities: ReadonlyMap<string, number>
  by: Coloring
  focus: string
  pick: (id: string | undefined) => void
  open: () => void
}

function Drawing({ kit, graph, shown, communities, by, focus, pick, open }: DrawingProps) {
  const host = useRef<HTMLDivElement>(null)
  const stage = useRef<staging.Stage>(undefined)
  const told = useRef({ pick, open })
  told.current = { pick, open }
  const [failed, setFailed] = useState(false)
  const groups = useMemo(() => groupsOf(shown.vertices, by, communities), [shown, by, communities])
  useEffect(() => {
    try {
      stage.current = new kit.Stage(host.current!, { pick: id => told.current.pick(id), open: () => told.current.open() })
    } catch {
      setFailed(true) // a browser without WebGL
    }
    return () => stage.current?.end()
  }, [])
  useEffect(() => {
    const hues = new Map(groups.flatMap((g, i) => g.members.map(m => [m.id, i] as const)))
    stage.current?.show({
      vertices: shown.vertices, edges: shown.edges, communities, hue: v => hues.get(v.id), begin: shown.vertices.length > fewest ? componentsOf(graph)[0] ?? [] : [],
      names: clustersOf(shown.vertices, communities).filter(g => g.members.length >= 5).slice(0, 12).map(g => ({ name: reveal(g.name), members: g.members })),
    })
  }, [shown, groups])
  useEffect(() => stage.current?.choose(focus === '' ? undefined : focus), [focus, shown, groups])
  return (
    <div class="drawing">
      <div class="stage" ref={host} tabindex={0} role="application" aria-label="Graph of notes and links" aria-describedby="graph-keys" />
      <p id="graph-keys" class="hidden">Arrow keys move, plus and minus zoom, 0 shows everything, Enter opens the chosen note, Escape chooses none. The list beside it has the same notes.</p>
      {failed ? <p class="prose">This browser draws no graphs: WebGL is off. The list has the same notes.</p> : (
        <div class="zoom row">
          <button type="button" aria-label="Zoom in" onClick={() => stage.current?.zoom(1.4)}>+</button>
          <button type="button" aria-label="Zoom out" onClick={() => stage.current?.zoom(1 / 1.4)}>−</button>
          <button type="button" onClick={() => stage.current?.whole()}>Fit</button>
        </div>
      )}
      <ul class="legend" aria-label={`Colors by ${by}`}>{groups.slice(0, mostGroups).map((g, i) => <li key={i} data-hue={i}><bdi>{reveal(g.name) || '(no words)'}</bdi></li>)}</ul>
    </div>
  )
}

/** What is chosen in the graph, and what it is linked to. */
function Chosen({ graph, vertex, collection, pick, clear }: { graph: Graph; vertex: Vertex; collection: string; pick: (id: string) => void; clear: () => void }) {
  const edges = graph.of.get(vertex.id) ?? []
  return (
    <>
      <div class="card">
        <bdi class="text" dir="auto">{reveal(vertex.label) || '(no words)'}</bdi>
        <p class="small soft">{vertex.kind} · {plural(vertex.degree, 'link')}</p>
        <div class="row"><a href={formatRoute({ collection, note: vertex.id })}>Open the note</a><button type="button" class="link" onClick={clear}>Choose none</button></div>
      </div>
      <ul class="picks" aria-label="Linked notes">
        {edges.slice(0, listed).map(e => {
          const out = e.source === vertex
          const other = out ? e.target : e.source
          return <li key={`${e.source.id}${e.target.id}${e.relation}`}><button type="button" onClick={() => pick(other.id)}><span class="small soft">{out ? '→' : '←'} {reveal(e.relation)}</span><bdi class="text" dir="auto">{reveal(other.label) || '(no words)'}</bdi></button></li>
        })}
      </ul>
      {edges.length > listed && <p class="soft small">and {count(edges.length - listed)} more, in the note</p>}
    </>
  )
}

function List({ vertices, title, pick }: { vertices: Vertex[]; title: string; pick: (id: string) => void }) {
  return (
    <>
      <h2>{title}</h2>
      {vertices.length === 0 ? <p class="soft">No note of the graph has these words.</p> : (
        <ul class="picks" aria-label={title}>
          {vertices.map(v => <li key={v.id}><button type="button" onClick={() => pick(v.id)}><bdi class="text" dir="auto">{reveal(v.label) || '(no words)'}</bdi><span class="small soft">{v.kind} · {plural(v.degree, 'link')}</span></button></li>)}
        </ul>
      )}
    </>
  )
}

/** Chooses the revision that is shown. */
function Revisions({ c, at, set }: { c: Schemas['Collection']; at: string; set: (at: string) => void }) {
  const [held, setHeld] = useState<number>()
  const least = Math.max(c.floor_revision ?? 0, 1)
  const value = held ?? (at === '' ? c.head_revision : Number(at))
  useEffect(() => setHeld(undefined), [at])
  if (c.head_revision <= least) return null
  return (
    <div class="row revisions">
      <label for="revision">Revision</label>
      <input id="revision" type="range" min={least} max={c.head_revision} value={value} aria-valuetext={`${value} of ${c.head_revision}`}
        onInput={e => setHeld(Number(e.currentTarget.value))} onChange={e => set(Number(e.currentTarget.value) === c.head_revision ? '' : e.currentTarget.value)} />
      <output for="revision">{count(value)} of {count(c.head_revision)}</output>
      <button type="button" disabled={at === ''} onClick={() => set('')}>Now</button>
    </div>
  )
}
