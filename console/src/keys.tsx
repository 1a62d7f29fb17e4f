import type { Schemas } from '@slipbox/client'
import { useState } from 'preact/hooks'
import { admin, Listing } from './listing.tsx'
import { useNames } from './names.ts'
import { usePages } from './pages.ts'
import { Buttons, Copy, Dialog, Field, Problem } from './parts.tsx'
import { useAction, useShared } from './state.ts'
import { formatDay, formatTime, reveal } from './text.ts'
import { idsOf } from './tree.ts'

/** The API keys of the tenant: for whom each is, and an end to it. */
export function Keys() {
  const { api } = useShared()
  const [round, setRound] = useState(0)
  const [making, setMaking] = useState(false)
  const list = usePages((cursor, signal) => api.call('get', '/v1/api-keys', { signal, query: { limit: 20, ...(cursor && { cursor }) } }), [], round)
  const again = () => setRound(n => n + 1)
  return (
    <>
      <Listing title="API keys" list={list} {...admin} columns={['Key', 'Memory of', 'May', 'Created', 'Until', 'Do']} empty="None yet." row={k => <Key key={k.id} of={k} done={again} />} />
      {list.state !== 'failed' && <p><button type="button" onClick={() => setMaking(true)}>New key</button></p>}
      {making && <NewKey close={() => { setMaking(false); again() }} />}
    </>
  )
}

function Key({ of: k, done }: { of: Schemas['APIKey']; done: () => void }) {
  const { api, tell } = useShared()
  const name = k.display_name ?? `${k.prefix.slice(0, 16)}…`
  const revoke = async () => {
    await api.call('post', '/v1/api-keys/{api_key}/revoke', { path: { api_key: k.id } })
    tell('The key is no longer accepted.')
    done()
  }
  return (
    <tr>
      <td data-label="Key"><bdi title={k.prefix}>{reveal(name)}</bdi></td>
      <td data-label="Memory of"><bdi>{reveal((k.external && idsOf({ external: k.external })) ?? (k.agent ? `the agent ${k.agent}` : 'everybody'))}</bdi></td>
      <td data-label="May">{k.scopes.join(', ')}</td>
      <td data-label="Created">{formatDay(k.created_at)}</td>
      <td data-label="Until">{k.revoked_at ? <span class="state dead">revoked</span> : k.expires_at ? formatTime(k.expires_at) : 'it is revoked'}</td>
      <td data-label="Do">{!k.revoked_at && <Ends label="Revoke" name={name} act={revoke} />}</td>
    </tr>
  )
}

/** A button that does something after a second word. */
function Ends({ label, name, act }: { label: string; name: string; act: () => Promise<void> }) {
  const [sure, setSure] = useState(false)
  const { busy, error, run } = useAction()
  const said = sure ? `Yes, ${label.toLowerCase()}` : label
  return (
    <>
      <button type="button" class="danger" disabled={busy} onClick={() => (sure ? void run(act) : setSure(true))} aria-label={`${said} ${name}`}>{said}</button>
      {error && <Problem error={error} />}
    </>
  )
}

/** What a new key may do. A key for one user cannot have the scope `admin`. */
const rights = {
  write: { title: 'read and write notes', scopes: ['notes:read', 'notes:write'] },
  make: { title: 'also create and fork memories', scopes: ['notes:read', 'notes:write', 'collections:write', 'clone'] },
  read: { title: 'read only', scopes: ['notes:read'] },
} as const satisfies Record<string, { title: string; scopes: Schemas['Scope'][] }>
type Right = keyof typeof rights

const terms = { 0: 'until it is revoked', 86400: 'a day', 2592000: '30 days', 31536000: 'a year' }

