import { Recall, type MemoryOptions, type Turn } from './recall.js'

export type { MemoryOptions } from './recall.js'

/** What the processor reads of a request that Mastra sends to a model, and keeps until its answer. */
interface Asked {
  prompt: Turn[]
  state: Record<string, unknown>
  abortSignal?: AbortSignal | undefined
}

/** What the processor reads of an answer. */
interface Answered<M> {
  messages: M
  state: Record<string, unknown>
  result: { text: string }
}

/** A processor of Mastra, for both `inputProcessors` and `outputProcessors` of an agent. */
export interface MemoryProcessor {
  readonly id: 'slipbox-memory'
  readonly name: string
  // `any` is what Mastra's own types of prompts and messages are here: the client does not depend on them.
  processLLMRequest(request: any): Promise<any>
  processOutputResult(answer: any): any
  /** Resolves when everything that was answered so far is stored, or failed to be. Await it before a process ends. */
  settled(): Promise<void>
}

const asked = 'slipbox-memory'

/**
 * Returns a processor that puts what a collection knows behind the question of each request to the model, and
 * stores question and answer after it. A thread that Mastra keeps has neither: it stays as it was said.
 *
 *     const remembering = memory({ collection: { user: 'nora' }, create: 'mem0' })
 *     new Agent({ …, inputProcessors: [remembering], outputProcessors: [remembering] })
 */
export function memory(options: MemoryOptions): MemoryProcessor {
  const memories = new Recall(options)
  return {
    id: 'slipbox-memory',
    name: 'Memory of slipbox',

    async processLLMRequest({ prompt, state, abortSignal }: Asked) {
      // The steps of a run ask the same question: it is looked up once.
      const before = state[asked] as Turn[] | undefined
      const at = prompt.findLastIndex(turn => turn.role === 'user')
      const known = before?.[at]
      const told = known === undefined ? await memories.recall(prompt, abortSignal) : prompt.with(at, known)
      state[asked] = told
      return { prompt: told }
    },

    processOutputResult<M>({ messages, state, result }: Answered<M>): M {
      memories.remember((state[asked] as Turn[] | undefined) ?? [], result.text)
      return messages
    },

    settled: () => memories.settled(),
  }
}
