import { SlipboxError } from '@slipbox/client'
import type { ComponentChildren } from 'preact'
import type { usePages } from './pages.ts'
import { Copy, Problem, Waiting } from './parts.tsx'

/** What a key may not do, and the command that does it instead. */
export function Refused({ error, again, scope, command }: { error: Error; again: () => void; scope: string; command: string }) {
  if (!(error instanceof SlipboxError) || error.status !== 403) return <Problem error={error} again={again} />
  return <NoScope scope={scope} command={command} />
}

/** What to do without a scope. */
export function NoScope({ scope, command }: { scope: string; command: string }) {
  return <><p class="soft">This key has not the scope <code>{scope}</code>. Sign in with one that has it, or ask on the gateway's machine:</p><Copy text={command} /></>
}

/** What reads the own tenant needs, and what makes such a key. */
export const admin = { scope: 'admin', command: 'gateway key create --tenant NAME' }

/** What all tenants need, and what lists them without it. */
export const operators = { scope: 'operator', command: 'gateway tenant list' }

/** A table that grows by a page at a time, or what stands in its way. On a phone each row is a card, whose fields have the names of the columns. */
export function Listing<T>({ title, list, scope, command, empty, columns, row, filters }: {
  title: string; filters?: ComponentChildren; list: ReturnType<typeof usePages<T>>; scope: string; command: string; empty: string; columns: readonly string[]; row: (item: T) => ComponentChildren
}) {
  return (
    <section>
      <h2>{title}</h2>
      {filters}
      {list.state === 'failed' && <Refused error={list.error} again={list.again} scope={scope} command={command} />}
      {!list.items ? list.state !== 'failed' && <Waiting /> : list.items.length === 0 ? <p class="soft">{empty}</p> : (
        <div class="scroll" tabindex={0} role="region" aria-label={title}>
          <table class="stacked">
            <thead><tr>{columns.map(c => <th key={c} scope="col">{c}</th>)}</tr></thead>
            <tbody>{list.items.map(row)}</tbody>
          </table>
        </div>
      )}
      {list.more && <p class="center"><button type="button" onClick={list.more}>Show more</button></p>}
    </section>
  )
}
