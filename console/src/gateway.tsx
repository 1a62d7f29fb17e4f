import type { Schemas } from '@slipbox/client'
import { useRef, useState } from 'preact/hooks'
import { DayBars } from './chart.tsx'
import type { Go } from './collection.tsx'
import { daysBefore, everyDay, formatBytes } from './days.ts'
import { Fill } from './fill.tsx'
import { useNames } from './names.ts'
import { usePages } from './pages.ts'
import { Grants, Keys } from './keys.tsx'
import { admin, Listing, NoScope, operators, Refused } from './listing.tsx'
import { Buttons, Dialog, Field, Problem, Read, State, Text, Waiting } from './parts.tsx'
import { formatRoute, type Route } from './route.ts'
import { useAction, useBeat, useLoad, useShared, type Loaded } from './state.ts'
import { count, formatTime, reveal } from './text.ts'
import { titleOf } from './tree.ts'
import { spans } from './usage.tsx'

/** How often health is asked for, in milliseconds. */
const pulse = 10_000

/** For those who run the gateway: whether it is well, what this tenant uses, and all tenants. Each part says what it needs. */
export function Gateway({ route, go, collections, operator }: { route: Route; go: Go; collections: readonly Schemas['Collection'][]; operator: boolean | undefined }) {
  const { api } = useShared()
  const days = spans.find(s => s === route.query.days) ?? '30'
  const use = useLoad(signal => api.call('get', '/v1/usage', { signal, query: { from: daysBefore(Number(days) - 1, Date.now()) } }), [days])
  return (
    <div class="inside">
      <h1>Gateway</h1>
      <Health />
      <OwnTenant use={use} days={days} go={go} collections={collections} />
      {/* A key of an operator reads no memory and has no tenant. Another one is not asked what only an operator may. */}
      {operator === undefined || operator && use.state === 'loading' ? <Waiting /> : operator && !use.data ? <Tenants /> : <section><h2>Tenants</h2><NoScope {...operators} /></section>}
    </div>
  )
}

function Health() {
  const { api } = useShared()
  const read = useLoad(async signal => {
    const [ready, version] = await Promise.all([api.call('get', '/readyz', { signal, retries: 0 }), api.call('get', '/version', { signal, retries: 0 })])
    return { ready, version }
  }, [], useBeat(pulse))
  return (
    <section>
      <h2>Health</h2>
      {read.state === 'failed' ? <Problem error={read.error} again={read.again}><p>On the gateway's machine, <code>gateway doctor</code> says which part fails and how to mend it.</p></Problem> : !read.data ? <Waiting /> : (
        <>
          <ul class="fills" aria-label="Parts">
            {Object.entries(read.data.ready.checks).sort(([a], [b]) => a.localeCompare(b)).map(([name, state]) => (
              <li key={name} class="fill"><h2>{name.replaceAll('_', ' ')}</h2><p><span class={`state ${state === 'ok' ? 'done' : state === 'degraded' ? 'pending' : 'failed'}`}>{state}</span></p></li>
            ))}
          </ul>
          {read.data.ready.notices?.map(n => <p key={n} class="prose">{n}</p>)}
          <p class="soft small">Version {read.data.version.version}. Asked for every {pulse / 1000} seconds. <code>gateway doctor</code> checks settings, clocks, model and embedder, too.</p>
          <p class="soft small">Latency, the queue, indexes and calls of models are metrics, in the format of Prometheus: at <code>/metrics</code> of each gateway, or of the address that <code>SLIPBOX_METRICS_ADDR</code> says. The Helm chart has dashboards for them.</p>
        </>
      )}
    </section>
  )
}

const limits: { name: keyof Schemas['Limits']; title: string }[] = [
  { name: 'collections', title: 'collections' }, { name: 'forks', title: 'forks' }, { name: 'notes', title: 'notes' }, { name: 'stored_bytes', title: 'bytes stored' },
  { name: 'queued_jobs', title: 'jobs that wait' }, { name: 'model_tokens_per_day', title: 'model tokens a day' },
  { name: 'parse_seconds_per_hour', title: 'seconds an hour for reading files' },
  { name: 'requests_per_minute', title: 'requests a minute' }, { name: 'requests_per_second', title: 'requests a second' },
]

function OwnTenant({ use: read, days, go, collections }: { use: Loaded<Schemas['Usage']> & { again: () => void }; days: string; go: Go; collections: readonly Schemas['Collection'][] }) {
  return (
    <>
      <section>
        <div class="row between"><h2>This tenant</h2><label class="small soft">Show <select value={days} onChange={e => go({ gateway: true, query: { days: e.currentTarget.value } }, true)}>
          {spans.map(s => <option key={s} value={s}>the last {s} days</option>)}
        </select></label></div>
        {read.state === 'failed' ? <Refused error={read.error} again={read.again} {...admin} /> : (
          <Read of={read}>{u => <Use usage={u} />}</Read>
        )}
      </section>
      {read.state !== 'failed' && <><Agents collections={collections} /><Keys /><Grants /><Audit collections={collections} /></>}
    </>
  )
}

