import type { Schemas } from '@slipbox/client'
import { useEffect, useRef, useState } from 'preact/hooks'
import type { Go } from './collection.tsx'
import { Dialog } from './parts.tsx'
import type { Route } from './route.ts'
import { useLoad, useSettled, useShared } from './state.ts'
import { reveal, shorten } from './text.ts'
import { idsOf, titleOf } from './tree.ts'

/** Something that can be chosen: where it leads, or what it does. */
interface Choice {
  key: string
  title: string
  of: string
  act: () => void
}

/** Finds users, collections, notes of the open one, and actions, by a few letters. */
export function Palette({ here, go, actions, close }: { here: Schemas['Collection'] | undefined; go: Go; actions: readonly Choice[]; close: () => void }) {
  const { api } = useShared()
  const [text, setText] = useState('')
  const [at, setAt] = useState(0)
  const list = useRef<HTMLUListElement>(null)
  const q = useSettled(text.trim())
  const found = useLoad(async signal => {
    const [collections, notes] = await Promise.all([
      api.call('get', '/v1/collections', { signal, query: { order: 'updated', limit: 8, ...(q && { q }) } }),
      q && here ? api.collection(here.id).search({ query: q, k: 5, fields: ['*'] }, { signal }) : undefined,
    ])
    return { collections: collections.items, notes: notes?.hits ?? [] }
  }, [q, here?.id])
  const to = (route: Partial<Route>) => () => go(route)
  const choices: Choice[] = [
    ...actions.filter(a => a.title.toLocaleLowerCase().includes(text.trim().toLocaleLowerCase())),
    ...(found.data?.collections ?? []).map(c => ({ key: c.id, title: titleOf(c), of: idsOf(c) ? 'user' : 'collection', act: to({ collection: c.id }) })),
    ...(found.data?.notes ?? []).map(h => ({ key: h.note.id, title: shorten('content' in h.note ? h.note.content : '', 100), of: 'note', act: to({ collection: here!.id, note: h.note.id }) })),
  ]
  const kinds = `A user, a collection${here ? ', a note' : ''} or an action`
  const chosen = Math.min(at, choices.length - 1)
  useEffect(() => list.current?.querySelector('[aria-selected="true"]')?.scrollIntoView({ block: 'nearest' }), [chosen])
  const take = (c: Choice | undefined) => {
    if (!c) return
    close()
    c.act()
  }
  const key = (e: KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[e.key]
    if (step) setAt((chosen + step + choices.length) % Math.max(1, choices.length))
    else if (e.key === 'Enter') take(choices[chosen])
    else return
    e.preventDefault()
  }
  return (
    <Dialog title="Go to" close={close}>
      <div class="palette">
        <input type="text" {...combobox} aria-expanded="true" aria-controls="choices" aria-activedescendant={choices[chosen] && `choice-${chosen}`} aria-label={kinds} placeholder={kinds} value={text} onInput={e => { setText(e.currentTarget.value); setAt(0) }} onKeyDown={key} />
        <ul id="choices" role="listbox" aria-label="Found" ref={list}>
          {choices.map((c, i) => (
            <li key={c.key} id={`choice-${i}`} role="option" aria-selected={i === chosen} onClick={() => take(c)}><bdi>{reveal(c.title)}</bdi><span class="soft small">{c.of}</span></li>
          ))}
        </ul>
        {choices.length === 0 && found.state === 'ready' && <p class="soft">Nothing is called like that.{!here && ' Notes are found in a collection that is open.'}</p>}
      </div>
    </Dialog>
  )
}

/** Spread, since its types know the lists of the browser only. */
const combobox: object = { role: 'combobox', 'aria-autocomplete': 'list' }

const keys: readonly [string, string][] = [
  ['/', 'search in this view'], ['Ctrl K', 'go to a user, a collection, a note of it or an action'], ['j, k', 'to the next, to the one before'], ['Enter', 'open it'], ['Esc', 'close'], ['?', 'this list'],
]

/** The keys, for those who ask. */
export function Keys({ close }: { close: () => void }) {
  return <Dialog title="Keys" close={close}><dl class="keys">{keys.map(([k, does]) => <><dt><kbd>{k}</kbd></dt><dd>{does}</dd></>)}</dl></Dialog>
}

/** Whether keys are typed into something. */
const typing = (target: EventTarget | null): boolean => target instanceof HTMLElement && (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName))

/** Listens to the keys of the page: those that are typed into a field, or while a dialog is open, are left alone. */
export function useKeys(open: (what: 'palette' | 'keys') => void): void {
  useEffect(() => {
    const press = (e: KeyboardEvent) => {
      if (document.querySelector('dialog[open]')) return
      if ((e.ctrlKey || e.metaKey) && e.key.toLowerCase() === 'k') open('palette')
      else if (e.ctrlKey || e.metaKey || e.altKey || typing(e.target)) return
      else if (e.key === '?') open('keys')
      else if (e.key === '/') finder()?.focus()
      else if (e.key === 'j' || e.key === 'k') step(e.key === 'j' ? 1 : -1)
      else return
      e.preventDefault()
    }
    addEventListener('keydown', press)
    return () => removeEventListener('keydown', press)
  }, [open])
}

/** The field in which this view searches; without one, that of the tree. */
function finder(): HTMLElement | null {
  for (const field of ['main [data-find]', 'main input[type="search"]', '#tree input']) {
    const found = document.querySelector<HTMLElement>(field)
    if (found) return found
  }
  return null
}

/** Moves the focus to the next thing of the list that the view has, or that the focus is in. */
function step(by: 1 | -1): void {
  const within = document.activeElement?.closest('#tree') ? '#tree .tree a' : 'main .cover'
  const all = [...document.querySelectorAll<HTMLElement>(within)]
  const at = all.indexOf(document.activeElement as HTMLElement)
  all[at < 0 ? (by === 1 ? 0 : all.length - 1) : Math.max(0, Math.min(all.length - 1, at + by))]?.focus()
}
