import type { Schemas } from '@slipbox/client'
import { useEffect, useRef, useState } from 'preact/hooks'
import type { Go } from './collection.tsx'
import { usePages } from './pages.ts'
import { Empty, Reading } from './parts.tsx'
import { formatRoute, type Route } from './route.ts'
import { useShared, useSettled, useTyped } from './state.ts'
import { count, formatAgo, formatTime, reveal } from './text.ts'
import { titleOf } from './tree.ts'
import { windowOf } from './window.ts'

const orders = { updated: 'last written', newest: 'newest', oldest: 'oldest', user: 'id' } as const
type Order = keyof typeof orders

/** The height of a row, in pixels. */
const rowHeight = 44

/** The collections that applications call by their own ids: one for each user, or for a user with an agent, an app or a run. */
export function Users({ route, go }: { route: Route; go: Go }) {
  const { api } = useShared()
  const order = (Object.keys(orders) as Order[]).find(o => o === route.query.order) ?? 'updated'
  const { q = '' } = route.query
  const [text, setText] = useTyped(q)
  const settled = useSettled(text.trim())
  const set = (change: Record<string, string>) => go({ users: true, query: { ...route.query, ...change } }, true)
  useEffect(() => { if (settled !== q) set({ q: settled }) }, [settled])
  const list = usePages((cursor, signal) => api.call('get', '/v1/collections', {
    signal, query: { named: 'true', order, limit: 200, ...(q && { q }), ...(cursor && { cursor }) },
  }), [order, q])
  return (
    <div class="users">
      <div class="head"><div><h1>Users</h1><p class="soft">Memories that applications call by their own ids.</p></div></div>
      <div class="row filters">
        <input type="search" class="grow" dir="auto" data-find aria-label="Find a user" placeholder="A part of an id, a title or a name" value={text} onInput={e => setText(e.currentTarget.value)} />
        <label>By <select value={order} onChange={e => set({ order: e.currentTarget.value })}>
          {(Object.keys(orders) as Order[]).map(o => <option key={o} value={o}>{orders[o]}</option>)}
        </select></label>
      </div>
      <Reading of={list} />{!list.items ? null
        : list.items.length === 0 ? q ? <Empty title="Nobody is called like that"><p>Try a part of the id, in any letter case.</p><p><button type="button" onClick={() => { setText(''); set({ q: '' }) }}>Show all</button></p></Empty>
          : <Empty title="No users yet"><p>An application names a user with each request, and its memory begins with the first one. <a href={formatRoute({})}>Connect a client</a></p></Empty>
        : <Rows items={list.items} more={list.more} busy={list.state === 'loading'} />}
    </div>
  )
}

/** Rows of which only those are drawn that are seen; more are read before their end is reached. */
function Rows({ items, more, busy }: { items: Schemas['Collection'][]; more: (() => void) | undefined; busy: boolean }) {
  const body = useRef<HTMLDivElement>(null)
  const [seen, setSeen] = useState({ first: 0, last: 60 })
  useEffect(() => {
    const look = () => {
      const top = -(body.current?.getBoundingClientRect().top ?? 0)
      setSeen(windowOf(top, innerHeight, rowHeight, items.length))
    }
    look()
    addEventListener('scroll', look, { passive: true })
    addEventListener('resize', look)
    return () => {
      removeEventListener('scroll', look)
      removeEventListener('resize', look)
    }
  }, [items.length])
  useEffect(() => { if (more && !busy && seen.last > items.length - 60) more() }, [seen.last, items.length, busy])
  const now = Date.now()
  return (
    <>
    <div role="table" aria-label="Users" aria-rowcount={more ? -1 : items.length + 1}>
      <div role="row" aria-rowindex={1} class="user soft small"><span role="columnheader">Id</span><span role="columnheader">Last written</span><span role="columnheader">Notes</span><span role="columnheader" title="Changes that wait for a decision">Decide</span></div>
      <div role="rowgroup" ref={body} style={{ height: `${items.length * rowHeight}px`, paddingTop: `${seen.first * rowHeight}px` }}>
        {items.slice(seen.first, seen.last).map((c, i) => (
          <div key={c.id} role="row" aria-rowindex={seen.first + i + 2} class="user">
            <span role="cell"><a class="cover" href={formatRoute({ collection: c.id })} title={`${c.name}, policy ${c.policy}`}><bdi>{reveal(titleOf(c))}</bdi></a></span>
            <span role="cell" class="soft" title={formatTime(c.updated_at)}>{formatAgo(c.updated_at, now)}</span>
            <span role="cell" data-label={c.counts?.notes === 1 ? 'note' : 'notes'}>{c.counts ? count(c.counts.notes) : '…'}</span>
            <span role="cell" data-label={c.counts && c.counts.in_review > 0 ? 'to decide' : ''}>{c.counts && c.counts.in_review > 0 ? <a href={formatRoute({ collection: c.id, tab: 'reviews' })}>{count(c.counts.in_review)}</a> : '—'}</span>
          </div>
        ))}
      </div>
    </div>
    <p class="soft small" role="status">{more ? `The first ${count(items.length)}; more are read as you scroll.` : `${count(items.length)} in all.`}</p>
    </>
  )
}
