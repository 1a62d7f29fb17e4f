import { createElement, type ComponentChildren } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import type * as parsing from './markdown.ts'
import { Text } from './parts.tsx'
import { reveal, shorten } from './text.ts'

/** What reads Markdown, once it is loaded. */
let parser: typeof parsing | undefined

/** Whether a text has what Markdown gives a meaning to. */
const hints = /[*_`~|[\]]|^ {0,3}(?:#{1,6} |[-+>] ?|\d+[.)] |={3,}| {4,})/m

/** Loads the reader of Markdown for a text that needs it. */
function useParser(text: string): typeof parsing | undefined {
  const [ready, setReady] = useState(parser)
  const needed = hints.test(text)
  useEffect(() => {
    if (!needed || parser) return
    let wanted = true
    void import('./markdown.ts').then(loaded => {
      parser = loaded
      if (wanted) setReady(loaded)
    }, () => undefined) // the text stays as it is
    return () => { wanted = false }
  }, [needed])
  return needed ? ready ?? parser : undefined
}

/**
 * A text that somebody wrote, with its Markdown. Of a long one `most` characters are shown first. `words` draws what is plain text in it,
 * where that has marks of its own.
 */
export function Marked({ children: text, most, words = reveal }: { children: string; most?: number; words?: (text: string) => ComponentChildren }) {
  const [all, setAll] = useState(false)
  const [raw, setRaw] = useState(false)
  const reader = useParser(text)
  const shown = most === undefined || all ? text : shorten(text, most)
  const twigs = raw ? undefined : reader?.parse(shown)
  const plain = !twigs || twigs.every(t => typeof t !== 'string' && t.tag === 'p' && t.children.every(c => typeof c === 'string' || c.tag === 'br'))
  return (
    <>
      {plain ? words === reveal ? <Text>{shown}</Text> : <p class="text" dir="auto">{words(shown)}</p> : <div class="marked" dir="auto">{twigs!.map(t => draw(t, words))}</div>}
      {(shown !== text || !plain || raw) && (
        <p class="row small">
          {shown !== text && <button type="button" class="link" onClick={() => setAll(true)}>show all {text.length.toLocaleString('en')} characters</button>}
          {(!plain || raw) && <button type="button" class="link" onClick={() => setRaw(!raw)}>{raw ? 'with its Markdown' : 'as written'}</button>}
        </p>
      )}
    </>
  )
}

function draw(t: parsing.Twig, words: (text: string) => ComponentChildren): ComponentChildren {
  if (typeof t === 'string') return words(t)
  const inside = () => t.children.map(c => draw(c, words))
  if (t.tag === 'pre') return <pre tabindex={0}>{t.children.map(c => (typeof c === 'string' ? reveal(c) : <small class="soft">{c.children.map(i => reveal(String(i)))}{'\n'}</small>))}</pre>
  if (t.tag === 'code') return <code>{t.children.map(c => reveal(String(c)))}</code>
  if (t.tag === 'table') return <div class="scroll" tabindex={0} role="region" aria-label="Table"><table>{inside()}</table></div>
  if (t.href === undefined) return createElement(t.tag, null, ...inside())
  return <a href={t.href} target="_blank" rel="noopener noreferrer nofollow" title={reveal(t.href)}>{inside()}<span class="soft small"> ({hostOf(t.href)})</span></a>
}

/** Where a link leads, so that its words cannot say something else. */
function hostOf(href: string): string {
  try {
    const url = new URL(href)
    return reveal(url.host || url.pathname)
  } catch {
    return reveal(href)
  }
}