function Use({ usage: u }: { usage: Schemas['Usage'] }) {
  const byDay = new Map<string, { calls: number; 'tokens read': number; 'tokens written': number }>()
  for (const m of u.model) {
    const d = byDay.get(m.day) ?? { calls: 0, 'tokens read': 0, 'tokens written': 0 }
    byDay.set(m.day, { calls: d.calls + m.calls, 'tokens read': d['tokens read'] + m.prompt_tokens, 'tokens written': d['tokens written'] + m.completion_tokens })
  }
  const now = byDay.get(u.to)
  const days = everyDay(u.from, u.to, [...byDay].map(([day, counts]) => ({ day, counts })))
  return (
    <>
      <ul class="fills" aria-label="Use and limits">
        <Fill title="Collections" has={u.collections} of={u.limits.collections} />
        <Fill title="Forks" has={u.forks} of={u.limits.forks} />
        <Fill title="Notes" has={u.notes} of={u.limits.notes} />
        <Fill title="Stored" has={u.stored_bytes} of={u.limits.stored_bytes} read={formatBytes} />
        <Fill title="Jobs that wait" has={u.queued_jobs ?? 0} of={u.limits.queued_jobs} />
        <Fill title="Model tokens today" has={now ? now['tokens read'] + now['tokens written'] : 0} of={u.limits.model_tokens_per_day} />
      </ul>
      {u.model.length === 0 ? <p class="soft">No model was asked in this time.</p> : <DayBars title="Model tokens" days={days} series={['tokens read', 'tokens written']} />}
    </>
  )
}

/** The agents of the tenant, with the collections that each has. */
function Agents({ collections }: { collections: readonly Schemas['Collection'][] }) {
  const { api } = useShared()
  const list = usePages((cursor, signal) => api.call('get', '/v1/agents', { signal, query: { limit: 50, ...(cursor && { cursor }) } }), [])
  return (
    <Listing title="Agents" list={list} {...admin} columns={['Agent', 'Collections', 'Created']}
      empty="None yet. An agent is there as soon as a key, a token or a collection names it. Collections of no agent are shared by all."
      row={a => (
        <tr key={a.id}>
          <td data-label="Agent"><bdi>{reveal(a.display_name ?? a.name)}</bdi></td>
          <td data-label="Collections"><ul class="row">{collections.filter(c => c.agent === a.name).map(c => <li key={c.id}><a href={formatRoute({ collection: c.id })}><bdi>{reveal(titleOf(c))}</bdi></a></li>)}</ul></td>
          <td data-label="Created">{formatTime(a.created_at)}</td>
        </tr>
      )} />
  )
}

/** Who changed keys, agents, tenants and collections, newest first. */
function Audit({ collections }: { collections: readonly Schemas['Collection'][] }) {
  const { api } = useShared()
  const names = useNames()
  const [action, setAction] = useState('')
  const [target, setTarget] = useState<string>()
  const list = usePages((cursor, signal) => api.call('get', '/v1/audit', { signal, query: { limit: 20, ...(action && { action }), ...(target && { target }), ...(cursor && { cursor }) } }), [action, target])
  const seen = useRef(new Set<string>())
  for (const e of list.items ?? []) seen.current.add(e.action)
  const called = (id: string) => {
    const c = collections.find(c => c.id === id)
    return c ? reveal(titleOf(c)) : reveal(names(id))
  }
  return (
    <Listing title="Audit log" filters={(
      <div class="row filters">
        <label>Action <select value={action} onChange={e => setAction(e.currentTarget.value)}><option value="">all</option>{[...seen.current].sort().map(a => <option key={a}>{a}</option>)}</select></label>
        {target && <button type="button" onClick={() => setTarget(undefined)}>Of everything, not of {called(target)} alone</button>}
      </div>
    )} list={list} {...admin} columns={['When', 'Who', 'Action', 'What']} empty="Nothing is logged yet."
      row={e => (
        <tr key={e.id}>
          <td data-label="When">{formatTime(e.at)}</td>
          <td data-label="Who"><bdi title={e.actor}>{reveal(names(e.actor))}</bdi></td>
          <td data-label="Action">{reveal(e.action)}</td>
          <td data-label="What">{e.target ? <button type="button" class="link target" title={e.target} onClick={() => setTarget(e.target)}><bdi>{called(e.target)}</bdi></button> : '—'}{e.detail && Object.keys(e.detail).length > 0 && <p class="small soft"><Text most={200}>{detailOf(e.detail)}</Text></p>}</td>
        </tr>
      )} />
  )
}

