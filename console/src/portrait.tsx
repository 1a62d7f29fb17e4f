import type { Schemas } from '@slipbox/client'
import type { InsideProps } from './fill.tsx'
import { usePages } from './pages.ts'
import { Empty, Read, Reading, Tags, Text } from './parts.tsx'
import { formatRoute } from './route.ts'
import { useLoad, useShared } from './state.ts'
import { formatSpan, formatTime, reveal } from './text.ts'

/** Who the person is, and what happened day by day, as memorybank writes it. */
export function Portrait({ collection: c, fresh }: InsideProps) {
  const { api } = useShared()
  const delay = c.policy_config.summary_delay
  const read = useLoad(signal => api.call('get', '/v1/collections/{collection}/profile', { signal, path: { collection: c.id }, query: { limit: 200 } }), [c.id], fresh)
  return (
    <div class="inside">
      <Read of={read}>
        {p => p.portrait === undefined && p.days.length === 0 && p.meta === undefined ? (
          <Empty title="No portrait yet"><p>A model writes it from what is said, when the day of an exchange is due{typeof delay === 'number' && `: ${delay > 0 ? `${formatSpan(delay * 1000)} after` : 'right after'} its last turn`}.</p></Empty>
        ) : (
          <>
            <ProfileText profile={p} />
            {p.days.length > 0 && (
              <section>
                <h2>Day by day</h2>
                <ol class="days">
                  {p.days.map(d => (
                    <li key={d.note}>
                      <p><a href={formatRoute({ collection: c.id, note: d.note })}>{d.date}</a>{d.mood && !d.content.toLowerCase().includes(d.mood.toLowerCase()) && <span class="soft small"><br />{reveal(d.mood)}</span>}</p>
                      <div><p><Text most={800}>{d.content}</Text></p>{d.traits && <Tags words={d.traits} label="Traits" />}
                        {d.reply_strategy && !d.content.includes(d.reply_strategy) && <p class="small soft">How to answer: <Text most={400}>{d.reply_strategy}</Text></p>}</div>
                    </li>
                  ))}
                </ol>
              </section>
            )}
          </>
        )}
      </Read>
      <Summaries collection={c.id} fresh={fresh} />
    </div>
  )
}

/** What a policy has written about the person. */
export function ProfileText({ profile: p }: { profile: Schemas['Profile'] }) {
  // What memoryos has written is both its portrait and its profile.
  const texts = [p.text ? ['Profile', p.text] : ['Portrait', p.portrait], ['How to answer', p.reply_strategy]] as const
  return (
    <>
      {texts.map(([title, text]) => text && (
        <section key={title}>
          <h2>{title}{p.stale && <span class="tag">is written again</span>}</h2>
          <div class="prose"><Text most={2000}>{text}</Text></div>
        </section>
      ))}
      {p.meta && Object.keys(p.meta).length > 0 && <section><h2>As said by callers</h2><dl class="said">{Object.entries(p.meta).map(([k, v]) => <div key={k}><dt>{reveal(k).replaceAll('_', ' ')}</dt><dd><Text most={600}>{typeof v === 'string' ? v : JSON.stringify(v)}</Text></dd></div>)}</dl></section>}
    </>
  )
}

/** Summaries of days, of sessions and of everything. */
export function Summaries({ collection, fresh }: { collection: string; fresh: number }) {
  const { api } = useShared()
  const list = usePages((cursor, signal) => api.call('get', '/v1/collections/{collection}/summaries', { signal, path: { collection }, query: { limit: 50, order: 'newest', ...(cursor && { cursor }) } }), [collection], fresh)
  if (!list.items) return <Reading of={list} />
  if (list.items.length === 0) return null
  return (
    <section>
      <h2>Summaries</h2>
      <Reading of={list} />
      <ol class="days">
        {list.items.map(s => (
          <li key={s.id}>
            <p><a href={formatRoute({ collection, note: s.id })}>{s.period === 'day' ? s.date : s.period === 'session' ? `session ${reveal(s.session ?? '')}` : 'Everything'}</a>
              <span class="soft small"><br />{formatTime(s.updated_at)}</span></p>
            <div><p><Text most={800}>{s.content}</Text></p>
              {s.events && s.events.length > 0 && <ul class="events">{s.events.map((e, i) => <li key={i}><Text most={300}>{e}</Text></li>)}</ul>}</div>
          </li>
        ))}
      </ol>
      {list.more && <p class="center"><button type="button" onClick={list.more}>Show more</button></p>}
    </section>
  )
}
