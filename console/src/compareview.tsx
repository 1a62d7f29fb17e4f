import type { Schemas } from '@slipbox/client'
import { useState } from 'preact/hooks'
import { compare } from './compare.ts'
import { Difference } from './note.tsx'
import { Empty, Problem, Text, Waiting } from './parts.tsx'
import { formatRoute } from './route.ts'
import { useLoad, useShared } from './state.ts'
import { count, plural, reveal } from './text.ts'

/** Most notes that are read of each side. */
const most = 5000

/** Differences that are shown at first, and added each time. */
const step = 20

/** A fork beside its base: what differs now. */
export function Compare({ collection: c, fresh }: { collection: Schemas['Collection']; fresh: number }) {
  const { api } = useShared()
  const [shown, setShown] = useState(step)
  const base = c.parent?.collection
  const read = async (of: string, signal: AbortSignal) => {
    const notes: Schemas['Note'][] = []
    for await (const n of api.collection(of).notes({ limit: 200 }, { signal })) {
      notes.push(n)
      if (notes.length === most) break
    }
    return notes
  }
  const load = useLoad(async signal => {
    if (base === undefined) return undefined
    const [left, ours, theirs] = await Promise.all([api.collection(base).get({ signal }), read(c.id, signal), read(base, signal)])
    return { left, differences: compare(theirs, ours), whole: ours.length < most && theirs.length < most }
  }, [c.id, base], fresh)
  if (base === undefined) return <Empty title="This is no fork"><p>Fork it, write to one side, and compare the two here.</p></Empty>
  if (load.state === 'failed') return <Problem error={load.error} again={load.again} />
  if (!load.data) return <Waiting />
  const { left, differences, whole } = load.data
  const both = differences.filter(d => d.base && d.fork).length
  const here = differences.filter(d => !d.base).length
  return (
    <>
      <p role="status">Beside its base <a href={formatRoute({ collection: base })}><bdi>{reveal(left.display_name ?? left.name)}</bdi></a>, from which it parted at revision {count(c.parent!.revision)}:{' '}
        {plural(both, 'note')} differ{both === 1 && 's'}, {count(here)} only here, {count(differences.length - both - here)} only there.</p>
      {!whole && <p class="soft small">Compared are the first {count(most)} notes of each.</p>}
      {differences.length === 0 ? <Empty title="Both remember the same"><p>Add a note to one of the two, or correct one, and look again.</p></Empty> : (
        <ul class="cards compared">
          {differences.slice(0, shown).map(({ base: theirs, fork: ours }) => (
            <li key={(ours ?? theirs)!.id} class="card">
              <p class="row small soft"><span class="tag">{!theirs ? 'only here' : !ours ? 'only there' : 'differs'}</span>
                {ours && <a href={formatRoute({ collection: c.id, note: ours.id })}>here</a>}{theirs && <a href={formatRoute({ collection: base, note: theirs.id })}>there</a>}</p>
              <Text most={300}>{(ours ?? theirs)!.content}</Text>
              {ours && theirs && <Difference before={theirs} after={ours} sides={['there', 'here']} />}
            </li>
          ))}
        </ul>
      )}
      {differences.length > shown && <p class="center"><button type="button" onClick={() => setShown(shown + step)}>Show more of {count(differences.length)}</button></p>}
    </>
  )
}
