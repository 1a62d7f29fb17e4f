package mem0

import "github.com/slipboxhq/slipbox/internal/memory/policy"

// GraphConfig holds the constants of the graph of Mem0g. The value after each is its default.
type GraphConfig struct {
	// NodeSimilarity is the threshold t of the paper: the cosine from which a name may
	// mean an existing entity, if its type is the same and its spelling nearly; 0.7.
	NodeSimilarity     float64
	EdgesPerNode       int  // edges of one entity that the call "conflicts" shows; 100
	GraphConflicts     bool // ask which relations are no longer true; true
	GraphEntities      int  // of one exchange, at most; 50
	GraphRelations     int  // of one exchange, at most; 100
	GraphInvalidations int  // edges that one exchange may end; 10
}

// defaultGraphConfig returns the documented defaults.
func defaultGraphConfig() GraphConfig {
	return GraphConfig{
		NodeSimilarity: 0.7, EdgesPerNode: 100, GraphConflicts: true, GraphEntities: 50, GraphRelations: 100, GraphInvalidations: 10,
	}
}

// graphSettings returns the settings of the graph, which are shown after those of the facts.
func graphSettings() []policy.Setting[Config] {
	return []policy.Setting[Config]{
		policy.NumberSetting("node_similarity", "cosine from which a name may mean an existing entity, if its type is the same and its spelling nearly",
			0, 1, func(c *Config) any { return &c.NodeSimilarity }),
		policy.NumberSetting("edges_per_node", "relations of one entity that are searched for contradictions",
			1, 1000, func(c *Config) any { return &c.EdgesPerNode }),
		policy.PlainSetting("graph_conflicts", "ask which relations a new one ends; without it none ends",
			func(c *Config) any { return &c.GraphConflicts }),
		policy.NumberSetting("graph_entities", "entities that one exchange may name", 1, 200, func(c *Config) any { return &c.GraphEntities }),
		policy.NumberSetting("graph_relations", "relations that one exchange may state",
			1, 500, func(c *Config) any { return &c.GraphRelations }),
		policy.NumberSetting("graph_invalidations", "relations that one exchange may end",
			0, 500, func(c *Config) any { return &c.GraphInvalidations }),
	}
}
