import type { Schemas } from '@slipbox/client'
import { DayBars } from './chart.tsx'
import type { Go } from './collection.tsx'
import { daysBefore, everyDay } from './days.ts'
import { Read, Text } from './parts.tsx'
import { formatRoute, type Route } from './route.ts'
import { useLoad, useShared } from './state.ts'
import { count, formatTime } from './text.ts'

export const spans = ['7', '30', '90', '365']

/** What a collection has cost and taken in, day by day, and which of its notes are used. */
export function Usage({ collection: c, route, go, fresh }: { collection: Schemas['Collection']; route: Route; go: Go; fresh: number }) {
  const { api } = useShared()
  const days = spans.find(s => s === route.query.days) ?? '30'
  const read = useLoad(signal => api.call('get', '/v1/collections/{collection}/costs', { signal, path: { collection: c.id }, query: { from: daysBefore(Number(days) - 1, Date.now()) } }), [c.id, days], fresh)
  return (
    <div class="inside">
      <div class="row"><label class="small soft">Show <select value={days} onChange={e => go({ collection: route.collection ?? c.id, tab: 'usage', query: { days: e.currentTarget.value } }, true)}>
        {spans.map(s => <option key={s} value={s}>the last {s} days</option>)}
      </select></label></div>
      <Read of={read}>{costs => <Costs costs={costs} />}</Read>
      <Hot collection={c.id} fresh={fresh} />
    </div>
  )
}

function Costs({ costs }: { costs: Schemas['Costs'] }) {
  const days = everyDay(costs.from, costs.to, costs.days.map(d => ({ day: d.day, counts: { adds: d.adds, calls: d.calls, 'tokens read': d.prompt_tokens, 'tokens written': d.completion_tokens } })))
  const average = (a: Schemas['AverageCost']) => [a.calls, a.prompt_tokens, a.completion_tokens].map(n => <td>{n.toFixed(1)}</td>)
  return (
    <>
      <DayBars title="Adds" days={days} series={['adds']} />
      {costs.purposes.length === 0 ? (
        <section><h2>Models</h2><p class="soft">No model was asked in this time. What the policy did, it did without one, at no cost.</p></section>
      ) : (
        <>
          <DayBars title="Tokens" days={days} series={['tokens read', 'tokens written']} />
          <section>
            <h2>Calls of models</h2>
            <div class="scroll" tabindex={0} role="region" aria-label="Calls of models by purpose">
              <table>
                <thead><tr><th scope="col">Purpose</th><th scope="col">Calls</th><th scope="col">Tokens read</th><th scope="col">Tokens written</th></tr></thead>
                <tbody>
                  {costs.purposes.map(p => <tr key={p.purpose}><td>{p.purpose}</td><td>{count(p.calls)}</td><td>{count(p.prompt_tokens)}</td><td>{count(p.completion_tokens)}</td></tr>)}
                  <tr><td>on average for each of {count(costs.adds)} adds</td>{average(costs.per_add)}</tr>
                  <tr><td>on average for each of {count(costs.answers)} answers</td>{average(costs.per_answer)}</tr>
                </tbody>
              </table>
            </div>
          </section>
        </>
      )}
    </>
  )
}

/** The notes that were used most lately. */
function Hot({ collection, fresh }: { collection: string; fresh: number }) {
  const { api } = useShared()
  const read = useLoad(signal => api.call('get', '/v1/collections/{collection}/hot', { signal, path: { collection }, query: { limit: 20 } }), [collection], fresh)
  return (
    <section>
      <h2>Hot notes</h2>
      <Read of={read}>
        {({ items }) => items.length === 0 ? <p class="soft">None yet. A note becomes hot when searches, contexts and chats show it; its heat halves each day.</p> : (
          <ol class="cards">
            {items.map(h => (
              <li key={h.note.id} class="card">
                <a class="cover" href={formatRoute({ collection, note: h.note.id })}><Text most={240} still>{h.note.content}</Text></a>
                <div class="row small soft">
                  <svg class="heat" viewBox="0 0 100 4" preserveAspectRatio="none" aria-hidden="true"><rect width={(h.score / items[0]!.score) * 100} height="4" /></svg>
                  <span>heat {h.score.toFixed(2)}</span><span>{h.note.kind}</span><span>{formatTime(h.note.occurred_at ?? h.note.created_at)}</span>
                </div>
              </li>
            ))}
          </ol>
        )}
      </Read>
    </section>
  )
}
