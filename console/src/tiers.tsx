import type { Schemas } from '@slipbox/client'
import { Fill, type InsideProps } from './fill.tsx'
import { Linked } from './note.tsx'
import { usePages } from './pages.ts'
import { Read, Reading, Tags, Text } from './parts.tsx'
import { ProfileText } from './portrait.tsx'
import { formatRoute } from './route.ts'
import { useLoad, useShared } from './state.ts'
import { formatTime, plural, reveal } from './text.ts'

/** The three tiers of memoryos: how full they are, sessions by heat, what is known for long, and what moved why. */
export function Tiers({ collection: c, route, fresh }: InsideProps) {
  const { api } = useShared()
  const read = useLoad(signal => api.call('get', '/v1/collections/{collection}/tiers', { signal, path: { collection: c.id } }), [c.id], fresh)
  if (route.query.session) return <Session collection={c.id} id={route.query.session} fresh={fresh} />
  return (
    <div class="inside">
      <Read of={read}>
        {t => (
          <ul class="fills" aria-label="Tiers">
            <Fill title="Short: exchanges" has={t.short.pairs} of={t.short.capacity}>as they were said</Fill>
            <Fill title="Mid: sessions" has={t.mid.sessions} of={t.mid.capacity}>{plural(t.mid.pages, 'page')}</Fill>
            <Fill title="Long: about the user" has={t.long.user} of={t.long.capacity}>{t.long.profile ? 'and a profile' : 'no profile yet'}</Fill>
            <Fill title="Long: about the assistant" has={t.long.assistant} of={t.long.capacity} />
          </ul>
        )}
      </Read>
      <Sessions collection={c.id} order={route.query.order === 'recent' ? 'recent' : 'heat'} fresh={fresh} />
      <LongTerm collection={c.id} fresh={fresh} />
      <Moves collection={c.id} fresh={fresh} />
    </div>
  )
}

function Sessions({ collection, order, fresh }: { collection: string; order: 'heat' | 'recent'; fresh: number }) {
  const { api } = useShared()
  const list = usePages((cursor, signal) => api.call('get', '/v1/collections/{collection}/sessions', { signal, path: { collection }, query: { limit: 12, order, ...(cursor && { cursor }) } }), [collection, order], fresh)
  const hottest = Math.max(...(list.items ?? []).map(s => s.heat), 0.001)
  // Bars of one length tell nothing apart: what all have is said once.
  const heats = new Set(list.items?.map(s => s.heat.toFixed(2)))
  const alike = heats.size === 1 && list.items!.length > 1
  const by = (o: string, title: string) => <a href={formatRoute({ collection, tab: 'memory', query: { order: o } })} aria-current={order === o ? 'true' : undefined}>{title}</a>
  return (
    <section>
      <div class="row between"><h2>Sessions</h2><p class="row small order">{by('heat', 'the hottest first')}{by('recent', 'the last visited first')}</p></div>
      {alike && <p class="soft">All of these have the same heat: {list.items![0]!.heat.toFixed(2)}.</p>}
      <Reading of={list} />{!list.items ? null : list.items.length === 0
        ? <p class="soft">None yet. When the short tier is full, its oldest exchange becomes a page of a session.</p> : (
          <ul class="cards">
            {list.items.map(s => (
              <li key={s.id} class="card">
                <a class="cover" href={formatRoute({ collection, tab: 'memory', query: { session: s.id } })}>{s.theme && <strong><bdi>{reveal(s.theme)}</bdi>: </strong>}<Text most={240} still>{s.damaged ?? s.summary}</Text></a>
                <div class="row small soft">
                  {heats.size > 1 && <svg class="heat" viewBox="0 0 100 4" preserveAspectRatio="none" aria-hidden="true"><rect width={(Math.max(s.heat, 0) / hottest) * 100} height="4" /></svg>}
                  {!alike && <span>heat {s.heat.toFixed(2)}</span>}<span>{plural(s.pages, 'page')}</span>{s.fresh > 0 && <span title="Pages from which nothing was learned for the long tier yet: that is done when the session is hot enough">{plural(s.fresh, 'page')} to learn from</span>}<span>{plural(s.visits, 'visit')}</span>
                  {s.last_visit && <span>{formatTime(s.last_visit)}</span>}<Tags words={s.keywords.slice(0, 6)} label="Keywords" />
                </div>
              </li>
            ))}
          </ul>
        )}
      {list.more && <p class="center"><button type="button" onClick={list.more}>Show more</button></p>}
    </section>
  )
}

