import { SlipboxError, type Schemas } from '@slipbox/client'
import { useEffect, useRef } from 'preact/hooks'
import { Marked } from './marked.tsx'
import { Linked } from './note.tsx'
import { Read } from './parts.tsx'
import { formatRoute } from './route.ts'
import { useLoad, useShared } from './state.ts'
import { formatTime } from './text.ts'

/** A citation that is looked at: its number in its answer, and what leads back to it. */
export interface Looked {
  number: number
  citation: Schemas['Citation']
  from: HTMLElement
}

/** What a link to a citation does: a plain click opens it beside the answer, any other one as the browser does. */
export function opens(number: number, citation: Schemas['Citation'], look: (at: Looked) => void) {
  return (e: MouseEvent & { currentTarget: HTMLElement }) => {
    if (e.button !== 0 || e.ctrlKey || e.metaKey || e.shiftKey || e.altKey) return
    e.preventDefault()
    look({ number, citation, from: e.currentTarget })
  }
}

/** A cited note as the answer had it, beside the answer. */
export function Cited({ collection, at, close }: { collection: string; at: Looked; close: () => void }) {
  const { api } = useShared()
  const { note, revision, confidence, sources = [] } = at.citation
  const read = useLoad(async signal => {
    const had = await api.collection(collection).note(note, { signal, asOf: revision })
    const now = await api.collection(collection).note(note, { signal }).catch((error: unknown) => {
      if (error instanceof SlipboxError && error.status === 404) return undefined
      throw error
    })
    return { had: had.body, news: !now ? 'It is deleted by now.' : now.body.content !== had.body.content ? 'It says something else by now.' : '' }
  }, [collection, note, revision])
  const title = useRef<HTMLHeadingElement>(null)
  useEffect(() => title.current?.focus({ preventScroll: true }), [at])
  return (
    <aside class="cited" aria-label={`Source ${at.number}`}>
      <div class="row between">
        <h2 ref={title} tabindex={-1}>Source {at.number}</h2>
        <button type="button" class="plain" aria-label="Close the source" onClick={close}>×</button>
      </div>
      <Read of={read}>
        {({ had, news }) => (
          <>
            <Marked key={note} most={2000}>{had.content}</Marked>
            {news && <p class="small">{news}</p>}
            <p class="row small soft"><span>{had.kind}</span><span>{formatTime(had.occurred_at ?? had.created_at)}</span>{confidence !== undefined && <span>{Math.round(confidence * 100)} % sure</span>}</p>
            {sources.length > 0 && <><h3>It comes from</h3><ul class="links small">{sources.map(s => <li key={s}><Linked collection={collection} id={s} /></li>)}</ul></>}
          </>
        )}
      </Read>
      <p><a href={formatRoute({ collection, note })}>Open the note</a></p>
    </aside>
  )
}
