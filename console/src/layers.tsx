import type { Schemas } from '@slipbox/client'
import { Fill, type InsideProps } from './fill.tsx'
import { usePages } from './pages.ts'
import { Read, Reading, Text } from './parts.tsx'
import { formatRoute } from './route.ts'
import { useLoad, useShared } from './state.ts'
import { count, formatTime, plural, reveal } from './text.ts'

const about: Record<string, string> = { working: 'what was said lately', episodic: 'what happened and mattered', semantic: 'what is known, and how surely' }

/** The layers in which something arrives first, and later. */
const order: string[] = ['working', 'episodic', 'semantic']

/** The layers of a memory, and what in them contradicts. */
export function Layers({ collection: c, fresh }: InsideProps) {
  const { api } = useShared()
  const read = useLoad(signal => api.call('get', '/v1/collections/{collection}/layers', { signal, path: { collection: c.id } }), [c.id], fresh)
  // A pair belongs to the page of its facts.
  const pairs = usePages((cursor, signal) => api.call('get', '/v1/collections/{collection}/facts', { signal, path: { collection: c.id }, query: { conflicts: 'true', limit: 100, ...(cursor && { cursor }) } })
    .then(p => ({ items: p.conflicts ?? [], next_cursor: p.next_cursor })), [c.id], fresh)
  return (
    <div class="inside">
      <Read of={read}>
        {({ items }) => (
          <ul class="fills dated" aria-label="Layers">
            {[...items].sort((a, b) => order.indexOf(a.layer) - order.indexOf(b.layer)).map(l => (
              <Fill key={l.layer} title={l.layer} has={l.count} of={l.capacity}>
                {about[l.layer]}{l.contested ? `; ${count(l.contested)} contested` : ''}{l.oldest && <><br />from {formatTime(l.oldest)}<br />to {formatTime(l.newest)}</>}
              </Fill>
            ))}
          </ul>
        )}
      </Read>
      <Items title="Said lately" filter={{ 'attributes.layer': 'working' }} collection={c.id} fresh={fresh} none="Nothing yet. Add a conversation: what is said comes here first." />
      <Items title="What happened and mattered" filter={{ 'attributes.layer': 'episodic' }} collection={c.id} fresh={fresh} none="Nothing yet. What is important enough comes here." />
      <Known collection={c.id} fresh={fresh} />
      <Items title="Topics in short" filter={{ category: 'abstract' }} collection={c.id} fresh={fresh} />
      <section>
        <h2>What contradicts</h2>
        <Reading of={pairs} />{!pairs.items ? null : pairs.items.length === 0
          ? <p class="soft">Nothing. What cannot both be true stays here until one of both is said again, or you correct it.</p> : (
            <ul class="pairs">
              {pairs.items.map((p, i) => (
                <li key={i}>
                  <p><strong><bdi>{reveal(p.subject)}</bdi></strong> {reveal(p.relation).replaceAll('_', ' ')}</p>
                  <div class="sides"><Side title="said of the earlier time" fact={p.old} collection={c.id} /><Side title="said of the later time" fact={p.new} collection={c.id} /></div>
                </li>
              ))}
            </ul>
          )}
        {pairs.more && <p class="center"><button type="button" onClick={pairs.more}>Show more</button></p>}
      </section>
    </div>
  )
}

/** The items of a layer, newest first, each with the importance that it has. Where `none` says nothing, neither does an empty list. */
function Items({ title, filter, collection, fresh, none }: { title: string; filter: Record<string, string>; collection: string; fresh: number; none?: string }) {
  const { api } = useShared()
  const list = usePages((cursor, signal) => api.call('get', '/v1/collections/{collection}/notes', { signal, path: { collection }, query: { filter: JSON.stringify(filter), order: 'newest', limit: 12, ...(cursor && { cursor }) } }), [collection, filter], fresh)
  if (none === undefined && list.items?.length === 0) return null
  return (
    <section>
      <h2>{title}</h2>
      <Reading of={list} />{!list.items ? null : list.items.length === 0 ? <p class="soft">{none}</p> : (
        <ul class="links" aria-label={title}>
          {list.items.map(n => (
            <li key={n.id}><a class="cover" href={formatRoute({ collection, note: n.id })}><Text most={240} still>{n.content}</Text></a>
              <p class="row small soft"><span>{formatTime(n.occurred_at ?? n.created_at)}</span>{n.importance !== undefined && <span>importance {n.importance.toFixed(2)}</span>}{n.confidence !== undefined && <span>{Math.round(n.confidence * 100)} % sure</span>}</p></li>
          ))}
        </ul>
      )}
      {list.more && <p class="center"><button type="button" onClick={list.more}>Show more</button></p>}
    </section>
  )
}

/** The facts of the semantic layer that hold, the surest first. */
function Known({ collection, fresh }: { collection: string; fresh: number }) {
  const { api } = useShared()
  const list = usePages((cursor, signal) => api.call('get', '/v1/collections/{collection}/facts', { signal, path: { collection }, query: { valid: 'true', limit: 50, ...(cursor && { cursor }) } }), [collection], fresh)
  return (
    <section>
      <div class="row between"><h2>What is known</h2><p class="small"><a href={formatRoute({ collection, tab: 'facts' })}>All facts on a time line</a></p></div>
      <Reading of={list} />{!list.items ? null : list.items.length === 0 ? <p class="soft">Nothing yet. Add a conversation: facts are taken from it.</p> : (
        <ul class="links">
          {[...list.items].sort((a, b) => b.confidence - a.confidence).map((f, i) => (
            <li key={i}><a class="cover" href={formatRoute({ collection, note: f.sources[0] ?? f.subject_id })}><bdi>{reveal(f.subject)}</bdi> <span class="soft">{reveal(f.relation).replaceAll('_', ' ')}</span> <bdi>{reveal(f.object)}</bdi> <span class="soft small">{Math.round(f.confidence * 100)} % sure</span></a></li>
          ))}
        </ul>
      )}
      {list.more && <p class="center"><button type="button" onClick={list.more}>Show more</button></p>}
    </section>
  )
}

function Side({ title, fact: f, collection }: { title: string; fact: Schemas['Fact']; collection: string }) {
  return (
    <div>
      <h3>{title}</h3>
      <p><bdi>{reveal(f.object)}</bdi></p>
      <p class="row small soft"><span>{Math.round(f.confidence * 100)} % sure</span><span>said {plural(f.mentions, 'time')}</span><span>{formatTime(f.valid_from)}</span>
        {f.sources[0] && <a href={formatRoute({ collection, note: f.sources[0] })}>source</a>}</p>
    </div>
  )
}
