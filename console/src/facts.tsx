import type { Schemas } from '@slipbox/client'
import type { Go } from './collection.tsx'
import './facts.css'
import { Row } from './notes.tsx'
import { usePages } from './pages.ts'
import { Empty, Reading } from './parts.tsx'
import { formatRoute, type Route } from './route.ts'
import { useShared } from './state.ts'
import { formatDay, formatTime, plural, reveal } from './text.ts'
import { axisOf, percent, place } from './timeline.ts'

type Fact = Schemas['Fact']

/** Policies whose facts have a subject, a relation, an object and a time; others keep theirs as notes. */
const graphs = ['mem0g', 'layered']

/** Whether a collection has facts, or will have. */
export const hasFacts = (c: Schemas['Collection']): boolean => graphs.includes(c.policy) || c.policy === 'mem0' || (c.counts?.kinds.fact ?? 0) > 0

/** What is known, as the policy keeps it. */
export function Facts(props: FactsProps) {
  return graphs.includes(props.collection.policy) ? <Graph {...props} /> : <Sentences {...props} />
}

interface FactsProps { collection: Schemas['Collection']; route: Route; go: Go; fresh: number }

/** Facts that are notes: sentences, the newest first. */
function Sentences({ collection: c, fresh }: Pick<FactsProps, 'collection' | 'fresh'>) {
  const { api } = useShared()
  const list = usePages((cursor, signal) => api.call('get', '/v1/collections/{collection}/notes', { signal, path: { collection: c.id }, query: { kind: 'fact', order: 'newest', limit: 50, ...(cursor && { cursor }) } }), [c.id], fresh)
  if (!list.items) return <Reading of={list} />
  if (list.items.length === 0) return <Empty title="No facts"><p>Add a conversation: facts are taken from it.</p></Empty>
  return (
    <>
      <Reading of={list} />
      <ul class="cards notes sentences" aria-label="Facts">{list.items.map(n => <Row key={n.id} note={n} collection={c.id} kinds={false} />)}</ul>
      {list.more && <p class="center"><button type="button" onClick={list.more}>Show more</button></p>}
    </>
  )
}

/** The facts of a collection whose policy keeps a graph, with the time in which each is true. */
function Graph({ collection: c, route, go, fresh }: FactsProps) {
  const { api } = useShared()
  const { valid = 'any', at = '', as = 'line' } = route.query
  const day = at === '' ? undefined : dayEnd(at)
  const list = usePages((cursor, signal) => api.call('get', '/v1/collections/{collection}/facts', {
    signal, path: { collection: c.id }, query: { limit: 100, ...(day ? { valid_at: day } : { valid: valid as 'true' | 'false' | 'any' }), ...(cursor && { cursor }) },
  }), [c.id, valid, day], fresh)
  const set = (change: Record<string, string>) => go({ collection: route.collection ?? c.id, tab: 'facts', query: { ...route.query, ...change } }, true)
  return (
    <>
      <div class="row filters">
        <label>Show <select value={day ? 'day' : valid} disabled={day !== undefined} onChange={e => set({ valid: e.currentTarget.value })}>
          <option value="any">all facts</option><option value="true">what is true now</option><option value="false">what is no longer true</option>
          {day && <option value="day">what was true then</option>}
        </select></label>
        <label>True on <input type="date" value={at} onChange={e => set({ at: e.currentTarget.value })} /></label>
        {day && <button type="button" onClick={() => set({ at: '' })}>Any day</button>}
        <span class="grow" />
        <div class="choice" role="group" aria-label="Shown as">
          <button type="button" aria-pressed={as !== 'table'} onClick={() => set({ as: '' })}>Time line</button>
          <button type="button" aria-pressed={as === 'table'} onClick={() => set({ as: 'table' })}>Table</button>
        </div>
      </div>
      <Reading of={list} />{!list.items ? null : list.items.length === 0 ? (
        day || valid !== 'any' ? <Empty title="No fact is like that"><p><button type="button" onClick={() => set({ at: '', valid: '' })}>Show all facts</button></p></Empty> : (
          <NoEdges c={c} fresh={fresh} />
        )
      ) : (
        <>
          {as === 'table' ? <Table facts={list.items} collection={c.id} /> : <TimeLine facts={list.items} collection={c.id} day={day} />}
          {list.more && <p class="center"><button type="button" onClick={list.more}>Show more</button></p>}
        </>
      )}
    </>
  )
}

/** A graph without edges: what it lacks, and the facts that the policy has as sentences. */
function NoEdges({ c, fresh }: { c: Schemas['Collection']; fresh: number }) {
  const { fact = 0, entity = 0 } = c.counts?.kinds ?? {}
  if (c.policy !== 'mem0g') return <Empty title="No facts"><p>Add a conversation: facts are taken from it.</p></Empty>
  const about = 'Facts between two names, with the time in which each is true, need a model.'
  if (fact + entity === 0) return <Empty title="No facts"><p>Add a conversation: facts are taken from it. {about}</p></Empty>
  return (
    <>
      <Empty title="No facts between two names"><p>{about} Taken so far: {fact > 0 && `${plural(fact, 'sentence')}, below`}{fact > 0 && entity > 0 && ', and '}{entity > 0 && <a href={formatRoute({ collection: c.id, tab: 'notes', query: { kind: 'entity' } })}>{plural(entity, 'entity', 'entities')}</a>}.</p></Empty>
      {fact > 0 && <Sentences collection={c} fresh={fresh} />}
    </>
  )
}

