import type { Schemas } from '@slipbox/client'
import type { Go } from './collection.tsx'
import { Empty, Problem, State, Text, Waiting } from './parts.tsx'
import { formatRoute, type Route } from './route.ts'
import { useLoad, useShared, useTyped } from './state.ts'
import { formatTime } from './text.ts'
import { reasonsOf, sayingsOf } from './why.ts'

const sizes = [5, 10, 20, 50]

/** Searches a collection, and shows what made each hit one. */
export function Search({ collection: c, route, go }: { collection: Schemas['Collection']; route: Route; go: Go }) {
  const { api } = useShared()
  const { q = '', mode = 'hybrid', links = '', tag = '', at = '', k = '10' } = route.query
  const filtered = tag !== '' || at !== ''
  const [text, setText] = useTyped(q)
  const [word, setWord] = useTyped(tag)
  const set = (change: Record<string, string>) => go({ collection: route.collection ?? c.id, tab: 'search', query: { ...route.query, ...change } })
  const found = useLoad(async signal => q.trim() === '' ? undefined : api.collection(c.id).search({
    query: q, k: sizes.find(s => String(s) === k) ?? 10, explain: true, mode: mode as Schemas['SearchMode'], fields: ['*'], ...(links && { expand_links: 1 }), ...(tag && { filter: { field: 'tags', op: 'icontains', value: tag } }), ...(at && { as_of: new Date(`${at}T23:59:59`).toISOString() }),
  }, { signal }), [c.id, q, mode, links, tag, at, k])
  return (
    <>
      <form class="row search" role="search" onSubmit={e => { e.preventDefault(); set({ q: text.trim() }) }}>
        <input type="search" class="grow" dir="auto" aria-label="Search this memory" placeholder="A question, or words" value={text} onInput={e => setText(e.currentTarget.value)} />
        <button type="submit" class="main">Search</button>
        <label>By <select value={mode} onChange={e => set({ mode: e.currentTarget.value })}>
          <option value="hybrid">words and meaning</option><option value="lexical">words</option><option value="vector">meaning</option>
        </select></label>
        <label class="check"><input type="checkbox" checked={links !== ''} onChange={e => set({ links: e.currentTarget.checked ? '1' : '' })} /> follow links</label>
        <details class="more" open={filtered}><summary>Filter</summary><div class="row">
          <label>Tag <input class="word" dir="auto" value={word} onInput={e => setWord(e.currentTarget.value)} onChange={() => set({ tag: word.trim() })} /></label>
          <label>As it was on <input type="date" value={at} onChange={e => set({ at: e.currentTarget.value })} /></label>
          <label>Hits <select value={k} onChange={e => set({ k: e.currentTarget.value })}>{sizes.map(s => <option key={s} value={s}>{s}</option>)}</select></label>
          {filtered && <button type="button" onClick={() => { setWord(''); set({ tag: '', at: '' }) }}>Without filter</button>}
        </div></details>
      </form>
      {q.trim() === '' ? <Empty title="Ask this memory"><p>Each hit says why it was found.</p></Empty>
        : found.state === 'failed' ? <Problem error={found.error} again={found.again} />
        : !found.data ? <Waiting />
        : found.data.hits.length === 0 ? <Empty title="Nothing is found"><p>Try other words, or search by meaning{filtered && ', or without the filter'}.</p></Empty>
        : (
          <>
            <p class="soft small found" role="status">
              {found.data.hits.length} hits in {found.data.took_ms.toFixed(1)} ms
              {found.data.answerable !== undefined && <> · {Math.round(found.data.answerable * 100)} % that the answer is among them</>}
              {found.data.degraded && <> · {found.data.degraded}</>}
            </p>
            <ol class="cards hits">
              {found.data.hits.map(h => <Hit key={h.note.id} hit={h} collection={c.id} />)}
            </ol>
          </>
        )}
    </>
  )
}

function Hit({ hit, collection }: { hit: Schemas['Hit']; collection: string }) {
  const note = hit.note as Schemas['Note']
  const bars = sayingsOf(hit.explain)
  const beside = (hit.exchange ?? []).filter(m => m.id !== note.id) as Schemas['Note'][]
  return (
    <li class="card">
      <a class="cover" href={formatRoute({ collection, note: note.id })}><Text most={300} still>{note.content}</Text></a>
      {beside.map(m => (
        <p key={m.id} class="small"><span class="soft">in the same exchange: </span><a href={formatRoute({ collection, note: m.id })}><Text most={300} still>{m.content}</Text></a></p>
      ))}
      <div class="row small soft">
        <span>{[...(hit.is_neighbor ? ['next to a hit'] : []), ...reasonsOf(hit.explain)].join(', ') || 'found by a link'}</span><span class="grow" />
        <span>{note.kind}</span>{note.state !== 'evolved' && note.state !== 'raw' && <State of={note.state} />}<span>{formatTime(note.occurred_at ?? note.created_at)}</span>
      </div>
      <details class="why">
        <summary>Why</summary>
        <p class="soft small">Score {hit.score.toFixed(3)}{bars.length === 0 && ': found by a link of another hit'}.</p>
        {bars.length > 0 && (
          <table class="bars">
            <thead><tr><th scope="col">it</th><th scope="col">adds to the score</th><th scope="col"><span class="hidden">bar</span></th></tr></thead>
            <tbody>
              {bars.map(b => (
                <tr key={b.name}><th scope="row">{b.name}</th><td>{b.adds.toFixed(3)}</td>
                  <td><svg viewBox="0 0 100 8" preserveAspectRatio="none" aria-hidden="true"><rect class={b.adds < 0 ? 'minus' : ''} width={b.share} height="8" rx="1" /></svg></td></tr>
              ))}
            </tbody>
          </table>
        )}
      </details>
    </li>
  )
}
