import { SlipboxError, type Schemas, type Slipbox } from '@slipbox/client'
import { useEffect, useRef, useState } from 'preact/hooks'
import './chat.css'
import { Cited, opens, type Looked } from './cited.tsx'
import { dialogueOf, splitMarks } from './marks.ts'
import { Marked } from './marked.tsx'
import { Linked } from './note.tsx'
import { Empty, Problem } from './parts.tsx'
import { formatRoute } from './route.ts'
import { useShared, type Shared } from './state.ts'
import { plural, reveal } from './text.ts'

/** A question, and its answer as far as it has come. */
interface Turn {
  question: string
  reply: string
  state: 'asking' | 'answered' | 'stopped' | 'failed'
  answer?: Schemas['ChatAnswer']
  error?: Error
}

/** A conversation. It continues while another view is shown. */
class Talk {
  turns: Turn[] = []
  control: AbortController | undefined
  /** Called after each change. */
  show: () => void = () => undefined

  async ask({ api, refused }: Shared, collection: string, question: string, remember: boolean): Promise<void> {
    const control = new AbortController()
    const messages = dialogueOf(this.turns, question)
    const turn: Turn = { question, reply: '', state: 'asking' }
    this.turns.push(turn)
    this.control = control
    this.show()
    try {
      // No time limit and no second try: whoever asked sees that nothing comes, and may stop.
      for await (const event of api.collection(collection).chatStream({ messages, remember }, { signal: control.signal, timeout: 0, retries: 0 })) {
        if (event.event === 'delta') turn.reply += (event.data as Schemas['ChatDelta']).text
        else {
          turn.answer = event.data as Schemas['ChatAnswer']
          turn.reply = turn.answer.reply
          turn.state = 'answered'
        }
        this.show()
      }
    } catch (cause) {
      turn.state = control.signal.aborted ? 'stopped' : 'failed'
      if (cause instanceof SlipboxError && cause.status === 401) refused(cause, true)
      if (turn.state === 'failed') turn.error = cause instanceof Error ? cause : new Error(String(cause))
    }
    if (this.control === control) this.control = undefined
    this.show()
  }

  stop(): void {
    this.control?.abort()
  }
}

/** Conversations by the client, which is made anew with each key, and by collection. The tab forgets them when it closes. */
const talks = new WeakMap<Slipbox, Map<string, Talk>>()

function talkOf(api: Slipbox, collection: string): Talk {
  const all = talks.get(api) ?? new Map<string, Talk>()
  talks.set(api, all)
  const talk = all.get(collection) ?? new Talk()
  all.set(collection, talk)
  return talk
}

/** Stops what is being answered to a client whose key is given up: nothing more is read, and the model is not kept at work. */
export function stopTalks(api: Slipbox): void {
  for (const talk of talks.get(api)?.values() ?? []) talk.stop()
}

/** Asks a collection. Without a model what memory holds is quoted. */
export function Chat({ collection: c }: { collection: Schemas['Collection'] }) {
  const shared = useShared()
  const talk = talkOf(shared.api, c.id)
  const [, setRound] = useState(0)
  const [text, setText] = useState('')
  const [remember, setRemember] = useState(false)
  const [looked, setLooked] = useState<Looked>()
  const end = useRef<HTMLDivElement>(null)
  const field = useRef<HTMLTextAreaElement>(null)
  useEffect(() => {
    talk.show = () => setRound(n => n + 1)
    field.current?.focus({ preventScroll: true })
    return () => { talk.show = () => undefined }
  }, [talk])
  const busy = talk.control !== undefined
  // A new question is brought into sight. What is answered is followed only by who reads its end.
  const last = talk.turns[talk.turns.length - 1]
  useEffect(() => end.current?.scrollIntoView({ block: 'nearest' }), [talk.turns.length])
  useEffect(() => {
    const page = document.documentElement
    if (page.scrollHeight - page.scrollTop - page.clientHeight < 160) end.current?.scrollIntoView({ block: 'nearest' })
  }, [last?.reply, last?.state])
  const leave = () => {
    looked?.from.focus()
    setLooked(undefined)
  }
  const send = () => {
    const question = text.trim()
    if (question === '' || busy) return
    setText('')
    void talk.ask(shared, c.id, question, remember)
  }
  return (
    <div class={`talk ${looked ? 'open' : ''}`} onKeyDown={e => { if (e.key === 'Escape' && looked) leave() }}>
      <div class="chat">
        {talk.turns.length === 0 ? (
          <Empty title="Talk with this memory"><p>The answer names the notes that it comes from. Without a model, what memory holds is quoted.</p></Empty>
        ) : (
          <div role="log" aria-label="Conversation" aria-busy={busy}>
            <ol class="turns">
              {talk.turns.map((t, i) => <Said key={i} turn={t} collection={c.id} looked={looked?.citation} look={setLooked} again={i === talk.turns.length - 1 && !busy ? () => { setText(t.question); field.current?.focus() } : undefined} />)}
            </ol>
            <div ref={end} class="end" />
          </div>
        )}
        <form class="ask" onSubmit={e => { e.preventDefault(); send() }}>
          <textarea ref={field} rows={2} dir="auto" maxlength={65536} aria-label="Ask this memory" placeholder="A question" value={text} onInput={e => setText(e.currentTarget.value)}
            onKeyDown={e => { if (e.key === 'Enter' && !e.shiftKey && !e.isComposing) { e.preventDefault(); send() } }} />
          <div class="row">
            <label class="check small"><input type="checkbox" checked={remember} onChange={e => setRemember(e.currentTarget.checked)} /> remember what is said here</label>
            <span class="grow" />
            {talk.turns.length > 0 && !busy && <button type="button" onClick={() => { talk.turns = []; setLooked(undefined); setRound(n => n + 1) }}>New conversation</button>}
            {busy ? <button type="button" onClick={() => talk.stop()}>Stop</button> : <button type="submit" class="main" disabled={text.trim() === ''}>Ask</button>}
          </div>
        </form>
      </div>
      {looked && <Cited collection={c.id} at={looked} close={leave} />}
    </div>
  )
}

