import type { Schemas } from '@slipbox/client'
import { formatRoute, type Route } from './route.ts'
import type { Go } from './collection.tsx'
import { usePages } from './pages.ts'
import { Empty, Problem, Waiting } from './parts.tsx'
import { useShared } from './state.ts'
import { formatTime, reveal } from './text.ts'

/** The facts of a collection whose policy keeps a graph, with the time in which each is true. */
export function Facts({ collection: c, route, go, fresh }: { collection: Schemas['Collection']; route: Route; go: Go; fresh: number }) {
  const { api } = useShared()
  const valid = route.query.valid ?? 'true'
  const list = usePages((cursor, signal) => api.call('get', '/v1/collections/{collection}/facts', {
    signal, path: { collection: c.id }, query: { limit: 100, valid: valid as 'true' | 'false' | 'any', ...(cursor && { cursor }) },
  }), [c.id, valid, fresh])
  return (
    <>
      <div class="row filters">
        <label>Show <select value={valid} onChange={e => go({ collection: route.collection ?? c.id, tab: 'facts', query: { valid: e.currentTarget.value } }, true)}>
          <option value="true">what is true now</option><option value="false">what is no longer true</option><option value="any">both</option>
        </select></label>
      </div>
      {list.state === 'failed' ? <Problem error={list.error} again={list.again} /> : !list.items ? <Waiting /> : list.items.length === 0 ? (
        <Empty title="No facts"><p>{c.policy === 'mem0g' || c.policy === 'layered' ? 'Add a conversation: facts are taken from it.'
          : <>The policy {c.policy} keeps no graph of facts. <a href={formatRoute({ collection: c.id, query: { kind: 'fact' } })}>Facts as notes</a> are in the list of notes; collections of mem0g and layered show them here.</>}</p></Empty>
      ) : (
        <>
          <div class="scroll" tabindex={0} role="region" aria-label="Facts">
            <table>
              <thead><tr><th scope="col">Subject</th><th scope="col">Relation</th><th scope="col">Object</th><th scope="col">True from</th><th scope="col">until</th><th scope="col">Confidence</th><th scope="col">Source</th></tr></thead>
              <tbody>
                {list.items.map(f => (
                  <tr key={`${f.subject_id}${f.relation}${f.object_id}${f.valid_from ?? ''}${f.invalidated_at ?? ''}`} class={f.valid ? '' : 'past'}>
                    <td><a href={formatRoute({ collection: c.id, note: f.subject_id })}><bdi>{reveal(f.subject)}</bdi></a></td>
                    <td><bdi>{reveal(f.relation)}</bdi></td>
                    <td><a href={formatRoute({ collection: c.id, note: f.object_id })}><bdi>{reveal(f.object)}</bdi></a></td>
                    <td>{formatTime(f.valid_from)}</td>
                    <td>{f.invalidated_at ? formatTime(f.invalidated_at) : f.contested ? 'contested' : 'now'}</td>
                    <td>{Math.round(f.confidence * 100)} %</td>
                    <td>{f.sources[0] ? <a href={formatRoute({ collection: c.id, note: f.sources[0] })}>note</a> : '—'}</td>
                  </tr>
                ))}
              </tbody>
            </table>
          </div>
          {list.more && <p class="center"><button type="button" onClick={list.more}>Show more</button></p>}
        </>
      )}
    </>
  )
}
