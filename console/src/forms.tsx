import { SlipboxError, type Schemas } from '@slipbox/client'
import { useState } from 'preact/hooks'
import { Buttons, Dialog, Field, Problem } from './parts.tsx'
import type { Route } from './route.ts'
import { ImportFile } from './importfile.tsx'
import { useAction, useLoad, useShared } from './state.ts'
import { count, localMinute, parseConversation, plural, reveal } from './text.ts'
import { descend } from './nearby.ts'
import { flatten, idsOf, nameFor, titleOf, treeOf } from './tree.ts'

type Go = (route: Partial<Route>) => void

/** Creates a collection. */
export function CreateCollection({ close, go }: { close: () => void; go: Go }) {
  const { api, changed, tell } = useShared()
  const [name, setName] = useState('')
  const [policy, setPolicy] = useState('amem')
  const policies = useLoad(signal => api.call('get', '/v1/policies', { signal }), [])
  const { busy, error, run } = useAction()
  const submit = async (e: Event) => {
    e.preventDefault()
    await run(async () => {
      const made = await api.createCollection({ name: name.trim(), policy })
      changed()
      tell(`Created ${made.name}.`)
      close()
      go({ collection: made.id })
    })
  }
  const chosen = policies.data?.items.find(p => p.name === policy)
  return (
    <Dialog title="New collection" close={close}>
      <form onSubmit={e => void submit(e)}>
        <Field label="Name" hint="Lower case letters, digits and hyphens.">
          {id => <input id={id} required value={name} onInput={e => setName(e.currentTarget.value)} autocomplete="off" spellcheck={false} />}
        </Field>
        <Field label="Memory system" {...(chosen && { hint: chosen.description })}>
          {id => (
            <select id={id} value={policy} onChange={e => setPolicy(e.currentTarget.value)}>
              {(policies.data?.items ?? [{ name: 'amem', title: 'A-MEM' }]).map(p => <option key={p.name} value={p.name}>{p.title}</option>)}
            </select>
          )}
        </Field>
        {error && <Problem error={error} />}
        <Buttons busy={busy} close={close} label="Create" />
      </form>
    </Dialog>
  )
}

/** Forks a collection at a revision, or copies it as it is now. */
export function Clone({ of, mode, at, close, go }: { of: Schemas['Collection']; mode: 'fork' | 'copy'; at?: number; close: () => void; go: Go }) {
  const { api, changed, tell } = useShared()
  const [name, setName] = useState(`${nameFor(of)}-${mode}`)
  const [revision, setRevision] = useState(String(at ?? of.head_revision))
  const { busy, error, run } = useAction()
  const fork = mode === 'fork'
  const title = reveal(titleOf(of))
  const submit = async (e: Event) => {
    e.preventDefault()
    await run(async () => {
      let made: Schemas['Collection']
      if (fork) {
        const past = Number(revision) !== of.head_revision
        made = await api.collection(of.id).fork({ name: name.trim(), ...(past && { at_revision: Number(revision) }) })
      } else {
        const answer = await api.call('post', '/v1/collections/{collection}/clone', { path: { collection: of.id }, body: { name: name.trim(), mode } })
        made = 'collection' in answer ? answer.collection : answer
      }
      changed()
      tell(fork ? `Forked ${title} at revision ${revision}.` : `${title} is being copied.`)
      close()
      go({ collection: made.id })
    })
  }
  return (
    <Dialog title={`${fork ? 'Fork' : 'Copy'} ${title}`} close={close}>
      <form onSubmit={e => void submit(e)}>
        <p class="soft">{fork ? 'A fork reads everything up to a revision, and copies nothing. What is written later stays on its own side.'
          : 'A copy has everything of now in its own place, and does not depend on what it was copied from. A job fills it.'}</p>
        <Field label={`Name of the ${mode}`}>{id => <input id={id} required value={name} onInput={e => setName(e.currentTarget.value)} autocomplete="off" spellcheck={false} />}</Field>
        {fork && (
          <Field label="Revision" hint={`The newest is ${count(of.head_revision)}. An earlier one forks the past.`}>
            {id => <input id={id} type="number" required min={of.floor_revision ?? 0} max={of.head_revision} value={revision} onInput={e => setRevision(e.currentTarget.value)} />}
          </Field>
        )}
        {error && <Problem error={error} />}
        <Buttons busy={busy} close={close} label={fork ? 'Fork' : 'Copy'} />
      </form>
    </Dialog>
  )
}

