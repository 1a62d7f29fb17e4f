// Tests of what computes. They run on a bundle of the modules, which test.js makes.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { axisOf, barsOf, beyond, daysBefore, dialogueOf, diffLists, diffWords, erasedText, everyDay, flatten, formatBytes, formatRoute, formatSpan, keyInLink, messagesWith, parseConversation, parseRoute, percent, place, plainly, reasonsOf, reveal, roundUp, sayingsOf, sharesOf, shorten, splitMarks, treeOf, waitingIn } from '../build/compute.js'

test('an address leads where it was written', () => {
  for (const route of [
    { tab: 'notes', query: {} },
    { collection: 'a/b ü?#', tab: 'search', query: { q: 'what & why?', k: '5' } },
    { collection: 'c', tab: 'notes', note: 'n', query: {} },
    { gateway: true, tab: 'notes', query: { days: '7' } },
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
  for (const name of ['प्रिया', 'สมชาย', "Conan O'Brien", 'José'.normalize('NFD')]) {
    assert.deepEqual(parseConversation(`${name}: a\nAi: b`).map(m => [m.role, m.name, m.content]), [['user', name, 'a'], ['assistant', 'Ai', 'b']])
  }
  assert.deepEqual(parseConversation('小明：你好。\n小红：再见。').map(m => [m.role, m.name, m.content]), [['user', '小明', '你好。'], ['assistant', '小红', '再见。']])
  assert.deepEqual(parseConversation(' \n'), [])
})

test('marks refer to citations that are there', () => {
  const marks = (text, most) => splitMarks(text, most).map(p => (p.mark === undefined ? p.text : [p.text, p.mark]))
  assert.deepEqual(marks('Oslo [1], tea [2].', 2), ['Oslo ', ['[1]', 1], ', tea ', ['[2]', 2], '.'])
  assert.deepEqual(marks('[1, 3] and [9]', 3), ['[', ['1', 1], ', ', ['3', 3], '] and [9]'])
  assert.deepEqual(marks('a \\[1] b [0] [x] [1', 5), ['a \\[1] b [0] [x] [1'])
  assert.deepEqual(marks('[1]', 0), ['[1]'])
  assert.deepEqual(marks('', 3), [])
  for (const text of ['x [1,2][3] \\[2] [12] y', '[1][1]']) assert.equal(splitMarks(text, 3).map(p => p.text).join(''), text)
})

test('a context is put where a request has it, and two are told apart by their notes', () => {
  const [system, user] = [JSON.parse(messagesWith('[1] "Oslo"\n', 'where?', 'system')), JSON.parse(messagesWith('[1] Oslo', 'where?', 'user'))]
  assert.deepEqual(system, [{ role: 'system', content: '[1] "Oslo"\n' }, { role: 'user', content: 'where?' }])
  assert.deepEqual(user, [{ role: 'user', content: 'where?\n\n[1] Oslo' }])
  const of = (...notes) => notes.map(note => ({ note }))
  assert.deepEqual(beyond(of('a', 'b', 'c'), of('b')), [0, 2])
  assert.deepEqual(beyond(of('a'), of('a', 'b')), [])
  assert.deepEqual(beyond([], of('a')), [])
})

test('parts of a budget lie side by side, and never beyond its width', () => {
  const parts = [{ name: 'facts', tokens: 300 }, { name: 'episodes', tokens: 700 }]
  assert.deepEqual(sharesOf(parts, 2000).map(s => [s.from, s.width]), [[0, 15], [15, 35]])
  assert.deepEqual(sharesOf(parts, 500).map(s => [s.from, s.width]), [[0, 30], [30, 70]])
  assert.deepEqual(sharesOf([], 0), [])
  assert.deepEqual(sharesOf([{ name: 'none', tokens: 0 }], 0).map(s => s.width), [0])
})

test('a conversation is sent with what was answered, and not without end', () => {
  const t = n => ({ question: `q${n}`, reply: n === 2 ? ' ' : `a${n}` })
  assert.deepEqual(dialogueOf([t(1), t(2)], 'q3').map(m => `${m.role} ${m.content}`), ['user q1', 'assistant a1', 'user q3'])
  const long = dialogueOf(Array.from({ length: 200 }, (_, i) => t(i + 10)), 'last')
  assert.ok(long.length <= 100 && long[0].role === 'user' && long.at(-1).content === 'last')
})

test('spans of time lie on their axis', () => {
  const now = Date.parse('2026-07-01T00:00:00Z')
  const spans = [{ from: '2024-01-01T00:00:00Z', until: '2025-01-01T00:00:00Z' }, { from: '2025-01-01T00:00:00Z' }, { until: '2026-01-01T00:00:00Z' }, {}]
  const axis = axisOf(spans, now)
  const [past, present, open, always] = spans.map(s => place(s, axis))
  assert.ok(past.from > 0 && past.width > 30 && past.from + past.width < 60)
  assert.equal(Math.round(present.from + present.width), 100)
  assert.equal(Math.round((past.from + past.width) * 1e6), Math.round(present.from * 1e6))
  assert.ok(open.open && open.from === 0 && open.width < 90)
  assert.deepEqual([always.from, always.width, always.open], [0, 100, true])
  assert.ok(axis.ticks.length >= 2 && axis.ticks.every((t, i) => t.at >= 0 && t.at <= 100 && (i === 0 || t.at > axis.ticks[i - 1].at)))
  // From an hour to ten thousand years, an axis has a few words, and odd times are left out.
  for (const [from, until] of [['2026-07-01T00:00:00Z', '2026-07-01T00:05:00Z'], ['2026-06-25T00:00:00Z'], ['2026-01-01T00:00:00Z'], ['1990-01-01T00:00:00Z'], ['0001-01-01T00:00:00Z', '9999-12-31T00:00:00Z'], ['x', 'y']]) {
    const { ticks, begin, end } = axisOf([{ from, until }], now)
    assert.ok(end > begin && ticks.length >= 1 && ticks.length <= 7, `${from}: ${ticks.length}`)
  }
  // What began a moment ago has its hours before it, and now at its end.
  const young = axisOf([{ from: new Date(now - 1000).toISOString() }], now)
  assert.ok(young.ticks.length >= 2 && percent(now, young) > 95)
})

test('days without a count are there too, and scales are round', () => {
  const days = everyDay('2026-02-27', '2026-03-02', [{ day: '2026-03-01', counts: { adds: 2 } }, { day: '2025-01-01', counts: { adds: 9 } }])
  assert.deepEqual(days.map(d => [d.day, d.counts.adds ?? 0]), [['2026-02-27', 0], ['2026-02-28', 0], ['2026-03-01', 2], ['2026-03-02', 0]])
  assert.deepEqual(everyDay('2026-03-02', '2026-03-01', []), [])
  assert.equal(everyDay('2000-01-01', '2026-01-01', []).length, 366)
  assert.deepEqual([0, 1, 3, 5, 6, 11, 201, 1000, Number.NaN].map(roundUp), [1, 1, 5, 5, 10, 20, 500, 1000, 1])
  assert.equal(daysBefore(29, Date.parse('2026-03-30T23:59:59Z')), '2026-03-01')
  assert.deepEqual([0, 999, 1000, 4567, 123_456, 999_999_999, 2.5e12].map(formatBytes), ['0 bytes', '999 bytes', '1 kB', '4.6 kB', '123 kB', '1 GB', '2.5 TB'])
})

test('a hit says in words why it was found', () => {
  const s = (signal, normalized, weight) => ({ signal, raw: 1, normalized, weight })
  const explain = { signals: [s('late_lead', 0.6, 0.2), s('late', 0.6, 0.1), s('lexical', 1, 0.1), s('names', 1, 0.05), s('question', 1, -0.2), s('odd_one', 1, 0.001)] }
  assert.deepEqual(reasonsOf(explain), ['means the same', 'has words of the question', 'names who or what is asked for'])
  const said = sayingsOf(explain).map(b => b.name)
  assert.deepEqual(said, [...new Set(said)], 'each is said once')
  assert.deepEqual(reasonsOf({ signals: [s('odd_one', 1, 0.1)] }), ['odd one'])
  assert.deepEqual(reasonsOf(undefined), [])
})

test('an error is said without what is meant for programs', () => {
  assert.equal(plainly('collection not found; GET /v1/collections lists those that there are'), 'collection not found')
  assert.equal(plainly('3 forks read this collection; make them independent with forks=materialise'), '3 forks read this collection; make them independent with forks=materialise')
  assert.equal(plainly('See GET /v1/x'), 'See GET /v1/x')
})

test('a length of time has the unit that people read', () => {
  assert.deepEqual([0, 950, 1500, 42_000, 61_000, 3_600_000 * 5, 86_400_000 * 3, Number.NaN].map(formatSpan), ['0 ms', '950 ms', '1.5 s', '42 s', '1 min', '5 h', '3 days', '—'])
})

test('what waits is said in words, with the time that it takes', () => {
  const work = (...stages) => ({ dead: 0, stages })
  assert.equal(waitingIn(work({ stage: 'links', waiting: 4444, seconds_left: 360 })), '4,444 notes are being linked, about 6 minutes')
  assert.equal(waitingIn(work({ stage: 'vectors', waiting: 1 }, { stage: 'policy', waiting: 2, seconds_left: 20 })), '1 note waits for a vector · 2 tasks of the policy wait, less than a minute')
  assert.equal(waitingIn({ dead: 3, stages: [{ stage: 'description', waiting: 10, seconds_left: 9000 }] }), '10 notes are being described, about 3 hours · 3 jobs given up')
  assert.equal(waitingIn(work()), '')
  assert.equal(waitingIn(undefined), '')
})

test('an erasure says what it took, and where something is left', () => {
  const report = { erased: ['a'], versions: 1200, waiting: [], kept: [], traces: 'autovacuum' }
  assert.equal(erasedText([report]), 'Erased 1 note with 1,200 versions.')
  assert.equal(erasedText([{ ...report, traces: 'cleared' }]), 'Erased 1 note with 1,200 versions.')
  const left = { erased: ['a', 'b'], versions: 1, waiting: ['j'], kept: [{ id: 'c', name: 'what-if' }], traces: 'vacuum_needed' }
  assert.equal(erasedText([left]), 'Erased 2 notes with 1 version. Summaries are made again first. Gaps of the database\'s file may keep pieces until an operator runs gateway vacuum. Something is left in what-if: erase it there.')
  const last = { ...report, kept: [{ id: 'd', name: 'x\u202ey' }, ...left.kept], traces: 'pending' }
  assert.equal(erasedText([left, last]), 'Erased 2 notes with 1,201 versions. Summaries are made again first. Gaps of the database\'s file may keep pieces until the gateway vacuums it, in some minutes. Something is left in what-if, x⟨U+202E⟩y: erase it there.')
})
