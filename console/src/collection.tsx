import { SlipboxError, type Schemas } from '@slipbox/client'
import { useEffect, useState } from 'preact/hooks'
import { Chat } from './chat.tsx'
import { Context } from './context.tsx'
import { Facts } from './facts.tsx'
import { Add, DeleteCollection, Fork, Rename } from './forms.tsx'
import { Inside, insideTitle } from './inside.tsx'
import { Jobs } from './jobs.tsx'
import { Note } from './note.tsx'
import { Notes } from './notes.tsx'
import { Read } from './parts.tsx'
import { Reviews } from './reviews.tsx'
import { formatRoute, tabs, type Route } from './route.ts'
import { Search } from './search.tsx'
import { useLoad, useShared } from './state.ts'
import { count, plural, reveal } from './text.ts'

const titles = { notes: 'Notes', search: 'Search', chat: 'Chat', context: 'Context', facts: 'Facts', memory: 'Memory', reviews: 'Reviews', jobs: 'Jobs' }

export type Go = (route: Partial<Route>, replace?: boolean) => void

/** One collection: what it is, what can be done with it, and a view of what it holds. */
export function CollectionView({ route, go }: { route: Route; go: Go }) {
  const { api, changed, tell } = useShared()
  const ref = route.collection ?? ''
  const read = useLoad(signal => api.collection(ref).get({ signal }), [ref])
  const [open, setOpen] = useState<'add' | 'fork' | 'rename' | 'delete'>()
  const [job, setJob] = useState<string>()
  const [fresh, setFresh] = useState(0)
  const refresh = () => {
    setFresh(n => n + 1)
    read.again()
    changed()
  }
  useFollow(job, ended => {
    setJob(undefined)
    refresh()
    if (ended) tell(ended.state === 'done' ? 'The policy has worked on it.' : `The job ended as ${ended.state}.`)
  })
  const forks = useLoad(async signal => {
    let n = 0
    for await (const c of api.collections({ limit: 200 }, { signal })) if (c.parent && c.parent.collection === ref) n++
    return n
  }, [ref, open === 'delete'])
  return (
    <Read of={read}>
      {c => (
        <>
          <div class="head">
            <div>
              <h1><bdi>{reveal(c.display_name ?? c.name)}</bdi></h1>
              <p class="soft">
                {c.counts && <>{plural(c.counts.notes, 'note')}, {plural(c.counts.links, 'link')} · </>}policy {c.policy} · revision {count(c.head_revision)}
                {c.agent && <> · of <bdi>{reveal(c.agent)}</bdi></>}
                {c.parent && <> · fork of <a href={formatRoute({ collection: c.parent.collection })}>its base</a> at revision {count(c.parent.revision)}</>}
                {c.state === 'copying' && <> · being copied</>}
              </p>
            </div>
            <div class="row">
              <button type="button" class="main" onClick={() => setOpen('add')}>Add</button>
              <button type="button" onClick={() => setOpen('fork')}>Fork</button>
              <button type="button" onClick={() => setOpen('rename')}>Rename</button>
              <button type="button" class="danger" onClick={() => setOpen('delete')}>Delete</button>
            </div>
          </div>
          <nav class="tabs" aria-label={`Views of ${c.name}`}>
            {tabs.filter(t => t !== 'memory' || insideTitle(c.policy)).map(t => (
              <a key={t} href={formatRoute({ collection: ref, tab: t })} aria-current={route.tab === t ? 'page' : undefined}>
                {t === 'memory' ? insideTitle(c.policy) : titles[t]}{t === 'reviews' && (c.counts?.in_review ?? 0) > 0 && <span class="tag">{count(c.counts!.in_review)}</span>}
              </a>
            ))}
          </nav>
          {job && <p class="working" role="status">The policy works on what was added…</p>}
          {route.tab === 'notes' && route.note ? <Note key={route.note} collection={c} id={route.note} go={go} changed={refresh} follow={setJob} fresh={fresh} />
            : route.tab === 'notes' ? <Notes collection={c} route={route} go={go} fresh={fresh} add={() => setOpen('add')} />
            : route.tab === 'search' ? <Search collection={c} route={route} go={go} />
            : route.tab === 'chat' ? <Chat collection={c} />
            : route.tab === 'context' ? <Context collection={c} route={route} go={go} />
            : route.tab === 'facts' ? <Facts collection={c} route={route} go={go} fresh={fresh} />
            : route.tab === 'memory' ? <Inside collection={c} route={route} go={go} fresh={fresh} />
            : route.tab === 'reviews' ? <Reviews collection={c} changed={refresh} fresh={fresh} />
            : <Jobs collection={c} fresh={fresh} />}
          {open === 'add' && <Add to={c.id} conversation={c.policy !== 'amem' && c.policy !== 'none'} close={() => setOpen(undefined)} done={id => { tell('Added.'); refresh(); setJob(id) }} />}
          {open === 'fork' && <Fork of={c} close={() => setOpen(undefined)} go={go} />}
          {open === 'rename' && <Rename of={c} close={() => setOpen(undefined)} done={refresh} />}
          {open === 'delete' && forks.data !== undefined && <DeleteCollection of={c} forks={forks.data} close={() => setOpen(undefined)} go={go} />}
        </>
      )}
    </Read>
  )
}

/** Follows a job by its events, and calls back when it has ended, or can no longer be followed. */
export function useFollow(id: string | undefined, ended: (job: Schemas['Job'] | undefined) => void, each?: (job: Schemas['Job']) => void): void {
  const { api } = useShared()
  useEffect(() => {
    if (id === undefined) return
    const control = new AbortController()
    void (async () => {
      let last: Schemas['Job'] | undefined
      try {
        for await (const job of api.jobs.follow(id, { signal: control.signal })) {
          last = job
          each?.(job)
        }
      } catch (error) {
        if (control.signal.aborted) return
        if (error instanceof SlipboxError && error.status === 404) last = undefined
      }
      if (!control.signal.aborted) ended(last)
    })()
    return () => control.abort()
  }, [id])
}
