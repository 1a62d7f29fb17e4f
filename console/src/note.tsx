import { SlipboxError, type Schemas } from '@slipbox/client'
import { useRef, useState } from 'preact/hooks'
import type { Go } from './collection.tsx'
import { diffLists, diffWords } from './diff.ts'
import { Delete } from './erase.tsx'
import { Marked } from './marked.tsx'
import { useNames } from './names.ts'
import { usePages } from './pages.ts'
import { Buttons, Dialog, Field, Problem, Read, Reading, State, stateHints, Tags, Text } from './parts.tsx'
import { formatRoute } from './route.ts'
import { lastSeen } from './scroll.ts'
import { useAction, useLoad, useShared } from './state.ts'
import { count, formatTime, localMinute, reveal, shorten } from './text.ts'

interface Props {
  collection: Schemas['Collection']
  id: string
  go: Go
  changed: () => void
  follow: (job: string | undefined) => void
  fresh: number
}

/** A note: what it says, what it is linked to, where it comes from, and how it became so. */
export function Note({ collection: c, id, go, changed, follow, fresh }: Props) {
  const { api, tell } = useShared()
  const collection = api.collection(c.id)
  // Note, links and history are of one revision; when the collection has a newer one, all of them are read again.
  const at = c.head_revision
  // A deleted note is 404, and its history remains: then only that is shown.
  const read = useLoad(async signal => {
    try {
      return await collection.note(id, { signal, asOf: at })
    } catch (error) {
      if (error instanceof SlipboxError && error.status === 404) return null
      throw error
    }
  }, [c.id, id], `${fresh}/${at}`)
  // Somebody else may delete it while a dialog is open: what was typed stays.
  const last = useRef<NonNullable<typeof read.data>>(undefined)
  const full = (last.current = read.data ?? last.current)
  const names = useNames()
  const [open, setOpen] = useState<'correct' | 'delete' | 'expiry'>()
  const again = () => {
    read.again()
    changed()
  }
  const removed = (said: string, erased: boolean) => {
    tell(said)
    if (!erased) return again()
    changed()
    go({ collection: c.id })
  }
  return (
    <div class="note">
      <p><a rel="prev" href={lastSeen(formatRoute({ collection: c.id }))}>← Notes</a></p>
      <Read of={read}>
        {full => full === null ? <p class="problem">This note is deleted, or was never here. A version of its history can be restored, or all of it erased.</p> : (
          <article>
            <h2 class="hidden">What the note says</h2>{/* headings of its own are below it */}
            <div class="content" tabindex={0} role="region" aria-label="What the note says"><Marked most={4000}>{full.body.content}</Marked></div>
            <div class="row">
              <button type="button" class="main" onClick={() => setOpen('correct')}>Correct</button>
              <button type="button" class="danger" onClick={() => setOpen('delete')}>Delete note</button>
              <a href={formatRoute({ collection: c.id, tab: 'graph', query: { focus: id, depth: '2' } })}>Show in the graph</a>
            </div>
            <dl>
              <dt>State</dt><dd><State of={full.body.state} /> <span class="soft small">{stateHints[full.body.state]}</span>{full.body.error && <p class="small">{reveal(full.body.error)}</p>}{full.body.provenance?.stale && <p class="small">A source has changed since.</p>}</dd>
              <dt>Kind</dt><dd>{full.body.kind}{full.body.analyst && <span class="soft"> · described {full.body.analyst === 'model' ? 'by a model' : 'without a model'}</span>}</dd>
              {full.body.context && <><dt>Context</dt><dd><Text most={600}>{full.body.context}</Text></dd></>}
              {full.body.keywords.length > 0 && <><dt>Keywords</dt><dd><Tags words={full.body.keywords} label="Keywords" /></dd></>}
              {full.body.tags.length > 0 && <><dt>Tags</dt><dd><Tags words={full.body.tags} label="Tags" /></dd></>}
              {full.body.occurred_at && <><dt>Happened</dt><dd>{formatTime(full.body.occurred_at)}</dd></>}
              <dt>Stored</dt><dd>{formatTime(full.body.created_at)} · revision {count(full.body.revision)}</dd>
              <dt>Expires</dt><dd>{full.body.expires_at ? formatTime(full.body.expires_at) : 'never'} <button type="button" class="link" onClick={() => setOpen('expiry')}>change</button></dd>
              {full.body.confidence !== undefined && <><dt>Confidence</dt><dd>{Math.round(full.body.confidence * 100)} %</dd></>}
              {(full.body.provenance?.sources?.length ?? 0) > 0 && <><dt>Sources</dt><dd><ul class="plain">{full.body.provenance!.sources!.map(s => <li key={s}><Linked collection={c.id} id={s} /></li>)}</ul></dd></>}
              {full.body.provenance?.actor && <><dt>Written by</dt><dd><bdi title={full.body.provenance.actor}>{reveal(names(full.body.provenance.actor))}</bdi></dd></>}
              {Object.keys(full.body.attributes).length > 0 && <><dt>Attributes</dt><dd><pre tabindex={0}>{reveal(JSON.stringify(full.body.attributes, null, 2))}</pre></dd></>}
            </dl>
            <Links collection={c.id} id={id} at={at} fresh={fresh} />
          </article>
        )}
      </Read>
      {full && open === 'correct' && <Correct full={full} c={c} close={() => setOpen(undefined)} reload={again} done={job => { tell('Corrected.'); again(); follow(job) }} />}
      {full && open === 'expiry' && <Expiry full={full} c={c} close={() => setOpen(undefined)} done={() => { tell('Saved.'); again() }} />}
      {full && open === 'delete' && <Delete collection={c.id} ids={[id]} etag={full.etag} close={() => setOpen(undefined)} reload={again} done={removed}>
        <blockquote><Text most={300}>{full.body.content}</Text></blockquote>
      </Delete>}
      <History collection={c} id={id} at={at} fresh={`${fresh}/${at}`} restored={() => { tell('Restored.'); again() }} erased={said => removed(said, true)} />
    </div>
  )
}

