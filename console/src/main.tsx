import { Slipbox, SlipboxError } from '@slipbox/client'
import { render } from 'preact'
import { useCallback, useEffect, useMemo, useState } from 'preact/hooks'
import './app.css'
import { stopTalks } from './chat.tsx'
import { keyInLink } from './route.ts'
import { Shell } from './shell.tsx'
import { SignIn } from './signin.tsx'
import { session, SharedContext, type Shared } from './state.ts'

// A link with a key signs in. The key leaves the address at once, so that it is in no history and no copy of it.
const handed = keyInLink(location.hash)
if (handed !== undefined) {
  session.write(handed)
  history.replaceState(null, '', location.pathname)
}

function App() {
  const [key, setKey] = useState(session.read())
  const [why, setWhy] = useState<string>()
  const [changes, setChanges] = useState(0)
  const [told, setTold] = useState('')
  const signOut = useCallback((reason?: string) => {
    session.forget()
    setWhy(reason)
    setKey(null)
  }, [])
  useEffect(() => {
    // A link with a key that is opened in a tab that is signed in.
    const take = () => {
      const next = keyInLink(location.hash)
      if (next === undefined) return
      session.write(next)
      history.replaceState(null, '', location.pathname)
      setKey(next)
    }
    addEventListener('hashchange', take)
    return () => removeEventListener('hashchange', take)
  }, [])
  useEffect(() => {
    if (told === '') return
    const timer = setTimeout(() => setTold(''), 5000)
    return () => clearTimeout(timer)
  }, [told])
  const api = useMemo(() => new Slipbox({ key: key ?? '' }), [key])
  useEffect(() => () => stopTalks(api), [api])
  const shared: Shared = useMemo(() => ({
    api, changes,
    refused: (error: SlipboxError, unsent = false) => signOut(`${error.message}. Sign in again${unsent ? '; what you typed was not sent' : ''}.`),
    changed: () => setChanges(n => n + 1),
    tell: setTold,
  }), [api, changes, signOut])
  if (key === null) return <SignIn why={why} done={next => { setWhy(undefined); setKey(next) }} />
  return (
    <SharedContext.Provider value={shared}>
      <Shell key={key} signOut={() => signOut()} />
      <div class="told" role="status" aria-live="polite">{told}</div>
    </SharedContext.Provider>
  )
}

render(<App />, document.getElementById('app')!)
