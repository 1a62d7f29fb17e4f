import { useRef, useState } from 'preact/hooks'
import type { Route } from './route.ts'
import { useLoad } from './state.ts'

interface Page<T> {
  items: T[]
  next_cursor?: string | undefined
}

/** How many pages of a listing are shown, and how to show one more. */
export interface Paging {
  pages: number
  show: (pages: number) => void
}

/** Most pages that an address may ask for. */
const mostPages = 200

/** Returns the paging that the address says: it is shown again by a link. */
export function pagingOf(route: Route, go: (route: Partial<Route>, replace?: boolean) => void): Paging {
  const asked = Math.trunc(Number(route.query.pages ?? 1))
  return {
    pages: asked >= 1 ? Math.min(asked, mostPages) : 1,
    show: pages => go({ ...route, query: { ...route.query, pages: String(pages) } }, true),
  }
}

/**
 * A listing that grows by a page at a time. When `fresh` changes it is read again, and what was read before is
 * shown until then. Without `paging` the view itself counts the pages.
 */
export function usePages<T>(
  read: (cursor: string | undefined, signal: AbortSignal) => Promise<Page<T>>, about: readonly unknown[], fresh: unknown = 0, paging?: Paging,
) {
  const key = JSON.stringify(about)
  const [own, setOwn] = useState({ key, pages: 1 })
  const pages = paging?.pages ?? (own.key === key ? own.pages : 1)
  const kept = useRef<{ about: string; items: T[]; read: number; next: string | undefined }>(undefined)
  const load = useLoad(async signal => {
    const of = `${key}${String(fresh)}`
    let list = kept.current?.about === of ? kept.current : { about: of, items: [], read: 0, next: undefined }
    while (list.read < pages && (list.read === 0 || list.next !== undefined)) {
      const page = await read(list.next, signal)
      list = { about: of, items: [...list.items, ...page.items], read: list.read + 1, next: page.next_cursor }
    }
    kept.current = list
    return { key, items: list.items, next: list.next, read: list.read }
  }, [key], `${String(fresh)}/${pages}`)
  const data = load.data?.key === key ? load.data : undefined
  const show = paging?.show ?? ((n: number) => setOwn({ key, pages: n }))
  return {
    ...load,
    data,
    again: () => {
      kept.current = undefined
      load.again()
    },
    items: data?.items,
    more: data?.next === undefined ? undefined : () => show(data.read + 1),
  }
}