/** A session with its pages, oldest first. */
function Session({ collection, id, fresh }: { collection: string; id: string; fresh: number }) {
  const { api } = useShared()
  const path = { collection, session: id }
  const read = useLoad(signal => api.call('get', '/v1/collections/{collection}/sessions/{session}', { signal, path, query: { limit: 1 } }), [collection, id], fresh)
  const list = usePages((cursor, signal) => api.call('get', '/v1/collections/{collection}/sessions/{session}', { signal, path, query: { limit: 50, ...(cursor && { cursor }) } })
    .then(s => ({ items: s.pages, next_cursor: s.next_cursor })), [collection, id], fresh)
  return (
    <div class="inside">
      <p><a href={formatRoute({ collection, tab: 'memory' })}>← Tiers</a></p>
      <Read of={read}>
        {s => (
          <section>
            <h2>{s.theme ? <bdi>{reveal(s.theme)}</bdi> : 'Session'}</h2>
            <div class="prose"><Text most={2000}>{s.damaged ?? s.summary}</Text></div>
            <p class="soft">Heat {s.heat.toFixed(2)}: {plural(s.visits, 'visit')}, {plural(s.interaction, 'page')} since its last analysis, recency {s.recency.toFixed(2)}. Shown {plural(s.accesses, 'time')} in all.</p>
            <Tags words={s.keywords} label="Keywords" />
          </section>
        )}
      </Read>
      <section>
        <h2>Pages</h2>
        <Reading of={list} />{!list.items ? null : (
          <ol class="cards">
            {list.items.map(p => (
              <li key={p.id} class="card">
                {p.user && <p><span class="soft small">user</span> <Text most={600}>{p.user}</Text></p>}
                {p.assistant && <p><span class="soft small">assistant</span> <Text most={600}>{p.assistant}</Text></p>}
                <p class="row small soft">
                  <span>{formatTime(p.at)}</span><span>{p.analyzed ? 'analyzed' : 'not analyzed yet'}</span>{p.previous && <span>continues the page before</span>}
                  {p.reason && <span>here because: <bdi>{reveal(p.reason)}</bdi></span>}<a href={formatRoute({ collection, note: p.id })}>message</a>
                </p>
              </li>
            ))}
          </ol>
        )}
        {list.more && <p class="center"><button type="button" onClick={list.more}>Show more</button></p>}
      </section>
    </div>
  )
}

/** What is known for long: the profile with its evidence, and single pieces of knowledge. */
function LongTerm({ collection, fresh }: { collection: string; fresh: number }) {
  const { api } = useShared()
  const read = useLoad(async signal => ({
    profile: await api.call('get', '/v1/collections/{collection}/profile', { signal, path: { collection } }),
    user: await api.call('get', '/v1/collections/{collection}/knowledge', { signal, path: { collection }, query: { of: 'user', order: 'newest', limit: 100 } }),
    assistant: await api.call('get', '/v1/collections/{collection}/knowledge', { signal, path: { collection }, query: { of: 'assistant', order: 'newest', limit: 100 } }),
  }), [collection], fresh)
  return (
    <Read of={read}>
      {({ profile, user, assistant }) => (
        <>
          <ProfileText profile={profile} />
          {(profile.dimensions?.length ?? 0) > 0 && (
            <section>
              <h2>What was seen of the person</h2>
              <div class="scroll" tabindex={0} role="region" aria-label="Dimensions of the profile">
                <table>
                  <thead><tr><th scope="col">Dimension</th><th scope="col">Level</th><th scope="col">Seen in</th></tr></thead>
                  <tbody>{profile.dimensions!.map(d => <tr key={d.name}><td>{d.name}</td><td>{d.level}</td><td><Text most={300}>{d.evidence.join(' · ')}</Text></td></tr>)}</tbody>
                </table>
              </div>
            </section>
          )}
          <Known title="Known about the user" notes={user.items} collection={collection} />
          <Known title="Known about the assistant" notes={assistant.items} collection={collection} />
        </>
      )}
    </Read>
  )
}

function Known({ title, notes, collection }: { title: string; notes: readonly Schemas['Note'][]; collection: string }) {
  if (notes.length === 0) return null
  return (
    <section>
      <h2>{title}</h2>
      <ul class="links">{notes.map(n => <li key={n.id}><a href={formatRoute({ collection, note: n.id })}><Text most={240} still>{n.content}</Text></a></li>)}</ul>
    </section>
  )
}

/** Why each exchange and each session went from one tier to another. */
function Moves({ collection, fresh }: { collection: string; fresh: number }) {
  const { api } = useShared()
  const list = usePages((cursor, signal) => api.call('get', '/v1/collections/{collection}/moves', { signal, path: { collection }, query: { limit: 20, ...(cursor && { cursor }) } }), [collection], fresh)
  return (
    <section>
      <h2>Moves</h2>
      <Reading of={list} />{!list.items ? null : list.items.length === 0
        ? <p class="soft">Nothing has moved yet. Add a conversation of more exchanges than the short tier holds.</p> : (
          <div class="scroll" tabindex={0} role="region" aria-label="Moves">
            <table>
              <thead><tr><th scope="col">When</th><th scope="col">Move</th><th scope="col">Why</th><th scope="col">What</th></tr></thead>
              <tbody>
                {list.items.map((m, i) => (
                  <tr key={i}><td>{formatTime(m.at)}</td><td>{m.from} → {m.to}</td><td>{reveal(m.reason)}</td><td><Linked collection={collection} id={m.note} /></td></tr>
                ))}
              </tbody>
            </table>
          </div>
        )}
      {list.more && <p class="center"><button type="button" onClick={list.more}>Show more</button></p>}
    </section>
  )
}
