import { SlipboxError } from '@slipbox/client'
import type { ComponentChildren, JSX } from 'preact'
import { useEffect, useId, useRef, useState } from 'preact/hooks'
import { advice, type Loaded } from './state.ts'
import { plainly, reveal, shorten } from './text.ts'

/** Text that somebody wrote. It is shown as text, its direction stays inside, and hidden characters are seen. Of a long one, `most` characters are shown first; `still` within a link, where no button can be. */
export function Text({ children, most, still = false }: { children: string; most?: number; still?: boolean }) {
  const [all, setAll] = useState(false)
  const shown = most === undefined || all ? children : shorten(children, most)
  if (children.trim() === '') return <span class="soft">(no words)</span>
  return (
    <>
      <bdi class="text" dir="auto">{reveal(shown)}</bdi>
      {shown !== children && still && <span class="soft small"> {children.length.toLocaleString('en')} characters</span>}
      {shown !== children && !still && <button type="button" class="link" onClick={() => setAll(true)}>show all {children.length.toLocaleString('en')} characters</button>}
    </>
  )
}

/** An error, with what to do. */
export function Problem({ error, again, children }: { error: Error; again?: () => void; children?: ComponentChildren }) {
  const id = error instanceof SlipboxError ? error.requestId : undefined
  return (
    <div class="problem" role="alert">
      <p><strong>{reveal(plainly(error.message))}</strong></p>
      <p>{advice(error)}</p>
      {id && <p class="soft small">request <code>{id}</code></p>}
      {(again || children) && <div class="row">{again && <button type="button" onClick={again}>Try again</button>}{children}</div>}
    </div>
  )
}

/** How the reading of a view is: a sign until something is there, or why it failed. What was read before stays below: a person may have opened or typed something in it. */
export function Reading({ of: { data, error, again } }: { of: { data?: unknown; error?: Error; again: () => void } }) {
  return error ? <Problem error={error} again={again} /> : data === undefined ? <Waiting /> : null
}

/** What is read, below how its reading is. */
export function Read<T>({ of, children }: { of: Loaded<T> & { again: () => void }; children: (data: T) => ComponentChildren }) {
  return <><Reading of={of} />{of.data !== undefined && children(of.data)}</>
}

export function Waiting() {
  return (
    <div class="waiting" role="status" aria-label="Loading">
      <i /><i /><i />
    </div>
  )
}

/** A view with nothing in it, and what to do. With `page` it is all that the page has. */
export function Empty({ title, page = false, children }: { title: string; page?: boolean; children?: ComponentChildren }) {
  return <div class="empty">{page ? <h1>{title}</h1> : <h2>{title}</h2>}{children}</div>
}

/** Puts the focus back when what had it is gone: to another element, or to the content of the page. */
export function keepFocus(to?: Element | null): void {
  if (document.activeElement && document.activeElement !== document.body) return
  const next = to instanceof HTMLElement && to !== document.body && to.isConnected ? to : document.getElementById('main')
  next?.focus({ preventScroll: true })
}

/** A dialog over the page. The browser keeps the focus in it, and Escape closes it. */
export function Dialog({ title, close, children }: { title: string; close: () => void; children: ComponentChildren }) {
  const ref = useRef<HTMLDialogElement>(null)
  const id = useId()
  useEffect(() => {
    const dialog = ref.current
    const opener = document.activeElement
    dialog?.showModal()
    dialog?.querySelector<HTMLElement>('input, textarea, select')?.focus()
    return () => {
      dialog?.close()
      requestAnimationFrame(() => keepFocus(opener)) // when the dialog is gone from the page
    }
  }, [])
  return (
    <dialog ref={ref} aria-labelledby={id} onCancel={e => { e.preventDefault(); close() }} onClick={e => { if (e.target === ref.current) close() }}>
      <div class="dialog">
        <header><h2 id={id}>{title}</h2><button type="button" class="plain" aria-label="Close" onClick={close}>×</button></header>
        {children}
      </div>
    </dialog>
  )
}

export function Field({ label, hint, children }: { label: string; hint?: string; children: (id: string) => JSX.Element }) {
  const id = useId()
  return <div class="field"><label for={id}>{label}</label>{children(id)}{hint && <p class="soft small">{hint}</p>}</div>
}

export function Tags({ words, label }: { words: readonly string[]; label: string }) {
  if (words.length === 0) return null
  return <ul class="tags" aria-label={label}>{words.map(w => <li key={w}><bdi>{reveal(w)}</bdi></li>)}</ul>
}

/** What the states of notes and jobs are called to people. */
export const stateWords: Record<string, string> = { raw: 'stored', in_review: 'to decide', pending: 'waits', dead: 'given up' }

/** The state of a note or a job, in a word. */
export function State({ of }: { of: string }) {
  return <span class={`state ${of}`} title={stateHints[of]}>{stateWords[of] ?? of}</span>
}

/** What the states of notes mean. */
export const stateHints: Record<string, string> = {
  raw: 'It is stored and found. The policy has not worked on it, or had nothing to do.', evolved: 'The policy has described and linked it.',
  pending: 'It waits for a model or its vector.', in_review: 'A change of it waits for your decision.',
}

/** Lines to copy. */
export function Copy({ text }: { text: string }) {
  return <div class="copy"><pre tabindex={0}>{text}</pre><CopyButton text={text} /></div>
}

/** Copies a text to the clipboard. */
export function CopyButton({ text, label = 'Copy' }: { text: string; label?: string }) {
  const [done, setDone] = useState(false)
  const copy = async () => {
    await navigator.clipboard.writeText(text).then(() => setDone(true), () => setDone(false))
    setTimeout(() => setDone(false), 2000)
  }
  return <button type="button" onClick={() => void copy()}>{done ? 'Copied' : label}</button>
}

/** The end of a form: what sends it, and a way out. */
export function Buttons({ busy, close, label, danger, disabled }: { busy: boolean; close: () => void; label: string; danger?: boolean; disabled?: boolean }) {
  return (
    <div class="row end">
      <button type="button" onClick={close}>Cancel</button>
      <button type="submit" class={danger ? 'danger' : 'main'} disabled={busy || disabled}>{busy ? 'Working…' : label}</button>
    </div>
  )
}
