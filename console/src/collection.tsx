import type { Schemas } from '@slipbox/client'
import { useEffect, useRef, useState } from 'preact/hooks'
import { Chat } from './chat.tsx'
import { Compare } from './compareview.tsx'
import { Context } from './context.tsx'
import { Facts, hasFacts } from './facts.tsx'
import { Add, Clone, DeleteCollection, Export, Rename } from './forms.tsx'
import { GraphView } from './graphview.tsx'
import { Inside, insideTitle } from './inside.tsx'
import { Jobs } from './jobs.tsx'
import { useFollow, useLasting, useLive } from './live.ts'
import { Note } from './note.tsx'
import { Notes, orderOf } from './notes.tsx'
import { Past } from './past.tsx'
import { Read } from './parts.tsx'
import { Reviews } from './reviews.tsx'
import { formatRoute, tabs, type Route, type Tab } from './route.ts'
import { Search } from './search.tsx'
import { useLoad, useShared } from './state.ts'
import { titleOf } from './tree.ts'
import { count, plural, reveal } from './text.ts'
import { Usage } from './usage.tsx'
import { waitingIn } from './waiting.ts'

const titles = { notes: 'Notes', graph: 'Graph', search: 'Search', chat: 'Chat', context: 'Context', facts: 'Facts', reviews: 'Reviews', jobs: 'Jobs', usage: 'Usage', compare: 'Compare', past: 'Past' }

/** The views that a collection has, with their titles. */
export function viewsOf(c: Schemas['Collection']): { tab: Tab; title: string }[] {
  return tabs.flatMap(tab => {
    const title = tab === 'memory' ? insideTitle(c.policy) : tab === 'facts' && !hasFacts(c) ? undefined : titles[tab]
    return title === undefined ? [] : [{ tab, title }]
  })
}

export type Go = (route: Partial<Route>, replace?: boolean) => void

