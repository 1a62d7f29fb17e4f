import type { Schemas } from '@slipbox/client'
import { useState } from 'preact/hooks'
import { Budget } from './context.tsx'
import type { InsideProps } from './inside.tsx'
import { usePages } from './pages.ts'
import { Problem, Read, State, Text, Waiting } from './parts.tsx'
import { formatRoute } from './route.ts'
import { useLoad, useShared } from './state.ts'
import { count, formatTime, plural, reveal } from './text.ts'

/** An agent with a window: what its next prompt has, its blocks, and what it did. */
export function Agent({ collection: c, fresh }: InsideProps) {
  const { api } = useShared()
  const window = useLoad(signal => api.call('get', '/v1/collections/{collection}/context', { signal, path: { collection: c.id } }), [c.id], fresh)
  const blocks = usePages((cursor, signal) => api.call('get', '/v1/collections/{collection}/blocks', { signal, path: { collection: c.id }, query: { limit: 50, ...(cursor && { cursor }) } }), [c.id], fresh)
  const runs = usePages((cursor, signal) => api.call('get', '/v1/collections/{collection}/runs', { signal, path: { collection: c.id }, query: { limit: 20, ...(cursor && { cursor }) } }), [c.id], fresh)
  return (
    <div class="inside">
      <section>
        <h2>The window: what the next prompt has</h2>
        <Read of={window}>{w => <Budget label="Tokens of the window" parts={w.parts.map(p => ({ name: p.part, tokens: p.tokens }))} used={w.used} budget={w.window} />}</Read>
      </section>
      <section>
        <h2>Blocks</h2>
        {blocks.state === 'failed' ? <Problem error={blocks.error} again={blocks.again} /> : !blocks.items ? <Waiting /> : blocks.items.length === 0
          ? <p class="soft">None. <code>PUT /v1/collections/{c.name}/blocks/LABEL</code> makes one.</p>
          : <ul class="blocks">{blocks.items.map(b => <Block key={b.id} block={b} collection={c.id} />)}</ul>}
        {blocks.more && <p class="center"><button type="button" onClick={blocks.more}>Show more</button></p>}
      </section>
      <section>
        <h2>Runs</h2>
        {runs.state === 'failed' ? <Problem error={runs.error} again={runs.again} /> : !runs.items ? <Waiting /> : runs.items.length === 0
          ? <p class="soft">The agent has not acted yet. A remembered <a href={formatRoute({ collection: c.id, tab: 'chat' })}>chat</a> is a run, as is an event of <code>POST /v1/collections/{c.name}/events</code>.</p>
          : <ul class="runs">{runs.items.map(r => <Run key={r.id} run={r} collection={c.id} />)}</ul>}
        {runs.more && <p class="center"><button type="button" onClick={runs.more}>Show more</button></p>}
      </section>
    </div>
  )
}

function Block({ block: b, collection }: { block: Schemas['Block']; collection: string }) {
  return (
    <li class="card">
      <h3>{b.label}</h3>
      <p>{b.value === '' ? <span class="soft">empty</span> : <Text most={600}>{b.value}</Text>}</p>
      <p class="soft small">{b.description !== '' && <><bdi>{reveal(b.description)}</bdi><br /></>}
        {count([...b.value].length)} of {plural(b.limit, 'character')}{b.read_only && ', and the agent may only read it'} · <a href={formatRoute({ collection, note: b.id })}>history</a></p>
    </li>
  )
}

/** A run, with its steps when it is opened. */
function Run({ run: r, collection }: { run: Schemas['Run']; collection: string }) {
  const [open, setOpen] = useState(false)
  const tokens = r.tokens.prompt + r.tokens.completion
  return (
    <li>
      <details onToggle={e => setOpen(e.currentTarget.open)}>
        <summary>
          <div>
            <span class="row"><State of={r.state} /><span class="small soft">{r.type} · {formatTime(r.created_at)}{tokens > 0 && <> · {plural(tokens, 'token')}</>}{r.heuristic && ' · without a model'}{r.stop_reason && <> · {r.stop_reason.replaceAll('_', ' ')}</>}</span></span>
            <span>{r.reply ? <Text most={160} still>{r.reply}</Text> : r.error ? reveal(r.error) : <span class="soft">no reply</span>}</span>
          </div>
        </summary>
        {open && <Steps run={r.id} collection={collection} />}
        {r.state === 'requires_action' && <p class="small">It waits for its caller, who runs its tools, or for a decision: see <a href={formatRoute({ collection, tab: 'reviews' })}>Reviews</a>.</p>}
      </details>
    </li>
  )
}

function Steps({ run, collection }: { run: string; collection: string }) {
  const { api } = useShared()
  const read = useLoad(signal => api.call('get', '/v1/collections/{collection}/steps', { signal, path: { collection }, query: { run } }), [collection, run])
  return (
    <Read of={read}>
      {({ items }) => items.length === 0 ? <p class="soft small">No step yet.</p> : (
        <ol>
          {items.map(s => (
            <li key={s.id} class={`step ${s.ok ? '' : 'bad'}`}>
              <p class="row small"><strong>{s.index}. {s.tool ?? 'says'}</strong><span class="soft">{count(s.duration_ms)} ms</span>
                {s.tokens.prompt + s.tokens.completion > 0 && <span class="soft">{count(s.tokens.prompt)} tokens read, {count(s.tokens.completion)} written</span>}{!s.ok && <span class="soft">failed</span>}</p>
              {s.arguments !== undefined && <pre tabindex={0}>{reveal(JSON.stringify(s.arguments))}</pre>}
              {s.result === undefined ? <p class="soft small">has not run</p> : <p class="small"><Text most={400}>{s.result}</Text></p>}
            </li>
          ))}
        </ol>
      )}
    </Read>
  )
}
