import { useEffect, useState } from 'preact/hooks'
import { useLoad } from './state.ts'

interface Page<T> {
  items: T[]
  next_cursor?: string | undefined
}

/** A listing that grows by a page at a time. */
export function usePages<T>(read: (cursor: string | undefined, signal: AbortSignal) => Promise<Page<T>>, about: readonly unknown[]) {
  const [cursor, setCursor] = useState<string>()
  const [before, setBefore] = useState<T[]>([])
  const key = JSON.stringify(about)
  const [at, setAt] = useState(key)
  useEffect(() => {
    setBefore([])
    setCursor(undefined)
    setAt(key)
  }, [key])
  const page = useLoad(signal => read(cursor, signal), [key, cursor])
  const first = at === key && page.data ? page.data : undefined
  return {
    ...page,
    items: first ? [...before, ...first.items] : before.length > 0 ? before : undefined,
    more: first?.next_cursor === undefined ? undefined : () => {
      setBefore([...before, ...first.items])
      setCursor(first.next_cursor)
    },
  }
}
