import type { Schemas } from '@slipbox/client'
import { useEffect, useRef, useState } from 'preact/hooks'
import type { Go } from './collection.tsx'
import { Delete } from './erase.tsx'
import { pagingOf, usePages } from './pages.ts'
import { Empty, Reading, State, stateWords, Tags, Text } from './parts.tsx'
import { formatRoute, type Route } from './route.ts'
import { Connect } from './start.tsx'
import { useShared, useTyped } from './state.ts'
import { count, formatDay, formatTime, plural } from './text.ts'

const states = ['raw', 'evolved', 'pending', 'in_review'] as const

const orders = { updated: 'last changed', newest: 'newest', oldest: 'oldest' } as const
type Order = keyof typeof orders

/** The order of the notes that an address asks for. In that of the oldest what is added shows up at the end, where it moves nothing. */
export function orderOf(route: Route): Order {
  return (Object.keys(orders) as Order[]).find(o => o === route.query.order) ?? 'newest'
}

/** The filter that an address asks for: a tag, and the days on which a note happened. */
function filterOf({ tag = '', from = '', to = '' }: Record<string, string>): string {
  const day = (text: string, op: 'gte' | 'lt', days: number) => {
    const at = new Date(`${text}T00:00:00`) // in the zone of the reader
    if (Number.isNaN(at.getTime())) return []
    at.setDate(at.getDate() + days)
    return [{ field: 'occurred_at', op, value: at.toISOString() }]
  }
  const leaves = [...(tag.trim() ? [{ field: 'tags', op: 'icontains', value: tag.trim() }] : []), ...day(from, 'gte', 0), ...day(to, 'lt', 1)]
  return leaves.length > 0 ? JSON.stringify({ and: leaves }) : ''
}

