import type { Schemas } from '@slipbox/client'
import { useState } from 'preact/hooks'
import { useFollow, type Go } from './collection.tsx'
import { pagingOf, usePages } from './pages.ts'
import { Empty, Problem, State, Waiting } from './parts.tsx'
import { formatRoute, type Route } from './route.ts'
import { useAction, useShared } from './state.ts'
import { count, formatTime, reveal } from './text.ts'

/** The jobs of a collection, newest first. Those that run are followed. */
export function Jobs({ collection: c, route, go, fresh }: { collection: Schemas['Collection']; route: Route; go: Go; fresh: number }) {
  const { api } = useShared()
  const [round, setRound] = useState(0)
  const list = usePages((cursor, signal) => api.call('get', '/v1/jobs', { signal, query: { collection: c.id, limit: 50, ...(cursor && { cursor }) } }), [c.id], `${fresh}/${round}`, pagingOf(route, go))
  // One at a time: a browser has few connections to an origin.
  const running = list.items?.find(j => j.state === 'running' || j.state === 'queued')
  const [seen, setSeen] = useState<Schemas['Job']>()
  useFollow(running?.id, () => setRound(n => n + 1), setSeen)
  if (list.state === 'failed') return <Problem error={list.error} again={list.again} />
  if (!list.items) return <Waiting />
  if (list.items.length === 0) return <Empty title="No jobs"><p>Work that goes on after an answer, such as that of a policy, shows up here.</p></Empty>
  return (
    <>
      <div class="scroll" tabindex={0} role="region" aria-label="Jobs">
        <table>
          <thead><tr><th scope="col">Job</th><th scope="col">State</th><th scope="col">Begun</th><th scope="col">Ended</th><th scope="col">Note</th><th scope="col">Do</th></tr></thead>
          <tbody>{list.items.map(j => <Row key={j.id} job={seen?.id === j.id ? seen : j} collection={c.id} again={() => setRound(n => n + 1)} />)}</tbody>
        </table>
      </div>
      {list.more && <p class="center"><button type="button" onClick={list.more}>Show more</button></p>}
    </>
  )
}

function Row({ job: j, collection, again }: { job: Schemas['Job']; collection: string; again: () => void }) {
  const { api } = useShared()
  const { busy, error, run } = useAction()
  const act = (work: () => Promise<unknown>) => void run(async () => {
    await work()
    again()
  })
  const ended = ['done', 'failed', 'dead', 'cancelled'].includes(j.state)
  return (
    <tr>
      <td>{j.kind}</td>
      <td><State of={j.state} />{j.progress && <span class="small soft"> <progress max={j.progress.total} value={j.progress.done} aria-label="Progress" /> {count(j.progress.done)} of {count(j.progress.total)}</span>}{j.error && <p class="small">{reveal(j.error)}</p>}{error && <Problem error={error} />}</td>
      <td>{formatTime(j.created_at)}</td>
      <td>{formatTime(j.finished_at)}</td>
      <td>{j.note ? <a href={formatRoute({ collection, note: j.note })}>note</a> : '—'}</td>
      <td>{!ended ? <button type="button" disabled={busy} onClick={() => act(() => api.jobs.cancel(j.id))}>Cancel</button>
        : j.state !== 'done' ? <button type="button" disabled={busy} onClick={() => act(() => api.jobs.retry(j.id))}>Retry</button> : '—'}</td>
    </tr>
  )
}
