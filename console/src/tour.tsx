import { useState } from 'preact/hooks'
import type { Go } from './collection.tsx'
import { Problem, Read } from './parts.tsx'
import { useAction, useLoad, useShared } from './state.ts'
import type { Step } from './toursteps.ts'

/** The collection of the demo. */
export const demo = 'demo'

/** Where the tour is; kept with the tab, so that a reload goes on. */
export interface Progress {
  step: number
  /** Whether the step was done. */
  done: boolean
  /** The note that the first step added, and the job of its policy. */
  note?: string
  job?: string
}

const kept = 'slipbox-tour'

function read(): Progress | undefined {
  try {
    return JSON.parse(sessionStorage.getItem(kept) ?? 'null') as Progress | null ?? undefined
  } catch {
    return undefined
  }
}

/** Begins the tour, or goes on with it. */
export function useTour() {
  const [at, setAt] = useState(read)
  const set = (next: Progress | undefined) => {
    if (next) sessionStorage.setItem(kept, JSON.stringify(next))
    else sessionStorage.removeItem(kept)
    setAt(next)
  }
  return { at, set, begin: () => set({ step: 0, done: false }) }
}

type TourProps = { at: Progress; set: (next: Progress | undefined) => void; go: Go }

/** A card that leads through the demo in six steps, beside whatever is shown. */
export function Tour(props: TourProps) {
  const steps = useLoad(() => import('./toursteps.ts'), [])
  return <Read of={steps}>{loaded => <Card steps={loaded.stepsOf(demo)} {...props} />}</Read>
}

function Card({ steps, at, set, go }: TourProps & { steps: Step[] }) {
  const { api, changed } = useShared()
  const { busy, error, run, clear } = useAction()
  const step = steps[at.step] ?? steps[0]!
  const last = at.step === steps.length - 1
  const move = (to: number) => {
    clear()
    set({ ...at, step: to, done: false })
  }
  const act = () => run(async () => {
    const more = await step.act(api, go, at)
    changed()
    set({ ...at, ...more, done: true })
  })
  return (
    <aside class="tour" aria-label="Tour of the demo">
      <div class="row between">
        <p class="small soft">Tour, step {at.step + 1} of {steps.length}</p>
        <button type="button" class="plain" aria-label="End the tour" onClick={() => set(undefined)}>×</button>
      </div>
      <div role="status"><h2>{step.title}</h2><p>{at.done ? step.after : step.before}</p></div>
      {error && <Problem error={error} />}
      <div class="row between">
        <button type="button" disabled={busy || at.step === 0} onClick={() => move(at.step - 1)}>Back</button>
        {!at.done ? <button type="button" class="main" disabled={busy} onClick={() => void act()}>{busy ? 'Working…' : step.label}</button>
          : last ? <button type="button" class="main" onClick={() => { set(undefined); go({}) }}>To your own memory</button>
          : <button type="button" class="main" onClick={() => move(at.step + 1)}>Next: {steps[at.step + 1]!.title.toLowerCase()}</button>}
      </div>
    </aside>
  )
}