/** The links of a note in both directions. */
function Links({ collection, id, at, fresh }: { collection: string; id: string; at: number; fresh: number }) {
  const { api } = useShared()
  const [most, setMost] = useState(20)
  const read = useLoad(signal => api.call('get', '/v1/collections/{collection}/notes/{note}/links', { signal, path: { collection, note: id }, query: { direction: 'both', as_of: at } }), [collection, id], `${fresh}/${at}`)
  return (
    <section>
      <h2>Links</h2>
      <Read of={read}>
        {({ items }) => items.length === 0 ? <p class="soft">This note has no links.</p> : (
          <>
            <ul class="links">
              {items.slice(0, most).map(l => {
                const out = l.source === id
                return <li key={`${l.source}${l.target}${l.relation}`}><span class="soft small">{out ? '→' : '←'} {reveal(l.relation)} · {Math.round(l.confidence * 100)} %</span> <Linked collection={collection} id={out ? l.target : l.source} /></li>
              })}
            </ul>
            {items.length > most && <button type="button" onClick={() => setMost(most + 50)}>Show more of {count(items.length)}</button>}
          </>
        )}
      </Read>
    </section>
  )
}

/** A link to another note, by the beginning of its text. */
export function Linked({ collection, id, ...rest }: { collection: string; id: string; onClick?: (e: MouseEvent & { currentTarget: HTMLElement }) => void; 'aria-expanded'?: boolean }) {
  const { api } = useShared()
  const read = useLoad(signal => api.collection(collection).note(id, { signal, retries: 0 }), [collection, id])
  return <a href={formatRoute({ collection, note: id })} {...rest}>{read.data ? <Text most={120} still>{read.data.body.content}</Text> : read.state === 'failed' ? 'a note that is gone' : '…'}</a>
}

