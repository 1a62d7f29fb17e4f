import type { Slipbox, SlipboxError } from '@slipbox/client'
import type { Go } from './collection.tsx'
import type { Progress } from './tour.tsx'

/** The fork that the tour makes. */
const forked = 'demo-what-if'

const example = 'The twelve large vases for Birgit, the gallery owner, will be fired in the new gas kiln.'
const question = 'Which kiln will the vases for the gallery be fired in?'
const twist = 'The gas kiln is broken, so the vases for the gallery go into the wood kiln.'

/** One step of the tour. */
export interface Step {
  title: string
  /** What will happen, and what to look at afterwards. */
  before: string
  after: string
  /** The button that does it. */
  label: string
  act: (api: Slipbox, go: Go, at: Progress) => Promise<Partial<Progress> | void>
}

/** Returns the steps of the tour through a collection. They are loaded when somebody takes it. */
export const stepsOf = (demo: string): Step[] => [
  {
    title: 'Add', label: 'Add this note',
    before: `The collection “demo” holds a conversation of two friends. Add something to it: “${example}”`,
    after: 'It can be found at once. Meanwhile the policy describes it and looks for notes that belong to it.',
    act: async (api, go) => {
      const added = await api.collection(demo).add(example)
      go({ collection: demo, note: added.note.id })
      return { note: added.note.id, ...(added.job && { job: added.job.id }) }
    },
  },
  {
    title: 'Watch it evolve', label: 'Wait for the policy',
    before: 'The policy links the note to older ones, and a model may change how those are described. Each change is a version with its cause.',
    after: 'Under History, “described” and “linked” came after “added”, each with what it changed. Links lead to the related notes.',
    act: async (api, go, at) => {
      if (at.note === undefined) throw new Error('Take the first step before this one.')
      if (at.job !== undefined) for await (const _ of api.jobs.follow(at.job)); // until it has ended
      go({ collection: demo, note: at.note })
    },
  },
  {
    title: 'Search, with why', label: 'Search',
    before: `Ask: “${question}”`,
    after: 'Open “Why” below a hit: the bars are the signals that found it, and what each adds to its score.',
    act: (_api, go) => {
      go({ collection: demo, tab: 'search', query: { q: question } })
      return Promise.resolve()
    },
  },
  {
    title: 'Travel in time', label: 'Go back to the beginning',
    before: 'Every read can be done at any revision. See the graph as it was in the middle of the conversation.',
    after: 'Move the slider: notes and links come and go, as the collection was at each revision.',
    act: async (api, go) => {
      const c = await api.collection(demo).get()
      go({ collection: demo, tab: 'graph', query: { at: String(Math.max(Math.floor(c.head_revision / 2), 1)) } })
    },
  },
  {
    title: 'Fork', label: 'Fork it, and change the fork',
    before: `A fork is one row, whatever the size. Make one for another plan, and tell it something else: “${twist}”`,
    after: 'The fork has everything of its base and the new note. The base knows nothing of it.',
    act: async (api, go) => {
      try {
        await api.collection(demo).fork({ name: forked })
      } catch (error) {
        if ((error as SlipboxError).status !== 409) throw error // a tour before this one has made it
      }
      await api.collection(forked).add(twist)
      const fork = await api.collection(forked).get()
      go({ collection: fork.id })
    },
  },
  {
    title: 'Compare', label: 'Compare',
    before: 'See the fork beside its base: what each has alone, and which notes differ.',
    after: 'That was it. Now bring your own history, or connect a client.',
    act: async (api, go) => {
      const fork = await api.collection(forked).get()
      go({ collection: fork.id, tab: 'compare' })
    },
  },
]
