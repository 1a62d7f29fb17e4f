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
  const [seen, setSeen] = useState<Record<string, Schemas['Job']>>({})
  const list = usePages((cursor, signal) => api.call('get', '/v1/jobs', { signal, query: { collection: c.id, limit: 50, ...(cursor && { cursor }) } }), [c.id], `${fresh}/${round}`, pagingOf(route, go))
  const jobs = list.items?.map(j => seen[j.id] ?? j)
  // One at a time: a browser has few connections to an origin. A job that cannot be followed is read again.
  const running = jobs?.find(j => j.state === 'running' || j.state === 'queued')
  const again = () => {
    setSeen({})
    setRound(n => n + 1)
  }
  useFollow(running?.id, last => { if (!last || !ended(last)) again() }, job => setSeen(old => ({ ...old, [job.id]: job })))
  if (list.state === 'failed') return <Problem error={list.error} again={list.again} />
  if (!jobs) return <Waiting />
  if (jobs.length === 0) return <Empty title="No jobs"><p>Work that goes on after an answer, such as that of a policy, shows up here.</p></Empty>
  return (
    <>
      <div class="scroll" tabindex={0} role="region" aria-label="Jobs">
        <table class="stacked jobs">
          <thead><tr><th scope="col">Job</th><th scope="col">State</th><th scope="col">Begun</th><th scope="col">Ended</th><th scope="col">Note</th><th scope="col">Do</th></tr></thead>
          <tbody>{jobs.map(j => <Row key={j.id} job={j} collection={c.id} again={again} />)}</tbody>
        </table>
      </div>
      {list.more && <p class="center"><button type="button" onClick={list.more}>Show more</button></p>}
    </>
  )
}

const ended = (j: Schemas['Job']): boolean => ['done', 'failed', 'dead', 'cancelled'].includes(j.state)

function Row({ job: j, collection, again }: { job: Schemas['Job']; collection: string; again: () => void }) {
  const { api } = useShared()
  const { busy, error, run } = useAction()
  const act = (work: () => Promise<unknown>) => void run(async () => {
    await work()
    again()
  })
  return (
    <tr>
      <td data-label="Job">{j.kind}</td>
      <td data-label="State"><div class="line"><State of={j.state} />
        {j.progress && <><progress max={j.progress.total} value={j.progress.done} aria-label="Progress" /><span class="small soft">{count(j.progress.done)} of {count(j.progress.total)}</span></>}
        {j.error && <details class="small"><summary title={reveal(j.error)}>{reveal(j.error)}</summary></details>}</div>{error && <Problem error={error} />}</td>
      <td data-label="Begun">{formatTime(j.created_at)}</td>
      <td data-label="Ended">{formatTime(j.finished_at)}</td>
      <td data-label="Note">{j.note ? <a href={formatRoute({ collection, note: j.note })}>note</a> : '—'}</td>
      <td data-label="Do">{!ended(j) ? <button type="button" disabled={busy} onClick={() => act(() => api.jobs.cancel(j.id))}>Cancel</button>
        : j.state !== 'done' ? <button type="button" disabled={busy} onClick={() => act(() => api.jobs.retry(j.id))}>Retry</button> : '—'}</td>
    </tr>
  )
}