/** Corrects a note, if it is still what was read. */
function Correct({ full, c, close, reload, done }: { full: { body: Schemas['Note']; etag: string | undefined }; c: Schemas['Collection']; close: () => void; reload: () => void; done: (job: string | undefined) => void }) {
  const { api } = useShared()
  // What was read when the dialog opened, or what it says now if somebody else was faster: a later read must not guard an earlier text.
  const [base, setBase] = useState(full)
  const [overtaken, setOvertaken] = useState(false)
  const [content, setContent] = useState(full.body.content)
  const { busy, error, run } = useAction()
  const submit = async (e: Event) => {
    e.preventDefault()
    await run(async () => {
      const save = (from: typeof base) => api.collection(c.id).patchNote(from.body.id, { content }, from.etag ? { ifMatch: from.etag } : {})
      const answer = await save(base).catch(async (cause: unknown) => {
        // Where the content is still what was read, only its description has changed, as a policy does it.
        const now = cause instanceof SlipboxError && cause.status === 412 ? await api.collection(c.id).note(base.body.id) : undefined
        if (now?.body.content !== base.body.content) throw cause
        return save(now)
      })
      close()
      done(answer.headers.get('Slipbox-Job') ?? undefined)
    })
  }
  const late = error instanceof SlipboxError && error.status === 412
  const look = () => void run(async () => {
    setBase(await api.collection(c.id).note(base.body.id))
    setOvertaken(true)
    reload()
  })
  return (
    <Dialog title="Correct this note" close={close}>
      <form onSubmit={e => void submit(e)}>
        <Field label="Content" hint="The note is described again afterwards. The version before stays in its history.">
          {id => <textarea id={id} rows={8} required dir="auto" maxlength={65536} value={content} onInput={e => setContent(e.currentTarget.value)} />}
        </Field>
        {error && <Problem error={error}>{late && <button type="button" disabled={busy} onClick={look}>See what it says now</button>}</Problem>}
        {overtaken && <><p>What it says now, beside what you save:</p><Difference before={base.body} after={{ ...base.body, content }} sides={['now', 'yours']} /></>}
        <Buttons busy={busy} close={close} label="Save" disabled={content.trim() === '' || content === base.body.content} />
      </form>
    </Dialog>
  )
}

/** Sets when a note expires. */
function Expiry({ full, c, close, done }: { full: { body: Schemas['Note']; etag: string | undefined }; c: Schemas['Collection']; close: () => void; done: () => void }) {
  const { api } = useShared()
  const [at, setAt] = useState(full.body.expires_at ? localMinute(new Date(full.body.expires_at)) : '')
  const { busy, error, run } = useAction()
  const submit = async (e: Event) => {
    e.preventDefault()
    await run(async () => {
      await api.collection(c.id).patchNote(full.body.id, { expires_at: at === '' ? null : new Date(at).toISOString() }, full.etag ? { ifMatch: full.etag } : {})
      close()
      done()
    })
  }
  return (
    <Dialog title="When does this note expire?" close={close}>
      <form onSubmit={e => void submit(e)}>
        <Field label="Expires" hint="It is deleted then, with what was learned from nothing else; its history can restore it. Empty: never.">
          {id => <input id={id} type="datetime-local" min={localMinute(new Date())} value={at} onInput={e => setAt(e.currentTarget.value)} />}
        </Field>
        {at !== '' && <button type="button" class="link" onClick={() => setAt('')}>never</button>}
        {error && <Problem error={error} />}
        <Buttons busy={busy} close={close} label="Save" />
      </form>
    </Dialog>
  )
}

/** The versions of a note, each with what it changed and why. */
function History({ collection: c, id, at, fresh, restored, erased }: { collection: Schemas['Collection']; id: string; at: number; fresh: string; restored: () => void; erased: (said: string) => void }) {
  const { api } = useShared()
  const { busy, error, run } = useAction()
  const [erasing, setErasing] = useState(false)
  const names = useNames()
  const list = usePages((cursor, signal) => api.call('get', '/v1/collections/{collection}/notes/{note}/history', {
    signal, path: { collection: c.id, note: id }, query: { limit: 20, ...(cursor ? { cursor } : { as_of: at }) },
  }), [c.id, id], fresh)
  const restore = (revision: number) => run(async () => {
    await api.collection(c.id).restoreNote(id, revision)
    restored()
  })
  return (
    <section class="history">
      <div class="row between"><h2>History</h2>{list.items?.[0]?.deleted && <button type="button" class="danger" onClick={() => setErasing(true)}>Erase note</button>}</div>
      {erasing && <Delete collection={c.id} ids={[id]} deleted close={() => setErasing(false)} done={erased}>
        {list.items?.[1]?.note && <blockquote><Text most={300}>{list.items[1].note.content}</Text></blockquote>}
      </Delete>}
      {error && <Problem error={error} />}
      <Reading of={list} />{!list.items ? null : (
        <ol>
          {list.items.map((v, i) => {
            const before = list.items![i + 1]
            const oldest = i === list.items!.length - 1 && !list.more
            return (
              <li key={v.revision}>
                <div class="row between">
                  <p><strong>{v.deleted ? 'deleted' : causes[v.cause] ?? v.cause}</strong> <span class="soft small">revision {count(v.revision)} · {formatTime(v.changed_at)} · by <bdi title={v.actor}>{reveal(names(v.actor))}</bdi></span>
                    {v.trigger && v.trigger !== id && <span class="small"> because of <Linked collection={c.id} id={v.trigger} /></span>}</p>
                  {i > 0 && v.note && <button type="button" disabled={busy} onClick={() => void restore(v.revision)}>Restore</button>}
                </div>
                {v.note && (before?.note ? <Difference before={before.note} after={v.note} /> : oldest || before?.deleted ? <div class="version"><Text most={600}>{v.note.content}</Text></div> : null)}
              </li>
            )
          })}
        </ol>
      )}
      {list.more && <button type="button" onClick={list.more}>Show older versions</button>}
    </section>
  )
}