/** The end of a day in the reader's zone, as the API takes times. */
function dayEnd(day: string): string | undefined {
  const end = new Date(`${day}T23:59:59`)
  return Number.isNaN(end.getTime()) ? undefined : end.toISOString()
}

/** Facts by their subject and relation, so that what replaced what stands together; within them by time. */
function inOrder(facts: readonly Fact[]): Fact[] {
  return [...facts].sort((a, b) => a.subject.localeCompare(b.subject) || a.relation.localeCompare(b.relation) || (a.valid_from ?? '').localeCompare(b.valid_from ?? ''))
}

const keyOf = (f: Fact) => `${f.subject_id}${f.relation}${f.object_id}${f.valid_from ?? ''}${f.invalidated_at ?? ''}`
const endOf = (f: Fact) => f.invalidated_at ? formatTime(f.invalidated_at) : f.contested ? 'contested' : 'now'

function TimeLine({ facts, collection, day }: { facts: Fact[]; collection: string; day: string | undefined }) {
  const now = Date.now()
  const axis = axisOf([...facts.map(f => ({ from: f.valid_from, until: f.invalidated_at })), { from: day }], now)
  const moment = percent(day ? Date.parse(day) : now, axis)
  const move = (e: KeyboardEvent) => {
    const step = e.key === 'ArrowDown' ? 1 : e.key === 'ArrowUp' ? -1 : 0
    if (step === 0) return
    const rows = [...(e.currentTarget as HTMLElement).querySelectorAll('a')]
    rows[rows.indexOf(document.activeElement as HTMLAnchorElement) + step]?.focus()
    e.preventDefault()
  }
  return (
    <div class="timeline">
      <div class="axis" aria-hidden="true">
        <p>{[...new Set([formatDay(new Date(axis.begin).toISOString()), formatDay(new Date(axis.end).toISOString())])].join(' – ')}</p>
        <div>{axis.ticks.filter(t => t.at > 8 && t.at < 92 && Math.abs(t.at - moment) > 12).map(t => <span key={t.at} style={{ left: `${t.at}%` }}>{t.label}</span>)}<span class="at" style={{ left: `${moment}%` }}>{day ? 'then' : 'now'}</span></div>
      </div>
      <ul aria-label="Facts, with the time in which each is true" onKeyDown={move}>
        {inOrder(facts).map(f => {
          const at = place({ from: f.valid_from, until: f.invalidated_at }, axis)
          return (
            <li key={keyOf(f)}>
              <a class={f.valid ? '' : 'past'} href={formatRoute({ collection, note: f.sources[0] ?? f.subject_id })}>
                <span class="fact"><bdi>{reveal(f.subject)}</bdi> <span class="soft">{reveal(f.relation).replaceAll('_', ' ')}</span> <bdi>{reveal(f.object)}</bdi>{f.contested && <span class="tag contested">contested</span>}</span>
                <span class="track" aria-hidden="true">
                  {axis.ticks.map(t => <i key={t.at} class="tick" style={{ left: `${t.at}%` }} />)}
                  <i class={`bar ${f.contested ? 'contested' : ''} ${at.open ? 'open' : ''}`} style={{ left: `${at.from}%`, width: `${at.width}%` }} />
                  <i class="moment" style={{ left: `${moment}%` }} />
                </span>
                <span class="hidden">, from {f.valid_from ? formatTime(f.valid_from) : 'an unknown time'} until {endOf(f)}</span>
              </a>
            </li>
          )
        })}
      </ul>
    </div>
  )
}

function Table({ facts, collection }: { facts: Fact[]; collection: string }) {
  return (
    <div class="scroll" tabindex={0} role="region" aria-label="Facts">
      <table class="stacked">
        <thead><tr><th scope="col">Subject</th><th scope="col">Relation</th><th scope="col">Object</th><th scope="col">True from</th><th scope="col">until</th><th scope="col">Confidence</th><th scope="col">Source</th></tr></thead>
        <tbody>
          {inOrder(facts).map(f => (
            <tr key={keyOf(f)} class={f.valid ? '' : 'past'}>
              <td data-label="Subject"><a href={formatRoute({ collection, note: f.subject_id })}><bdi>{reveal(f.subject)}</bdi></a></td>
              <td data-label="Relation"><bdi>{reveal(f.relation).replaceAll('_', ' ')}</bdi></td>
              <td data-label="Object"><a href={formatRoute({ collection, note: f.object_id })}><bdi>{reveal(f.object)}</bdi></a></td>
              <td data-label="True from">{formatTime(f.valid_from)}</td>
              <td data-label="until">{endOf(f)}</td>
              <td data-label="Confidence">{Math.round(f.confidence * 100)} %</td>
              <td data-label="Source">{f.sources[0] ? <a href={formatRoute({ collection, note: f.sources[0] })}>note</a> : '—'}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}