/** Writes what an entry says besides, without the marks of a program. */
function detailOf(detail: Record<string, unknown>): string {
  return Object.entries(detail).filter(([, v]) => v !== '' && v !== false && v !== null).map(([k, v]) => `${k.replaceAll('_', ' ')}: ${Array.isArray(v) ? v.map(String).join(', ') : typeof v === 'object' ? JSON.stringify(v) : String(v)}`).join(' · ')
}

function Tenants() {
  const { api } = useShared()
  const [round, setRound] = useState(0)
  const list = usePages((cursor, signal) => api.call('get', '/v1/tenants', { signal, query: { limit: 100, ...(cursor && { cursor }) } }), [], round)
  return (
    <Listing title="Tenants" list={list} {...operators} columns={['Tenant', 'State', 'Limits', 'Created', 'Do']} empty="None yet."
      row={t => <Tenant key={t.id} tenant={t} done={() => setRound(n => n + 1)} />} />
  )
}

function Tenant({ tenant: t, done }: { tenant: Schemas['Tenant']; done: () => void }) {
  const { tell } = useShared()
  const [open, setOpen] = useState<'limits' | 'state'>()
  const set = limits.filter(l => t.limits[l.name] !== undefined)
  const suspended = t.state === 'suspended'
  return (
    <tr>
      <td data-label="Tenant"><bdi>{reveal(t.name)}</bdi></td>
      <td data-label="State"><State of={t.state} /></td>
      <td data-label="Limits">{set.length === 0 ? <span class="soft">none of its own</span> : set.map(l => `${count(t.limits[l.name]!)} ${l.title}`).join(', ')}</td>
      <td data-label="Created">{formatTime(t.created_at)}</td>
      <td data-label="Do">
        <div class="row"><button type="button" onClick={() => setOpen('limits')}>Limits</button>
          {t.state !== 'deleting' && <button type="button" class={suspended ? '' : 'danger'} onClick={() => setOpen('state')}>{suspended ? 'Resume' : 'Suspend'}</button>}</div>
        {open === 'limits' && <LimitsOf tenant={t} close={() => setOpen(undefined)} done={() => { tell(`Changed the limits of ${t.name}.`); done() }} />}
        {open === 'state' && <Switch tenant={t} close={() => setOpen(undefined)} done={() => { tell(suspended ? `Resumed ${t.name}.` : `Suspended ${t.name}.`); done() }} />}
      </td>
    </tr>
  )
}

function LimitsOf({ tenant: t, close, done }: { tenant: Schemas['Tenant']; close: () => void; done: () => void }) {
  const { api } = useShared()
  const [values, setValues] = useState<Record<string, string>>(Object.fromEntries(limits.map(l => [l.name, String(t.limits[l.name] ?? '')])))
  const { busy, error, run } = useAction()
  const submit = async (e: Event) => {
    e.preventDefault()
    await run(async () => {
      await api.call('patch', '/v1/tenants/{tenant}', { path: { tenant: t.id }, body: { limits: Object.fromEntries(limits.map(l => [l.name, values[l.name] === '' ? null : Number(values[l.name])])) } })
      close()
      done()
    })
  }
  return (
    <Dialog title={`Limits of ${t.name}`} close={close}>
      <form onSubmit={e => void submit(e)}>
        <p class="soft small">An empty field is no limit of its own: that of the gateway holds, if it has one.</p>
        <div class="numbers">
          {limits.map(l => <Field key={l.name} label={l.title}>{id => <input id={id} type="number" min={0} step={1} value={values[l.name]} onInput={e => setValues({ ...values, [l.name]: e.currentTarget.value })} />}</Field>)}
        </div>
        {error && <Problem error={error} />}
        <Buttons busy={busy} close={close} label="Save" />
      </form>
    </Dialog>
  )
}

function Switch({ tenant: t, close, done }: { tenant: Schemas['Tenant']; close: () => void; done: () => void }) {
  const { api } = useShared()
  const { busy, error, run } = useAction()
  const suspended = t.state === 'suspended'
  const submit = async (e: Event) => {
    e.preventDefault()
    await run(async () => {
      await api.call('post', suspended ? '/v1/tenants/{tenant}/resume' : '/v1/tenants/{tenant}/suspend', { path: { tenant: t.id } })
      close()
      done()
    })
  }
  return (
    <Dialog title={suspended ? `Resume ${t.name}?` : `Suspend ${t.name}?`} close={close}>
      <form onSubmit={e => void submit(e)}>
        <p>{suspended ? 'Its keys and tokens are accepted again.' : 'Its keys and tokens are refused within ten seconds. What it stores stays.'}</p>
        {error && <Problem error={error} />}
        <Buttons busy={busy} close={close} label={suspended ? 'Resume' : 'Suspend'} danger={!suspended} />
      </form>
    </Dialog>
  )
}
