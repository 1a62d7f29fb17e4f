/** How far each entry of the history was scrolled, by the number that the entry has. */
const places = new Map<number, number>()

/**
 * Scrolls a view that one goes back to as far as it was. The browser would do it before the view has been read, when it is short.
 * Returns what ends it.
 */
export function keepScroll(): () => void {
  history.scrollRestoration = 'manual'
  const ends = new AbortController()
  let wanted: number | undefined
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
    if (wanted === undefined && at !== undefined) places.set(at, scrollY)
  }
  const sizes = new ResizeObserver(restore)
  sizes.observe(document.body)
  number()
  const { signal } = ends
  addEventListener('popstate', () => {
    wanted = places.get(entry() ?? NaN)
    number()
    restore()
  }, { signal })
  addEventListener('hashchange', number, { signal })
  addEventListener('scroll', keep, { signal, passive: true })
  addEventListener('click', keep, { signal, capture: true }) // a link is followed before the last scroll is told
  // A reader who moves the page meanwhile wants to be elsewhere.
  for (const kind of ['wheel', 'touchmove', 'keydown', 'pointerdown']) addEventListener(kind, forget, { signal, passive: true })
  return () => {
    ends.abort()
    sizes.disconnect()
  }
}
