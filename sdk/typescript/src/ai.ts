import { Recall, said, type MemoryOptions, type Turn } from './recall.js'

export type { MemoryOptions } from './recall.js'

/** What the middleware reads and changes of a call of the AI SDK. Everything else is passed on. */
interface Params {
  prompt: Turn[]
  abortSignal?: AbortSignal | undefined
}

/** A middleware of the AI SDK (`wrapLanguageModel`), of version 3 of its specification. */
export interface MemoryMiddleware {
  readonly specificationVersion: 'v3'
  transformParams<P extends Params>(options: { params: P }): Promise<P>
  wrapGenerate<R>(options: { doGenerate: () => PromiseLike<R>; params: Params }): Promise<R>
  wrapStream<R extends { stream: ReadableStream<unknown> }>(options: { doStream: () => PromiseLike<R>; params: Params }): Promise<R>
  /** Resolves when everything that was answered so far is stored, or failed to be. Await it before a process ends. */
  settled(): Promise<void>
}

/**
 * Returns a middleware that puts what a collection knows into each prompt, and stores each exchange after
 * its answer. What was written with memories in the prompt is marked, so that it is not learned again.
 *
 *     const model = wrapLanguageModel({ model: openai('gpt-5'), middleware: memory({ collection: 'nora' }) })
 */
export function memory(options: MemoryOptions): MemoryMiddleware {
  const memories = new Recall(options)

  return {
    specificationVersion: 'v3',

    async transformParams({ params }) {
      const prompt = await memories.recall(params.prompt, params.abortSignal)
      return prompt === params.prompt ? params : { ...params, prompt }
    },

    async wrapGenerate({ doGenerate, params }) {
      const result = await doGenerate()
      memories.remember(params.prompt, said((result as { content?: unknown }).content))
      return result
    },

    async wrapStream({ doStream, params }) {
      const result = await doStream()
      let text = ''
      const watched = result.stream.pipeThrough(
        new TransformStream<unknown, unknown>({
          transform(part, control) {
            const { type, delta } = part as { type?: string; delta?: unknown }
            if (type === 'text-delta' && typeof delta === 'string') text += delta
            control.enqueue(part)
          },
          // A stream that breaks off does not come here: half an answer is not stored.
          flush: () => memories.remember(params.prompt, text),
        }),
      )
      return { ...result, stream: watched }
    },

    settled: () => memories.settled(),
  }
}
