import type { Schemas } from '@slipbox/client'
import type { Go } from './collection.tsx'
import { beyond, messagesWith, sharesOf, splitMarks, type Part } from './marks.ts'
import { CopyButton, Empty, Problem, Text, Waiting } from './parts.tsx'
import { formatRoute, type Route } from './route.ts'
import { useLoad, useShared, useTyped } from './state.ts'
import { count, plural, reveal } from './text.ts'

const budgets = [250, 500, 1000, 2000, 4000, 8000, 16000]

/** The text that a prompt would get of a collection, and how it fills its budget. */
export function Context({ collection: c, route, go }: { collection: Schemas['Collection']; route: Route; go: Go }) {
  const { api } = useShared()
  const { q = '', budget = '2000', beside = '', order = 'time' } = route.query
  const tokens = budgets.find(b => String(b) === budget) ?? 2000
  const other = budgets.find(b => String(b) === beside && b !== tokens)
  const [text, setText] = useTyped(q)
  const set = (change: Record<string, string>) => go({ collection: route.collection ?? c.id, tab: 'context', query: { ...route.query, ...change } })
  const built = useLoad(async signal => q.trim() === '' ? undefined : Promise.all([tokens, ...(other ? [other] : [])].sort((a, b) => a - b).map(async budget => ({
    budget, answer: await api.collection(c.id).context({ query: q, token_budget: budget, order: order === 'relevance' ? 'relevance' : 'time', ...(other && { fields: ['content'] }) }, { signal }),
  }))), [c.id, q, tokens, other, order])
  return (
    <>
      <form class="row search" role="search" onSubmit={e => { e.preventDefault(); set({ q: text.trim() }) }}>
        <input type="search" class="grow" dir="auto" aria-label="Build a context for" placeholder="A question" value={text} onInput={e => setText(e.currentTarget.value)} />
        <button type="submit" class="main">Build</button>
        <label>Tokens <select value={tokens} onChange={e => set({ budget: e.currentTarget.value })}>{budgets.map(b => <option key={b} value={b}>{count(b)}</option>)}</select></label>
        <label>Beside <select value={other ?? ''} onChange={e => set({ beside: e.currentTarget.value })}><option value="">nothing</option>{budgets.filter(b => b !== tokens).map(b => <option key={b} value={b}>{count(b)}</option>)}</select></label>
        <label>Order <select value={order} onChange={e => set({ order: e.currentTarget.value })}><option value="time">by time</option><option value="relevance">by relevance</option></select></label>
      </form>
      {q.trim() === '' ? <Empty title="What a prompt would get"><p>Ask a question: this is the text that a client puts before its prompt, and how many tokens each part of it takes.</p></Empty>
        : built.state === 'failed' ? <Problem error={built.error} again={built.again} />
        : !built.data ? <Waiting />
        : <Built small={built.data[0]!} large={built.data[1]} question={q} collection={c.id} />}
    </>
  )
}

/** A context, and the tokens that it may have. */
interface Sized {
  budget: number
  answer: Schemas['ContextAnswer']
}

/** A context, or two of different size side by side. */
function Built({ small, large, question, collection }: { small: Sized; large: Sized | undefined; question: string; collection: string }) {
  const last = large ?? small
  if (last.answer.text === '') {
    return <Empty title="Nothing is shown"><p>{last.answer.withheld ?? 'Nothing was found, or nothing of it fits. Ask with other words, or with more tokens.'}</p></Empty>
  }
  if (!large) return <div class="context"><One of={small} question={question} collection={collection} /></div>
  return (
    <div class="inside">
      <div class="two">{[small, large].map(s => <section key={s.budget} aria-label={`${count(s.budget)} tokens`} class="context"><h2>{count(s.budget)} tokens</h2><One of={s} question={question} collection={collection} /></section>)}</div>
      <Beyond title={`What ${count(large.budget)} tokens add`} some={large.answer} others={small.answer} collection={collection} none="No note: both have the same ones." />
      <Beyond title={`What only ${count(small.budget)} tokens have`} some={small.answer} others={large.answer} collection={collection} />
    </div>
  )
}

