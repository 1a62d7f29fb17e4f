import { SlipboxError, type Schemas } from '@slipbox/client'
import { useRef, useState } from 'preact/hooks'
import { Buttons, Field, Problem } from './parts.tsx'
import { useAction, useShared } from './state.ts'
import { formatDay, plural, reveal } from './text.ts'

const hour = 3_600_000 // an upload of a large file takes long

/** How dates may be written, where a file does not show it. */
const writings = { DMY: 'day, month, year', MDY: 'month, day, year', YMD: 'year, month, day' } as const
type Dates = keyof typeof writings
/** How a person gets a file out of a program: the words of the pages in docs/history, which a gateway does not serve. */
const ways = {
  ChatGPT: 'Settings, Data controls, Export data. A mail brings a link to a zip: take it whole.',
  Claude: 'Settings, Privacy, Export data, on the web or in the desktop program. A mail brings a link to a zip, which ends after a day.',
  Gemini: 'takeout.google.com: My Activity, in it only Gemini Apps, as JSON. A mail brings a link to a zip.',
  WhatsApp: 'Android: open a chat, ⋮, More, Export chat. iPhone: its name, Export Chat. Without media it takes more messages. Several chats come as a zip.',
  Slack: 'An owner of the workspace exports: Settings, Workspace settings, Import/Export Data.',
  Telegram: 'In the desktop program: ⋮, Export chat history in a chat, or Settings, Advanced, Export Telegram data. Choose Machine-readable JSON.',
  Mail: 'A mail (.eml) or a mailbox (.mbox), as Thunderbird, Apple Mail and takeout.google.com export.',
  'Obsidian, Logseq, Notion': 'The folder of the vault or graph, as a zip; of Notion: Export, Markdown & CSV.',
} as const
/** A document is no history: its text is kept as passages. */
const isDocument = (of: File) => /\.(pdf|docx|html?|csv)$/i.test(of.name)