const causes: Record<string, string> = {
  add: 'added', patch: 'corrected', delete: 'deleted', restore: 'restored', link: 'linked', analyze: 'described', evolve: 'evolved',
  review: 'changed by a review', undo: 'undone', consolidate: 'consolidated', import: 'imported',
}

/** What a version changed, before and after side by side; of two collections, there and here. */
export function Difference({ before, after, sides = ['before', 'after'], same = true }: { before: Schemas['Note']; after: Schemas['Note']; sides?: [string, string]; same?: boolean }) {
  const texts = (['content', 'context'] as const).filter(f => before[f] !== after[f])
  const lists = (['keywords', 'tags'] as const).map(f => ({ f, ...diffLists(before[f], after[f]) })).filter(d => d.added.length + d.removed.length > 0)
  const links = diffLists(before.links.map(l => l.target), after.links.map(l => l.target))
  const [had, has] = [before.attributes ?? {}, after.attributes ?? {}]
  const values = [
    ...(['kind', 'category'] as const).map(f => ({ f, was: before[f] ?? '', is: after[f] ?? '' })),
    { f: 'happened', was: before.occurred_at ? formatTime(before.occurred_at) : '', is: after.occurred_at ? formatTime(after.occurred_at) : '' },
    { f: 'expires', was: before.expires_at ? formatTime(before.expires_at) : 'never', is: after.expires_at ? formatTime(after.expires_at) : 'never' },
    ...[...new Set([...Object.keys(had), ...Object.keys(has)])].map(f => ({ f, was: valueOf(had[f]), is: valueOf(has[f]) })),
  ].filter(v => v.was !== v.is)
  if (texts.length + lists.length + links.added.length + links.removed.length + values.length === 0) return same ? <p class="soft small">The words are the same.</p> : null
  return (
    <div class="difference">
      {texts.map(f => {
        const pieces = diffWords(before[f] ?? '', after[f] ?? '')
        return (
          <div key={f} class="sides">
            <div tabindex={0} role="group" aria-label={`${f} ${sides[0]}`}><p class="side">{f} {sides[0]}</p><bdi class="text" dir="auto">{pieces.filter(p => p.kind !== 'added').map((p, i) => p.kind === 'same' ? reveal(p.text) : <del key={i}>{reveal(p.text)}</del>)}</bdi></div>
            <div tabindex={0} role="group" aria-label={`${f} ${sides[1]}`}><p class="side">{f} {sides[1]}</p><bdi class="text" dir="auto">{pieces.filter(p => p.kind !== 'removed').map((p, i) => p.kind === 'same' ? reveal(p.text) : <ins key={i}>{reveal(p.text)}</ins>)}</bdi></div>
          </div>
        )
      })}
      {lists.map(d => <p key={d.f} class="small"><span class="soft">{d.f}</span> {d.removed.map(w => <del key={w}>{reveal(w)}</del>)} {d.added.map(w => <ins key={w}>{reveal(w)}</ins>)}</p>)}
      {values.map(v => <p key={v.f} class="small"><span class="soft">{reveal(v.f)}</span> {v.was && <del>{reveal(v.was)}</del>} {v.is && <ins>{reveal(v.is)}</ins>}</p>)}
      {links.added.length + links.removed.length > 0 && <p class="small"><span class="soft">links</span> {links.removed.length > 0 && <del>{links.removed.length} removed</del>} {links.added.length > 0 && <ins>{links.added.length} added</ins>}</p>}
    </div>
  )
}

/** An attribute as a person reads it. */
const valueOf = (v: unknown): string => (v === undefined ? '' : shorten(typeof v === 'string' ? v : JSON.stringify(v), 300))
