import { SlipboxError } from '@slipbox/client'
import type { ComponentChildren } from 'preact'
import { useRef, useState } from 'preact/hooks'
import { Buttons, Dialog, Problem } from './parts.tsx'
import { useAction, useShared } from './state.ts'
import { erasedText, plural, type Erased } from './text.ts'

interface Props {
  collection: string
  ids: string[]
  /** Of a single note, as it was read. */
  etag?: string | undefined
  /** It is deleted already: it can only be erased. */
  deleted?: boolean
  /** What is deleted, as the reader knows it. */
  children?: ComponentChildren
  close: () => void
  /** Reads the note again, after somebody else changed it. */
  reload?: () => void
  /** Gets what was done, in words. */
  done: (said: string, erased: boolean) => void
}

/** Asks whether notes are deleted or erased, and does it. What fails ends it, and what is left can be tried again. */
export function Delete({ collection, ids, etag, deleted = false, children, close, reload, done }: Props) {
  const { api } = useShared()
  const [erase, setErase] = useState(deleted)
  const [left, setLeft] = useState(ids)
  const reports = useRef<Erased[]>([])
  const { busy, error, run } = useAction()
  const many = ids.length > 1
  const [its, it] = many ? ['their', 'them'] as const : ['its', 'it'] as const
  const ended = (n: number) => {
    close()
    if (n > 0) done(erase ? erasedText(reports.current) : many ? `Deleted ${plural(n, 'note')}. Their histories can restore them.` : 'Deleted. Its history can restore it.', erase)
  }
  const submit = async (e: Event) => {
    e.preventDefault()
    await run(async () => {
      for (let i = 0; i < left.length; i++) {
        try {
          const report = await api.collection(collection).deleteNote(left[i]!, { erase, ...(etag && { ifMatch: etag }) })
          if (report) reports.current.push(report)
        } catch (cause) {
          if (many && cause instanceof SlipboxError && cause.status === 404) continue // it went with another
          setLeft(left.slice(i))
          throw cause
        }
      }
      ended(ids.length)
    })
  }
  const shut = () => ended(ids.length - left.length)
  return (
    <Dialog title={`${deleted ? 'Erase' : 'Delete'} ${many ? plural(left.length, 'note') : 'this note'}?`} close={shut}>
      <form onSubmit={e => void submit(e)}>
        {children}
        {erase ? <p>All {its} versions go, here and in forks, with what only {many ? 'they support' : 'it supports'} and with {its} jobs and reviews. Summaries are made again without {it}. Copies, exports and backups keep {it}. This cannot be undone.</p>
          : <p>What is deleted is no longer found or linked. Its history keeps all versions, and can restore it.</p>}
        {!deleted && <label class="check"><input type="checkbox" checked={erase} disabled={left.length < ids.length} onChange={e => setErase(e.currentTarget.checked)} /> Erase {it}: nothing can restore {it}</label>}
        {error && <Problem error={error}>{reload && error instanceof SlipboxError && error.status === 412 && <button type="button" onClick={() => { close(); reload() }}>Close and load again</button>}</Problem>}
        <Buttons busy={busy} close={shut} label={erase ? 'Erase' : 'Delete'} danger />
      </form>
    </Dialog>
  )
}
