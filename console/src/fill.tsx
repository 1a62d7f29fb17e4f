import type { Schemas } from '@slipbox/client'
import type { ComponentChildren } from 'preact'
import type { Go } from './collection.tsx'
import type { Route } from './route.ts'
import { count } from './text.ts'

/** What the view of a policy is given. */
export interface InsideProps {
  collection: Schemas['Collection']
  route: Route
  go: Go
  fresh: number
}

/** A store of a policy, and how full it is. */
export function Fill({ title, has, of, read = count, children }: { title: string; has: number; of?: number | undefined; read?: (n: number) => string; children?: ComponentChildren }) {
  return (
    <li class="fill">
      <h2>{title}</h2>
      <p><strong>{read(has)}</strong>{of !== undefined && <span class="soft"> of {read(of)}</span>}</p>
      {of !== undefined && <svg viewBox="0 0 100 4" preserveAspectRatio="none" aria-hidden="true"><rect width={Math.min(100, (has / Math.max(of, 1)) * 100)} height="4" /></svg>}
      {children && <p class="soft small">{children}</p>}
    </li>
  )
}
