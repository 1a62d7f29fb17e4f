import type { Schemas } from '@slipbox/client'
import { useState } from 'preact/hooks'
import type { Go } from './collection.tsx'
import { Difference, Linked } from './note.tsx'
import { pagingOf, usePages } from './pages.ts'
import { Empty, Problem, Reading, State, Text } from './parts.tsx'
import { formatRoute, type Route } from './route.ts'
import { useAction, useShared } from './state.ts'
import { formatTime, reveal } from './text.ts'

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
      <Reading of={list} />{!list.items ? null : list.items.length === 0
        ? <Empty title="Nothing to decide"><p>Changes that a policy is not sure of wait here for your decision.</p></Empty>
        : <ul class="cards">{list.items.map(r => <One key={r.id} review={r} done={() => { list.again(); changed() }} />)}</ul>}
      {list.more && <p class="center"><button type="button" onClick={list.more}>Show more</button></p>}
    </>
  )
}

/** Says how sure the policy is of a change; nothing for a call, of which no policy says so. */
export const sureOf = (r: Schemas['Review']): string => (r.changes.some(change => change.call) ? '' : `${Math.round(r.confidence * 100)} % sure`)

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
      <p class="row small soft"><State of={r.state} /><span>{sureOf(r)}</span><span>{formatTime(r.created_at)}</span></p>
      {r.changes.map(change => (
        <div key={change.note} class="change">
          {choosable ? <label class="check small"><input type="checkbox" checked={!left.has(change.note)} onChange={e => choose(change.note, e.currentTarget.checked)} /> {changeOf(change)}</label>
            : <p class="small soft">{changeOf(change)}</p>}
          <Proposed change={change} review={r} />
        </div>
      ))}
      {own && <p class="small">Its caller runs this tool: the caller posts the result to the run.</p>}
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

/** What is decided about: the text of the note with what changes in it, the notes that it is linked to, or the call of a tool. */
function Proposed({ change: { note, before, after, links = [], call }, review: r }: { change: Schemas['ReviewChange']; review: Schemas['Review'] }) {
  if (call) return <><p class="small"><code>{reveal(call.tool)}</code></p><pre tabindex={0}>{reveal(JSON.stringify(call.arguments, null, 2))}</pre></>
  const kept = before && after?.content === before.content
  const text = kept || !before || !after ? (after ?? before)?.content : undefined
  const added = new Map(r.changes.map(c => [c.note, c.before ? undefined : c.after?.content]))
  return (
    <>
      {text !== undefined && <div class="version"><Text most={600}>{text}</Text></div>}
      {before && after && <Difference before={before} after={after} same={links.length === 0} />}
      {links.length > 0 && (
        <ul class="links small" aria-label="Links that are added">
          {links.map(l => {
            const target = added.get(l.target)
            return <li key={`${l.target}${l.relation}`}><ins>link</ins> <span class="soft">{reveal(l.relation)} · {Math.round(l.confidence * 100)} % to</span> {target === undefined ? <Linked collection={r.collection} id={l.target} /> : <Text most={120} still>{target}</Text>}</li>
          })}
        </ul>
      )}
      {before && <p class="small"><a href={formatRoute({ collection: r.collection, note })}>Open the note</a></p>}
    </>
  )
}

/** What happens when it is approved. */
function changeOf({ before, after, links, call }: Schemas['ReviewChange']): string {
  if (call) return 'The agent calls a tool'
  if (!before) return 'Add this note'
  if (!after) return 'Delete this note'
  return (links?.length ?? 0) > 0 && after.content === before.content ? 'Link this note' : 'Change this note'
}
