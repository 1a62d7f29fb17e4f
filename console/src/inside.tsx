import type { Schemas } from '@slipbox/client'
import type { ComponentChildren, ComponentType } from 'preact'
import { Agent } from './agent.tsx'
import type { Go } from './collection.tsx'
import './inside.css'
import { Layers } from './layers.tsx'
import { Portrait } from './portrait.tsx'
import type { Route } from './route.ts'
import { count } from './text.ts'
import { Tiers } from './tiers.tsx'

export interface InsideProps {
  collection: Schemas['Collection']
  route: Route
  go: Go
  fresh: number
}

/** What only one policy has, and how that is called. */
const views: Record<string, { title: string; View: ComponentType<InsideProps> }> = {
  memorybank: { title: 'Portrait', View: Portrait },
  memoryos: { title: 'Tiers', View: Tiers },
  layered: { title: 'Layers', View: Layers },
  memgpt: { title: 'Agent', View: Agent },
}

/** The title of the view of a policy; undefined for one whose notes are all that there is. */
export const insideTitle = (policy: string): string | undefined => views[policy]?.title

/** How a policy has ordered what it keeps. */
export function Inside(props: InsideProps) {
  const View = views[props.collection.policy]?.View
  return View ? <View {...props} /> : <p class="soft">The policy {props.collection.policy} orders its notes in no other way than the list of notes shows.</p>
}

/** A store of a policy, and how full it is. */
export function Fill({ title, has, of, read = count, children }: { title: string; has: number; of?: number | undefined; read?: (n: number) => string; children?: ComponentChildren }) {
  return (
    <li class="fill">
      <h2>{title}</h2>
      <p><strong>{read(has)}</strong>{of !== undefined && <span class="soft"> of {read(of)}</span>}</p>
      {of !== undefined && <svg viewBox="0 0 100 4" preserveAspectRatio="none" aria-hidden="true"><rect width={Math.min(100, (has / Math.max(of, 1)) * 100)} height="4" /></svg>}
      {children && <p class="soft small">{children}</p>}
    </li>
  )
}
