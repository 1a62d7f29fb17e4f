import { SlipboxError, type Schemas } from '@slipbox/client'
import { useEffect, useRef, useState } from 'preact/hooks'
import { CollectionView } from './collection.tsx'
import { CreateCollection } from './forms.tsx'
import { Empty, Problem, Waiting } from './parts.tsx'
import { Gateway } from './gateway.tsx'
import { formatRoute } from './route.ts'
import { Start } from './start.tsx'
import { useBeat, useLoad, useRoute, useShared } from './state.ts'
import { demo, Tour, useTour } from './tour.tsx'
import { count, plural, reveal } from './text.ts'
import { flatten, partedBy, titleOf, treeOf } from './tree.ts'

/** Most collections that the tree lists; the rest is found by name. */
const most = 1000

/** How often the tree is read again, in milliseconds: collections that are not open are not followed by their events. */
const pulse = 10_000

/** The frame of every view: the tree of collections on the left, one of them on the right. */
export function Shell({ signOut }: { signOut: () => void }) {
  const { api, changes } = useShared()
  const beat = useBeat(pulse)
  const [route, go] = useRoute()
  const [open, setOpen] = useState(false)
  const [creating, setCreating] = useState(false)
  const [begun, setBegun] = useState(false)
  const tour = useTour()
  const [filter, setFilter] = useState('')
  const order = `${changes}/${route.collection ?? ''}`
  const list = useLoad(async signal => {
    const found: Schemas['Collection'][] = []
    for await (const c of api.collections({ limit: 200 }, { signal })) {
      found.push(c)
      if (found.length === most) break
    }
    return { order, found }
  }, [], `${order}/${beat}`)
  // What comes while nothing else is opened stands at the end, so that no row moves under the reader's eyes.
  const ordered = useRef<{ order: string; ids: Set<string> }>(undefined)
  if (list.data && ordered.current?.order !== list.data.order) ordered.current = { order: list.data.order, ids: new Set(list.data.found.map(c => c.id)) }
  // The collection that is open is shown as its events say it is.
  const [now, setNow] = useState<Schemas['Collection']>()
  const collections = list.data?.found.map(c => c.id === now?.id && now.head_revision >= c.head_revision ? now : c)
  // The key of an operator reads no memory.
  const operator = list.state === 'failed' && list.error instanceof SlipboxError && list.error.status === 403
  useEffect(() => setOpen(false), [route.collection, route.tab, route.note])
  useEffect(() => setBegun(false), [route.collection])
  const isOrdered = (c: Schemas['Collection']) => ordered.current?.ids.has(c.id) ?? false
  const late = (collections ?? []).filter(c => !isOrdered(c)).map(item => ({ item, depth: 0 }))
  const rows = [...flatten(treeOf((collections ?? []).filter(isOrdered))), ...late].filter(n => `${n.item.name} ${n.item.display_name ?? ''}`.toLowerCase().includes(filter.trim().toLowerCase()))
  const here = collections?.find(c => c.id === route.collection || c.name === route.collection)
  useEffect(() => document.querySelector('#tree [aria-current]')?.scrollIntoView({ block: 'nearest' }), [here?.id])
  useEffect(() => {
    document.title = here ? `${here.name} · slipbox` : 'slipbox console'
  }, [here?.name])
  return (
    <div class="shell">
      <a class="skip" href="#main" onClick={e => { e.preventDefault(); document.getElementById('main')?.focus() }}>Skip to the content</a>
      <header class="top">
        <button type="button" class="plain menu" aria-expanded={open} aria-controls="tree" aria-label="Collections" onClick={() => setOpen(!open)}>☰</button>
        <a class="brand" href={formatRoute({})}>slipbox</a>
        <span class="grow" />
        <a href={formatRoute({ gateway: true })} class="soft" aria-current={route.gateway ? 'page' : undefined}>Gateway</a>
        <a href="/docs" class="soft">API</a>
        <Theme />
        <button type="button" onClick={signOut}>Sign out</button>
      </header>
      <nav id="tree" class={open ? 'open' : ''} aria-label="Collections">
        <div class="row between">
          <h2>Collections</h2>
          {!operator && <button type="button" onClick={() => setCreating(true)}>New</button>}
        </div>
        {(collections?.length ?? 0) > 8 && (
          <input type="search" aria-label="Find a collection" placeholder="Find a collection" value={filter} onInput={e => setFilter(e.currentTarget.value)} />
        )}
        {operator ? <p class="soft small">This key reads no memory. What it may do is on the right.</p>
          : !collections ? list.state !== 'failed' && <Waiting /> : (
          <ul class="tree">
            {rows.map(({ item, depth }) => (
              <li key={item.id} data-depth={Math.min(depth, 8)}>
                <a href={formatRoute({ collection: item.id })} aria-current={item.id === here?.id ? 'page' : undefined}>
                  <span class="name"><bdi>{reveal(titleOf(item, collections?.find(c => c.id === item.parent?.collection)))}</bdi>{item.parent && <span class="tag">fork at r{count(item.parent.revision)}</span>}</span>
                  {/* One text on one line, with isolating marks: what changes in it moves nothing. */}
                  <span class="soft small holds" title={item.agent && reveal(item.agent)}>
                    {`${item.counts ? plural(item.counts.notes, 'note') : '…'} · r${count(item.head_revision)}${parted(item, collections)} · ${item.policy} · ${item.agent ? `\u2068${reveal(item.agent)}\u2069` : 'shared'}`}
                  </span>
                </a>
              </li>
            ))}
          </ul>
        )}
        {!operator && list.state === 'failed' && <Problem error={list.error} again={list.again} />}
        {collections?.length === most && <p class="soft small">The first {count(most)} collections, by name.</p>}
      </nav>
      <main id="main" tabindex={-1}>
        {route.gateway || operator ? <Gateway route={route} go={go} collections={collections ?? []} /> : route.collection ? <CollectionView key={route.collection} route={route} go={go} show={setNow} />
          : !collections ? list.state !== 'failed' && <Waiting />
          : collections.length === 0 || begun ? <Start go={go} begin={() => setBegun(true)} />
          : <Empty page title="Choose a collection"><p>Each is the memory of an agent, or one that several share. Forks stand below what they were forked from.</p>
            {collections.some(c => c.name === demo) && !tour.at && <p><button type="button" class="main" onClick={tour.begin}>Take the tour of the demo, in six steps</button></p>}
          </Empty>}
      </main>
      {tour.at && <Tour at={tour.at} set={tour.set} go={go} />}
      {creating && <CreateCollection close={() => setCreating(false)} go={go} />}
    </div>
  )
}

/** Says how far a fork and its base have gone since they parted. */
function parted(c: Schemas['Collection'], all: readonly Schemas['Collection'][]): string {
  const by = partedBy(c, all.find(o => o.id === c.parent?.collection))
  return by ? `, ${count(by.ahead)} ahead, ${count(by.behind)} behind` : ''
}

/** Switches between light and dark; without a choice the system's holds. */
function Theme() {
  const [theme, setTheme] = useState(localStorage.getItem('slipbox-theme') ?? '')
  useEffect(() => {
    if (theme === '') delete document.documentElement.dataset.theme
    else document.documentElement.dataset.theme = theme
  }, [theme])
  const dark = theme === 'dark' || (theme === '' && matchMedia('(prefers-color-scheme: dark)').matches)
  const next = dark ? 'light' : 'dark'
  return (
    <button type="button" class="plain" aria-label={`Switch to ${next}`} title={`Switch to ${next}`} onClick={() => { localStorage.setItem('slipbox-theme', next); setTheme(next) }}>◑</button>
  )
}
