// Tests of what computes. They run on a bundle of the modules, which test.js makes.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { barsOf, diffLists, diffWords, flatten, formatRoute, keyInLink, parseConversation, parseRoute, reveal, shorten, treeOf } from '../build/compute.js'

test('an address leads where it was written', () => {
  for (const route of [
    { tab: 'notes', query: {} },
    { collection: 'a/b ü?#', tab: 'search', query: { q: 'what & why?', k: '5' } },
    { collection: 'c', tab: 'notes', note: 'n', query: {} },
  ]) assert.deepEqual(parseRoute(formatRoute(route)), route)
  assert.deepEqual(parseRoute(''), { tab: 'notes', query: {} })
  assert.deepEqual(parseRoute('#/c/x/nonsense/y'), { collection: 'x', tab: 'notes', query: {}, note: 'y' })
  assert.equal(parseRoute('#/c/%E0%A4%A/notes').collection, '%E0%A4%A')
  assert.equal(keyInLink('#key=sb_live_x'), 'sb_live_x')
  for (const other of ['', '#/c/x?key=y', '#key=', '#monkey=x']) assert.equal(keyInLink(other), undefined)
})

test('a difference puts both texts together again, and keeps what they share', () => {
  const texts = ['', 'Nora lives in Oslo.', 'Nora lives in Rome, since May.', '東京に住む', '京都に住む', 'a '.repeat(400), 'a b '.repeat(300), '👩‍🚀 e\u0301']
  for (const a of texts) {
    for (const b of texts) {
      const pieces = diffWords(a, b)
      const text = kind => pieces.filter(p => p.kind === 'same' || p.kind === kind).map(p => p.text).join('')
      assert.equal(text('removed'), a)
      assert.equal(text('added'), b)
      if (a === b) assert.ok(pieces.every(p => p.kind === 'same'))
    }
  }
  assert.deepEqual(diffWords('lives in Oslo.', 'lives in Rome.'), [
    { kind: 'same', text: 'lives in ' }, { kind: 'removed', text: 'Oslo' }, { kind: 'added', text: 'Rome' }, { kind: 'same', text: '.' },
  ])
  const long = n => Array.from({ length: 10_000 }, (_, i) => `${(i * n) % 9973}`).join(' ')
  assert.equal(diffWords(long(7), long(11)).filter(p => p.kind !== 'added').map(p => p.text).join(''), long(7))
  assert.deepEqual(diffLists(['a', 'b'], ['b', 'c']), { removed: ['a'], added: ['c'] })
})

test('forks stand below their base, and those without one at the top', () => {
  const c = (id, name, parent) => ({ id, name, ...(parent && { parent: { collection: parent, revision: 1 } }) })
  const tree = treeOf([c('3', 'b-fork', '1'), c('1', 'b'), c('2', 'a'), c('4', 'deep', '3'), c('5', 'lost', 'gone'), c('6', 'self', '6')])
  assert.deepEqual(flatten(tree).map(n => [n.item.name, n.depth]), [['a', 0], ['b', 0], ['b-fork', 1], ['deep', 2], ['lost', 0], ['self', 0]])
})

test('a text shows what is hidden in it, and is cut between characters', () => {
  assert.equal(reveal('a\u202Eb\u0000\n\tc'), 'a⟨U+202E⟩b⟨U+0000⟩\n\tc')
  assert.equal(reveal('שלום 日本 👩‍🚀'), 'שלום 日本 👩‍🚀')
  assert.equal(shorten('abc', 3), 'abc')
  assert.equal(shorten('ab👍', 3), 'ab…')
})

test('bars are what signals add to a score', () => {
  const s = (signal, normalized, weight) => ({ signal, raw: 1, normalized, weight })
  const bars = barsOf({ signals: [s('vector', 0.5, 0.2), s('lexical', 1, 0.4), s('question', 1, -0.1), s('none', 0, 1)] })
  assert.deepEqual(bars.map(b => [b.name, b.share, b.adds]), [['lexical', 100, 0.4], ['vector', 25, 0.1], ['question', 25, -0.1]])
  for (const odd of [undefined, {}, { signals: 1 }, { signals: [] }]) assert.deepEqual(barsOf(odd), [])
})

test('a pasted conversation becomes messages', () => {
  assert.deepEqual(parseConversation('Nora: I moved to Oslo.\nin March\n\nAssistant: Noted.\nNora: Thanks: really.').map(m => [m.role, m.name, m.content]), [
    ['user', 'Nora', 'I moved to Oslo.\nin March'], ['assistant', 'Assistant', 'Noted.'], ['user', 'Nora', 'Thanks: really.'],
  ])
  assert.deepEqual(parseConversation('Nora: Hi.\nTomas: Hello.').map(m => m.role), ['user', 'assistant'])
  assert.deepEqual(parseConversation('just text').map(m => m.content), ['just text'])
  assert.deepEqual(parseConversation(' \n'), [])
})
