// Loaded when a text has marks of Markdown: most have none.
import MarkdownIt from 'markdown-it'

/** A piece of a text that somebody wrote in Markdown: words, or an element with pieces in it. */
export type Twig = string | Branch

/** An element. Only these tags come out of a text, and of their attributes only the address of a link. */
export interface Branch {
  tag: string
  href?: string
  children: Twig[]
}

/** How deep a text may be nested. A deeper one is no text that a person wrote, and is shown as it is. */
const deepest = 24

/** Above this length a text is shown as it is. */
const longest = 100_001

/** Nothing that is written may be unseen: definitions of links and comments stay in the text. HTML is text. */
const parser = new MarkdownIt({ html: false, linkify: false, breaks: true, typographer: false })
parser.set({ maxNesting: deepest })
parser.disable('reference')

const tags = new Set(['p', 'ul', 'ol', 'li', 'blockquote', 'strong', 'em', 's', 'table', 'thead', 'tbody', 'tr', 'th', 'td'])

/** Reads a text; undefined if it is better shown as it is. No HTML is made of it, so none has to be cleaned. */
export function parse(text: string): Twig[] | undefined {
  if (text.length > longest) return undefined
  const root: Branch = { tag: '', children: [] }
  // A text that is nested too deep would lose its rest.
  return grow(parser.parse(text, {}), root) ? root.children : undefined
}

type Token = ReturnType<typeof parser.parse>[number]

/** Puts tokens into a branch, and reports whether all have found a place. */
function grow(tokens: readonly Token[], root: Branch): boolean {
  const open = [root]
  const put = (twig: Twig) => open[open.length - 1]!.children.push(twig)
  for (const t of tokens) {
    if (t.nesting < 0) open.pop()
    else if (t.nesting > 0) {
      if (t.level >= deepest - 1) return false
      const branch = branchOf(t)
      put(branch)
      open.push(branch)
    } else if (t.type === 'inline') {
      if (!grow(t.children ?? [], open[open.length - 1]!)) return false
    } else put(leafOf(t))
  }
  return true
}

function branchOf(t: Token): Branch {
  if (t.type === 'heading_open') return { tag: `h${Math.min(6, Number(t.tag.slice(1)) + 2)}`, children: [] } // below the headings of the page
  if (t.type === 'link_open') return linkOf(String(t.attrGet('href') ?? ''))
  return { tag: tags.has(t.tag) ? t.tag : 'span', children: [] }
}

/** A link leads out of the page by these schemes only; what has another is words. */
function linkOf(href: string): Branch {
  return /^(https?|mailto):/i.test(href) ? { tag: 'a', href, children: [] } : { tag: 'span', children: [] }
}

function leafOf(t: Token): Twig {
  switch (t.type) {
    case 'softbreak': case 'hardbreak': return { tag: 'br', children: [] }
    case 'hr': return { tag: 'hr', children: [] }
    case 'code_inline': return { tag: 'code', children: [t.content] }
    case 'fence': case 'code_block': return { tag: 'pre', children: [...(t.info.trim() ? [{ tag: 'small', children: [t.info.trim()] }] : []), t.content] }
    // No picture is asked of another host: it would learn who reads what.
    case 'image': return { tag: 'span', children: [`[picture: ${t.content || 'without words'}, ${String(t.attrGet('src') ?? '')}]`] }
    default: return t.content
  }
}
