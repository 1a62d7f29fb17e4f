import { SlipboxError, type Schemas } from '@slipbox/client'
import { useCallback, useEffect, useRef, useState } from 'preact/hooks'
import { CollectionView, viewsOf } from './collection.tsx'
import { CreateCollection } from './forms.tsx'
import { Home } from './home.tsx'
import { Keys, Palette, useKeys } from './palette.tsx'
import { keepFocus, Problem, Waiting } from './parts.tsx'
import { Gateway } from './gateway.tsx'
import { formatRoute } from './route.ts'
import { Start } from './start.tsx'
import { useBeat, useLoad, useRoute, useSettled, useShared } from './state.ts'
import { demo, Tour, useTour } from './tour.tsx'
import { count, plural, reveal } from './text.ts'
import { flatten, idsOf, partedBy, titleOf, treeOf } from './tree.ts'
import { Users } from './users.tsx'

/** Most collections that the tree lists, the last written ones; the rest is found by typing. */
const most = 200

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
  const [box, setBox] = useState<'palette' | 'keys'>()
  useKeys(useCallback(setBox, []))
  // The key of an operator reads no memory. Once an answer has said whether this is one, it stays so while the list is read again.
  const known = useRef<boolean>(undefined)
  const list = useLoad(async signal => {
    const page = await api.call('get', '/v1/collections', { signal, query: { order: 'updated', limit: most } })
    return { order, found: page.items, more: page.next_cursor !== undefined }
  }, [], `${order}/${known.current ? 0 : beat}`)
  const q = useSettled(filter.trim())
  const search = useLoad(async signal => q === '' ? [] : (await api.call('get', '/v1/collections', { signal, query: { q, order: 'updated', limit: 50 } })).items, [q])
  // What comes while nothing else is opened stands at the end, so that no row moves under the reader's eyes.
  const ordered = useRef<{ order: string; ids: Set<string> }>(undefined)
  if (list.data && ordered.current?.order !== list.data.order) ordered.current = { order: list.data.order, ids: new Set(list.data.found.map(c => c.id)) }
  // The collection that is open is shown as its events say it is.
  const [now, setNow] = useState<Schemas['Collection']>()
  const collections = list.data?.found.map(c => c.id === now?.id && now.head_revision >= c.head_revision ? now : c)
  if (list.state === 'ready') known.current = false
  else if (list.state === 'failed' && list.error instanceof SlipboxError && list.error.status === 403) known.current = true
  const operator = known.current
  // What only a key of a tenant can use is shown once that is known, and has its place before: nothing vanishes or moves.
  const tenants = operator === false || !operator && list.state === 'failed' ? '' : 'unseen'
  useEffect(() => setOpen(false), [route.collection, route.tab, route.note])
  useEffect(() => setBegun(false), [route.collection])
  // What had the focus is gone with the view before: the next Tab begins in this one. At first it begins with the page.
  const begins = useRef(true)
  useEffect(() => {
    if (!begins.current) keepFocus()
    begins.current = false
  }, [formatRoute(route)])
  const isOrdered = (c: Schemas['Collection']) => ordered.current?.ids.has(c.id) ?? false
  const late = (collections ?? []).filter(c => !isOrdered(c)).map(item => ({ item, depth: 0 }))
  const rows: { item: Schemas['Collection']; depth: number }[] = q !== '' && search.data ? search.data.map(item => ({ item, depth: 0 }))
    : [...flatten(treeOf((collections ?? []).filter(isOrdered))), ...late]
  const here = collections?.find(c => c.id === route.collection || c.name === route.collection)
  const shown = here ?? (route.collection ? now : undefined)
  useEffect(() => document.querySelector('#tree [aria-current]')?.scrollIntoView({ block: 'nearest' }), [here?.id, open])
  useEffect(() => {
    document.title = now && route.collection ? `${titleOf(now)} · slipbox` : route.users ? 'Users · slipbox' : 'slipbox console'
  }, [now, route.collection, route.users])
  const users = collections?.filter(c => idsOf(c)).length ?? 0
  const home = collections && [...collections].sort((a, b) => (b.updated_at ?? '').localeCompare(a.updated_at ?? ''))
  // The tree is one stop of the Tab key; j, k and the arrows move in it.
  const stop = rows.some(r => r.item.id === here?.id) ? here?.id : rows[0]?.item.id
  return (
    <div class="shell">
      <a class="skip" href="#main" onClick={e => { e.preventDefault(); document.getElementById('main')?.focus() }}>Skip to the content</a>
      <header class="top">
        <button type="button" class="plain menu" aria-expanded={open} aria-controls="tree" aria-label="Collections" onClick={() => setOpen(!open)}>☰</button>
        <a class="brand" href={formatRoute({})}>slipbox</a>
        <span class="grow" />
        <button type="button" class="go" aria-keyshortcuts="Control+K" onClick={() => setBox('palette')}>Go to… <kbd>Ctrl K</kbd></button>
        <a href={formatRoute({ users: true })} class={`soft ${tenants}`} aria-current={route.users ? 'page' : undefined}>Users</a>
        <a href={formatRoute({ gateway: true })} class="soft" aria-current={route.gateway ? 'page' : undefined}>Gateway</a>
        <a href="/docs" class="soft">API</a>
        <Theme />
        <button type="button" class="out" onClick={signOut}>Sign out</button>
      </header>
      <nav id="tree" class={open ? 'open' : ''} aria-label="Collections">
        <div class="row between">
          <h2>Collections</h2>
          <button type="button" class={tenants} onClick={() => setCreating(true)}>New</button>
        </div>
        {(collections?.length ?? 0) > 8 && (
          <input type="search" aria-label="Find a collection" placeholder="Find a title, a name or an id" value={filter} onInput={e => setFilter(e.currentTarget.value)} />
        )}
        {operator ? <p class="soft small">This key reads no memory. What it may do is on the right.</p>
          : !collections ? list.state !== 'failed' && <Waiting /> : (
          <ul class="tree" onKeyDown={walk}>
            {rows.map(({ item, depth }) => (
              <li key={item.id} data-depth={Math.min(depth, 8)}>
                <a href={formatRoute({ collection: item.id })} tabindex={item.id === stop ? 0 : -1} aria-current={item.id === here?.id ? 'page' : undefined}>
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
        {collections && q !== '' && search.data?.length === 0 && <p class="soft small">Nothing is called like that.</p>}
        {q === '' && list.data?.more && <p class="soft small">The {count(most)} that were last written. Type to find others{users > 0 && <>, or see all <a href={formatRoute({ users: true })}>users</a></>}.</p>}
        <p class="row small phone"><a href={formatRoute({ users: true })} class={`narrow ${tenants}`}>Users</a><a href={formatRoute({ gateway: true })} class="narrow">Gateway</a><a href="/docs">API</a><button type="button" onClick={signOut}>Sign out</button></p>
      </nav>
      <main id="main" tabindex={-1}>
        {route.gateway || operator ? <Gateway route={route} go={go} collections={collections ?? []} operator={operator} /> : route.users ? <Users route={route} go={go} />
          : route.collection ? <CollectionView key={route.collection} route={route} go={go} show={setNow} />
          : !collections ? list.state !== 'failed' && <Waiting />
          : collections.length === 0 || begun ? <Start go={go} begin={() => setBegun(true)} />
          : <Home last={home ?? []} go={go} tour={collections.some(c => c.name === demo) && !tour.at ? tour.begin : undefined} />}
      </main>
      {tour.at && <Tour at={tour.at} set={tour.set} go={go} />}
      {box === 'keys' && <Keys close={() => setBox(undefined)} />}
      {box === 'palette' && <Palette here={shown} go={go} close={() => setBox(undefined)} actions={[
        { key: 'start', title: 'Start page', of: 'view', act: () => go({}) },
        { key: 'users', title: 'Users', of: 'view', act: () => go({ users: true }) },
        { key: 'gateway', title: 'Gateway', of: 'view', act: () => go({ gateway: true }) },
        { key: 'new', title: 'New collection', of: 'action', act: () => setCreating(true) },
        ...(shown ? viewsOf(shown).map(({ tab, title }) => ({ key: tab, title, of: 'view', act: () => go({ collection: shown.id, tab }) })) : []),
        { key: 'keys', title: 'Keys', of: 'help', act: () => setBox('keys') },
        { key: 'api', title: 'API reference', of: 'view', act: () => location.assign('/docs') },
        { key: 'out', title: 'Sign out', of: 'action', act: signOut },
      ]} />}
      {creating && <CreateCollection close={() => setCreating(false)} go={go} />}
    </div>
  )
}

/** Says how far a fork and its base have gone since they parted. */
function parted(c: Schemas['Collection'], all: readonly Schemas['Collection'][]): string {
  const by = partedBy(c, all.find(o => o.id === c.parent?.collection))
  return by ? `, ${count(by.ahead)} ahead, ${count(by.behind)} behind` : ''
}

/** Moves the focus in the tree by the arrow keys. */
function walk(e: KeyboardEvent & { currentTarget: HTMLElement }): void {
  const all = [...e.currentTarget.querySelectorAll<HTMLElement>('a')]
  const at = all.indexOf(document.activeElement as HTMLElement)
  const to = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: all.length - 1 }[e.key]
  if (at < 0 || to === undefined) return
  e.preventDefault()
  all[Math.max(0, Math.min(all.length - 1, to))]?.focus()
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