/** One collection: what it is, what can be done with it, and a view of what it holds. */
export function CollectionView({ route, go, show }: { route: Route; go: Go; show: (now: Schemas['Collection']) => void }) {
  const { api, changed, tell } = useShared()
  const ref = route.collection ?? ''
  const read = useLoad(signal => api.collection(ref).get({ signal }), [ref], `${route.tab}/${route.note ?? ''}`)
  const live = useLive(ref)
  const [open, setOpen] = useState<'add' | 'fork' | 'copy' | 'rename' | 'export' | 'delete'>()
  const [job, setJob] = useState<string>()
  const [done, setDone] = useState<Schemas['Progress']>()
  const [fresh, setFresh] = useState(0)
  const refresh = () => {
    setFresh(n => n + 1)
    read.again()
    changed()
  }
  useFollow(job, ended => {
    setJob(undefined)
    setDone(undefined)
    refresh()
    if (ended) tell(ended.state !== 'done' ? `The job ended as ${ended.state}.` : ended.kind === 'import' ? `Imported ${plural(ended.progress?.total ?? 0, 'note')}.` : 'The policy has worked on it.')
  }, now => setDone(now.kind === 'import' ? now.progress : undefined))
  useEffect(() => {
    if (live.now) show(live.now)
  }, [live.now])
  useEffect(() => inSight(document.querySelector<HTMLElement>('.tabs')), [route.tab])
  const wasAway = useRef(false)
  useEffect(() => {
    if (wasAway.current && !live.away) refresh()
    wasAway.current = live.away
  }, [live.away])
  // A note, and the list of notes that ends with the newest, show by themselves what comes. In other views things would move under the reader's eyes.
  const listed = route.tab === 'notes' && (route.note !== undefined || orderOf(route) === 'oldest')
  const news = useLasting(!job && !listed && (live.now?.head_revision ?? 0) > (read.data?.head_revision ?? Infinity))
  if (read.state === 'failed' && !read.data) return <><h1 class="hidden">A memory that cannot be shown</h1><Read of={read}>{() => null}</Read></>
  return (
    <Read of={read}>
      {last => latest(last, live.now, c => (
        <>
          <div class="head">
            <div>
              <h1><bdi>{reveal(titleOf(c))}</bdi></h1>
              <p class="soft now">
                {/* What changes while one looks on is one text at the end, so that it moves nothing. */}
                {titleOf(c) !== c.name && !/^(external|mem0)[-_]/.test(c.name) && <>{c.name} · </>}
                {c.agent && <>of <bdi>{reveal(c.agent)}</bdi> · </>}
                {c.parent && <>fork of <a href={formatRoute({ collection: c.parent.collection })}>its base</a> at revision {count(c.parent.revision)} · </>}
                {`policy ${c.policy} · ${c.counts ? `${plural(c.counts.notes, 'note')}, ${plural(c.counts.links, 'link')} · ` : ''}revision ${count(c.head_revision)}${c.state === 'copying' ? ' · being copied' : ''}${waiting(c)}`}
              </p>
            </div>
            <div class="row">
              <button type="button" class="main" onClick={() => setOpen('add')}>Add</button>
              <button type="button" onClick={() => setOpen('fork')}>Fork</button>
              <button type="button" onClick={() => setOpen('copy')}>Copy</button>
              <button type="button" onClick={() => setOpen('rename')}>Rename</button>
              <button type="button" onClick={() => setOpen('export')}>Export</button>
              <button type="button" class="danger" onClick={() => setOpen('delete')}>Delete</button>
            </div>
          </div>
          <nav class="tabs" aria-label={`Views of ${titleOf(c)}`} ref={inSight}>
            {viewsOf(c).map(({ tab: t, title }) => (
              <a key={t} href={formatRoute({ collection: ref, tab: t })} aria-current={route.tab === t ? 'page' : undefined}>
                {title}{t === 'reviews' && (c.counts?.in_review ?? 0) > 0 && <span class="tag">{count(c.counts!.in_review)}</span>}
              </a>
            ))}
          </nav>
          <div class="meanwhile" role="status">
            {live.away ? <p>The gateway is away. Trying again…</p>
              : job && done ? <p class="working">Importing: {count(done.done)} of {count(done.total)}. What is there can be found already.</p>
              : job ? <p class="working">The policy works on what was added…</p>
              : news && <p>This memory has changed. <button type="button" onClick={refresh}>Show it</button></p>}
          </div>
          {route.tab === 'notes' && route.note ? <Note key={route.note} collection={c} id={route.note} go={go} changed={refresh} follow={setJob} fresh={fresh} />
            : route.tab === 'notes' ? <Notes collection={c} route={route} go={go} fresh={fresh} add={() => setOpen('add')} changed={refresh} />
            : route.tab === 'graph' ? <GraphView collection={c} route={route} go={go} fresh={fresh} />
            : route.tab === 'compare' ? <Compare collection={c} route={route} go={go} changed={refresh} fresh={fresh} />
            : route.tab === 'past' ? <Past collection={c} changed={refresh} fresh={fresh} />
            : route.tab === 'search' ? <Search collection={c} route={route} go={go} />
            : route.tab === 'chat' ? <Chat collection={c} />
            : route.tab === 'context' ? <Context collection={c} route={route} go={go} />
            : route.tab === 'facts' ? <Facts collection={c} route={route} go={go} fresh={fresh} />
            : route.tab === 'memory' ? <Inside collection={c} route={route} go={go} fresh={fresh} />
            : route.tab === 'reviews' ? <Reviews collection={c} route={route} go={go} changed={refresh} fresh={fresh} />
            : route.tab === 'usage' ? <Usage collection={c} route={route} go={go} fresh={fresh} />
            : <Jobs collection={c} route={route} go={go} fresh={fresh} />}
          {open === 'add' && <Add to={c.id} first={c.policy === 'amem' || c.policy === 'none' ? 'note' : 'conversation'} close={() => setOpen(undefined)} done={(id, imported) => { tell(imported ? 'Importing.' : 'Added.'); refresh(); setJob(id) }} />}
          {(open === 'fork' || open === 'copy') && <Clone of={c} mode={open} close={() => setOpen(undefined)} go={go} />}
          {open === 'export' && <Export of={c} close={() => setOpen(undefined)} />}
          {open === 'rename' && <Rename of={c} close={() => setOpen(undefined)} done={refresh} />}
          {open === 'delete' && <DeleteCollection of={c} close={() => setOpen(undefined)} go={go} />}
        </>
      ))}
    </Read>
  )
}

/** Moves the row of tabs, which is wider than a phone, so that the one that is open is seen. */
function inSight(tabs: HTMLElement | null): void {
  const open = tabs?.querySelector<HTMLElement>('[aria-current]')
  if (tabs && open) tabs.scrollLeft = open.offsetLeft - (tabs.clientWidth - open.offsetWidth) / 2
}

/** What waits, as the end of a line. */
const waiting = (c: Schemas['Collection']): string => (waitingIn(c.work) === '' ? '' : ` · ${waitingIn(c.work)}`)

/** Shows a collection as its events say it is, if they are newer than what was read. */
function latest<T>(read: Schemas['Collection'], live: Schemas['Collection'] | undefined, view: (c: Schemas['Collection']) => T): T {
  return view(live && live.head_revision >= read.head_revision ? { ...read, ...live } : read)
}