/** The notes that a context has and another has not. */
function Beyond({ title, some, others, collection, none }: { title: string; some: Schemas['ContextAnswer']; others: Schemas['ContextAnswer']; collection: string; none?: string }) {
  const places = beyond(some.citations, others.citations)
  if (places.length === 0 && none === undefined) return null
  return (
    <section>
      <h2>{title}</h2>
      {places.length === 0 ? <p class="soft">{none}</p> : <ul class="links" aria-label={title}>
        {places.map(i => <li key={i}><a class="cover" href={formatRoute({ collection, note: some.citations[i]!.note })}><Text most={240} still>{(some.notes?.[i] as Schemas['Note'] | undefined)?.content ?? ''}</Text></a></li>)}
      </ul>}
    </section>
  )
}

/** How a context fills its budget, and its text. */
function One({ of: { answer: a, budget }, question, collection }: { of: Sized; question: string; collection: string }) {
  return (
    <>
      <p class="soft small" role="status">
        {plural(a.citations.length, 'note')}
        {a.answerable !== undefined && <> · {Math.round(a.answerable * 100)} % that the answer is among them</>}
        {a.withheld && <> · {a.withheld}</>}{a.degraded && <> · {a.degraded}</>} · tokens of {a.encoding}
      </p>
      <Budget label="Tokens of the context" parts={a.parts.map(p => ({ name: p.kind, tokens: p.tokens, notes: p.citations.length }))} used={a.tokens} budget={budget} />
      {a.text !== '' && <section>
        <div class="row between"><h2>Text</h2><div class="row"><CopyButton text={a.text} /><CopyButton label="Copy as system message" text={messagesWith(a.text, question, 'system')} /><CopyButton label="Copy as user message" text={messagesWith(a.text, question, 'user')} /></div></div>
        <pre class="prompt" tabindex={0} dir="auto">
          {splitMarks(a.text, a.citations.length).map((p, i) => p.mark === undefined ? reveal(p.text)
            : <a key={i} class="mark" href={formatRoute({ collection, note: a.citations[p.mark - 1]!.note })} aria-label={`source ${p.mark}`}>{p.text}</a>)}
        </pre>
      </section>}
    </>
  )
}

/** Draws how parts fill a budget of tokens, and lists them. */
export function Budget({ label, parts, used, budget }: { label: string; parts: (Part & { notes?: number })[]; used: number; budget: number }) {
  const shares = sharesOf(parts, budget)
  const percent = (tokens: number) => {
    const share = (tokens / Math.max(budget, 1)) * 100
    return share > 0 && share < 1 ? '< 1 %' : `${Math.round(share)} %`
  }
  const notes = parts.some(p => p.notes !== undefined)
  return (
    <figure class="budget">
      <svg viewBox="0 0 100 4" preserveAspectRatio="none" role="img" aria-label={`${label}: ${count(used)} of ${count(budget)}`}>
        {shares.map((s, i) => <rect key={s.name} class={`hue${i % 7}`} x={s.from} width={s.width} height="4" />)}
      </svg>
      <table>
        <thead><tr><th scope="col">Part</th><th scope="col">Tokens</th><th scope="col">of {count(budget)}</th>{notes && <th scope="col">Notes</th>}</tr></thead>
        <tbody>
          {parts.map((p, i) => (
            <tr key={p.name}><th scope="row"><svg class="swatch" viewBox="0 0 8 8" aria-hidden="true"><rect class={`hue${i % 7}`} width="8" height="8" rx="2" /></svg>{p.name}</th>
              <td>{count(p.tokens)}</td><td>{percent(p.tokens)}</td>{notes && <td>{p.notes === undefined ? '' : count(p.notes)}</td>}</tr>
          ))}
          <tr class="soft"><th scope="row"><svg class="swatch" viewBox="0 0 8 8" aria-hidden="true"><rect width="8" height="8" rx="2" /></svg>free</th><td>{count(Math.max(0, budget - used))}</td><td>{percent(Math.max(0, budget - used))}</td>{notes && <td />}</tr>
        </tbody>
      </table>
    </figure>
  )
}
