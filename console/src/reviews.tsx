import type { Schemas } from '@slipbox/client'
import { useState } from 'preact/hooks'
import type { Go } from './collection.tsx'
import { Difference } from './note.tsx'
import { pagingOf, usePages } from './pages.ts'
import { Empty, Problem, State, Text, Waiting } from './parts.tsx'
import type { Route } from './route.ts'
import { useAction, useShared } from './state.ts'
import { formatTime } from './text.ts'

const states = ['open', 'applied', 'approved', 'rejected', 'undone'] as const satisfies readonly Schemas['ReviewState'][]

/** Changes that wait for a decision, and risky ones that can be undone. */
export function Reviews({ collection: c, route, go, changed, fresh }: { collection: Schemas['Collection']; route: Route; go: Go; changed: () => void; fresh: number }) {
  const { api } = useShared()
  const state = states.find(s => s === route.query.state) ?? 'open'
  const list = usePages((cursor, signal) => api.call('get', '/v1/reviews', { signal, query: { collection: c.id, state, limit: 20, ...(cursor && { cursor }) } }), [c.id, state], fresh, pagingOf(route, go))
  return (
    <>
      <div class="row filters">
        <label>Show <select value={state} onChange={e => go({ collection: route.collection ?? c.id, tab: 'reviews', query: { state: e.currentTarget.value } }, true)}>
          <option value="open">what waits</option><option value="applied">made without asking</option><option value="approved">approved</option><option value="rejected">rejected</option><option value="undone">undone</option>
        </select></label>
      </div>
      {list.state === 'failed' ? <Problem error={list.error} again={list.again} /> : !list.items ? <Waiting /> : list.items.length === 0
        ? <Empty title="Nothing to decide"><p>Changes that a policy is not sure of wait here for your decision.</p></Empty>
        : <ul class="cards">{list.items.map(r => <One key={r.id} review={r} done={() => { list.again(); changed() }} />)}</ul>}
      {list.more && <p class="center"><button type="button" onClick={list.more}>Show more</button></p>}
    </>
  )
}

function One({ review: r, done }: { review: Schemas['Review']; done: () => void }) {
  const { api, tell } = useShared()
  const [reason, setReason] = useState('')
  const { busy, error, run } = useAction()
  const own = r.changes.map(change => change.call).find(call => call?.answer === 'result')
  const decide = (what: 'approve' | 'reject' | 'undo') => void run(async () => {
    await api.reviews[what](r.id, reason.trim() === '' ? {} : { reason: reason.trim() })
    tell({ approve: 'Approved.', reject: 'Rejected.', undo: 'Undone.' }[what])
    done()
  })
  return (
    <li class="card">
      <p class="row small soft"><State of={r.state} /><span>{Math.round(r.confidence * 100)} % sure</span><span>{formatTime(r.created_at)}</span></p>
      {r.changes.map(change => change.before && change.after ? <Difference key={change.note} before={change.before} after={change.after} />
        : <div key={change.note} class="version"><Text most={600}>{(change.after ?? change.before)?.content ?? ''}</Text></div>)}
      {own && <p class="small">The agent calls <code>{own.tool}</code>, which its caller runs: the caller posts the result to the run.</p>}
      {r.reason && <p class="small">Reason: <Text most={600}>{r.reason}</Text></p>}
      {error && <Problem error={error} />}
      {r.state === 'open' && (
        <div class="row">
          <input class="grow" aria-label="Reason" placeholder="Reason (optional)" value={reason} onInput={e => setReason(e.currentTarget.value)} />
          {!own && <button type="button" class="main" disabled={busy} onClick={() => decide('approve')}>Approve</button>}
          <button type="button" disabled={busy} onClick={() => decide('reject')}>Reject</button>
        </div>
      )}
      {(r.state === 'applied' || r.state === 'approved') && <button type="button" disabled={busy} onClick={() => decide('undo')}>Undo</button>}
    </li>
  )
}
