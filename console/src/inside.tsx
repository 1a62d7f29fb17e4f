import type { ComponentType } from 'preact'
import { Agent } from './agent.tsx'
import type { InsideProps } from './fill.tsx'
import './inside.css'
import { Layers } from './layers.tsx'
import { Portrait } from './portrait.tsx'
import { Tiers } from './tiers.tsx'

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
