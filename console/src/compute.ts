// What computes, for the tests.
export * from './days.ts'
export * from './diff.ts'
export * from './graph.ts'
export * from './marks.ts'
export * from './route.ts'
export * from './text.ts'
export * from './timeline.ts'
export * from './tree.ts'
