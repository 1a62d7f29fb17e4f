import type { Schemas } from '@slipbox/client'
import { useState } from 'preact/hooks'
import { Budget } from './context.tsx'
import type { InsideProps } from './fill.tsx'
import { usePages } from './pages.ts'
import { Buttons, Dialog, Field, Problem, Read, Reading, State, Text } from './parts.tsx'
import { formatRoute } from './route.ts'
import { useAction, useLoad, useShared } from './state.ts'
import { count, formatTime, plural, reveal } from './text.ts'

/** An agent with a window: what its next prompt has, its blocks, and what it did. */
export function Agent({ collection: c, fresh: given }: InsideProps) {
  const { api } = useShared()
  const [round, setRound] = useState(0)
  const [editing, setEditing] = useState<Schemas['Block'] | 'new'>()
  const fresh = `${given}/${round}`
  const again = () => setRound(n => n + 1)
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
        <Reading of={blocks} />{!blocks.items ? null : blocks.items.length === 0
          ? <p class="soft">None. A block is a text that the agent always sees, such as what is known about the person.</p>
          : <ul class="blocks">{blocks.items.map(b => <Block key={b.id} block={b} collection={c.id} edit={() => setEditing(b)} />)}</ul>}
        <p><button type="button" onClick={() => setEditing('new')}>New block</button></p>
        {editing && <EditBlock of={editing === 'new' ? undefined : editing} collection={c.id} close={() => setEditing(undefined)} done={again} />}
        {blocks.more && <p class="center"><button type="button" onClick={blocks.more}>Show more</button></p>}
      </section>
      <section>
        <h2>Runs</h2>
        <Send collection={c.id} done={again} />
        <Reading of={runs} />{!runs.items ? null : runs.items.length === 0
          ? <p class="soft">The agent has not acted yet. A remembered <a href={formatRoute({ collection: c.id, tab: 'chat' })}>chat</a> is a run, as is what you tell it here.</p>
          : <ul class="runs">{runs.items.map(r => <Run key={r.id} run={r} collection={c.id} />)}</ul>}
        {runs.more && <p class="center"><button type="button" onClick={runs.more}>Show more</button></p>}
      </section>
    </div>
  )
}

/** Tells the agent something, and waits for what it does. */
function Send({ collection, done }: { collection: string; done: () => void }) {
  const { api } = useShared()
  const [text, setText] = useState('')
  const { busy, error, run } = useAction()
  const submit = async (e: Event) => {
    e.preventDefault()
    await run(async () => {
      await api.call('post', '/v1/collections/{collection}/events', { path: { collection }, body: { content: text.trim(), wait: 'done' } })
      setText('')
      done()
    })
  }
  return (
    <form class="row" onSubmit={e => void submit(e)}>
      <input class="grow" dir="auto" aria-label="Tell the agent" placeholder="Tell the agent" maxlength={65536} value={text} onInput={e => setText(e.currentTarget.value)} />
      <button type="submit" class="main" disabled={busy || text.trim() === ''}>{busy ? 'It works…' : 'Send'}</button>
      {error && <Problem error={error} />}
    </form>
  )
}

/** Writes a block, if it is still what was read. */
function EditBlock({ of, collection, close, done }: { of: Schemas['Block'] | undefined; collection: string; close: () => void; done: () => void }) {
  const { api } = useShared()
  const [label, setLabel] = useState(of?.label ?? '')
  const [value, setValue] = useState(of?.value ?? '')
  const { busy, error, run } = useAction()
  const submit = async (e: Event) => {
    e.preventDefault()
    await run(async () => {
      const path = { collection, label: label.trim() }
      const now = of && await api.full('get', '/v1/collections/{collection}/blocks/{label}', { path })
      if (now && now.body.value !== of.value) throw new Error(`The agent has changed this block meanwhile. It says now: ${now.body.value}`)
      await api.call('put', '/v1/collections/{collection}/blocks/{label}', { path, body: { value }, ...(now?.etag && { headers: { 'If-Match': now.etag } }) })
      close()
      done()
    })
  }
  return (
    <Dialog title={of ? `Block ${of.label}` : 'New block'} close={close}>
      <form onSubmit={e => void submit(e)}>
        {!of && <Field label="Label" hint="Lower case letters, digits and hyphens, such as human.">{id => <input id={id} required value={label} onInput={e => setLabel(e.currentTarget.value)} autocomplete="off" spellcheck={false} />}</Field>}
        <Field label="Value" hint={of && of.description !== '' ? reveal(of.description) : 'What the agent always sees.'}>{id => <textarea id={id} rows={8} dir="auto" maxlength={65536} value={value} onInput={e => setValue(e.currentTarget.value)} />}</Field>
        {error && <Problem error={error} />}
        <Buttons busy={busy} close={close} label="Save" disabled={label.trim() === ''} />
      </form>
    </Dialog>
  )
}

function Block({ block: b, collection, edit }: { block: Schemas['Block']; collection: string; edit: () => void }) {
  return (
    <li class="card">
      <h3>{b.label}</h3>
      <p>{b.value === '' ? <span class="soft">empty</span> : <Text most={600}>{b.value}</Text>}</p>
      <p class="soft small">{b.description !== '' && <><bdi>{reveal(b.description)}</bdi><br /></>}
        {count([...b.value].length)} of {plural(b.limit, 'character')}{b.read_only && ', and the agent may only read it'} · <a href={formatRoute({ collection, note: b.id })}>history</a>{!b.read_only && <> · <button type="button" class="link" onClick={edit} aria-label={`Edit ${b.label}`}>edit</button></>}</p>
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
