package mem0

import "github.com/slipboxhq/slipbox/internal/memory/policy"

// GraphConfig holds the constants of the graph of Mem0g.
type GraphConfig struct {
	NodeSimilarity     float64 // t: cosine from which a name may stand for an entity that is there, if type and spelling agree; 0.7
	EdgesPerNode       int     // that the question for contradictions shows of one entity; 100
	GraphConflicts     bool    // ask which relations are no longer true; true
	GraphEntities      int     // most of one exchange; 50
	GraphRelations     int     // most of one exchange; 100
	GraphInvalidations int     // most of one exchange; 10
}

func defaultGraphConfig() GraphConfig {
	return GraphConfig{
		NodeSimilarity: 0.7, EdgesPerNode: 100, GraphConflicts: true, GraphEntities: 50, GraphRelations: 100, GraphInvalidations: 10,
	}
}

// graphKnobs are shown after those of the facts.
func graphSettings() []policy.Setting[Config] {
	return []policy.Setting[Config]{
		{"node_similarity", "cosine from which a name may stand for an entity that is there, if its type is the same and its spelling nearly", 0, 1, nil, func(c *Config) any { return &c.NodeSimilarity }},
		{"edges_per_node", "relations of one entity that are looked through for contradictions", 1, 1000, nil, func(c *Config) any { return &c.EdgesPerNode }},
		{"graph_conflicts", "ask which relations a new one ends; without it they all stand", 0, 0, nil, func(c *Config) any { return &c.GraphConflicts }},
		{"graph_entities", "entities that one exchange may name", 1, 200, nil, func(c *Config) any { return &c.GraphEntities }},
		{"graph_relations", "relations that one exchange may state", 1, 500, nil, func(c *Config) any { return &c.GraphRelations }},
		{"graph_invalidations", "relations that one exchange may end", 0, 500, nil, func(c *Config) any { return &c.GraphInvalidations }},
	}
}
