import type { Schemas } from '@slipbox/client'
import { useState } from 'preact/hooks'
import type { Go } from './collection.tsx'
import { Merge } from './merge.tsx'
import { Difference } from './note.tsx'
import { usePages } from './pages.ts'
import { Empty, Reading, Text } from './parts.tsx'
import { formatRoute, type Route } from './route.ts'
import { useLoad, useShared, useTyped } from './state.ts'
import { count, plural, reveal } from './text.ts'
import { familyAround } from './nearby.ts'
import { familyOf, titleOf } from './tree.ts'

/** Differences that are read at first, and added each time. */
const step = 20

type Change = Schemas['NoteChange'] | Schemas['LinkChange']

/** What a difference is called beside a collection of that name. */
const wordOf = (change: Schemas['ChangeKind'], here: string, there: string): string => (change === 'changed' ? 'differs' : `only ${change === 'added' ? here : there}`)

/** A collection beside another one of its lineage, or its own past: what differs, and how one takes over from the other. */
export function Compare({ collection: c, route, go, changed, fresh }: { collection: Schemas['Collection']; route: Route; go: Go; changed: () => void; fresh: number }) {
  const { api } = useShared()
  const [open, setOpen] = useState<'there' | 'here'>()
  const family = useLoad(async signal => {
    const all = await familyAround(api, c, signal)
    return familyOf(all, c.id).map(item => ({ item, title: titleOf(item, all.find(o => o.id === item.parent?.collection)) }))
  }, [c.id], fresh)
  const against = route.query.against ?? c.parent?.collection ?? ''
  const at = route.query.at ?? ''
  const [typed, setTyped] = useTyped(at)
  const choose = (query: { against: string; at: string }) => go({ collection: route.collection ?? c.id, tab: 'compare', query }, true)
  const other = family.data?.find(f => f.item.id === against)
  const own = against === '' || against === c.id
  const title = other ? reveal(other.title) : ''
  const ownTitle = reveal(family.data?.find(f => f.item.id === c.id)?.title ?? titleOf(c))
  if (!family.data) return <Reading of={family} />
  return (
    <>
      <Reading of={family} />
      <form class="row filters" onSubmit={e => { e.preventDefault(); choose({ against, at: typed.trim() }) }}>
        <label>Compare with <select value={own ? '' : against} onChange={e => choose({ against: e.currentTarget.value || c.id, at: typed.trim() })}>
          <option value="">its own past</option>
          {family.data.filter(f => f.item.id !== c.id).map(f => <option key={f.item.id} value={f.item.id}>{f.item.id === c.parent?.collection ? `${reveal(f.title)} (its base)` : reveal(f.title)}</option>)}
        </select></label>
        <label>at <input value={typed} placeholder="now" aria-label="Revision, time or snapshot" onInput={e => setTyped(e.currentTarget.value)} /></label>
        <button type="submit">Compare</button>
        {other && !own && (
          <>
            <span class="grow" />
            <button type="button" class="main" onClick={() => setOpen('there')}>Merge into <bdi>{title}</bdi>…</button>
            <button type="button" onClick={() => setOpen('here')}>Take over from <bdi>{title}</bdi>…</button>
          </>
        )}
      </form>
      {own && at === '' ? <Empty title={c.parent ? 'Nothing to compare with' : 'This is no fork'}><p>Name an earlier revision, a time or a snapshot, or fork it, write to one side, and compare the two here.</p></Empty>
        : <Differences key={`${against} ${at}`} there={own ? 'then' : `in ${title}`} here={own ? 'now' : `in ${ownTitle}`} c={c} against={own ? c.id : against} at={at} fresh={fresh}
          heading={own ? <>Beside its own past</> : <>Beside {against === c.parent?.collection && 'its base '}<a href={formatRoute({ collection: against })}><bdi>{title}</bdi></a>{against === c.parent?.collection && `, from which it parted at revision ${count(c.parent.revision)}`}</>} />}
      {open && other && (
        <Merge into={open === 'there' ? other.item : c} from={open === 'there' ? c : other.item} names={open === 'there' ? [title, ownTitle] : [ownTitle, title]} close={() => setOpen(undefined)} go={go} done={changed} />
      )}
    </>
  )
}

/** The pages of a diff, each note before and after side by side. */
function Differences({ c, against, at, fresh, heading, here, there }: { c: Schemas['Collection']; against: string; at: string; fresh: number; heading: preact.ComponentChildren; here: string; there: string }) {
  const { api } = useShared()
  const list = usePages<Change>(async (cursor, signal) => {
    const page = await api.call('get', '/v1/collections/{collection}/diff', {
      signal, path: { collection: c.id }, query: { against, limit: step, ...(at && { against_at: at }), ...(cursor && { cursor }) },
    })
    return { items: [...page.items, ...page.links], ...(page.next_cursor && { next_cursor: page.next_cursor }) }
  }, [c.id, against, at], fresh)
  if (!list.items) return <Reading of={list} />
  const notes = list.items.filter(d => 'note' in d)
  const end = (d: Schemas['LinkChange'], note: string, text?: string) => (
    <a href={formatRoute({ collection: d.change === 'removed' ? against : c.id, note })}>{text ? <Text most={120} still>{text}</Text> : 'a note that is gone'}</a>
  )
  const of = (kind: Schemas['ChangeKind']) => notes.filter(n => n.change === kind).length
  return (
    <>
      <Reading of={list} />
      <p role="status">{heading}: {plural(of('changed'), 'note')} differ{of('changed') === 1 && 's'}, {count(of('added'))} only <bdi>{here}</bdi>, {count(of('removed'))} only <bdi>{there}</bdi>{list.more && ', and more'}.</p>
      {list.items.length === 0 ? <Empty title="Both remember the same"><p>Add a note to one of the two, or correct one, and look again.</p></Empty> : (
        <ul class="cards compared">
          {list.items.map(d => 'note' in d ? <One key={d.note} change={d} here={c.id} there={against} names={[there, here]} /> : (
            <li key={`${d.source}${d.target}${d.relation}`} class="card"><p class="row small"><span class="tag">{wordOf(d.change, here, there)}</span><span>link {reveal(d.relation)} from {end(d, d.source, d.source_text)} to {end(d, d.target, d.target_text)}</span></p></li>
          ))}
        </ul>
      )}
      {list.more && <p class="center"><button type="button" onClick={list.more}>Show more</button></p>}
    </>
  )
}

/** A note that differs. */
function One({ change: d, here, there, names }: { change: Schemas['NoteChange']; here: string; there: string; names: [string, string] }) {
  // What the words do not show, by its name.
  const others = d.fields.filter(f => !['content', 'context', 'keywords', 'tags', 'category'].includes(f))
  return (
    <li class="card">
      <p class="row small soft"><span class="tag">{wordOf(d.change, names[1], names[0])}</span>
        {d.after && <a href={formatRoute({ collection: here, note: d.note })}>{names[1]}</a>}{d.before && <a href={formatRoute({ collection: there, note: d.note })}>{names[0]}</a>}</p>
      {d.before && d.after ? (
        <>
          {!d.fields.includes('content') && <Text most={300}>{d.after.content}</Text>}
          {others.length < d.fields.length && <Difference before={d.before} after={d.after} sides={names} />}
          {others.length > 0 && <p class="small soft">{others.map(f => reveal(f)).join(', ')}</p>}
        </>
      ) : <Text most={300}>{(d.after ?? d.before)?.content ?? ''}</Text>}
    </li>
  )
}