/** The notes of a collection, as they are now, newest first unless the address says otherwise. */
export function Notes({ collection: c, route, go, fresh, add, changed }: { collection: Schemas['Collection']; route: Route; go: Go; fresh: number; add: () => void; changed: () => void }) {
  const { api, tell } = useShared()
  const { kind = '', state = '', tag = '', from = '', to = '' } = route.query
  const order = orderOf(route)
  const filter = filterOf(route.query)
  const [typed, setTyped] = useTyped(tag)
  const [words, setWords] = useState('')
  // The notes that are chosen; undefined: none can be.
  const [chosen, setChosen] = useState<ReadonlySet<string>>()
  const [deleting, setDeleting] = useState(false)
  const filtered = kind !== '' || state !== '' || filter !== ''
  const list = usePages((cursor, signal) => api.call('get', '/v1/collections/{collection}/notes', {
    signal, path: { collection: c.id },
    query: { limit: 50, order, ...(filter && { filter }), ...(cursor && { cursor }), ...(kind && { kind: kind as Schemas['Kind'] }), ...(state && { state: state as Schemas['NoteState'] }) },
  }), [c.id, kind, state, order, filter], order === 'oldest' ? `${fresh}/${c.head_revision}` : fresh, pagingOf(route, go))
  // In an empty list nothing can move under the reader's eyes: what comes is shown, such as what a copy or an import brings.
  const empty = list.items?.length === 0
  const seen = useRef(c)
  useEffect(() => {
    if (!empty) return
    if (seen.current.id === c.id && seen.current.head_revision !== c.head_revision) changed()
    seen.current = c
  }, [empty, c.id, c.head_revision])
  const clear = () => set({ kind: '', state: '', tag: '', from: '', to: '' })
  const kinds = Object.keys(c.counts?.kinds ?? {}).sort()
  const set = (change: Record<string, string>) => go({ collection: route.collection ?? c.id, tab: 'notes', query: { ...route.query, ...change, pages: '' } }, true)
  return (
    <>
      {(filtered || list.items?.length !== 0) && <form class="row filters" onSubmit={e => {
        e.preventDefault()
        if (words.trim()) go({ collection: route.collection ?? c.id, tab: 'search', query: { q: words.trim() } })
        else set({ tag: typed.trim() })
      }}>
        <input type="search" data-find dir="auto" aria-label="Search these notes" placeholder="Search these notes" value={words} onInput={e => setWords(e.currentTarget.value)} />
        <label>By <select value={order} onChange={e => set({ order: e.currentTarget.value })}>
          {(Object.keys(orders) as Order[]).map(o => <option key={o} value={o}>{orders[o]}</option>)}
        </select></label>
        <details class="more" open={filtered}><summary>Filter</summary><div class="row">
        <label>Kind <select value={kind} onChange={e => set({ kind: e.currentTarget.value })}>
          <option value="">all</option>{kinds.map(k => <option key={k}>{k}</option>)}
        </select></label>
        <label>State <select value={state} onChange={e => set({ state: e.currentTarget.value })}>
          <option value="">all</option>{states.map(s => <option key={s} value={s}>{stateWords[s] ?? s}</option>)}
        </select></label>
        <label>Tag <input class="word" dir="auto" value={typed} onInput={e => setTyped(e.currentTarget.value)} onChange={() => set({ tag: typed.trim() })} /></label>
        <label>From <input type="date" value={from} onChange={e => set({ from: e.currentTarget.value })} /></label>
        <label>To <input type="date" value={to} onChange={e => set({ to: e.currentTarget.value })} /></label>
        {filtered && <button type="button" onClick={clear}>Show all</button>}
        </div></details>
        <button type="submit" hidden>Search</button>
        {chosen ? <>
          <button type="button" class="danger" disabled={chosen.size === 0} onClick={() => setDeleting(true)}>{chosen.size === 0 ? 'Delete' : `Delete ${count(chosen.size)}`}</button>
          <button type="button" onClick={() => setChosen(undefined)}>Cancel</button>
        </> : <button type="button" onClick={() => setChosen(new Set())}>Select</button>}
      </form>}
      {deleting && chosen && <Delete collection={c.id} ids={[...chosen]} close={() => setDeleting(false)} done={said => { tell(said); setChosen(undefined); changed() }} />}
      <Reading of={list} />{!list.items ? null : list.items.length === 0 ? (
        filtered ? <Empty title="No note is like that"><p>Widen the filter, or search by what the note says.</p><p><button type="button" onClick={clear}>Show all</button></p></Empty>
          : <Empty title="Nothing is remembered here yet"><p>Add a note or a conversation, or connect a client:</p>
            <p><button type="button" class="main" onClick={add}>Add</button></p><Connect of={c} /></Empty>
      ) : (
        <>
          <ul class={`cards notes ${kinds.length > 1 && kind === '' ? 'kinds' : ''}`}>{list.items.map(n => <Row key={n.id} note={n} collection={c.id} kinds={kinds.length > 1 && kind === ''} {...(chosen && { chosen: chosen.has(n.id), choose: () => setChosen(toggled(chosen, n.id)) })} />)}</ul>
          {list.more && <p class="center"><button type="button" onClick={list.more} disabled={list.state === 'loading'}>Show more</button></p>}
        </>
      )}
    </>
  )
}

function toggled(set: ReadonlySet<string>, id: string): ReadonlySet<string> {
  const next = new Set(set)
  if (!next.delete(id)) next.add(id)
  return next
}

/** What a state says that is not so of most notes. */
const telling = new Set(['pending', 'in_review', 'failed'])

/** A note in a list: one line of it, and beside it what tells it from the others. */
export function Row({ note: n, collection, kinds, chosen, choose }: { note: Schemas['Note']; collection: string; kinds: boolean; chosen?: boolean; choose?: () => void }) {
  const at = n.occurred_at ?? n.created_at
  return (
    <li class={`card ${choose ? 'choosable' : ''}`}>
      {choose && <input type="checkbox" checked={chosen} onChange={choose} aria-label={`Select: ${n.content.slice(0, 60)}`} />}
      <a class="cover" href={formatRoute({ collection, note: n.id })}><Text most={300} still>{n.content}</Text></a>
      <div class="facts small soft">
        <div><Tags words={[...new Set([...n.tags, ...n.keywords])].slice(0, 4)} label="Tags and keywords" /></div>
        {kinds && <span>{n.kind}</span>}<span>{telling.has(n.state) && <State of={n.state} />}</span>
        <span>{n.links.length > 0 && plural(n.links.length, 'link')}</span><span title={formatTime(at)}>{formatDay(at)}</span>
      </div>
    </li>
  )
}
