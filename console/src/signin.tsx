import { Slipbox, SlipboxError } from '@slipbox/client'
import { useState } from 'preact/hooks'
import { Field } from './parts.tsx'
import { advice, session } from './state.ts'

/** Asks for a key, and tries it before it is kept. */
export function SignIn({ why, done }: { why: string | undefined; done: (key: string) => void }) {
  const [key, setKey] = useState('')
  const [busy, setBusy] = useState(false)
  const [problem, setProblem] = useState(why)
  const submit = async (e: Event) => {
    e.preventDefault()
    const clean = key.trim()
    if (clean === '') return
    setBusy(true)
    try {
      await new Slipbox({ key: clean, retries: 0 }).call('get', '/v1/collections', { query: { limit: 1 } }).catch((error: unknown) => {
        if (!(error instanceof SlipboxError && error.status === 403)) throw error // a key that may do something else
      })
      session.write(clean)
      done(clean)
    } catch (error) {
      setProblem(error instanceof Error ? `${error.message}. ${advice(error)}` : String(error))
      setBusy(false)
    }
  }
  return (
    <main class="signin">
      <form onSubmit={e => void submit(e)}>
        <h1>slipbox</h1>
        <p class="soft">See, correct and fork what your agents remember.</p>
        <Field label="API key or token" hint="It stays in this tab, and is sent to this gateway only.">
          {id => <input id={id} type="password" name="key" autocomplete="off" spellcheck={false} autofocus required placeholder="sb_live_…" value={key} onInput={e => setKey(e.currentTarget.value)} />}
        </Field>
        {problem && <p class="problem" role="alert">{problem}</p>}
        <button type="submit" class="main" disabled={busy}>{busy ? 'Signing in…' : 'Sign in'}</button>
        <details>
          <summary>Where is a key?</summary>
          <p><code>make run</code> and <code>gateway serve --demo</code> print a link that signs you in. <code>gateway key create</code> prints a new key.</p>
        </details>
      </form>
    </main>
  )
}
