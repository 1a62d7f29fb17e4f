// Markdown of notes: what comes out is elements of a short list, whatever went in.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parse } from '../build/compute.js'

/** Writes what was parsed as text, with the tags that it has. */
const write = twigs => twigs.map(t => (typeof t === 'string' ? t : `<${t.tag}${t.href ? ` ${t.href}` : ''}>${write(t.children)}</${t.tag}>`)).join('')
const words = twigs => twigs.map(t => (typeof t === 'string' ? t : words(t.children))).join('')
const tagsOf = twigs => twigs.flatMap(t => (typeof t === 'string' ? [] : [t.tag, ...tagsOf(t.children)]))

test('headings, lists, code, tables and links are elements', () => {
  assert.equal(write(parse('# Kiln\n\nIt is **hot** and *red*.')), '<h3>Kiln</h3><p>It is <strong>hot</strong> and <em>red</em>.</p>')
  assert.equal(write(parse('- a\n- b\n\n1. c')), '<ul><li><p>a</p></li><li><p>b</p></li></ul><ol><li><p>c</p></li></ol>')
  assert.equal(write(parse('```go\nx := 1\n```\n`y`')), '<pre><small>go</small>x := 1\n</pre><p><code>y</code></p>')
  assert.deepEqual(tagsOf(parse('|a|b|\n|-|-|\n|1|2|')), ['table', 'thead', 'tr', 'th', 'th', 'tbody', 'tr', 'td', 'td'])
  assert.equal(write(parse('[here](https://example.com/a)')), '<p><a https://example.com/a>here</a></p>')
  assert.equal(write(parse('one\ntwo')), '<p>one<br></br>two</p>')
})

test('HTML, scripts and other addresses are words', () => {
  for (const hostile of [
    '<script>alert(1)</script>', '<img src=x onerror=alert(1)>', '<svg/onload=alert(1)>', '<a href="javascript:alert(1)">x</a>', '<!-- hidden -->', '<iframe srcdoc="<b>">',
    '[x](javascript:alert(1))', '[x](JaVaScRiPt:alert(1))', '[x](java\tscript:alert(1))', '[x](&#106;avascript:alert(1))', '[x](data:text/html,<script>)', '[x](vbscript:x)', '[x](file:///etc/passwd)',
    '[x](//evil.example)', '[x](/v1/collections)', '[x](#/gateway)', '<javascript:alert(1)>', '[x][y]\n\n[y]: javascript:alert(1)', '![x](javascript:alert(1))', '![x](https://evil.example/pixel.png)',
    '[![x](https://evil.example/p.png)](javascript:alert(1))', '<b>**x**</b>', '[x](http://a\u202Eb)',
  ]) {
    const twigs = parse(hostile)
    for (const tag of tagsOf(twigs)) assert.ok(['p', 'span', 'strong', 'br', 'a'].includes(tag), `${hostile}: ${tag}`)
    const check = t => {
      if (typeof t === 'string') return
      if (t.href !== undefined) assert.match(t.href, /^(https?|mailto):/i, hostile)
      t.children.forEach(check)
    }
    twigs.forEach(check)
  }
  assert.equal(words(parse('<!-- hidden -->')), '<!-- hidden -->')
  assert.ok(words(parse('[y]: http://x "do as I say"')).includes('do as I say'), 'a definition is not hidden')
  assert.ok(words(parse('![x](https://evil.example/p.png)')).includes('evil.example'), 'a picture is said')
})

test('texts that are made to be slow or deep come out in a moment, or stay as they are', () => {
  const deep = '- '.repeat(50_000)
  const steps = Array.from({ length: 440 }, (_, i) => `${' '.repeat(i)}- ${i}`).join('\n')
  for (const text of [deep, steps, '>'.repeat(100_000), '> '.repeat(50_000) + 'x', '['.repeat(100_000), '*a '.repeat(30_000), '_a*'.repeat(30_000), '`'.repeat(100_000), '`a``b'.repeat(20_000),
    '![['.repeat(30_000), '[a](b'.repeat(20_000), '<'.repeat(100_000), '&#'.repeat(50_000), '|'.repeat(50_000) + '\n' + '|-'.repeat(25_000), '\\'.repeat(100_000), '1. '.repeat(30_000), '~~a'.repeat(30_000), 'a\n'.repeat(50_000)]) {
    const begin = performance.now()
    const twigs = parse(text)
    const took = performance.now() - begin
    assert.ok(took < 5000, `${text.slice(0, 20)}: ${took} ms`)
    if (took > 300) console.log(`${JSON.stringify(text.slice(0, 12))}: ${Math.round(took)} ms`)
    if (twigs && /^[a-z*_]/.test(text)) assert.ok(words(twigs).includes('a'), text.slice(0, 20))
  }
  assert.equal(parse(deep + 'the end'), undefined)
  const nested = Array.from({ length: 60 }, (_, i) => `${'  '.repeat(i)}- level ${i}`).join('\n')
  const twigs = parse(nested)
  assert.ok(twigs === undefined || words(twigs).includes('level 59'), 'nothing is lost')
})
