import type { Schemas } from '@slipbox/client'
import { useState } from 'preact/hooks'
import { Buttons, Dialog, Empty, Problem, Read, Waiting } from './parts.tsx'
import { formatRoute } from './route.ts'
import { useAction, useLoad, useShared } from './state.ts'
import { count, formatTime, plural, reveal } from './text.ts'

/** A place in the past, as the API takes it. */
type Place = Schemas['RollbackRequest']

const nameOf = (to: Place): string => to.snapshot ?? to.at ?? String(to.revision)

/** Reads what was typed: a revision, a time, or the name of a snapshot. */
function placeOf(text: string): Place {
  if (/^\d+$/.test(text)) return { revision: Number(text) }
  return /^\d{4}-\d\d-\d\dT/.test(text) ? { at: text } : { snapshot: text }
}

/** Snapshots of a collection, and the way back to one of them or to any revision. */
export function Past({ collection: c, changed, fresh }: { collection: Schemas['Collection']; changed: () => void; fresh: number }) {
  const { api, tell } = useShared()
  const [name, setName] = useState('')
  const [place, setPlace] = useState('')
  const [to, setTo] = useState<Place>()
  const { busy, error, run } = useAction()
  const read = useLoad(signal => api.call('get', '/v1/collections/{collection}/snapshots', { signal, path: { collection: c.id } }), [c.id], fresh)
  const create = (e: Event) => {
    e.preventDefault()
    void run(async () => {
      const made = await api.call('post', '/v1/collections/{collection}/snapshots', { path: { collection: c.id }, body: { name: name.trim() } })
      tell(`Revision ${count(made.revision)} is called ${made.name}.`)
      setName('')
      read.again()
    })
  }
  const remove = (snapshot: string) => void run(async () => {
    await api.call('delete', '/v1/collections/{collection}/snapshots/{snapshot}', { path: { collection: c.id, snapshot } })
    read.again()
  })
  return (
    <>
      <form class="row filters" onSubmit={create}>
        <label>Snapshot <input required value={name} placeholder="before the trip" aria-label="Name of the snapshot" maxlength={100} onInput={e => setName(e.currentTarget.value)} /></label>
        <button type="submit" class="main" disabled={busy || name.trim() === ''}>Name revision {count(c.head_revision)}</button>
      </form>
      <form class="row filters" onSubmit={e => { e.preventDefault(); setTo(placeOf(place.trim())) }}>
        <label>Revision or time <input required value={place} placeholder="12" aria-label="Revision or time to return to" onInput={e => setPlace(e.currentTarget.value)} /></label>
        <button type="submit" disabled={place.trim() === ''}>Roll back…</button>
      </form>
      {error && <Problem error={error} />}
      <Read of={read}>
        {({ items }) => items.length === 0 ? <Empty title="No snapshots yet"><p>A snapshot is a name for a revision: to return to, and to compare with.</p></Empty> : (
          <ul class="cards">
            {items.map(s => (
              <li key={s.name} class="card">
                <div class="row between">
                  <p><strong><bdi>{reveal(s.name)}</bdi></strong> <span class="soft small">revision {count(s.revision)} · {formatTime(s.created_at)}</span></p>
                  <div class="row">
                    <a href={formatRoute({ collection: c.id, tab: 'compare', query: { against: c.id, at: s.name } })}>Compare</a>
                    <button type="button" onClick={() => setTo({ snapshot: s.name })}>Roll back…</button>
                    <button type="button" class="danger" disabled={busy} onClick={() => remove(s.name)}>Delete</button>
                  </div>
                </div>
              </li>
            ))}
          </ul>
        )}
      </Read>
      {to && <Rollback of={c} to={to} close={() => setTo(undefined)} done={changed} />}
    </>
  )
}

/** Returns to a revision, after what that changes was shown. */
function Rollback({ of: c, to, close, done }: { of: Schemas['Collection']; to: Place; close: () => void; done: () => void }) {
  const { api, tell } = useShared()
  const { busy, error, run } = useAction()
  const plan = useLoad(signal => api.call('get', '/v1/collections/{collection}/diff', { signal, path: { collection: c.id }, query: { against: c.id, against_at: nameOf(to), limit: 200 } }), [c.id, to])
  const submit = async (e: Event) => {
    e.preventDefault()
    await run(async () => {
      const back = await api.call('post', '/v1/collections/{collection}/rollback', { path: { collection: c.id }, body: to })
      tell(back.job ? 'Many notes change: a job returns them.' : back.changed === 0 ? 'It shows that already.' : `It is as it was. A rollback to revision ${count(back.revision - 1)} takes this back.`)
      done()
      close()
    })
  }
  const n = (kind: Schemas['ChangeKind']) => plan.data?.items.filter(i => i.change === kind).length ?? 0
  const sentence = `${plural(n('added'), 'note')} ${n('added') === 1 ? 'is' : 'are'} deleted, ${count(n('removed'))} restored, ${count(n('changed'))} changed back`
  return (
    <Dialog title={`Roll back to ${reveal(nameOf(to))}`} close={close}>
      <form onSubmit={e => void submit(e)}>
        {plan.state === 'failed' ? <Problem error={plan.error} again={plan.again} /> : !plan.data ? <Waiting /> : <p role="status">{sentence}{plan.data.next_cursor && ', and more'}.</p>}
        <p class="soft">It is one change at the end of the log. What came between stays there, and a rollback takes this one back.</p>
        {error && <Problem error={error} />}
        <Buttons busy={busy} close={close} label="Roll back" disabled={!plan.data} />
      </form>
    </Dialog>
  )
}