/** Changes the title of a collection. Its name is fixed: clients find it by that. */
export function Rename({ of, close, done }: { of: Schemas['Collection']; close: () => void; done: () => void }) {
  const { api, changed } = useShared()
  const [title, setTitle] = useState(titleOf(of))
  const { busy, error, run } = useAction()
  const submit = async (e: Event) => {
    e.preventDefault()
    await run(async () => {
      await api.collection(of.id).patch({ display_name: title.trim() })
      changed()
      done()
      close()
    })
  }
  return (
    <Dialog title={`Rename ${reveal(titleOf(of))}`} close={close}>
      <form onSubmit={e => void submit(e)}>
        <Field label="Title" hint={`Shown to people. Clients find the collection by ${idsOf(of) ? 'the ids of their application' : `its name, ${of.name}`}, which ${idsOf(of) ? 'stay' : 'stays'}.`}>
          {id => <input id={id} required value={title} onInput={e => setTitle(e.currentTarget.value)} autocomplete="off" dir="auto" />}
        </Field>
        {error && <Problem error={error} />}
        <Buttons busy={busy} close={close} label="Rename" />
      </form>
    </Dialog>
  )
}

/** Saves all notes of a collection as a file. */
export function Export({ of, close }: { of: Schemas['Collection']; close: () => void }) {
  const { api, tell } = useShared()
  const { busy, error, run } = useAction()
  const save = (format: 'jsonl' | 'markdown') => void run(async () => {
    const text = await api.call('get', '/v1/collections/{collection}/export', { path: { collection: of.id }, query: { format } }) as unknown as string
    const at = URL.createObjectURL(new Blob([text], { type: format === 'jsonl' ? 'application/x-ndjson' : 'text/markdown' }))
    const link = document.createElement('a')
    link.href = at
    link.download = `${of.name}.${format === 'jsonl' ? 'jsonl' : 'md'}`
    link.click()
    URL.revokeObjectURL(at)
    tell(`Saved ${link.download}.`)
    close()
  })
  return (
    <Dialog title={`Export ${reveal(titleOf(of))}`} close={close}>
      <div class="exports">
        <p class="soft">All notes as they are now, in a file of your own.</p>
        <button type="button" class="main" disabled={busy} onClick={() => save('jsonl')}>To come back: JSONL</button>
        <p class="small soft">With links, times and sources. An import into an empty collection of the same policy gives the same notes.</p>
        <button type="button" disabled={busy} onClick={() => save('markdown')}>To read: Markdown</button>
        <p class="small soft">A section for each note.</p>
        {error && <Problem error={error} />}
      </div>
    </Dialog>
  )
}

/** Deletes a collection, after what depends on it was shown, and its ids or its name were typed: unlike its title, no other has these. */
export function DeleteCollection({ of, close, go }: { of: Schemas['Collection']; close: () => void; go: Go }) {
  const { api, changed, tell } = useShared()
  const forks = useLoad(async signal => {
    const { found, more } = await descend(api, of.id, signal)
    const all = [of, ...found]
    return { more, found: flatten(treeOf(found)).map(n => ({ ...n, title: titleOf(n.item, all.find(c => c.id === n.item.parent?.collection)) })) }
  }, [of.id])
  const below = forks.data?.found ?? []
  const direct = below.filter(n => n.depth === 0)
  const [title, unique] = [reveal(titleOf(of)), reveal(idsOf(of) ?? of.name)]
  const [typed, setTyped] = useState('')
  const [keep, setKeep] = useState(false)
  const { busy, error, run } = useAction()
  const hidden = direct.length === 0 && error instanceof SlipboxError && error.code === 'has_forks' // they belong to other agents
  const submit = async (e: Event) => {
    e.preventDefault()
    await run(async () => {
      await api.collection(of.id).delete(keep ? { forks: 'materialise' } : {})
      changed()
      tell(`Deleted ${title}.`)
      close()
      go({})
    })
  }
  return (
    <Dialog title={`Delete ${title}`} close={close}>
      <form onSubmit={e => void submit(e)}>
        <p>This deletes {of.counts ? `${plural(of.counts.notes, 'note')} and ${plural(of.counts.links, 'link')}` : 'all notes'} with all their versions. It cannot be undone.</p>
        {forks.state === 'failed' ? <Problem error={forks.error} again={forks.again} /> : !forks.data ? <p class="soft">Looking for what depends on it…</p> : direct.length === 0 && !hidden ? <p class="soft">Nothing depends on it.</p> : (
          <>
            <p>{hidden ? 'Forks of other agents read from it.' : <>{plural(direct.length, 'fork')} {direct.length === 1 ? 'reads' : 'read'} from it{below.length > direct.length && `, and ${count(below.length - direct.length)} more from those`}{forks.data.more && ', and there are others'}:</>}</p>
            <ul class="depends">{below.slice(0, 20).map(n => <li key={n.item.id} data-depth={n.depth}><bdi>{reveal(n.title)}</bdi> <span class="soft small">{n.item.agent ? reveal(n.item.agent) : 'shared'}{n.item.counts && ` · ${plural(n.item.counts.notes, 'note')}`}</span></li>)}</ul>
            {below.length > 20 && <p class="soft small">and {count(below.length - 20)} more</p>}
            <label class="check"><input type="checkbox" checked={keep} onChange={e => setKeep(e.currentTarget.checked)} /> Give each a copy of what it reads first</label>
          </>
        )}
        <Field label={`Type ${unique} to confirm`}>{id => <input id={id} required value={typed} onInput={e => setTyped(e.currentTarget.value)} autocomplete="off" spellcheck={false} dir="auto" />}</Field>
        {error && <Problem error={error} />}
        <Buttons busy={busy} close={close} label="Delete" danger disabled={typed.trim() !== unique.trim() || !forks.data || ((direct.length > 0 || hidden) && !keep)} />
      </form>
    </Dialog>
  )
}