/** Imports a file of another program: it is understood first, and nothing is stored before a person agrees. */
export function ImportFile({ to, close, done }: { to: string; close: () => void; done: (job: string | undefined) => void }) {
  const { api } = useShared()
  const [file, setFile] = useState<File>()
  const [known, setKnown] = useState<Schemas['History']>()
  const [me, setMe] = useState('')
  const [dates, setDates] = useState<Dates>()
  const { busy, error, run } = useAction()
  const send = (of: File, query: { dry_run?: boolean; me?: string; dates?: Dates }) =>
    api.call('post', '/v1/collections/{collection}/history', {
      path: { collection: to }, query: { name: of.name.slice(-200), ...query }, headers: { 'Content-Type': 'application/octet-stream' }, body: of, timeout: hour,
    })
  const add = async (of: File) => {
    const form = new FormData()
    form.append('file', of)
    const added = await api.call('post', '/v1/collections/{collection}/files', { path: { collection: to }, body: form, timeout: hour })
    return added.job?.id
  }
  const looks = useRef(0)
  const look = (of: File | undefined, written?: Dates) => {
    const now = ++looks.current
    setFile(of)
    setKnown(undefined)
    setMe('')
    setDates(written)
    if (of && !isDocument(of)) void run(async () => {
      const { understood } = await send(of, { dry_run: true, ...(written && { dates: written }) })
      if (now === looks.current) setKnown(understood)
    })
  }
  const submit = async (e: Event) => {
    e.preventDefault()
    if (!file) return
    await run(async () => {
      done(isDocument(file) ? await add(file) : (await send(file, { ...(me && { me }), ...(dates && { dates }) })).job?.id)
      close()
    })
  }
  const drop = (e: DragEvent) => {
    e.preventDefault()
    if (!busy) look(e.dataTransfer?.files[0])
  }
  const unclear = dates !== undefined || error instanceof SlipboxError && error.fields.some(f => f.field === 'dates')
  const document = file && isDocument(file)
  const empty = known && known.messages + known.notes === 0
  return (
    <form onSubmit={e => void submit(e)}>
      <div class="drop" onDragOver={e => e.preventDefault()} onDrop={drop}>
        <Field label="File" hint="Drop it here, or choose it: an export of ChatGPT, Claude, Gemini, WhatsApp, Slack or Telegram, mail, a transcript, Markdown, mem0, MemoryBank, MemoryOS, Letta, or lines of JSON; or a document: PDF, Word, HTML, CSV. A folder comes as a zip.">
          {id => <input id={id} type="file" disabled={busy} onChange={e => look(e.currentTarget.files?.[0])} />}
        </Field>
      </div>
      {!file && (
        <details>
          <summary>How do I get it?</summary>
          {Object.entries(ways).map(([program, way]) => <p key={program} class="small"><strong>{program}</strong>: {way}</p>)}
        </details>
      )}
      {unclear && (
        <Field label="How are its dates written?" hint="The file has no date from which this can be told.">
          {id => (
            <select id={id} required value={dates ?? ''} disabled={busy} onChange={e => look(file, e.currentTarget.value as Dates)}>
              <option value="" disabled>Choose</option>
              {Object.entries(writings).map(([order, says]) => <option key={order} value={order}>{says}</option>)}
            </select>
          )}
        </Field>
      )}
      {busy && !known && <p class="soft" role="status">Reading {file && reveal(file.name)}…</p>}
      {known && <Understood of={known} />}
      {document && <p class="soft">Its text is kept in passages, which are found and cited with the name of the file and the page.</p>}
      {known?.ask_me && (
        <Field label="Who is remembered?" hint="This memory is of one person. What the others say is kept as answers to that person.">
          {id => (
            <select id={id} required value={me} onChange={e => setMe(e.currentTarget.value)}>
              <option value="">Choose</option>
              {known.people.slice(0, 200).map(p => <option key={p.name} value={p.name}>{reveal(p.name)} ({plural(p.messages, 'message')})</option>)}
            </select>
          )}
        </Field>
      )}
      {error && !(unclear && dates === undefined) && <Problem error={error} />}
      <Buttons busy={busy} close={close} label="Import" disabled={!document && (!known || empty || (known.ask_me && me === ''))} />
    </form>
  )
}

/** What was understood of a file. */
function Understood({ of: h }: { of: Schemas['History'] }) {
  const left = Object.entries(h.left)
  const amount = [h.messages > 0 && `${plural(h.messages, 'message')} of ${plural(h.sessions, 'conversation')}`, h.notes > 0 && plural(h.notes, 'note')].filter(Boolean).join(', ')
  return (
    <section class="understood" aria-label="What was understood">
      <p><strong>{reveal(h.what)}</strong>: {amount || 'nothing to import'}{h.from && h.to && `, ${[...new Set([formatDay(h.from), formatDay(h.to)])].join(' to ')}`}</p>
      {h.people.length > 0 && <p class="soft small">People: <bdi>{h.people.slice(0, 8).map(p => `${reveal(p.name)} (${p.messages})`).join(', ')}</bdi>{h.people.length > 8 && ` and ${h.people.length - 8} more`}</p>}
      <ol>{h.first.map((line, i) => <li key={i}><span class="soft small"><bdi>{reveal(line.name ?? line.role ?? 'note')}</bdi>{line.occurred_at && ` · ${formatDay(line.occurred_at)}`}</span><br /><bdi>{reveal(line.content)}</bdi></li>)}</ol>
      {(left.length > 0 || h.undated > 0) && (
        <p class="soft small">
          {left.length > 0 && `Left out: ${left.map(([reason, n]) => `${reason} (${n})`).join(', ')}. `}
          {h.undated > 0 && `${h.undated} without a date that can be right get today's.`}
        </p>
      )}
      {h.doubts?.map(d => <p key={d} class="soft small">{reveal(d)}</p>)}
    </section>
  )
}
