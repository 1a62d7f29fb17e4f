// Graphs of notes.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { around, clustersOf, communitiesOf, componentsOf, find, graphOf, groupsOf, Layout, part, placeAlone } from '../build/compute.js'

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

test('a graph falls into components, and its clusters have the names of what they share', () => {
  const said = (id, words, speaker = '', time = '') => ({ id, kind: 'note', content: `${id} says`, words, speaker, time })
  const g = graphOf({
    notes: [said('a', ['kiln', 'all'], 'Nora', '2026-01-01T00:00:00Z'), said('b', ['kiln', 'all'], 'Nora', '2026-01-02T00:00:00Z'), said('c', ['tea', 'all'], 'Ada', '2026-02-01T00:00:00Z'), said('d', ['tea', 'all']), said('e', ['all'])],
    links: [link('a', 'b'), link('c', 'd')],
  })
  assert.deepEqual(componentsOf(g).map(c => c.map(v => v.id)), [['a', 'b'], ['c', 'd']])
  const communities = communitiesOf(g.vertices, g.edges)
  assert.equal(communities.get('a'), communities.get('b'))
  assert.notEqual(communities.get('a'), communities.get('c'))
  assert.deepEqual(clustersOf(g.vertices, communities).map(c => c.name), ['kiln', 'tea'])
  assert.deepEqual(groupsOf(g.vertices, 'speaker', communities).map(c => [c.name, c.members.length]), [['Nora', 2], ['Ada', 1]])
  assert.deepEqual(groupsOf(g.vertices, 'tag', communities).map(c => [c.name, c.members.length]), [['all', 5]])
  assert.deepEqual(groupsOf(g.vertices, 'kind', communities).map(c => c.members.length), [5])
  assert.deepEqual(groupsOf(g.vertices, 'time', communities).map(c => c.name), ['2026-01-01', '2026-01-02', '2026-02-01'])
  const bare = graphOf({ notes: [note('x', 'The hub of it'), note('y'), note('z')], links: [link('x', 'y'), link('x', 'z')] })
  assert.deepEqual(clustersOf(bare.vertices, communitiesOf(bare.vertices, bare.edges)).map(c => c.name), ['The hub of it'])
  assert.deepEqual(componentsOf(graphOf({ notes: [note('x')], links: [] })), [])
})

test('a large graph is laid out in a time that is bounded, and in the same way', () => {
  const n = 5000
  const make = () => graphOf({ notes: Array.from({ length: n }, (_, i) => note(`${i}`)), links: Array.from({ length: n }, (_, i) => link(`${i % 100}`, `${i < 100 ? (i + 1) % 100 : i}`)) })
  const g = make()
  const began = performance.now()
  const communities = communitiesOf(g.vertices, g.edges)
  const layout = new Layout(g.vertices, g.edges, communities)
  let steps = 0
  while (!layout.step(20)) steps++
  const took = performance.now() - began
  console.log(`${n} notes are laid out in ${Math.round(took)} ms, in ${steps} steps`)
  assert.ok(took < 15_000, `${took} ms`)
  assert.ok(g.vertices.every(v => Number.isFinite(v.x) && Number.isFinite(v.y)))
  // What is linked lies nearer than what is not.
  const far = (a, b) => Math.hypot(a.x - b.x, a.y - b.y)
  const mean = list => list.reduce((a, b) => a + b, 0) / list.length
  assert.ok(mean(g.edges.map(e => far(e.source, e.target))) * 2 < mean(g.vertices.slice(1).map((v, i) => far(v, g.vertices[(i * 37) % n]))))
  assert.deepEqual([...communitiesOf(make().vertices, make().edges)], [...communities])
  const alone = [{ id: 'p' }, { id: 'q' }]
  placeAlone(alone, g.vertices)
  assert.ok(alone[0].y < Math.min(...g.vertices.map(v => v.y)) && alone[0].x !== alone[1].x)
  const again = new Layout(g.vertices, g.edges, communities)
  assert.ok(again.step(0), 'what has a place stays there')
})
