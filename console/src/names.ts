import type { Schemas, Slipbox } from '@slipbox/client'
import { useEffect, useState } from 'preact/hooks'
import { useShared } from './state.ts'

/** API keys by their ids, read once for each client; none where the key of this tab may not list them. */
const keys = new WeakMap<Slipbox, Promise<Map<string, Schemas['APIKey']>>>()

function keysOf(api: Slipbox): Promise<Map<string, Schemas['APIKey']>> {
  const known = keys.get(api)
  if (known) return known
  const read = api.call('get', '/v1/api-keys', { query: { limit: 200 }, retries: 0 }).then(list => new Map(list.items.map(k => [k.id, k])), () => new Map<string, Schemas['APIKey']>())
  keys.set(api, read)
  return read
}

/** Returns what an actor or a key is called to people: by its name, never by an id that nobody knows. */
export function useNames(): (actor: string) => string {
  const { api } = useShared()
  const [known, setKnown] = useState<Map<string, Schemas['APIKey']>>()
  useEffect(() => {
    let wanted = true
    void keysOf(api).then(all => { if (wanted) setKnown(all) })
    return () => { wanted = false }
  }, [api])
  return actor => {
    const [kind = '', id = ''] = actor.split(/:(.*)/s, 2)
    if (kind === 'job') return 'the policy'
    const key = known?.get(kind === 'key' ? id : actor)
    if (key) return key.display_name ?? `the key ${key.prefix.slice(0, 16)}…`
    return kind === 'key' ? 'a key' : actor
  }
}
