import { useState } from 'preact/hooks'
import { Add, type Adding } from './forms.tsx'
import { Copy, Problem } from './parts.tsx'
import { formatRoute, type Route } from './route.ts'
import { useAction, useShared } from './state.ts'
import { quoted } from './text.ts'
import { modelOf, type Called } from './tree.ts'

/** An installation without collections: what to do first. */
export function Start({ go, begin: begun }: { go: (route: Partial<Route>) => void; begin: () => void }) {
  const { api, changed } = useShared()
  const [adding, setAdding] = useState<{ id: string; first: Adding }>()
  const { busy, error, run } = useAction()
  const begin = (first: Adding) =>
    run(async () => {
      begun() // the page stays while something is typed, although there is a collection then
      const made = await api.createCollection({ name: 'first', policy: first === 'conversation' ? 'mem0' : 'amem', extend: true })
      setAdding({ id: made.id, first })
    })
  const finish = (id: string) => {
    changed()
    go({ collection: id })
  }
  return (
    <div class="start">
      <h1>Nothing is remembered yet</h1>
      <p class="soft">Begin here, or connect what you have. Everything goes through the same API.</p>
      {error && <Problem error={error} />}
      <ol>
        <li><h2>Add a note</h2><p>It is described, linked to related notes, and may change how those are described.</p>
          <button type="button" class="main" disabled={busy} onClick={() => void begin('note')}>Add a note</button></li>
        <li><h2>Paste a conversation</h2><p>Facts are taken from it. A new fact replaces one that it contradicts.</p>
          <button type="button" disabled={busy} onClick={() => void begin('conversation')}>Paste a conversation</button></li>
        <li><h2>Bring your history</h2><p>An export of ChatGPT, Claude, WhatsApp or another program. You see what is understood before anything is stored.</p>
          <button type="button" disabled={busy} onClick={() => void begin('file')}>Import a file</button></li>
        <li><h2>Connect a client</h2><p>Any client of OpenAI's chat API gains a memory by its base address:</p>
          <Connect of={{ name: 'first' }} /></li>
      </ol>
      {adding && <Add to={adding.id} first={adding.first} close={() => finish(adding.id)} done={() => finish(adding.id)} />}
    </div>
  )
}

/** Lines to copy that connect a client to a memory. The key is not among them: it would be in the clipboard. */
export function Connect({ of }: { of: Called }) {
  const ids = Object.entries(of.external ?? {}).filter(([, id]) => id !== undefined && id !== '')
  const path = ids.length > 0 ? `by/notes?${new URLSearchParams(ids).toString()}` : `${of.name}/notes`
  return (
    <>
      <Copy text={`export OPENAI_BASE_URL=${location.origin}/v1 OPENAI_API_KEY=$SLIPBOX_KEY  # model: ${modelOf(of)}`} />
      <p class="soft small">SLIPBOX_KEY is an API key, which <a href={formatRoute({ gateway: true })}>Gateway</a> makes.</p>
      <p class="soft small">A client of mem0, or of the Model Context Protocol:</p>
      <Copy text={`MemoryClient(host="${location.origin}/mem0", api_key=os.environ["SLIPBOX_KEY"])${ids.length > 0 ? `  # ${ids.map(([kind, id]) => `${kind}_id=${quoted(id!)}`).join(', ')}` : ''}`} />
      <Copy text={`${location.origin}/mcp  # header: Authorization: Bearer $SLIPBOX_KEY`} />
      <p class="soft small">Or with curl:</p>
      <Copy text={`curl -sS '${location.origin}/v1/collections/${path}' -H "Authorization: Bearer $SLIPBOX_KEY" -H 'Content-Type: application/json' -d '{"content": "Nora moved to Oslo."}'`} />
    </>
  )
}
