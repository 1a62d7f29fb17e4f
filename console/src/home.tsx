import type { Schemas } from '@slipbox/client'
import { useState } from 'preact/hooks'
import type { Go } from './collection.tsx'
import { daysBefore } from './days.ts'
import { Add } from './forms.tsx'
import { ended, kinds } from './jobs.tsx'
import { usePages } from './pages.ts'
import { Read, Reading, Text } from './parts.tsx'
import { sureOf } from './reviews.tsx'
import { formatRoute } from './route.ts'
import { Connect } from './start.tsx'
import { useBeat, useLoad, useShared } from './state.ts'
import { count, formatAgo, formatTime, plural, reveal } from './text.ts'
import { titleOf } from './tree.ts'

/** How often work that failed is read again, in milliseconds. */
const pulse = 10_000

/** The start page: what changed, what waits for a person, and how to begin. `last` are the collections that were last written. */
export function Home({ last, go, tour }: { last: readonly Schemas['Collection'][]; go: Go; tour: (() => void) | undefined }) {
  return (
    <div class="home">
      <div class="head"><h1>Your memories</h1>{tour && <button type="button" onClick={tour}>Take the tour of the demo, in six steps</button>}</div>
      <Changed last={last.slice(0, 8)} />
      <Waits last={last} />
      <Failed last={last} />
      <Begin last={last} go={go} />
    </div>
  )
}

function Changed({ last }: { last: readonly Schemas['Collection'][] }) {
  const { api } = useShared()
  const ids = last.map(c => c.id)
  // How often each was added to in a week. One after the other: a browser has few connections to an origin.
  const adds = useLoad(async signal => {
    const found = new Map<string, number>()
    for (const id of ids) {
      const costs = await api.call('get', '/v1/collections/{collection}/costs', { signal, retries: 0, path: { collection: id }, query: { from: daysBefore(6, Date.now()) } })
      found.set(id, costs.adds)
    }
    return found
  }, [ids])
  const now = Date.now()
  return (
    <section>
      <h2>Last written</h2>
      <ul class="lines">
        {last.map(c => (
          <li key={c.id}>
            <a class="cover" href={formatRoute({ collection: c.id })}><bdi>{reveal(titleOf(c))}</bdi></a>
            <span class="soft small">{c.counts ? plural(c.counts.notes, 'note') : '…'}</span>
            <span class="soft small adds">{adds.data?.get(c.id) ? `${plural(adds.data.get(c.id)!, 'add')} in 7 days` : ''}</span>
            <span class="soft small" title={formatTime(c.updated_at)}>{formatAgo(c.updated_at, now)}</span>
          </li>
        ))}
      </ul>
    </section>
  )
}

/** Returns what collections are called, of which some were not written lately. */
function useCalled(last: readonly Schemas['Collection'][], ids: readonly (string | undefined)[]): (id: string | undefined) => string {
  const { api } = useShared()
  const others = [...new Set(ids)].filter(id => id !== undefined && !last.some(c => c.id === id))
  const read = useLoad(signal => Promise.all(others.map(id => api.collection(id!).get({ signal, retries: 0 }).catch(() => undefined))), [others])
  return id => {
    const c = last.find(c => c.id === id) ?? read.data?.find(c => c?.id === id)
    return c ? reveal(titleOf(c)) : '…'
  }
}

function Waits({ last }: { last: readonly Schemas['Collection'][] }) {
  const { api } = useShared()
  const list = usePages((cursor, signal) => api.call('get', '/v1/reviews', { signal, query: { state: 'open', limit: 6, ...(cursor && { cursor }) } }), [])
  const called = useCalled(last, (list.items ?? []).map(r => r.collection))
  return (
    <section>
      <h2>Waits for your decision</h2>
      <Reading of={list} />{!list.items ? null : list.items.length === 0 ? <p class="soft">Nothing. Changes that a policy is not sure of are listed here.</p> : (
        <ul class="lines">
          {list.items.map(r => (
            <li key={r.id}>
              <a class="cover" href={formatRoute({ collection: r.collection, tab: 'reviews' })}><Text most={90} still>{(r.changes[0]?.after ?? r.changes[0]?.before)?.content ?? (r.changes[0]?.call ? `The agent calls ${r.changes[0].call.tool}` : 'A change')}</Text></a>
              <span class="soft small"><bdi>{called(r.collection)}</bdi></span><span class="soft small adds">{sureOf(r)}</span><span class="soft small">{formatAgo(r.created_at, Date.now())}</span>
            </li>
          ))}
          {list.more && <li><button type="button" class="link" onClick={list.more}>Show more</button></li>}
        </ul>
      )}
    </section>
  )
}

function Failed({ last }: { last: readonly Schemas['Collection'][] }) {
  const { api } = useShared()
  const read = useLoad(async signal => {
    // Work that waits for its next try or is in it, such as while a model is down, has the error of its last one.
    const lists = await Promise.all((['failed', 'dead', 'queued', 'running'] as const).map(state => api.call('get', '/v1/jobs', { signal, query: { state, limit: 20 } })))
    const found = new Map(lists.flatMap(l => l.items).filter(j => j.error || ended(j)).map(j => [j.id, j]))
    return [...found.values()].sort((a, b) => b.created_at.localeCompare(a.created_at)).slice(0, 6)
  }, [], useBeat(pulse))
  const called = useCalled(last, (read.data ?? []).map(j => j.collection))
  if (read.data?.length === 0) return null
  return (
    <section>
      <h2>Work that failed</h2>
      <Read of={read}>{jobs => (
        <ul class="lines">
          {jobs.map(j => (
            <li key={j.id}>
              <a class="cover" href={j.collection ? formatRoute({ collection: j.collection, tab: 'jobs' }) : formatRoute({ gateway: true })}>{j.error ? reveal(j.error) : kinds[j.kind] ?? j.kind}</a>
              <span class="soft small">{j.collection && <bdi>{called(j.collection)}</bdi>}</span><span class="soft small adds">{kinds[j.kind] ?? j.kind}{!ended(j) && ', is tried again'}</span><span class="soft small">{formatAgo(j.created_at, Date.now())}</span>
            </li>
          ))}
        </ul>
      )}</Read>
    </section>
  )
}

/** Brings in a file, or connects a client, for a collection of one's choice. */
function Begin({ last, go }: { last: readonly Schemas['Collection'][]; go: Go }) {
  const { changed } = useShared()
  const [id, setId] = useState(last[0]?.id ?? '')
  const [adding, setAdding] = useState(false)
  const c = last.find(c => c.id === id) ?? last[0]
  if (!c) return null
  const finish = () => {
    changed()
    go({ collection: c.id })
  }
  return (
    <section>
      <h2>Bring your history, or connect a client</h2>
      <div class="row">
        <label class="small soft pick">Into <select value={c.id} onChange={e => setId(e.currentTarget.value)}>{last.map(c => <option key={c.id} value={c.id}>{titleOf(c)}</option>)}</select></label>
        <button type="button" class="main" onClick={() => setAdding(true)}>Import a file</button>
      </div>
      <p class="soft small">An export of ChatGPT, Claude, WhatsApp or another program: you see what is understood before anything is stored.{last.length > 1 && <> {count(last.length)} memories to choose from; others have the same under <em>Add</em>.</>}</p>
      <Connect of={c} />
      {adding && <Add to={c.id} first="file" close={() => setAdding(false)} done={finish} />}
    </section>
  )
}
