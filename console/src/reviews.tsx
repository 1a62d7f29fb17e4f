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
  // Of a merge, the notes that are not approved.
  const [left, setLeft] = useState<ReadonlySet<string>>(new Set())
  const { busy, error, run } = useAction()
  const own = r.changes.map(change => change.call).find(call => call?.answer === 'result')
  const chosen = r.changes.map(change => change.note).filter(note => !left.has(note))
  const part = chosen.length < r.changes.length
  const decide = (what: 'approve' | 'reject' | 'undo') => void run(async () => {
    await api.reviews[what](r.id, { ...(reason.trim() !== '' && { reason: reason.trim() }), ...(what === 'approve' && part && { notes: chosen }) })
    tell({ approve: part ? `Approved ${chosen.length} of ${r.changes.length} notes.` : 'Approved.', reject: 'Rejected.', undo: 'Undone.' }[what])
    done()
  })
  const choose = (note: string, take: boolean) => setLeft(now => {
    const next = new Set(now)
    if (take) next.delete(note)
    else next.add(note)
    return next
  })
  const choosable = r.state === 'open' && r.merge !== undefined && r.changes.length > 1
  return (
    <li class="card">
      <p class="row small soft"><State of={r.state} /><span>{Math.round(r.confidence * 100)} % sure</span><span>{formatTime(r.created_at)}</span></p>
      {r.changes.map(change => (
        <div key={change.note}>
          {choosable && <label class="check small"><input type="checkbox" checked={!left.has(change.note)} onChange={e => choose(change.note, e.currentTarget.checked)} /> {changeOf(change)}</label>}
          {change.before && change.after ? <Difference before={change.before} after={change.after} />
            : <div class="version"><Text most={600}>{(change.after ?? change.before)?.content ?? ''}</Text></div>}
        </div>
      ))}
      {own && <p class="small">The agent calls <code>{own.tool}</code>, which its caller runs: the caller posts the result to the run.</p>}
      {r.reason && <p class="small">Reason: <Text most={600}>{r.reason}</Text></p>}
      {error && <Problem error={error} />}
      {r.state === 'open' && (
        <div class="row">
          <input class="grow" aria-label="Reason" placeholder="Reason (optional)" value={reason} onInput={e => setReason(e.currentTarget.value)} />
          {!own && <button type="button" class="main" disabled={busy || chosen.length === 0} onClick={() => decide('approve')}>{part ? `Approve ${chosen.length} of ${r.changes.length}` : 'Approve'}</button>}
          <button type="button" disabled={busy} onClick={() => decide('reject')}>Reject</button>
        </div>
      )}
      {(r.state === 'applied' || r.state === 'approved') && !r.merge && <button type="button" disabled={busy} onClick={() => decide('undo')}>Undo</button>}
    </li>
  )
}

/** What happens to a note when it is approved. */
function changeOf(change: Schemas['ReviewChange']): string {
  if (!change.before) return 'Add this note'
  return change.after ? 'Change this note' : 'Delete this note'
}
