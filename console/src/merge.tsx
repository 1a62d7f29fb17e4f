import type { Schemas } from '@slipbox/client'
import { useId, useState } from 'preact/hooks'
import type { Go } from './collection.tsx'
import { Buttons, Dialog, Problem, Text, Waiting } from './parts.tsx'
import { useAction, useLoad, useShared } from './state.ts'
import { count, plural, reveal } from './text.ts'

type Strategy = NonNullable<Schemas['MergeRequest']['strategy']>

/** Conflicts that are shown. */
const most = 20

/** Takes over what another collection has changed, which have these names, after it was shown what that is and where both changed one field. */
export function Merge({ into, from, names: [name, other], close, go, done }: { into: Schemas['Collection']; from: Schemas['Collection']; names: [string, string]; close: () => void; go: Go; done: () => void }) {
  const { api, changed, tell } = useShared()
  const [strategy, setStrategy] = useState<Strategy>('fail')
  const [review, setReview] = useState(false)
  // What was planned stays while it is planned again, so that nothing jumps.
  const plan = useLoad(signal => api.collection(into.id).merge({ from: from.id, dry_run: true, strategy }, { signal }), [into.id, from.id], strategy)
  const { busy, error, run } = useAction()
  const submit = async (e: Event) => {
    e.preventDefault()
    await run(async () => {
      const merged = await api.collection(into.id).merge({ from: from.id, strategy, review })
      changed()
      done()
      close()
      if (merged.review) {
        tell(`${plural(merged.review.changes.length, 'note')} wait for approval.`)
        go({ collection: into.id, tab: 'reviews' })
      } else if (merged.job) tell(`Many notes change: a job merges them into ${name}.`)
      else tell(`Merged ${plural(merged.merged.notes, 'note')} and ${plural(merged.merged.links, 'link')} into ${name}.`)
    })
  }
  const conflicts = plan.data?.conflicts ?? []
  const changes = (plan.data?.merged.notes ?? 0) + (plan.data?.merged.links ?? 0)
  const undecided = conflicts.length > 0 && strategy === 'fail'
  return (
    <Dialog title={`Merge ${other} into ${name}`} close={close}>
      <form onSubmit={e => void submit(e)}>
        {plan.state === 'failed' ? <Problem error={plan.error} again={plan.again} /> : !plan.data ? <Waiting /> : (
          <>
            <p role="status">{changes === 0 && conflicts.length === 0 ? 'There is nothing to merge.' : `${plural(plan.data.merged.notes, 'note')} and ${plural(plan.data.merged.links, 'link')} of ${name} change, at once and as one revision.`}</p>
            {conflicts.length > 0 && (
              <>
                <fieldset class="strategy">
                  <legend>Both sides changed {plural(conflicts.length, 'field')}. Whose value holds?</legend>
                  <Choice value="ours" now={strategy} set={setStrategy} label={`that of ${name}`} />
                  <Choice value="theirs" now={strategy} set={setStrategy} label={`that of ${other}`} />
                </fieldset>
                <ul class="conflicts" tabindex={0} aria-label="Conflicts">
                  {conflicts.slice(0, most).map(x => (
                    <li key={`${x.note} ${x.field}`}>
                      <p class="side">{reveal(x.field)}</p>
                      <dl>
                        <div><dt>before</dt><dd><Value of={x.base} /></dd></div>
                        <div data-holds={strategy === 'ours'}><dt><bdi>{name}</bdi></dt><dd><Value of={x.ours} /></dd></div>
                        <div data-holds={strategy === 'theirs'}><dt><bdi>{other}</bdi></dt><dd><Value of={x.theirs} /></dd></div>
                      </dl>
                    </li>
                  ))}
                </ul>
                {conflicts.length > most && <p class="soft small">and {count(conflicts.length - most)} more</p>}
              </>
            )}
            <label class="check"><input type="checkbox" checked={review} onChange={e => setReview(e.currentTarget.checked)} /> Propose it only: somebody approves it under Reviews</label>
          </>
        )}
        {error && <Problem error={error} />}
        <Buttons busy={busy} close={close} label={review ? 'Propose' : 'Merge'} disabled={plan.state !== 'ready' || undecided || (changes === 0 && conflicts.length === 0)} />
      </form>
    </Dialog>
  )
}

function Choice({ value, now, set, label }: { value: Strategy; now: Strategy; set: (s: Strategy) => void; label: string }) {
  const id = useId()
  return <div class="check"><input id={id} type="radio" name="strategy" checked={now === value} onChange={() => set(value)} /><label for={id}>{label}</label></div>
}

/** A value of a conflict, of any kind. */
function Value({ of }: { of: unknown }) {
  if (of === null || of === undefined) return <span class="soft">nothing</span>
  return <Text most={200}>{typeof of === 'string' ? of : JSON.stringify(of)}</Text>
}
