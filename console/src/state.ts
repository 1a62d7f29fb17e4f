import { ConnectionError, Slipbox, SlipboxError } from '@slipbox/client'
import { createContext } from 'preact'
import { useCallback, useContext, useEffect, useRef, useState } from 'preact/hooks'
import { formatRoute, parseRoute, type Route } from './route.ts'
import { keepScroll } from './scroll.ts'

const keyName = 'slipbox-console-key'

/** The key of this tab. It is forgotten with the tab. */
export const session = {
  read: (): string | null => sessionStorage.getItem(keyName),
  write: (key: string): void => sessionStorage.setItem(keyName, key),
  forget: (): void => sessionStorage.removeItem(keyName),
}

/** What every view uses: the client, and what to do when the key is refused. */
export interface Shared {
  api: Slipbox
  /** Called with the error of a request; a refused key leads back to the sign-in, which says whether something typed is lost. */
  refused: (error: SlipboxError, unsent?: boolean) => void
  /** Counts up when collections have changed, so that the tree is read again. */
  changes: number
  changed: () => void
  /** Shows a short message. */
  tell: (text: string) => void
}

export const SharedContext = createContext<Shared | undefined>(undefined)

export function useShared(): Shared {
  const shared = useContext(SharedContext)
  if (!shared) throw new Error('no client')
  return shared
}

/** The route of the address, and a function that goes to another one. */
export function useRoute(): [Route, (route: Partial<Route>, replace?: boolean) => void] {
  const [route, setRoute] = useState(() => parseRoute(location.hash))
  useEffect(() => {
    const read = () => setRoute(parseRoute(location.hash))
    const end = keepScroll()
    addEventListener('hashchange', read)
    return () => {
      end()
      removeEventListener('hashchange', read)
    }
  }, [])
  const go = useCallback((next: Partial<Route>, replace = false) => {
    const hash = formatRoute(next)
    if (replace) {
      history.replaceState(history.state, '', hash)
      setRoute(parseRoute(hash))
    } else location.hash = hash
  }, [])
  return [route, go]
}

export type Loaded<T> = { state: 'loading'; data?: T } | { state: 'ready'; data: T } | { state: 'failed'; error: Error; data?: T }

/**
 * Reads something when the view begins, when `about` changes, and again when `fresh` does. What was read before stays
 * while it is read again, so that nothing jumps. An answer that is no longer wanted is dropped.
 */
export function useLoad<T>(read: (signal: AbortSignal) => Promise<T>, about: readonly unknown[], fresh: unknown = 0): Loaded<T> & { again: () => void } {
  const { refused } = useShared()
  const [round, setRound] = useState(0)
  const [value, setValue] = useState<Loaded<T>>({ state: 'loading' })
  const key = JSON.stringify(about)
  const last = useRef(key)
  useEffect(() => {
    const control = new AbortController()
    const other = last.current !== key
    last.current = key
    setValue(old => (old.data === undefined || other ? { state: 'loading' } : { state: 'loading', data: old.data }))
    read(control.signal).then(
      data => {
        if (!control.signal.aborted) setValue({ state: 'ready', data })
      },
      (error: unknown) => {
        if (control.signal.aborted) return
        if (error instanceof SlipboxError && error.status === 401) refused(error)
        setValue(old => ({ ...old, state: 'failed', error: error instanceof Error ? error : new Error(String(error)) }))
      },
    )
    return () => control.abort()
  }, [key, round, fresh])
  const again = useCallback(() => setRound(n => n + 1), [])
  return { ...value, again }
}

/** Counts up every so many milliseconds while the page is seen, and at once when it is seen again. */
export function useBeat(every: number): number {
  const [beat, setBeat] = useState(0)
  useEffect(() => {
    const next = () => { if (!document.hidden) setBeat(n => n + 1) }
    const timer = setInterval(next, every)
    document.addEventListener('visibilitychange', next)
    return () => {
      clearInterval(timer)
      document.removeEventListener('visibilitychange', next)
    }
  }, [every])
  return beat
}

/** What is typed into a field that the address fills: it is replaced when the address changes, and by nothing else. */
export function useTyped(given: string): [string, (text: string) => void] {
  const [text, setText] = useState(given)
  const last = useRef(given)
  useEffect(() => {
    if (last.current !== given) setText(given)
    last.current = given
  }, [given])
  return [text, setText]
}

/** What was typed, a moment after the last key: a server is not asked for each. */
export function useSettled(text: string): string {
  const [settled, setSettled] = useState(text)
  useEffect(() => {
    const timer = setTimeout(() => setSettled(text), 200)
    return () => clearTimeout(timer)
  }, [text])
  return settled
}

/** Runs a write: says that it runs, keeps its error, and leads back to the sign-in when the key is refused. */
export function useAction(): { busy: boolean; error: Error | undefined; run: (work: () => Promise<void>) => Promise<boolean>; clear: () => void } {
  const { refused } = useShared()
  const [busy, setBusy] = useState(false)
  const [error, setError] = useState<Error>()
  const run = async (work: () => Promise<void>): Promise<boolean> => {
    setBusy(true)
    setError(undefined)
    try {
      await work()
      return true
    } catch (cause) {
      if (cause instanceof SlipboxError && cause.status === 401) refused(cause, true)
      setError(cause instanceof Error ? cause : new Error(String(cause)))
      return false
    } finally {
      setBusy(false)
    }
  }
  return { busy, error, run, clear: () => setError(undefined) }
}

/** What a person can do about an error. */
export function advice(error: Error): string {
  if (error instanceof ConnectionError) return 'Check that the gateway runs and that this machine reaches it, then try again.'
  if (!(error instanceof SlipboxError)) return 'Load the page again. If it comes back, the console has a bug.'
  switch (error.status) {
    case 401: return 'The key is not valid, or was revoked. Sign in with another one.'
    case 403: return 'This key may not do that. Sign in with a key that has the scope named above.'
    case 404: return 'It was deleted, or belongs to another agent. Choose another one.'
    case 409: return 'Something else changed meanwhile, or stands in the way. Load again and look.'
    case 410: return 'That revision is no longer kept. Choose a newer one.'
    case 412: return 'Somebody else changed the note after you opened it, and nothing was overwritten. See what it says now, then decide again.'
    case 422: return 'Change what the message names, then send it again.'
    case 429: return 'The limit of requests is used up. Wait a moment, then try again.'
    case 503: case 504: return 'The gateway is busy or its store is away. Try again in a moment.'
    case 507: return 'The disk of the gateway is full. Its operator must make room.'
    default: return 'Try again. If it stays, look for the request id in the log of the gateway.'
  }
}