/** What is added: a note, the messages of a conversation, or a file of another program. */
export type Adding = 'note' | 'conversation' | 'file'

/** Adds to a collection. `done` gets the job that works on it; with `imported` it is an import. */
export function Add({ to, first = 'note', close, done }: { to: string; first?: Adding; close: () => void; done: (job: string | undefined, imported?: boolean) => void }) {
  const [what, setWhat] = useState(first)
  const choices = { note: 'A note', conversation: 'A conversation', file: 'A file' }
  return (
    <Dialog title="Add to this memory" close={close}>
      <div class="choice" role="group" aria-label="What to add">
        {(Object.keys(choices) as Adding[]).map(c => <button key={c} type="button" aria-pressed={what === c} onClick={() => setWhat(c)}>{choices[c]}</button>)}
      </div>
      {what === 'file' ? <ImportFile to={to} close={close} done={job => done(job, true)} /> : <AddText to={to} pasted={what === 'conversation'} close={close} done={done} />}
    </Dialog>
  )
}

function AddText({ to, pasted, close, done }: { to: string; pasted: boolean; close: () => void; done: (job: string | undefined) => void }) {
  const { api } = useShared()
  const [text, setText] = useState('')
  const { busy, error, run } = useAction()
  const [until, setUntil] = useState('')
  const messages = pasted ? parseConversation(text) : []
  const submit = async (e: Event) => {
    e.preventDefault()
    await run(async () => {
      const collection = api.collection(to)
      if (pasted) {
        const added = await collection.addMessages(messages)
        done(added.job?.id)
      } else {
        const added = await collection.add({ content: text.trim(), ...(until !== '' && { expires_at: new Date(until).toISOString() }) })
        done(added.job?.id)
      }
      close()
    })
  }
  return (
      <form onSubmit={e => void submit(e)}>
        <Field label={pasted ? 'Conversation' : 'Note'} hint={pasted ? 'A line such as "Nora: I moved to Oslo." begins a message.' : 'One thing to remember.'}>
          {id => <textarea id={id} rows={7} required dir="auto" maxlength={65536} value={text} onInput={e => setText(e.currentTarget.value)} />}
        </Field>
        {!pasted && <details class="why" open={until !== ''}><summary>Let it expire</summary><Field label="Expires" hint="It is deleted then. Empty: never.">{id => <input id={id} type="datetime-local" min={localMinute(new Date())} value={until} onInput={e => setUntil(e.currentTarget.value)} />}</Field></details>}
        {pasted && text.trim() !== '' && <p class="soft small">{plural(messages.length, 'message')}</p>}
        {error && <Problem error={error} />}
        <Buttons busy={busy} close={close} label="Add" disabled={text.trim() === ''} />
      </form>
  )
}
