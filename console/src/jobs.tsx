import type { Schemas } from '@slipbox/client'
import { useState } from 'preact/hooks'
import type { Go } from './collection.tsx'
import { useFollow } from './live.ts'
import { pagingOf, usePages } from './pages.ts'
import { Empty, Problem, Reading, State, stateWords } from './parts.tsx'
import { formatRoute, type Route } from './route.ts'
import { useAction, useShared } from './state.ts'
import { count, formatSpan, formatTime, reveal } from './text.ts'

/** The jobs of a collection, newest first. Those that run are followed. */
export function Jobs({ collection: c, route, go, fresh }: { collection: Schemas['Collection']; route: Route; go: Go; fresh: number }) {
  const { api } = useShared()
  const [round, setRound] = useState(0)
  const [seen, setSeen] = useState<Record<string, Schemas['Job']>>({})
  const state = states.find(s => s === route.query.state)
  const kind = Object.keys(kinds).find(k => k === route.query.kind)
  const list = usePages((cursor, signal) => api.call('get', '/v1/jobs', {
    signal, query: { collection: c.id, limit: 50, ...(state && { state }), ...(kind && { kind }), ...(cursor && { cursor }) },
  }), [c.id, state, kind], `${fresh}/${round}`, pagingOf(route, go))
  const set = (change: Record<string, string>) => go({ collection: route.collection ?? c.id, tab: 'jobs', query: { ...route.query, ...change, pages: '' } }, true)
  const filters = (
    <div class="row filters">
      <label>Show <select value={state ?? ''} onChange={e => set({ state: e.currentTarget.value })}><option value="">all states</option>{states.map(s => <option key={s} value={s}>{stateWords[s] ?? s}</option>)}</select></label>
      <label>Work <select value={kind ?? ''} onChange={e => set({ kind: e.currentTarget.value })}><option value="">all</option>{Object.entries(kinds).map(([k, title]) => <option key={k} value={k}>{title}</option>)}</select></label>
    </div>
  )
  const jobs = list.items?.map(j => seen[j.id] ?? j)
  // One at a time: a browser has few connections to an origin. A job that cannot be followed is read again.
  const running = jobs?.find(j => j.state === 'running' || j.state === 'queued')
  const again = () => {
    setSeen({})
    setRound(n => n + 1)
  }
  useFollow(running?.id, last => { if (!last || !ended(last)) again() }, job => setSeen(old => ({ ...old, [job.id]: job })))
  if (!jobs) return <Reading of={list} />
  if (jobs.length === 0 && (state || kind)) return <>{filters}<Empty title="No job is like that"><p><button type="button" onClick={() => set({ state: '', kind: '' })}>Show all</button></p></Empty></>
  if (jobs.length === 0) return <Empty title="No jobs"><p>Work that goes on after an answer, such as that of a policy, shows up here.</p></Empty>
  return (
    <>
      {filters}
      <Reading of={list} />
      <div class="scroll" tabindex={0} role="region" aria-label="Jobs">
        <table class="stacked jobs">
          <thead><tr><th scope="col">Work</th><th scope="col">State</th><th scope="col">Asked for</th><th scope="col">Took</th><th scope="col">Do</th></tr></thead>
          <tbody>{jobs.map(j => <Row key={j.id} job={j} collection={c.id} again={again} />)}</tbody>
        </table>
      </div>
      {list.more && <p class="center"><button type="button" onClick={list.more}>Show more</button></p>}
    </>
  )
}

const states = ['queued', 'running', 'done', 'failed', 'dead', 'cancelled'] as const satisfies readonly Schemas['JobState'][]

/** What the kinds of work are called to people. */
export const kinds: Record<string, string> = {
  note: 'look at a note', exchange: 'look at an exchange', policy: 'later work', step: 'run of the agent', flush: 'make room in the window', consolidate: 'consolidate', refresh: 'refresh', import: 'import',
  copy: 'copy', adopt: 'adopt', remove: 'remove', reembed: 'new vectors', erase: 'erase', file: 'read a file',
}

/** Whether no try of a job comes any more. */
export const ended = (j: Schemas['Job']): boolean => ['done', 'failed', 'dead', 'cancelled'].includes(j.state)

function Row({ job: j, collection, again }: { job: Schemas['Job']; collection: string; again: () => void }) {
  const { api } = useShared()
  const { busy, error, run } = useAction()
  const act = (work: () => Promise<unknown>) => void run(async () => {
    await work()
    again()
  })
  return (
    <tr>
      <td data-label="Work">{j.note ? <a href={formatRoute({ collection, note: j.note })}>{kinds[j.kind] ?? j.kind}</a> : kinds[j.kind] ?? j.kind}</td>
      <td data-label="State"><div class="line"><State of={j.state} />
        {j.progress && <><progress max={j.progress.total} value={j.progress.done} aria-label="Progress" /><span class="small soft">{count(j.progress.done)} of {count(j.progress.total)}</span></>}
        {j.error && <details class="small"><summary title={reveal(j.error)}>{reveal(j.error)}</summary></details>}</div>{error && <Problem error={error} />}</td>
      <td data-label="Asked for">{formatTime(j.created_at)}</td>
      <td data-label="Took" title={j.finished_at && `until ${formatTime(j.finished_at)}`}>{j.finished_at && <>{j.worked_ms !== undefined && formatSpan(j.worked_ms)} <span class="small soft">waited {formatSpan(Date.parse(j.finished_at) - Date.parse(j.created_at) - (j.worked_ms ?? 0))}</span></>}</td>
      <td data-label="Do">{!ended(j) ? <button type="button" disabled={busy} onClick={() => act(() => api.jobs.cancel(j.id))}>Cancel</button>
        : j.state !== 'done' ? <button type="button" disabled={busy} onClick={() => act(() => api.jobs.retry(j.id))}>Retry</button> : ''}</td>
    </tr>
  )
}
