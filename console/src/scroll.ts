/** How far each entry of the history was scrolled, by the number that the entry has. */
const places = new Map<number, number>()

/** How far each address was scrolled when it was last seen, the newest last. */
const seen = new Map<string, number>()

/** Returns the address of a view as it was last seen, with its filters and pages; a link to it with rel="prev" scrolls it as far. */
export function lastSeen(view: string): string {
  return [...seen.keys()].findLast(hash => hash === view || hash.startsWith(`${view}?`)) ?? view
}

/**
 * Scrolls a view that one goes back to as far as it was. The browser would do it before the view has been read, when it is short.
 * Returns what ends it.
 */
export function keepScroll(): () => void {
  history.scrollRestoration = 'manual'
  const ends = new AbortController()
  let wanted: number | undefined, prev: number | undefined
  const entry = () => (history.state as { entry?: number } | null)?.entry
  const number = () => {
    if (entry() === undefined) history.replaceState({ entry: Date.now() + Math.random() }, '')
  }
  const forget = () => { wanted = undefined }
  const restore = () => {
    if (wanted === undefined || document.documentElement.scrollHeight < wanted + innerHeight) return
    scrollTo(0, wanted)
    forget()
  }
  const keep = () => {
    const at = entry()
    if (wanted !== undefined || at === undefined) return
    places.set(at, scrollY)
    seen.delete(location.hash)
    seen.set(location.hash, scrollY)
  }
  const follow = (e: Event) => {
    keep()
    const link = (e.target as Element).closest<HTMLAnchorElement>('a[rel="prev"]')
    prev = link ? seen.get(link.hash) : undefined
  }
  const sizes = new ResizeObserver(restore)
  sizes.observe(document.body)
  number()
  const { signal } = ends
  addEventListener('popstate', () => {
    wanted = places.get(entry() ?? NaN) ?? prev
    prev = undefined
    number()
    restore()
  }, { signal })
  addEventListener('hashchange', number, { signal })
  addEventListener('scroll', keep, { signal, passive: true })
  addEventListener('click', follow, { signal, capture: true }) // a link is followed before the last scroll is told
  // A reader who moves the page meanwhile wants to be elsewhere.
  for (const kind of ['wheel', 'touchmove', 'keydown', 'pointerdown']) addEventListener(kind, forget, { signal, passive: true })
  return () => {
    ends.abort()
    sizes.disconnect()
  }
}