/** Stands for a bracket after a backslash, which is no mark, while Markdown is read: that would take the backslash. */
const bracket = '\ue000'

function Said({ turn: t, collection, looked, look, again }: {
  turn: Turn; collection: string; looked: Schemas['Citation'] | undefined; look: (at: Looked) => void; again: (() => void) | undefined
}) {
  const citations = t.answer?.citations ?? []
  const pieces = splitMarks(t.reply, citations.length)
  const used = [...new Set(pieces.flatMap(p => p.mark ?? []))].sort((a, b) => a - b)
  const rest = citations.length - used.length
  /** What each link to a citation has. */
  const link = (n: number) => ({ 'aria-expanded': looked === citations[n - 1], onClick: opens(n, citations[n - 1]!, look) })
  const seconds = useSeconds(t.state === 'asking' && t.reply === '')
  return (
    <li class="turn">
      <p class="asked"><span class="hidden">You: </span><bdi class="text" dir="auto">{reveal(t.question)}</bdi></p>
      <div class="answer">
        <span class="hidden">Memory: </span>
        {t.reply !== '' && (
          <Marked words={text => splitMarks(text, citations.length).map((p, i) => p.mark === undefined ? reveal(p.text.replaceAll(bracket, '['))
            : <a key={i} class="mark" href={formatRoute({ collection, note: citations[p.mark - 1]!.note })} aria-label={`source ${p.mark}`} {...link(p.mark)}>{p.text}</a>)}>{t.reply.replaceAll('\\[', bracket)}</Marked>
        )}
        {t.state === 'asking' && t.reply === '' && <p class="soft" role="status">{seconds < 5 ? 'Asking…' : `No answer for ${seconds} seconds. Wait, or stop; other views stay usable.`}</p>}
        {t.state === 'stopped' && <p class="soft small">Stopped. What had come is not stored.</p>}
        {t.error && <Problem error={t.error} />}
        {used.length > 0 && !t.answer?.offline && (
          <ol class="sources" aria-label="Sources">
            {used.map(n => <li key={n}><span class="soft">[{n}]</span> <Linked collection={collection} id={citations[n - 1]!.note} {...link(n)} /></li>)}
          </ol>
        )}
        <p class="row small soft">
          {t.answer && <>
            <span>{t.answer.model ?? 'without a model'}</span>
            {t.answer.answerable !== undefined && <span>{Math.round(t.answer.answerable * 100)} % that memory has the answer</span>}
            {t.answer.tokens > 0 && <span>{plural(t.answer.tokens, 'token')} of memory</span>}
            {rest > 0 && <span>{plural(rest, 'more note')} in the context</span>}
            {t.answer.withheld && <span>{t.answer.withheld}</span>}
            {t.answer.degraded && <span>{t.answer.degraded}</span>}
            {t.answer.remembered && <span>stored</span>}
            <a href={formatRoute({ collection, tab: 'context', query: { q: t.question } })}>See its context</a>
          </>}
          {again && t.state !== 'answered' && <button type="button" class="link" onClick={again}>Ask again</button>}
        </p>
      </div>
    </li>
  )
}

/** Seconds since something began to run; 0 while it does not. */
function useSeconds(runs: boolean): number {
  const [seconds, setSeconds] = useState(0)
  useEffect(() => {
    setSeconds(0)
    if (!runs) return
    const timer = setInterval(() => setSeconds(n => n + 1), 1000)
    return () => clearInterval(timer)
  }, [runs])
  return seconds
}
