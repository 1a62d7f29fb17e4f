import type { Schemas } from '@slipbox/client'
import type { Go } from './collection.tsx'
import { pagingOf, usePages } from './pages.ts'
import { Empty, Problem, State, Tags, Text, Waiting } from './parts.tsx'
import { formatRoute, type Route } from './route.ts'
import { Connect } from './start.tsx'
import { useShared } from './state.ts'
import { formatDay, formatTime, plural } from './text.ts'

const states = ['raw', 'evolved', 'pending', 'in_review'] as const

/** The notes of a collection, oldest first, as they are now: what is added shows up at their end. */
export function Notes({ collection: c, route, go, fresh, add }: { collection: Schemas['Collection']; route: Route; go: Go; fresh: number; add: () => void }) {
  const { api } = useShared()
  const { kind = '', state = '' } = route.query
  const list = usePages((cursor, signal) => api.call('get', '/v1/collections/{collection}/notes', {
    signal, path: { collection: c.id },
    query: { limit: 50, ...(cursor && { cursor }), ...(kind && { kind: kind as Schemas['Kind'] }), ...(state && { state: state as Schemas['NoteState'] }) },
  }), [c.id, kind, state], `${fresh}/${c.head_revision}`, pagingOf(route, go))
  const kinds = Object.keys(c.counts?.kinds ?? {}).sort()
  const set = (change: Record<string, string>) => go({ collection: route.collection ?? c.id, tab: 'notes', query: { ...route.query, ...change, pages: '' } }, true)
  return (
    <>
      {(kind || state || list.items?.length !== 0) && <div class="row filters">
        <label>Kind <select value={kind} onChange={e => set({ kind: e.currentTarget.value })}>
          <option value="">all</option>{kinds.map(k => <option key={k}>{k}</option>)}
        </select></label>
        <label>State <select value={state} onChange={e => set({ state: e.currentTarget.value })}>
          <option value="">all</option>{states.map(s => <option key={s} value={s}>{s.replace('_', ' ')}</option>)}
        </select></label>
      </div>}
      {list.state === 'failed' ? <Problem error={list.error} again={list.again} /> : !list.items ? <Waiting /> : list.items.length === 0 ? (
        kind || state ? <Empty title="No note is like that"><button type="button" onClick={() => set({ kind: '', state: '' })}>Show all</button></Empty>
          : <Empty title="Nothing is remembered here yet"><p>Add a note or a conversation, or connect a client:</p>
            <p><button type="button" class="main" onClick={add}>Add</button></p><Connect collection={c.name} /></Empty>
      ) : (
        <>
          <ul class={`cards notes ${c.policy === 'amem' ? 'described' : ''}`}>{list.items.map(n => <Card key={n.id} note={n} collection={c.id} />)}</ul>
          {list.more && <p class="center"><button type="button" onClick={list.more} disabled={list.state === 'loading'}>Show more</button></p>}
        </>
      )}
    </>
  )
}

/** A note in a list. */
export function Card({ note: n, collection }: { note: Schemas['Note']; collection: string }) {
  return (
    <li class="card">
      <a class="cover" href={formatRoute({ collection, note: n.id })}><Text most={300} still>{n.content}</Text></a>
      <div class="facts small soft">
        <span>{n.kind}</span><span><State of={n.state} /></span><span><span class="clock">{formatTime(n.occurred_at ?? n.created_at)}</span><span class="day">{formatDay(n.occurred_at ?? n.created_at)}</span></span>
        <span>{n.links.length > 0 && plural(n.links.length, 'link')}</span>
        <div><Tags words={n.keywords.slice(0, 6)} label="Keywords" /></div>
      </div>
    </li>
  )
}
