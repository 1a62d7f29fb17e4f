// Parts of a package that has no types of its own for them.
declare module 'graphology-layout-forceatlas2/iterate.js' {
  const iterate: (settings: object, nodes: Float32Array, edges: Float32Array) => void
  export default iterate
}
declare module 'graphology-layout-forceatlas2/helpers.js' {
  import type { UndirectedGraph } from 'graphology'
  const helpers: {
    graphToByteArrays: (graph: UndirectedGraph, weight: () => number) => { nodes: Float32Array; edges: Float32Array }
    assignLayoutChanges: (graph: UndirectedGraph, nodes: Float32Array, reducer: null) => void
  }
  export default helpers
}
declare module 'graphology-layout-forceatlas2/defaults.js' {
  const defaults: object
  export default defaults
}
