// Graphs of notes.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { around, find, fit, graphOf, nearest, part } from '../build/compute.js'

const note = (id, content = id, kind = 'note') => ({ id, kind, content })
const link = (source, target, relation = 'related') => ({ source, target, relation })

test('a graph has the links whose ends it has, in both directions', () => {
  const g = graphOf({ notes: [note('a'), note('b'), note('c')], links: [link('a', 'b'), link('b', 'c'), link('a', 'gone'), link('c', 'c')] })
  assert.deepEqual(g.edges.map(e => e.source.id + e.target.id), ['ab', 'bc'])
  assert.deepEqual(g.vertices.map(v => v.degree), [1, 2, 1])
  assert.equal(g.of.get('b').length, 2)
  assert.deepEqual([...around(g, 'a', 1)].map(v => v.id), ['a', 'b'])
  assert.deepEqual([...around(g, 'a', 5)].map(v => v.id), ['a', 'b', 'c'])
  assert.deepEqual([...around(g, 'gone', 5)], [])
  assert.deepEqual(part(g, around(g, 'c', 1)).edges.map(e => e.source.id + e.target.id), ['bc'])
})

test('notes keep their places when another revision is shown, and new ones begin beside what they are linked to', () => {
  const g = graphOf({ notes: [note('a'), note('b')], links: [] })
  Object.assign(g.byId.get('a'), { x: 5, y: 7 })
  const next = graphOf({ notes: [note('a'), note('n'), note('far')], links: [link('n', 'a')] }, g)
  assert.deepEqual([next.byId.get('a').x, next.byId.get('a').y], [5, 7])
  assert.ok(Math.hypot(next.byId.get('n').x - 5, next.byId.get('n').y - 7) < 20)
  assert.equal(next.byId.get('far').x, undefined)
})

test('notes are found by their words, those with the most links first', () => {
  const g = graphOf({ notes: [note('1', 'Nora in Oslo'), note('2', 'Oslo  and\nRome'), note('3', 'Rome')], links: [link('2', '3'), link('2', '1')] })
  assert.deepEqual(find(g, 'OSLO', 9).map(v => v.id), ['2', '1'])
  assert.deepEqual(find(g, 'rome oslo', 9).map(v => v.id), ['2'])
  assert.deepEqual(find(g, ' ', 2).length, 2)
  assert.equal(g.byId.get('2').label, 'Oslo and Rome')
})

test('a camera shows everything, and the nearest note is found', () => {
  const at = (x, y) => ({ id: `${x}`, kind: 'note', label: '', degree: 0, x, y })
  const all = [at(-1000, 0), at(1000, 400)]
  const c = fit(all, 800, 600)
  assert.deepEqual([c.x, c.y], [0, 200])
  assert.ok(2000 * c.scale <= 800 && 400 * c.scale <= 600)
  assert.deepEqual(fit([], 800, 600), { x: 0, y: 0, scale: 1 })
  assert.equal(nearest(all, 995, 395, 20), all[1])
  assert.equal(nearest(all, 500, 0, 20), undefined)
})