/** Makes a key, for everything or for the memory of one user, and shows it once. */
function NewKey({ close }: { close: () => void }) {
  const { api } = useShared()
  const [name, setName] = useState('')
  const [user, setUser] = useState('')
  const [right, setRight] = useState<Right>('make')
  const [term, setTerm] = useState('0')
  const [made, setMade] = useState<string>()
  const { busy, error, run } = useAction()
  const submit = async (e: Event) => {
    e.preventDefault()
    await run(async () => {
      const answer = await api.call('post', '/v1/api-keys', { body: {
        scopes: [...rights[right].scopes], ...(name.trim() && { display_name: name.trim() }), ...(user && { external: { user } }), ...(term !== '0' && { ttl_seconds: Number(term) }),
      } })
      setMade(answer.key)
    })
  }
  if (made !== undefined) {
    return (
      <Dialog title="The new key" close={close}>
        <div class="exports"><p>It is shown once. Keep it where the program that uses it finds it.</p><Copy text={made} /><button type="button" class="main" onClick={close}>I have it</button></div>
      </Dialog>
    )
  }
  return (
    <Dialog title="New key" close={close}>
      <form onSubmit={e => void submit(e)}>
        <Field label="Name" hint="For people, such as the program that uses it.">{id => <input id={id} value={name} onInput={e => setName(e.currentTarget.value)} autocomplete="off" dir="auto" />}</Field>
        <Field label="User" hint="The id by which an application calls a user: the key reaches the memories of that user alone. Empty: of everybody.">{id => <input id={id} value={user} onInput={e => setUser(e.currentTarget.value)} autocomplete="off" spellcheck={false} dir="auto" />}</Field>
        <Field label="May">{id => <select id={id} value={right} onChange={e => setRight(e.currentTarget.value as Right)}>{Object.entries(rights).map(([k, r]) => <option key={k} value={k}>{r.title}</option>)}</select>}</Field>
        <Field label="For">{id => <select id={id} value={term} onChange={e => setTerm(e.currentTarget.value)}>{Object.entries(terms).map(([s, title]) => <option key={s} value={s}>{title}</option>)}</select>}</Field>
        {error && <Problem error={error} />}
        <Buttons busy={busy} close={close} label="Create" />
      </form>
    </Dialog>
  )
}

/** Programs that holders of keys have connected, such as assistants on the web: what each may do, and an end to it. */
export function Grants() {
  const { api } = useShared()
  const [round, setRound] = useState(0)
  const list = usePages((cursor, signal) => api.call('get', '/v1/oauth/grants', { signal, query: { limit: 50, ...(cursor && { cursor }) } }), [], round)
  return (
    <Listing title="Connected programs" list={list} {...admin} columns={['Program', 'Memory of', 'May', 'By the key', 'Last used', 'Do']}
      empty="None. A program that connects to /mcp by signing in, as assistants on the web do, stands here."
      row={g => <Grant key={g.id} grant={g} done={() => setRound(n => n + 1)} />} />
  )
}

function Grant({ grant: g, done }: { grant: Schemas['Grant']; done: () => void }) {
  const { api, tell } = useShared()
  const names = useNames()
  const end = async () => {
    await api.call('delete', '/v1/oauth/grants/{grant}', { path: { grant: g.id } })
    tell('The program is no longer connected.')
    done()
  }
  const name = g.client ?? 'a program without a name'
  return (
    <tr>
      <td data-label="Program"><bdi title={g.redirect_uri}>{reveal(name)}</bdi></td>
      <td data-label="Memory of"><bdi>{reveal((g.external && idsOf({ external: g.external })) ?? 'all that the key can use')}</bdi></td>
      <td data-label="May">{g.scopes.join(', ')}</td>
      <td data-label="By the key"><bdi>{reveal(names(`key:${g.api_key}`))}</bdi></td>
      <td data-label="Last used" title={`It ends on ${formatTime(g.expires_at)} if it is not used.`}>{formatTime(g.used_at)}</td>
      <td data-label="Do"><Ends label="Disconnect" name={name} act={end} /></td>
    </tr>
  )
}
