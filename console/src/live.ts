import { ConnectionError, SlipboxError, type Schemas } from '@slipbox/client'
import { useEffect, useState } from 'preact/hooks'
import { useShared } from './state.ts'

/** Pauses before a stream is begun again, in milliseconds: the first, which is also that between two reads, and the longest that it grows to. */
const pauses = { first: 1000, longest: 15_000 }

/**
 * Follows a collection by its changes: `now` is what it was last, and `away` says that the gateway is not reached.
 * A page that nobody sees holds no connection, of which a browser has few.
 */
export function useLive(ref: string): { now: Schemas['Collection'] | undefined; away: boolean } {
  const { api, refused } = useShared()
  const [now, setNow] = useState<Schemas['Collection']>()
  const [away, setAway] = useState(false)
  const seen = useSeen()
  useEffect(() => {
    if (!seen) return
    const control = new AbortController()
    const once = { signal: control.signal, retries: 0 }
    const read = async () => {
      const read = await api.collection(ref).get(once)
      setAway(false)
      setNow(read)
      return read.head_revision
    }
    const follow = async () => {
      let pause = pauses.first
      while (!control.signal.aborted) {
        try {
          let head = await read()
          pause = pauses.first
          for await (const event of api.stream('get', '/v1/collections/{collection}/changes', { ...once, path: { collection: ref }, query: { after: head } })) {
            if (event.event !== 'change' || (event.data as Schemas['Change']).revision <= head) continue
            head = await read()
            await sleep(pauses.first, control.signal)
          }
        } catch (error) {
          if (control.signal.aborted) return
          if (error instanceof SlipboxError && error.status === 401) refused(error)
          // Others pass: a copy begins at a later revision when it is filled (410), a restored store ends at an earlier one (422).
          if (error instanceof SlipboxError && [401, 403, 404].includes(error.status)) return
          setAway(error instanceof ConnectionError)
        }
        await sleep(pause * (1 + Math.random() / 4), control.signal)
        pause = Math.min(pause * 2, pauses.longest)
      }
    }
    void follow()
    return () => control.abort()
  }, [api, ref, seen])
  return { now: now?.id === ref || now?.name === ref ? now : undefined, away }
}

/** Follows a job by its events, and calls back when it has ended, or can no longer be followed. */
export function useFollow(id: string | undefined, ended: (job: Schemas['Job'] | undefined) => void, each?: (job: Schemas['Job']) => void): void {
  const { api } = useShared()
  useEffect(() => {
    if (id === undefined) return
    const control = new AbortController()
    void (async () => {
      let last: Schemas['Job'] | undefined
      try {
        for await (const job of api.jobs.follow(id, { signal: control.signal })) {
          last = job
          each?.(job)
        }
      } catch (error) {
        if (control.signal.aborted) return
        if (error instanceof SlipboxError && error.status === 404) last = undefined
      }
      if (!control.signal.aborted) ended(last)
    })()
    return () => control.abort()
  }, [id])
}

/** Whether the page is seen: it is not when another tab is in front. */
function useSeen(): boolean {
  const [seen, setSeen] = useState(!document.hidden)
  useEffect(() => {
    const read = () => setSeen(!document.hidden)
    document.addEventListener('visibilitychange', read)
    return () => document.removeEventListener('visibilitychange', read)
  }, [])
  return seen
}

/** Whether a condition has held for a second: what comes and goes sooner is not worth a word. */
export function useLasting(condition: boolean): boolean {
  const [lasting, setLasting] = useState(false)
  useEffect(() => {
    if (!condition) {
      setLasting(false)
      return
    }
    const timer = setTimeout(() => setLasting(true), 1000)
    return () => clearTimeout(timer)
  }, [condition])
  return condition && lasting
}

function sleep(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise(resolve => {
    const timer = setTimeout(resolve, ms)
    signal.addEventListener('abort', () => {
      clearTimeout(timer)
      resolve()
    }, { once: true })
  })
}
